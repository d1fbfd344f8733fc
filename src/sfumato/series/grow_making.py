"""*Grow*: the next release of a growing series, whose classes take newcomers in and are cut again.

Letters: n people, c classes.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Anonymizer
from sfumato.classes.partition import Form, Partition
from sfumato.errors import InputError, UnsatisfiableError, VerificationError
from sfumato.hierarchy import Hierarchy
from sfumato.numbers import counted
from sfumato.published import PublishedTable
from sfumato.randomness import permutation
from sfumato.recoding.recode import recode
from sfumato.release.anonymize import SolvedTask, released
from sfumato.release.formulas import formula_cells, formula_lines
from sfumato.release.reports import Report
from sfumato.release.task import Task
from sfumato.series.append_making import refuse_too_few
from sfumato.series.append_recount import numbered_classes
from sfumato.series.batch import TAG, Batch, records_as_text
from sfumato.series.description import ARRIVED, Covers
from sfumato.series.grow_moves import CutTree, GrownClasses, Roster, grow, nearest_left
from sfumato.series.grow_recount import came_with, classes_by_release
from sfumato.series.labels import (
    EXACT,
    Labelled,
    LabelReader,
    arrival_labels,
    comparable,
    covered_labels,
    kinds_of,
    nodes_under,
    values_of,
)
from sfumato.series.ledger import Frozen
from sfumato.series.next_release import Made, Work
from sfumato.series.people import PeopleOfRelease
from sfumato.series.reading import ReadRelease, rows_as_written
from sfumato.series.recount import Followed, Released, SensitiveValues, follow_all, join_releases
from sfumato.table.encoding import EncodedAttribute, EncodedTable, encode
from sfumato.table.reading import read_table
from sfumato.table.row_order import canonical_order
from sfumato.table.schema import Kind, text_of
from sfumato.table.table import Table
from sfumato.table.writing import Format

# What the ledger keeps for the next release of a growing series: the records of everybody, and how they were cut.
#
# Plain arrays in one file, without anything that runs when it is read; a later format is refused.


Numbers = NDArray[np.int64]

FORMAT = 1
_DAMAGED = "the ledger is damaged: what it keeps of the growing classes cannot be read; put a copy of it back"


@dataclass(frozen=True, eq=False, repr=False)
class GrowingState:
    """How a growing series stands after a release. Letters: n people, c classes, t nodes."""

    records: pl.DataFrame  # everybody who is published, with their tags
    tree: CutTree  # how they were cut
    node_of: Numbers  # int64 (c,): the node where each class stands; classes are numbered as the recipient numbers them
    # for each quasi-identifying attribute the texts of its codes, in the order of the tree
    codes: Mapping[str, Sequence[str]]

    def content(self) -> bytes:
        """Return the content of a file."""
        records, file = io.BytesIO(), io.BytesIO()
        self.records.write_parquet(records)
        content = json.dumps({"format": FORMAT, "codes": {name: list(texts) for name, texts in self.codes.items()}})
        np.savez(
            file,
            said=np.frombuffer(content.encode(), dtype=np.uint8),
            records=np.frombuffer(records.getvalue(), dtype=np.uint8),
            attribute=self.tree.attribute,
            left=self.tree.left,
            right_child=self.tree.right_child,
            node_of=self.node_of,
        )
        return file.getvalue()

    @classmethod
    def read(cls, content: bytes) -> GrowingState:
        """Read the content of a file. Raises ``VerificationError`` when it is damaged or of a later format."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                said: dict[str, Any] = json.loads(file["said"].tobytes())
                if said["format"] != FORMAT:
                    raise VerificationError("the ledger keeps growing classes in a later format; use a newer sfumato")
                tree = CutTree(file["attribute"], file["left"], file["right_child"])
                records = pl.read_parquet(io.BytesIO(file["records"].tobytes()))
                found = cls(records, tree, file["node_of"], said["codes"])
            found._check()
        except (KeyError, TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile, pl.exceptions.PolarsError):
            raise VerificationError(_DAMAGED) from None
        return found

    def _check(self) -> None:
        """Raise ValueError where arrays do not fit each other."""
        nodes, places = len(self.tree.attribute), np.arange(len(self.tree.attribute))
        inner, right = self.tree.attribute >= 0, self.tree.right_child
        fits = (
            self.tree.attribute.shape == right.shape == (nodes,)
            and self.tree.left.ndim == 2
            and len(self.tree.left) == nodes
            and self.tree.attribute.max(initial=-1) < len(self.codes)
            and bool((np.where(inner, (right > places + 1) & (right < nodes), right == -1)).all())
            and bool(((self.node_of >= 0) & (self.node_of < nodes)).all())
            and all(len(texts) < self.tree.left.shape[1] for texts in self.codes.values())
        )
        if not fits:
            raise ValueError

    def tree_for(self, attributes: Sequence[EncodedAttribute]) -> CutTree:
        """Return the tree for codes with new values: beside the nearest known number, and to the right otherwise."""
        width = 1 + max((attribute.size for attribute in attributes), default=0)
        left = np.zeros((len(self.tree.attribute), width), dtype=np.bool_)
        for index, attribute in enumerate(attributes):
            nodes = np.flatnonzero(self.tree.attribute == index)
            texts = list(self.codes[attribute.name])
            code_of = {text: code for code, text in enumerate(attribute.labels.to_list())}
            now = np.array([code_of[text] for text in texts], dtype=np.int64)
            for node in nodes.tolist():
                old = self.tree.left[node, : len(texts)]
                if attribute.is_numeric:
                    left[node] = nearest_left(now[old], now[~old], width)
                else:
                    left[node, now[old]] = True
                left[node, attribute.size] = self.tree.left[node, len(texts)]
        return CutTree(self.tree.attribute, left, self.tree.right_child)


