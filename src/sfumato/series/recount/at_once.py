"""How many rows an edge can carry, and how many rows of a place are old in every world.

A *world* says which row of the newer release each row of the older one became: another value never, and only where
the classes meet. Every older row is in the newer release.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.kernels.series.flows import Network, rows_at_once
from sfumato.series.recount.edges import Edges

Numbers = NDArray[np.int64]

STRANGERS = (
    "{count:,} rows of the older release have no row in the newer one that they can have become: the two releases do "
    "not belong together, or rows were taken out; recount releases of one series, in their order"
)


class AtOnce(NamedTuple):
    """What all worlds have in common.

    Attributes
    ----------
    together : numpy.ndarray
        int64 (e,): most rows of an edge in one world.
    fixed : numpy.ndarray
        int64 (y,): rows of a newer place that are old in every world.
    flows : int
        Groups that were counted by flows.
    """

    together: Numbers
    fixed: Numbers
    flows: int


def at_once(edges: Edges) -> AtOnce:
    """Count over all worlds.

    Raises
    ------
    InputError
        When there is no world: the releases do not belong together.

    Notes
    -----
    *Closed form.* In a group with an edge between any two places of different releases, older rows may stand anywhere.
    So an edge can carry ``min(e, f)`` rows: the others fit, as the group has at least as many newer rows as older ones.
    And of the f rows of a newer place, all are old but those that the group's ``G_2 − f`` other rows leave over:
    ``max(0, G_1 − (G_2 − f))``. These are the formulas of Fung, Wang, Fu and Pei (EDBT 2008). Nested releases have such
    groups alone: one older place, and the newer ones inside it.

    *Flows.* In any other group the formulas count too few excluded rows. There the largest flows are searched for, one
    for each place and edge; exact, as flows of whole numbers are.
    """
    older, newer, count = edges.groups
    supply, room = edges.older_places.rows, edges.newer_places.rows
    supplies = np.bincount(older, weights=supply, minlength=count).astype(np.int64)
    rooms = np.bincount(newer, weights=room, minlength=count).astype(np.int64)
    missing = int(np.maximum(0, supplies - rooms).sum())
    if missing:
        raise InputError(STRANGERS.format(count=missing))
    together = np.minimum(supply[edges.older], room[edges.newer])
    fixed = np.maximum(0, supplies[newer] - (rooms[newer] - room))
    odd = ~edges.whole
    if odd.any():
        _count_by_flows(edges, odd, together, fixed)
    return AtOnce(together, fixed, int(odd.sum()))


def _count_by_flows(edges: Edges, odd: NDArray[np.bool_], together: Numbers, fixed: Numbers) -> None:
    """Write the counts of some groups."""
    older, newer, _ = edges.groups
    places = [_by_group(group, odd) for group in (older, newer)]
    new_number = [_numbers(chosen, len(group)) for chosen, group in zip(places, (older, newer), strict=True)]
    chosen = np.flatnonzero(odd[older[edges.older]])
    chosen = chosen[np.argsort(new_number[0][edges.older[chosen]], kind="stable")]
    first, second = new_number[0][edges.older[chosen]], new_number[1][edges.newer[chosen]]
    network = Network(
        edges.older_places.rows[places[0]], edges.newer_places.rows[places[1]], first, second,
        _starts(first, len(places[0])), np.argsort(second, kind="stable"), _starts(second, len(places[1])),
    )  # fmt: skip
    groups = np.flatnonzero(odd)
    bounds = np.stack(
        [np.searchsorted(group[some], groups) for group, some in zip((older, newer), places, strict=True)]
    )
    bounds = np.append(bounds.T, [[len(places[0]), len(places[1])]], axis=0).astype(np.int64)
    on_edges, in_places = np.zeros(len(chosen), dtype=np.int64), np.zeros(len(places[1]), dtype=np.int64)
    homeless = rows_at_once(network, bounds, on_edges, in_places)
    if homeless:
        raise InputError(STRANGERS.format(count=homeless))
    together[chosen], fixed[places[1]] = on_edges, in_places


def _by_group(group: Numbers, odd: NDArray[np.bool_]) -> Numbers:
    chosen = np.flatnonzero(odd[group])
    return chosen[np.argsort(group[chosen], kind="stable")]


def _numbers(chosen: Numbers, count: int) -> Numbers:
    number = np.full(count, -1, dtype=np.int64)
    number[chosen] = np.arange(len(chosen))
    return number


def _starts(sorted_or_not: Numbers, count: int) -> Numbers:
    return np.append(0, np.cumsum(np.bincount(sorted_or_not, minlength=count))).astype(np.int64)
