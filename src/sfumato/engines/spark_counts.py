"""Spark by counts: distinct records stay on the cluster; dictionaries, cuts and sums come here.

Each value of a column gets its code here, and records are coded and counted there. The first cuts are chosen here, from
the first records of each part and from counts that Spark adds up, by the kernels that memory runs: they are the cuts of
memory, for no count is rounded. What lies below is solved by workers, who write what is published.

A task is a pure function of what it is given. Nothing is drawn in one: what looks random follows from a secret that is
drawn here, and is the same at each attempt.

Letters: n records, m distinct ones, q quasi-identifying codes and s sensitive ones, p parts.
"""

from __future__ import annotations

import hashlib
import io
import math
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.layout import laid_out, space_of
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import GeneralizedTable, Partition
from sfumato.engines.disk import RuleValues, joined_codes
from sfumato.engines.spark import library_versions
from sfumato.errors import InputError, SfumatoError, raise_all, raise_together
from sfumato.kernels.mondrian.cuts import Options
from sfumato.kernels.mondrian.mondrian import SAMPLE, choose_first_cut
from sfumato.kernels.predicates import RuleArrays
from sfumato.kernels.types import Space
from sfumato.metrics.losses import (
    Losses,
    LossSums,
    centred_numbers,
    covered_counts,
    entropy_share,
    error_share,
    explained,
    loss_sums,
    losses_of,
)
from sfumato.parallel import each as in_threads
from sfumato.recoding import Recoding, recode_as_published
from sfumato.table.columns import is_text, refuse_nested
from sfumato.table.encoding import EncodedTable, Order
from sfumato.table.large.batches import OpenedFile
from sfumato.table.large.coding import CodedColumn, LargeTable, RawValues, coded_column
from sfumato.table.row_order import collapsed, content_hash
from sfumato.table.schema import Kind, Schema, is_measured
from sfumato.table.sources.spark import CELLS, CHANGED, NO_WORKERS, SparkSource, asking_spark, in_slices
from sfumato.table.writing import single_numbers

LEAF, LEAST_LEAF = 250_000, 20_000
"""Distinct records of a task, at most; and fewest that are asked for so that there are tasks enough."""
TASKS = 32
"""Tasks of every stage whose work grows with the records, at least."""
TASK = 100_000
"""Records of a task of such a stage, about."""
MOST_VALUES = 5_000_000
"""Different values of a column whose numbers are given here, at most."""
COLUMNS = 4
"""Columns whose values are counted at a time."""
HASHES = 1 << 31
"""Records are known by so many bits of their hash."""
ENOUGH = 1.5
"""Times the records that a cut looks at which are sent of the smallest part that is cut, about."""

Frame = Any


COUNTED_FROM = 2_000_000
"""Records from which on a release is made by counts: fewer are cut sooner here than there."""


def counted_there(maker: object, recoding: Recoding, schema: Schema) -> bool:
    """Tell whether a release can be made without any record coming here."""
    if not isinstance(maker, Mondrian) or maker.mode != "strict" or maker.attribute_choice != "least-loss":
        return False
    if maker.decides_regions or maker.blind or recoding.numeric == "mean" or "mean" in recoding.forms.values():
        return False
    return not (schema.insensitive or schema.person or schema.wished_k or schema.wished_l)


# Dictionaries.


def value_counts(source: SparkSource, name: str) -> pl.DataFrame:
    """Return the distinct values of a column as Spark has them, ``value``, and how many records have each, ``count``.

    Raises ``InputError`` when there are more than :data:`MOST_VALUES`.
    """
    found, rows = [], 0
    for frame in in_slices(source.chosen([name]).groupBy("0").count(), "0"):
        found.append(frame.rename({"0": "value"}))
        rows += frame.height
        if rows > MOST_VALUES:
            raise InputError(
                f"column {name!r} has more than {MOST_VALUES:,} different values, which all come here; round them, "
                "give a coarser column, or leave it out"
            )
    return pl.concat(found)


def raw_values(name: str, values: pl.Series, counts: NDArray[np.int64]) -> RawValues:
    """Return counted values as those of a source that is read here; `values` are plain (:func:`plain`)."""
    known = values.is_not_null().to_numpy()
    kept = values.filter(pl.Series(known)).alias(name)
    return RawValues(kept, counts[known], np.zeros(len(kept), dtype=np.int64), int(counts[~known].sum()))


def plain(column: pl.Series) -> pl.Series:
    """Return values with equal ones alike. Raises ``InputError`` when they cannot be published."""
    if is_text(column) or column.dtype == pl.Null:
        return column.cast(pl.String)
    refuse_nested(column)
    return column.fill_nan(None) + 0.0 if column.dtype.is_float() else column


