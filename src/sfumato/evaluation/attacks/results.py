"""All attacks that were played against one release, in one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sfumato.evaluation.attacks.people import records_in_words
from sfumato.evaluation.attacks.protocol import AttackResult, RecordsKnown
from sfumato.evaluation.attacks.verdicts import IN_WORDS, Verdict
from sfumato.notebook import (
    BAD,
    GOOD,
    OPEN,
    Cell,
    Markup,
    interval,
    lines,
    notebook_mark,
    notebook_section,
    notebook_table,
    paragraph,
)
from sfumato.numbers import counted, percent, with_article


@dataclass(frozen=True)
class Attacks:
    """Results of the attacks on one release.

    Attributes
    ----------
    kind : str
        Kind of the release, as in ``release.json``.
    people : int
        People in the data; records, if nothing says who they are about.
    control : int or None
        People who are not in the data; None without a control group.
    results : tuple of AttackResult
        In the order in which the attacks were played.
    unplayed : mapping of str to str
        Attacks of the default set that could not be played, and why.
    records : int
        Records in the data; more than `people` where somebody has several.
    records_known : "all", "one" or int
        How many records an attacker who knows somebody knows of them.
    repeated : str or None
        A column that looks as if it said who a record is about, though the schema says nothing; every record was then
        attacked as if it were a person of its own.
    """

    kind: str
    people: int
    control: int | None
    results: tuple[AttackResult, ...]
    unplayed: Mapping[str, str] = field(default_factory=dict)
    records: int = 0
    records_known: RecordsKnown = "all"
    repeated: str | None = None

    def __post_init__(self) -> None:
        """Freeze the mapping."""
        object.__setattr__(self, "unplayed", MappingProxyType(dict(self.unplayed)))

    def __getitem__(self, attack: str) -> tuple[AttackResult, ...]:
        """Return the results of one attack, by its name; empty if it was not played."""
        return tuple(result for result in self.results if result.attack == attack)

    @property
    def succeeding(self) -> tuple[AttackResult, ...]:
        """Return the results that beat guessing, and the control group if there is one."""
        return tuple(result for result in self.results if result.succeeds)

    @property
    def unlicensed(self) -> tuple[AttackResult, ...]:
        """Return those of them that go beyond what a promise of the release allows, or that no promise is about."""
        return tuple(result for result in self.succeeding if not result.is_allowed)

    @property
    def undecided(self) -> tuple[AttackResult, ...]:
        """Return the results that say neither, because too few people were tried."""
        return tuple(result for result in self.results if result.is_undecided)

    @property
    def unsettled(self) -> tuple[AttackResult, ...]:
        """Return those of them that go beyond what a promise of the release allows, or that no promise is about."""
        return tuple(result for result in self.undecided if not result.is_allowed)

    def draw(self, width: int = 50) -> str:
        """Draw every result as text: success with its interval, guessing, and the control group, on one scale."""
        return _draw_results(self.results, width)

    def _repr_html_(self) -> str:
        """Show notebooks every result with its interval."""
        from sfumato.notebook import card

        what = "people" if self.repeated is None else "records"
        control = "" if self.control is None else f"; {self.control:,} who are not in the data"
        return card("Attacks", f"on a {self.kind} of {self.people:,} {what}{control}", *_attack_parts(self))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "kind": self.kind,
            "people": self.people,
            "control": self.control,
            "records": self.records or self.people,
            **({"records_known": self.records_known} if self.records > self.people else {}),
            **({} if self.repeated is None else {"repeated": self.repeated}),
            "succeeding": len(self.succeeding),
            "unlicensed": len(self.unlicensed),
            "undecided": len(self.undecided),
            "results": [result.to_dict() for result in self.results],
            "unplayed": dict(self.unplayed),
        }

    def __str__(self) -> str:
        """Write all results on one page."""
        what = "people" if self.repeated is None else "records"
        several = f" with {self.records:,} records" if self.records > self.people else ""
        control = "" if self.control is None else f"; {self.control:,} who are not in the data"
        head = (
            f"{counted(len(self.results), 'result')} of attacks on {with_article(self.kind)} of {self.people:,} {what}"
            f"{several}{control}\n"
            f"{len(self.succeeding)} beat guessing, {len(self.unlicensed)} of them beyond what the release promises"
        )
        if self.undecided:
            head += f"; {len(self.undecided)} undecided"
        if several:
            head += f"\nwho knows somebody knows {records_in_words(self.records_known)}"
        if self.repeated is not None:
            head += (
                f"\ncolumn {self.repeated!r} repeats; every record was attacked as if it were a person of its own. If "
                f"the column says who a record is about, have people attacked with person={self.repeated!r} (on the "
                f"command line --person {self.repeated})"
            )
        unplayed = [f"not played: {name}, {reason}" for name, reason in self.unplayed.items()]
        return "\n\n".join([head, *map(str, self.results), *(["\n".join(unplayed)] if unplayed else [])])


_SUCCESS, _GUESSING, _CONTROL, _INTERVAL = "●", "|", "◇", "─"


def _draw_results(results: Sequence[AttackResult], width: int) -> str:
    """Draw one line for each result with at least one person, on a scale from 0 to 1 of `width` letters.

    The verdict stands at its end.
    """
    tried = [result for result in results if result.success.people]
    if not tried:
        return "nothing to draw: no attack had anybody to try it on"
    longest = max(len(result.attack) for result in tried)
    lines = [f"{result.attack:<{longest}}  {_line(result, width)}  {_word(result)}" for result in tried]
    scale = f"{'':<{longest}}  0{'1':>{width - 1}}"
    legend = f"{_SUCCESS} success with its interval, {_GUESSING} guessing, {_CONTROL} people who are not in the data"
    return "\n".join([*lines, scale, legend])


def _word(result: AttackResult) -> str:
    return result.verdict if result.unplayed is None else "not played"


def _line(result: AttackResult, width: int) -> str:
    letters = [" "] * width
    low, high = (_place(end, width) for end in result.success.interval)
    letters[low : high + 1] = _INTERVAL * (high + 1 - low)
    letters[_place(result.success.baseline, width)] = _GUESSING
    if result.control is not None and result.control.people:
        letters[_place(result.control.share, width)] = _CONTROL
    letters[_place(result.success.share, width)] = _SUCCESS
    return "".join(letters)


def _place(share: float, width: int) -> int:
    return round(min(max(share, 0.0), 1.0) * (width - 1))


KINDS: dict[Verdict, str] = {"succeeds": BAD, "no better": GOOD, "undecided": OPEN}
_HEADS = ("attack", "people ...", "verdict", "success", "guessing", "0 to 100%")

_STROKES = (
    "A bar is the 95% interval around the success; strokes are guessing, people who are not in the data, and what the "
    "promises allow."
)


def _attack_parts(attacks: Attacks) -> tuple[Markup, ...]:
    """Return the results as one table, and what else there is to say, as parts of a card."""
    played = [_row(result) for result in attacks.results if result.unplayed is None]
    unplayed = {result.attack: result.unplayed for result in attacks.results if result.unplayed is not None}
    missed = [f"{name}: {reason}" for name, reason in {**attacks.unplayed, **unplayed}.items()]
    helps = {result.helps: result.attack for result in attacks.unlicensed if result.helps}
    return (
        paragraph(_summary(attacks)),
        notebook_table(_HEADS, played, (3, 4)),
        paragraph(_STROKES if played else ""),
        notebook_section("What helps", lines(f"{attack}: {sentence}" for sentence, attack in helps.items())),
        notebook_section("Not played", lines(missed)),
    )


def _summary(attacks: Attacks) -> str:
    """Count what succeeds, and what is undecided."""
    beyond = f"{len(attacks.unlicensed)} beyond what the release promises"
    return f"{len(attacks.succeeding)} beat guessing, {beyond}; {len(attacks.undecided)} undecided."


def _row(result: AttackResult) -> tuple[Cell, ...]:
    success, control = result.success, result.control
    low, high = success.interval
    strokes = {"guessing": success.baseline}
    strokes |= {} if control is None or not control.people else {"people who are not in the data": control.share}
    strokes |= {} if result.allowed is None else {"allowed by the promises": min(result.allowed, 1.0)}
    kind = OPEN if result.succeeds and result.is_allowed else KINDS[result.verdict]
    words = IN_WORDS[result.verdict] + (", as the promises allow" if result.succeeds and result.is_allowed else "")
    if not success.people:
        return result.attack, result.goal, notebook_mark(words, kind), "nobody", "", ""
    drawn = interval(low, high, success.share, strokes)
    return (
        result.attack,
        result.goal,
        notebook_mark(words, kind),
        percent(success.share, 3),
        percent(success.baseline, 3),
        drawn,
    )
