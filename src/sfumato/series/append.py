"""*Append*: the rows of the release before, unchanged, beside classes of newcomers alone.

Letters: n newcomers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.anonymizers.protocol import Anonymizer
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.models.says import least_class_size
from sfumato.numbers import counted
from sfumato.policy.policy import Policy
from sfumato.published import PublishedTable
from sfumato.randomness import another, permutation
from sfumato.release.description import Description, SensitiveDescription
from sfumato.release.formulas import formula_cells, formula_lines
from sfumato.release.generalizing import released, solved_task
from sfumato.release.loss_report import Report
from sfumato.release.task import Task, meant_by
from sfumato.series.appended import numbered_classes, order_of_content
from sfumato.series.batch import Batch
from sfumato.series.carried import first_of, put_among, series_content
from sfumato.series.next_release import Made, Work
from sfumato.series.reading import ReadRelease
from sfumato.series.table_bytes import byte_rows
from sfumato.table.writing import Format


def append(work: Work, batch: Batch, earlier: Sequence[ReadRelease]) -> Made:
    """Make a release of everybody: the rows of the older one, and classes of the newcomers by themselves.

    Raises
    ------
    UnsatisfiableError
        When the newcomers alone cannot satisfy the models.
    """
    refuse_too_few(batch)
    how, older = work.how, earlier[-1] if earlier else None
    # Hashed at once: a release that was changed stops the work before it begins.
    content = b"" if older is None else series_content(older, work.format)
    policy, idle = (batch.policy, ()) if older is None else _rules_met(batch)
    task = Task(batch.table, policy, False, how.seed, how.threads, how.progress, batch.encoded)
    anonymizer = task.anonymizer
    assert isinstance(anonymizer, Anonymizer)
    solved = solved_task(task, anonymizer)
    release = released(solved, anonymizer)
    assert isinstance(release.published, PublishedTable)
    assert isinstance(release.report, Report)
    notes = (*idle, *(_formula_notes(release.published) if work.format == "csv" else ()))
    rows, order, description = release.published.data, solved.order, release.description
    people = None if release.audit is None else release.audit.pseudonyms
    if older is not None:
        rows = rows.select(older.opened.files["data"].columns)
        if how.seed is not None:
            # Drawn from a seed, the order would show that in which people were handed in.
            sorted_rows = rows.select(pl.arg_sort_by(rows.columns)).to_series().to_numpy()
            places = sorted_rows[permutation(rows.height, another(how.seed, 1))]
            rows, order = rows[places], order[places]
            people = None if people is None else people[places]
    carried = first_of(rows, release.published, work.format, people)
    # As the ledger keeps it, nothing is told by the order in which rows are written.
    told = None if people is None else people[order_of_content(carried.newcomers.data)]
    # Numbered as whoever reads the files will number them.
    shown = numbered_classes(carried.newcomers)
    class_of = np.empty(len(shown), dtype=np.int64)
    class_of[order] = shown
    if older is not None:
        carried = put_among(older, content, carried, work.kept, another(how.seed, 2))
        description = replace(description, sensitive=_joined(older.description, description))
    kept = carried.counted.content(carried.sha256)
    return Made(carried.newcomers, description, release.report, class_of, kept, notes, carried=carried, pseudonyms=told)


def written_rows(older: ReadRelease, format: Format) -> pl.DataFrame:
    """Read a table just as it was written: every cell of CSV as its text, and every label as text.

    Raises
    ------
    VerificationError
        When it was changed.
    """
    return byte_rows(series_content(older, format), format, older.published.quasi_identifying)


def _rules_met(batch: Batch) -> tuple[Policy, tuple[str, ...]]:
    """Return the policy without the rules of wishes that are about nobody of a batch, and a note on each of them.

    In a first release such a rule is refused, as it may be misspelt; in a later one nobody may have come.
    """
    names = batch.table.frame.columns
    idle = [wish for wish in batch.policy.wishes if wish.column in names and not meant_by(wish, batch.table).any()]
    kept = tuple(wish for wish in batch.policy.wishes if wish not in idle)
    notes = (f"wishes: nobody who came has the value of column {wish.column!r} that a rule is about" for wish in idle)
    return batch.policy.model_copy(update={"wishes": kept}), tuple(notes)


def _formula_notes(newcomers: PublishedTable) -> tuple[str, ...]:
    """Tell of cells of newcomers that a spreadsheet may run."""
    return tuple(f"{line}: kept" for line in formula_lines(formula_cells(newcomers)))


def refuse_too_few(batch: Batch) -> None:
    """Raise UnsatisfiableError when newcomers are fewer than a class needs."""
    least = least_class_size(batch.policy.to_models()) or 1
    if batch.people < least:
        people = counted(batch.people, "person")
        raise UnsatisfiableError(f"A class needs at least {least:,} people, and there are {people} to come.")


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
