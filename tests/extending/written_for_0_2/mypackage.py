"""What the pages of version 0.2 showed, as somebody's package has it: it must run with every later version."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sfumato.models.says import Says
from sfumato.models.sensitive import SensitiveModel

import sfumato as sf
from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.statistics import SensitiveCounts, class_statistics
from sfumato.kernels.predicates import ALPHA, K_ANONYMITY
from sfumato.models.protocol import Achieved, Rule
from sfumato.models.reference import largest_counts
from sfumato.options import Limit


@dataclass(frozen=True)
class InARow:
    """Neighbours by the first attribute share a class."""

    size: int = 10
    name: ClassVar[str] = "in-a-row"
    decides_regions: ClassVar[bool] = False

    def solve(self, problem):
        order = np.argsort(problem.table.codes[:, 0], kind="stable")
        count = max(1, problem.table.height // self.size)
        class_of = np.empty(problem.table.height, dtype=np.int32)
        class_of[order] = np.arange(problem.table.height) * count // problem.table.height
        return Partition(class_of, count)


@dataclass(frozen=True)
class Dozens:
    """Every class has at least so many dozen records."""

    dozens: int = 1
    name: ClassVar[str] = "dozens"

    def holds(self, statistics):
        return statistics.sizes >= 12 * self.dozens

    def achieved(self, statistics):
        return [Achieved("dozens", float(statistics.sizes.min() // 12))]

    def rules(self, attributes):
        return [Rule(K_ANONYMITY, None, 12 * self.dozens)]

    def explain(self, statistics):
        return None if statistics.height >= 12 * self.dozens else "dozens: too few records"

    def parameters(self):
        return {"dozens": self.dozens}


@dataclass(frozen=True)
class Even(Says):
    """Every class has an even number of records, which merging may not keep."""

    name: ClassVar[str] = "even"
    survives_merging: ClassVar[bool] = False

    def holds(self, statistics):
        return statistics.sizes % 2 == 0

    def achieved(self, statistics):
        return []

    def rules(self, attributes):
        return []

    def explain(self, statistics):
        return None

    def parameters(self):
        return {}


def published_exactly(release, table):
    """Share of ages that are published as they are."""
    ages = release.data["age"].cast(pl.String)
    return ages.str.contains(r"^\d+$").mean()


@dataclass(frozen=True)
class MaximumShare(SensitiveModel):
    """No sensitive value has a share above `share` in a class."""

    share: Annotated[float, Limit(0, 1, above=True)]
    attribute: str | None = None

    name: ClassVar[str] = "maximum-share"
    speaks_of: ClassVar = frozenset({"classes", "buckets"})
    in_words: ClassVar[str] = "no sensitive value has a larger share than {share} among the people who look alike"
    code: ClassVar[int] = ALPHA
    bounded: ClassVar[str] = "share"
    at_least: ClassVar[bool] = False
    remedy: ClassVar[str] = "raise share"

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the share of the most frequent value of each class; float64 (c,)."""
        return largest_counts(counts) / sizes


@dataclass(frozen=True)
class SortedRuns:
    """Sort the records by their quasi-identifying values; runs of `length` records become classes."""

    name: ClassVar[str] = "sorted-runs"
    decides_regions: ClassVar[bool] = False

    length: int = 5

    def __post_init__(self) -> None:
        """Check the option."""
        if self.length < 1:
            raise sf.PolicyError("sorted-runs: length must be at least 1")

    def solve(self, problem: Problem) -> Partition:
        """Partition the records, or raise ``UnsatisfiableError``."""
        feasible(problem, may_leave_out=False)
        table = problem.table
        run_of = np.empty(table.height, dtype=np.int32)
        run_of[np.lexsort(table.codes.T[::-1])] = np.arange(table.height) // self.length
        while True:
            count = int(run_of.max()) + 1
            statistics = class_statistics(run_of, count, table.sensitive_codes, table.sensitive)
            holds = np.all([model.holds(statistics) for model in problem.models], axis=0)
            if holds.all():
                return Partition(run_of, count)
            run_of = merged(holds)[run_of]


def merged(holds: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Give every run its new number; one that breaks a model takes the next one in."""
    starts = [True]
    for held in holds[:-1]:
        starts.append(bool(held) or not starts[-1])
    # The last run has no next one.
    starts[-1] = len(starts) == 1 or (starts[-1] and bool(holds[-1]))
    return np.cumsum(starts, dtype=np.int32) - np.int32(1)
