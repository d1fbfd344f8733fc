"""A release of a table on Spark: the same records as in memory, written in parts."""

from __future__ import annotations

import io
import os
import pickle
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Anonymizer
from sfumato.classes.statistics import ClassStatistics
from sfumato.engines.disk import HELD, PublishedColumns, part_count
from sfumato.engines.spark import SparkBatches, SparkEngine, run_on_spark
from sfumato.engines.spark_counts import (
    COUNTED_FROM,
    Plan,
    Published,
    Shown,
    class_sizes,
    code_records,
    counted_there,
    counted_values,
    evenly,
    first_cuts,
    on_groups,
    publish_rows,
    rows_here,
    shown_columns,
    solve_parts,
)
from sfumato.errors import InputError, PolicyError, SfumatoError, raise_all
from sfumato.kernels.predicates import RuleArrays
from sfumato.models.compiled import compile_counted
from sfumato.models.protocol import smallest_allowed
from sfumato.policy.policy import Policy
from sfumato.progress import Progress, silent
from sfumato.release.description import PartFacts, TableFacts
from sfumato.release.formulas import Formulas, cells_like_formulas, frames_without_formulas, names_like_formulas
from sfumato.release.on_disk import (
    SEVERAL_PARTS,
    STEPS,
    Made,
    ReleaseOnDisk,
    TaskOnDisk,
    allowed_memory,
    description_of,
    key_notes,
    misfits_of,
    not_on_disk,
)
from sfumato.release.parts import TABLE, part_name, write_parts
from sfumato.release.task import refuse_open_findings, with_choice, with_open_findings
from sfumato.release.transaction import check_target
from sfumato.table.columns import ValueReading
from sfumato.table.header import checked_header
from sfumato.table.large.batches import OpenedFile, checked_roles
from sfumato.table.large.coding import CodedColumn, LargeTable
from sfumato.table.large.memory import LEAST, gigabytes
from sfumato.table.reading import named_source, with_roles
from sfumato.table.schema import Kind, Schema
from sfumato.table.sources.protocol import Reading, is_spark, missing_texts
from sfumato.table.sources.spark import NO_WORKERS, SparkSource, asking_spark, spark_source
from sfumato.table.sources.spark_server import spark_layout, spark_session, spark_table
from sfumato.table.table import Table, candidates
from sfumato.table.writing import Format, write_data
from sfumato.table.written_forms import WrittenForm

# Parts of a release that Spark's workers write into a folder which they share with this machine.
#
# A task is given the numbers of what its part publishes, in the order that was drawn here, and the values behind them.
# So its file is a function of what it is given: an attempt that is repeated, or runs twice at the same time, writes the
# same bytes. It writes under a name of its own and renames, so that no half-written file has the name of a part.


WrittenBy = Literal["here", "workers"]
"""Who writes the parts of a release."""

WRITING, TOKEN = ".writing", "token"
"""A folder for files that are not whole yet, and the file in it by which workers know that they see the same folder."""
NOT_SHARED = (
    "Spark's workers do not see the folder of the release, or may not write there; nothing was published. Name a "
    "folder that this machine and all workers share, or have the release written here"
)


@dataclass(frozen=True, eq=False, repr=False)
class PartWriter:
    """Writes a part; sent to workers."""

    columns: PublishedColumns
    folder: str  # of the release
    format: Format
    token: str  # what the file of that name holds
    table: str = TABLE  # the folder of the parts

    def __call__(self, part: tuple[int, bytes]) -> PartFacts:
        """Write a part from its numbers; errors as of :meth:`write`."""
        number, numbers = part
        return self.write(number, self.columns.frame(pl.read_ipc(io.BytesIO(numbers))))

    def write(self, number: int, frame: pl.DataFrame) -> PartFacts:
        """Write a part. Raises ``InputError`` when the folder is not that of the release, or cannot be written."""
        name, writing = part_name(number, self.format), Path(self.folder) / WRITING
        try:
            is_shared = (writing / TOKEN).read_text() == self.token
        except OSError:
            is_shared = False
        raise_all(InputError, [] if is_shared else [NOT_SHARED])
        path = writing / f"{secrets.token_hex(8)}-{name}"
        sha256 = write_data(frame, path, self.format)
        try:
            os.replace(path, Path(self.folder) / self.table / name)
        except OSError:
            raise InputError(NOT_SHARED) from None
        return PartFacts(name, sha256, frame.height)


