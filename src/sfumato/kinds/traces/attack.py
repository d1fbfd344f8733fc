"""Looking for a person by a few points: how many traces fit, and whether one of them is alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.evaluation.attacks.of_kinds import Asked, KindEvidence, made_anew
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.kernels.traces import TraceRows
from sfumato.kinds.traces.check import TRACE, PublishedTraces, trace_rows
from sfumato.kinds.traces.grain import read_cell, read_time
from sfumato.kinds.traces.policy import TracePolicy
from sfumato.kinds.traces.reading import read_traces
from sfumato.kinds.traces.release import TraceRelease
from sfumato.kinds.traces.traces import Traces, order_traces
from sfumato.numbers import counted, percent
from sfumato.options import Count, Limit, Seed, check_arguments
from sfumato.rates import Rate

if TYPE_CHECKING:
    from sfumato.drawing import Drawing

_NAME = "known-points"
_HELPS = "a larger L, up to what attackers may know; coarser places and times"
_NO_PROMISE = "the release promises nothing about who knows places alone, or what stands around points"
_HOME, _ANY = "home and work", "any two places"
_MOST_POINTS = 2_000
"""Points of one victim between which speeds are looked at."""


@dataclass(frozen=True)
class TraceAttack:
    """The result of looking for people by their points; made by :func:`sfumato.traces.attack_traces`. For the steward.

    Attributes
    ----------
    people : int
        People who were looked for.
    before : tuple of AttackResult
        On the traces as they are, by 1, 2, ... points, by home and work, and by any two places, for comparison.
    published : tuple of AttackResult
        On a release of them, by as many of the points that it publishes of the person.
    original : tuple of AttackResult
        The same by any points of the person, also such as were left out; by points in a row, also with what stands
        around them; and by places.
    noise : float
        Share of the known points that are wrong.
    """

    people: int
    before: tuple[AttackResult, ...]
    published: tuple[AttackResult, ...] = ()
    original: tuple[AttackResult, ...] = ()
    noise: float = 0.0

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON."""
        parts = {"before": self.before, "published": self.published, "original": self.original}
        return {
            "people": self.people,
            "noise": self.noise,
            **{name: [one.to_dict() for one in each] for name, each in parts.items()},
        }

    def __str__(self) -> str:
        """Return a line for each number of points."""
        people = counted(self.people, "person")
        lines = [f"Looking for {people} by their points: whom one trace fits, and whose trace is picked"]
        lines[0] += f"; by chance {percent(self.before[0].success.baseline, 3)}"
        for name, results in self._parts():
            lines += [f"  {name}", *(f"    {_line(result)}" for result in results)]
        return "\n".join(lines)

    def plot(self) -> Drawing:
        """Draw how many people are alone, by known points: before, and after.

        Raises
        ------
        PolicyError
            When matplotlib is not installed (``pip install 'sfumato[report]'``).
        """
        from sfumato.drawing import COLOURS, Drawing, canvas

        figure, axes = canvas("known points", "share of people who are alone")
        for (name, results), mark, colour in zip(self._parts(), "osD", COLOURS, strict=False):
            points = [result for result in results if result.knows.endswith((" point", " points"))]
            axes.plot([int(one.knows.split()[0]) for one in points], [*map(_alone, points)], f"{mark}-", color=colour)
            axes.lines[-1].set_label(name)
        axes.set_ylim(-0.02, 1.02)
        axes.legend(frameon=False)
        return Drawing(figure)

    def _parts(self) -> Iterator[tuple[str, tuple[AttackResult, ...]]]:
        parts = (self.before, self.published, self.original)
        names = ("Before", "After, by published points", "After, by any points")
        return ((name, results) for name, results in zip(names, parts, strict=True) if results)


def _alone(result: AttackResult) -> float:
    return float(result.figures["people_whom_one_trace_fits"]) / max(result.success.people, 1)


def _line(result: AttackResult) -> str:
    bound = "" if result.allowed is None else f", promised at most {percent(result.allowed, 3)}"
    return f"{result.knows}: {percent(_alone(result), 3)} alone, {percent(result.success.share, 3)} picked{bound}"


