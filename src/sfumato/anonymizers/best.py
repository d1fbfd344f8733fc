"""The best of all anonymizers that admit the models, refined."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.clustering.bounds import lower_bound
from sfumato.anonymizers.clustering.distinct import Loss
from sfumato.anonymizers.clustering.numeric import numeric_space
from sfumato.anonymizers.clustering.refinement import ROUNDS, refine
from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.parts import solve_in_parts
from sfumato.anonymizers.protocol import Anonymizer, Problem, SolvesParts
from sfumato.classes.partition import Partition
from sfumato.errors import InputError, PolicyError, UnsatisfiableError
from sfumato.metrics import METRICS
from sfumato.models.protocol import least_class_size
from sfumato.numbers import percent
from sfumato.options import Checked, Limit
from sfumato.parallel import as_done
from sfumato.recoding import recode

Objective = Literal[
    "normalized-ncp", "lm", "entropy", "minimal-distortion", "squared-error", "discernibility", "average-class-size"
]
TRIED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("mondrian", {}),
    ("mondrian", {"split_rule": "anywhere"}),
    ("mdav", {}),
    ("v-mdav", {}),
    ("k-means", {}),
    ("k-member", {"refine": 0}),
    ("utility-recoding", {}),
    ("kaca", {}),
)
"""What is tried, in this order; the default comes first, the slowest last."""
_REFINED = 3
"""So many of the best are refined, where rounds are counted."""
_SEARCHING = 1 / 3
"""Share of the time after which nothing more is tried, and the best so far is refined."""
_MOST_BOUNDED = 100_000
"""Records up to which it is worked out how little any recoding must lose."""


@dataclass(frozen=True, eq=False, repr=False)
class _Trial:
    """One anonymizer's solution."""

    said: str  # the anonymizer and its options, as on the command line
    partition: Partition | None  # None where it does not admit the table or the models, or where time was up
    loss: float = float("inf")  # under the objective; infinite without a solution
    why: str = ""  # why there is no solution


