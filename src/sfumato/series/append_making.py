"""*Append* and *withdrawal*: older rows unchanged beside classes of newcomers, or without those of people who left.

Letters: n newcomers.

A class without one of its rows would show that row to whoever has the release before. So a class goes as a whole, with
every row that publishes the same label: the release then says no more than the one before, and which labels are gone.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.anonymizers.protocol import Anonymizer
from sfumato.errors import InputError, PolicyError, UnsatisfiableError, raise_all
from sfumato.models.protocol import least_class_size, smallest_allowed
from sfumato.numbers import counted, percent
from sfumato.policy.policy import Policy
from sfumato.published import PublishedTable
from sfumato.published.checks.recount import recount
from sfumato.randomness import another, permutation, seed_problems
from sfumato.release.anonymize import released, solved_task
from sfumato.release.description import Description, SensitiveDescription, build_model
from sfumato.release.formulas import formula_cells, formula_lines
from sfumato.release.reports import Report
from sfumato.release.task import Task, meant_by
from sfumato.series.append_recount import (
    appended_labels,
    gone_before,
    labels_of_tags,
    members_of,
    numbered_classes,
    order_of_content,
)
from sfumato.series.batch import TAG, Batch, key_read
from sfumato.series.description import APPEND, GROW, WITHDRAWAL, SeriesFolder
from sfumato.series.ledger import Ledger, LedgerEntry, PrivateFile, State, Waiting, ledger_kept
from sfumato.series.next_release import (
    Made,
    Running,
    Work,
    first_of,
    losses_of_classes,
    promised_class_sizes,
    put_among,
    series_content,
)
from sfumato.series.people import PeopleOfRelease
from sfumato.series.private_files import ledger_lock
from sfumato.series.reading import ReadRelease, byte_rows
from sfumato.series.step import Step, write_next
from sfumato.table.columns import ValueReading
from sfumato.table.person_keys import key_columns, named_key
from sfumato.table.reading import label_of
from sfumato.table.sources import open_source
from sfumato.table.sources.protocol import missing_texts
from sfumato.table.writing import Format

if TYPE_CHECKING:
    from sfumato.series.series import Series


def append(work: Work, batch: Batch, earlier: Sequence[ReadRelease]) -> Made:
    """Make a release of everybody: the rows of the older one, and classes of the newcomers by themselves.

    Raises ``UnsatisfiableError`` when the newcomers alone cannot satisfy the models.
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
    people_in_order = None if people is None else people[order_of_content(carried.newcomers.data)]
    # Numbered as whoever reads the files will number them.
    shown = numbered_classes(carried.newcomers)
    class_of = np.empty(len(shown), dtype=np.int64)
    class_of[order] = shown
    if older is not None:
        carried = put_among(older, content, carried, work.kept, another(how.seed, 2))
        description = replace(description, sensitive=_joined(older.description, description))
    kept = carried.counted.content(carried.sha256)
    return Made(
        carried.newcomers,
        description,
        release.report,
        class_of,
        kept,
        notes,
        carried=carried,
        pseudonyms=people_in_order,
    )


def written_rows(older: ReadRelease, format: Format) -> pl.DataFrame:
    """Read a table just as it was written, cells and labels as text; ``VerificationError`` when it was changed."""
    return byte_rows(series_content(older, format), format, older.published.quasi_identifying)


def _rules_met(batch: Batch) -> tuple[Policy, tuple[str, ...]]:
    """Return the policy without the rules of wishes that are about nobody of a batch, and a note on each of them."""
    # In a first release such a rule is refused, as it may be misspelt; in a later one nobody may have come.
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


_ELSEWHERE = {
    GROW: (
        "the recount of BCF-anonymity takes every older row to be in every newer release. Older classes reach into "
        "several newer ones. What rows that vanish leave to the others is not counted. Start a series of m-invariance, "
        "or append, for people who are in none of these releases"
    ),
    "m-invariance": "there a withdrawal is an ordinary leaving: leave these people out of the table that you republish",
}


@dataclass(frozen=True, eq=False, repr=False)
class _Leaving:
    """Who leaves, and which labels are gone: tags of those who withdrew, of them and all others, and the labels."""

    withdrew: pl.Series
    left: pl.Series
    labels: pl.DataFrame