# Records as codes.


@dataclass(frozen=True, eq=False, repr=False)
class Coded:
    """The distinct records of a table, on the cluster."""

    # q0, q1, ...: quasi-identifying codes; s0, s1, ...: sensitive ones; h: the hash by which records stand in order;
    # w: how many records are alike in all codes
    frame: Frame
    height: int  # m
    tasks: int  # that there shall be of each stage, at least

    def close(self) -> None:
        """Let the cluster forget them."""
        with suppress(InputError), asking_spark():
            self.frame.unpersist()


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """What workers are told of a table and of what is wanted; no record is in it."""

    table: EncodedTable  # attributes; no record
    values: RuleValues
    rules: RuleArrays
    mondrian: Mondrian
    recoding: Recoding
    k: int  # that losses refer to
    occurrences: tuple[NDArray[np.int64], ...]  # (size + 1,) of each quasi-identifying attribute
    centres: tuple[NDArray[np.float64] | None, ...]  # what is added up of measured attributes, by code
    versions: tuple[str, ...] = field(default_factory=library_versions)

    @classmethod
    def of(
        cls, large: LargeTable, values: RuleValues, rules: RuleArrays, mondrian: Mondrian, recoding: Recoding, k: int
    ) -> Plan:
        """Return the plan of a table whose values have their codes."""
        table = large.encoded
        none = [np.zeros((0, codes.shape[1]), dtype=np.uint8) for codes in (table.codes, table.sensitive_codes)]
        occurrences = tuple(_with_missing(column) for column in large.quasi_identifying)
        centres = tuple(
            np.append(centred_numbers(attribute, counts[:-1]), 0.0) if attribute.is_measured else None
            for attribute, counts in zip(table.attributes, occurrences, strict=True)
        )
        table = replace(table, codes=none[0], sensitive_codes=none[1])
        return cls(table, values, rules, mondrian, recoding, k, occurrences, centres)

    @property
    def options(self) -> Options:
        """Return how cuts are chosen."""
        return self.mondrian.cut_options(self.rules)

    @property
    def codes(self) -> list[str]:
        """The columns of codes."""
        names = (("q", self.table.attributes), ("s", self.table.sensitive))
        return [f"{letter}{place}" for letter, attributes in names for place in range(len(attributes))]

    def records(self, batch: Any) -> EncodedTable:
        """Return the records of a batch of Arrow."""
        width = len(self.table.attributes)
        largest = [
            max((each.cardinality for each in some), default=0)
            for some in (self.table.attributes, self.table.sensitive)
        ]
        codes = [
            np.empty((batch.num_rows, count), dtype=np.min_scalar_type(most))
            for count, most in zip((width, len(self.table.sensitive)), largest, strict=True)
        ]
        for place, name in enumerate(self.codes):
            own, column = divmod(place, width) if place < width else (1, place - width)
            codes[own][:, column] = batch.column(name).to_numpy(zero_copy_only=False)
        return replace(self.table, codes=codes[0], sensitive_codes=codes[1])


def counted_values(
    source: SparkSource, opened: OpenedFile, records: int
) -> tuple[LargeTable, Sequence[tuple[pl.Series, CodedColumn]]]:
    """Give the values of a table their codes, as :func:`~sfumato.table.large.coding.coded_table` does.

    Returns a table of so many records of which none is here, and for each of its columns the values as Spark has them.
    Raises ``SfumatoError`` as reading and encoding the table whole; ``InputError`` when it changes meanwhile.
    """
    schema, errors = opened.schema, list[SfumatoError]()
    found: dict[str, tuple[pl.Series, CodedColumn]] = {}
    names = [*schema.quasi_identifying, *schema.sensitive]
    # Spark counts several columns beside each other, and waits for nobody between them.
    frames = in_threads(partial(value_counts, source), names, COLUMNS)
    for name, counted in zip(names, frames, strict=True):
        counts = counted["count"].to_numpy()
        raise_all(InputError, [] if int(counts.sum()) == records else [CHANGED])
        order: Order = "frequency" if name in schema.quasi_identifying else "name"
        declared = {**schema.quasi_identifying, **schema.sensitive}[name]
        try:
            raw = raw_values(name, plain(counted["value"].alias(name)), counts)
            found[name] = counted["value"], coded_column(raw, declared, opened.reading, order)
        except SfumatoError as error:
            errors.append(error)
    raise_together(errors)
    quasi, hidden = ([found[name] for name in some] for some in (schema.quasi_identifying, schema.sensitive))
    codes, sensitive_codes = (
        # As many records as there are, without a byte for any of them.
        np.broadcast_to(np.zeros((1, len(some)), dtype=np.uint8), (records, len(some)))
        for some in (quasi, hidden)
    )
    texts = frozenset(name for name in found if source.is_text)
    own, sensitive = (tuple(column for _, column in some) for some in (quasi, hidden))
    large = LargeTable(schema, opened.names, own, sensitive, codes, sensitive_codes, (), (0, records), texts)
    return large, [*quasi, *hidden]


