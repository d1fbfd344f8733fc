"""The next release of a series: what its maker is given, the rows that are moved unread, and how it is written.

What was counted of the release before is kept in the ledger, and added to what is counted of the newcomers. So a
release costs what its newcomers cost, and the time of moving bytes.

Letters: n rows of the release.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError
from sfumato.metrics import Losses
from sfumato.models.protocol import Check, Outcome, limits_of_values, smallest_allowed
from sfumato.progress import Progress, silent
from sfumato.published import PublishedTable
from sfumato.published.checks.generalized import Verification, group_rows
from sfumato.published.checks.people import limits_of_people
from sfumato.published.checks.recount import recount
from sfumato.published.protocol import roles_of
from sfumato.randomness import permutation
from sfumato.registry import loaded
from sfumato.release.description import Description, TableFacts, build_model, described_models
from sfumato.release.reports import Report
from sfumato.release.table_files import read_table_file, write_tables, write_texts
from sfumato.release.verify import judge_description
from sfumato.series.append_recount import appended_labels, newcomer_checks, rows_kept
from sfumato.series.batch import Batch
from sfumato.series.description import KEY, WAYS, Covers, SeriesPlace
from sfumato.series.ledger import Frozen
from sfumato.series.people import PeopleOfRelease
from sfumato.series.reading import ReadRelease, byte_rows, bytes_of, changed_words, holds_both, mixed
from sfumato.table.distinct import as_categories
from sfumato.table.writing import Format
from sfumato.whole_files import read_regular

# The different rows of a published table, and how often each stands in it: all that a recount of classes asks for.
#
# Sums over two tables are those of both together, so that what was counted once is not counted again.
#
# Letters: n rows of the table, d different ones.


FORMAT = "1"
_TIMES = " times"
"""No column of a table has such a name."""


@dataclass(frozen=True, eq=False, repr=False)
class RecountedRows:
    """Rows of a published table without its insensitive columns, each once."""

    rows: pl.DataFrame  # (d, columns); labels as text
    times: NDArray[np.int64]  # (d,): how often each stands in the table

    @classmethod
    def of(cls, published: PublishedTable) -> RecountedRows:
        """Count the rows of a table whose labels are text. Cost O(n)."""
        rows = published.data.select(*published.quasi_identifying, *published.sensitive, *published.promises.values())
        return cls._summed(rows.with_columns(pl.lit(1, dtype=pl.Int64).alias(_TIMES)))

    @classmethod
    def _summed(cls, rows: pl.DataFrame) -> RecountedRows:
        found = rows.group_by(pl.exclude(_TIMES)).agg(pl.col(_TIMES).sum())
        return cls(found.drop(_TIMES), found[_TIMES].to_numpy())

    def __add__(self, other: RecountedRows) -> RecountedRows:
        """Return the counts of two tables together. Cost O(d)."""
        columns = self.rows.columns
        frames = [each._frame().select(*columns, _TIMES) for each in (self, other)]
        return self._summed(pl.concat(frames, how="vertical_relaxed"))

    @cached_property
    def _coded(self) -> pl.DataFrame:
        """The rows with texts as categories, which every count begins with."""
        texts = [column for column in self.rows if column.dtype == pl.String]
        return self.rows.with_columns(as_categories(texts))

    def _frame(self) -> pl.DataFrame:
        return self.rows.with_columns(pl.Series(_TIMES, self.times, dtype=pl.Int64))

    def content(self, sha256: str) -> bytes:
        """Return the content of a file of the ledger; `sha256` is that of the table that was counted."""
        buffer = io.BytesIO()
        self._frame().write_parquet(buffer, metadata=_described(sha256))
        return buffer.getvalue()

    @classmethod
    def read(cls, content: bytes, sha256: str) -> RecountedRows | None:
        """Read the content of a file; None where it is another one, tells of another table, or is of another version.

        The ledger knows the hash of the file, so that damage is found before.
        """
        with suppress(OSError, pl.exceptions.PolarsError):
            metadata = pl.read_parquet_metadata(io.BytesIO(content))
            if all(metadata.get(name) == value for name, value in _described(sha256).items()):
                found = pl.read_parquet(io.BytesIO(content))
                return cls(found.drop(_TIMES), found[_TIMES].to_numpy())
        return None

    def recounted(self, published: PublishedTable, description: Description) -> Verification:
        """Recount what a release promises; `published` says the roles of its columns. Cost O(n), nothing is parsed."""
        models, attributes = described_models(description), description.attributes()
        distinct = replace(published, data=self._coded, records=self.times)
        found = recount(distinct, models, attributes, description.attested)
        return replace(found, roles=roles_of(published))

    def class_sizes(self, published: PublishedTable) -> NDArray[np.int64]:
        """Count the rows of each class; int64 (c,)."""
        class_of, count = group_rows(appended_labels(replace(published, data=self._coded)))
        return np.bincount(class_of, weights=self.times, minlength=count).astype(np.int64)


def _described(sha256: str) -> dict[str, str]:
    return {"counted rows": FORMAT, "sha256": sha256}


@dataclass(frozen=True, eq=False, repr=False)
class CarriedOver:
    """The file of a release, and what it was made of."""

    format: Format
    # `older`, `new`: files with the rows of the release before alone, and with newcomers alone
    older: bytes
    new: bytes
    is_new: NDArray[np.bool_]  # (n,): which rows are of newcomers
    newcomers: PublishedTable  # as they are written
    counted: RecountedRows
    # int32: a number for the person of each new row, valid in its class, where people may have several
    people: NDArray[np.int32] | None = None

    @cached_property
    def content(self) -> memoryview:
        """Of the file."""
        return mixed(self.older, self.new, self.is_new, self.format) if self.older else memoryview(self.new)

    @cached_property
    def sha256(self) -> str:
        """Of the file, in hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()

    def write(self, folder: Path) -> TableFacts:
        """Write the file; return what ``release.json`` says of it."""
        path = folder / f"data.{self.format}"
        path.write_bytes(self.content)
        return TableFacts(path.name, self.sha256, len(self.is_new), tuple(self.newcomers.data.columns))

    def recount(self, newer: ReadRelease) -> tuple[Verification, tuple[Check, ...]]:
        """Recount a release that was written beside its place: newcomers as their recipient will, all by their counts.

        Returns: of the release by itself; of the release beside the one before. Every cell of newcomers is read from
        what was written. The rows of the older release are compared byte by byte: they were recounted when it was
        published, and its file has the hash that it had then.
        """
        facts = newer.opened.files["data"]
        path, alone = newer.path / facts.file, replace(self.newcomers, data=self._as_read(newer))
        written = np.memmap(path, dtype=np.uint8, mode="r").data
        there = hashlib.sha256(written).hexdigest() == facts.sha256 and facts.rows == len(self.is_new)
        kept = holds_both(written, self.older, self.new, self.is_new, self.format)
        whole = self.counted.recounted(self.newcomers, newer.description)
        found = judge_description(
            whole, newer.opened, newer.mark, (_said(f"{facts.file} is the file that was written", there),)
        )
        return found, (_said(rows_kept(newer), kept), *newcomer_checks(alone, newer.description, self.people))

    def _as_read(self, newer: ReadRelease) -> pl.DataFrame:
        """Return newcomers as a recipient reads them."""
        alone = newer.path / f"newcomers.{self.format}"
        alone.write_bytes(self.new)
        try:
            return read_table_file(alone, newer.opened.files["data"], newer.description)
        finally:
            alone.unlink()


