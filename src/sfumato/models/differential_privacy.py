"""Differential privacy: what comes out hardly depends on whether any one person is in the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from sfumato.models.says import CheckedModel
from sfumato.options import Limit


@dataclass(frozen=True)
class DifferentialPrivacy(CheckedModel):
    """(ε, δ)-differential privacy of a person with all of their records.

    Guarantee: for every two tables, of which one has all records of one person more, and for every set S of releases:
    P(release of the one in S) ≤ e^ε · P(release of the other in S) + δ, both ways round. It holds whatever an
    attacker knows or learns later. It is a promise about the program that draws the noise, and no recipient can recount
    that from what was drawn.

    Parameters
    ----------
    epsilon
        Above 0. What somebody's being in the table may change any odds by is e^ε: 1.1 times for 0.1, 2.7 times for 1,
        22,026 times for 10.
    delta
        From 0 to below 1. 0 takes discrete Laplace noise; above 0 discrete Gaussian noise, and must be far below one
        by the number of people.
    max_records
        Where the table says who is who: how many records of a person are counted at most; others are dropped, at
        random. None: every record is another person.

    References
    ----------
    C. Dwork, F. McSherry, K. Nissim, A. Smith, "Calibrating noise to sensitivity in private data analysis", TCC 2006.
    M. Bun, T. Steinke, "Concentrated differential privacy", TCC 2016, for the budget of Gaussian noise.
    """

    epsilon: Annotated[float, Limit(0, above=True)]
    delta: Annotated[float, Limit(0, 1, below=True)] = 0.0
    max_records: Annotated[int, Limit(1, 2**31)] | None = None

    name: ClassVar[str] = "differential-privacy"

    @property
    def records(self) -> int:
        """Records of a person that count at most."""
        return self.max_records or 1

    @property
    def neighbours(self) -> str:
        """Say which two tables are hardly to be told apart."""
        if self.max_records is None:
            return "two tables of which one has one record more; every record is a person of its own"
        counted = "one record" if self.max_records == 1 else f"{self.max_records:,} records"
        return f"two tables of which one has one person with all of their records more; at most {counted} of each count"

    def __str__(self) -> str:
        """Return e.g. ``(ε = 1, δ = 0)-differential privacy``."""
        return f"(ε = {self.epsilon:g}, δ = {self.delta:g})-differential privacy"
