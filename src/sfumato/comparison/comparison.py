"""What a comparison found: a tidy table, drawings, the efficient frontier, and a recommendation.

Releases under differential privacy stand beside the others: what they lose, and at which value others lose as much.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.comparison.plan import DONE, UNFINISHED, Plan, Promise, RunOutcome, SharedWork, plan_lines, prepared
from sfumato.drawing import AXES, LOGARITHMIC, Drawing, canvas, canvases, curves_svg, legend, style_of, svg_of, tick_at
from sfumato.errors import PolicyError, write_errors
from sfumato.evaluation.utility.measure import error_figures
from sfumato.kinds.noisy_counts.make import publish_privately
from sfumato.kinds.noisy_counts.policy import PrivatePolicy
from sfumato.kinds.private.measure import private_joint
from sfumato.kinds.private_sample.make import publish_private_sample
from sfumato.kinds.private_sample.policy import PrivateSamplePolicy
from sfumato.notebook import Cell, Markup, curves, lines, notebook_section, notebook_table, paragraph
from sfumato.numbers import figure, percent
from sfumato.progress import Progress, silent
from sfumato.registry import citations
from sfumato.whole_files import write_whole


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Figures of many releases of one table.

    Attributes
    ----------
    frame : polars.DataFrame
        One row for each run: ``anonymizer``, the parameter that varies, ``repetition``, ``status`` (``"done"``,
        ``"impossible"``, ``"refused"``, ``"unfinished"``), ``reason``, then the figures; null where there is none.
    vary : str
        Name of the parameter's column.
    promises : mapping of str to (str, Promise)
        Where what is promised to people was compared: label → that of the anonymizer, and its promise.
    notes : tuple of str
        What the steward must know of the table: that a column repeats as the key of people does.
    private : polars.DataFrame
        One row for each release under differential privacy: ``release``, ``repetition``, ``epsilon``, ``delta``,
        ``status``, ``reason``, ``count_error``, ``seconds``. Empty if none were compared.
    methods : tuple
        The anonymizers and models that were compared.
    """

    frame: pl.DataFrame
    vary: str
    promises: Mapping[str, tuple[str, Promise]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    private: pl.DataFrame = field(default_factory=pl.DataFrame)
    methods: tuple[Any, ...] = ()

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
        return cls(
            pl.DataFrame({**heads, **figures}),
            plan.vary,
            plan.promises,
            notes,
            methods=(*plan.anonymizers.values(), *plan.models),
        )

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
        means, among = self.means(), ""
        if self.promises:
            among = " of those that promise most"
            strict = [label for label, (_, promise) in self.promises.items() if promise is Promise.SHARES]
            means = means.filter(pl.col("anonymizer").is_in(strict))
        if (self.frame["status"] != UNFINISHED).all():
            return recommend(means, self.vary, among)
        if means.is_empty():
            return "Recommendation: none; no run came to a release in the time given."
        return recommend(means, self.vary, among).replace("Recommendation:", "Recommendation so far:", 1)

    def plot(self, risk: str = "average_risk", loss: str = "loss") -> Drawing:
        """Draw a figure against what varies, and against a risk with each method's frontier; larger dots took longer.

        Where losses were bounded, the bound is a line; beside a risk only beside ``"highest_risk"``.

        Parameters
        ----------
        risk, loss
            Names of two figures of which less is better.

        Raises
        ------
        PolicyError
            When no release has these figures, or matplotlib is not installed (``pip install 'sfumato[report]'``).
        """
        means = self.means()
        if not {risk, loss} <= {*means.columns} or not (rows := means.drop_nulls([risk, loss])).height:
            raise PolicyError(f"plot: no release has both figures; there are {', '.join(self.figures) or 'none'}")
        figure, (curve, frontier) = canvases(1, 2, width=10.8, height=4.2)
        for label, points in _curves(rows, self.vary, loss).items():
            curve.plot(*points, label=label, **style_of(label))
        bounds = _bounds(rows, self.vary, loss)
        if bounds:
            curve.plot(*bounds, **_BOUND)
            if risk != "highest_risk":
                frontier.plot([], [], label="lower bound", **_BOUND)
        for axes, across in ((curve, self.vary), (frontier, risk)):
            axes.set_xlabel(AXES.get(across, across))
            axes.set_ylabel(AXES.get(loss, loss))
        if self.vary in LOGARITHMIC:
            curve.set_xscale("log")
        tick_at(curve, sorted(rows[self.vary].unique().to_list()))
        _draw_frontier(frontier, rows, risk, loss, bounds if self.vary == "k" else None)
        return Drawing(figure)

    def cite(self) -> str:
        """Name the papers behind what was compared."""
        return citations(self.methods)

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
        with write_errors(f"{target}: the comparison"):
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
        return target

    def __repr__(self) -> str:
        """Count the runs."""
        return f"Comparison({self.frame.height} runs over {self.vary})"

    def __str__(self) -> str:
        """Write a table of the most important figure for each anonymizer and value, and the recommendation."""
        parts = [self._table(name) for name in ("loss", "count_error", "seconds") if name in self.figures]
        people = plan_lines(self.means(), self.promises, self.vary)
        beaten = dominated(self.means(), self.vary)
        beside = _private_lines(self.private, self.means(), self.vary)
        return "\n".join([*parts, *self._failures(), *beaten, *people, *beside, *self.notes, self.recommendation])

    def _repr_html_(self) -> str:
        """Show notebooks the figures as tables, and the first of them as curves."""
        from sfumato.notebook import card

        people = plan_lines(self.means(), self.promises, self.vary)
        beside = _private_lines(self.private, self.means(), self.vary)
        more = [*self._failures(), *dominated(self.means(), self.vary), *people, *beside, *self.notes]
        return card(
            "Comparison", f"{self.frame.height} runs over {self.vary}", *comparison_parts(self, _TITLES, [*more])
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
        bounds = _bounds(means, self.vary, name)
        width = max(len(_TITLES[name]), *(len(label) for label in labels))
        found = {(row["anonymizer"], row[self.vary]): row[name] for row in means.to_dicts()}
        if bounds:
            labels.append("lower bound")
            found |= {("lower bound", value): loss for value, loss in zip(*bounds, strict=True)}
        lines = [f"{_TITLES[name]:<{width}}" + "".join(f"{f'{self.vary} = {figure(value)}':>12}" for value in values)]
        for label in labels:
            cells = [found.get((label, value)) for value in values]
            written = ["–" if cell is None else f"{cell:.4g}" for cell in cells]
            lines.append(f"{label:<{width}}" + "".join(f"{cell:>12}" for cell in written))
        return "\n".join([*lines, ""])


_TITLES = {"loss": "Information loss", "count_error": "Median error of counts", "seconds": "Seconds"}


def draw_comparison(means: pl.DataFrame, vary: str) -> dict[str, str]:
    """Draw every figure against what varies, and risk against loss: name without ending → SVG."""
    drawn = {}
    for name in ("loss", "discernibility", "count_error", "seconds"):
        rows = means.drop_nulls(name) if name in means.columns else means.clear()
        if rows.height:
            bounds = _bounds(rows, vary, name)
            curves = _curves(rows, vary, name) | ({"lower bound": bounds} if bounds else {})
            drawn[f"{name}-by-{vary}"] = curves_svg(curves, vary, name, styles={"lower bound": _BOUND})
    for risk, name in (("average_risk", "loss"), ("average_risk", "count_error"), ("highest_risk", "loss")):
        if {risk, name} <= {*means.columns} and (rows := means.drop_nulls([risk, name])).height:
            figure, axes = canvas(risk, name)
            _draw_frontier(axes, rows, risk, name, _bounds(rows, vary, name) if vary == "k" else None)
            drawn[f"{'highest-' if risk == 'highest_risk' else ''}risk-and-{name}"] = svg_of(figure)
    return drawn


def _curves(rows: pl.DataFrame, vary: str, name: str) -> dict[str, tuple[list[float], list[float]]]:
    return {
        str(label): (curve[vary].to_list(), curve[name].to_list())
        for (label,), curve in rows.sort(vary).group_by(["anonymizer"], maintain_order=True)
    }


_BOUND = {"color": "#777777", "linestyle": "-", "marker": ""}


def _bounds(rows: pl.DataFrame, vary: str, loss: str) -> tuple[list[float], list[float]] | None:
    """Return the values and what is lost at least at each of them, where that was measured."""
    if loss != "loss" or "lower_bound" not in rows.columns:
        return None
    # Those who count records, or people, may be bounded from different tables.
    least = rows.drop_nulls("lower_bound").group_by(vary).agg(pl.col("lower_bound").min()).sort(vary)
    return (least[vary].to_list(), least["lower_bound"].to_list()) if least.height else None


_RISKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_DOTS = (16.0, 160.0)
"""Areas of the dots of the fastest and the slowest release."""


def _draw_frontier(
    axes: Any, rows: pl.DataFrame, risk: str, loss: str, bounds: tuple[list[float], list[float]] | None
) -> None:
    """Draw releases as dots, the larger the longer they took, and the frontier of each method."""
    # `bounds`: values of k, and what is lost at least. It is drawn for the highest risk alone: that is below 1/k where
    # classes have k records, and an average says nothing about the smallest class.
    seconds = np.maximum(rows["seconds"].to_numpy(), 0.001) if "seconds" in rows.columns else None
    for (label,), points in rows.with_row_index("row").group_by(["anonymizer"], maintain_order=True):
        look, own = style_of(str(label)), frontier_of(points, risk, loss)
        axes.plot(own[risk], own[loss], drawstyle="steps-post", markersize=4, linewidth=1.2, label=str(label), **look)
        if seconds is not None:
            areas = _areas(seconds)[points["row"].to_numpy()]
            axes.scatter(points[risk], points[loss], s=areas, color=look["color"], marker=look["marker"], alpha=0.5)
    if bounds and risk == "highest_risk":
        # A risk between two of them allows classes that are no larger than the smaller k asks.
        places = [1.0 / value for value in bounds[0]] + [
            float(np.append(rows[risk].to_numpy(), 1.0 / bounds[0][-1]).min())
        ]
        losses = [*bounds[1], bounds[1][-1]]
        axes.plot(places[::-1], losses[::-1], drawstyle="steps-pre", label="lower bound", **_BOUND)
    if seconds is not None:
        for area, spent in zip(_DOTS, (seconds.min(), seconds.max()), strict=True):
            axes.scatter([], [], s=area, color="#aaaaaa", label=f"{figure(float(spent), 2)} s")
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    marks = _RISKS if high < 100 * low else _RISKS[::3]
    tick_at(axes, [place for place in marks if low <= place <= high])
    legend(axes, len(axes.get_legend_handles_labels()[0]))


def _areas(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the area of each dot, by logarithms of seconds."""
    logarithms = np.log(seconds / seconds.min())
    shares: NDArray[np.float64] = logarithms / max(float(logarithms.max()), 1e-9)
    return _DOTS[0] + (_DOTS[1] - _DOTS[0]) * shares


_CRITERIA = {"count_error": "median error of counts", "loss": "information loss"}
"""The criteria: the first that was measured for all decides; less is better."""

_CLOSE = 1.05
"""Anonymizers within 5 % of the best count as equally good; the fastest of them is taken."""


def recommend(means: pl.DataFrame, vary: str, among: str = "") -> str:
    """Recommend the anonymizer with the lowest average loss over the values that every candidate reached.

    `means`: one row for each anonymizer and value, with the figures. `vary`: name of the column of values.
    `among`: which releases these are, where they are not all.
    """
    if means.is_empty():
        return "Recommendation: none; no anonymizer satisfied the models at any value."
    criterion = next((name for name in _CRITERIA if name in means.columns and not means[name].null_count()), None)
    if criterion is None:
        return "Recommendation: none; the releases have no figure in common."
    reached = means.group_by("anonymizer", maintain_order=True).agg(pl.len(), pl.col(criterion, "seconds").mean())
    complete = reached.filter(pl.col("len") == reached["len"].max())
    best = complete[criterion].min()
    assert isinstance(best, float)  # a column of floats without nulls
    close = complete.filter(pl.col(criterion) <= best * _CLOSE).sort("seconds", criterion)
    chosen = close.row(0, named=True)
    words = _CRITERIA[criterion]
    reasons = [f"its {words} is {percent(chosen[criterion], 3)} on average over {vary}"]
    if chosen[criterion] == best:
        reasons[0] += f", the lowest{among}"
    else:
        reasons[0] += f", within 5% of the lowest ({percent(best, 3)}), and it is the fastest of those"
    others = complete.filter(pl.col("anonymizer") != chosen["anonymizer"]).sort(criterion)
    if others.height:
        second = others.row(0, named=True)
        times = second["seconds"] / chosen["seconds"]
        pace = f"{figure(max(times, 1 / times), 2)} times {'slower' if times > 1 else 'faster'}"
        pace = "as fast" if pace.startswith("1 times") else pace
        reasons.append(f"{second['anonymizer']} comes next with {percent(second[criterion], 3)} and is {pace}")
    failed = reached.height - complete.height
    if failed:
        reasons.append(f"{failed} of {reached.height} did not reach every value")
    return f"Recommendation: {chosen['anonymizer']}; {'; '.join(reasons)}."


_STRICTER = {"k": 1, "l": 1, "t": -1, "alpha": -1, "beta": -1, "delta": -1}
"""Whether a model promises more where a parameter is larger, or where it is smaller."""


def frontier_of(rows: pl.DataFrame, risk: str, loss: str) -> pl.DataFrame:
    """Return the rows that no other row beats by lower risk at no more loss, by rising risk.

    `rows`: with two columns of figures of which less is better; rows without one of them are left out.
    """
    sorted_rows = rows.drop_nulls([risk, loss]).sort(risk, loss)
    best_before = sorted_rows[loss].cum_min().shift(1, fill_value=np.inf)
    return sorted_rows.filter(sorted_rows[loss] < best_before)


def dominated(means: pl.DataFrame, vary: str) -> Iterator[str]:
    """Say which releases promise less than another one of the same anonymizer, and yet lose more."""
    if vary not in _STRICTER or "loss" not in means.columns:
        return
    for rows in means.drop_nulls("loss").partition_by("anonymizer", maintain_order=True):
        by_strictness = rows.sort(pl.col(vary) * _STRICTER[vary])
        values, losses = by_strictness[vary].to_list(), by_strictness["loss"].to_list()
        for place, (value, loss) in enumerate(zip(values, losses, strict=True)):
            better = min(range(place, len(losses)), key=losses.__getitem__)
            if losses[better] < loss:
                yield (
                    f"{by_strictness['anonymizer'][0]}, {vary} = {figure(value)}: {vary} = {figure(values[better])} "
                    f"promises more and loses less, {percent(losses[better], 3)} instead of {percent(loss, 3)}"
                )


PrivateWay = PrivatePolicy | PrivateSamplePolicy
_ERROR = "count_error"


def private_problems(private: object) -> list[str]:
    """Say what is wrong with the policies that are compared, if anything is."""
    if not isinstance(private, Mapping):
        return ["private: must be a mapping of labels to PrivatePolicy or PrivateSamplePolicy"]
    return [
        f"private: {label!r} is neither a PrivatePolicy nor a PrivateSamplePolicy"
        for label, policy in private.items()
        if not isinstance(policy, (PrivatePolicy, PrivateSamplePolicy))
    ]


def private_frame(
    private: Mapping[str, PrivateWay],
    ground: SharedWork,
    repetitions: int,
    progress: Progress,
    until: float | None = None,
) -> pl.DataFrame:
    """Make each release so often, and return a row for each.

    No seed makes them the same again. Figures are for the steward: they tell of the original beyond what was spent.
    """
    columns = {"release": pl.String, "repetition": pl.Int64, "epsilon": pl.Float64, "delta": pl.Float64}
    columns |= {"status": pl.String, "reason": pl.String, _ERROR: pl.Float64, "seconds": pl.Float64}
    if not private:
        return pl.DataFrame(schema=columns)
    table = prepared(ground.table, ground)
    rows: list[dict[str, Any]] = []
    for label, policy in private.items():
        for repetition in range(repetitions):
            progress(f"comparing: {label}", len(rows), len(private) * repetitions)
            model = policy.to_model()
            row = {"release": label, "repetition": repetition, "epsilon": model.epsilon, "delta": model.delta}
            began = time.perf_counter()
            if until is not None and time.monotonic() > until:
                rows.append(row | {"status": UNFINISHED, "reason": "not begun within the time given"})
                continue
            try:
                release = (
                    publish_privately(ground.table, policy, progress=silent)
                    if isinstance(policy, PrivatePolicy)
                    else publish_private_sample(ground.table, policy, progress=silent)
                )
                row |= {"status": "done", "seconds": time.perf_counter() - began}
                if table.questions is not None:
                    errors, _ = error_figures(table.questions, private_joint(release, table.original))
                    row |= {f"{name}_error": each.median for name, each in errors.items() if name == "count"}
            except PolicyError as error:
                row |= {"status": "refused", "reason": "; ".join(error.problems)}
            rows.append(row)
    return pl.DataFrame(rows, schema=columns)


def _private_lines(private: pl.DataFrame, means: pl.DataFrame, vary: str) -> Iterator[str]:
    """Say of each release by how much counts are off, and at which value each anonymizer is off by no more."""
    if not private.height:
        return
    for rows in private.partition_by("release", maintain_order=True):
        first = rows.row(0, named=True)
        promise = f"{first['release']} (ε = {first['epsilon']:g}, δ = {first['delta']:g})"
        refused = rows.filter(pl.col("status") != DONE)["reason"].unique(maintain_order=True).to_list()
        yield from (f"{promise}: {reason}" for reason in refused)
        error: Any = rows[_ERROR].mean()
        if error is not None:
            others = "; ".join(_as_good(means, vary, error)) if _ERROR in means.columns else ""
            yield f"{promise}: counts are off by {percent(error, 3)} (median){others and '; no worse are '}{others}"


def _as_good(means: pl.DataFrame, vary: str, error: float) -> Iterator[str]:
    for rows in means.drop_nulls(_ERROR).partition_by("anonymizer", maintain_order=True):
        good = rows.filter(pl.col(_ERROR) <= error)
        label = rows["anonymizer"][0]
        if not good.height:
            continue
        by_strictness = good.sort(pl.col(vary) * _STRICTER.get(vary, 1))
        yield f"{label} up to {vary} = {figure(by_strictness[vary][-1])}"


def comparison_parts(comparison: Comparison, titles: dict[str, str], more: list[str]) -> tuple[Markup, ...]:
    """Return a table and a drawing for each of the figures in `titles`, and the sentences in `more`."""
    shown = [(name, title) for name, title in titles.items() if name in comparison.figures]
    first = shown[0][0] if shown else ""
    parts = [
        notebook_section(title, _table(comparison, name), _curve_parts(comparison, name, name == first))
        for name, title in shown
    ]
    return paragraph(comparison.recommendation), *parts, lines(more)


def _table(comparison: Comparison, name: str) -> Markup:
    values = sorted(comparison.frame[comparison.vary].unique().to_list())
    found = {(row["anonymizer"], row[comparison.vary]): row[name] for row in comparison.means().to_dicts()}
    rows = [
        (label, *(_cell(found.get((label, value))) for value in values))
        for label in dict.fromkeys(comparison.frame["anonymizer"].to_list())
    ]
    heads = ["", *(f"{comparison.vary} = {figure(value)}" for value in values)]
    return notebook_table(heads, rows, range(1, len(heads)))


def _cell(value: float | None) -> Cell:
    return "–" if value is None else f"{value:.4g}"


def _curve_parts(comparison: Comparison, name: str, is_first: bool) -> Markup:
    if not is_first:
        return Markup("")
    means = comparison.means().drop_nulls(name).sort(comparison.vary)
    points = {
        str(label): [*zip(rows[comparison.vary].to_list(), rows[name].to_list(), strict=True)]
        for (label,), rows in means.group_by(["anonymizer"], maintain_order=True)
    }
    return curves(points, comparison.vary, name.replace("_", " "))
