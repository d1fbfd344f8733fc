"""Rows of one release that can stand behind rows of a later one: flows between classes.

Letters: g groups, p places of the older release, f places of the newer one, e edges, all groups together.

A place is a class and a value: `supply` rows of the older release have it, `room` rows of the newer one. Every older
row is some newer row, along an edge. A group holds places that edges connect, and no others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import inlined, kernel, linear
from sfumato.kernels.types import Flags, Int64s, int64

# The records of CSV files, moved byte by byte: no cell is read.
#
# Letters: n records of both files, b bytes.


Bytes = NDArray[np.uint8]

_LINE_END, _QUOTE = 10, 34


@linear
def interleave(older: Bytes, newer: Bytes, is_new: Flags, merged: Bytes) -> int:
    """Write the records of two texts into one, each in its order; return the bytes written, −1 if it does not come out.

    older, newer : uint8, records that end with a line feed; one between quotes belongs to its cell. is_new : bool (n,),
    from which text each record is. merged : uint8 (b,), room for both. Cost O(b). Ends: each round writes a byte.
    Capacity: each byte is read once.
    """
    sources = (older, newer)
    places = np.zeros(2, dtype=np.int64)
    written = int64(0)
    for record in range(len(is_new)):
        side = 1 if is_new[record] else 0
        source = sources[side]
        place = places[side]
        inside = False
        going = True
        while going:
            if place == len(source):
                return -1
            byte = source[place]
            merged[written] = byte
            place += 1
            written += 1
            if byte == _QUOTE:
                inside = not inside
            going = inside or byte != _LINE_END
        places[side] = place
    return written if places[0] == len(older) and places[1] == len(newer) else -1


@linear
def has_both(merged: Bytes, is_new: Flags, older: Bytes, newer: Bytes) -> bool:
    """Tell whether a text holds the records of two others and nothing else: taken out, they are the same byte for byte.

    As :func:`interleave`: merged : uint8 (b,); older, newer : uint8; is_new : bool (n,). Cost O(b).
    Ends: each round compares a byte.
    """
    place, first, second = int64(0), int64(0), int64(0)
    for record in range(len(is_new)):
        inside = False
        going = True
        while going:
            if place == len(merged):
                return False
            byte = merged[place]
            place += 1
            if is_new[record]:
                if second == len(newer) or newer[second] != byte:
                    return False
                second += 1
            else:
                if first == len(older) or older[first] != byte:
                    return False
                first += 1
            if byte == _QUOTE:
                inside = not inside
            going = inside or byte != _LINE_END
    return place == len(merged) and first == len(older) and second == len(newer)


class Network(NamedTuple):
    """The places of all groups and the edges between them."""

    # `supply`, `room`: (p,), int64 (f,)
    supply: Int64s
    room: Int64s
    # `older`, `newer`: (e,): the places that each edge joins, sorted by older place; those of a group stand together
    older: Int64s
    newer: Int64s
    older_starts: Int64s  # (p + 1,): the edges of each older place
    # `by_newer`, `newer_starts`: (e,), int64 (f + 1,): the edges of each newer place
    by_newer: Int64s
    newer_starts: Int64s


class Search(NamedTuple):
    """Buffers of a search for a way to a place with room."""

    # `queue`, `came_by`, `moved`: (f,): places in the order in which they are met; the edge on which each is reached,
    # and the edge of the place before it that gives rows away
    queue: Int64s
    came_by: Int64s
    moved: Int64s
    met: Flags  # (f,), all False between searches
    # (e + 1,): how many flows were changed since the last were put back, and the edges; more are not listed
    changed: Int64s


@kernel
def rows_at_once(network: Network, groups: Int64s, together: Int64s, fixed: Int64s) -> int:
    """Count the rows that every edge can carry, and those of every newer place that are old whatever else happens.

    groups : int64 (g + 1, 2), where the older and the newer places of each group start. together : int64 (e,) and fixed
    : int64 (f,), written there: most rows on the edge, and fewest old rows in the place, in any flow that uses all
    supply. Returns how many older rows find no place, 0 if all do; only then the counts are right. Cost O(rows · edges)
    of the group for each of its edges and places, less where rows go in bulk.
    """
    size = len(network.room)
    flow, load = np.zeros(len(network.older), dtype=np.int64), np.zeros(size, dtype=np.int64)
    search = Search(
        np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.bool_), np.zeros(len(flow) + 1, dtype=np.int64),
    )  # fmt: skip
    homeless = _place_all(network, flow, load, search)
    if homeless > 0:
        return homeless
    kept_flow, kept_load = flow.copy(), load.copy()
    search.changed[0] = 0
    for group in range(len(groups) - 1):
        places = slice(groups[group, 1], groups[group + 1, 1])
        edges = slice(network.older_starts[groups[group, 0]], network.older_starts[groups[group + 1, 0]])
        for place in range(places.start, places.stop):
            fixed[place] = load[place] - _push_out(place, load[place], -1, network, flow, load, search)
            _put_back(network, flow, load, kept_flow, kept_load, edges, places, search.changed)
        for edge in range(edges.start, edges.stop):
            together[edge] = _most_on(edge, network, flow, load, search)
            _put_back(network, flow, load, kept_flow, kept_load, edges, places, search.changed)
    return homeless


@inlined
def _note(edge: int, changed: Int64s) -> None:
    """Note that the flow of an edge was changed. Capacity: it is counted only, once `changed` is full."""
    changed[0] += 1
    if changed[0] < len(changed):
        changed[changed[0]] = edge


@inlined
def _put_back(
    network: Network, flow: Int64s, load: Int64s, kept_flow: Int64s, kept_load: Int64s, edges: slice, places: slice,
    changed: Int64s,
) -> None:  # fmt: skip
    """Put back what was changed: group by group it would take as long as all edges of a group for each of them."""
    if changed[0] >= len(changed):
        flow[edges], load[places] = kept_flow[edges], kept_load[places]
    else:
        for number in range(1, changed[0] + 1):
            edge = changed[number]
            flow[edge] = kept_flow[edge]
            load[network.newer[edge]] = kept_load[network.newer[edge]]
    changed[0] = 0


@inlined
def _place_all(network: Network, flow: Int64s, load: Int64s, search: Search) -> int:
    """Find a flow that uses all supply; return what is left over."""
    homeless = 0
    for place in range(len(network.supply)):
        left = network.supply[place]
        for edge in range(network.older_starts[place], network.older_starts[place + 1]):
            there = network.newer[edge]
            put = min(left, network.room[there] - load[there])
            flow[edge] += put
            load[there] += put
            left -= put
        for edge in range(network.older_starts[place], network.older_starts[place + 1]):
            # The rows go in here, and others go on from here.
            there = network.newer[edge]
            moved = _push_out(there, left, -1, network, flow, load, search)
            flow[edge] += moved
            load[there] += moved
            left -= moved
        homeless += left
    return homeless


@inlined
def _most_on(edge: int, network: Network, flow: Int64s, load: Int64s, search: Search) -> int:
    """Return the most rows on one edge: all of its older place go there, and the others make way as far as they can."""
    place, there = network.older[edge], network.newer[edge]
    for other in range(network.older_starts[place], network.older_starts[place + 1]):
        if other != edge:
            load[network.newer[other]] -= flow[other]
            load[there] += flow[other]
            flow[edge] += flow[other]
            flow[other] = 0
            _note(other, search.changed)
    _note(edge, search.changed)
    over = int64(load[there] - network.room[there])
    if over > 0:
        over -= _push_out(there, over, edge, network, flow, load, search)
    return int64(flow[edge]) - max(0, over)


@inlined
def _push_out(
    start: int, amount: int, spared: int, network: Network, flow: Int64s, load: Int64s, search: Search
) -> int:
    """Move up to `amount` rows out of a newer place to others with room, none on the edge `spared`; return how many.

    Every way that is found carries a row at least. Ends: each way carries a row at least, and leads back to its start.
    """
    left = amount
    while left > 0:
        end = _find_room(start, spared, network, flow, load, search)
        if end < 0:
            break
        most = min(left, network.room[end] - load[end])
        place = end
        while place != start:
            most = min(most, flow[search.moved[place]])
            place = network.newer[search.moved[place]]
        place = end
        while place != start:
            flow[search.came_by[place]] += most
            flow[search.moved[place]] -= most
            _note(search.came_by[place], search.changed)
            _note(search.moved[place], search.changed)
            place = network.newer[search.moved[place]]
        load[start] -= most
        load[end] += most
        left -= most
    return amount - left


@inlined
def _find_room(start: int, spared: int, network: Network, flow: Int64s, load: Int64s, search: Search) -> int:
    """Search breadth first for a place with room, −1 for none. Ends: places come once. Capacity: as many."""
    search.queue[0] = start
    search.met[start] = True
    count = 1
    found = -1
    at = 0
    while at < count and found < 0:
        place = search.queue[at]
        at += 1
        for number in range(network.newer_starts[place], network.newer_starts[place + 1]):
            taken = network.by_newer[number]
            if flow[taken] == 0 or taken == spared:
                continue
            giver = network.older[taken]
            for edge in range(network.older_starts[giver], network.older_starts[giver + 1]):
                there = network.newer[edge]
                if search.met[there]:
                    continue
                search.met[there] = True
                search.came_by[there] = edge
                search.moved[there] = taken
                search.queue[count] = there
                count += 1
                if found < 0 and load[there] < network.room[there]:
                    found = there
    for number in range(count):
        search.met[search.queue[number]] = False
    return found
