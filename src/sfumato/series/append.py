"""*Append*: the rows of the release before, unchanged, beside classes of newcomers alone.

Letters: n newcomers.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.anonymizers.protocol import Anonymizer
from sfumato.errors import PolicyError, UnsatisfiableError, VerificationError
from sfumato.models.says import least_class_size
from sfumato.numbers import counted
from sfumato.parallel import each, worth_starting
from sfumato.published import PublishedTable
from sfumato.randomness import another, permutation
from sfumato.recoding.publish import carried_over
from sfumato.release.description import Description, SensitiveDescription
from sfumato.release.formulas import formula_cells, formula_lines
from sfumato.release.generalizing import released, solved_task
from sfumato.release.loss_report import Report
from sfumato.release.opening import open_folder
from sfumato.release.task import Task
from sfumato.series.appended import numbered_classes
from sfumato.series.batch import Batch
from sfumato.series.next_release import Made, Work
from sfumato.series.reading import ReadRelease
from sfumato.table.distinct import as_categories
from sfumato.table.kinds import text_of
from sfumato.table.writing import Format, sha256_of

REPEATS = 10
"""How often each text of a column occurs on average, at least, where it is worth to number them."""


def append(work: Work, batch: Batch, earlier: Sequence[ReadRelease]) -> Made:
    """Make a release of everybody: the rows of the older one, and classes of the newcomers by themselves.

    Raises
    ------
    UnsatisfiableError
        When the newcomers alone cannot satisfy the models.
    """
    refuse_too_few(batch)
    how = work.how
    task = Task(batch.table, batch.policy, False, how.seed, how.threads, how.progress, batch.encoded)
    anonymizer = task.anonymizer
    assert isinstance(anonymizer, Anonymizer)
    solved = solved_task(task, anonymizer)
    release = released(solved, anonymizer)
    assert isinstance(release.published, PublishedTable)
    assert isinstance(release.report, Report)
    notes = _formula_notes(release.published) if work.format == "csv" else ()
    written = as_written(release.published.data, release.published.quasi_identifying, work.format)
    # Numbered as whoever reads the files will number them.
    shown = numbered_classes(replace(release.published, data=written))
    class_of = np.empty(len(shown), dtype=np.int64)
    class_of[solved.order] = shown
    if not earlier:
        return Made(release.published, release.description, release.report, class_of, notes=notes)
    published = replace(release.published, data=_mixed(written, written_rows(earlier[-1], work.format), work.how.seed))
    sensitive = _joined(earlier[-1].description, release.description)
    description = replace(release.description, sensitive=sensitive)
    return Made(published, description, release.report, class_of, notes=notes)


def _formula_notes(newcomers: PublishedTable) -> tuple[str, ...]:
    """Tell of cells of newcomers that a spreadsheet may run."""
    return tuple(f"{line}: kept" for line in formula_lines(formula_cells(newcomers)))


def refuse_too_few(batch: Batch) -> None:
    """Raise UnsatisfiableError when newcomers are fewer than a class needs."""
    least = least_class_size(batch.policy.to_models()) or 1
    if batch.table.height < least:
        people = counted(batch.table.height, "person")
        raise UnsatisfiableError(f"A class needs at least {least:,} people, and there are {people} to come.")


def _mixed(new: pl.DataFrame, before: pl.DataFrame, seed: int | None) -> pl.DataFrame:
    """Put the rows of the older release and those of the newcomers into one random order."""
    rows = pl.concat([before, new.select(before.columns)])
    rows = pl.DataFrame(each(_labelled, rows, worth_starting(pl.thread_pool_size(), rows.height)))
    if seed is not None:
        # Drawn from a seed, the order would show that in which people were handed in.
        rows = rows.sort(rows.columns)
    return rows[permutation(rows.height, another(seed, 1))]


def _labelled(column: pl.Series) -> pl.Series:
    """Return texts that repeat as an Enum, which is quicker to mix, to recount and to write."""
    if column.dtype != pl.String:
        return column
    (categories,) = as_categories([column])
    return carried_over(categories) if categories.n_unique() <= len(column) // REPEATS else column


def written_rows(older: ReadRelease, format: Format) -> pl.DataFrame:
    """Read a table just as it was written: every cell of CSV as its text, and every label as text.

    Raises
    ------
    VerificationError
        When it was changed.
    """
    facts = open_folder(older.path).files["data"]
    path = older.path / facts.file
    if sha256_of(path) != facts.sha256 or path.suffix != f".{format}":
        raise VerificationError(f"{older.path}: {facts.file} was changed; put back what was published")
    if format == "csv":
        return pl.read_csv(path, infer_schema=False)
    return _labels_as_text(pl.read_parquet(path), older.published.quasi_identifying)


def as_written(rows: pl.DataFrame, labels: Sequence[str], format: Format) -> pl.DataFrame:
    """Return a table as :func:`written_rows` will read it."""
    if format == "csv":
        return pl.read_csv(io.BytesIO(rows.write_csv().encode()), infer_schema=False)
    return _labels_as_text(rows, labels)


def _labels_as_text(rows: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    written = rows.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    return written.with_columns(text_of(written[name]).alias(name) for name in labels)


def _joined(older: Description, newer: Description) -> dict[str, SensitiveDescription]:
    """Put the published values of hierarchies together."""
    return {
        name: replace(entry, hierarchy=_joined_rows(older.sensitive[name].hierarchy, entry.hierarchy))
        for name, entry in newer.sensitive.items()
    }


def _joined_rows(older: Mapping[str, Any] | None, newer: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if older is None or newer is None:
        return older or newer
    rows = {row[0]: row for row in (*older["rows"], *newer["rows"])}
    if len({len(row) for row in rows.values()}) > 1:
        raise PolicyError(
            "the hierarchy of a sensitive column has other levels for the values of the newcomers than for those "
            "before; a series needs one that lists all values"
        )
    return {**newer, "rows": [rows[leaf] for leaf in sorted(rows)]}
