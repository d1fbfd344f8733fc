"""The next release of a series: how it is handed to whoever makes it, and written with its place in the chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.metrics import Losses
from sfumato.models.says import limits_of_values, smallest_allowed
from sfumato.progress import Progress, silent
from sfumato.published import PublishedTable
from sfumato.published.checks.people import limits_of_people
from sfumato.published.checks.recount import recount
from sfumato.published.checks.rows import group_rows
from sfumato.registry import loaded
from sfumato.release.description import Description, build_model, described_models
from sfumato.release.loss_report import Report
from sfumato.release.table_files import write_tables
from sfumato.release.text_files import write_texts
from sfumato.series.appended import appended_labels
from sfumato.series.batch import Batch
from sfumato.series.carried import CarriedOver
from sfumato.series.description import KEY, Covers, SeriesPlace
from sfumato.series.frozen import Frozen
from sfumato.series.people import PeopleOfRelease
from sfumato.series.reading import ReadRelease
from sfumato.series.ways import WAYS
from sfumato.table.writing import Format


@dataclass(frozen=True)
class Running:
    """How to run: a seed for tests and studies, the threads, who is told of progress, and the counterfeits allowed."""

    seed: int | None = None
    threads: int | None = None
    progress: Progress = silent
    most_counterfeits: float = 0.05


@dataclass(frozen=True)
class Work:
    """What a release is made with, beside people.

    Attributes
    ----------
    format : str
        Of the files that hold the tables.
    how : Running
    kept : bytes or None
        What the maker of the release before wanted the ledger to keep for this one.
    people : sequence of PeopleOfRelease
        What the ledger says of each earlier release.
    """

    format: Format
    how: Running = Running()
    kept: bytes | None = None
    people: Sequence[PeopleOfRelease] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Made:
    """A release that can be written.

    Attributes
    ----------
    published : PublishedTable
        Everybody, in random order.
    description : Description
    report : Report
        Of the newcomers alone, for the steward.
    class_of : numpy.ndarray
        Integers (n,): the class of each newcomer, from 0 in the order of the labels.
        −1 for who has to wait.
    kept : bytes or None
        What the ledger is to keep for the next release: private.
    notes : tuple of str
        What the steward should know.
    people : PeopleOfRelease or None
        Everybody, where the way has to know the class of all people; None: newcomers are written down alone.
    frozen : Frozen or None
        What the series fixes from now on, where that hangs on everybody; None: as the newcomers have it.
    carried : CarriedOver or None
        The file of the release, where it is ready; `published` are newcomers alone then. None: all of its table is in
        `published`.
    covers : mapping
        See :class:`~sfumato.series.description.SeriesPlace`.
    pseudonyms : numpy.ndarray or None
        See :class:`~sfumato.series.people.PeopleOfRelease`.
    """

    published: PublishedTable
    description: Description
    report: Report
    class_of: NDArray[np.integer]
    kept: bytes | None = None
    notes: tuple[str, ...] = ()
    people: PeopleOfRelease | None = None
    frozen: Frozen | None = None
    carried: CarriedOver | None = None
    covers: Covers = field(default_factory=dict)
    pseudonyms: NDArray[np.int32] | None = None

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

        `earlier` are the releases that the way looks at, as :class:`~sfumato.series.ways.Recount` has them.

        Raises
        ------
        UnsatisfiableError
            When these people cannot be published yet; they wait.
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
        f"It is release {place.number} of a series ({place.way}): it stands up to the others of the series, and to no "
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
