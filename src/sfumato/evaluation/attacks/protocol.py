"""What an attack is: a target in, a result out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, Protocol, TypeVar, cast, runtime_checkable

import polars as pl

from sfumato.evaluation.attacks.verdicts import (
    BeliefCurve,
    Certainty,
    Verdict,
    curve_verdict,
    exceeds_promise,
    judging_curve,
    needed_in_words,
    people_to_decide,
    verdict_in_words,
)
from sfumato.progress import Progress, silent
from sfumato.published import Published
from sfumato.rates import Rate
from sfumato.recoding.choice import Recoding
from sfumato.table.table import Table

RecordsKnown = Literal["all", "one"] | int
"""How many records an attacker knows of each person: all, one, or at most a number; which ones is drawn."""


Counted = Literal["people", "records"]


@dataclass(frozen=True)
class RowsOfPeople:
    """What a release says of the rows of one person."""

    promised: bool = False  # whether its promises are about people with several records
    together: bool = False  # whether all rows of a person lie in one class


_Found = TypeVar("_Found")


MOST = 1 << 24
"""Most cells that are kept in total, 8 bytes each."""


@dataclass(frozen=True, eq=False, repr=False)
class ResultCache:
    """Results by the values that they were computed from. It lives as long as its target."""

    _found: dict[tuple[str | int, ...], tuple[object, int, tuple[object, ...]]] = field(default_factory=dict)

    def once(self, name: str, given: tuple[object, ...], work: Callable[[], _Found], cells: int) -> _Found:
        """Return what `work` returns, once for the same name and objects, unless its `cells` find no room."""
        key: tuple[str | int, ...] = (name, *(id(value) for value in given))
        if key in self._found:
            return cast(_Found, self._found[key][0])
        result = work()
        if cells + sum(size for _, size, _ in self._found.values()) <= MOST:
            # The values are kept as well, since later objects could otherwise have their identities.
            self._found[key] = (result, cells, given)
        return result


@dataclass(frozen=True, eq=False, repr=False)
class Target:
    """A release under attack, and the truth by which success is judged.

    An attack uses of `original`, `control` and `register` only what its sentence `knows` grants the attacker about a
    victim; everything else of them only to score.
    """

    published: Published  # everything of the release that the attacker sees
    # The records that were published, with names if the schema has identifying columns. Its schema (roles, hierarchies)
    # is public.
    original: Table
    # people who were not in the data, under the same schema: what can be learnt about them is not the release's fault
    control: Table | None = None
    # names and quasi-identifying values that the attacker holds; None takes them from `original`
    register: pl.DataFrame | None = None
    earlier: Published | None = None  # another release of (some of) the same people
    models: tuple[Mapping[str, Any], ...] = ()  # name and parameters of every promise, as in ``release.json``; public
    # how the rows of a person lie in the release, and whether the promises are about people; public
    rows: RowsOfPeople = field(default_factory=lambda: RowsOfPeople())
    earlier_rows: RowsOfPeople = field(default_factory=lambda: RowsOfPeople())  # the same of `earlier`
    records_known: RecordsKnown = "all"  # how many records of each victim the attacker knows, where people have several
    # the algorithm with its options, for attackers who know it; public, as the release's report names it
    anonymizer: object | None = None
    recoding: Recoding = field(default_factory=Recoding)  # how a generalized table was published
    seed: int | None = None  # for the attack's own choices; None draws from the operating system
    threads: int = 1
    progress: Progress = field(default=silent)
    # results that attacks on this target have computed and others may use again
    remembered: ResultCache = field(default_factory=ResultCache)

    @property
    def models_of_victims(self) -> tuple[Mapping[str, Any], ...]:
        """The promises that bound what is done to a person: none, if they are about records and people have several."""
        people = self.original.people
        several = people is not None and len(people) > int(self.original.person_of.max()) + 1
        return () if several and not self.rows.promised else self.models


_NOBODY = "no such claim was made"


_COUNTED: Mapping[Counted, str] = {"people": "people", "records": "records, each taken for a person,"}


@dataclass(frozen=True)
class AttackResult:
    """The result of one attack.

    * `attack`: its name, e.g. ``"homogeneity"``.
    * `knows`: what the attacker knows besides the release, in one sentence.
    * `goal`: what counts as success, in words that finish "people ...", e.g. ``"whose disease was learnt with
      certainty"``.
    * `success`: over the people who are in the data; its `baseline` is the best possible guess without the release.
    * `control`: the same over people who are not in the data, if there is such a group.
    * `figures`: further figures, e.g. ``{"auc": 0.53}``. No value of the table is among them.
    * `notes`: what makes the figures doubtful; counts and column names only.
    * `helps`: what would help against the attack, in one sentence.
    * `allowed`: rate of success up to which a promise of the release lets the attack go, such as 1/k for picking the
      right record of a k-anonymous table; None if no promise is about it.
    * `certainty`: what came of claims that leave no doubt; None if the attack makes none.
    * `unplayed`: why the attack was not played after all, in words that finish "not played, because ..."; a note says
      so, too.
    * `curve`: how often the attacker is right about those of whom they are surest; None if they hold no beliefs.
    """

    attack: str
    knows: str
    goal: str
    success: Rate
    control: Rate | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    helps: str = ""
    allowed: float | None = None
    counts: Counted = "people"
    certainty: Certainty | None = None
    unplayed: str | None = None
    curve: BeliefCurve | None = None

    @property
    def is_allowed(self) -> bool:
        """Tell whether the success, with its interval, stays within what a promise of the release allows.

        Where beliefs are ranked, it must stay so among the surest as well, or within what people who are not in the
        data show of the population.
        """
        return self.allowed is not None and not exceeds_promise(self.judging, self.allowed)

    @property
    def verdict(self) -> Verdict:
        """Say what the figures say, see :func:`~sfumato.evaluation.attacks.verdicts.curve_verdict`.

        *Certainty* that was never wrong is a fact about the people in the data: it succeeds if anybody is told beyond
        what guessing is certain of. Else beliefs decide, if any. ``"undecided"`` if the attack was not played.
        """
        if self.unplayed is not None:
            return "undecided"
        if self.certainty is not None and self.certainty.holds and (self.certainty.told or self.curve is None):
            return "succeeds" if self.certainty.told else "no better"
        return curve_verdict(self.judging)

    @property
    def headline(self) -> str:
        """Write the verdict in words: if the surest alone decide, and if others show as much where guessing fails."""
        is_certain = self.certainty is not None and self.certainty.holds and self.certainty.told > 0
        return verdict_in_words(self.verdict, self.judging, is_certain=is_certain)

    @property
    def succeeds(self) -> bool:
        """Tell whether the attack does better than guessing, and than on people who are not in the data."""
        return self.verdict == "succeeds"

    @property
    def is_undecided(self) -> bool:
        """Tell whether the attack was played on too few people to say."""
        return self.verdict == "undecided" and self.unplayed is None

    @property
    def people_needed(self) -> int | None:
        """Return about how many people would decide; None unless the attack was played and is undecided."""
        return people_to_decide(self.judging) if self.is_undecided else None

    @property
    def needed(self) -> str | None:
        """Say so in words; None likewise."""
        exact = self.people_needed
        return None if exact is None else needed_in_words(exact, self.judging, self.counts)

    @property
    def judging(self) -> BeliefCurve:
        """All shares that a verdict looks at."""
        return judging_curve(self.success, self.control, self.curve)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "attack": self.attack,
            "knows": self.knows,
            "goal": self.goal,
            "verdict": self.verdict,
            "headline": self.headline,
            "succeeds": bool(self.succeeds),
            "people_needed": self.people_needed,
            "success": self.success.to_dict(),
            **({} if self.control is None else {"control": self.control.to_dict()}),
            "figures": {name: float(value) for name, value in self.figures.items()},
            "notes": list(self.notes),
            "helps": self.helps,
            "allowed": self.allowed,
            **({} if self.allowed is None else {"within": bool(self.is_allowed)}),
            "counts": self.counts,
            "certainty": None if self.certainty is None else asdict(self.certainty),
            "unplayed": self.unplayed,
            **({} if self.curve is None else {"curve": self.curve.to_dict()}),
        }

    def __str__(self) -> str:
        """Return a short paragraph."""
        if self.unplayed is not None:
            goal = f"  it would be about {_COUNTED[self.counts]} {self.goal}"
            return "\n".join([f"{self.attack}: not played, because {self.unplayed}", goal, *self._notes()])
        lines = [
            f"{self.attack}: {self._judged()}",
            f"  the attacker knows {self.knows}",
            f"  {_COUNTED[self.counts]} {self.goal}: {self.success if self.success.people else _NOBODY}",
        ]
        if self.control is not None:
            others = self.control if self.control.people else _NOBODY
            lines.append(f"  the same for {_COUNTED[self.counts]} who are not in the data: {others}")
        lines.extend([] if self.curve is None else self.curve.lines())
        lines.extend(self._reasons())
        lines.extend(f"  {name.replace('_', ' ')}: {value:.4g}" for name, value in self.figures.items())
        lines.extend(self._notes())
        if self.helps and self.succeeds:
            lines.append(f"  what helps: {self.helps}")
        return "\n".join(lines)

    def _judged(self) -> str:
        """Return the verdict, with what the promises allow."""
        words = self.headline
        if self.allowed is None or self.verdict == "no better":
            return words
        share = f"{100 * self.allowed:.3g} %"
        if self.is_undecided:
            return f"{words}; the release's promises allow {share}"
        return f"{words}, {'within' if self.is_allowed else 'beyond'} the {share} that the release's promises allow"

    def _reasons(self) -> list[str]:
        """Say what the verdict rests on, where the rates do not show it."""
        found = []
        if self.certainty is not None and self.certainty.told and self.certainty.holds:
            found.append(f"  certain: {self.certainty.told:,}, about whom one answer is left; guessing leaves several")
        if self.certainty is not None and not self.certainty.holds:
            found.append(f"  what seemed certain was wrong for {self.certainty.wrong:,}, so it counts like a guess")
        if self.needed is not None:
            found.append(f"  {self.needed}")
        return found

    def _notes(self) -> list[str]:
        return [f"  note: {note}" for note in self.notes if note != self.unplayed]


@runtime_checkable
class Attack(Protocol):
    """One attack with its options: a frozen dataclass, checked when built."""

    name: ClassVar[str]
    """On the command line, e.g. ``"homogeneity"``."""
    kinds: ClassVar[frozenset[str]]
    """Kinds of release that it can be played against."""
    needs: ClassVar[tuple[str, ...]]
    """The parts of a target that must not be missing: any of ``"control"``, ``"register"``, ``"earlier"``,
    ``"anonymizer"``, ``"sensitive"``, ``"identifying"``, ``"pseudonyms"``."""

    # `on_demand`, a sentence, is declared by attacks that are played only when they are named; it says why.
    # `reads_order`, true, is declared by those that see rows as they stand; others get them in an order that depends
    # only on what the rows hold.

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it: one result for each goal, e.g. for each sensitive attribute."""
        ...
