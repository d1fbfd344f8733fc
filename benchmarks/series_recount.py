"""What small series tell, counted over all worlds by a reader that has nothing of the library but the published files.

A *world* says which row of every release is whose, so that everything published fits. People are known by their
quasi-identifying values and by the release with which they came (append), by that and by their real classes (grow), or
by the classes of everybody (m-invariance).
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

Row = dict[str, str]
Person = tuple[str, int, str, str]
Label = tuple[str, ...]
Left = Counter[str]
"""Rows that are left to somebody, by value."""
NODES = {"north": "AB", "south": "CD"}
"""Nodes of a hierarchy of cities."""
MOST_WORLDS = 200_000


class TooManyError(Exception):
    """A series has more worlds than are gone through."""


def rows_of(release: Path) -> list[Row]:
    with (release / "data.csv").open(newline="", encoding="utf-8") as file:
        # A release of which nothing is published beside its classes has one value.
        return [{"disease": "", **row} for row in csv.DictReader(file)]


def ends(label: str) -> tuple[float, float]:
    """Return the ends of an interval of whole numbers, or a number twice."""
    low, _, high = label.strip("[])").partition("..")
    return float(low), float(high or low) - (1 if label.endswith(")") else 0)


def members(label: str) -> frozenset[str]:
    if label in NODES:
        return frozenset(NODES[label])
    return frozenset(label[1:-1].split("|") if label.startswith("{") else [label])


def covers(row: Row, person: Person) -> bool:
    """Tell whether a row publishes what somebody's quasi-identifying values are."""
    (low, high), age = (20, 90) if row["age"] == "*" else ends(row["age"]), person[1]
    return low <= age <= high and (row["city"] == "*" or person[2] in members(row["city"]))


def label(row: Row) -> Label:
    return row["age"], row["city"], row.get("arrived", "")


def keeps(left: Left, k: int, l: int) -> bool:  # noqa: E741
    return sum(left.values()) >= k and sum(rows > 0 for rows in left.values()) >= l


def new_rows(older: Sequence[Row], newer: Sequence[Row]) -> list[Row]:
    """Return the rows of the newer release that the older one does not have."""
    before = Counter(tuple(sorted(row.items())) for row in older)
    fresh = []
    for row in newer:
        key = tuple(sorted(row.items()))
        if before[key]:
            before[key] -= 1
        else:
            fresh.append(row)
    return fresh


def appended_left(batch: Sequence[Person], rows: Sequence[Row], gone: Mapping[str, set[Label]]) -> list[Left]:
    """Count the rows that all worlds of a batch leave to each of its people.

    A world gives every person a row of the batch. `gone` has the labels that somebody's row can have, where it is known
    by a withdrawal.
    """
    may = [
        [
            1 << place
            for place, row in enumerate(rows)
            if covers(row, person) and (person[0] not in gone or label(row) in gone[person[0]])
        ]
        for person in batch
    ]
    return [Counter(rows[place.bit_length() - 1]["disease"] for place in found) for found in worlds_of(may, len(rows))]


def worlds_of(may: Sequence[Sequence[int]], rows: int) -> list[dict[int, int]]:
    """Return for each person which sets of rows can be the person's, and in how many worlds each is.

    `may` has sets of rows, as bits, that each person may have; a world gives every row to one person. All are gone
    through by sets of rows: those that the first people can have together, and those that the last ones can.
    """
    everything = (1 << rows) - 1
    first: list[Counter[int]] = [Counter({0: 1})]
    for own in may:
        found: Counter[int] = Counter()
        for taken, worlds in first[-1].items():
            for mine in own:
                if not taken & mine:
                    found[taken | mine] += worlds
        first.append(found)
    last: list[Counter[int]] = [Counter({everything: 1})]
    for own in reversed(may):
        found = Counter()
        for taken, worlds in last[-1].items():
            for mine in own:
                if taken & mine == mine:
                    found[taken & ~mine] += worlds
        last.append(found)
    last.reverse()
    assert first[-1][everything], "no world fits"
    counted = [
        {mine: sum(first[place][taken] * last[place + 1][taken | mine] for taken in first[place] if not taken & mine)
         for mine in own}
        for place, own in enumerate(may)
    ]  # fmt: skip
    return [{mine: worlds for mine, worlds in each.items() if worlds} for each in counted]


class PersonLeft(NamedTuple):
    """What all worlds of a batch leave to a person with several records.

    `surest` is the largest share of the worlds in which some row is the person's, `people` are those who can have one
    of the rows that the person can have, and `values` the values of these rows.
    """

    surest: Fraction
    people: frozenset[str]
    values: frozenset[str]


def keeps_people(left: PersonLeft, k: int, wished: int, l: int) -> bool:  # noqa: E741
    return left.surest * k <= 1 and len(left.people) >= wished and len(left.values) >= l


