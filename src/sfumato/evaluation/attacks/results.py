"""All attacks that were played against one release, in one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sfumato.evaluation.attacks.known_records import in_words
from sfumato.evaluation.attacks.pictures import draw_results
from sfumato.evaluation.attacks.protocol import AttackResult, RecordsKnown
from sfumato.numbers import counted, with_article


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
        return draw_results(self.results, width)

    def _repr_html_(self) -> str:
        """Show notebooks every result with its interval."""
        from sfumato.evaluation.attacks.results_html import attack_parts
        from sfumato.notebook import card

        what = "people" if self.repeated is None else "records"
        control = "" if self.control is None else f"; {self.control:,} who are not in the data"
        return card("Attacks", f"on a {self.kind} of {self.people:,} {what}{control}", *attack_parts(self))

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
            head += f"\nwho knows somebody knows {in_words(self.records_known)}"
        if self.repeated is not None:
            head += (
                f"\ncolumn {self.repeated!r} repeats; every record was attacked as if it were a person of its own. If "
                f"the column says who a record is about, have people attacked with person={self.repeated!r} (on the "
                f"command line --person {self.repeated})"
            )
        unplayed = [f"not played: {name}, {reason}" for name, reason in self.unplayed.items()]
        return "\n\n".join([head, *map(str, self.results), *(["\n".join(unplayed)] if unplayed else [])])