@contextmanager
def evenly(session: Any, records: int) -> Iterator[None]:
    """Have Spark share the work of a table out to tasks enough, all of which are submitted at once."""
    tasks = max(least_tasks(session), records // TASK)
    wanted = {"spark.sql.shuffle.partitions": str(tasks), "spark.sql.adaptive.enabled": "false"}
    with asking_spark():
        before = {name: session.conf.get(name, None) for name in wanted}
        for name, value in wanted.items():
            session.conf.set(name, value)
    try:
        yield
    finally:
        with suppress(InputError), asking_spark():
            for name, value in before.items():
                if value is None:
                    session.conf.unset(name)
                else:
                    session.conf.set(name, value)


def least_tasks(session: Any) -> int:
    """Return how many tasks a stage has at least: four for each core that Spark tells of."""
    with asking_spark():
        told = [session.conf.get(name, None) for name in ("spark.executor.instances", "spark.executor.cores")]
        known = math.prod(int(each) for each in told if each and each.isdigit())
        parallel = session.conf.get("spark.default.parallelism", None)
    cores = max(known if all(told) else 0, int(parallel) if parallel and parallel.isdigit() else 0)
    return max(TASKS, 4 * cores)


def _with_missing(column: CodedColumn) -> NDArray[np.int64]:
    counts = np.zeros(column.attribute.size + 1, dtype=np.int64)
    counts[: len(column.occurrences)] = column.occurrences
    return counts


def code_records(
    session: Any, source: SparkSource, columns: Sequence[tuple[pl.Series, CodedColumn]], plan: Plan, records: int
) -> Coded:
    """Have the records of a table coded and counted; they are kept until they are closed.

    `columns`: the values of each column as Spark has them, and their codes, in the order of ``plan.codes``. Raises
    ``InputError`` when there are other records than were counted before.
    """
    import pyarrow as pa
    from pyspark import StorageLevel
    from pyspark.sql import functions as of

    tasks = least_tasks(session)
    with asking_spark(NO_WORKERS):
        frame = source.chosen([column.attribute.name for _, column in columns])
        for place, ((values, column), code) in enumerate(zip(columns, plan.codes, strict=True)):
            numbers = pl.Series(column.codes(plain(values)).astype(np.int32))
            known = pl.DataFrame([values.alias(f"value{place}"), numbers.alias(code)])
            coded = of.broadcast(session.createDataFrame(pa.Table.from_batches(_batches(known))))
            frame = frame.join(coded, of.col(str(place)).eqNullSafe(of.col(f"value{place}")))
            frame = frame.drop(str(place), f"value{place}")
        groups = frame.groupBy(*plan.codes).agg(of.count(of.lit(1)).alias("w"))
        schema = ", ".join(f"{name} int" for name in plan.codes) + ", w bigint, h bigint"
        held = groups.mapInArrow(partial(_hashed, pickle.dumps(plan)), schema).persist(StorageLevel.DISK_ONLY)
        height, found = held.agg(of.count(of.lit(1)), of.sum("w")).toArrow().to_pylist()[0].values()
    raise_all(InputError, [] if found == records else [CHANGED])
    return Coded(held, int(height), tasks)


def _hashed(plan: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    """Add the leading bits of the hash by which records stand in order."""
    import pyarrow as pa

    known: Plan = pickle.loads(plan)
    for batch in batches:
        hashes = content_hash(joined_codes(known.records(batch), known.values)) >> np.uint64(33)
        yield batch.append_column("h", pa.array(hashes.astype(np.int64)))


# First cuts.


@dataclass(eq=False, repr=False)
class Cuts:
    """The parts that cuts have made so far: which side the codes of an attribute go to, in every range that was cut."""

    attributes: list[int] = field(default_factory=lambda: [-1])  # of each range; -1 where it was not cut
    sides: list[NDArray[np.integer] | None] = field(default_factory=lambda: [None])  # of each code of this attribute
    below: list[tuple[int, int]] = field(default_factory=lambda: [(-1, -1)])

    def cut(self, number: int, attribute: int, side: NDArray[np.integer]) -> tuple[int, int]:
        """Cut a range in two; return the numbers of both."""
        made = len(self.attributes), len(self.attributes) + 1
        self.attributes[number], self.sides[number], self.below[number] = attribute, side, made
        self.attributes += [-1, -1]
        self.sides += [None, None]
        self.below += [(-1, -1), (-1, -1)]
        return made

    def ranges_of(self, codes: NDArray[np.unsignedinteger]) -> NDArray[np.int32]:
        """Return the number of the range that each record lies in; int32. Ends: each round goes one range down."""
        attributes, below = np.array(self.attributes), np.array(self.below, dtype=np.int32)
        firsts = np.cumsum([0, *(0 if side is None else len(side) for side in self.sides)])
        sides = np.concatenate([np.zeros(0, dtype=np.uint8), *(side for side in self.sides if side is not None)])
        ranges = np.zeros(len(codes), dtype=np.int32)
        rows = np.arange(len(codes) if attributes[0] >= 0 else 0)
        while len(rows):
            at = ranges[rows]
            ranges[rows] = below[at, sides[firsts[at] + codes[rows, attributes[at]]]]
            rows = rows[attributes[ranges[rows]] >= 0]
        return ranges


@dataclass(frozen=True, eq=False, repr=False)
class _Range:
    """A range that may be cut: its number, the first distinct records of it, and how many it has there."""

    number: int
    codes: NDArray[np.unsignedinteger]  # quasi-identifying ones, and values that rules look at; in order
    weights: NDArray[np.int32]
    rows: int


def first_cuts(coded: Coded, plan: Plan, progress: Callable[[int], None]) -> tuple[Cuts, int]:
    """Cut until every part fits a task, as memory cuts; return the cuts, and how many parts there are.

    One pass over the distinct records for each level of cuts. A range whose first records show no cut is left whole.
    """
    leaf = max(LEAST_LEAF, min(LEAF, coded.height // coded.tasks))
    cuts, parts = Cuts(), 1
    waiting = [_Range(0, *_sample(coded, plan, leaf), coded.height)]
    space = space_of(plan.table.attributes)
    while waiting := [each for each in waiting if each.rows > leaf and len(each.weights) >= SAMPLE]:
        level, waiting = {each.number: each for each in waiting}, []
        for number, counts in _counts(coded, plan, cuts, [*level]):
            found = _cut(level[number], counts, plan, space)
            if found is None:
                continue
            attribute, side = found
            column, sampled = counts.filter(pl.col("attribute") == attribute), level[number]
            for right, below in enumerate(cuts.cut(number, attribute, side)):
                own = side[sampled.codes[:, attribute]] == right
                rows = int(column["rows"].to_numpy()[side[column["code"].to_numpy()] == right].sum())
                waiting.append(_Range(below, sampled.codes[own], sampled.weights[own], rows))
            parts += 1
        progress(parts)
    return cuts, parts


def _cut(part: _Range, counts: pl.DataFrame, plan: Plan, space: Space) -> tuple[int, NDArray[np.integer]] | None:
    """Return the attribute that a range is cut along, and the side of each of its codes; None where it is not cut."""
    laid, spans = _laid(part, counts, len(plan.table.attributes))
    attribute, side = choose_first_cut(laid.codes, laid.weights, spans, SAMPLE, space, plan.rules, plan.options)
    if attribute < 0:
        return None
    return attribute, side[: plan.table.attributes[attribute].cardinality].astype(np.uint8)


def _sample(coded: Coded, plan: Plan, leaf: int) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int32]]:
    """Return the first distinct records, as many as the parts that are cut need."""
    from pyspark.sql import functions as of

    below = int(HASHES * min(1.0, ENOUGH * SAMPLE / leaf))
    with asking_spark():
        found = pl.concat(list(in_slices(coded.frame.where(of.col("h") < below), *plan.codes)))
    codes, _, record_of = collapsed(joined_codes(plan.records(found.to_arrow()), plan.values))
    return codes, np.bincount(record_of, weights=found["w"].to_numpy()).astype(np.int32)


def _counts(coded: Coded, plan: Plan, cuts: Cuts, numbers: Sequence[int]) -> Iterator[tuple[int, pl.DataFrame]]:
    """Count the codes of each attribute in some ranges, beside the values that rules look at; a range at a time."""
    from pyspark.sql import functions as of

    keys = ["part", "attribute", "code", *(f"r{place}" for place in range(len(plan.values)))]
    schema = ", ".join(f"{key} int" for key in keys) + ", w bigint, rows bigint"
    with asking_spark(NO_WORKERS):
        task = partial(_count, pickle.dumps((plan, cuts, list(numbers), keys)))
        added = coded.frame.mapInArrow(task, schema).groupBy(*keys)
        summed = added.agg(of.sum("w").alias("w"), of.sum("rows").alias("rows"))
    # All counts of a range are in one slice.
    for some in in_slices(summed, "part"):
        for (part,), rows in some.partition_by("part", as_dict=True).items():
            yield int(part), rows


def _count(told: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    plan, cuts, open_ones, keys = pickle.loads(told)
    found: list[pl.DataFrame] = []
    is_open = np.zeros(len(cuts.attributes), dtype=np.bool_)
    is_open[open_ones] = True
    for batch in batches:
        table = plan.records(batch)
        part = cuts.ranges_of(table.codes)
        rows = np.flatnonzero(is_open[part])
        joined = joined_codes(table.take(rows), plan.values).astype(np.int32)
        weights = batch.column("w").to_numpy(zero_copy_only=False)[rows]
        width = len(plan.table.attributes)
        beside = [pl.Series(f"r{place}", joined[:, width + place]) for place in range(len(plan.values))]
        own = pl.DataFrame([pl.Series("part", part[rows]), *beside, pl.Series("w", weights)])
        for attribute in range(width):
            codes = own.with_columns(pl.Series("code", joined[:, attribute]), attribute=pl.lit(attribute, pl.Int32))
            found.append(codes.group_by(keys).agg(pl.col("w").sum(), rows=pl.len().cast(pl.Int64)))
        if len(found) > 64 * width:
            found = [_added(found, keys)]
    if found:
        yield from _added(found, keys).select(*keys, "w", "rows").to_arrow().to_batches()


def _added(frames: Sequence[pl.DataFrame], keys: Sequence[str]) -> pl.DataFrame:
    return pl.concat(frames).group_by(keys).agg(pl.col("w", "rows").sum())


def _laid(part: _Range, counts: pl.DataFrame, width: int) -> tuple[Any, NDArray[np.int64]]:
    """Lay out the first records of a range, and behind them its counts, as the kernel reads them."""
    sampled, counts = part.codes[:SAMPLE], counts.sort("attribute", "code")
    behind = np.zeros((counts.height, sampled.shape[1]), dtype=sampled.dtype)
    attributes = counts["attribute"].to_numpy()
    behind[np.arange(counts.height), attributes] = counts["code"].to_numpy()
    for place in range(width, sampled.shape[1]):
        behind[:, place] = counts[f"r{place - width}"].to_numpy()
    stops = SAMPLE + np.cumsum(np.bincount(attributes, minlength=width))
    spans = np.column_stack([np.append(SAMPLE, stops[:-1]), stops]).astype(np.int64)
    weights = np.concatenate([part.weights[:SAMPLE], counts["w"].to_numpy()])
    codes = np.concatenate([sampled, behind])
    return laid_out(codes, weights, np.arange(len(codes)), None), spans


# Parts, solved by workers.


@dataclass(frozen=True, eq=False, repr=False)
class Found:
    """What a part, or all of them together, tell of what is published."""

    sums: LossSums
    # for each attribute: how many records publish something that covers so many records of the table
    covered: tuple[Mapping[int, int], ...]
    errors: tuple[float, ...]  # what class means explain of measured attributes
    changed: tuple[bool, ...]  # whether some cell of each attribute was changed
    forms: tuple[str, ...]  # what all labels of each attribute are

    def losses(self, plan: Plan, sizes: Sizes) -> Losses:
        """Return the losses of the table; classes are those that a reader sees."""
        weights = {attribute.name: attribute.weight for attribute in plan.table.attributes}
        sums = replace(self.sums, classes=sizes.classes, counted=sizes.counted, squares=sizes.squares)
        covered = [
            (np.array([*own.values()], dtype=np.int64), np.array([*own], dtype=np.int64))
            for own in (dict(sorted(each.items())) for each in self.covered)
        ]
        columns = zip(plan.centres, plan.occurrences, self.errors, strict=True)
        measured = [(centre[:-1], counts[:-1], told) for centre, counts, told in columns if centre is not None]
        return replace(
            losses_of(sums, weights, plan.k),
            entropy=entropy_share(covered, plan.occurrences, sums.suppressed),
            squared_error=error_share(measured) if measured else None,
        )

    def __add__(self, other: Found) -> Found:
        """Put parts together."""
        covered = [dict(own) for own in self.covered]
        for own, more in zip(covered, other.covered, strict=True):
            for count, records in more.items():
                own[count] = own.get(count, 0) + records
        return Found(
            self.sums + other.sums,
            tuple(covered),
            tuple(a + b for a, b in zip(self.errors, other.errors, strict=True)),
            tuple(a or b for a, b in zip(self.changed, other.changed, strict=True)),
            tuple(_together(a, b) for a, b in zip(self.forms, other.forms, strict=True)),
        )


_FORMS = ("missing", "whole", "number", "text")


def _together(one: str, other: str) -> str:
    if "date" in (one, other):
        return "date" if {one, other} <= {"date", "missing"} else "text"
    return max(one, other, key=_FORMS.index)


@dataclass(frozen=True, eq=False, repr=False)
class Solved:
    """The parts of a table with their classes, on the cluster: what each tells, and what it publishes."""

    frame: Frame  # part, facts, classes, rows
    facts: Found

    def close(self) -> None:
        """Let the cluster forget it."""
        with suppress(InputError), asking_spark():
            self.frame.unpersist()


def solve_parts(coded: Coded, plan: Plan, cuts: Cuts, parts: int) -> Solved:
    """Have workers solve all parts, every one a group of its own; all are asked for at once."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as of

    schema = ", ".join(f"{name} int" for name in plan.codes) + ", w bigint, part int"
    with asking_spark(NO_WORKERS):
        routed = coded.frame.mapInArrow(partial(_route, pickle.dumps((plan, cuts))), schema)
        groups = routed.groupBy("part").applyInArrow(
            on_groups(_solve, pickle.dumps(plan)), "part int, facts binary, classes binary, rows binary"
        )
        solved = groups.persist(StorageLevel.DISK_ONLY)
        facts: Found | None = None
        count = 0
        for first in range(0, len(cuts.attributes), TOGETHER):
            asked = of.col("part").between(first, first + TOGETHER - 1)
            for row in solved.where(asked).select("part", "facts").orderBy("part").toArrow().to_pylist():
                own = pickle.loads(row["facts"])
                facts, count = own if facts is None else facts + own, count + 1
    if facts is None or count != parts:
        raise InputError(NO_WORKERS)
    return Solved(solved, facts)


TOGETHER = 512
"""Ranges whose facts come here at once, at most: some kilobytes each."""


def on_groups(task: Callable[[bytes, Any], Any], told: bytes) -> Callable[[Any], Any]:
    """Return what does a task on each group of rows, a table of Arrow; Spark asks for the types that it names."""
    import pyarrow as pa

    def on_group(rows: Any) -> Any:
        return task(told, rows)

    on_group.__annotations__ = {"rows": pa.Table, "return": pa.Table}
    return on_group


def _route(told: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    """Add the part of each record."""
    import pyarrow as pa

    plan, cuts = pickle.loads(told)
    for batch in batches:
        part = cuts.ranges_of(plan.records(batch).codes)
        yield batch.select([*plan.codes, "w"]).append_column("part", pa.array(part))


def _solve(told: bytes, part: Any) -> Any:
    """Find the classes of a part, and what they publish."""
    import pyarrow as pa

    plan: Plan = pickle.loads(told)
    table, weights = plan.records(part), part.column("w").to_numpy()
    class_of, found = _classes(plan, table, weights)
    rows = pl.DataFrame(
        [
            pl.Series("class", class_of),
            *(pl.Series(f"s{place}", codes.astype(np.int32)) for place, codes in enumerate(table.sensitive_codes.T)),
            pl.Series("w", weights),
        ]
    )
    keys = rows.columns[:-1]
    rows = rows.group_by(keys).agg(pl.col("w").sum()).sort(keys)
    classes = pl.DataFrame([pl.Series("size", found.sizes), *_labels(found)])
    facts = pickle.dumps(_facts(plan, table, weights, class_of, found))
    number = part.column("part")[0].as_py()
    columns = [
        pa.array([number], pa.int32()),
        *(pa.array([each], pa.binary()) for each in (facts, _ipc(classes), _ipc(rows))),
    ]
    return pa.table(columns, ["part", "facts", "classes", "rows"])


def _classes(plan: Plan, table: EncodedTable, weights: NDArray[np.int64]) -> tuple[NDArray[np.int32], GeneralizedTable]:
    """Cut a part as far as the models allow; return the class of each row, and what classes publish."""
    distinct, _, record_of = collapsed(joined_codes(table, plan.values))
    counts = np.bincount(record_of, weights=weights)
    records = laid_out(distinct, counts, np.arange(len(distinct)), record_of)
    starts = plan.mondrian.class_starts(records, plan.rules, Problem(plan.table, ()))
    cover = records.spread(np.cumsum(starts, dtype=np.int32) - np.int32(1))
    partition = Partition(cover, int(np.count_nonzero(starts)))
    found = recode_as_published(
        replace(table, sensitive=(), sensitive_codes=table.sensitive_codes[:, :0]),
        partition,
        plan.recoding,
        by_column=lambda column: column,
    )
    sizes = np.bincount(found.class_of, weights=weights, minlength=len(found.sizes)).astype(np.int64)
    # As many records as there are, of which none is held.
    everybody = np.broadcast_to(np.zeros(1, dtype=np.int32), (int(weights.sum()),))
    return found.class_of, replace(found, class_of=everybody, sizes=sizes)


def _labels(found: GeneralizedTable) -> Iterator[pl.Series]:
    for place, column in enumerate(found.columns):
        yield column.labels.gather(column.per_class.astype(np.uint32)).alias(f"label{place}")
        yield pl.Series(f"code{place}", column.low[column.per_class])


def _facts(
    plan: Plan, table: EncodedTable, weights: NDArray[np.int64], class_of: NDArray[np.int32], found: GeneralizedTable
) -> Found:
    errors = []
    for place, (column, centre) in enumerate(zip(found.columns, plan.centres, strict=True)):
        if centre is None:
            errors.append(0.0)
            continue
        added = np.bincount(class_of, weights=weights * centre[table.codes[:, place]], minlength=len(found.sizes))
        errors.append(explained(column, added.astype(np.float64), found.sizes))
    covered = [
        dict(zip(counts.tolist(), records.tolist(), strict=True))
        for records, counts in covered_counts(found, plan.occurrences)
    ]
    return Found(
        loss_sums(found, plan.k), tuple(covered), tuple(errors),
        tuple(bool(column.level.any()) for column in found.columns),
        tuple(_form(column.labels, column.attribute.kind) for column in found.columns),
    )  # fmt: skip


def _form(labels: pl.Series, kind: Kind) -> str:
    if labels.is_null().all():
        return "missing"
    numbers = single_numbers(labels, kind)
    if numbers is None:
        return "text"
    return "date" if numbers.dtype == pl.Date else "whole" if numbers.dtype.is_integer() else "number"


def _ipc(frame: pl.DataFrame) -> bytes:
    payload = io.BytesIO()
    frame.write_ipc(payload, compression="lz4")
    return payload.getvalue()


# What is published, on the cluster.


@dataclass(frozen=True, eq=False, repr=False)
class Sizes:
    """What the sizes of all classes tell, as a reader sees the classes."""

    classes: int
    smallest: int
    largest: int
    counted: int  # records in classes of k or more, and the squared sizes of these
    squares: int


def class_sizes(solved: Solved, plan: Plan) -> Sizes:
    """Count the records of each class on the cluster; classes of two parts that publish the same are one."""
    from pyspark.sql import functions as of

    labels = [f"label{place}" for place in range(len(plan.table.attributes))]
    schema = ", ".join(f"{label} string" for label in labels) + ", size bigint"
    with asking_spark(NO_WORKERS):
        classes = solved.frame.select("classes").mapInArrow(partial(_class_rows, labels), schema)
        sizes = classes.groupBy(*labels).agg(of.sum("size").alias("size"))
        large = of.when(of.col("size") >= plan.k, of.col("size")).otherwise(of.lit(0).cast("bigint"))
        summed = sizes.agg(of.count(of.lit(1)), of.min("size"), of.max("size"), of.sum(large), of.sum(large * large))
        return Sizes(*map(int, summed.toArrow().to_pylist()[0].values()))


def _class_rows(labels: Sequence[str], batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        for payload in batch.column(0).to_pylist():
            yield from _batches(pl.read_ipc(io.BytesIO(payload)).select(*labels, "size"))


def _batches(frame: pl.DataFrame) -> Iterator[Any]:
    import pyarrow as pa

    # Spark knows texts of 32 bits alone.
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    texts = [
        pa.field(each.name, pa.string() if pa.types.is_large_string(each.type) else each.type) for each in table.schema
    ]
    yield from table.cast(pa.schema(texts)).to_batches(max_chunksize=1 << 16)


@dataclass(frozen=True, eq=False, repr=False)
class Published:
    """The records of a release on the cluster, each with its place in a random order."""

    frame: Frame  # part, key, c0, c1, ...
    files: int
    height: int

    def close(self) -> None:
        """Let the cluster forget them."""
        with suppress(InputError), asking_spark():
            self.frame.unpersist()


@dataclass(frozen=True, eq=False, repr=False)
class Shown:
    """What the columns of :class:`Published` stand for."""

    names: tuple[str, ...]
    sources: tuple[str, ...]  # label0, code0 or s0: what workers hold of a column
    values: tuple[pl.Series | None, ...]  # behind the codes; None where the text is published
    types: tuple[pl.DataType | None, ...]  # of labels that all are numbers

    def frame(self, rows: Any) -> pl.DataFrame:
        """Return rows of Spark, a table of Arrow with part and key, in their order and as they are published."""
        ordered = pl.DataFrame(pl.from_arrow(rows)).sort("part", "key")
        return pl.DataFrame([self._column(place, ordered[f"c{place}"]) for place in range(len(self.names))])

    def _column(self, place: int, column: pl.Series) -> pl.Series:
        values, type = self.values[place], self.types[place]
        if values is not None:
            column = values.gather(column.cast(pl.UInt32))
        elif type is not None and type.is_integer():
            column = column.cast(pl.Float64).cast(type)
        elif type is not None:
            column = column.cast(type)
        return column.alias(self.names[place])


def shown_columns(large: LargeTable, facts: Found, *, typed: bool) -> Shown:
    """Return what the columns of a release show; `typed`: numbers and dates are such where all labels are."""
    quasi = {column.attribute.name: (place, column) for place, column in enumerate(large.quasi_identifying)}
    hidden = {column.attribute.name: (place, column) for place, column in enumerate(large.sensitive)}
    shown: list[tuple[str, pl.Series | None, pl.DataType | None]] = []
    for name in large.names:
        if name in hidden:
            place, column = hidden[name]
            shown.append((f"s{place}", column.values, None))
            continue
        place, column = quasi[name]
        attribute, form = column.attribute, facts.forms[place]
        if not facts.changed[place] and (is_measured(attribute.kind) or attribute.kind is Kind.BOOLEAN):
            shown.append((f"code{place}", column.values, None))
            continue
        numbers = typed and attribute.is_numeric and attribute.order is None
        shown.append((f"label{place}", None, _TYPES.get(form) if numbers else None))
    return Shown(large.names, *map(tuple, zip(*shown, strict=True)))


_TYPES: Mapping[str, pl.DataType] = {"whole": pl.Int64(), "number": pl.Float64(), "date": pl.Date()}


def publish_rows(solved: Solved, shown: Shown, secret: bytes, files: int, height: int) -> Published:
    """Have the records of all classes dealt to files, in an order that follows from a secret.

    `secret`: drawn by who calls, and forgotten. Each record has 64 bits that only who knows the secret can tell, the
    same at every attempt; the first of them say in which file it stands.
    """
    from pyspark import StorageLevel

    columns = ", ".join(
        f"c{place} {'string' if source.startswith('label') else 'int'}" for place, source in enumerate(shown.sources)
    )
    with asking_spark(NO_WORKERS):
        task = partial(_rows_of, pickle.dumps((secret, files, shown.sources)))
        rows = solved.frame.select("part", "classes", "rows").mapInArrow(task, f"part int, key bigint, {columns}")
        held = rows.repartition("part").persist(StorageLevel.DISK_ONLY)
        found = int(held.count())
    raise_all(InputError, [] if found == height else [NO_WORKERS])
    return Published(held, files, height)


def _rows_of(told: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    secret, files, sources = pickle.loads(told)
    for batch in batches:
        for part in batch.to_pylist():
            classes, rows = (pl.read_ipc(io.BytesIO(part[name])) for name in ("classes", "rows"))
            each = np.repeat(np.arange(rows.height, dtype=np.uint32), rows["w"].to_numpy())
            drawn = hashlib.shake_256(secret + int(part["part"]).to_bytes(8, "big")).digest(8 * len(each))
            places = np.frombuffer(drawn, dtype="<u8")
            file = (places >> np.uint64(32)) * np.uint64(files) >> np.uint64(32)
            dealt = pl.DataFrame(
                {"part": file.astype(np.int32), "key": (places >> np.uint64(1)).astype(np.int64), "row": each}
            )
            for some in dealt.iter_slices(1 << 17):
                of_rows = rows[some["row"]]
                of_classes = classes[of_rows["class"].cast(pl.UInt32)]
                columns = [
                    (of_rows if source.startswith("s") else of_classes)[source].alias(f"c{place}")
                    for place, source in enumerate(sources)
                ]
                yield from _batches(pl.DataFrame([some["part"], some["key"], *columns]))


def rows_here(published: Published, shown: Shown) -> Iterator[pl.DataFrame]:
    """Yield the records of each file, in several results."""
    import pyarrow as pa
    from pyspark.sql import functions as of

    width = len(shown.names) + 2
    for file in range(published.files):
        low, high = (-(-(number << 63) // published.files) for number in (file, file + 1))
        slices = max(1, -(-(published.height // published.files) * width // CELLS))
        ends = [low + (high - low) * number // slices for number in range(slices + 1)]
        ends[0], ends[-1] = 0, (1 << 63) - 1
        tables = []
        for start, stop in pairwise(ends):
            inside = of.col("key").between(start, stop - 1 if stop != ends[-1] else stop)
            with asking_spark():
                tables.append(published.frame.where((of.col("part") == file) & inside).toArrow())
        yield shown.frame(pa.concat_tables(tables))