def codes_of(attributes: Sequence[EncodedAttribute]) -> dict[str, list[str]]:
    """Return the texts of the codes of each attribute."""
    return {attribute.name: attribute.labels.to_list() for attribute in attributes}


_DIFFER = "the releases and the ledger do not say the same of everybody; nothing was published"


@dataclass(frozen=True, eq=False, repr=False)
class _Everybody:
    """All people: those of the releases before, and after them those who come."""

    table: Table
    encoded: EncodedTable
    tags: pl.Series
    frozen: Frozen  # with the grids that everybody's values ask for

    @classmethod
    def of(cls, batch: Batch, state: GrowingState | None) -> _Everybody:
        table, tags = batch.table, batch.tags
        if state is not None:
            frame, schema = records_as_text(table), replace(batch.policy.to_schema(), identifying=())
            table = read_table(pl.concat([state.records.select(frame.columns), frame]), schema)
            tags = pl.concat([state.records[TAG].alias(tags.name), tags])
        encoded = batch.frozen.on_grids(encode(table))
        return cls(table, encoded, tags, batch.frozen.with_grids(encoded))

    def records(self) -> pl.DataFrame:
        return records_as_text(self.table).with_columns(self.tags.alias(TAG))


def grow_release(work: Work, batch: Batch, earlier: Sequence[ReadRelease]) -> Made:
    """Make a release of everybody, whose classes took newcomers in; see :func:`~sfumato.series.grow_moves.grow`."""
    _refuse_huge(batch)
    refuse_too_few(batch)
    state = GrowingState.read(work.kept) if work.kept is not None else None
    if (state is None) != (not earlier):
        raise VerificationError("the ledger does not keep what the next release is made of; put a copy of it back")
    everybody = _Everybody.of(batch, state)
    task = Task(
        everybody.table, batch.policy, False, work.how.seed, work.how.threads, work.how.progress, everybody.encoded
    )
    work.how.progress("growing", 2, 6)
    grown = _grown(task, everybody, [Labelled.read(each) for each in earlier], work.people, state)
    made = _made(work, batch, everybody, grown, _solved(task, everybody, grown))
    shown = [*(Labelled.read(each).labels for each in earlier), Labelled.of(made.published).labels]
    return replace(made, covers=_covers(_trees(task, everybody.encoded), shown))


