"""Traces of people, and what is promised of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
from sfumato.kinds.traces.grain import Axis, read_time
from sfumato.models.protocol import CheckedModel
from sfumato.numbers import counted
from sfumato.options import Limit


@dataclass(frozen=True)
class TracePrivacy(CheckedModel):
    """(K, C)_L-privacy: whoever knows up to L points of somebody finds K people, who differ in what is sensitive.

    A published trace is a set of doublets: a place and a time at the published grain. For every set of 1 to `l`
    doublets that some trace contains, at least `k` traces contain it, and each sensitive value is that of a share of at
    most `c` of their people. A person counts once with each value that she has.

    Guarantee: an attacker who knows up to `l` points of a person finds at least `k` published traces that fit, and
    guesses a sensitive value rightly with probability `c` at most. Whoever knows more points may find fewer. The order
    of the doublets of different times, gaps, speed and the number of doublets of a trace may tell more.

    Parameters
    ----------
    k
        People: a whole number ≥ 1.
    l
        Points that an attacker may know: a whole number from 1 to 4.
    c
        Largest share of a sensitive value, above 0 up to 1; 1 is no requirement.
    among
        Where the K people are. None: among those who are published. ``"population"``: among a population, whose traces
        whoever makes or recounts the release hands in. Then K people of it have been at all places and times of the
        combination; those who are published must all be in it. `c` is about those who are published, ever.

    References
    ----------
    N. Mohammed, B. Fung, M. Debbabi, "Walking in the crowd: anonymizing trajectory data for pattern analysis", CIKM
    2009. R. Chen, B. Fung, N. Mohammed, B. Desai, K. Wang, "Privacy-preserving trajectory data publishing by local
    suppression", Information Sciences 231, 2013. Their known sequences are sets here: doublets of equal published time
    have no order.
    """

    k: Annotated[int, Limit(1)]
    l: Annotated[int, Limit(1, 4)]  # noqa: E741
    c: Annotated[float, Limit(0, 1, above=True)] = 1.0
    among: Literal["population"] | None = None

    made_by: ClassVar[str] = "traces.TracePrivacy"
    name: ClassVar[str] = "trace-privacy"

    def __str__(self) -> str:
        """Return e.g. ``(K = 5, C = 0.5)_L-privacy for L = 2``."""
        among = "" if self.among is None else " among a population"
        return f"(K = {self.k}, C = {self.c:g})_L-privacy for L = {self.l}{among}"

    def most(self, people: int) -> NDArray[np.int64]:
        """Return how many of 0, 1, ... people may share a sensitive value; int64 (people + 1,)."""
        shares = self.c * np.arange(people + 1, dtype=np.float64) + 1e-9
        return shares.astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Traces:
    """Who was where and when. Build it with :func:`sfumato.traces.read_traces`.

    Letters: n people, z points. Who the people are is gone: a person has only a number, which follows the order in
    which people first appear in the source.

    Attributes
    ----------
    starts : numpy.ndarray
        int64 (n + 1,): person ``i`` has the points ``starts[i] .. starts[i+1]-1``, each once.
    places, times : numpy.ndarray
        int32 (z,): the leaf of each point on its axis; rising inside a person, by place and then by time.
    place, time : Axis
        Places and times at every grain.
    is_grid : bool
        Whether places are cells of the grid.
    zone : str
        The zone of the local times.
    sensitive : str or None
        The column of sensitive values.
    value_starts, values : numpy.ndarray
        int64 (n + 1,) and int32: the sensitive values of each person, rising, each once.
    value_names : tuple of str
        The sensitive values.
    source : str
        What messages call the traces: the file's name, or ``"table"``.
    wished_k : numpy.ndarray or None
        int64 (n,): the K that each person wishes for, 1 for none; None where nobody was asked.

    Raises
    ------
    InputError
        When there is nobody, or the parts do not fit together.
    """

    made_by: ClassVar[str] = "traces.read_traces"

    starts: NDArray[np.int64]
    places: NDArray[np.int32]
    times: NDArray[np.int32]
    place: Axis
    time: Axis
    is_grid: bool
    zone: str
    sensitive: str | None
    value_starts: NDArray[np.int64]
    values: NDArray[np.int32]
    value_names: tuple[str, ...] = ()
    source: str = "table"
    wished_k: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        """Check the parts against each other."""
        if len(self.starts) < 2:
            raise InputError("there are no people")
        raise_all(InputError, self._problems())

    def __repr__(self) -> str:
        """Show sizes only."""
        return f"Traces({counted(self.height, 'person')}, {counted(len(self.places), 'point')})"

    @property
    def height(self) -> int:
        """Number of people."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of points of each person; int64 (n,)."""
        return np.diff(self.starts)

    @property
    def owners(self) -> NDArray[np.int64]:
        """The person of each point; int64 (z,)."""
        return np.repeat(np.arange(self.height), self.sizes)

    def take(self, people: NDArray[np.integer]) -> Traces:
        """Return the traces of some people, in that order."""
        starts, points = points_of_people(self.starts, people)
        value_starts, values = points_of_people(self.value_starts, people)
        return replace(
            self,
            starts=starts,
            places=self.places[points],
            times=self.times[points],
            value_starts=value_starts,
            values=self.values[values],
            wished_k=None if self.wished_k is None else self.wished_k[people],
        )

    def without(self, dropped: NDArray[np.bool_]) -> Traces:
        """Return the traces without some points; everybody stays, perhaps with none."""
        if not dropped.any():
            return self
        kept = np.bincount(self.owners[~dropped], minlength=self.height)
        starts = np.append(0, np.cumsum(kept)).astype(np.int64)
        return replace(self, starts=starts, places=self.places[~dropped], times=self.times[~dropped])

    def home_points(self) -> NDArray[np.bool_]:
        """Tell which points are at night in the finest place where a person is on most of at least two nights.

        Nights are from midnight to six; wider times tell none. bool (z,).
        """
        read = [read_time(label) or (0, 24) for label in self.time.levels[0]]
        begins, widths = (np.array(part, dtype=np.int64)[self.times] for part in zip(*read, strict=True))
        points = np.flatnonzero(begins % 24 + widths <= 6)
        if not len(points):
            return np.zeros(len(self.times), dtype=np.bool_)
        owners, places, days = self.owners[points], self.places[points], begins[points] // 24
        nights = np.bincount(np.unique(np.stack([owners, days]), axis=1)[0], minlength=self.height)
        stays = np.unique(np.stack([owners, places, days]), axis=1)[:2]
        (whose, where), counts = np.unique(stays, axis=1, return_counts=True)
        most = (counts >= 2) & (2 * counts > nights[whose])
        home = np.full(self.height, -1, dtype=np.int64)
        home[whose[most]] = where[most]
        found = np.zeros(len(self.times), dtype=np.bool_)
        found[points] = home[owners] == places
        return found

    def _problems(self) -> Iterator[str]:
        if self.starts[-1] != len(self.places) or len(self.places) != len(self.times):
            yield "starts and points do not fit together in length"
        if self.value_starts[-1] != len(self.values) or len(self.value_starts) != len(self.starts):
            yield "the sensitive values do not fit the people in length"
        if self.wished_k is not None and len(self.wished_k) != self.height:
            yield "the wishes do not fit the people in length"


def points_of_people(
    starts: NDArray[np.int64], chosen: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the bounds of some rows, one after the other, and the places of their entries."""
    sizes = np.diff(starts)[chosen]
    bounds = np.append(0, np.cumsum(sizes)).astype(np.int64)
    return bounds, np.arange(bounds[-1]) + np.repeat(starts[chosen] - bounds[:-1], sizes)


def order_traces(traces: Traces) -> tuple[Traces, NDArray[np.int64]]:
    """Sort people by points, then sensitive values; what is tied is alike in everything. And give their places."""
    points = (traces.places.astype(np.int64) << 32 | traces.times).astype(">i8").tobytes()
    values = traces.values.astype(">i4").tobytes()
    wished = [1] * traces.height if traces.wished_k is None else traces.wished_k.tolist()
    keys = [
        (points[8 * first : 8 * last], values[4 * low : 4 * high], own)
        for (first, last), (low, high), own in zip(
            pairwise(traces.starts.tolist()), pairwise(traces.value_starts.tolist()), wished, strict=True
        )
    ]
    origin = np.array(sorted(range(traces.height), key=keys.__getitem__), dtype=np.int64)
    return traces.take(origin), origin
