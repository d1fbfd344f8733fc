"""What a kind of release that is no table of records finds of itself for its evidence: attacks, figures, limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import polars as pl

from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.progress import Progress, silent

ANEW = "The release does not tell whose each record is. It was made anew from the original to tell who is right. {}"
_SAME = "What was made is the release, record for record."
_OTHER = "What was made differs from the release, and the attacks were played on it: a release of the same policy."


@dataclass(frozen=True)
class Asked:
    """What is asked of a kind: of which original, by which policy, whether attacks are played, and how."""

    original: Any  # a file, as the kind reads it
    policy: Mapping[str, Any]  # plain values of a policy of the kind
    attacks: bool = True
    seed: int | None = None
    threads: int = 1
    control: Any = None  # a file of people who are not in the data
    progress: Progress = field(default=silent)


@dataclass(frozen=True)
class KindEvidence:
    """What was found.

    * `original`: records of the original.
    * `results`, `unplayed`: of attacks; the reason for each that was not played.
    * `figures`: what was lost, by name; for the steward.
    * `notes`: what makes the results doubtful.
    * `control`: people who were not in the data.
    * `before`: what the same attackers find in the original.
    """

    original: int
    results: Sequence[AttackResult] = ()
    unplayed: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()
    control: int | None = None
    before: Sequence[AttackResult] = ()


class FindsEvidence(Protocol):
    """What the place that a kind names as ``evidence`` holds."""

    def __call__(self, published: Any, asked: Asked) -> KindEvidence:
        """Measure a release of the kind, as its ``assemble`` returns it."""
        ...


def made_anew(published: Mapping[str, pl.DataFrame], made: Mapping[str, pl.DataFrame], record: str) -> str:
    """Say whether a release that was made anew is the published one but for the numbers of its records."""
    return ANEW.format(_SAME if _records(published, record) == _records(made, record) else _OTHER)


def _records(tables: Mapping[str, pl.DataFrame], record: str) -> Counter[tuple[Any, ...]]:
    """Count records by all that is published of them."""
    held: dict[Any, list[tuple[Any, ...]]] = {}
    for name, table in sorted(tables.items()):
        texts = table.with_columns(pl.exclude(record).cast(pl.String)).select(record, pl.exclude(record))
        for number, *row in texts.iter_rows():
            held.setdefault(number, []).append((name, *row))
    return Counter(tuple(sorted(rows, key=repr)) for rows in held.values())
