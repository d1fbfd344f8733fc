"""A release of a table on Spark: the same records as in memory, written in parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, get_args

from sfumato.engines.spark.counting import SparkBatches
from sfumato.engines.spark.engine import SparkEngine
from sfumato.errors import PolicyError, SfumatoError, raise_all
from sfumato.policy.policy import Policy
from sfumato.progress import Progress, silent
from sfumato.release.folder import check_target
from sfumato.release.formulas import Formulas
from sfumato.release.on_disk import ReleaseOnDisk, anonymize_on_disk, not_on_disk
from sfumato.release.written_by_workers import WorkersWrite, WrittenBy
from sfumato.table.columns import ValueReading
from sfumato.table.header import checked_header
from sfumato.table.large.opening import OpenedFile, checked_roles
from sfumato.table.reading import missing_texts, named_source, read_table, reading_of, with_roles
from sfumato.table.repeated_keys import candidates
from sfumato.table.sources.spark import SparkSource, is_spark, spark_source
from sfumato.table.sources.spark_server import spark_layout, spark_session, spark_table
from sfumato.table.table import Table
from sfumato.table.written_forms import WrittenForm


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
        return anonymize_on_disk(
            _opened(found, policy, seed),
            policy,
            folder,
            memory=memory,
            seed=seed,
            threads=threads,
            formulas=formulas,
            overwrite=overwrite,
            progress=progress,
            audit=audit,
            engine=SparkEngine(found.session),
            writer=WorkersWrite(found.session) if written_by == "workers" else None,
        )


def written_by_problems(written_by: object) -> list[str]:
    """Say what is wrong with a setting of who writes the parts."""
    known = get_args(WrittenBy)
    return [] if written_by in known else [f"written_by: must be one of {', '.join(known)}"]


def table_on_spark(source: Any, policy: Policy) -> Table:
    """Bring the columns of a table on Spark that have a role into memory, as :func:`sfumato.read_table` reads a file.

    Parameters
    ----------
    source, policy
        As :func:`anonymize_on_spark` takes them.

    Raises
    ------
    SfumatoError
        As :func:`sfumato.read_table`; also when there is no server, or when it goes away.
    """
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
    return {**(read_table.__kwdefaults__ or {}), **reading_of(policy, "")}


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
        raise type(error)(*map(_of_spark, error.problems)) from None


def _of_spark(problem: str) -> str:
    without_rows = re.sub(r", first in row [0-9,]+", "", problem)
    told = without_rows.replace("the disk engine", "the Spark engine")
    return told.replace("use --engine memory", "bring the records here with sfumato.read_table")