@check_arguments
def attack_traces(
    original: Traces,
    release: TraceRelease | None = None,
    *,
    known: Count = 4,
    victims: Count | None = 1000,
    noise: Annotated[float, Limit(0, 1, below=True)] = 0.0,
    seed: Seed = None,
) -> TraceAttack:
    """Look for people by some of their points, in the traces as they are and in a release of them.

    The attacker knows some points of a victim, and picks one of the traces that have most of them. In a release points
    are known in two ways: points that it publishes of the victim, which is what is promised about; or any points, as
    the grain shows them, of which some may have been left out.

    Parameters
    ----------
    original
        The traces that the release was made from.
    release
        As :func:`sfumato.traces.anonymize_traces` returns it; None attacks the original alone.
    known
        The attack is played with 1 to `known` points; all of them if somebody has fewer.
    victims
        People to look for, drawn; None looks for all.
    noise
        Share of the known points, and places, that are wrong: drawn from all that there are.
    seed
        For tests and studies: draws the same victims and points, whatever the order of the traces.

    Returns
    -------
    TraceAttack

    Raises
    ------
    PolicyError
        When a setting is invalid, or the release was made from other traces.

    Notes
    -----
    Success is the chance that the trace that is picked is the victim's: 1 ÷ traces that have as many of the points, if
    the victim's is among them. By guessing, one trace is picked from all. (K, C)_L-privacy allows 1/K to who knows up
    to L published points; of who knows more, or of home and work, it says nothing.

    *Points in a row* are all that a person has from one time to another. Who knows them with *gaps, speed and length*
    knows besides that she was nowhere between them, how many points she has in all, and a speed that none of the
    victims exceeds (cells alone; not where somebody has more than 2,000 points). Traces that contradict it do not fit,
    hers never does; of the rest those with most of the
    known points, and then with most points, are picked. It is not played where known points may be wrong.
    """
    if release is not None and len(release.origin) and int(release.origin.max()) >= original.height:
        raise PolicyError("release: was made from other traces")
    random = np.random.default_rng(seed)
    ordered, number_of = order_traces(original)
    drawn = np.arange(ordered.height)
    if victims is not None and victims < ordered.height:
        drawn = np.sort(random.choice(ordered.height, victims, replace=False))
    view = _original_view(ordered)
    places = _known_places(ordered, drawn, 0, random, noise)
    before = tuple(_played(view, _points(view, drawn, random, noise), drawn, known))
    before = (*before, *_by_places(view, places, drawn))
    if release is None:
        return TraceAttack(len(drawn), before, noise=noise)
    shown, own = _released_view(release, ordered, number_of)
    there = drawn[own[drawn] >= 0]
    published = tuple(
        _promised(one, release, noise)
        for one in _played(shown, _points(shown, own[there], random, noise), own[there], known)
    )
    any_points = _points(view, drawn, random, noise)
    mapped = [shown.code_of(points) for points in any_points]
    others = tuple(_played(shown, mapped, own[drawn], known))
    if not noise:
        others = (*others, *_in_a_row(_Course.of(ordered, release, drawn), shown, own[drawn], known, random))
    places = _known_places(ordered, drawn, release.loss.place_level, random, noise)
    return TraceAttack(len(drawn), before, published, (*others, *_by_places(shown, places, own[drawn])), noise)


def evidence(published: PublishedTraces, asked: Asked) -> KindEvidence:
    """Make the release anew, look for people by points and places, and say what was lost."""
    from sfumato.kinds.traces.make import anonymize_traces

    policy = TracePolicy.from_mapping(asked.policy)
    original = read_traces(asked.original, **policy.reading())
    release = anonymize_traces(original, policy, seed=asked.seed, progress=asked.progress)
    results, before = list[AttackResult](), tuple[AttackResult, ...]()
    if asked.attacks:
        known = release.model.l + 2
        played = attack_traces(original, release, known=known, seed=asked.seed)
        before = played.before
        shown = (replace(one, knows=f"{one.knows} that are published") for one in played.published)
        results = [*shown, *(replace(one, notes=(_NO_PROMISE,)) for one in played.original[known:])]
    figures, notes = release.report.figures, (made_anew(published.tables, release.tables, TRACE),)
    return KindEvidence(original.height, results, {}, figures, notes, before=before)


@dataclass(frozen=True, eq=False, repr=False)
class _TraceView:
    """Traces as an attacker sees them: by doublet, and by place alone."""

    rows: TraceRows
    places: TraceRows
    # the doublets of each original point, one or a row of them, −1 for none
    code_of: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    place_of: Callable[[NDArray[np.int64]], NDArray[np.int64]]  # the same of original leaves of places

    @property
    def height(self) -> int:
        """Traces."""
        return len(self.rows.starts) - 1