def people_left(
    batch: Mapping[str, Sequence[Person]], rows: Sequence[Row], gone: Mapping[str, set[Label]]
) -> dict[str, PersonLeft]:
    """Count what all worlds of a batch leave to each of its people, whose records are all known.

    A world gives every record a row that covers it, and all records of a person rows of one class.
    """
    places = defaultdict(list)
    for place, row in enumerate(rows):
        places[label(row)].append(place)
    may = [
        [
            sum(1 << place for place in chosen)
            for name, there in places.items()
            if all(covers(rows[there[0]], record) for record in records)
            and (person not in gone or name in gone[person])
            for chosen in combinations(there, len(records))
        ]
        for person, records in batch.items()
    ]
    worlds = worlds_of(may, len(rows))
    owners: list[set[str]] = [set() for _ in rows]
    for person, found in zip(batch, worlds, strict=True):
        for place, own in enumerate(owners):
            if any(mine >> place & 1 for mine in found):
                own.add(person)
    left = {}
    for person, found in zip(batch, worlds, strict=True):
        total = sum(found.values())
        chances = [sum(count for mine, count in found.items() if mine >> place & 1) for place in range(len(rows))]
        mine = [place for place, chance in enumerate(chances) if chance]
        left[person] = PersonLeft(
            Fraction(max(chances), total),
            frozenset().union(*(owners[place] for place in mine)),
            frozenset(rows[place]["disease"] for place in mine),
        )
    return left


def common(labels: Sequence[Label], came: int) -> bool:
    """Tell whether one record, of somebody who came with a release, can have all of these labels."""
    low, high, cities = 20.0, 90.0, None
    for age, city, arrived in labels:
        if age != "*":
            low, high = max(low, ends(age)[0]), min(high, ends(age)[1])
        if city != "*":
            cities = members(city) if cities is None else cities & members(city)
        if arrived and not ends(arrived)[0] <= came <= ends(arrived)[1]:
            return False
    return low <= high and cities != frozenset()


class GrownWorlds:
    """All worlds of some releases that hold everybody so far, value by value, as rows keep their value.

    A world says how many rows of each value take each trail: the labels of one person from the release on with which
    the person came. With `dated`, only worlds count in which nobody comes into a class that holds nobody new; with
    `exact`, somebody came in both of the months that a class names.
    """

    def __init__(
        self, releases: Sequence[Sequence[Row]], numbers: Sequence[int], *, dated: bool = False, exact: bool = False
    ) -> None:
        self.numbers, self.dated, self.exact = numbers, dated, exact
        self.counts = [Counter((row["disease"], label(row)) for row in release) for release in releases]
        self.values = sorted({value for value, _ in self.counts[-1]})
        self.cache: dict[str, list[Mapping[tuple[Label, ...], int]]] = {}

    def worlds(self, value: str) -> list[Mapping[tuple[Label, ...], int]]:
        """Return for each world how many rows of a value take each trail."""
        if value not in self.cache:
            self.cache[value] = list(self._from(0, {}, value, [0]))
        return self.cache[value]

    def _from(
        self, place: int, trails: dict[tuple[Label, ...], int], value: str, seen: list[int]
    ) -> Iterator[Mapping[tuple[Label, ...], int]]:
        if place == len(self.counts):
            yield trails
            return
        room = {name: rows for (each, name), rows in self.counts[place].items() if each == value}
        for placed, left in self._placed(sorted(trails.items()), room, place):
            seen[0] += 1
            if seen[0] > MOST_WORLDS:
                raise TooManyError
            open_to_all = not self.dated
            fresh = {
                (name,): rows for name, rows in left.items() if rows and (open_to_all or self._may_come(name, place))
            }
            if len(fresh) < sum(rows > 0 for rows in left.values()):
                continue
            came = {(*self._before(place), *key): rows for key, rows in fresh.items()}
            yield from self._from(place + 1, {**placed, **came}, value, seen)

    def _before(self, place: int) -> tuple[Label, ...]:
        return ((),) * place

    def _may_come(self, name: Label, place: int) -> bool:
        return any(common([name], came) for came in self._months(place))

    def _months(self, place: int) -> range:
        """Return the releases with which somebody can have come who is first seen here."""
        return range(self.numbers[place - 1] + 1 if place else 1, self.numbers[place] + 1)

    def _goes(self, trail: tuple[Label, ...], name: Label) -> bool:
        first = next(number for number, each in enumerate(trail) if each)
        shown = [each for each in (*trail, name) if each]
        return any(common(shown, came) for came in self._months(first))

    def _placed(
        self, trails: Sequence[tuple[tuple[Label, ...], int]], room: dict[Label, int], place: int
    ) -> Iterator[tuple[dict[tuple[Label, ...], int], dict[Label, int]]]:
        """Yield every way to let rows of some trails go on into classes with so much room."""
        if not trails:
            yield {}, room
            return
        (trail, rows), *others = trails
        names = [name for name in room if self._goes(trail, name)]
        for shares in _shares(rows, [room[name] for name in names]):
            left = dict(room)
            for name, share in zip(names, shares, strict=True):
                left[name] -= share
            mine = {(*trail, name): share for name, share in zip(names, shares, strict=True) if share}
            for placed, after in self._placed(others, left, place):
                yield {**mine, **placed}, after

    def left(self, trail: Sequence[Label | None]) -> Left:
        """Return the most rows of each value that take a trail at once; None: whatever, and () before somebody came."""
        found: Left = Counter()
        for value in self.values:
            worlds = self.worlds(value)
            assert worlds, "no world fits"
            found[value] = max(
                sum(
                    rows
                    for names, rows in world.items()
                    if all(asked is None or asked == name for asked, name in zip(trail, names, strict=True))
                )
                for world in worlds
            )
        return found

    def possible(self, trail: Sequence[Label]) -> Left:
        """Return the rows of each value that can be somebody's who took a trail: the fewest of any release on it.

        Where both ends of what a class says of arrivals are somebody's, of whatever value, worlds of all values are put
        together so that everybody is there.
        """
        wanted = frozenset(
            (place, name, end)
            for place, rows in enumerate(self.counts)
            for _, name in rows
            for end in {int(each) for each in ends(name[2]) if self.exact}
        )
        found: Left = Counter()
        for value in self.values:
            mine = {self._there(world) for world in self.worlds(value) if world.get(tuple(trail))}
            others = [{self._there(world) for world in self.worlds(other)} for other in self.values if other != value]
            if wanted in _together([mine, *others]):
                rows = [self.counts[place][value, name] for place, name in enumerate(trail) if name]
                found[value] = min(rows)
        return found

    def _there(self, world: Mapping[tuple[Label, ...], int]) -> frozenset[tuple[int, Label, int]]:
        """Return which ends of arrivals somebody of a world has: release, class and month. All releases are there."""
        found = set()
        for trail in world:
            first = next(place for place, name in enumerate(trail) if name)
            found |= {
                (place, name, first + 1)
                for place, name in enumerate(trail)
                if self.exact and name and first + 1 in {int(each) for each in ends(name[2])}
            }
        return frozenset(found)


