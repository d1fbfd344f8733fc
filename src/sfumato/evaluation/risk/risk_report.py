"""Every risk of a table in one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.uniqueness.population_uniqueness import PopulationUniqueness
from sfumato.errors import PolicyError
from sfumato.evaluation.risk.adversaries import AboveThreshold, Adversary
from sfumato.evaluation.risk.combinations import Combinations
from sfumato.evaluation.risk.keys import Keys
from sfumato.evaluation.risk.leaving_out import LeftOut
from sfumato.evaluation.risk.log_linear import LogLinearRisk
from sfumato.evaluation.risk.people_at_risk import UNNUMBERED, PeopleAtRisk
from sfumato.evaluation.risk.special_uniques import SpecialUniques
from sfumato.evaluation.risk.thresholds import TOLERANCE, Threshold, as_thresholds


@dataclass(frozen=True, eq=False, repr=False)
class RiskReport:
    """Who can be found in a table, and by which columns. It is for the data steward: it names row numbers.

    Attributes
    ----------
    keys : Keys
        Classes of records with equal quasi-identifying values.
    thresholds : tuple of Threshold
        Lowest first.
    prosecutor : Adversary
    journalist : Adversary or None
        None without a population table or sampling fraction.
    individual : Adversary or None
        Benedetti and Franconi's risk; None without weights.
    marketer : float
        Expected share of the records that an attacker who tries them all matches to the right person.
    household : numpy.ndarray or None
        float64 (n,): risk that somebody of the record's household is found; None without households.
    sample_uniques : int
        Records whose values no other record of the table has.
    population_uniques : int or None
        Those of them that are unique in the population table, too; None without one.
    population : PopulationUniqueness or None
        Estimated, without a population table; None without a sampling fraction or weights.
    special_uniques : SpecialUniques or None
    combinations : Combinations or None
    log_linear : LogLinearRisk or None
        What a log-linear model says of unique records; None unless it was asked for.
    people : PeopleAtRisk or None
        Where people may have several records: how they are hidden. All other figures count records.
    left_out : tuple of LeftOut
        Of many columns: which to leave out first, and how many records are unique then.
    hints : tuple of str
        What columns look like by their names and values, and what HIPAA's safe harbor asks of such columns.
    unnumbered : bool
        Whether promises are about people with several records, and the release does not say who they are.
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
        from sfumato.evaluation.risk.risk_html import counts, risk_parts
        from sfumato.notebook import card

        return card("Risk", counts(self), *risk_parts(self))

    def __str__(self) -> str:
        """Write a short table for people."""
        from sfumato.evaluation.risk.risk_text import risk_text

        return risk_text(self)

    @property
    def adversaries(self) -> tuple[Adversary, ...]:
        """Return the adversaries whose risk is known class by class."""
        return tuple(one for one in (self.prosecutor, self.journalist, self.individual) if one is not None)

    def rows_above(self, threshold: str | float, adversary: str = "prosecutor") -> NDArray[np.int64]:
        """Return the row numbers (from 1) of the records whose risk is above a threshold, rising.

        Parameters
        ----------
        threshold
            A named threshold such as ``"ema"``, or a number.
        adversary
            ``"prosecutor"``, ``"journalist"``, ``"individual"`` or ``"household"``.

        Raises
        ------
        PolicyError
            For an invalid threshold, or an adversary whose risk was not measured.
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

    def draw(self, width: int = 50) -> str:
        """Draw, as text, the share of the records in classes of each range of sizes."""
        from sfumato.evaluation.risk.risk_text import size_picture

        return size_picture(self, width)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON: figures of the whole table, and the first rows above each threshold."""
        from sfumato.evaluation.risk.risk_text import plain_values

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
