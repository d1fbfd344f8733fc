"""*m-invariance*: everybody who is in now, in classes of their own signatures, with counterfeits where people left.

Letters: n people, z counterfeits, c classes.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Anonymizer
from sfumato.classes.partition import GeneralizedTable, Partition, class_sizes
from sfumato.errors import InputError, PolicyError, UnsatisfiableError, VerificationError, raise_all
from sfumato.kernels.series.exchanging import ClassRows, class_losses, exchange_people
from sfumato.kernels.series.growing import Axes, loss_of
from sfumato.metrics import measure_losses
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import DistinctLDiversity, ProbabilisticLDiversity
from sfumato.models.protocol import smallest_allowed
from sfumato.numbers import counted, percent
from sfumato.policy.policy import Policy
from sfumato.published import PublishedTable
from sfumato.randomness import another, permutation
from sfumato.recoding import recode_as_published
from sfumato.release.anonymize import SolvedTask, released
from sfumato.release.formulas import formula_cells, formula_lines
from sfumato.release.problem import problem_of
from sfumato.release.release import Release
from sfumato.release.reports import Report
from sfumato.release.task import Task
from sfumato.series.batch import Batch
from sfumato.series.grow_moves import axes_of
from sfumato.series.grow_recount import m_of
from sfumato.series.next_release import Made, Running, Work
from sfumato.series.reading import ReadRelease
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.row_order import hash_order
from sfumato.table.schema import Kind, text_of
from sfumato.table.table import Table

# m-invariance: people come, stay and leave, and nobody's sensitive value is ever known above 1/m.


# Buckets of m-invariance: who has one signature, balanced so that every value of it has equally many people.
#
# Newcomers are lists of rows by value. They are *m-eligible* when no value has more than 1/m of them: then all of them
# find m − 1 others.


Newcomers = dict[int, list[int]]
MOST_PASSES, REACH, LEAST_GAIN = 16, 16, 0.998
"""Passes of exchanges at most; people whom each meets to both sides; the share of the loss that ends the passes."""
FREELY_FROM = 15.0
"""Where values have the square of that many people, any newcomers may share a class.

Classes of many signatures lose less, and everybody who leaves needs a newcomer of the value: even where half leave,
few are missing then.
"""


@dataclass(eq=False)
class Bucket:
    """People of one signature."""

    signature: tuple[int, ...]  # rising codes of values
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
    """Cut a bucket in halves until one person of each value is left, −1 for counterfeits, not all of them.

    Every line is sorted along the attribute with which both halves lose least, the first of equals; counterfeits, at
    the end, lose nothing. O(q n log n) for each halving.
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
    """Everybody who is in the table now. Letters: n people."""

    table: EncodedTable  # for what classes lose by their quasi-identifying values
    value_of: NDArray[np.integer]  # integers (n,): code of the sensitive value, the same in every release
    # Int64 (n,): number of the signature that a person was ever published with, −1 for none. Who left and came back has
    # it still.
    signature_of: Numbers
    signatures: tuple[Signature, ...] = ()  # all signatures so far: rising codes of values


@dataclass(frozen=True, eq=False, repr=False)
class Invariant:
    """The next release of a series that is m-invariant, and what the ledger keeps."""

    class_of: NDArray[np.int32]  # (n,): class of each person, −1 who waits
    count: int  # classes c; each has every value of its signature once, counterfeits among them
    # `counterfeit_class`, `counterfeit_value`: Int64 (z,): class and value of each counterfeit. Published are the rows,
    # and how many counterfeits each class has; never which rows they are.
    counterfeit_class: Numbers
    counterfeit_value: Numbers
    signature_of: Numbers  # int64 (n,): as before, −1 still who waits; private, kept for ever
    signatures: tuple[Signature, ...]  # the old ones, and new ones after them; private

    @property
    def counterfeits(self) -> Numbers:
        """Counterfeits of each class, to be published; int64 (c,)."""
        return np.bincount(self.counterfeit_class, minlength=self.count).astype(np.int64)


