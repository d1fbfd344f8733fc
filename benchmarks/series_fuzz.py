"""Small series in every way, attacked over all their worlds by an independent reader of the published files.

POLARS_MAX_THREADS=1 python -m benchmarks.series_fuzz --first 0 --series 5000 --ways append,append-people,grow

Every series has two to four releases of few people. They are published without the recounts that the library makes
before it publishes: these may hide nothing from the reader, and take time. Somebody below the promise is printed with
the way and the number that draws the series again; then the exit code is 1.
"""

from __future__ import annotations

import argparse
import gc
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock, patch

import polars as pl

import sfumato as sf
from benchmarks.series_makers import GrowingMaker, InvariantMaker
from benchmarks.series_recount import (
    NODES,
    Label,
    Person,
    Row,
    TooManyError,
    appended_left,
    dated_left,
    grown_left,
    invariant_surest,
    keeps,
    keeps_people,
    label,
    new_rows,
    people_left,
    rows_of,
)
from sfumato.kernels import jit
from sfumato.numbers import counted
from sfumato.progress import silent
from sfumato.series.ledger import ledger_kept
from sfumato.series.people import tags_of

WAYS = ("append", "append-people", "grow", "m-invariance")
HEADER = ("name", "age", "city", "disease")
SEVERAL = 2
"""Releases from which on a series is counted; of fewer there is nothing to be held together."""
MOST_TRIES = 7
MOST_ROWS = 10
"""Rows of a batch of people with several records."""
GROWING = 14
"""People who come to a growing series."""
SCHEMA = sf.Schema(identifying=["name"], quasi_identifying=["age", "city"], sensitive=["disease"])
BARE = sf.Schema(identifying=["name"], quasi_identifying=["age", "city"], others="drop")
Numbered = tuple[dict[str, str], dict[str, frozenset[str]]]
"""The class of everybody in a release, and the values of each class."""
TREE = sf.Attribute(hierarchy=sf.groups({node: list(cities) for node, cities in NODES.items()}))
VALUES = ("flu", "cold", "gout", "none")


def frame(people: Sequence[Person]) -> pl.DataFrame:
    return pl.DataFrame(people, schema=list(HEADER), orient="row")


def with_wishes(table: pl.DataFrame, wishes: Mapping[str, int]) -> pl.DataFrame:
    own = pl.Series("own", [wishes.get(name) for name in table["name"]], dtype=pl.Int64)
    return table.with_columns(own) if wishes else table


def drawn_people(drawn: random.Random, count: int, values: int) -> list[Person]:
    """Draw people of few ages, so that classes of several months meet."""
    width, cities = drawn.choice((5, 12, 60)), "ABC"[: drawn.randint(1, 3)]
    return [
        (f"p{number}", drawn.randint(20, 19 + width), drawn.choice(cities), drawn.choice(VALUES[:values]))
        for number in range(count)
    ]


def with_each_value(people: Sequence[Person], values: int) -> list[Person]:
    """Deal the values out in turn, so that none has too large a share to begin with."""
    return [(*person[:3], VALUES[number % values]) for number, person in enumerate(people)]