def _said(promise: str, holds: bool) -> Check:
    return Check(promise, Outcome.HOLDS) if holds else Check(promise, Outcome.BROKEN, detail="it is another one")


def first_of(
    rows: pl.DataFrame, made: PublishedTable, format: Format, people: NDArray[np.int32] | None = None
) -> CarriedOver:
    """Return the file of newcomers in the order of `rows`; `made` has the roles, `people` whose row each is."""
    new = bytes_of(rows, format)
    newcomers = replace(made, data=byte_rows(new, format, made.quasi_identifying))
    everybody = np.ones(rows.height, dtype=np.bool_)
    return CarriedOver(format, b"", new, everybody, newcomers, RecountedRows.of(newcomers), people)


def series_content(older: ReadRelease, format: Format) -> bytes:
    """Return the file of a release as it was published. Raises ``VerificationError`` when it was changed since."""
    facts = older.opened.files["data"]
    path, content = older.path / facts.file, b""
    with suppress(OSError):
        content = read_regular(path)
    if hashlib.sha256(content).hexdigest() != facts.sha256 or path.suffix != f".{format}":
        raise VerificationError(f"{older.path}: {changed_words(facts.file)}")
    return content


def put_among(
    older: ReadRelease, content: bytes, newcomers: CarriedOver, kept: bytes | None, seed: int | None
) -> CarriedOver:
    """Put newcomers among the rows of the release before, at random places.

    `content`: of its file. `newcomers`: as :func:`first_of` returns them. `kept`: what the ledger says that was counted
    of it; what it does not say is counted now. `seed`: for tests and studies; None draws from the operating system.
    Both come in random order, and every choice of places is as likely as any other: so the whole is in random order.
    """
    facts, labels = older.opened.files["data"], newcomers.newcomers.quasi_identifying
    before = None if kept is None else RecountedRows.read(kept, facts.sha256)
    if before is None:
        rows = byte_rows(content, newcomers.format, labels)
        before = RecountedRows.of(replace(newcomers.newcomers, data=rows))
    is_new = permutation(facts.rows + len(newcomers.is_new), seed) >= facts.rows
    return replace(newcomers, older=content, is_new=is_new, counted=before + newcomers.counted)


