"""Published traces, whether few points of somebody fit many people, and the recount of a folder of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import comb
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, VerificationError, raise_all
from sfumato.hierarchy.tree import ROOT
from sfumato.kernels.traces import Demand, TraceRows, count_known, points_by_doublet
from sfumato.kinds.traces.grain import WIDTHS, cell_label, degrees, read_cell, read_time, time_label
from sfumato.kinds.traces.population import Crowd, among_population, numbers_of, unfitting_population
from sfumato.kinds.traces.traces import TracePrivacy, Traces
from sfumato.models.protocol import Achieved, Check, Outcome, promise_words, unknown_population
from sfumato.numbers import counted, figure, percent
from sfumato.options import Count, check_arguments
from sfumato.published.checks.generalized import Verification
from sfumato.published.protocol import Roles
from sfumato.release.agreement import Difference
from sfumato.release.description import number_of_records
from sfumato.release.own_kinds import OwnDescription, OwnKind, names_above
from sfumato.table.distinct import distinct_of
from sfumato.table.reading import PopulationError

TABLE, VALUES, TRACE, PLACE, TIME, NORTH, EAST = "traces", "values", "trace", "place", "time", "latitude", "longitude"
"""Names of the tables, and of the columns that are not the steward's."""


@dataclass(frozen=True, eq=False, repr=False)
class PublishedTraces:
    """Published traces. Letters: n people, d doublets, z points."""

    starts: NDArray[np.int64]  # (n + 1,)
    items: NDArray[np.int32]  # (z,): doublet of each point, rising inside a person
    doublets: tuple[tuple[str, str], ...]  # labels of place and time, sorted
    is_grid: bool
    zone: str
    sensitive: str | None
    value_starts: NDArray[np.int64]  # (n + 1,)
    values: NDArray[np.int32]  # rising inside a person
    value_names: tuple[str, ...]
    # for codes of places that are published and what stands above them: the next coarser one
    broader: Mapping[str, str] = field(default_factory=dict)

    @property
    def height(self) -> int:
        """Number of people."""
        return len(self.starts) - 1

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by name: a row for each point of a person, and one for each of their sensitive values."""
        numbers = np.arange(1, self.height + 1)
        names = list(zip(*self.doublets, strict=True))
        columns = [pl.Series(TRACE, np.repeat(numbers, np.diff(self.starts)))]
        columns += [_labels(name, labels, self.items) for name, labels in zip((PLACE, TIME), names, strict=True)]
        if self.is_grid:
            centres = list(zip(*(cell_centre(place) for place, _ in self.doublets), strict=True))
            columns += [_labels(name, part, self.items) for name, part in zip((NORTH, EAST), centres, strict=True)]
        tables = {TABLE: pl.DataFrame(columns)}
        if self.sensitive is not None:
            held = pl.Series(TRACE, np.repeat(numbers, np.diff(self.value_starts)))
            tables[VALUES] = pl.DataFrame([held, _labels(self.sensitive, self.value_names, self.values)])
        return tables

    @property
    def structure(self) -> dict[str, Any]:
        """What a recipient needs beside the tables."""
        place = {"grid": "degrees"} if self.is_grid else {"broader": dict(self.broader)}
        return {"people": self.height, "place": place, "zone": self.zone, "sensitive": self.sensitive}

    @cached_property
    def rows(self) -> TraceRows:
        """The traces as kernels take them."""
        return trace_rows(self.starts, self.items, len(self.doublets), self.value_starts, self.values)


def _labels(name: str, labels: Sequence[str], codes: NDArray[np.int32]) -> pl.Series:
    return pl.Series(name, labels, dtype=pl.String).gather(codes)


def cell_centre(label: str) -> tuple[str, str]:
    """Return latitude and longitude of the centre of a published cell, as they are written; empty for everywhere."""
    cell = read_cell(label)
    return ("", "") if cell is None else (degrees(cell[0] + cell[2] / 2), degrees(cell[1] + cell[2] / 2))


def trace_rows(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    doublets: int,
    value_starts: NDArray[np.int64],
    values: NDArray[np.int32],
) -> TraceRows:
    """Return traces by person and by doublet; the facets of a person are 0, and one more than each of the values."""
    people = len(starts) - 1
    bounds, points, owners = points_by_doublet(starts, items, doublets)
    facet_starts = value_starts + np.arange(people + 1)
    facets = np.zeros(facet_starts[-1], dtype=np.int64)
    facets[np.arange(len(values)) + np.repeat(np.arange(1, people + 1), np.diff(value_starts))] = values + 1
    return TraceRows(starts, items, bounds, points, owners, facet_starts, facets)


# Counting what somebody may know.


MOST_COUNTED = 4_000_000_000
"""Combinations in all traces, times sensitive values, that are still counted."""


@dataclass(frozen=True)
class KnownCount:
    """Combinations of one number of doublets that some trace has."""

    size: int
    combinations: int  # different ones
    least: int | None  # people who have the rarest one; None if no trace is so long
    rare: int  # different ones that fewer than k people have
    shared: int  # of one of them and a sensitive value: those where more than a share of c have the value
    share: float  # the largest share of a sensitive value

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return vars(self).copy()


def combinations_of(rows: TraceRows, size: int) -> int:
    """Return how many combinations of `size` doublets all traces have, each as often as values are counted with it."""
    lengths, facets = np.diff(rows.starts), np.diff(rows.facet_starts)
    kinds, which = np.unique(lengths, return_inverse=True)
    times = np.bincount(which, weights=facets)
    return int(sum(comb(int(length), size) * int(count) for length, count in zip(kinds, times, strict=True)))


def can_count(rows: TraceRows, size: int, width: int) -> bool:
    """Tell whether combinations of that many doublets are few enough to count, and can be numbered."""
    return combinations_of(rows, size) <= MOST_COUNTED and len(rows.bounds) ** size * width < 2**62


def known_counts(rows: TraceRows, model: TracePrivacy, values: int) -> tuple[KnownCount, ...]:
    """Count all combinations of 1 to L doublets that some trace has, at most MOST_COUNTED, and values beside each."""
    people = len(rows.starts) - 1
    demand = Demand(model.k, model.l, model.most(people), values + 1, np.full(people, model.k))
    found = []
    for size in range(1, model.l + 1):
        if not can_count(rows, size, demand.width):
            total = figure(combinations_of(rows, size), 3)
            raise InputError(f"the traces hold {total} combinations of {size} points, too many to count; lower L")
        combinations, least, rare, shared, worst, among, _ = count_known(rows, size, demand)
        found.append(KnownCount(size, combinations, None if least < 0 else least, rare, shared, worst / among))
    return tuple(found)


def wishes_hold(published: PublishedTraces, l: int, wished_k: NDArray[np.int64]) -> bool:  # noqa: E741
    """Tell whether as many people have every combination of up to `l` doublets as each who has it wishes for.

    Who wishes is no part of a release: the steward alone can tell. `wished_k`: int64 (people,). Cost: a recount for
    each K that is wished for.
    """
    people = published.height
    for wish in np.unique(wished_k[wished_k > 1]).tolist():
        asks = wished_k >= wish
        bounds = np.append(0, np.cumsum(asks)).astype(np.int64)
        rows = trace_rows(
            published.starts, published.items, len(published.doublets), bounds, np.zeros(bounds[-1], dtype=np.int32)
        )
        # Nobody who asks may stand among fewer people, whatever share of them asks.
        most = np.where(np.arange(people + 1) < wish, 0, people).astype(np.int64)
        demand = Demand(wish, l, most, 2, np.full(people, wish))
        if any(count_known(rows, size, demand)[3] for size in range(1, l + 1)):
            return False
    return True


ONE_MEANING = "no place and time lies within another that is published"
LABELS = "places and times are cells, codes and hours, with their centres"


def trace_verification(
    published: PublishedTraces, models: Sequence[TracePrivacy], population: Traces | None = None
) -> Verification:
    """Recount every promise of published traces; ``InputError`` when there are too many combinations to count.

    Without the traces of the population nobody can tell what is promised among it.
    """
    if population is not None and all(model.among is None for model in models):
        raise PopulationError("population: no promise of this release speaks of a population; leave it out")
    checks = [_label_check(published)]
    if any(model.c < 1 for model in models):
        # What fits in two ways may have a value more often than what fits in either.
        checks.append(_meaning(published))
    checks += [_promise_of(model, published, population) for model in models]
    roles = Roles(
        quasi_identifying=(PLACE, TIME), sensitive=() if published.sensitive is None else (published.sensitive,)
    )
    return Verification(tuple(checks), published.height, len(published.doublets), "doublet", roles)


def _promise_of(model: TracePrivacy, published: PublishedTraces, population: Traces | None) -> Check:
    values = len(published.value_names)
    if model.among is None:
        return _promise(model, known_counts(published.rows, model, values))
    shares = 0
    if model.c < 1:
        shares = sum(count.shared for count in known_counts(published.rows, replace(model, k=1), values))
    if population is None and not shares:
        return unknown_population(promise_words(model))
    least, few, missing = (0, 0, 0) if population is None else _found_among(published, model, population)
    if missing:
        raise PopulationError(
            f"population: {counted(missing, 'combination')} of published points fit more traces than people of the "
            "population; it must hold everybody who is in the release, with the same points"
        )
    achieved = () if population is None else (Achieved("k", least),)
    parts = [f"{counted(few, 'combination')} fit fewer people of the population"] if few else []
    parts += [f"in {counted(shares, 'combination')} a value has a larger share"] if shares else []
    outcome = Outcome.BROKEN if parts else Outcome.HOLDS
    return Check(promise_words(model), outcome, achieved, "; ".join(parts), of_population=not shares)


def _found_among(published: PublishedTraces, model: TracePrivacy, population: Traces) -> tuple[int, int, int]:
    """Count people of a population for every combination that some published trace has."""
    # Returns the fewest, how many combinations fewer than K have, and how many fewer people have than traces.
    if wrong := unfitting_population(population, published.zone, published.height):
        raise wrong
    places, times = (sorted({*labels}) for labels in zip(*published.doublets, strict=True))
    crowd = Crowd.of(population, numbers_of(population.place, places), numbers_of(population.time, times))
    place_of, time_of = ({name: at for at, name in enumerate(labels)} for labels in (places, times))
    codes = np.array([place_of[place] * len(times) + time_of[time] for place, time in published.doublets])
    levels = product(range(len(crowd.places)), range(len(crowd.times)))
    found = [crowd.doublets(at, len(times), codes) for at in levels]
    shown = published.starts, published.items.astype(np.int64)
    rows = among_population(shown, crowd.rows(found, len(codes)), len(codes), np.ones(1, dtype=np.int64))
    people = np.arange(len(rows.starts))
    least, few, missing = population.height, 0, 0
    for size in range(1, model.l + 1):
        if not can_count(rows, size, 2):
            total = figure(combinations_of(rows, size), 3)
            raise InputError(f"the traces hold {total} combinations of {size} points, too many to count; lower L")
        asked = np.where(people < model.k, 0, len(people))
        *_, broken, _, _, beside = count_known(rows, size, Demand(model.k, model.l, asked, 2, people))
        more = count_known(rows, size, Demand(model.k, model.l, people, 2, people))[3]
        least = least if beside < 0 else min(least, beside)
        few, missing = few + broken, missing + more
    return least, few, missing


def _promise(model: TracePrivacy, counts: Sequence[KnownCount]) -> Check:
    least = min(count.least for count in counts if count.least is not None)
    share = max(count.share for count in counts)
    achieved = (Achieved("k", least), *([Achieved("c", share)] if share else []))
    rare, shared = sum(count.rare for count in counts), sum(count.shared for count in counts)
    if not rare and not shared:
        total = counted(sum(count.combinations for count in counts), "combination")
        return Check(promise_words(model), Outcome.HOLDS, achieved, f"{total} of up to {counted(model.l, 'point')}")
    parts = [f"{counted(rare, 'combination')} fit fewer people"] if rare else []
    parts += [f"in {counted(shared, 'combination')} a value has a larger share"] if shared else []
    return Check(promise_words(model), Outcome.BROKEN, achieved, "; ".join(parts))


def _label_check(published: PublishedTraces) -> Check:
    """Tell whether a label says no more than a cell, or a code, and a time of the usual lengths."""
    strange = sum(time != ROOT and read_time(time) is None for _, time in published.doublets)
    if published.is_grid:
        strange += sum(place != ROOT and read_cell(place) is None for place, _ in published.doublets)
    if not strange:
        return Check(LABELS, Outcome.HOLDS)
    return Check(LABELS, Outcome.BROKEN, detail=f"{counted(strange, 'label')} of something else")


def _meaning(published: PublishedTraces) -> Check:
    """Tell whether an original point can be published in one way only: who knows it knows where to look."""
    try:
        clashing = sum(1 for _ in _overlaps(published))
    except VerificationError as error:
        return Check(ONE_MEANING, Outcome.BROKEN, detail=str(error))
    if not clashing:
        return Check(ONE_MEANING, Outcome.HOLDS)
    return Check(ONE_MEANING, Outcome.BROKEN, detail=f"{counted(clashing, 'doublet')} lie within another")


def _overlaps(published: PublishedTraces) -> Iterator[tuple[str, str]]:
    """Find every doublet of which the place and the time lie within, or around, those of another."""
    times_of: dict[str, set[str]] = {}
    for place, time in published.doublets:
        times_of.setdefault(place, set()).add(time)
    above_time = {time: _times_above(time) for _, time in published.doublets}
    for place, times in times_of.items():
        chain = _cells_above(place) if published.is_grid else names_above(place, published.broader, "places")
        around = [times_of[node] for node in (place, *chain) if node in times_of]
        higher = {above for others in around for time in others for above in above_time[time]}
        for time in times:
            # Of one and the same place a time may lie within another; of places that nest, they may be equal, too.
            if (
                any(above in others for others in around for above in above_time[time])
                or any(time in others for others in around[1:])
                or time in higher
            ):
                yield place, time


def _times_above(label: str) -> list[str]:
    found = read_time(label)
    if found is None:
        return [] if label == ROOT else [ROOT]
    start, width = found
    return [*(time_label(start // wider * wider, wider) for wider in WIDTHS if wider > width), ROOT]


def _cells_above(label: str) -> list[str]:
    found = read_cell(label)
    if found is None:
        return [] if label == ROOT else [ROOT]
    south, west, side = found
    chain = []
    while side < 256:
        side *= 2
        chain.append(cell_label(int((south + 90) // side), int((west + 180) // side), side))
    return [*chain, ROOT]


@dataclass(frozen=True)
class TraceCheck:
    """Which K traces have for each number of points that an attacker may know; see :func:`sfumato.traces.check_traces`.

    Attributes
    ----------
    people, points : int
    sizes : tuple of KnownCount
        For 1, 2, ... points; ends where there are too many combinations to count.
    homes : int
        People who are in one place on most nights.
    """

    people: int
    points: int
    sizes: tuple[KnownCount, ...]
    homes: int = 0

    def k_of(self, l: int) -> int:  # noqa: E741
        """Return the largest K for up to `l` points.

        Raises
        ------
        InputError
            When combinations of so many points were not counted.
        """
        if not 1 <= l <= len(self.sizes):
            raise InputError(f"combinations of {counted(l, 'point')} were not counted")
        return min(size.least for size in self.sizes[:l] if size.least is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        sizes = [{**size.to_dict(), "k": self.k_of(size.size)} for size in self.sizes]
        return {"people": self.people, "points": self.points, "homes": self.homes, "sizes": sizes}

    def __str__(self) -> str:
        """Return a line for each number of points."""
        first = f"{counted(self.people, 'person')} with {counted(self.points, 'point')}, each once in a cell and time"
        homes = f"  {counted(self.homes, 'person')} in one place on most nights, which is likely their home"
        return "\n".join([first, *map(self._line, self.sizes), *([homes] if self.homes else [])])

    def _line(self, size: KnownCount) -> str:
        shown = f"{size.rare:,} of {counted(size.combinations, 'combination')} of one person alone"
        share = f"; largest share of a value {percent(size.share, 3)}" if size.share else ""
        return f"  L = {size.size}: K = {self.k_of(size.size):,}; {shown}{share}"


@check_arguments
def check_traces(traces: Traces, l: Count = 3) -> TraceCheck:  # noqa: E741
    """Say which K traces have for 1 to `l` points that an attacker may know.

    Parameters
    ----------
    traces
        As :func:`sfumato.traces.read_traces` returns them; places and times are taken at the finest grain.
    l
        Largest number of points, up to 4.

    Returns
    -------
    TraceCheck
        Ends where there are too many combinations to count.

    Raises
    ------
    PolicyError
        When `l` is no whole number from 1 to 4.
    """
    model = TracePrivacy(2, l)
    codes = traces.places.astype(np.int64) << 32 | traces.times
    kinds, items = np.unique(codes, return_inverse=True)
    rows = trace_rows(traces.starts, items.astype(np.int32), len(kinds), traces.value_starts, traces.values)
    values = len(traces.value_names)
    longest = int(traces.sizes.max())
    fitting = next((size - 1 for size in range(1, l + 1) if size > longest or not can_count(rows, size, values + 1)), l)
    counts = known_counts(rows, TracePrivacy(model.k, max(fitting, 1)), values)
    homes = len(np.unique(traces.owners[traces.home_points()]))
    return TraceCheck(traces.height, len(traces.places), counts, homes)


# The kind as its verifier knows it.


@dataclass(frozen=True)
class TraceStructure:
    """What ``release.json`` says: people, how places are written, the zone of the times, the sensitive column."""

    people: int
    is_grid: bool
    broader: Mapping[str, str]
    zone: str
    sensitive: str | None


class TraceKind(OwnKind[TraceStructure, PublishedTraces]):
    """A table with a line for each point of a person, and perhaps one with their sensitive values."""

    name = TABLE
    model = TracePrivacy
    numbers: ClassVar = {TRACE: pl.Int64}
    suppresses = True
    evidence = "sfumato.kinds.traces.attack:evidence"
    population = "sfumato.kinds.traces.population:read_trace_population"
    release = "sfumato.kinds.traces.release:TraceRelease"
    pictures = "sfumato.kinds.traces.forms:pictures"
    meaning = (
        "where people were and when, a trace for each person in random order; places and times are made coarser, and "
        "points are left out"
    )
    promise = "Whoever knows {l} published points of a person, or fewer, finds {k} people at least with them."
    unplayed: ClassVar = {
        "inference": "no attack of this program guesses where else somebody was; verify counts which share of "
        "those who fit has a sensitive value",
        "linkability": "releases of traces are not joined with others",
    }
    tallies = frozenset({TRACE})

    def read_structure(self, content: Mapping[str, Any]) -> TraceStructure:
        """Read how many people there are, and how places and times are written."""
        structure = content["structure"]
        place, zone, sensitive = structure["place"], structure["zone"], structure["sensitive"]
        is_grid = place == {"grid": "degrees"}
        broader = {} if is_grid else place["broader"]
        if content["sensitive"] != {} or not isinstance(zone, str) or not isinstance(sensitive, str | None):
            raise ValueError
        if not isinstance(broader, dict) or not all(isinstance(name, str) for name in broader.values()):
            raise TypeError
        return TraceStructure(number_of_records(structure["people"]), is_grid, broader, zone, sensitive)

    def columns(self, structure: TraceStructure) -> dict[str, tuple[str, ...]]:
        """Return the tables and their columns."""
        centres = (NORTH, EAST) if structure.is_grid else ()
        values = {} if structure.sensitive is None else {VALUES: (TRACE, structure.sensitive)}
        return {TABLE: (TRACE, PLACE, TIME, *centres), **values}

    def assemble(
        self, tables: Mapping[str, pl.DataFrame], description: OwnDescription[TraceStructure]
    ) -> PublishedTraces:
        """Put the traces together."""
        for name, table in tables.items():
            if table.schema[TRACE] != pl.Int64 or (name == VALUES and table.null_count().sum_horizontal()[0]):
                raise InputError(f"{description.facts[name].file}: something is missing there; it was changed")
        return assemble_traces(tables, description.structure)

    def recount(
        self, shown: PublishedTraces, models: Sequence[Any], structure: TraceStructure, population: Any = None
    ) -> Verification:
        """Count every combination of doublets that a model speaks of."""
        return trace_verification(shown, models, population)

    def differences(self, policy: Mapping[str, Any], structure: TraceStructure) -> Iterator[Difference]:
        """Compare the zone, and the column of sensitive values."""
        said = policy.get("traces", {})
        if said.get("zone") != structure.zone:
            yield Difference("zone", repr(said.get("zone")), repr(structure.zone))
        if said.get("sensitive") != structure.sensitive:
            yield Difference("sensitive column", repr(said.get("sensitive")), repr(structure.sensitive))


def assemble_traces(tables: Mapping[str, pl.DataFrame], structure: TraceStructure) -> PublishedTraces:
    """Put the tables of a release together; ``VerificationError`` when they contradict each other or it."""
    held, count = tables[TABLE], structure.people
    numbers = held[TRACE].to_numpy()
    if not held.height or numbers.min() != 1 or numbers.max() != count or not np.bincount(numbers)[1:].all():
        raise VerificationError("release.json: counts other people than there are; it was changed")
    place, time = distinct_of(held[PLACE]), distinct_of(held[TIME])
    if place.missing or time.missing:
        raise VerificationError("a place or time of the published traces is empty; the release was changed")
    codes, times = place.rank_of[place.raw], len(time.values)
    codes *= times
    codes += time.rank_of[time.raw]
    if len(place.values) * times <= 8 * len(codes):
        occurs = np.zeros(len(place.values) * times, dtype=np.bool_)
        occurs[codes] = True
        kinds = np.flatnonzero(occurs)
        items = (np.cumsum(occurs) - 1)[codes]
    else:
        kinds, items = np.unique(codes, return_inverse=True)
    starts, sorted_items = _rows(numbers - 1, items, count, "a doublet")
    if structure.is_grid:
        _check_centres(held)
    value_starts, values, names = np.zeros(count + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), ()
    if structure.sensitive is not None:
        told = tables[VALUES]
        of = told[TRACE].to_numpy()
        if told.height and not (of.min() >= 1 and of.max() <= count):
            raise VerificationError("release.json: counts fewer people than there are; it was changed")
        found = distinct_of(told[structure.sensitive])
        names = tuple(found.values.cast(pl.String).to_list())
        value_starts, values = _rows(of - 1, found.rank_of[found.raw], count, "a value")
    names_of = [found.values.cast(pl.String).to_list() for found in (place, time)]
    doublets = tuple((names_of[0][kind // times], names_of[1][kind % times]) for kind in kinds.tolist())
    how = (structure.is_grid, structure.zone, structure.sensitive)
    return PublishedTraces(starts, sorted_items, doublets, *how, value_starts, values, names, structure.broader)


def _rows(
    owners: NDArray[np.int64], codes: NDArray[np.int64], people: int, what: str
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    same = owners[1:] == owners[:-1]
    if not np.all((owners[1:] > owners[:-1]) | (same & (codes[1:] >= codes[:-1]))):
        order = np.lexsort((codes, owners))
        owners, codes = owners[order], codes[order]
        same = owners[1:] == owners[:-1]
    if np.any(same & (codes[1:] == codes[:-1])):
        raise VerificationError(f"{what} stands twice in a trace; the release was changed")
    return np.append(0, np.cumsum(np.bincount(owners, minlength=people))).astype(np.int64), codes.astype(np.int32)


def _check_centres(held: pl.DataFrame) -> None:
    """Refuse centres that are not those of their cells: they could say where in it somebody was."""
    cells = held.select(PLACE, NORTH, EAST).unique().select(pl.all().cast(pl.String).fill_null(""))
    wrong = [row for row in cells.iter_rows() if cell_centre(row[0]) != row[1:]]
    raise_all(VerificationError, ["centres are not those of their cells; the release was changed"] if wrong else [])


TRACES = TraceKind()