def withdraw(series: Series, people: object, *, most_lost: float, how: Running, key_form: str | None = None) -> Step:
    """Take people out of the series; see :meth:`sfumato.Series.withdraw`."""
    raise_all(PolicyError, [*seed_problems(how.seed), *_share_problems(most_lost)])
    ledger_kept(series)
    with ledger_lock(series.ledger) as note:
        kept = ledger_kept(series).recovered(series.folder)
        if kept.way != APPEND:
            raise PolicyError(f"{series.folder}: is a series of the way {kept.way!r}; {_ELSEWHERE[kept.way]}")
        folder = SeriesFolder.open(series.folder)
        step = _step(folder, kept, _tags(people, kept, key_form), most_lost, how)
    return step if note is None else replace(step, notes=(note, *step.notes))


def _share_problems(most_lost: float) -> list[str]:
    return [] if 0 <= most_lost <= 1 else ["most lost: must be a share of the rows, from 0 to 1"]


def _tags(people: object, ledger: Ledger, key_form: str | None) -> pl.Series:
    """Read the keys of people: a list of them, of tuples where several columns make one, or a table with them."""
    names, policy = key_columns(ledger.column), ledger.policy
    if isinstance(people, (list, tuple, set, frozenset)):
        keys = [(each,) if len(names) == 1 else each for each in people]
        if not all(isinstance(key, (list, tuple)) and len(key) == len(names) for key in keys):
            raise InputError(f"people: give for each the values of {named_key(ledger.column)}, as a tuple")
        parts = zip(names, zip(*keys, strict=True), strict=True) if keys else ((name, ()) for name in names)
        people = pl.DataFrame([pl.Series(name, list(map(str, part)), dtype=pl.String) for name, part in parts])
    policy = policy.beside(people)
    label, layout = label_of(people, policy.source.table), policy.source.layout()
    opened = open_source(people, layout, policy.source.place())
    if lacking := [name for name in names if name not in opened.names]:
        raise InputError(f"{label}: has no {named_key(tuple(lacking))}, which says who withdraws")
    reading = ValueReading(missing_texts(policy.source.missing), layout.strip, opened.is_text)
    found = key_read(opened, ledger.column, reading)
    if found.null_count() or not len(found):
        raise InputError(
            f"{label}: {counted(found.null_count(), 'record')} without a key; name everybody who withdraws"
        )
    tags, _ = ledger.tags(found, key_form)
    return tags.unique(maintain_order=True)


def _step(series: SeriesFolder, ledger: Ledger, tags: pl.Series, most_lost: float, how: Running) -> Step:
    earlier, people = [ReadRelease.of(path) for path in series.releases], ledger.people()
    for each in earlier:
        each.refuse_if_changed()
    waiting = ledger.waiting()
    waits = tags.is_in(waiting[TAG].implode()) if waiting is not None else pl.Series([False] * len(tags))
    _refuse_unknown(tags.filter(~waits), earlier, people)
    state = replace(ledger.state, waiting=_still_waiting(ledger, waiting, tags))
    still = 0 if state.waiting is None else state.waiting.people
    if ledger.key_rule is not None and waits.any():
        # They are in no release, and may come back.
        state = replace(state, keys=ledger.with_spellings(ledger.spellings().without(tags.filter(waits))))
    told = [f"{counted(int(waits.sum()), 'person')} of those who waited will not come"] if waits.any() else []
    inside = tags.filter(~waits)
    if not len(inside):
        replace(ledger, state=state).write().clean()
        return Step(None, None, 0, 0, still, "Nobody who withdrew is in a release.", notes=tuple(told))
    labels = labels_of_tags(inside, earlier, people)
    leaving = _Leaving(inside, members_of(labels, earlier, people), labels)
    made = _made(ledger, earlier[-1], leaving, most_lost, how)
    place, _ = write_next(
        series, ledger, made, WITHDRAWAL, earlier, lambda release: _next_state(ledger, state, made, release)
    )
    told.insert(
        0,
        f"{counted(len(inside), 'person')} withdrew; everybody of the same "
        f"{counted(labels.height, 'class')} left with them, {counted(len(leaving.left), 'person')} in all, and cannot "
        "come back into this series",
    )
    return Step(place.number, series.release(place.number), 0, 0, still, notes=tuple(told), left=len(leaving.left))