@dataclass(frozen=True, eq=False, repr=False)
class WorkersWrite:
    """Has the parts of a release written by workers."""

    session: Any

    def __call__(
        self, columns: PublishedColumns, parts: Iterable[pl.DataFrame], folder: Path, format: Format, table: str = TABLE
    ) -> TableFacts:
        """Write the parts of a table, given as numbers, into the folder of a release; return what is said of them.

        Raises ``InputError`` when workers do not see the folder, or Spark goes away.
        """

        def written(writer: PartWriter) -> list[PartFacts]:
            return [facts for _, facts in run_on_spark(self.session, writer, _payloads(parts))]

        return self._written(columns, folder, format, table, written)

    def written_there(self, parts: _PartsThere, folder: Path, format: Format, table: str = TABLE) -> TableFacts:
        """Write the parts of a table that lies on the cluster, all of them at once; errors as of a call."""

        def written(writer: PartWriter) -> list[PartFacts]:
            task = on_groups(_write_there, pickle.dumps((writer, parts.shown, parts.formulas)))
            schema = "file string, sha256 string, rows bigint, cells binary, trouble string"
            with asking_spark(NO_WORKERS):
                found = parts.published.frame.groupBy("part").applyInArrow(task, schema).toArrow().to_pylist()
            raise_all(InputError, sorted({part["trouble"] for part in found if part["trouble"]}))
            for part in found:
                parts.count_cells(pickle.loads(part["cells"]))
            raise_all(InputError, [] if len(found) == parts.count else [NO_WORKERS])
            return [PartFacts(part["file"], part["sha256"], part["rows"]) for part in found]

        return self._written(PublishedColumns(parts.shown.names, {}), folder, format, table, written)

    def _written(
        self,
        columns: PublishedColumns,
        folder: Path,
        format: Format,
        table: str,
        write: Callable[[PartWriter], list[PartFacts]],
    ) -> TableFacts:
        writing, place, token = folder / WRITING, folder / table, secrets.token_hex(16)
        for made in (writing, place):
            made.mkdir()
        (writing / TOKEN).write_text(token)
        written = write(PartWriter(columns, str(folder.absolute()), format, token, table))
        # An attempt that still runs finds no folder any more.
        shutil.rmtree(writing, ignore_errors=True)
        written.sort(key=lambda part: part.file)
        raise_all(InputError, [] if all((place / part.file).is_file() for part in written) else [NOT_SHARED])
        return TableFacts.in_parts(table, written, columns.names)


def _write_there(told: bytes, rows: Any) -> Any:
    """Write a file of a release, whose records Spark has brought together."""
    import pyarrow as pa

    writer, shown, formulas = pickle.loads(told)
    number, frame = rows.column("part")[0].as_py(), shown.frame(rows)
    facts, trouble, cells = PartFacts("", "", 0), "", cells_like_formulas([frame], names=False)
    try:
        if formulas != "keep":
            frames_without_formulas({TABLE: frame}, formulas)
        facts = writer.write(number, frame)
    except SfumatoError as error:
        trouble = str(error)
    row = {"file": facts.file, "sha256": facts.sha256, "rows": facts.rows, "cells": pickle.dumps(cells)}
    return pa.Table.from_pylist([{**row, "trouble": trouble}])


def _payloads(parts: Iterable[pl.DataFrame]) -> Iterator[tuple[int, bytes]]:
    for number, numbers in enumerate(parts):
        payload = io.BytesIO()
        numbers.write_ipc(payload, compression="lz4")
        yield number, payload.getvalue()


