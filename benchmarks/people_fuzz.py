"""Small tables x every way to count people x every model, recounted by an independent reader.

POLARS_MAX_THREADS=1 python -m benchmarks.people_fuzz --first 0 --tables 20000

A run is one release of one table in one way under one promise. Every run goes through the library up to the published
table, and what is published is recounted from who is who. The library's own recount, which refuses a broken release
before anybody sees it, stands guard in one run of each table and way alone (``--guarded`` for all): what the others
find broken is a fault of a method, and not yet of a release.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

import polars as pl

import sfumato as sf
from benchmarks.people_recount import Row, broken
from benchmarks.people_tables import QUASI, SENSITIVE, TREES, DrawnTable, drawn_table, schema_with
from sfumato.anonymizers import ANONYMIZERS
from sfumato.models.protocol import PrivacyModel
from sfumato.policy.policy import Policy
from sfumato.release.anonymize import made
from sfumato.release.generalizing import solved_task
from sfumato.release.task import Task

KS = (1, 2, 2, 3, 5)
LIMITS = (0.0, 0.0, 0.1, 0.3)


@dataclass(frozen=True)
class Way:
    """A method, and whether the records of a person lie together."""

    method: str
    rows: str

    @cached_property
    def decides(self) -> bool:
        """Whether it needs a hierarchy for every attribute."""
        return ANONYMIZERS[self.method]().decides_regions


@cache
def ways() -> tuple[Way, ...]:
    """Return every method that counts people, in each form that it has."""
    together = [Way(name, "together") for name, each in ANONYMIZERS.items() if not each().decides_regions]
    apart = [Way(name, "apart") for name, each in ANONYMIZERS.items() if getattr(each, "people_apart", False)]
    return (*together, *apart)


@cache
def promises(k: int) -> tuple[tuple[PrivacyModel, ...], ...]:
    """Return every model that counts people, each with k people as well where it does not ask for them itself."""
    people = sf.KAnonymity(k)
    return (
        (people,),
        (sf.KAnonymity(k, shares=False),),
        (sf.AlphaKAnonymity(0.7, k),),
        (people, sf.DistinctLDiversity(2)),
        (people, sf.EntropyLDiversity(1.7, attribute="ill")),
        (people, sf.ProbabilisticLDiversity(1.6, attribute="ill")),
        (people, sf.RecursiveLDiversity(2.0, 2, attribute="num")),
        (people, sf.TCloseness(0.4)),
        (people, sf.BasicBetaLikeness(2.5)),
        (people, sf.EnhancedBetaLikeness(2.5, attribute="ill")),
        (people, sf.DeltaDisclosure(2.5, attribute="num")),
        (people, sf.GuardedValues(["x"], 0.7, "ill")),
        (sf.SubsetKAnonymity(k, 2),),
        (sf.WildcardKAnonymity(k),),
        (
            sf.KAnonymity(k, shares=False),
            sf.ProbabilisticLDiversity(1.5, attribute="num"),
            sf.TCloseness(0.5, attribute="num"),
        ),
    )


@cache
def policy(way: Way, k: int, place: int, limit: float, suppressed: str, tree_of_days: bool) -> Policy:
    """Return the policy of a run."""
    some = {name: TREES[name] if way.decides or (name == "day" and tree_of_days) else None for name in QUASI}
    recoding = sf.Recoding(suppressed=suppressed)
    settings = (ANONYMIZERS[way.method](), recoding, limit, 0, sf.People(rows=way.rows))
    return Policy.of(schema_with(some), promises(k)[place], *settings)


def published(table: DrawnTable, way: Way, asked: Policy, seed: int | None, guarded: bool) -> pl.DataFrame:
    """Return the published table; what the library recounts itself only where it is asked to."""
    read, codes = table.with_trees if way.decides else table.plain
    task = Task(read, asked, seed=seed, threads=1, read=codes)
    if guarded:
        return made(task).data
    solved = solved_task(task, task.anonymizer)
    return task.engine.write(solved.generalized, read, solved.order, threads=1).data


def rows_of(data: pl.DataFrame, table: DrawnTable) -> list[Row]:
    """Return what a reader sees, and who is who."""
    shown = zip(*(data[name].cast(pl.String).fill_null("").to_list() for name in QUASI), strict=True)
    values = zip(*(data[name].to_list() for name in SENSITIVE), strict=True)
    owners = (table.people[row] for row in data["row"])
    return list(zip(owners, shown, values, strict=True))


def wrongs(rows: Sequence[Row], table: DrawnTable, way: Way, asked: Policy) -> Iterator[str]:
    """Yield what a published table breaks: models, whole people, the limit of suppression."""
    for model in asked.to_models():
        if wrong := broken({"name": model.name, **model.parameters()}, rows, SENSITIVE):
            yield wrong
    classes = defaultdict(set)
    for person, shown, _ in rows:
        classes[person].add(shown)
    if way.rows == "together" and any(len(each) > 1 for each in classes.values()):
        yield "somebody's records lie apart"
    before, after = Counter(table.people), Counter(person for person, _, _ in rows)
    if any(after[person] != before[person] for person in after):
        yield "somebody is published in part"
    limit = asked.suppression_limit + 1e-9
    if len(rows) < len(table.people) * (1 - limit) or len(after) < len(before) * (1 - limit):
        yield "more is left out than may be"


@dataclass
class Fuzz:
    """What was run, and what came of it."""

    ways: Sequence[Way]
    guarded: bool = False
    outcomes: Counter[str] = field(default_factory=Counter)
    released: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: set[tuple[Way, int, bool]] = field(default_factory=set)

    def try_table(self, number: int) -> None:
        """Release a table in every way under every promise."""
        table = drawn_table(number)
        k, limit = KS[number % len(KS)], LIMITS[number // 2 % len(LIMITS)]
        suppressed = "star" if number % 7 == 0 else "remove"
        for turn, way in enumerate(self.ways):
            for place in range(len(promises(k))):
                asked = policy(way, k, place, limit, suppressed, table.tree_of_days)
                if (way, place, limit > 0) not in self.refused:
                    watched = self.guarded or place == (number + turn) % len(promises(k))
                    self._try(table, number, way, place, asked, watched)

    def _try(self, table: DrawnTable, number: int, way: Way, place: int, asked: Policy, guarded: bool) -> None:
        seed = None if number % 3 else number
        try:
            data = published(table, way, asked, seed, guarded)
        except sf.UnsatisfiableError:
            self.outcomes["no release"] += 1
        except sf.PolicyError:
            self.refused.add((way, place, asked.suppression_limit > 0))
        except Exception as error:
            self._tell("FAILED", number, way, place, f"{type(error).__name__}: {error}")
        else:
            self.outcomes["released"] += 1
            self.released[way.method, way.rows] += 1
            for wrong in wrongs(rows_of(data, table), table, way, asked):
                self._tell("BROKEN", number, way, place, wrong)

    def _tell(self, what: str, number: int, way: Way, place: int, why: str) -> None:
        self.outcomes[what] += 1
        print(f"{what} table {number}, {way.method}, rows {way.rows}, promise {place}: {why}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tables that were asked for; 1 if anything was broken or failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.people_fuzz")
    parser.add_argument("--first", type=int, default=0, help="number of the first table")
    parser.add_argument("--tables", type=int, default=20, help="how many tables")
    parser.add_argument("--guarded", action="store_true", help="let the library recount every run, too")
    parser.add_argument("--methods", help="only these, such as mondrian,optimal; by default all")
    words = parser.parse_args(arguments)
    chosen = [way for way in ways() if words.methods is None or way.method in words.methods.split(",")]
    fuzz, start = Fuzz(chosen, words.guarded), time.process_time()
    for done in range(1, words.tables + 1):
        fuzz.try_table(words.first + done - 1)
        if done % 10 == 0 or done == words.tables:
            print(_line(fuzz, done, time.process_time() - start), flush=True)
    print({f"{method}, {rows}": count for (method, rows), count in fuzz.released.items()})
    return 1 if fuzz.outcomes["BROKEN"] or fuzz.outcomes["FAILED"] else 0


def _line(fuzz: Fuzz, tables: int, seconds: float) -> str:
    runs = fuzz.outcomes["released"] + fuzz.outcomes["no release"]
    return f"{tables:,} tables, {runs:,} runs, {1000 * seconds / max(runs, 1):.1f} ms each: {dict(fuzz.outcomes)}"


if __name__ == "__main__":
    sys.exit(main())