@dataclass(frozen=True)
class Running:
    """How to run: a seed for tests and studies, the threads, who is told of progress, and the counterfeits allowed."""

    seed: int | None = None
    threads: int | None = None
    progress: Progress = silent
    most_counterfeits: float = 0.05


@dataclass(frozen=True)
class Work:
    """What a release is made with, beside people."""

    format: Format  # of the files that hold the tables
    how: Running = Running()
    kept: bytes | None = None  # what the maker of the release before wanted the ledger to keep for this one
    people: Sequence[PeopleOfRelease] = ()  # what the ledger says of each earlier release


@dataclass(frozen=True, eq=False, repr=False)
class Made:
    """A release that can be written."""

    published: PublishedTable  # everybody, in random order
    description: Description
    report: Report  # of the newcomers alone, for the steward
    # Integers (n,): the class of each newcomer, from 0 in the order of the labels. −1 for who has to wait.
    class_of: NDArray[np.integer]
    kept: bytes | None = None  # what the ledger is to keep for the next release: private
    notes: tuple[str, ...] = ()  # what the steward should know
    # everybody, where the way has to know the class of all people; None: newcomers are written down alone
    people: PeopleOfRelease | None = None
    # what the series fixes from now on, where that hangs on everybody; None: as the newcomers have it
    frozen: Frozen | None = None
    # The file of the release, where it is ready; `published` are newcomers alone then. None: all of its table is in
    # `published`.
    carried: CarriedOver | None = None
    covers: Covers = field(default_factory=dict)  # see :class:`~sfumato.series.description.SeriesPlace`
    pseudonyms: NDArray[np.int32] | None = None  # see :class:`~sfumato.series.people.PeopleOfRelease`

    def write(self, folder: Path, place: SeriesPlace, policy: str, format: Format) -> None:
        """Write the files of a release folder, which says which place it has in its series."""
        carried = self.carried
        facts = write_tables(self.published, folder, format) if carried is None else {"data": carried.write(folder)}
        content: dict[str, Any] = {**self.description.to_dict(tables=facts), KEY: place.to_dict()}
        write_texts(folder, content, self._whole_report(place), policy)

    def _whole_report(self, place: SeriesPlace) -> Report:
        """Return the report of everybody: what a recipient can count."""
        models = [model for entry in self.description.models if (model := build_model(entry)) is not None]
        if self.carried is None:
            found = recount(self.published, models, self.description.attributes(), self.description.attested)
            sizes = promised_class_sizes(self.published)
        else:
            found = self.carried.counted.recounted(self.published, self.description)
            sizes = self.carried.counted.class_sizes(self.published)
        return replace(
            self.report,
            original=found.records,
            published=found.records,
            suppressed=0,
            classes=found.classes,
            smallest_class=int(sizes.min()),
            largest_class=int(sizes.max()),
            losses=losses_of_classes(sizes, smallest_allowed(models)),
            verification=found,
            limits=release_limits(place, self.description),
            who_is_who="ledger",
        ).for_release()


class Maker(Protocol):
    """Makes the next release from those before and the people who come."""

    def __call__(self, work: Work, batch: Batch, earlier: Sequence[ReadRelease]) -> Made:
        """Return the release, with everybody's class.

        `earlier` are the releases that the way looks at, as :class:`~sfumato.series.description.Recount` has them.
        Raises ``UnsatisfiableError`` when these people cannot be published yet; they wait.
        """
        ...


def maker_of(way: str) -> Maker:
    """Return what makes releases in a way."""
    maker: Maker = loaded(WAYS[way].maker)
    return maker


def release_limits(place: SeriesPlace, description: Description) -> tuple[str, ...]:
    """Say what no promise of a release keeps: it stands up to its own series alone."""
    models, sensitive = described_models(description), tuple(description.sensitive)
    of_people = () if description.people is None else limits_of_people(models, sensitive)
    return (
        PublishedTable.limits[0],
        "It hides neither whether somebody is in the table, nor with which release of the series.",
        f"It is release {place.number} of a series ({place.way}). It stands up to the others of the series, and to no "
        "other release of the same people.",
        *limits_of_values(models, sensitive),
        *of_people,
    )


def promised_class_sizes(published: PublishedTable) -> NDArray[np.int64]:
    """Count the rows of each class, which share their published quasi-identifying values; int64 (c,)."""
    return np.bincount(group_rows(appended_labels(published))[0]).astype(np.int64)


def losses_of_classes(sizes: NDArray[np.int64], k: int) -> Losses:
    """Return what the sizes of classes tell; a release shows no other loss."""
    records = int(sizes.sum())
    unknown = float("nan")
    return Losses(
        records=records,
        classes=len(sizes),
        suppressed=0,
        k=k,
        rule="auto",
        discernibility=int((sizes * sizes).sum()),
        average_class_size=records / len(sizes) / k,
        changed={},
        attribute_ncp={},
        ncp=unknown,
        normalized_ncp=unknown,
        iloss=unknown,
        loss_metric=unknown,
        precision=unknown,
        entropy=None,
    )