def _by_place(starts: NDArray[np.int64], places: NDArray[np.int64], kinds: int) -> TraceRows:
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    keys = np.unique(owners * max(kinds, 1) + places)
    bounds = np.append(0, np.cumsum(np.bincount(keys // max(kinds, 1), minlength=len(starts) - 1))).astype(np.int64)
    return _bare(bounds, (keys % max(kinds, 1)).astype(np.int32), kinds)


def _bare(starts: NDArray[np.int64], items: NDArray[np.int32], kinds: int) -> TraceRows:
    return trace_rows(starts, items, kinds, np.zeros(len(starts), dtype=np.int64), np.zeros(0, dtype=np.int32))


def _original_view(traces: Traces) -> _TraceView:
    codes = traces.places.astype(np.int64) << 32 | traces.times
    kinds, items = np.unique(codes, return_inverse=True)
    leaves = traces.place.node_of.shape[1]
    rows = _bare(traces.starts, items.astype(np.int32), len(kinds))
    return _TraceView(rows, _by_place(traces.starts, traces.places.astype(np.int64), leaves), _same, _same)


def _same(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return numbers


def _released_view(
    release: TraceRelease, traces: Traces, number_of: NDArray[np.int64]
) -> tuple[_TraceView, NDArray[np.int64]]:
    """Return a release, and the published trace of each of the people, −1 for none."""
    shown = release.published
    own_number = np.full(traces.height, -1, dtype=np.int64)
    own_number[release.origin] = np.arange(shown.height)
    codes = traces.places.astype(np.int64) << 32 | traces.times
    kinds = np.unique(codes)
    item_of = {labels: item for item, labels in enumerate(shown.doublets)}
    columns = []
    for place_level, time_level in _levels_of(release, traces):
        names, times = traces.place.levels[place_level], traces.time.levels[time_level]
        nodes, moments = traces.place.node_of[place_level], traces.time.node_of[time_level]
        pairs = zip(nodes[kinds >> 32].tolist(), moments[kinds & 0xFFFFFFFF].tolist(), strict=True)
        columns.append([item_of.get((names[node], times[moment]), -1) for node, moment in pairs])
    of_code = np.array(columns, dtype=np.int64).T
    place_names = sorted({place for place, _ in shown.doublets})
    number = {name: place for place, name in enumerate(place_names)}
    of_item = np.array([number[place] for place, _ in shown.doublets], dtype=np.int64)
    levels = sorted({place for place, _ in _levels_of(release, traces)})
    of_leaf = np.array(
        [[number.get(traces.place.levels[at][node], -1) for node in traces.place.node_of[at].tolist()] for at in levels]
    ).T
    places = _by_place(shown.starts, of_item[shown.items], len(place_names))
    view = _TraceView(shown.rows, places, lambda points: of_code[points], lambda leaves: of_leaf[leaves])
    return view, own_number[number_of]


def _levels_of(release: TraceRelease, traces: Traces) -> list[tuple[int, int]]:
    """Return the levels of places and times at which something is published."""
    found = []
    for axis, labels in zip((traces.place, traces.time), zip(*release.published.doublets, strict=True), strict=True):
        there = {*labels}
        found.append([level for level, names in enumerate(axis.levels) if not there.isdisjoint(names)])
    pairs = {*release.published.doublets}
    return [
        (place, time)
        for place in found[0]
        for time in found[1]
        if any(
            (name, moment) in pairs
            for name in {*traces.place.levels[place]} & {one for one, _ in pairs}
            for moment in {*traces.time.levels[time]} & {one for _, one in pairs}
        )
    ]


def _points(
    view: _TraceView, people: NDArray[np.int64], random: np.random.Generator, noise: float
) -> list[NDArray[np.int64]]:
    """Return the doublets of some traces, those that are known first in front; some are wrong."""
    rows = view.rows
    known = [random.permutation(rows.items[rows.starts[one] : rows.starts[one + 1]].astype(np.int64)) for one in people]
    return [_noisy(points, rows.items, random, noise) for points in known]


def _noisy(
    known: NDArray[np.int64], drawn_from: NDArray[np.int32], random: np.random.Generator, noise: float
) -> NDArray[np.int64]:
    """Put others in place of a share of what is known; without noise nothing is drawn."""
    if not noise:
        return known
    others = drawn_from[random.integers(len(drawn_from), size=len(known))]
    return np.where(random.random(len(known)) < noise, others, known)


def _played(
    view: _TraceView, points: list[NDArray[np.int64]], own: NDArray[np.int64], known: int
) -> Iterator[AttackResult]:
    for count in range(1, known + 1):
        chosen = [np.unique(each[:count], axis=0) for each in points]
        yield _result(view.rows, chosen, own, counted(count, "point"), view.height)


def _known_places(
    traces: Traces, people: NDArray[np.int64], level: int, random: np.random.Generator, noise: float
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Return, for each person, leaves in the two places where she was at most times, and in any two of her places."""
    home, other = list[NDArray[np.int64]](), list[NDArray[np.int64]]()
    for person in people.tolist():
        leaves = traces.places[traces.starts[person] : traces.starts[person + 1]]
        node = traces.place.node_of[level][leaves]
        _, firsts, counts = np.unique(node, return_index=True, return_counts=True)
        for found, order in (
            (home, np.argsort(-counts, kind="stable")),
            (other, random.permutation(len(firsts))),
        ):
            found.append(_noisy(leaves[firsts[order[:2]]].astype(np.int64), traces.places, random, noise))
    return home, other


def _by_places(
    view: _TraceView, known: tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]], own: NDArray[np.int64]
) -> Iterator[AttackResult]:
    """Look for people by places alone."""
    for places, what in zip(known, (_HOME, _ANY), strict=True):
        yield _result(view.places, [np.unique(view.place_of(each), axis=0) for each in places], own, what, view.height)


@dataclass(frozen=True, eq=False, repr=False)
class _Course:
    """Points of victims in the order of their times, and where and when published doublets are."""

    traces: Traces
    codes: list[NDArray[np.int64]]  # of each victim: her points, by time
    when: tuple[NDArray[np.float64], NDArray[np.float64]]  # begins and ends of the finest times
    where: (
        NDArray[np.float64] | None
    )  # (leaves, 3): south, west and side of the finest cells; None where they are codes
    shown_when: tuple[NDArray[np.float64], NDArray[np.float64]]
    shown_where: NDArray[np.float64]
    fastest: float  # degrees an hour; infinite where nothing is known of speed

    @classmethod
    def of(cls, traces: Traces, release: TraceRelease, victims: NDArray[np.int64]) -> _Course:
        codes = []
        for one in victims.tolist():
            points = slice(traces.starts[one], traces.starts[one + 1])
            places, times = traces.places[points].astype(np.int64), traces.times[points]
            codes.append((places << 32 | times)[np.lexsort((places, times))])
        shown_places, shown_times = zip(*release.published.doublets, strict=True)
        where = _boxes(traces.place.levels[0]) if traces.is_grid else None
        course = cls(
            traces, codes, _hours(traces.time.levels[0]), where, _hours(shown_times), _boxes(shown_places), np.inf
        )
        longest = max(map(len, codes))
        if where is None or longest > _MOST_POINTS:
            return course
        return replace(course, fastest=max(course.speed(each) for each in codes))

    def times(self, codes: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return when points begin and end."""
        leaves = codes & 0xFFFFFFFF
        return self.when[0][leaves], self.when[1][leaves]

    def speed(self, codes: NDArray[np.int64]) -> float:
        """Return a speed that somebody has at least between two of these points."""
        assert self.where is not None
        boxes, times = self.where[codes >> 32], self.times(codes)
        return float(_speeds(boxes, times, boxes, times).max())

    def contradicting(self, codes: NDArray[np.int64], doublets: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Tell which published doublets are none of somebody with these points and nothing between them."""
        begins, ends = self.times(codes)
        first, last = (part[doublets] for part in self.shown_when)
        gap = np.searchsorted(ends, first, side="right") - 1
        within = (gap >= 0) & (gap < len(codes) - 1) & (last <= np.append(begins, 0)[gap + 1])
        if self.where is None or self.fastest == np.inf:
            return within
        speeds = _speeds(self.shown_where[doublets], (first, last), self.where[codes >> 32], (begins, ends))
        return within | (speeds > self.fastest * (1 + 1e-9)).any(axis=1)


def _hours(labels: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return begins and ends; of what says no time, from ever to ever."""
    read = [read_time(label) for label in labels]
    return (
        np.array([-np.inf if one is None else one[0] for one in read]),
        np.array([np.inf if one is None else sum(one) for one in read]),
    )


def _boxes(labels: Sequence[str]) -> NDArray[np.float64]:
    """Return south, west and side; of what says no cell, the globe."""
    return np.array([read_cell(label) or (-180.0, -180.0, 360.0) for label in labels], dtype=np.float64)


def _speeds(
    one: NDArray[np.float64], one_times: tuple[NDArray[np.float64], NDArray[np.float64]],
    other: NDArray[np.float64], other_times: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> NDArray[np.float64]:  # fmt: skip
    """Return the least speed from each cell and time to each other, in degrees an hour."""
    # Larger cells and longer times never give a higher one: nearest sides, and the longest time between.
    centres = [each[:, :2] + each[:, 2:] / 2 for each in (one, other)]
    apart = np.abs(centres[0][:, None, :] - centres[1][None, :, :])
    apart[:, :, 1] = np.minimum(apart[:, :, 1], 360 - apart[:, :, 1])
    apart = np.maximum(apart - (one[:, None, 2:] + other[None, :, 2:]) / 2, 0)
    edges = [np.maximum(np.abs(each[:, 0]), np.abs(each[:, 0] + each[:, 2])) for each in (one, other)]
    squeeze = np.cos(np.radians(np.minimum(np.maximum(edges[0][:, None], edges[1][None, :]), 90)))
    last = np.maximum(one_times[1][:, None], other_times[1][None, :])
    first = np.minimum(one_times[0][:, None], other_times[0][None, :])
    speeds: NDArray[np.float64] = np.hypot(apart[:, :, 0], apart[:, :, 1] * squeeze) / (last - first)
    return speeds


def _in_a_row(
    course: _Course, view: _TraceView, own: NDArray[np.int64], known: int, random: np.random.Generator
) -> Iterator[AttackResult]:
    """Look for people by points in a row, alone, and with gaps, speed and length."""
    runs = [each[(at := int(random.integers(max(len(each) - known, 0) + 1))) : at + known] for each in course.codes]
    kinds = np.unique(course.traces.places.astype(np.int64) << 32 | course.traces.times)
    mapped = [np.unique(view.code_of(np.searchsorted(kinds, run)), axis=0) for run in runs]
    what = f"{counted(known, 'point')} in a row"
    yield _result(view.rows, mapped, own, what, view.height)
    starts, sizes = view.rows.starts, np.diff(view.rows.starts)

    def fitting(victim: int, people: NDArray[np.int64]) -> NDArray[np.int64]:
        people = people[sizes[people] <= len(course.codes[victim])]
        bounds = np.append(0, np.cumsum(sizes[people]))
        places = np.arange(bounds[-1]) + np.repeat(starts[people] - bounds[:-1], sizes[people])
        wrong = course.contradicting(runs[victim], view.rows.items[places])
        owners = np.repeat(np.arange(len(people)), sizes[people])
        left: NDArray[np.int64] = people[np.bincount(owners[wrong], minlength=len(people)) == 0]
        return left

    yield _result(view.rows, mapped, own, f"{what}, gaps, speed and length", view.height, fitting)


def _result(
    rows: TraceRows, known: list[NDArray[np.int64]], own: NDArray[np.int64], what: str, height: int,
    fitting: Callable[[int, NDArray[np.int64]], NDArray[np.int64]] | None = None,
) -> AttackResult:  # fmt: skip
    """Pick one of the traces that have most of what is known of each person, and are `fitting`."""
    picked, alone, fewest = 0.0, 0, height
    for victim, (points, mine) in enumerate(zip(known, own.tolist(), strict=True)):
        owners = [_holders(rows, np.atleast_1d(point)) for point in points]
        people, counts = np.unique(np.concatenate(owners or [np.zeros(0, dtype=np.int64)]), return_counts=True)
        if fitting is not None:
            is_left = np.isin(people, fitting(victim, people))
            people, counts = people[is_left], counts[is_left] * len(rows.items) + np.diff(rows.starts)[people[is_left]]
        best = people[counts == counts.max()] if len(people) else np.arange(height)
        is_there = bool(np.any(best == mine))
        picked += is_there / len(best)
        alone += is_there and len(best) == 1
        fewest = min(fewest, len(best))
    return AttackResult(
        _NAME,
        what,
        "whose trace was picked from those that fit",
        Rate(picked, len(own), 1 / height),
        figures={"fewest_traces_that_fit": fewest, "people_whom_one_trace_fits": alone},
        helps=_HELPS,
    )


def _holders(rows: TraceRows, doublets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the traces that have one of some doublets, each once."""
    held = [rows.owners[rows.bounds[one] : rows.bounds[one + 1]] for one in doublets.tolist() if one >= 0]
    return held[0] if len(held) == 1 else np.unique(np.concatenate([*held, np.zeros(0, dtype=np.int64)]))


def _promised(result: AttackResult, release: TraceRelease, noise: float) -> AttackResult:
    """Hold a result against the promise, or say that there is none about it."""
    if noise:
        return replace(result, notes=("the release promises nothing about who knows wrong points",))
    if release.model.among is not None:
        return replace(result, notes=("the release promises people of a population, not traces that fit",))
    if int(result.knows.split()[0]) <= release.model.l:
        return replace(result, allowed=1 / release.model.k)
    return replace(result, notes=(f"the release promises nothing about who knows more than {release.model.l} points",))