def _refuse_huge(batch: Batch) -> None:
    """Refuse numbers that no label may show, although a label that hides all of them could be published."""
    attributes = batch.encoded.attributes
    forms = batch.policy.to_recoding().forms_of(attributes)
    wrong = [
        each.name
        for each, form in zip(attributes, forms, strict=True)
        if _kind(each, form) is not Kind.CATEGORICAL
        and each.numbers is not None
        and np.abs(each.numbers).max(initial=0.0) >= EXACT
    ]
    if wrong:
        raise InputError(
            f"column(s) {', '.join(map(repr, wrong))}: newcomers have numbers of 2^53 or more. A series whose "
            "classes grow cannot be recounted with them; nothing was published. Take these records out, or start "
            "another series, with such a column as categories or with append"
        )


def _grown(
    task: Task,
    everybody: _Everybody,
    earlier: Sequence[Labelled],
    people: Sequence[PeopleOfRelease],
    state: GrowingState | None,
) -> GrownClasses:
    """Decide about the classes, which publish what `task` says."""
    encoded, recoding = everybody.encoded, task.recoding
    forms = recoding.forms_of(encoded.attributes)
    kinds = {each.name: _kind(each, form) for each, form in zip(encoded.attributes, forms, strict=True)}
    known = {attribute.name: attribute.labels for attribute in encoded.attributes}
    trees = {name: nodes_under(tree) for name, tree in _trees(task, encoded).items()}
    alike = [replace(each, labels=each.labels.select(list(kinds))) for each in earlier]
    reader = LabelReader.of(kinds, [each.labels for each in alike], known, trees)
    value_of, values, releases = _values(everybody, alike, reader, task.policy.output.format)
    classes = classes_by_release(people, everybody.tags)

    def labels(class_of: NDArray[np.int32]) -> pl.DataFrame:
        shown = recode(encoded, Partition(class_of, int(class_of.max(initial=-1)) + 1), recoding)
        return pl.DataFrame({each.attribute.name: each.labels[each.per_class] for each in shown.columns})

    nobody = np.full(encoded.height, -1, dtype=np.int64)
    last, history_of = None, nobody
    if state is not None:
        now = _followed(everybody, releases, classes)
        tree, history_of = state.tree_for(encoded.attributes), now.history_of
        last = GrownClasses(
            classes[:, -1], len(state.node_of), nobody, releases[-1].boxes, tree, state.node_of, history_of, now.left
        )
    roster = Roster(encoded, value_of, values, classes, came_with(classes), history_of)
    found = grow(
        roster, task.models, releases, last, labels=lambda class_of, _: reader.boxes(labels(class_of.astype(np.int32))),
        exact_months=not _published_beside(everybody.table),
    )  # fmt: skip
    if (found.class_of < 0).any():
        waiting = counted(int((found.class_of < 0).sum()), "person")
        raise UnsatisfiableError(f"The newcomers, {waiting}, do not satisfy the models as a class of their own.")
    _check_readable(
        kinds, [labelled.drop(trees) for labelled in (*(each.labels for each in alike), labels(found.class_of))]
    )
    return found


def _followed(everybody: _Everybody, releases: Sequence[Released], classes: NDArray[np.int32]) -> Followed:
    """Follow everybody to the last release."""
    # Where rows publish nothing beside their class, a history leaves the rows of the step that leaves fewest, and every
    # step was recounted before it was published: what the last release leaves is enough to go on from.
    if not _published_beside(everybody.table):
        last = classes[:, -1]
        return Followed(last.astype(np.int64), last, releases[-1].places)
    return follow_all(releases, classes, as_they_went=join_releases(releases))


def _trees(task: Task, encoded: EncodedTable) -> dict[str, Hierarchy]:
    """Return the hierarchies of the columns that publish nodes."""
    forms = task.recoding.forms_of(encoded.attributes)
    return {
        each.name: each.hierarchy
        for each, form in zip(encoded.attributes, forms, strict=True)
        if each.hierarchy is not None and form is Form.ANCESTOR
    }


def _covers(trees: Mapping[str, Hierarchy], releases: Sequence[pl.DataFrame]) -> Covers:
    """Return which published labels lie under each other one, as recipients need it."""
    return {
        name: covered_labels(tree, pl.concat([each[name].drop_nulls() for each in releases]).unique().to_list())
        for name, tree in trees.items()
    }


def _kind(attribute: EncodedAttribute, form: Form) -> Kind:
    return attribute.kind if form is Form.INTERVAL else Kind.CATEGORICAL