def keep_invariant(present: Present, m: int, *, most_counterfeits: float = 0.05) -> Invariant:
    """Make the next release so that everybody keeps the signature of the class.

    `present`: everybody, with what the ledger knows. `m`: every class has at least m rows, with different sensitive
    values. `most_counterfeits`: counterfeits allowed, as a share of the rows of the release. Raises ``PolicyError``
    when m is below 2. Raises ``InputError`` when somebody's value is not in the own signature: it was changed. Raises
    ``UnsatisfiableError`` when counterfeits beyond the limit would be needed, or the first release has no m people of
    different values.

    *Guarantee.* Whoever knows the quasi-identifying values of everybody, and who is in each release, knows nobody's
    value with more than 1/m, from all releases and numbers of counterfeits together. For any exchange of the values of
    a signature, made for all people who have it, turns a possible world into another one, as every class has all values
    once; so all values are equally likely. It rests on the ledger: recipients can recount that classes have m different
    values, not that people kept their signatures.

    *Who waits.* Newcomers of a value that more than 1/m of them have.

    *Complexity.* O(q n log n); exchanges take up to 32 passes of O(q n w), w rows of the largest class.

    *Source.* X. Xiao, Y. Tao, "m-invariance: towards privacy preserving re-publication of dynamic datasets", SIGMOD
    2007. Departures: who comes back keeps the signature; surplus newcomers wait; buckets that lack most of a value
    are served first, the values that newcomers have most of before others; then people are exchanged between classes.
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
    return _written(present, buckets, order)


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


def _written(present: Present, buckets: list[Bucket], order: Numbers) -> Invariant:
    """Split the buckets, exchange people, and number classes and signatures; `order`: one that says nothing."""
    numbers = {signature: number for number, signature in enumerate(present.signatures)}
    axes = axes_of(present.table.attributes)
    places = _places(present, buckets, numbers, axes)
    _exchanged(places, axes, order)
    signature_of = present.signature_of.astype(np.int64).copy()
    for people, values in zip(places.members, places.values, strict=True):
        signature = tuple(sorted(values[values >= 0].tolist()))
        signature_of[people[people >= 0]] = numbers.setdefault(signature, len(numbers))
    classes, slots = np.nonzero((places.members < 0) & (places.values >= 0))
    class_of = places.class_of.astype(np.int32)
    return Invariant(
        class_of, len(places.members), classes, places.values[classes, slots], signature_of, tuple(numbers)
    )


def _places(present: Present, buckets: list[Bucket], numbers: dict[Signature, int], axes: Axes) -> ClassRows:
    """Split the buckets; where values have many people, classes of newcomers alone may still have any signature."""
    freely = FREELY_FROM * np.sqrt(np.bincount(present.value_of)).sum() <= len(present.value_of)
    codes, bound = present.table.codes.astype(np.int64), present.signature_of >= 0
    parts = [(bucket.signature, part) for bucket in buckets for part in split(bucket.matrix(), codes, axes)]
    shape = len(parts), max(len(signature) for signature, _ in parts)
    members, values = np.full(shape, -1, dtype=np.int64), np.full(shape, -1, dtype=np.int64)
    signatures = np.full(len(parts), -1, dtype=np.int64)
    for number, (signature, part) in enumerate(parts):
        members[number, : len(part)], values[number, : len(part)] = part, signature
        if not freely or (part < 0).any() or bound[part].any():
            signatures[number] = numbers.setdefault(signature, len(numbers))
    class_of, slot_of = np.full(len(codes), -1, dtype=np.int64), np.full(len(codes), -1, dtype=np.int64)
    classes, slots = np.nonzero(members >= 0)
    class_of[members[classes, slots]], slot_of[members[classes, slots]] = classes, slots
    return ClassRows(codes, bound, members, values, signatures, class_of, slot_of, np.zeros(len(parts)))


def _exchanged(places: ClassRows, axes: Axes, order: Numbers) -> None:
    """Exchange people with those next to them, by each order of attributes, until a pass saves little; in place."""
    class_losses(places, axes)
    rank = np.argsort(order)
    for turn in range(MOST_PASSES):
        before = places.losses.sum()
        keys = [rank, *places.codes[:, permutation(places.codes.shape[1], turn)].T]
        exchange_people(places, axes, np.lexsort(keys), REACH)
        if places.bound.any():
            own = np.where(places.class_of >= 0, places.signatures[places.class_of], -1)
            exchange_people(places, axes, np.lexsort([*keys, own]), REACH)
        if places.losses.sum() >= LEAST_GAIN * before:
            break


# What the ledger keeps for m-invariance: everybody's signature, for ever, and by what a changed record shows.


TAG, SIGNATURE, QUASI, VALUE = "tag", "signature", "quasi", "value"
_SCHEMA = {TAG: pl.Binary(), SIGNATURE: pl.List(pl.String()), QUASI: pl.Binary(), VALUE: pl.Binary()}
_PURPOSE = b"sfumato record"
_BYTES = 16


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """Everybody who was ever published."""

    # one row each: keyed hash of the key; the sensitive values of the class, sorted; hashes of the quasi-identifying
    # values and of the sensitive one
    people: pl.DataFrame

    @classmethod
    def read(cls, content: bytes | None) -> Known:
        """Read what the release before left; nobody for None. Raises ``VerificationError`` when it is damaged."""
        if content is None:
            return cls(pl.DataFrame(schema=_SCHEMA))
        try:
            return cls(
                pl.read_parquet(io.BytesIO(content)).select(pl.col(name).cast(_SCHEMA[name]) for name in _SCHEMA)
            )
        except (pl.exceptions.PolarsError, OSError):
            raise VerificationError("the ledger is damaged: the file of signatures cannot be read") from None

    def content(self) -> bytes:
        """Return the content of a file, in an order that says nothing."""
        buffer = io.BytesIO()
        self.people.sort(TAG).write_parquet(buffer)
        return buffer.getvalue()

    def of(self, tags: pl.Series) -> pl.DataFrame:
        """Return what is known of people, a row for each tag, with nulls for who was never there."""
        return pl.DataFrame({TAG: tags}).join(self.people, on=TAG, how="left", maintain_order="left")

    def with_people(self, people: pl.DataFrame) -> Known:
        """Add people, who replace what was known of them."""
        others = self.people.join(people.select(TAG), on=TAG, how="anti")
        return Known(pl.concat([others, people.select(pl.col(name).cast(_SCHEMA[name]) for name in _SCHEMA)]))


def signature_hashes(table: Table, names: Sequence[str], tags: pl.Series) -> pl.Series:
    """Hash some values of each record with its tag as the key; Binary (n,).

    Equal records of two people have different hashes. Whoever has the tags can try values, as with the ledger anyway.
    """
    columns = [text_of(table.frame[name]).to_list() for name in names]
    return pl.Series(list(_hashed(columns, tags.to_list())), dtype=pl.Binary)


def _hashed(columns: Sequence[Sequence[object]], tags: Sequence[bytes]) -> Iterator[bytes]:
    for tag, values in zip(tags, zip(*columns, strict=True), strict=True):
        text = json.dumps(values).encode("utf-8", "surrogatepass")
        yield hashlib.blake2b(text, digest_size=_BYTES, key=tag, person=_PURPOSE).digest()


CLASS_NUMBER, COUNTERFEITS = "class_number", "counterfeits"
"""The published columns that the original does not have."""
MODELS = (KAnonymity, DistinctLDiversity, ProbabilisticLDiversity)


def republish(work: Work, batch: Batch, earlier: Sequence[ReadRelease]) -> Made:
    """Make a release of everybody who is in now; see :func:`sfumato.series.invariant_making.keep_invariant`."""
    _refuse(batch.policy, batch.table, work.how.most_counterfeits)
    if earlier and work.kept is None:
        raise VerificationError("the ledger does not have the signatures of the people; put a copy of it back")
    (name,) = batch.table.schema.sensitive
    known = Known.read(work.kept)
    now = _now(batch, name)
    before = known.of(batch.tags)
    _refuse_changes(batch, now, before)
    values = _values(known, batch.table, name)
    m = m_of(batch.policy.to_models())
    found = keep_invariant(_present(batch, before, values, name), m, most_counterfeits=work.how.most_counterfeits)
    _refuse_if_some_wait(found, batch, name, m)
    signatures = [tuple(values[code] for code in signature) for signature in found.signatures]
    people = now.with_columns(
        pl.Series(SIGNATURE, [signatures[number] for number in found.signature_of.tolist()], dtype=pl.List(pl.String))
    )
    made = _made(_Rows.of(found, batch, name, values), batch, work.how)
    sentence = _sentence(found, batch, before, known) + _told_of_changes(_changed(now, before, QUASI))
    formulas = formula_lines(formula_cells(made.published)) if work.format == "csv" else ()
    return replace(
        made, kept=known.with_people(people).content(), notes=(sentence, *(f"{line}: kept" for line in formulas))
    )


def _refuse(policy: Policy, table: Table, most: float) -> None:
    """Raise PolicyError with every reason for which a policy cannot be that of such a series."""
    raise_all(PolicyError, [*_of_columns(table), *_of_parts(policy), *_of_share(most)])


def _of_share(most: float) -> list[str]:
    return [] if 0 <= most < 1 else ["most counterfeits: must be a share of the rows, from 0 to below 1"]


def _of_columns(table: Table) -> list[str]:
    problems, sensitive = [], list(table.schema.sensitive)
    if len(sensitive) != 1:
        problems.append(
            f"sensitive columns: m-invariance protects one, and there are {len(sensitive)}. In a class the values of "
            "several columns would have to be exchanged together. Take the others out, or use the way append"
        )
    problems += [
        f"sensitive column {name!r}: is {table.kinds[name]}, and m-invariance exchanges categories; give it the kind "
        "categorical, or put its values into ranges before"
        for name in sensitive
        if table.kinds[name] is not Kind.CATEGORICAL
    ]
    if table.schema.insensitive:
        problems.append(
            f"insensitive columns: {len(table.schema.insensitive)} would be published as they are in every release. "
            "They link a person's rows from release to release, and counterfeits have none. Take them out, or let "
            'others be "drop"'
        )
    taken = [name for name in (CLASS_NUMBER, COUNTERFEITS) if name in table.frame.columns]
    problems += [f"column {name!r}: a release has such a column of its own; rename it" for name in taken]
    return problems


def _of_parts(policy: Policy) -> list[str]:
    models = policy.to_models()
    problems = [
        f"models: {model.name} is not what m-invariance keeps; it keeps k-anonymity, and distinct and probabilistic "
        "l-diversity, with one m for k and l"
        for model in models
        if not isinstance(model, MODELS)
    ]
    if m_of(models) < 2:
        problems.append("models: m-invariance needs an m of 2 or more (on the command line -m)")
    if policy.to_anonymizer() != Mondrian() or policy.refine:
        problems.append("anonymizer: m-invariance makes its classes itself; leave anonymizer and refine out")
    return problems


def _now(batch: Batch, name: str) -> pl.DataFrame:
    """Return tag and fingerprints of everybody."""
    if missing := batch.table.frame[name].null_count():
        raise InputError(
            f"column {name!r}: {counted(missing, 'record')} without a value; fill them in, or leave these people out"
        )
    quasi = signature_hashes(batch.table, list(batch.table.schema.quasi_identifying), batch.tags)
    return pl.DataFrame({TAG: batch.tags, QUASI: quasi, VALUE: signature_hashes(batch.table, [name], batch.tags)})


def _refuse_changes(batch: Batch, now: pl.DataFrame, before: pl.DataFrame) -> None:
    """Raise InputError when somebody who was there has another sensitive value."""
    if changed := _changed(now, before, VALUE):
        raise InputError(
            f"{batch.table.source}: {counted(changed, 'person')} with another sensitive value than in an earlier "
            "release. m-invariance withstands people who come and leave, not sensitive values that change. That "
            "somebody ever had a value would be known with up to 2/m. Leave these people out of this and all later "
            "releases"
        )


def _changed(now: pl.DataFrame, before: pl.DataFrame, column: str) -> int:
    """Count the people who were there with other values."""
    return int((now[column] != before[column]).fill_null(False).sum())


def _values(known: Known, table: Table, name: str) -> list[str]:
    """Return all sensitive values that ever were, sorted."""
    old = known.people[SIGNATURE].explode().drop_nulls().unique().to_list()
    return sorted({*old, *text_of(table.frame[name]).unique().to_list()})


def _present(batch: Batch, before: pl.DataFrame, values: list[str], name: str) -> Present:
    code_of = {value: code for code, value in enumerate(values)}
    codes = np.array([code_of[text] for text in text_of(batch.table.frame[name]).to_list()], dtype=np.int64)
    old = [None if each is None else tuple(code_of[text] for text in each) for each in before[SIGNATURE].to_list()]
    signatures = sorted({each for each in old if each is not None})
    number_of = {each: number for number, each in enumerate(signatures)}
    numbers = np.array([-1 if each is None else number_of[each] for each in old], dtype=np.int64)
    return Present(batch.encoded, codes, numbers, tuple(signatures))


def _refuse_if_some_wait(found: Invariant, batch: Batch, name: str, m: int) -> None:
    waiting = int((found.class_of < 0).sum())
    if waiting:
        raise UnsatisfiableError(
            f"m-invariance: in column {name!r} some values have more than 1/{m} of the newcomers. Of these {waiting:,} "
            f"would have to wait (of {batch.table.height:,} people). Whom it hits would show the value, so nothing was "
            "published: leave all newcomers out until there are others, or lower m in a new series"
        )


@dataclass(frozen=True, eq=False, repr=False)
class _Rows:
    """Rows of a release by class and value, with counterfeits, n + z; `person_class`: of each person, n."""

    table: Table
    class_of: NDArray[np.int32]
    invented: NDArray[np.bool_]
    counterfeits: NDArray[np.int64]
    person_class: NDArray[np.int32]

    @classmethod
    def of(cls, found: Invariant, batch: Batch, name: str, values: list[str]) -> _Rows:
        """Put a counterfeit beside the people of its class: it is published with their labels."""
        texts = np.array(text_of(batch.table.frame[name]).to_list() + [values[v] for v in found.counterfeit_value])
        classes = np.concatenate([found.class_of, found.counterfeit_class]).astype(np.int32)
        invented = np.arange(len(classes)) >= len(found.class_of)
        real = np.lexsort((texts[~invented], found.class_of))
        _, firsts = np.unique(found.class_of[real], return_index=True)
        model = np.concatenate([np.arange(len(found.class_of)), real[firsts][found.counterfeit_class]])
        order = np.lexsort((texts, classes))
        table = batch.table.take(model[order])
        column = pl.Series(name, texts[order].tolist(), dtype=pl.String).cast(table.frame[name].dtype)
        table = replace(table, frame=table.frame.with_columns(column))
        return cls(table, classes[order], invented[order], found.counterfeits, found.class_of)


def _made(rows: _Rows, batch: Batch, how: Running) -> Made:
    """Recode, publish and measure."""
    encoded = batch.frozen.on_grids(encode(rows.table))
    task = Task(rows.table, batch.policy, False, how.seed, how.threads, how.progress, encoded)
    anonymizer = task.anonymizer
    assert isinstance(anonymizer, Anonymizer)
    problem = problem_of(task, anonymizer, encoded)
    partition = Partition(rows.class_of, len(rows.counterfeits))
    generalized = recode_as_published(encoded, partition, task.recoding, threads=problem.threads)
    order = permutation(len(rows.class_of), how.seed)
    release = released(SolvedTask(task, problem, partition, generalized, order), anonymizer)
    # From 1, in an order that says nothing of the classes.
    number_of = permutation(len(rows.counterfeits), another(how.seed, 1)) + 1
    published = _numbered(release, rows, order, number_of)
    report = _charged(release, rows, generalized, task)
    description = replace(release.description, structure=published.structure)
    return Made(published, description, report, number_of[rows.person_class])


def _numbered(
    release: Release, rows: _Rows, order: NDArray[np.integer], number_of: NDArray[np.int64]
) -> PublishedTable:
    """Add the columns that say which rows are a class, and how many of them are counterfeits."""
    assert isinstance(release.published, PublishedTable)
    shown = rows.class_of[order]
    data = release.published.data.with_columns(
        pl.Series(CLASS_NUMBER, number_of[shown]), pl.Series(COUNTERFEITS, rows.counterfeits[shown])
    )
    return replace(release.published, data=data, class_number=CLASS_NUMBER, counterfeits=COUNTERFEITS)


def _charged(release: Release, rows: _Rows, generalized: GeneralizedTable, task: Task) -> Report:
    """Return the report, with every counterfeit charged as a record of which nothing is published."""
    class_of = np.where(rows.invented, np.int32(-1), generalized.class_of).astype(np.int32)
    sizes = class_sizes(class_of, len(generalized.sizes))
    losses = measure_losses(replace(generalized, class_of=class_of, sizes=sizes), k=smallest_allowed(task.models))
    assert isinstance(release.report, Report)
    people = int((~rows.invented).sum())
    anonymizer = f"m-invariance (m={m_of(task.models)})"
    return replace(release.report, anonymizer=anonymizer, original=people, losses=losses)


def _sentence(found: Invariant, batch: Batch, before: pl.DataFrame, known: Known) -> str:
    """Say who came and how many counterfeits there are."""
    new, fakes = before[SIGNATURE].null_count(), len(found.counterfeit_class)
    rows = batch.table.height + fakes
    away = known.people.height - (batch.table.height - new)
    return (
        f"{counted(new, 'person')} came who was never there before, and {counted(away, 'person')} of earlier releases "
        f"{'is' if away == 1 else 'are'} not in it; {counted(fakes, 'counterfeit')} in {rows:,} rows "
        f"({percent(fakes / rows, 2)}), which every loss charges as records of which nothing is published"
    )


def _told_of_changes(changed: int) -> str:
    return f"; {counted(changed, 'person')} with other quasi-identifying values than before" if changed else ""