class Fuzz:
    """What was tried, and what came of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outcomes: Counter[str] = Counter()
        self.people: Counter[str] = Counter()
        self.whole: Counter[str] = Counter()
        self.broken: list[str] = []

    def try_one(self, way: str, number: int) -> None:
        """Draw a series, publish it and recount it."""
        drawn, place = random.Random(f"{way} {number}"), self.folder / f"{way}{number}"
        place.mkdir()
        try:
            wrong = list(
                {
                    "append": self._append, "append-people": self._append_people, "grow": self._grow,
                    "m-invariance": self._invariant,
                    "grow-maker": self._grow_alone, "m-invariance-maker": self._invariant_alone,
                }[way](drawn, place)
            )  # fmt: skip
        except TooManyError:
            self.outcomes[f"{way}: too many worlds"] += 1
        else:
            self.broken += [f"{way} {number}: {each}" for each in wrong]
        finally:
            shutil.rmtree(place)

    def _tries(self, drawn: random.Random, releases: Callable[[], int]) -> Iterator[int]:
        """Yield two to four tries, and more while there are fewer than two releases."""
        wanted = drawn.randint(2, 4)
        for number in range(MOST_TRIES):
            if number >= wanted and releases() >= SEVERAL:
                break
            yield number

    def _count(self, way: str, releases: int) -> None:
        self.outcomes[f"{way}: {counted(releases, 'release')}"] += 1
        self.whole[way] += releases >= SEVERAL

    def _models(self, drawn: random.Random) -> tuple[int, int, list[sf.PrivacyModel]]:
        k, l = drawn.choice((2, 2, 3)), drawn.choice((1, 1, 2))  # noqa: E741
        return k, l, [sf.KAnonymity(k), *([sf.DistinctLDiversity(l)] if l > 1 else [])]

    def _append(self, drawn: random.Random, place: Path) -> Iterator[str]:
        k, l, models = self._models(drawn)  # noqa: E741
        everybody, wishes = drawn_people(drawn, 30, drawn.randint(1, 4)), dict[str, int]()
        schema = SCHEMA
        if drawn.random() < 0.3:
            schema, wishes = replace(SCHEMA, wished_k="own"), self._wishes(drawn, everybody)
        series, waiting, batches = sf.Series.start(place / "s", schema, models), list[Person](), list[list[Person]]()
        for _ in self._tries(drawn, lambda: len(batches)):
            count = drawn.randint(1, 8 - len(waiting))
            waiting, everybody = [*waiting, *everybody[:count]], everybody[count:]
            table = with_wishes(frame(waiting[-count:]), wishes)
            step = series.append(table, seed=drawn.randrange(2**31), threads=1, progress=silent)
            if step.number is not None:
                batches.append(waiting)
                waiting = []
            elif len(waiting) == 8:
                break
        releases = [rows_of(path) for path in series.releases]
        gone = self._withdrawn(drawn, series, [person for batch in batches for person in batch])
        before: list[dict[str, str]] = []
        for batch, rows in zip(batches, releases, strict=True):
            for person, left in zip(batch, appended_left(batch, new_rows(before, rows), gone), strict=True):
                self.people["append"] += 1
                wished = max(k, wishes.get(person[0], 1))
                if not keeps(left, wished, l):
                    yield f"{dict(left)} left, promised k={wished}, l={l}"
            before = rows
        self._count("append", len(series.releases))

    def _wishes(self, drawn: random.Random, people: Sequence[Person]) -> dict[str, int]:
        self.outcomes["append: with wishes"] += 1
        return {person[0]: drawn.choice((2, 3, 4, 5)) for person in people if drawn.random() < 0.2}

    def _append_people(self, drawn: random.Random, place: Path) -> Iterator[str]:
        """Publish people with several records, some of whom come again, and some of whom wish for a k."""
        k, l, models = self._models(drawn)  # noqa: E741
        people = drawn_people(drawn, 30, drawn.randint(1, 4))
        wishes = self._wishes(drawn, people) if drawn.random() < 0.3 else {}
        schema = replace(SCHEMA, identifying=(), person="name", wished_k="own" if wishes else None)
        series = sf.Series.start(place / "s", schema, models)
        waiting, batches = dict[str, list[Person]](), list[dict[str, list[Person]]]()
        for _ in self._tries(drawn, lambda: len(batches)):
            coming, people = people[: drawn.randint(1, 4)], people[4:]
            table = [record for person in coming for record in self._stays(drawn, person)]
            there = [person for batch in (waiting, *batches) for person in batch.values()]
            # Who waits brings more records, and who was published is left out.
            table += [record for stays in there if drawn.random() < 0.2 for record in self._stays(drawn, stays[0])]
            published = {name for batch in batches for name in batch}
            room, kept = MOST_ROWS - sum(map(len, waiting.values())), [each for each in table if each[0] in published]
            # With more rows there are too many worlds to go through.
            for record in [each for each in table if each[0] not in published][:room]:
                kept.append(record)
                waiting.setdefault(record[0], []).append(record)
            if len(waiting) == 0 or room == 0:
                break
            seed = drawn.randrange(2**31)
            step = series.append(
                with_wishes(frame(kept), wishes), seed=seed, threads=1, progress=silent, leave_out_known=True
            )
            if step.number is not None:
                batches.append(waiting)
                waiting = {}
        releases = [rows_of(path) for path in series.releases]
        everybody = [stays[0] for batch in batches for stays in batch.values()]
        gone, before = self._withdrawn(drawn, series, everybody), list[dict[str, str]]()
        for batch, rows in zip(batches, releases, strict=True):
            for name, left in people_left(batch, new_rows(before, rows), gone).items():
                self.people["append-people"] += 1
                wished = max(k, wishes.get(name, 1))
                if not keeps_people(left, k, wished, l):
                    yield f"{name}: {left} left, promised k={k}, wished {wished}, l={l}"
            before = rows
        self._count("append-people", len(series.releases))

    def _stays(self, drawn: random.Random, person: Person) -> list[Person]:
        """Draw one to three records of a person, who may have grown older, moved, and have other values."""
        return [
            (person[0], person[1] + drawn.choice((0, 0, 1)), drawn.choice((person[2], "A")), drawn.choice(VALUES))
            for _ in range(drawn.choice((1, 1, 2, 3)))
        ]

    def _withdrawn(self, drawn: random.Random, series: sf.Series, inside: Sequence[Person]) -> dict[str, set[Label]]:
        """Let somebody withdraw, sometimes; return the labels that are known of those who did."""
        if not inside or drawn.random() < 0.5:
            return {}
        names = [person[0] for person in drawn.sample(list(inside), min(len(inside), drawn.randint(1, 2)))]
        try:
            series.withdraw(names, most_lost=1, seed=drawn.randrange(2**31))
        except sf.UnsatisfiableError:
            return {}
        older, newer = (rows_of(path) for path in series.releases[-2:])
        labels = {label(row) for row in new_rows(newer, older)}
        self.outcomes["append: withdrawals"] += 1
        return dict.fromkeys(names, labels)

    def _grow(self, drawn: random.Random, place: Path) -> Iterator[str]:
        schema, models, everybody, (k, l) = self._growing(drawn)  # noqa: E741
        series = sf.Series.start(place / "s", schema, models, way="grow", progress=silent)
        for _ in self._tries(drawn, lambda: len(series.releases)):
            count = drawn.randint(1, 5)
            batch, everybody = everybody[:count], everybody[count:]
            if batch:
                series.grow(frame(batch), seed=drawn.randrange(2**31), threads=1, progress=silent)
        releases = [rows_of(path) for path in series.releases]
        classes = self._classes(series, [f"p{number}" for number in range(GROWING)], releases)
        yield from self._read_grown("grow", releases, classes, k, l)

    def _grow_alone(self, drawn: random.Random, _: Path) -> Iterator[str]:
        schema, models, everybody, (k, l) = self._growing(drawn)  # noqa: E741
        maker, end = GrowingMaker(everybody, schema, models), 0
        for _ in self._tries(drawn, lambda: len(maker.releases)):
            count = drawn.randint(1, 5)
            if end < len(everybody):
                end = min(len(everybody), end + count)
                maker.grow(end)
        yield from self._read_grown("grow-maker", maker.releases, maker.places(), k, l)

    def _growing(self, drawn: random.Random) -> tuple[sf.Schema, list[sf.PrivacyModel], list[Person], tuple[int, int]]:
        """Draw roles, models and people of a growing series; also return what is promised."""
        k, l, models = self._models(drawn)  # noqa: E741
        values = drawn.randint(1, 3)
        everybody = drawn_people(drawn, GROWING, values)
        # With one value, half of the series publish no values at all, but exact months of arrival.
        schema = BARE if values == 1 and l == 1 and drawn.random() < 0.5 else SCHEMA
        if drawn.random() < 0.3:
            everybody = [(name, age, drawn.choice("ABCD"), value) for name, age, _, value in everybody]
            schema = replace(schema, quasi_identifying={"age": sf.Attribute(), "city": TREE})
            self.outcomes["grow: with a hierarchy"] += 1
        return schema, models, everybody, (k, l)

    def _read_grown(
        self, way: str, releases: Sequence[Sequence[Row]], classes: Sequence[Mapping[str, Label]], k: int, least: int
    ) -> Iterator[str]:
        for name, left in grown_left(releases, classes):
            self.people[way] += 1
            if not keeps(left, k, least):
                yield f"{name}: {dict(left)} left, promised k={k}, l={least}"
        yield from self._with_months(releases, classes, k, least)
        self._count(way, len(releases))

    def _with_months(
        self, releases: Sequence[Sequence[Row]], classes: Sequence[Mapping[str, Label]], k: int, least: int
    ) -> Iterator[str]:
        """Count what all releases leave together, and what classes say of arrivals."""
        if len(releases) < SEVERAL:
            return
        exact = not any(row["disease"] for rows in releases for row in rows)
        asked = f"grow: {'nothing' if exact else 'values'} published, l={least}"
        try:
            for name, left in dated_left(releases, classes, exact_months=exact):
                if not keeps(left, k, least):
                    yield f"{name}: {dict(left)} left with months, promised k={k}, l={least}"
        except TooManyError:
            self.outcomes[f"{asked}, too many worlds of all releases"] += 1
        else:
            self.outcomes[f"{asked}, worlds of all releases"] += 1

    def _classes(
        self, series: sf.Series, names: Sequence[str], releases: Sequence[Sequence[dict[str, str]]]
    ) -> list[dict[str, Label]]:
        """Return in which class everybody really is: the ledger knows."""
        ledger = ledger_kept(series)
        name_of = dict(zip(tags_of(pl.Series(names), ledger.key).to_list(), names, strict=True))
        found = []
        for rows, there in zip(releases, ledger.people(), strict=True):
            labels = sorted({label(row) for row in rows})
            numbers = zip(there.tags.to_list(), there.class_of.tolist(), strict=True)
            found.append({name_of[tag]: labels[number] for tag, number in numbers})
        return found

    def _invariant(self, drawn: random.Random, place: Path) -> Iterator[str]:
        series: sf.Series | None = None

        def published(people: Sequence[Person], m: int) -> Numbered:
            nonlocal series
            if series is None:
                models = [sf.KAnonymity(m), sf.DistinctLDiversity(m), sf.ProbabilisticLDiversity(m)]
                series = sf.Series.start(
                    place / "s", SCHEMA, models, table=frame(people), way="m-invariance", progress=silent
                )
            else:
                series.republish(frame(people), most_counterfeits=0.8, seed=1, progress=silent)
            return self._numbered(series, people)

        return self._come_and_go("m-invariance", drawn, lambda everybody, m: lambda people: published(people, m))

    def _invariant_alone(self, drawn: random.Random, _: Path) -> Iterator[str]:
        return self._come_and_go(
            "m-invariance-maker", drawn, lambda everybody, m: InvariantMaker(everybody, SCHEMA, m).republish
        )

    def _come_and_go(
        self,
        way: str,
        drawn: random.Random,
        begun: Callable[[list[Person], int], Callable[[Sequence[Person]], Numbered]],
    ) -> Iterator[str]:
        """Let people come, leave, come back and move; read what is published of them."""
        m = drawn.choice((2, 2, 3))
        values = m + drawn.randint(0, 1)
        inside = with_each_value(drawn_people(drawn, values * drawn.randint(2, 9 // values), values), values)
        outside = [(f"q{person[0]}", *person[1:]) for person in drawn_people(drawn, 12, values)]
        republish, seen = begun([*inside, *outside], m), list[Numbered]()
        for _ in self._tries(drawn, lambda: len(seen)):
            try:
                seen.append(republish(inside))
            except sf.UnsatisfiableError:
                self.outcomes[f"{way}: refused"] += 1
            gone = drawn.sample(inside, min(len(inside) - 1, drawn.randint(0, 2)))
            inside = [person for person in inside if person not in gone]
            if drawn.random() < 0.4:
                # Quasi-identifying values may change.
                inside = [(name, drawn.randint(20, 60), city, value) for name, _, city, value in inside]
            back = drawn.sample(outside, min(len(outside), drawn.randint(0, 3)))
            outside = [person for person in (*outside, *gone) if person not in back]
            inside = (inside + back)[:9]
        if not seen:
            return
        self.people[way] += len({name for class_of, _ in seen for name in class_of})
        surest = invariant_surest(seen)
        if surest * m > 1:
            yield f"a value is known with {surest}, promised 1/{m}"
        self._count(way, len(seen))

    def _numbered(self, series: sf.Series, people: Sequence[Person]) -> Numbered:
        ledger, values = ledger_kept(series), dict[str, set[str]]()
        for row in rows_of(series.releases[-1]):
            values.setdefault(row["class_number"], set()).add(row["disease"])
        tags = tags_of(pl.Series([person[0] for person in people]), ledger.key).to_list()
        there = ledger.people()[-1]
        known = dict(zip(there.tags.to_list(), map(str, there.class_of.tolist()), strict=True))
        class_of = {person[0]: known[tag] for person, tag in zip(people, tags, strict=True)}
        return class_of, {name: frozenset(each) for name, each in values.items()}


def main(words: Sequence[str] | None = None) -> int:
    """Try series from a number on, and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--series", type=int, default=100, help="of each way, of two releases or more")
    parser.add_argument(
        "--ways", default=",".join(WAYS), help="also grow-maker, m-invariance-maker: classes that no folder is made of"
    )
    parser.add_argument("--pause", type=Path, help="wait while this file is there")
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        fuzz = Fuzz(Path(folder))
        number = asked.first
        while waiting := [way for way in asked.ways.split(",") if fuzz.whole[way] < asked.series]:
            while asked.pause is not None and asked.pause.exists():
                time.sleep(5)
            for way in waiting:
                fuzz.try_one(way, number)
            number += 1
            if number % 100 == 0:
                _tell(fuzz, number - 1)
        _tell(fuzz, number - 1)
    return 1 if fuzz.broken else 0


def _tell(fuzz: Fuzz, number: int) -> None:
    print(
        f"up to {number}: {len(fuzz.broken)} below the promise in {dict(fuzz.whole)} series of two releases or more; "
        f"people and cases: {dict(fuzz.people)}"
    )
    print("  " + "; ".join(f"{what} {count:,}" for what, count in sorted(fuzz.outcomes.items())), flush=True)
    for wrong in fuzz.broken[:20]:
        print("  BROKEN", wrong, flush=True)


if __name__ == "__main__":
    # What is loaded stays; looking through it again and again would take a tenth of the time.
    gc.freeze()
    with jit.always("compiled"), patch.multiple("sfumato.series.step", _recount=Mock(), _attest=Mock()):
        sys.exit(main())