def _check_readable(kinds: dict[str, Kind], labels: Sequence[pl.DataFrame]) -> None:
    """Refuse categories that a recipient would take for intervals."""
    seen = kinds_of(labels)
    wrong = [name for name, kind in seen.items() if kind not in (Kind.CATEGORICAL, kinds[name])]
    if wrong:
        raise VerificationError(
            f"column(s) {', '.join(map(repr, wrong))}: have categories that look like intervals, so that no recipient "
            "can recount them; write these values otherwise"
        )


def _values(
    everybody: _Everybody, earlier: Sequence[Labelled], reader: LabelReader, format: Format
) -> tuple[NDArray[np.int64], SensitiveValues, list[Released]]:
    """Give numbers to all that people publish beside their class, and read the releases with these numbers."""
    table, encoded = everybody.table, everybody.encoded
    names = _published_beside(table)
    rows = rows_as_written(table.frame.select(names), format, ()) if names else pl.DataFrame(height=table.height)
    own = rows.with_columns(text_of(column).alias(column.name) for column in rows)
    value_of, *theirs = values_of([own, *(each.others for each in earlier)])
    count = int(value_of.max(initial=-1)) + 1
    if any((each >= count).any() for each in theirs):
        raise VerificationError(_DIFFER)
    codes = np.zeros((count, len(encoded.sensitive)), dtype=np.int64)
    codes[value_of] = encoded.sensitive_codes
    return value_of, SensitiveValues(encoded.sensitive, codes), comparable(earlier, reader, theirs)


def _published_beside(table: Table) -> list[str]:
    """Return the columns that rows publish beside their class."""
    return [name for name in table.frame.columns if name not in table.schema.quasi_identifying]


def _solved(task: Task, everybody: _Everybody, grown: GrownClasses) -> SolvedTask:
    """Return the classes as an algorithm would have found them, and the order in which rows are published."""
    encoded = everybody.encoded
    partition = Partition(grown.class_of.astype(np.int32), grown.count)
    order = canonical_order(encoded, everybody.table)[permutation(encoded.height, task.seed)]
    return SolvedTask(task, task.problem(encoded), partition, recode(encoded, partition, task.recoding), order)


def _made(work: Work, batch: Batch, everybody: _Everybody, grown: GrownClasses, solved: SolvedTask) -> Made:
    anonymizer = cast("Anonymizer", solved.task.anonymizer)
    release = released(solved, anonymizer)
    assert isinstance(release.published, PublishedTable)
    assert isinstance(release.report, Report)
    notes = tuple(f"{line}: kept" for line in formula_lines(formula_cells(release.published)))
    published = _with_arrivals(release.published, grown, solved.order)
    written = rows_as_written(published.data, work.format, published.quasi_identifying)
    class_of = np.empty(grown.count, dtype=np.int64)
    shown = numbered_classes(replace(published, data=written))
    class_of[grown.class_of[solved.order]] = shown
    if len(np.unique(class_of)) != int(shown.max()) + 1 or not np.array_equal(
        class_of[grown.class_of[solved.order]], shown
    ):
        raise VerificationError(_DIFFER)
    node_of = np.empty(grown.count, dtype=np.int64)
    node_of[class_of] = grown.node_of
    state = GrowingState(everybody.records(), grown.tree, node_of, codes_of(everybody.encoded.attributes))
    of_people = class_of[grown.class_of]
    return Made(
        published,
        replace(release.description, structure=published.structure),
        release.report,
        of_people[everybody.encoded.height - batch.table.height :],
        state.content(),
        notes if work.format == "csv" else (),
        PeopleOfRelease.of(everybody.tags, of_people),
        everybody.frozen,
    )


def _with_arrivals(published: PublishedTable, grown: GrownClasses, order: NDArray[np.integer]) -> PublishedTable:
    """Add the column that says with which releases the people of each class came."""
    labels = arrival_labels(grown.boxes.low[:, -1], grown.boxes.high[:, -1])
    data = published.data.with_columns(labels[grown.class_of[order]].alias(ARRIVED))
    return replace(published, data=data, quasi_identifying=(*published.quasi_identifying, ARRIVED))
