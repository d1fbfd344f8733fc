"""Every risk of a table in one value: as text for people, as plain values for machines, and as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.population_uniqueness import PopulationUniqueness
from sfumato.errors import PolicyError
from sfumato.evaluation.risk.adversaries import (
    TOLERANCE,
    UNNUMBERED,
    AboveThreshold,
    Adversary,
    Keys,
    PeopleAtRisk,
    Threshold,
    as_thresholds,
)
from sfumato.evaluation.risk.combinations import Combinations, LeftOut, SpecialUniques, leaving_out_lines
from sfumato.evaluation.risk.log_linear import LogLinearRisk
from sfumato.notebook import BAD, PLAIN, Cell, Markup, bar, lines, notebook_section, notebook_table
from sfumato.numbers import counted, figure, percent

if TYPE_CHECKING:
    from sfumato.drawing import Drawing
    from sfumato.evaluation.risk.combinations import Combination


@dataclass(frozen=True, eq=False, repr=False)
class RiskReport:
    """Who can be found in a table, and by which columns. It is for the data steward: it names row numbers.

    * `keys`: classes of records with equal quasi-identifying values.
    * `thresholds`: lowest first.
    * `journalist`: None without a population table or sampling fraction.
    * `individual`: benedetti and Franconi's risk; None without weights.
    * `marketer`: expected share of the records that an attacker who tries them all matches to the right person.
    * `household`: float64 (n,): risk that somebody of the record's household is found; None without households.
    * `sample_uniques`: records whose values no other record of the table has.
    * `population_uniques`: those of them that are unique in the population table, too; None without one.
    * `population`: estimated, without a population table; None without a sampling fraction or weights.
    * `log_linear`: what a log-linear model says of unique records; None unless it was asked for.
    * `people`: where people may have several records: how they are hidden. All other figures count records.
    * `left_out`: of many columns: which to leave out first, and how many records are unique then.
    * `hints`: what columns look like by their names and values, and what HIPAA's safe harbor asks of such columns.
    * `unnumbered`: whether promises are about people with several records, and the release does not say who they are.
    """

    keys: Keys
    thresholds: tuple[Threshold, ...]
    prosecutor: Adversary
    journalist: Adversary | None
    individual: Adversary | None
    marketer: float
    household: NDArray[np.float64] | None
    sample_uniques: int
    population_uniques: int | None
    population: PopulationUniqueness | None
    special_uniques: SpecialUniques | None
    combinations: Combinations | None
    people: PeopleAtRisk | None = None
    log_linear: LogLinearRisk | None = None
    left_out: tuple[LeftOut, ...] = ()
    hints: tuple[str, ...] = ()
    unnumbered: bool = False

    @property
    def people_lines(self) -> list[str]:
        """Return what is known of people who may have several records, as lines of text."""
        if self.unnumbered:
            return [UNNUMBERED]
        return [] if self.people is None else self.people.lines(self.keys.count)

    def __repr__(self) -> str:
        """Count records and classes."""
        return f"RiskReport({self.keys.height} records, {self.keys.count} classes)"

    def _repr_html_(self) -> str:
        """Show notebooks the figures of the whole table; no row is named."""
        from sfumato.notebook import card

        return card("Risk", risk_counts(self), *_risk_parts(self))

    def __str__(self) -> str:
        """Write a short table for people."""
        return _risk_text(self)

    @property
    def adversaries(self) -> tuple[Adversary, ...]:
        """Return the adversaries whose risk is known class by class."""
        return tuple(one for one in (self.prosecutor, self.journalist, self.individual) if one is not None)

    def rows_above(self, threshold: str | float, adversary: str = "prosecutor") -> NDArray[np.int64]:
        """Return the row numbers (from 1) of the records whose risk is above a threshold, rising.

        `threshold`: a named threshold such as ``"ema"``, or a number. `adversary`: ``"prosecutor"``, ``"journalist"``,
        ``"individual"`` or ``"household"``. Raises ``PolicyError`` for an invalid threshold, or an adversary whose risk
        was not measured.
        """
        value = as_thresholds([threshold])[0].value
        if adversary == "household" and self.household is not None:
            return np.flatnonzero(self.household > value + TOLERANCE) + 1
        return np.flatnonzero(self._named(adversary).is_above(value)[self.keys.class_of]) + 1

    def classes_above(self, threshold: str | float, adversary: str = "prosecutor") -> pl.DataFrame:
        """Return the classes whose risk is above a threshold, riskiest first: first row, records, risk.

        Parameters and errors are those of :meth:`rows_above`, except for households.
        """
        value = as_thresholds([threshold])[0].value
        risks = self._named(adversary)
        chosen = np.flatnonzero(risks.is_above(value))
        frame = pl.DataFrame(
            {
                "first_row": self.keys.first_rows[chosen],
                "records": self.keys.records[chosen],
                "risk": risks.risks[chosen],
            }
        )
        return frame.sort("risk", "first_row", descending=[True, False])

    def to_frame(self) -> pl.DataFrame:
        """Return one line per record: row number, class size, and every risk and score that was measured."""
        class_of = self.keys.class_of
        columns: dict[str, NDArray[Any]] = {
            "row": np.arange(1, self.keys.height + 1),
            "records_alike": self.keys.records[class_of],
        }
        columns |= {one.name: one.risks[class_of] for one in self.adversaries}
        if self.household is not None:
            columns["household"] = self.household
        if self.special_uniques is not None:
            columns["suda"] = self.special_uniques.scores
            if self.special_uniques.dis_scores is not None:
                columns["dis_suda"] = self.special_uniques.dis_scores
        return pl.DataFrame(columns)

    def plot(self) -> Drawing:
        """Draw for every attacker how many records are at each risk or above, and the thresholds.

        Raises
        ------
        PolicyError
            When matplotlib is not installed (``pip install 'sfumato[report]'``).
        """
        from sfumato.drawing import Drawing, canvas

        figure, axes = canvas("risk", "records at this risk or above (%)")
        for one in self.adversaries:
            risks = np.sort(one.risks[self.keys.class_of])[::-1]
            axes.step(risks, 100 * np.arange(1, risks.size + 1) / risks.size, where="pre", label=one.name)
        for place, threshold in enumerate(self.thresholds):
            axes.axvline(threshold.value, color="#777777", linewidth=1, linestyle=":")
            # Thresholds lie close to each other: each name stands below the last.
            axes.annotate(
                str(threshold), (threshold.value, 100 - 24 * place), rotation=90, va="top", ha="right", size=7
            )
        axes.set_ylim(0, 103)
        axes.legend(frameon=False, fontsize="small")
        return Drawing(figure)

    def draw(self, width: int = 50) -> str:
        """Draw, as text, the share of the records in classes of each range of sizes."""
        return _size_picture(self, width)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON: figures of the whole table, and the first rows above each threshold."""
        return plain_values(self)

    def household_above(self, threshold: Threshold) -> AboveThreshold:
        """Count the records whose household's risk is above a threshold."""
        rows = len(self.rows_above(threshold.value, "household"))
        return AboveThreshold(threshold, rows, 0, rows / max(1, self.keys.height))

    def _named(self, adversary: str) -> Adversary:
        for one in self.adversaries:
            if one.name == adversary:
                return one
        known = ", ".join(one.name for one in self.adversaries)
        raise PolicyError(f"adversary: this report has no risk of that name; it has {known}")


