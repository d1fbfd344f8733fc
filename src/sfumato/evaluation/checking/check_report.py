"""Everything that a check found, in one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics
from sfumato.errors import PolicyError
from sfumato.evaluation.checking.findings import Finding
from sfumato.evaluation.risk.adversaries import Adversary
from sfumato.evaluation.risk.keys import Keys
from sfumato.evaluation.risk.people_at_risk import PeopleAtRisk


@dataclass(frozen=True, eq=False, repr=False)
class CheckReport:
    """Which models a table satisfies, and how far. It is for the data steward: it names row numbers.

    Attributes
    ----------
    keys : Keys
        Classes of records with equal quasi-identifying values.
    statistics : ClassStatistics
        Who is counted in them.
    findings : tuple of Finding
        k first, then every model of each sensitive attribute.
    prosecutor : Adversary
        Risk of each record to be found by somebody who knows that it is in the table.
    people : PeopleAtRisk or None
        Where people may have several records. If they are declared, every finding counts people, else records.
    """

    keys: Keys
    statistics: ClassStatistics
    findings: tuple[Finding, ...]
    prosecutor: Adversary
    people: PeopleAtRisk | None = None

    def __repr__(self) -> str:
        """Count records and classes."""
        return f"CheckReport({self.keys.height} records, {self.keys.count} classes)"

    def __str__(self) -> str:
        """Write a short table for people."""
        from sfumato.evaluation.checking.check_text import check_text

        return check_text(self)

    @property
    def sample_uniques(self) -> int:
        """Records whose values no other record of the table has."""
        return int((self.keys.records == 1).sum())

    def find(self, model: str, attribute: str | None = None, **given: Any) -> Finding:
        """Return what was found for a model.

        Parameters
        ----------
        model
            Its name, such as ``"t-closeness"``.
        attribute
            The sensitive column; needed if there are several.
        **given
            Other parameters: ``l=3`` of recursive diversity, which otherwise is 2.

        Raises
        ------
        PolicyError
            When nothing of the kind was measured.
        """
        named = [one for one in self.findings if one.model == model and attribute in (None, one.attribute)]
        found = [one for one in named if given.items() <= one.given.items()]
        if not found:
            raise PolicyError(f"no such figure was measured; there are {', '.join(self._models)}")
        if len({one.attribute for one in found}) > 1:
            raise PolicyError(f"{model}: there are several sensitive columns; say which")
        return found[0]

    def rows(self, finding: Finding) -> NDArray[np.int64]:
        """Return the row numbers (from 1) of the records in the worst classes of a finding, rising."""
        return np.flatnonzero(finding.is_worst[self.keys.class_of]) + 1

    def to_frame(self) -> pl.DataFrame:
        """Return one line per class: its first row, its records, and the value of every finding but k."""
        columns: dict[str, NDArray[Any]] = {"first_row": self.keys.first_rows, "records": self.keys.records}
        return pl.DataFrame(columns | {_column(one): one.measured for one in self.findings if one.attribute})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; a bound that does not exist is None."""
        from sfumato.evaluation.checking.check_text import plain_values

        return plain_values(self)

    @property
    def _models(self) -> list[str]:
        return list(dict.fromkeys(one.model for one in self.findings))


def _column(finding: Finding) -> str:
    least = f" (l={finding.given['l']})" if "l" in finding.given else ""
    return f"{finding.model}{least}: {finding.attribute}"
