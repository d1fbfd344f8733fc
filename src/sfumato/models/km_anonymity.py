"""k^m-anonymity of sets: whoever knows a few items of somebody finds k records that have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from sfumato.models.says import CheckedModel
from sfumato.options import Limit


@dataclass(frozen=True)
class KmAnonymity(CheckedModel):
    """Every combination of at most `m` published items that occurs in a record occurs in at least `k` records.

    Guarantee: an attacker who knows up to `m` items of a person, and nothing that the person does not have, finds at
    least `k` published records that fit. Whoever knows more items may find fewer; nothing bounds what the fitting
    records have in common, or who is in the table. Every record must be another person.

    Where quasi-identifying columns stand beside the sets, the same holds inside of each class of records that are
    published alike there, and each class has at least `k` records: (k, k^m)-anonymity.

    Parameters
    ----------
    k
        Records that hold each combination: a whole number ≥ 1.
    m
        Items that an attacker may know: a whole number ≥ 1.

    References
    ----------
    M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving anonymization of set-valued data", PVLDB 1(1), 2008.
    G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing data with relational and transaction
    attributes", ECML/PKDD 2013, for (k, k^m). Of both no more than abstracts and restatements were at hand.
    """

    k: Annotated[int, Limit(1)]
    m: Annotated[int, Limit(1)]

    made_by: ClassVar[str] = "KmAnonymity"
    name: ClassVar[str] = "km-anonymity"

    def __str__(self) -> str:
        """Return e.g. ``k^m-anonymity (k = 5, m = 2)``."""
        return f"k^m-anonymity (k = {self.k}, m = {self.m})"