FIRST_ROWS = 10
"""Rows that are named; the others are in :meth:`RiskReport.to_frame`."""


_FIRST_COMBINATIONS = 8


_HINTS = "columns that HIPAA's safe harbor speaks of, by its letters (names and values were looked at; no legal advice)"


DIGITS = 3


def _risk_text(report: RiskReport) -> str:
    """Write a report for people."""
    keys = report.keys
    head = f"{counted(keys.height, 'record')} in {counted(keys.count, 'class')} of {counted(len(keys.names), 'column')}"
    parts = [
        [head],
        aligned(_risk_rows(report)),
        report.people_lines,
        aligned(_uniqueness_rows(report)),
        _rows_to_look_at(report),
        _special_lines(report.special_uniques, keys.height),
        _combination_lines(report.combinations),
        leaving_out_lines(report.left_out, report.keys.height),
        [_HINTS, *(f"  {hint}" for hint in report.hints)] if report.hints else [],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def plain_values(report: RiskReport) -> dict[str, Any]:
    """Return a report as plain values."""
    household = report.household
    return {
        "records": report.keys.height,
        "classes": report.keys.count,
        "quasi_identifying": list(report.keys.names),
        "thresholds": [
            {"name": one.name, "value": one.value, "source": one.source or None} for one in report.thresholds
        ],
        **{
            one.name: {"highest": one.highest, "average": one.average, "above": _plain_above(report, one.name)}
            for one in report.adversaries
        },
        "marketer": {"average": report.marketer, "records": report.marketer * report.keys.height},
        "household": None
        if household is None
        else {
            "highest": float(household.max()),
            "average": float(household.mean()),
            "above": _plain_above(report, "household"),
        },
        "sample_uniques": {"records": report.sample_uniques, "share": report.sample_uniques / report.keys.height},
        "population_uniques": report.population_uniques,
        "population_uniqueness": _plain_population(report.population),
        **({"log_linear": report.log_linear.to_dict()} if report.log_linear else {}),
        **({"people": report.people.to_dict()} if report.people else {}),
        **({"people_unnumbered": True} if report.unnumbered else {}),
        "special_uniques": _plain_special(report.special_uniques),
        "combinations": None
        if report.combinations is None
        else {
            "size": report.combinations.size,
            "measured": [_plain_combination(one) for one in report.combinations.ranked()],
        },
        **({"left_out": [asdict(step) for step in report.left_out]} if report.left_out else {}),
        **({"hints": list(report.hints)} if report.hints else {}),
    }


def _plain_above(report: RiskReport, name: str) -> list[dict[str, Any]]:
    found = []
    for threshold in report.thresholds:
        above = _above(report, name, threshold)
        rows = report.rows_above(threshold.value, name)
        found.append(
            {
                "threshold": threshold.value,
                "records": above.records,
                "share": above.share,
                **({} if name == "household" else {"classes": above.classes}),
                "first_rows": rows[:FIRST_ROWS].tolist(),
            }
        )
    return found


def _above(report: RiskReport, name: str, threshold: Any) -> AboveThreshold:
    if name == "household":
        return report.household_above(threshold)
    return next(one for one in report.adversaries if one.name == name).above(threshold)


def _plain_population(population: PopulationUniqueness | None) -> dict[str, Any] | None:
    if population is None:
        return None
    return {
        "sampling_fraction": population.fraction,
        "share": population.share,
        "chosen": population.chosen,
        "pitman": population.pitman,
        "zayatz": population.zayatz,
        "snb": population.snb,
    }


def _plain_special(special: SpecialUniques | None) -> dict[str, Any] | None:
    if special is None:
        return None
    by_size = []
    for size in range(1, special.size + 1):
        uniques, records = special.of_size(size)
        by_size.append({"columns": size, "uniques": uniques, "records": records})
    return {
        "size": special.size,
        "records": special.found,
        "by_size": by_size,
        "contributions": dict(zip(special.names, special.contributions.tolist(), strict=True)),
        "dis": special.estimate,
        "first_rows": _highest_scores(special),
    }


def _plain_combination(one: Combination) -> dict[str, Any]:
    return {
        "columns": list(one.columns),
        "distinction": one.distinction,
        "separation": one.separation,
        "uniques": one.uniques,
    }


def _risk_rows(report: RiskReport) -> list[list[str]]:
    rows = [["risk", "highest", "average", *(f"> {threshold}" for threshold in report.thresholds)]]
    for one in report.adversaries:
        above = [_records(one.above(threshold)) for threshold in report.thresholds]
        rows.append([f"  {one.name}", percent(one.highest, DIGITS), percent(one.average, DIGITS), *above])
    if report.household is not None:
        above = [_records(report.household_above(threshold)) for threshold in report.thresholds]
        highest, average = float(report.household.max()), float(report.household.mean())
        rows.append(["  household", percent(highest, DIGITS), percent(average, DIGITS), *above])
    return [*rows, ["  marketer", "", percent(report.marketer, DIGITS)]]


def _records(above: AboveThreshold) -> str:
    return f"{above.records:,} ({percent(above.share, DIGITS)})"


def _uniqueness_rows(report: RiskReport) -> list[list[str]]:
    share = percent(report.sample_uniques / report.keys.height, DIGITS)
    rows = [["unique in the table", f"{report.sample_uniques:,} ({share})"]]
    if report.population_uniques is not None:
        share = percent(report.population_uniques / report.keys.height, DIGITS)
        rows.append(["  and in the population", f"{report.population_uniques:,} ({share})"])
    if (found := report.population) is not None:
        snb = "no fit" if found.snb is None else percent(found.snb, DIGITS)
        models = f"pitman {percent(found.pitman, DIGITS)}, zayatz {percent(found.zayatz, DIGITS)}, snb {snb}"
        rows.append(["unique in the population", f"{percent(found.share, DIGITS)} by {found.chosen} ({models})"])
    if (fitted := report.log_linear) is not None:
        terms = "main effects" if fitted.order == 1 else f"terms of {fitted.order} columns"
        terms += "" if fitted.estimate == "standard" else f", {fitted.estimate}"
        sentence = f"{fitted.expected_uniques:,.1f} unique, {fitted.expected_matches:,.1f} right matches expected"
        rows.append(["  of them, log-linear", f"{sentence} ({terms})"])
    return rows


def _rows_to_look_at(report: RiskReport) -> list[str]:
    if not report.thresholds:
        return []
    highest = report.thresholds[-1]
    rows = report.rows_above(highest.value)
    if not len(rows):
        return []
    return [f"rows above {highest} (prosecutor): {list_combinations(rows.tolist())}"]


def list_combinations(rows: Sequence[int], most: int = FIRST_ROWS) -> str:
    """Name the first rows, and count the others."""
    named = ", ".join(str(row) for row in rows[:most])
    return f"{named}, and {len(rows) - most:,} more" if len(rows) > most else named


def _highest_scores(special: SpecialUniques) -> list[int]:
    scores = special.scores
    order = (-scores).argsort(kind="stable")[:FIRST_ROWS].tolist()
    return [place + 1 for place in order if scores[place] > 0]


def _special_lines(special: SpecialUniques | None, height: int) -> list[str]:
    if special is None:
        return []
    share = percent(special.found / max(1, height), DIGITS)
    lines = [f"special uniques of up to {counted(special.size, 'column')}: {special.found:,} records ({share})"]
    for size in range(1, special.size + 1) if special.found else ():
        uniques, records = special.of_size(size)
        lines.append(f"  {counted(size, 'column')}: {records:,} records, {uniques:,} minimal uniques")
    if not special.found:
        return lines
    if special.estimate is not None:
        lines.append(
            f"  a match with a unique record is right with probability {figure(special.estimate, DIGITS)} (DIS)"
        )
    order = sorted(range(len(special.names)), key=lambda place: -special.contributions[place])
    shares = [f"{special.names[place]} {percent(special.contributions[place], DIGITS)}" for place in order]
    lines.append(f"  columns in the scores: {', '.join(shares)}")
    lines.append(f"  rows of the highest scores: {', '.join(map(str, _highest_scores(special)))}")
    return lines


def _combination_lines(combinations: Combinations | None) -> list[str]:
    if combinations is None:
        return []
    rows = [["columns together", "distinction", "separation", "unique records"]]
    for one in combinations.ranked(_FIRST_COMBINATIONS):
        figures = [percent(one.distinction, DIGITS), percent(one.separation, DIGITS + 2), f"{one.uniques:,}"]
        rows.append([f"  {' + '.join(one.columns)}", *figures])
    left = len(combinations) - _FIRST_COMBINATIONS
    return [*aligned(rows), *([f"  and {left:,} more"] if left > 0 else [])]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Write rows of cells as lines, the columns one below the other."""
    widths = [max(len(row[place]) for row in rows if len(row) > place) for place in range(max(map(len, rows)))]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)) for row in rows]
    return [line.rstrip() for line in lines]


_SIZES = ((1, 1), (2, 2), (3, 4), (5, 10), (11, 20), (21, 50), (51, 100), (101, None))
"""Class sizes that are drawn together."""


def _size_picture(report: RiskReport, width: int) -> str:
    """Draw a bar for each range of class sizes: the share of the records that are in such classes."""
    sizes = report.keys.records
    total = max(1, int(sizes.sum()))
    lines = []
    for low, high in _SIZES:
        share = int(sizes[(sizes >= low) & (sizes <= (high or sizes.max(initial=0)))].sum()) / total
        name = f"{low}" if high == low else f"{low} or more" if high is None else f"{low} to {high}"
        lines.append(f"{name:>11}  {'█' * round(share * width)} {percent(share, 3)}")
    return "\n".join(["records alike, share of all records", *lines])


SIZES = (1, 2, 3, 5, 10, 20, 50, 100)
"""Where ranges of class sizes begin."""


_MOST_COMBINATIONS = 5


def _risk_parts(report: RiskReport) -> tuple[Markup, ...]:
    """Return what a report says, as parts of a card."""
    combinations = report.combinations
    ranked = [] if combinations is None else combinations.ranked()[:_MOST_COMBINATIONS]
    rows = [(", ".join(one.columns), bar(one.separation), one.uniques) for one in ranked]
    return (
        notebook_section("Records that look alike", notebook_table(("class of", "records"), list(_sizes(report)))),
        notebook_section("Risk", notebook_table(("adversary", "highest", "average"), list(_risks(report)))),
        notebook_section(
            "Records above a threshold", notebook_table(("threshold", "adversary", "records"), list(_above_row(report)))
        ),
        notebook_section(
            "Columns that give people away",
            notebook_table(("columns", "pairs of records told apart", "unique records"), rows, (2,)),
        ),
        lines(report.people_lines),
    )


def _sizes(report: RiskReport) -> Iterator[tuple[Cell, Cell]]:
    records = report.keys.records
    ranges = np.searchsorted(SIZES, records, side="right") - 1
    held = np.bincount(ranges, weights=records, minlength=len(SIZES))
    for place, first in enumerate(SIZES):
        if held[place]:
            last = SIZES[place + 1] - 1 if place + 1 < len(SIZES) else None
            size = f"{first} or more" if last is None else f"{first}" if last == first else f"{first} to {last}"
            share = held[place] / max(1, report.keys.height)
            yield size, bar(share, f"{int(held[place]):,} ({percent(share, 3)})", kind=BAD if first == 1 else PLAIN)


def _risks(report: RiskReport) -> Iterator[tuple[Cell, Cell, Cell]]:
    for one in report.adversaries:
        yield one.name, bar(one.highest), bar(one.average)
    yield "marketer", "", bar(report.marketer)
    if report.household is not None:
        yield "household", bar(float(report.household.max())), bar(float(report.household.mean()))


def _above_row(report: RiskReport) -> Iterator[tuple[Cell, Cell, Cell]]:
    for threshold in report.thresholds:
        for one in report.adversaries:
            found = one.above(threshold)
            yield str(threshold), one.name, bar(found.share, f"{found.records:,} ({percent(found.share, 3)})")


def risk_counts(report: RiskReport) -> str:
    """Count records, classes and columns."""
    keys = report.keys
    return f"{counted(keys.height, 'record')} in {counted(keys.count, 'class')} of {counted(len(keys.names), 'column')}"
