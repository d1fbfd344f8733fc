"""How the records of a generalized table spread over original values, as far as labels show.

A label such as ``[20..29]`` says that a record has one of ten values, not which. The records are spread over them in
proportion to how frequent each value is in the whole table, which is found by a few rounds of expectation maximization,
for each attribute alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.errors import InputError, SfumatoError, raise_all
from sfumato.evaluation.attacks.adding import added
from sfumato.evaluation.attacks.coverage import coverage_of
from sfumato.evaluation.attacks.publication import PublishedClasses, read_publication
from sfumato.evaluation.attacks.register import RegisterAttribute, knowledge
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import covering_classes, fitting_pairs, fitting_weight
from sfumato.published import PublishedTable
from sfumato.recoding.choice import Recoding
from sfumato.table.table import Table

_ROUNDS = 20


@dataclass(frozen=True, eq=False, repr=False)
class LabelSpread:
    """One attribute of a generalized table.

    Letters: d codes of original values (the last stands for values that only ``*`` covers), g labels, r runs.

    Attributes
    ----------
    mass : numpy.ndarray
        float64 (d,): share of the published records at each code; sums to 1.
    label_of : numpy.ndarray
        int64 (c,): label of each class, numbered from 0.
    cover : numpy.ndarray
        float64 (g,): share of the records that may be under each label; 0 if it covers nobody.
    owner, low, high : numpy.ndarray
        int64 (r,): each run of codes that a label covers, ends included.
    """

    mass: NDArray[np.float64]
    label_of: NDArray[np.int64]
    cover: NDArray[np.float64]
    owner: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def over_codes(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """Spread records of each label, float64 (g,), over the codes that it covers: float64 (d,)."""
        per_mass = np.divide(records, self.cover, out=np.zeros(len(records)), where=self.cover > 0)[self.owner]
        size = len(self.mass) + 1
        begun = added(self.low, per_mass, size) - added(self.high + 1, per_mass, size)
        # Starts and ends of runs cancel up to rounding.
        return np.maximum(np.cumsum(begun)[:-1], 0.0) * self.mass


@dataclass(frozen=True, eq=False, repr=False)
class TableCells:
    """A generalized table, read against people whose values are known.

    Attributes
    ----------
    publication : Publication
    known : tuple of Knowledge
        Codes of the people, one entry for each attribute.
    spreads : tuple of Spread
    """

    publication: PublishedClasses
    known: tuple[RegisterAttribute, ...]
    spreads: tuple[LabelSpread, ...]

    @property
    def class_weights(self) -> NDArray[np.float64]:
        """Divide the records of each class by those expected if the attributes were independent: float64 (c,)."""
        weights = self.publication.sizes / self.publication.records
        for spread in self.spreads:
            cover = spread.cover[spread.label_of]
            weights = np.divide(weights, cover, out=np.zeros(len(weights)), where=cover > 0)
        return weights

    def sum_fitting(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up the weights of the classes that cover each person's values: float64 (people,)."""
        told = np.column_stack([each.codes for each in self.known])
        vector_of, count = group_records(told + 1)
        vectors = np.ascontiguousarray(told[first_records(vector_of, count)])
        coverage = coverage_of(self.publication, self.known)
        return fitting_weight(vectors, coverage, covering_classes(coverage), weights)[vector_of]

    def pairs_with(self, chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """List all pairs of a person and a chosen class that covers them, the class by its place."""
        some = replace(
            self.publication, label_of=self.publication.label_of[chosen], sizes=self.publication.sizes[chosen]
        )
        told = np.ascontiguousarray(np.column_stack([each.codes for each in self.known]))
        coverage = coverage_of(some, self.known)
        return fitting_pairs(told, coverage, covering_classes(coverage))


def read_cells(
    published: PublishedTable, people: Table, names: tuple[str, ...], recoding: Recoding, *, tallied: str | None = None
) -> TableCells:
    """Read some attributes of a generalized table, sensitive ones included if wanted.

    Parameters
    ----------
    published, people, recoding
        The release; people with original values; how the release was published.
    names
        Attributes that both have, at least one.
    tallied
        Sensitive attribute whose values the publication counts; any, if None.

    Raises
    ------
    InputError
        With everything that is wrong with the people's columns.
    """
    known = _known(people, names)
    publication = read_publication(published.data, tallied or names[0], known, recoding)
    spreads = tuple(_spread(publication, place, each.attribute.size + 1) for place, each in enumerate(known))
    return TableCells(publication, known, spreads)


def shared_names(published: PublishedTable, people: Table, *, sensitive: bool) -> tuple[str, ...]:
    """Name the quasi-identifying attributes, and the sensitive ones if wanted, that the release and people share."""
    schema = people.schema
    wanted = (*schema.quasi_identifying, *(schema.sensitive if sensitive else ()))
    return tuple(name for name in wanted if name in published.data.columns and name in people.frame.columns)


def _known(people: Table, names: tuple[str, ...]) -> tuple[RegisterAttribute, ...]:
    settings = {**people.schema.quasi_identifying, **people.schema.sensitive}
    known: list[RegisterAttribute] = []
    problems: list[str] = []
    for name in names:
        try:
            known.append(knowledge(people.frame[name], settings[name]))
        except SfumatoError as error:
            problems.extend(error.problems)
    raise_all(InputError, problems)
    return tuple(known)


def _spread(publication: PublishedClasses, place: int, size: int) -> LabelSpread:
    labels, label_of = np.unique(publication.label_of[:, place], return_inverse=True)
    counts = publication.runs[labels + 1] - publication.runs[labels]
    owner = np.repeat(np.arange(len(labels)), counts)
    run = np.arange(counts.sum()) + np.repeat(publication.runs[labels] - (np.cumsum(counts) - counts), counts)
    low, high = publication.low[run].astype(np.int64), publication.high[run].astype(np.int64)
    records = added(label_of, publication.sizes, len(labels))
    mass = np.full(size, 1 / size)
    for _ in range(_ROUNDS):
        spread = LabelSpread(mass, label_of, _covered(mass, owner, low, high, len(labels)), owner, low, high)
        told = spread.over_codes(records)
        if told.sum() == 0:
            break
        mass = told / told.sum()
    return LabelSpread(mass, label_of, _covered(mass, owner, low, high, len(labels)), owner, low, high)


def _covered(
    mass: NDArray[np.float64],
    owner: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    labels: int,
) -> NDArray[np.float64]:
    up_to = np.concatenate([[0.0], np.cumsum(mass)])
    return added(owner, up_to[high + 1] - up_to[low], labels)
