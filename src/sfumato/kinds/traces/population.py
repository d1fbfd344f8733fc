"""People of a population, who fit what is published of somebody because points of theirs lie in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SfumatoError
from sfumato.hierarchy.tree import ROOT
from sfumato.kernels.traces import TraceRows, points_by_doublet
from sfumato.kinds.traces.grain import Axis
from sfumato.numbers import counted
from sfumato.table.reading import PopulationError, population_problems

if TYPE_CHECKING:
    from sfumato.kinds.traces.policy import TracePolicy
    from sfumato.kinds.traces.traces import Traces

Numbers = NDArray[np.int64]
Rows = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Bounds of people, and their doublets: rising inside a person, each once."""


@dataclass(frozen=True, eq=False, repr=False)
class Crowd:
    """The people of a population, by places and times of others. Letters: n people, w pairs of them, z points.

    Labels say all of a cell or a time, so that those of one table are found on the axes of another.
    """

    height: int
    owners: NDArray[np.int64]  # (z,)
    pair_of: NDArray[np.int64]  # (z,)
    places: NDArray[np.int64]  # (levels, w): number of the label that holds each pair, −1 for none
    times: NDArray[np.int64]

    @classmethod
    def of(cls, people: Traces, places: Numbers, times: Numbers) -> Crowd:
        """Take the numbers of labels that hold each place, and each time, of a population; int64 (levels, leaves)."""
        width = people.time.node_of.shape[1]
        codes = people.places.astype(np.int64) * width + people.times
        pairs, pair_of = np.unique(codes, return_inverse=True)
        return cls(people.height, people.owners, pair_of, places[:, pairs // width], times[:, pairs % width])

    def doublets(self, levels: tuple[int, int], width: int, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which of some doublets holds each pair, −1 for none; int64 (w,).

        `codes`: number of the place · `width` + number of the time, rising.
        """
        place, time = self.places[levels[0]], self.times[levels[1]]
        wanted = place * width + time
        at = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        return np.where((place >= 0) & (time >= 0) & (codes[at] == wanted), at, -1)

    def rows(self, found: Sequence[NDArray[np.int64]], doublets: int) -> Rows:
        """Return the people with all doublets that were found for the pairs."""
        keys = [np.zeros(0, dtype=np.int64)]
        for of_pair in found:
            item = of_pair[self.pair_of]
            keys.append((self.owners * doublets + item)[item >= 0])
        each = np.unique(np.concatenate(keys))
        counts = np.bincount(each // doublets, minlength=self.height)
        return np.append(0, np.cumsum(counts)).astype(np.int64), each % doublets


def numbers_of(axis: Axis, labels: Sequence[str]) -> Numbers:
    """Return the number of the label that each leaf of an axis lies in, −1 for none; int64 (levels + 1, leaves).

    A line for each level, and one for everywhere.
    """
    number = {label: at for at, label in enumerate(labels)}
    found = [
        np.array([number.get(name, -1) for name in names], dtype=np.int64)[nodes]
        for names, nodes in zip(axis.levels, axis.node_of, strict=True)
        if names != (ROOT,)
    ]
    return np.array([*found, np.full(axis.node_of.shape[1], number.get(ROOT, -1), dtype=np.int64)])


def among_population(shown: Rows, crowd: Rows, doublets: int, facet: NDArray[np.int64]) -> TraceRows:
    """Return published traces, with a population behind them that is counted.

    Facet 0 is of the population alone. `facet`: those of each published trace, all the same; none where traces are
    held against the population, and not counted.
    """
    starts = np.append(shown[0], shown[0][-1] + crowd[0][1:])
    items = np.append(shown[1], crowd[1]).astype(np.int32)
    bounds, points, owners = points_by_doublet(starts, items, doublets)
    sizes = np.repeat([len(facet), 1], [len(shown[0]) - 1, len(crowd[0]) - 1])
    facets = np.append(np.tile(facet, len(shown[0]) - 1), np.zeros(len(crowd[0]) - 1, dtype=np.int64))
    return TraceRows(starts, items, bounds, points, owners, np.append(0, np.cumsum(sizes)).astype(np.int64), facets)


def read_trace_population(policy: Path, source: str | Path) -> Traces:
    """Read the traces of a population as a policy reads those that are published."""
    from sfumato.kinds.traces.policy import TracePolicy

    try:
        meant = TracePolicy.from_file(policy)
        if meant.traces.person is None:
            raise PopulationError("policy: name the one that made the release (--policy); that in it says no columns")
        return population_of(meant, source)
    except PopulationError:
        raise
    except SfumatoError as error:
        raise population_problems(error) from None


def population_of(policy: TracePolicy, source: object) -> Traces:
    """Read the traces of a population: no values, and no wishes."""
    from sfumato.kinds.traces.reading import read_traces

    return read_traces(source, **{**policy.reading(), "sensitive": None, "wished_k": None})


def unfitting_population(population: object, zone: str, people: int) -> PopulationError | None:
    """Say why a population is none of published traces, or None."""
    from sfumato.kinds.traces.traces import Traces

    if not isinstance(population, Traces):
        return PopulationError("population: is no Traces; read it with sfumato.traces.read_traces")
    if population.zone != zone:
        return PopulationError("population: was read in another time zone; read it with the policy of the release")
    if population.height < people:
        return PopulationError(
            f"population: has {counted(population.height, 'person')} and the traces {people:,}; it must hold "
            "everybody who is in them"
        )
    return None
