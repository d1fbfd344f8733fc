"""m-invariance: people come, stay and leave, and nobody's sensitive value is ever known above 1/m."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, UnsatisfiableError
from sfumato.series.growing_ground import axes_of
from sfumato.series.invariance_buckets import Bucket, assign, balance, eligible, surplus
from sfumato.series.invariance_split import split
from sfumato.table.encoding import EncodedTable
from sfumato.table.row_order import hash_order

Numbers = NDArray[np.int64]
Signature = tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Present:
    """Everybody who is in the table now.

    Letters: n people.

    Attributes
    ----------
    table : EncodedTable
        For what classes lose by their quasi-identifying values.
    value_of : numpy.ndarray
        Integers (n,): code of the sensitive value, the same in every release.
    signature_of : numpy.ndarray
        int64 (n,): number of the signature that a person was ever published with, −1 for none. Who left and came back
        has it still.
    signatures : tuple of tuple of int
        All signatures so far: rising codes of values.
    """

    table: EncodedTable
    value_of: NDArray[np.integer]
    signature_of: Numbers
    signatures: tuple[Signature, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Invariant:
    """The next release of a series that is m-invariant, and what the ledger keeps.

    Attributes
    ----------
    class_of : numpy.ndarray
        int32 (n,): class of each person, −1 who waits.
    count : int
        Classes c; each has every value of its signature once, counterfeits among them.
    counterfeit_class, counterfeit_value : numpy.ndarray
        int64 (z,): class and value of each counterfeit. Published are the rows, and how many counterfeits each class
        has; never which rows they are.
    signature_of : numpy.ndarray
        int64 (n,): as before, −1 still who waits; private, kept for ever.
    signatures : tuple of tuple of int
        The old ones, and new ones after them; private.
    """

    class_of: NDArray[np.int32]
    count: int
    counterfeit_class: Numbers
    counterfeit_value: Numbers
    signature_of: Numbers
    signatures: tuple[Signature, ...]

    @property
    def counterfeits(self) -> Numbers:
        """Counterfeits of each class, to be published; int64 (c,)."""
        return np.bincount(self.counterfeit_class, minlength=self.count).astype(np.int64)


def keep_invariant(present: Present, m: int, *, most_counterfeits: float = 0.05) -> Invariant:
    """Make the next release so that everybody keeps the signature of the class.

    Parameters
    ----------
    present
        Everybody, with what the ledger knows.
    m
        Every class has at least m rows, with different sensitive values.
    most_counterfeits
        Counterfeits allowed, as a share of the rows of the release.

    Raises
    ------
    PolicyError
        When m is below 2.
    InputError
        When somebody's value is not in the own signature: it was changed.
    UnsatisfiableError
        When counterfeits beyond the limit would be needed, or the first release has no m people of different values.

    Notes
    -----
    *Guarantee.* Whoever knows the quasi-identifying values of everybody, and who is in each release, knows nobody's
    value with more than 1/m, from all releases and numbers of counterfeits together. For any exchange of the values of
    a signature, made for all people who have it, turns a possible world into another one, as every class has all values
    once; so all values are equally likely. It rests on the ledger: recipients can recount that classes have m different
    values, not that people kept their signatures.

    *Who waits.* Newcomers of a value that more than 1/m of them have.

    *Complexity.* O(q n log n) and one step for each class.

    *Source.* X. Xiao, Y. Tao, "m-invariance: towards privacy preserving re-publication of dynamic datasets", SIGMOD
    2007. Departures: who comes back keeps the signature; surplus newcomers wait; buckets that lack most of a value
    are served first, the values that newcomers have most of before others; newcomers are not chosen by nearness.
    """
    if m < 2:
        raise PolicyError(f"m-invariance: m must be at least 2, not {m}")
    order = hash_order(
        np.column_stack([present.table.codes, present.value_of.astype(present.table.codes.dtype)]).astype(np.uint64)
    )
    values = present.value_of.astype(np.int64)
    buckets, newcomers = _divided(present, values, order)
    balance(buckets, newcomers, m)
    newcomers = surplus(newcomers, m)
    needed, rows = sum(each.missing for each in buckets), sum(each.height * len(each.signature) for each in buckets)
    if needed > most_counterfeits * (rows + sum(map(len, newcomers.values()))):
        raise UnsatisfiableError(
            f"m-invariance: {needed:,} counterfeits are needed, more than the {most_counterfeits:.1%} of rows that are "
            "allowed; wait for more newcomers, allow more counterfeits, or lower m in a new series"
        )
    assign(buckets, newcomers, m)
    if not buckets:
        raise UnsatisfiableError(
            f"m-invariance: there are not {m} people of different sensitive values who could share a class; lower m"
        )
    return _written(present, buckets)


def _divided(present: Present, values: Numbers, order: Numbers) -> tuple[list[Bucket], dict[int, list[int]]]:
    """Put everybody with a signature into its bucket; return buckets, and the others by value."""
    buckets: dict[int, Bucket] = {}
    newcomers: dict[int, list[int]] = {}
    changed = 0
    for row in order.tolist():
        number, value = int(present.signature_of[row]), int(values[row])
        if number < 0:
            newcomers.setdefault(value, []).append(row)
            continue
        bucket = buckets.get(number)
        if bucket is None:
            bucket = buckets[number] = Bucket.empty(present.signatures[number])
        if value in bucket.rows:
            bucket.rows[value].append(row)
        else:
            changed += 1
    if changed:
        raise InputError(
            f"m-invariance: {changed:,} people have another sensitive value than when they were first published; leave "
            "them out of this and all later releases"
        )
    return [buckets[number] for number in sorted(buckets)], newcomers


def _written(present: Present, buckets: list[Bucket]) -> Invariant:
    """Split the buckets, and number classes and signatures."""
    class_of = np.full(len(present.value_of), -1, dtype=np.int32)
    signature_of = present.signature_of.astype(np.int64).copy()
    numbers = {signature: number for number, signature in enumerate(present.signatures)}
    fakes: list[tuple[int, int]] = []
    axes, codes = axes_of(present.table.attributes), present.table.codes.astype(np.int64)
    count = 0
    for bucket in buckets:
        number = numbers.setdefault(bucket.signature, len(numbers))
        for members in split(bucket.matrix(), codes, axes):
            real = members >= 0
            class_of[members[real]], signature_of[members[real]] = count, number
            fakes += [(count, value) for value, there in zip(bucket.signature, real.tolist(), strict=True) if not there]
            count += 1
    classes, invented = np.array(fakes, dtype=np.int64).reshape(-1, 2).T
    return Invariant(class_of, count, classes, invented, signature_of, tuple(numbers))


def is_eligible(value_of: NDArray[np.integer], m: int) -> bool:
    """Tell whether people can be published with m different values in each class: none has more than 1/m of them."""
    return eligible(np.bincount(value_of).tolist(), m)
