"""What a comparison found: a tidy table, the efficient frontier, and a recommendation."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from sfumato.comparison.drawings import draw_comparison
from sfumato.comparison.frontier import dominated, frontier_of
from sfumato.comparison.plan import Plan
from sfumato.comparison.private_runs import private_lines
from sfumato.comparison.promises import Promise, promise_lines
from sfumato.comparison.recommendation import recommend
from sfumato.comparison.run_outcome import DONE, RunOutcome
from sfumato.errors import InputError
from sfumato.numbers import figure
from sfumato.whole_files import write_whole


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Figures of many releases of one table.

    Attributes
    ----------
    frame : polars.DataFrame
        One row for each run: ``anonymizer``, the parameter that varies, ``repetition``, ``status`` (``"done"``,
        ``"impossible"``, ``"refused"``), ``reason``, then the figures; null where there is none.
    vary : str
        Name of the parameter's column.
    promises : mapping of str to (str, Promise)
        Where what is promised to people was compared: label → that of the anonymizer, and its promise.
    notes : tuple of str
        What the steward must know of the table: that a column repeats as the key of people does.
    private : polars.DataFrame
        One row for each release under differential privacy: ``release``, ``repetition``, ``epsilon``, ``delta``,
        ``status``, ``reason``, ``count_error``, ``seconds``. Empty if none were compared.
    """

    frame: pl.DataFrame
    vary: str
    promises: Mapping[str, tuple[str, Promise]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    private: pl.DataFrame = field(default_factory=pl.DataFrame)

    @classmethod
    def of(cls, plan: Plan, outcomes: Sequence[RunOutcome], notes: tuple[str, ...] = ()) -> Comparison:
        """Put outcomes into a table."""
        names = list(dict.fromkeys(name for outcome in outcomes for name in outcome.figures))
        heads = {
            "anonymizer": pl.Series([outcome.run.anonymizer for outcome in outcomes], dtype=pl.String),
            plan.vary: pl.Series([outcome.run.value for outcome in outcomes]),
            "repetition": pl.Series([outcome.run.repetition for outcome in outcomes], dtype=pl.Int64),
            "status": pl.Series([outcome.status for outcome in outcomes], dtype=pl.String),
            "reason": pl.Series([outcome.reason for outcome in outcomes], dtype=pl.String),
        }
        figures = {
            name if name != plan.vary else f"{name}_used": pl.Series(
                [outcome.figures.get(name) for outcome in outcomes], dtype=pl.Float64
            )
            for name in names
        }
        return cls(pl.DataFrame({**heads, **figures}), plan.vary, plan.promises, notes)

    @property
    def figures(self) -> tuple[str, ...]:
        """Return the names of the figures that were measured."""
        return tuple(self.frame.columns[5:])

    def means(self) -> pl.DataFrame:
        """Average every figure over the repetitions; one row for each anonymizer and value that led to a release."""
        done = self.frame.filter(pl.col("status") == DONE)
        keys = ["anonymizer", self.vary]
        return done.group_by(keys, maintain_order=True).agg(pl.col(self.figures).mean())

    def frontier(self, risk: str, utility: str) -> pl.DataFrame:
        """Return the releases that no other release beats by lower risk at no more loss.

        Parameters
        ----------
        risk, utility
            Names of two figures of which less is better, e.g. ``"average_risk"`` and ``"loss"``.

        Returns
        -------
        polars.DataFrame
            Rows of :meth:`means`, by rising risk.
        """
        return frontier_of(self.means(), risk, utility)

    @property
    def recommendation(self) -> str:
        """Recommend an anonymizer in one sentence, with reasons; where promises differ, for the strongest of them."""
        means = self.means()
        if self.promises:
            strict = [label for label, (_, promise) in self.promises.items() if promise is Promise.SHARES]
            means = means.filter(pl.col("anonymizer").is_in(strict))
        return recommend(means, self.vary)

    def save(self, folder: str | Path, *, drawings: bool = True) -> Path:
        """Write ``comparison.csv``, ``comparison.parquet``, ``comparison.txt`` and drawings into a folder.

        Where releases under differential privacy were compared, ``private.csv`` has their figures.

        Parameters
        ----------
        folder
            Created if it does not exist.
        drawings
            Draw curves, as SVG; needs matplotlib.

        Raises
        ------
        InputError
            When it cannot be written.
        PolicyError
            When matplotlib is needed and not installed.
        """
        target = Path(folder)
        drawn = draw_comparison(self.means(), self.vary) if drawings else {}
        try:
            target.mkdir(mode=0o700, exist_ok=True)
            parquet = io.BytesIO()
            self.frame.write_parquet(parquet)
            write_whole(target / "comparison.csv", self.frame.write_csv())
            write_whole(target / "comparison.parquet", parquet.getvalue())
            write_whole(target / "comparison.txt", f"{self}\n")
            if self.private.height:
                write_whole(target / "private.csv", self.private.write_csv())
            for name, svg in drawn.items():
                write_whole(target / f"{name}.svg", svg)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else "unknown reason"
            raise InputError(f"{target}: the comparison cannot be written ({reason})") from None
        return target

    def __repr__(self) -> str:
        """Count the runs."""
        return f"Comparison({self.frame.height} runs over {self.vary})"

    def __str__(self) -> str:
        """Write a table of the most important figure for each anonymizer and value, and the recommendation."""
        parts = [self._table(name) for name in ("loss", "count_error", "seconds") if name in self.figures]
        people = promise_lines(self.means(), self.promises, self.vary)
        beaten = dominated(self.means(), self.vary)
        beside = private_lines(self.private, self.means(), self.vary)
        return "\n".join([*parts, *self._failures(), *beaten, *people, *beside, *self.notes, self.recommendation])

    def _repr_html_(self) -> str:
        """Show notebooks the figures as tables, and the first of them as curves."""
        from sfumato.comparison.comparison_html import comparison_parts
        from sfumato.notebook import card

        people = promise_lines(self.means(), self.promises, self.vary)
        beside = private_lines(self.private, self.means(), self.vary)
        more = [*self._failures(), *dominated(self.means(), self.vary), *people, *beside, *self.notes]
        return card(
            "Comparison", f"{self.frame.height} runs over {self.vary}", *comparison_parts(self, TITLES, [*more])
        )

    def _failures(self) -> list[str]:
        """Say why some have no release; a reason that holds for several values is said once."""
        failed = self.frame.filter(pl.col("status") != DONE)
        alike = failed.group_by(["anonymizer", "reason"], maintain_order=True).agg(pl.col(self.vary).unique().sort())
        return [
            f"{row['anonymizer']}, {self.vary} = {', '.join(map(figure, row[self.vary]))}: {row['reason']}"
            for row in alike.to_dicts()
        ]

    def _table(self, name: str) -> str:
        means = self.means()
        values = sorted(self.frame[self.vary].unique().to_list())
        labels = list(dict.fromkeys(self.frame["anonymizer"].to_list()))
        width = max(len(TITLES[name]), *(len(label) for label in labels))
        found = {(row["anonymizer"], row[self.vary]): row[name] for row in means.to_dicts()}
        lines = [f"{TITLES[name]:<{width}}" + "".join(f"{f'{self.vary} = {figure(value)}':>12}" for value in values)]
        for label in labels:
            cells = [found.get((label, value)) for value in values]
            written = ["–" if cell is None else f"{cell:.4g}" for cell in cells]
            lines.append(f"{label:<{width}}" + "".join(f"{cell:>12}" for cell in written))
        return "\n".join([*lines, ""])


TITLES = {"loss": "Information loss", "count_error": "Median error of counts", "seconds": "Seconds"}