@dataclass(frozen=True)
class Best(Checked):
    """Try every anonymizer that admits the models, refine the best, and keep what loses least.

    Parameters
    ----------
    within
        Seconds. Up to a third of them are for trying, the rest refines the best so far; the release then depends on the
        speed of the machine. None: `rounds` decide, and the same records and seed give the same release.
    rounds
        Small changes that refinement proposes for each record, where `within` is None; the best three are refined.
    objective
        What is kept low, as :func:`sfumato.compare` names it. Refinement lowers the loss metric for ``"lm"``, the
        squared error of points for ``"squared-error"``, the normalized certainty penalty for all others, and is kept
        where it lowers the objective, too.

    Raises
    ------
    PolicyError
        With every option that is unknown or out of range.

    Notes
    -----
    *Guarantee.* Every class satisfies every model: each solution tried does, and refinement judges every class that it
    changes. The result is never worse under the objective than the default anonymizer's, both with rounded ends, which
    is tried first and to its end.

    *Complexity.* The sum of all that is tried. A time limit is looked at between anonymizers and where they report
    progress, so that one that is in the middle of something may end a little later.

    *Sources.* Ours. The notes of the report say what was tried, what it lost, and which single anonymizer gives the
    same release again.
    """

    name: ClassVar[str] = "best"
    decides_regions: ClassVar[bool] = False

    within: Annotated[float, Limit(0, above=True, unit="seconds")] | None = None
    rounds: Annotated[int, Limit(0)] = ROUNDS
    objective: Objective = "normalized-ncp"

    def solve(self, problem: Problem) -> Partition:
        """Partition the records.

        Raises
        ------
        UnsatisfiableError
            When nothing that was tried found a solution.
        """
        begun = time.monotonic()
        feasible(problem)
        trials = [trial for _, trial in sorted(self._trials(problem, begun), key=lambda pair: pair[0])]
        solved = sorted((trial for trial in trials if trial.partition is not None), key=lambda trial: trial.loss)
        if not solved:
            raise UnsatisfiableError("best: none of the anonymizers found a solution; relax the models' parameters")
        refined = list(self._refined(problem, solved, begun))
        best = min([*solved, *refined], key=lambda trial: trial.loss)
        assert best.partition is not None
        return replace(
            best.partition,
            notes=(*_notes(best, trials, refined), *_bound(problem, best, self.objective), *best.partition.notes),
        )

    def _trials(self, problem: Problem, begun: float) -> Iterator[tuple[int, _Trial]]:
        """Try one after the other on each thread; the first, which is the default, is never cut short."""
        alone = replace(problem, threads=1)
        until = None if self.within is None else begun + _SEARCHING * self.within

        def tried(place: int) -> _Trial:
            name, options = TRIED[place]
            words = " ".join([name, *(f"--set {key}={value}" for key, value in options.items())])
            try:
                timed = alone if until is None or place == 0 else replace(alone, progress=_Deadline(until))
                partition = solution(ANONYMIZERS[name](**options), timed)
            except _TimeIsUp:
                return _Trial(words, None, why="time was up")
            except (PolicyError, UnsatisfiableError):
                return _Trial(words, None, why="does not admit the table or the models")
            return _Trial(words, partition, self._loss(problem, partition))

        for done, (place, trial) in enumerate(as_done(tried, range(len(TRIED)), problem.threads), start=1):
            problem.progress("trying anonymizers", done, len(TRIED))
            yield place, trial

    def _refined(self, problem: Problem, solved: Sequence[_Trial], begun: float) -> Iterator[_Trial]:
        """Refine the best: several by rounds, or one in the time that is left."""
        for trial in solved[: _REFINED if self.within is None else 1]:
            if self.within is None:
                partition, how = self._refine(problem, trial, rounds=self.rounds), f"--refine {self.rounds}"
            else:
                left = max(0.0, begun + self.within - time.monotonic())
                partition, how = self._refine(problem, trial, seconds=left), f"refined for {left:.0f} s"
            yield _Trial(f"{trial.said} {how}", partition, self._loss(problem, partition))

    def _refine(self, problem: Problem, trial: _Trial, rounds: int = 0, seconds: float | None = None) -> Partition:
        assert trial.partition is not None
        loss: Loss = "loss" if self.objective == "lm" else "ncp"
        space = (
            numeric_space(problem.table, "zscore", "ranks", name=self.name)
            if self.objective == "squared-error"
            else None
        )
        return refine(problem, trial.partition, loss=loss, rounds=rounds, seconds=seconds, space=space)

    def _loss(self, problem: Problem, partition: Partition) -> float:
        try:
            return METRICS[self.objective](recode(problem.table, partition, threads=problem.threads))
        except InputError as error:
            raise PolicyError(*(f"best, objective: {problem}" for problem in error.problems)) from None


class _TimeIsUp(Exception):
    """Nothing more is to be tried."""


@dataclass(frozen=True)
class _Deadline:
    """Progress that ends an anonymizer when time is up."""

    until: float

    def __call__(self, what: str, done: int, total: int) -> None:
        if time.monotonic() > self.until:
            raise _TimeIsUp


def solution(anonymizer: Anonymizer, problem: Problem) -> Partition:
    """Solve a problem here, in parts where the anonymizer does so."""
    problem.progress("starting", 0, 1)
    if isinstance(anonymizer, SolvesParts):
        return solve_in_parts(anonymizer, problem, lambda solve, parts: as_done(solve, parts, problem.threads))
    return anonymizer.solve(problem)


def _notes(best: _Trial, trials: Sequence[_Trial], refined: Sequence[_Trial]) -> Iterator[str]:
    """Say what was tried, and what gives the same again."""
    done = sorted((trial for trial in (*trials, *refined) if trial.partition is not None), key=lambda trial: trial.loss)
    yield "Tried, with their losses: " + "; ".join(f"{trial.said} {trial.loss:.6g}" for trial in done) + "."
    for why in sorted({trial.why for trial in trials if trial.why}):
        yield f"Not tried to the end ({why}): " + ", ".join(trial.said for trial in trials if trial.why == why) + "."
    yield f"The best is --anonymizer {best.said}."


def _bound(problem: Problem, best: _Trial, objective: str) -> Iterator[str]:
    """Say how far from the least loss the best is, where that is known."""
    k = least_class_size(problem.models)
    if (
        objective != "normalized-ncp"
        or not k
        or problem.table.height > _MOST_BOUNDED
        or problem.table.people is not None
    ):
        return
    least = lower_bound(problem.table, k, threads=problem.threads)
    if least > 0:
        yield (
            f"Any k-anonymous local recoding loses {percent(least, 3)} or more; the best loses {best.loss / least:.2f} "
            "times as much."
        )
