"""Nearest linkage: if no record fits exactly, take the nearest one (Domingo-Ferrer and Torra, 2003)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from sfumato.evaluation.attacks.known_attributes import known_attributes, known_problems
from sfumato.evaluation.attacks.nearest_links import nearest_links
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.scored_links import RECORDS, outsiders, scored
from sfumato.evaluation.attacks.victims import key_columns, key_of, victims_of
from sfumato.options import Checked


@dataclass(frozen=True)
class NearestLinkage(Checked):
    """Distance-based record linkage.

    Parameters
    ----------
    known
        As for :class:`~sfumato.evaluation.attacks.exact_linkage.Linkage`.

    Raises
    ------
    PolicyError
        When it is not a value that is allowed there.

    References
    ----------
    J. Domingo-Ferrer, V. Torra, "Disclosure risk assessment in statistical microdata protection via advanced record
    linkage", Statistics and Computing 13, 2003.

    Notes
    -----
    *Distance*: the sum over attributes of a number between 0 and 1. Numbers and dates: difference from the published
    value, mean or middle of the interval, divided by the range of the published values. Others: 1 if the label does not
    cover the person's value; if it does, 1 − 1 ÷ values that it covers. An unknown value of a person counts 0, a
    published missing one 1.

    *Departure.* The papers standardize numbers by their deviation and take Euclidean distances; sums of normalized
    differences go together with categories.

    *People with several records.* Where all rows of a person lie in one class, the distances of the known records, at
    most sixteen, are added up. Elsewhere the attacker takes the known record that is nearest to a published one.

    Exact: no approximation is made. Ties are shared. Cost O(m · c · q) at most for m distinct people and c distinct
    published records.
    """

    name: ClassVar[str] = "nearest-linkage"
    kinds: ClassVar[frozenset[str]] = frozenset(RECORDS)
    needs: ClassVar[tuple[str, ...]] = ()

    known: int | tuple[str, ...] | None = None

    def _mistakes(self) -> Iterable[str]:
        return known_problems(self.name, self.known)

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it on everybody in the data, or in the register."""
        published = RECORDS[target.published.kind](target.published)
        victims = victims_of(target, published)
        names = known_attributes(self.name, self.known, target, published, victims)
        keys = key_of(published, key_columns(published, target))
        together = target.rows.together
        links = nearest_links(published, victims, names, keys, target.recoding, target.threads, together=together)
        figures = outsiders(links, victims) if target.register is not None else {}
        return scored(target, links, victims, names, attack=self.name, fit="is nearest", figures=figures)