def _refuse_unknown(tags: pl.Series, earlier: Sequence[ReadRelease], people: Sequence[PeopleOfRelease]) -> None:
    """Raise InputError when somebody is not in the series, or has left it."""
    known = pl.concat([each.tags for each in people]) if people else pl.Series("tag", [], dtype=pl.Binary)
    unknown = int((~tags.is_in(known.implode())).sum())
    again = int(tags.is_in(gone_before(earlier, people).implode()).sum())
    sentences = (
        (unknown, "not in any release; check the keys"),
        (again, "not there any more; take them out of the list"),
    )
    raise_all(
        InputError,
        [
            f"{counted(number, 'person')} of {len(tags):,} {'is' if number == 1 else 'are'} {what}"
            for number, what in sentences
            if number
        ],
    )


def _still_waiting(ledger: Ledger, waiting: pl.DataFrame | None, tags: pl.Series) -> Waiting | None:
    if waiting is None:
        return None
    others = waiting.filter(~waiting[TAG].is_in(tags.implode()))
    if others.height == waiting.height:
        return ledger.state.waiting
    if not others.height:
        return None
    buffer = io.BytesIO()
    others.write_parquet(buffer)
    return Waiting(others[TAG].n_unique(), PrivateFile.write(ledger.files, "waiting", buffer.getvalue()))


def _made(ledger: Ledger, older: ReadRelease, leaving: _Leaving, most_lost: float, how: Running) -> Made:
    rows = _without(older, leaving.labels, ledger.policy.output.format)
    before = older.published.data.height
    lost = before - rows.height
    if not rows.height:
        raise UnsatisfiableError("nobody would be left in the release; stop publishing the series, and say so")
    if lost > most_lost * before:
        raise UnsatisfiableError(
            f"{lost:,} of {before:,} rows would go ({percent(lost / before, 2)}), more than the "
            f"{percent(most_lost, 2)} that are allowed. Everybody whose class publishes the same goes with a person "
            "who withdraws. Allow more (--most-lost), or end this series and start one of m-invariance, where a "
            "withdrawal costs a counterfeit"
        )
    if how.seed is not None:
        rows = rows.sort(rows.columns)
    published = replace(older.published, data=rows[permutation(rows.height, how.seed)])
    people = PeopleOfRelease.of(leaving.left, np.zeros(len(leaving.left), dtype=np.int64))
    report = _report(ledger, older, published)
    return Made(published, older.description, report, np.zeros(0, dtype=np.int64), people=people)


def _without(older: ReadRelease, labels: pl.DataFrame, format: Format) -> pl.DataFrame:
    shown = pl.DataFrame(appended_labels(older.published)).cast(pl.String)
    stays = shown.join(
        labels.with_columns(pl.lit(True).alias(" gone")),
        on=labels.columns,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )[" gone"].is_null()
    return written_rows(older, format).filter(stays)


def _report(ledger: Ledger, older: ReadRelease, published: PublishedTable) -> Report:
    """Return what can be counted of those who stay."""
    models = [model for entry in older.description.models if (model := build_model(entry)) is not None]
    found = recount(published, models, older.description.attributes(), older.description.attested)
    sizes = promised_class_sizes(published)
    return Report(
        anonymizer=repr(ledger.policy.to_anonymizer()),
        original=found.records,
        published=found.records,
        suppressed=0,
        suppression_limit=ledger.policy.suppression_limit,
        classes=found.classes,
        smallest_class=int(sizes.min()),
        largest_class=int(sizes.max()),
        losses=losses_of_classes(sizes, smallest_allowed(models)),
        verification=found,
        purpose=ledger.policy.purpose,
        recipient=ledger.policy.recipient,
        counts="records" if older.description.people is None else "people",
    )


def _next_state(ledger: Ledger, state: State, made: Made, release: str) -> State:
    assert made.people is not None
    file = PrivateFile.write(ledger.files, "people", made.people.content())
    entry = LedgerEntry(release, WITHDRAWAL, len(made.people.tags), 0, 0.0, file)
    # What the maker of the last release left is of another table.
    return replace(state, entries=(*state.entries, entry), kept=None)
