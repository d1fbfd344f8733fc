"""Fingerprint: some of a person's sensitive values are looked for among the people of the person's class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from sfumato.classes.statistics import Fingerprints
from sfumato.errors import PolicyError
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.verdicts import SURE, Certainty
from sfumato.numbers import counted
from sfumato.options import Checked, Limit
from sfumato.published import PublishedTable
from sfumato.published.checks.pseudonyms import TOO_MANY, fingerprints_of, promised_least
from sfumato.rates import Rate
from sfumato.table.schema import Attribute, Kind

UNPUBLISHED = "no pseudonyms are published"


@dataclass(frozen=True)
class Fingerprint(Checked):
    """The attack of somebody who knows the class of a person and some of the person's sensitive values.

    Where pseudonyms are published, a reader knows the set of values of everybody in a class. The attacker looks for the
    people of the class who have all values that are known, and picks one of them; the other values are then learnt.

    Parameters
    ----------
    known
        How many values the attacker knows of everybody, 1 to 3; of somebody who has fewer, all. None takes what the
        release was made for (`known_values`).
    choice
        ``"worst"``: of each person those values that the fewest people of the class have; ``"random"``: any.

    Raises
    ------
    PolicyError
        With every wrong option.

    References
    ----------
    After the background knowledge of items in M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving anonymization
    of set-valued data", PVLDB 1(1), 2008, inside of a class.

    Notes
    -----
    *Departure.* The attacker is granted the class, as if every person fitted one class alone. Values that stand in one
    record are not known to do so.

    *Cost.* That of sorting all sets of `known` values that people have.
    """

    name: ClassVar[str] = "fingerprint"
    kinds: ClassVar[frozenset[str]] = frozenset({"generalized-table"})
    needs: ClassVar[tuple[str, ...]] = ("sensitive", "pseudonyms")

    known: Annotated[int, Limit(1, 3)] | None = None
    choice: Literal["worst", "random"] = "worst"

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute and, where there are several, for all of them together.

        Raises
        ------
        PolicyError
            When no pseudonyms are published, or the column of them was damaged.
        """
        published = target.published
        if not isinstance(published, PublishedTable) or published.pseudonyms is None:
            raise PolicyError(f"fingerprint: {UNPUBLISHED}, so that nobody knows which records are of one person")
        known = self.known or published.pseudonyms.known_values
        texts = dict.fromkeys(published.sensitive, Attribute(kind=Kind.CATEGORICAL))
        found = fingerprints_of(published, texts, known)
        if not found:
            raise PolicyError("fingerprint: the numbers of people were damaged; play it on the release as it was")
        return tuple(self._result(published, name, known, each) for name, each in found.items())

    def _result(
        self, published: PublishedTable, name: str | None, known: int, found: Fingerprints | None
    ) -> AttackResult:
        values = f"{counted(known, 'value')} of {'any sensitive attribute' if name is None else name}"
        which = "those that the fewest others of the class have" if self.choice == "worst" else "at random"
        least = promised_least(published, name, known)
        return AttackResult(
            self.name,
            f"everybody's class, and {values} that each person has ({which})",
            "who were found in their class by picking one of those who have these values",
            Rate(0, 0, 0.0) if found is None else self._rate(found),
            None,
            {} if found is None else _figures(found, known),
            () if found is not None else (TOO_MANY,),
            "a limit of fingerprints (fingerprint_k), larger classes, coarser sensitive values, or no pseudonyms in "
            "the release",
            None if least is None else 1 / least,
            certainty=None if found is None else self._certainty(found),
            unplayed=TOO_MANY if found is None else None,
        )

    def _certainty(self, found: Fingerprints) -> Certainty | None:
        """Count the people whom the attacker finds for certain; None without one, as the others are picked."""
        alone = found.fewest == 1 if self.choice == "worst" else found.chance >= 1 - SURE
        count = int((alone & (found.company > 1)).sum())
        return Certainty(count) if count else None

    def _rate(self, found: Fingerprints) -> Rate:
        """Score picking one of those who fit, beside picking anybody of the class."""
        chance = 1.0 / found.fewest if self.choice == "worst" else found.chance
        return Rate(float(chance.sum()), len(chance), float((1.0 / found.company).mean()))


def _figures(found: Fingerprints, known: int) -> dict[str, float]:
    """Return how many are alone with some values of theirs, and how many more values are then learnt of each."""
    alone = found.fewest < 2
    more = np.maximum(found.values[alone] - known, 0)
    return {
        "alone_with_some_values": float(alone.mean()),
        "further_values_learnt_of_them": float(more.mean()) if len(more) else 0.0,
        "chance_with_random_values": float(found.chance.mean()),
    }