def _together(sets: Sequence[set[frozenset[tuple[int, Label, int]]]]) -> set[frozenset[tuple[int, Label, int]]]:
    """Return the unions of one set of each collection."""
    found: set[frozenset[tuple[int, Label, int]]] = {frozenset()}
    for each in sets:
        found = {one | other for one in found for other in each}
        if len(found) > MOST_WORLDS:
            raise TooManyError
    return found


@cache
def _all_shares(rows: int, rooms: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    if not rooms:
        return ((),) if rows == 0 else ()
    return tuple(
        (share, *others) for share in range(min(rows, rooms[0]) + 1) for others in _all_shares(rows - share, rooms[1:])
    )


def _shares(rows: int, rooms: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    return _all_shares(rows, tuple(rooms))


def grown_left(releases: Sequence[Sequence[Row]], classes: Sequence[Mapping[str, Label]]) -> Iterator[tuple[str, Left]]:
    """Yield what is left to everybody by each two releases, and along the whole way: rows of the real classes, at once.

    Along a way no more rows of a value are left than by any step of it.
    """
    way: dict[str, Left] = {}
    for newer in range(1, len(releases)):
        for older in range(newer):
            worlds = GrownWorlds([releases[older], releases[newer]], [older + 1, newer + 1])
            for name in classes[newer]:
                left = worlds.left([classes[older].get(name, ()), classes[newer][name]])
                yield name, left
                if older == newer - 1:
                    way[name] = left & way.get(name, left)
        yield from way.items()


def dated_left(
    releases: Sequence[Sequence[Row]], classes: Sequence[Mapping[str, Label]], *, exact_months: bool
) -> Iterator[tuple[str, Left]]:
    """Yield what is left to everybody by all releases together: rows that can be the person's at all, and at once.

    A class whose people came until some month holds nobody who came later. With `exact_months` both months that it
    names are those of somebody in it, as the algorithm is known.
    """
    for last in range(1, len(releases)):
        worlds = GrownWorlds(releases[: last + 1], range(1, last + 2), dated=True, exact=exact_months)
        for name in classes[last]:
            trail = [each.get(name, ()) for each in classes[: last + 1]]
            yield name, worlds.possible(trail)
            if not exact_months:
                yield name, worlds.left(trail)


def invariant_surest(releases: Sequence[tuple[Mapping[str, str], Mapping[str, frozenset[str]]]]) -> Fraction:
    """Return how sure somebody can be of somebody's value: the largest share of the worlds that have it.

    For each release the class of each person, and the values of each class, are known.
    """
    names = sorted({name for class_of, _ in releases for name in class_of})
    worlds: list[dict[str, str]] = [{}]
    for name in names:
        mine = [(class_of, values) for class_of, values in releases if name in class_of]
        open_values = set.intersection(*(set(values[class_of[name]]) for class_of, values in mine))
        grown = []
        for world in worlds:
            for value in open_values:
                if not any(
                    class_of.get(other) == class_of[name] and world[other] == value
                    for class_of, _ in mine
                    for other in world
                ):
                    grown.append({**world, name: value})
        worlds = grown
        if len(worlds) > MOST_WORLDS:
            raise TooManyError
    assert worlds, "no world fits"
    return max(
        Fraction(most, len(worlds)) for name in names for most in [max(Counter(w[name] for w in worlds).values())]
    )