def anonymize_on_spark(
    source: Any,
    policy: Policy,
    folder: str | Path,
    *,
    memory: str | None = None,
    seed: int | None = None,
    threads: int | None = None,
    formulas: Formulas = "keep",
    overwrite: bool = False,
    progress: Progress = silent,
    written_by: WrittenBy = "here",
    audit: str | Path | None = None,
) -> ReleaseOnDisk:
    """Make a release of a table on a Spark cluster, and write it here, or have it written by the cluster's workers.

    Parameters
    ----------
    source
        A frame of Spark; or what the server that ``SPARK_REMOTE`` names, or an active session, finds: path or address
        of a Parquet file, of a folder of them or of a CSV file (UTF-8), or the name of a table.
    policy, folder, memory, formulas, overwrite, threads, progress, audit
        As :func:`sfumato.anonymize_on_disk` takes them.
    seed
        With a seed the release is, byte for byte where there is one part, that of memory for the same records in rising
        order of all columns that are read, in the order of the table, the column of people last, missing values first.
        It follows from the records alone, not from their order.
    written_by
        ``"workers"``: where there are several parts, Spark's workers write them into `folder`, which they and this
        machine share; the bytes are those that ``"here"`` writes. They are recounted here.

    Returns
    -------
    ReleaseOnDisk
        Verified from its written files alone.

    Raises
    ------
    SfumatoError
        What :func:`sfumato.anonymize_on_disk` raises; also when there is no server, or when it goes away.

    Notes
    -----
    *Guarantee.* That of :func:`sfumato.anonymize`. Spark counts how many records are alike in all columns that the
    release needs; lost and repeated tasks count the same. Nothing is drawn in a task: the order of what is published
    is drawn here. Records come once, and must be as many as Spark has said before. With insensitive columns the records
    themselves are sent.

    *Complexity.* Over the network go the distinct rows of the columns that are published, and as many codes lie
    on the disk here as there are records.
    """
    raise_all(PolicyError, [*not_on_spark(policy), *written_by_problems(written_by)])
    check_target(Path(folder), overwrite=overwrite)
    progress("asking Spark", 0, 1)
    with told_of_spark(), _found(source, policy) as found:
        writer = WorkersWrite(found.session) if written_by == "workers" else None
        task = _TaskOnSpark(
            Path(found.label), policy, Path(folder), allowed_memory(memory), seed, threads, formulas, overwrite,
            progress, SparkEngine(found.session), writer, None if audit is None else Path(audit), found,
        )  # fmt: skip
        return task.begun(lambda: _opened(found, policy, seed))


def written_by_problems(written_by: object) -> list[str]:
    """Say what is wrong with a setting of who writes the parts."""
    known = get_args(WrittenBy)
    return [] if written_by in known else [f"written_by: must be one of {', '.join(known)}"]


def table_on_spark(source: Any, policy: Policy) -> Table:
    """Bring the columns of a table on Spark that have a role into memory, as :func:`sfumato.read_table` does."""
    with told_of_spark(), _found(source, policy) as found, named_source(Path(found.label)):
        given = _settings(policy)["columns"] or ()
        return with_roles(found.source, _reading(found, policy), policy.to_schema(), found.label, given)


def not_on_spark(policy: Policy) -> list[str]:
    """Say what of a policy the Spark engine does not have, each in a sentence; nothing where it has everything."""
    # What was counted is released as the disk engine releases it.
    return [_of_spark(problem) for problem in not_on_disk(policy)]


class _Found(NamedTuple):
    """A table on Spark, the session that asks for it, and what messages call it."""

    source: SparkSource
    session: Any
    label: str


