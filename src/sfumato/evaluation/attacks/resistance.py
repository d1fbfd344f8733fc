"""Whether a release withstands who knows the algorithm, reads labels, or knows other people.

What follows from how a release is made is told apart from what was played, and holds only of the attacker that was. An
attack that was not withstood, not played, or played on too few people to say refuses the release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sfumato.errors import UnsatisfiableError, raise_all
from sfumato.evaluation.attacks.definetti import OthersAndRelease
from sfumato.evaluation.attacks.minimality import EFFORT, Minimality
from sfumato.evaluation.attacks.play import attack_policy
from sfumato.evaluation.attacks.protocol import Attack
from sfumato.evaluation.attacks.singling_out import SinglingOut
from sfumato.evaluation.attacks.verdicts import (
    Verdict,
    needed_in_words,
    people_to_decide,
    resistance_verdict,
)
from sfumato.numbers import figure, percent
from sfumato.rates import Rate
from sfumato.release.reports import Resistance
from sfumato.release.task import Task, looks_at_nobody

if TYPE_CHECKING:
    from sfumato.evaluation.attacks.protocol import AttackResult

HELD_OUT = 0.2
"""Share of the people who are not in the trial release, from whom attackers learn."""
ABOVE = 0.02
"""How far isolation may lie above what classes of these sizes give away whatever their labels say."""

TIMES = 10
"""How many times the usual effort goes into running an algorithm in other worlds."""
_MOST_TIMES = 1 << 20

PLAYED_FOR: Mapping[str, Attack] = {
    "algorithm": Minimality(effort=TIMES * EFFORT),
    # What sensitive values beside a class single out is not told by labels.
    "labels": SinglingOut(values=False),
    "others": OthersAndRelease(),
}
"""Who is to be withstood → the attack that plays them."""

_CURES: Mapping[str, str] = {
    "algorithm": "take one that looks at no sensitive value: blind=True, slices with split='blind', or bucketization",
    "labels": "declare hierarchies whose nodes hold many people each, or ask for a larger k",
    "others": "ask for more sensitive values in each class or bucket, such as a larger l, or a smaller t",
}


def resistances(task: Task) -> tuple[Resistance, ...]:
    """Say what holds of a release, and play the rest on a trial: the same policy, a fifth of the people held out.

    Raises ``UnsatisfiableError`` with every attack that was not withstood, and what would help.
    """
    asked = tuple(word for word in PLAYED_FOR if word in task.policy.withstand)
    proved = {word: sentence for word in asked if (sentence := _proved(word, task)) is not None}
    attacks = [PLAYED_FOR[word] for word in asked if word == "labels" or word not in proved]
    results: Sequence[AttackResult] = ()
    if attacks:
        trial = task.policy.model_copy(update={"withstand": (), "subset": None})
        results = attack_policy(
            task.table, trial, hold_out=HELD_OUT, attacks=attacks, seed=task.seed, threads=task.threads,
            progress=task.progress,
        ).results  # fmt: skip
    trials = [AttackTrial(word, each) for word in asked for each in results if each.attack == PLAYED_FOR[word].name]
    raise_all(UnsatisfiableError, [problem for each in trials if (problem := each.problem)])
    return (
        *(Resistance(word, "recounted" if word == "labels" else "attested", proved[word]) for word in proved),
        *(each.resistance for each in trials),
    )


def _proved(word: str, task: Task) -> str | None:
    """Say what follows from how the release is made; None where nothing does."""
    if word == "labels":
        return "every one is a node, a declared group, or one bin or two of a grid"
    if word == "algorithm" and looks_at_nobody(task.policy):
        return "nothing that was decided hangs on who has which sensitive value"
    return None


@dataclass(frozen=True)
class AttackTrial:
    """An attack that was played for a word, and what came of it."""

    word: str
    result: AttackResult

    @property
    def resistance(self) -> Resistance:
        """What is told of it where it was withstood."""
        found = self.result
        return Resistance(self.word, "played", f"{found.goal}: {self._found()}", found.attack, found.knows)

    @property
    def problem(self) -> str | None:
        """Say why the release is refused; None where the attack was withstood."""
        start = f"withstand: {self.word}: {self.result.attack}"
        if (why := self.result.unplayed) is not None:
            return f"{start} was not played: {why}; {_CURES[self.word]}, or leave {self.word} out"
        if self._verdict == "no better":
            return None
        if self._verdict == "undecided":
            return f"{start} is undecided: {self._found()}; {self._needed()}, or leave {self.word} out"
        return f"{start} succeeds: {self._found()}; {_CURES[self.word]}, or leave {self.word} out"

    @property
    def _bar(self) -> float:
        return self.result.figures["if_labels_told_nothing"] + ABOVE

    @property
    def _verdict(self) -> Verdict:
        if self.word == "labels":
            return label_verdict(self.result.success, self._bar)
        return resistance_verdict(self.result.judging, self._promised)

    @property
    def _promised(self) -> float | None:
        return None if self.result.curve is None else self.result.curve.bound

    def _needed(self) -> str:
        if self.word == "labels":
            return f"about {_predicates_needed(self.result.success, self._bar):,} classes would decide it"
        judge, curve = partial(resistance_verdict, allowed=self._promised), self.result.judging
        return needed_in_words(people_to_decide(curve, judge), curve, self.result.counts)

    def _found(self) -> str:
        return "; ".join(self._rates())

    def _rates(self) -> Iterator[str]:
        found = self.result
        if self.word == "labels":
            rate, (low, high) = found.success, found.success.interval
            yield f"{percent(rate.share, 3)} of {rate.people:,} classes ({_points(low)} to {percent(high, 3)})"
            yield f"at most {percent(self._bar, 3)}, {_points(ABOVE)} points above what labels that told nothing give"
            return
        looks = [] if found.curve is None else found.curve.looks
        for look in looks:
            if look.share in (0.1, 1.0):
                yield look.line(None)
        promised = self._promised
        yield "beside what the class tells" if promised is None else f"{percent(promised, 3)} promised"


def _points(share: float) -> str:
    return figure(100 * share, 3)


def label_verdict(rate: Rate, bar: float) -> Verdict:
    """Judge isolation by labels: *no better* where the interval ends at a bar, *succeeds* where it begins above it.

    Examples
    --------
    >>> [label_verdict(Rate(some, 400, 0.0), 0.4) for some in (130, 150, 200)]
    ['no better', 'undecided', 'succeeds']
    """
    low, high = rate.interval
    return "no better" if not rate.people or high <= bar else "succeeds" if low > bar else "undecided"


def _predicates_needed(rate: Rate, bar: float) -> int:
    """Return about how many predicates would decide it, if the share stays: the next power of two times those tried."""
    times = 1
    while (
        times < _MOST_TIMES
        and label_verdict(Rate(times * rate.successes, times * rate.people, 0.0), bar) == "undecided"
    ):
        times *= 2
    return times * rate.people
