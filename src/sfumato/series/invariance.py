"""m-invariance: people come, stay and leave, and nobody's sensitive value is ever known above 1/m."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, UnsatisfiableError
from sfumato.kernels.series.growing import Axes, loss_of
from sfumato.series.growing_ground import axes_of
from sfumato.table.encoding import EncodedTable
from sfumato.table.row_order import hash_order

# Buckets of m-invariance: who has one signature, balanced so that every value of it has equally many people.
#
# Newcomers are lists of rows by value. They are *m-eligible* when no value has more than 1/m of them: then all of them
# find m − 1 others.


Newcomers = dict[int, list[int]]


@dataclass(eq=False)
class Bucket:
    """People of one signature.

    Attributes
    ----------
    signature : tuple of int
        Rising codes of values.
    rows : dict of int to list of int
        The people of each value of the signature.
    """

    signature: tuple[int, ...]
    rows: dict[int, list[int]]

    @classmethod
    def empty(cls, signature: tuple[int, ...]) -> Bucket:
        """Return a bucket without people."""
        return cls(signature, {value: [] for value in signature})

    @property
    def height(self) -> int:
        """People of the most frequent value: classes that the bucket will have."""
        return max(map(len, self.rows.values()))

    @property
    def missing(self) -> int:
        """Rows that it lacks to be balanced."""
        return sum(self.height - len(rows) for rows in self.rows.values())

    def matrix(self) -> NDArray[np.int64]:
        """Return one line for each value, filled up with −1 for counterfeits; int64 (values, height)."""
        height = self.height
        return np.array([rows + [-1] * (height - len(rows)) for rows in self.rows.values()], dtype=np.int64)


def eligible(counts: Collection[int], m: int) -> bool:
    """Tell whether no value has more than 1/m of the people."""
    return m * max(counts, default=0) <= sum(counts)


def most_kept(counts: dict[int, int], m: int) -> dict[int, int]:
    """Return how many newcomers of each value can be published together: as many as possible, m-eligible."""
    kept = dict(counts)
    while not eligible(kept.values(), m):
        value = max(sorted(kept), key=lambda each: kept[each])
        # c − w ≤ (T − w) / m, if the others stay.
        waiting = math.ceil((m * kept[value] - sum(kept.values())) / (m - 1))
        kept[value] = max(0, kept[value] - waiting)
    return kept


def surplus(newcomers: Newcomers, m: int) -> Newcomers:
    """Return the newcomers without those of too frequent values who must wait."""
    kept = most_kept({value: len(rows) for value, rows in newcomers.items()}, m)
    return {value: rows[: kept[value]] for value, rows in newcomers.items() if kept[value]}


def balance(buckets: list[Bucket], newcomers: Newcomers, m: int) -> None:
    """Give buckets the newcomers that they lack, as long as no others must wait for that; in place.

    Values that most newcomers have go first: without one of them the others find partners more easily.
    """
    lacking = {
        value: [bucket for bucket in buckets if len(bucket.rows.get(value, range(bucket.height))) < bucket.height]
        for value in newcomers
    }
    for buckets_of in lacking.values():
        buckets_of.sort(key=lambda bucket: (-bucket.missing, bucket.signature))
    refused: set[int] = set()
    while True:
        counts = {value: len(rows) for value, rows in newcomers.items() if rows}
        open_values = [value for value in counts if lacking[value] and value not in refused]
        if not open_values:
            break
        value = max(sorted(open_values), key=lambda each: counts[each])
        now = _waiting(counts, m)
        counts[value] -= 1
        if _waiting(counts, m) > now:
            refused.add(value)
            continue
        refused.clear()
        bucket = lacking[value][0]
        bucket.rows[value].append(newcomers[value].pop())
        if len(bucket.rows[value]) == bucket.height:
            lacking[value].pop(0)


def _waiting(counts: dict[int, int], m: int) -> int:
    return sum(counts.values()) - sum(most_kept(counts, m).values())


def assign(buckets: list[Bucket], newcomers: Newcomers, m: int) -> None:
    """Put m-eligible newcomers into buckets, as many of each value of a signature, until none is left; in place.

    In each step the β most frequent values give α people each, to the bucket of exactly these values; β is the least
    from m on for which there is an α, and α the largest after which the others are m-eligible.
    """
    by_signature = {bucket.signature: bucket for bucket in buckets}
    while any(newcomers.values()):
        counts = sorted((-len(rows), value) for value, rows in newcomers.items() if rows)
        taken, wide = _step([-count for count, _ in counts], m)
        assert taken > 0, "newcomers who are m-eligible can always be assigned"
        signature = tuple(sorted(value for _, value in counts[:wide]))
        bucket = by_signature.get(signature)
        if bucket is None:
            bucket = by_signature[signature] = Bucket.empty(signature)
            buckets.append(bucket)
        for value in signature:
            bucket.rows[value] += newcomers[value][-taken:]
            del newcomers[value][-taken:]


def _step(counts: list[int], m: int) -> tuple[int, int]:
    """Return α and β for falling counts."""
    total = sum(counts)
    for wide in range(m, len(counts) + 1):
        following = counts[wide] if wide < len(counts) else 0
        taken = min(counts[wide - 1], (total - m * following) // wide)
        if wide > m:
            taken = min(taken, (total - m * counts[0]) // (wide - m))
        if taken > 0:
            return taken, wide
    return 0, 0


# Splitting a bucket of m-invariance into classes that have every value of the signature once.


def split(matrix: Numbers, codes: Numbers, axes: Axes) -> Iterator[Numbers]:
    """Cut a bucket in halves until one person of each value is left.

    Parameters
    ----------
    matrix
        int64 (values, height): the people of each value, −1 for counterfeits, at the end of a line.
    codes
        int64 (n, q)
    axes
        What codes lose.

    Yields
    ------
    numpy.ndarray
        int64 (values,): a class, −1 for a counterfeit. At least one of it is real, as one line has no counterfeits.

    Notes
    -----
    Every line is sorted along the attribute with which both halves lose least, the first of equal ones; counterfeits
    go right, where they lose nothing. Cost O(q n log n) for each halving.
    """
    waiting = [matrix]
    while waiting:
        block = waiting.pop()
        height = block.shape[1]
        if height == 1:
            yield block[:, 0]
            continue
        best, chosen = np.inf, block
        for attribute in range(codes.shape[1]):
            keys = np.where(block >= 0, codes[block, attribute], np.iinfo(np.int64).max)
            if keys[block >= 0].min() == keys[block >= 0].max():
                continue
            ordered = np.take_along_axis(block, np.argsort(keys, axis=1, kind="stable"), axis=1)
            cost = _loss(ordered[:, : height // 2], codes, axes) + _loss(ordered[:, height // 2 :], codes, axes)
            if cost < best:
                best, chosen = cost, ordered
        waiting += [chosen[:, height // 2 :], chosen[:, : height // 2]]


def _loss(block: Numbers, codes: Numbers, axes: Axes) -> float:
    rows = block[block >= 0]
    return len(rows) * loss_of(codes[rows], np.ones(len(rows), dtype=np.bool_), axes)


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