@dataclass(frozen=True, eq=False, repr=False)
class _TaskOnSpark(TaskOnDisk):
    """A release of a table on Spark: by counts where that can be, else from records that come here."""

    found: _Found
    there: _OnCluster = field(default_factory=lambda: _OnCluster())

    def released(self, opened: OpenedFile, spill: Path) -> ReleaseOnDisk:
        """Make the release, and have the cluster forget what it kept for it."""
        with ExitStack() as stack:
            self.there.stack = stack
            return super().released(opened, spill)

    def coded(self, opened: OpenedFile, spill: Path) -> LargeTable:
        """Give values their codes; records are coded here only where a release needs them here."""
        with asking_spark():
            records = int(self.found.source.frame.count())
        policy = with_choice(self.policy, records)
        if records < COUNTED_FROM or self.seed is not None or not self._by_counts(policy, opened):
            return self._coded_here(policy, records, opened, spill)
        self.there.stack.enter_context(evenly(self.found.session, records))
        self.progress("counting values", 1, STEPS)
        counted = partial(counted_values, self.found.source, records=records)
        try:
            with named_source(self.source):
                large, self.there.values = counted(opened)
        except InputError as error:

            def again(schema: Schema) -> LargeTable:
                return counted(replace(opened, schema=schema))[0]

            raise with_open_findings(error, policy, opened.schema, again) from None
        failing, _ = self._rules(policy, large)
        if failing:
            return self._coded_here(policy, records, opened, spill)
        refuse_open_findings(large, policy)
        self.there.by_counts = True
        return large

    def _coded_here(self, policy: Policy, records: int, opened: OpenedFile, spill: Path) -> LargeTable:
        """Bring records here; refuse where their codes take more memory than there may be."""
        maker, need = policy.to_anonymizer(), LEAST + HELD * records
        if isinstance(maker, Anonymizer) and records >= COUNTED_FROM and need > self.memory:
            raise PolicyError(
                f"engine: {maker.name} needs the codes of all {records:,} records on this machine here, about "
                f"{gigabytes(need)}, and {gigabytes(self.memory)} may be used; give more with --memory, or let Spark "
                "solve it by counts: strict mondrian, with no seed, people, wishes, insensitive columns or means, "
                "and no record left out"
            )
        return super().coded(opened, spill)

    @staticmethod
    def _by_counts(policy: Policy, opened: OpenedFile) -> bool:
        return not policy.wishes and counted_there(policy.to_anonymizer(), policy.to_recoding(), opened.schema)

    def _rules(self, policy: Policy, large: LargeTable) -> tuple[bool, Compiled]:
        """Tell whether the whole table breaks a model; and the models, compiled."""
        models = policy.to_models()
        compiled = compile_counted(models, large.encoded, [column.occurrences for column in large.sensitive])
        return not all(model.holds(compiled[1]).all() for model in models), compiled

    def made(self, large: LargeTable, keys: Sequence[str], spill: Path) -> Made:
        """Find the classes, and have what they publish laid out on the cluster."""
        if not self.there.by_counts:
            return super().made(large, keys, spill)
        session, maker = self.found.session, self.policy.to_anonymizer()
        assert isinstance(maker, Mondrian)
        raise_all(PolicyError, list(misfits_of(self.policy, maker, large, None)))
        _, (rules, _, values) = self._rules(self.policy, large)
        plan = Plan.of(
            large, values, rules, maker, self.policy.to_recoding(), smallest_allowed(self.policy.to_models())
        )
        self.progress("coding records", 2, STEPS)
        coded = code_records(session, self.found.source, self.there.values, plan, large.height)
        self.there.stack.callback(coded.close)
        cuts, parts = first_cuts(coded, plan, lambda done: self.progress("cutting", done, done))
        self.progress("partitioning", 3, STEPS)
        solved = solve_parts(coded, plan, cuts, parts)
        self.there.stack.callback(solved.close)
        sizes = class_sizes(solved, plan)
        losses = solved.facts.losses(plan, sizes)
        forms = plan.recoding.forms_of(large.encoded.attributes)
        report = self.report_of(large, forms, losses, (sizes.smallest, sizes.largest), (), tuple(key_notes(keys)))
        shown = shown_columns(large, solved.facts, typed=self.policy.output.format == "parquet")
        files = part_count(large.height)
        published = publish_rows(solved, shown, secrets.token_bytes(32), files, large.height)
        self.there.stack.callback(published.close)
        parts_there = _PartsThere(published, shown, self._formulas)
        return Made({TABLE: parts_there}, description_of(self.policy, large), report)

    def written(self, name: str, parts: Any, folder: Path, kinds: Mapping[str, Kind]) -> TableFacts:
        """Have the files written, here or by workers."""
        if not isinstance(parts, _PartsThere):
            return super().written(name, parts, folder, kinds)
        format = self.policy.output.format
        if not isinstance(self.writer, WorkersWrite) or parts.count == 1:
            return write_parts(parts.frames(), folder, format, single=parts.count == 1, name=name)
        return self.writer.written_there(parts, folder, format, name)


Compiled = tuple[RuleArrays, ClassStatistics, list[tuple[int, NDArray[np.int32]]]]
"""What :func:`~sfumato.models.compiled.compile_counted` returns."""


@dataclass(eq=False, repr=False)
class _OnCluster:
    """What a task keeps on the cluster, and knows of it."""

    stack: ExitStack = field(default_factory=ExitStack)
    values: Sequence[tuple[pl.Series, CodedColumn]] = ()
    by_counts: bool = False


@dataclass(eq=False, repr=False)
class _PartsThere:
    """The files of a table whose records are on the cluster; cells that begin like a formula are counted."""

    published: Published
    shown: Shown
    formulas: Formulas
    cells: dict[str, int] = field(default_factory=dict)
    escaped: bool = False

    def __post_init__(self) -> None:
        if self.formulas == "escape" and self.count > 1:
            raise PolicyError(SEVERAL_PARTS)
        self.cells = dict.fromkeys(names_like_formulas(self.shown.names), 1)

    def count_cells(self, found: Mapping[str, int]) -> None:
        """Add the cells of a file."""
        for name, count in found.items():
            self.cells[name] = self.cells.get(name, 0) + count

    @property
    def count(self) -> int:
        """How many files there are."""
        return self.published.files

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the records of each file as they are written."""
        for frame in rows_here(self.published, self.shown):
            self.count_cells(cells_like_formulas([frame], names=False))
            tables = {TABLE: frame}
            without = tables if self.formulas == "keep" else frames_without_formulas(tables, self.formulas)
            self.escaped |= without is not tables
            yield without[TABLE]


@contextmanager
def _found(source: Any, policy: Policy) -> Iterator[_Found]:
    if is_spark(source):
        yield _Found(spark_source(source), source.sparkSession, "table")
        return
    with spark_session() as session:
        found = spark_table(session, str(source), spark_layout(_settings(policy)))
        yield _Found(found, session, Path(str(source)).name)


def _opened(found: _Found, policy: Policy, seed: int | None) -> OpenedFile:
    schema = policy.to_schema()
    with named_source(Path(found.label)):
        header = checked_header(found.source.names, schema, _settings(policy)["columns"] or ())
        roles = checked_roles(header, schema)
    carried = any(name in roles.schema.insensitive for name in roles.kept)
    batches = SparkBatches(found.source, repeats=not carried, sorted=seed is not None)
    # There is no file to look at; whether the table changed is told by the number of its records.
    reading, keys = _reading(found, policy), candidates(header, schema)
    return OpenedFile(Path(found.label), tuple, batches, roles.schema, roles.kept, reading, keys)


def _settings(policy: Policy) -> dict[str, Any]:
    return vars(Reading(**policy.reading()))


def _reading(found: _Found, policy: Policy) -> ValueReading:
    settings = _settings(policy)
    strip = settings["strip"]
    everywhere, somewhere = (strip, ()) if isinstance(strip, bool) else (False, strip)
    form = WrittenForm(settings["decimal"], settings["thousands"], dates=settings["dates"])
    tokens, codes = missing_texts(settings["missing"]), policy.to_schema().quasi_identifying
    return ValueReading(tokens, everywhere, found.source.is_text, somewhere, form, True, codes)


@contextmanager
def told_of_spark() -> Iterator[None]:
    """Speak of the Spark engine where the disk engine, which it uses, is spoken of; records there have no numbers."""
    try:
        yield
    except SfumatoError as error:
        said = type(error)(*map(_of_spark, error.problems))
        said.answers = error.answers
        raise said from None


def _of_spark(problem: str) -> str:
    without_rows = re.sub(r", first in row [0-9,]+", "", problem)
    sentence = without_rows.replace("the disk engine", "the Spark engine")
    return sentence.replace("use --engine memory", "bring the records here with sfumato.read_table")
