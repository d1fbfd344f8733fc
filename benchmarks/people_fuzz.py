"""Small tables x every way to count people x every model, recounted by an independent reader.

POLARS_MAX_THREADS=1 python -m benchmarks.people_fuzz --first 0 --tables 20000 --processes 2 --log people.log

A run is one release of one table in one way under one promise. Every run goes through the library up to the published
table, and what is published is recounted from who is who. The library's own recount, which refuses a broken release
before anybody sees it, stands guard in one run of each way on every tenth table alone (``--guarded`` for all): what the
others find broken is a fault of a method, and not yet of a release. Kernels run compiled unless ``SFUMATO_KERNELS``
says otherwise, which changes no result.

What is equal is done once: a table is read once, and what two releases of it publish alike is recounted once for each
model. Every line of the log is about tables that were run in full, so that a study can go on where it ended.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.people_recount import Row, broken
from benchmarks.people_tables import QUASI, SENSITIVE, TREES, DrawnTable, drawn_table, schema_with
from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.protocol import Anonymizer
from sfumato.models.protocol import PrivacyModel
from sfumato.policy.policy import Policy
from sfumato.release.anonymize import made, solved_task
from sfumato.release.task import Task

KS = (1, 2, 2, 3, 5)
LIMITS = (0.0, 0.0, 0.1, 0.3)
GUARDED_TABLES = 10
"""A way is guarded once on every so many tables, as a guarded run takes as long as five others."""
BLOCK = 10
"""Tables that a process runs before it reports."""
SETTLED = ("rows apart: ", "samarati: with a suppression limit")
"""How refusals begin that hang on settings alone; others are about the values of a table, and the next one may do."""
Recounted = dict[tuple[tuple[Row, ...], PrivacyModel], str | None]
"""(What was published, a model) → what of the model does not hold."""


@dataclass(frozen=True)
class Way:
    """A method, whether the records of a person lie together, and other settings than the defaults."""

    method: str
    rows: str
    options: tuple[tuple[str, Any], ...] = ()
    recoding: tuple[tuple[str, Any], ...] = ()
    refine: int = 0

    @property
    def anonymizer(self) -> Anonymizer:
        """The method with its options."""
        return ANONYMIZERS[self.method](**dict(self.options))

    @cached_property
    def decides(self) -> bool:
        """Whether it needs a hierarchy for every attribute."""
        return self.anonymizer.decides_regions

    def __str__(self) -> str:
        """Name it as in a line of the log."""
        settings = [*self.options, *self.recoding, *([("refine", self.refine)] if self.refine else [])]
        return ", ".join([self.method, f"rows {self.rows}", *(f"{name}={value}" for name, value in settings)])


@cache
def ways() -> tuple[Way, ...]:
    """Return every method that counts people, in each form that it has."""
    together = [Way(name, "together") for name, each in ANONYMIZERS.items() if not each().decides_regions]
    apart = [Way(name, "apart") for name, each in ANONYMIZERS.items() if getattr(each, "people_apart", False)]
    return (*together, *apart)


@cache
def variants() -> tuple[Way, ...]:
    """Return some of them with other settings than the defaults."""
    cuts: tuple[dict[str, Any], ...] = (
        {"mode": "relaxed"},
        {"split_rule": "anywhere"},
        {"split_rule": "median", "attribute_choice": "widest", "widths": "region"},
        {"hierarchy_cuts": True},
    )
    means, tight = (("numeric", "mean"),), (("ends", "tight"),)
    return (
        *(Way("mondrian", rows, tuple(each.items())) for each in cuts for rows in ("together", "apart")),
        Way("mondrian", "apart", (("extent", "region"),)),
        *(Way("mondrian", rows, recoding=each) for each in (means, tight) for rows in ("together", "apart")),
        *(Way(name, "together", refine=20) for name in ("mondrian", "k-member", "v-mdav")),
        Way("k-member", "together", (("refine", 0),)),
        Way("best", "together", (("rounds", 0),), means),
        Way("optimal", "apart", (("local_recoding", True),)),
    )


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


@cache  # Building and checking one takes a fifth of a run, and thousands of tables share it.
def policy(way: Way, k: int, place: int, limit: float, suppressed: str, tree_of_days: bool) -> Policy:
    """Return the policy of a run."""
    some = {name: TREES[name] if way.decides or (name == "day" and tree_of_days) else None for name in QUASI}
    recoding = sf.Recoding(suppressed=suppressed, **dict(way.recoding))
    settings = (way.anonymizer, recoding, limit, way.refine, sf.People(rows=way.rows))
    return Policy.of(schema_with(some), promises(k)[place], *settings)


def published(table: DrawnTable, way: Way, asked: Policy, seed: int | None, guarded: bool) -> pl.DataFrame:
    """Return the published table; what the library recounts itself only where it is asked to."""
    read, codes = table.with_trees if way.decides else table.plain
    task = Task(read, asked, seed=seed, threads=1, read=codes)
    if guarded:
        return made(task).data
    solved = solved_task(task, task.anonymizer)
    return task.engine.write(solved.generalized, read, solved.order, threads=1).data


def rows_of(data: pl.DataFrame, table: DrawnTable) -> tuple[Row, ...]:
    """Return what a reader sees, and who is who, in the order of the drawn table: equal releases are equal."""
    shown = zip(*(["" if cell is None else str(cell) for cell in data[name].to_list()] for name in QUASI), strict=True)
    values = zip(*(data[name].to_list() for name in SENSITIVE), strict=True)
    found = zip(data["row"].to_list(), shown, values, strict=True)
    return tuple((table.people[row], *rest) for row, *rest in sorted(found, key=lambda each: each[0]))


def wrongs(
    rows: tuple[Row, ...], table: DrawnTable, way: Way, asked: Policy, known: Recounted | None = None
) -> Iterator[str]:
    """Yield what a published table breaks: models, whole people, the limit of suppression.

    Parameters
    ----------
    rows, table, way, asked
        What was published, of what, how, and under which promises.
    known
        What was recounted of this table before; gets what is recounted now.
    """
    known = {} if known is None else known
    for model in asked.to_models():
        if (rows, model) not in known:
            known[rows, model] = broken({"name": model.name, **model.parameters()}, rows, SENSITIVE)
        if wrong := known[rows, model]:
            yield wrong
    if way.rows == "together" and len({(person, shown) for person, shown, _ in rows}) > len({row[0] for row in rows}):
        yield "somebody's records lie apart"
    before, after = Counter(table.people), Counter(person for person, _, _ in rows)
    if any(after[person] != before[person] for person in after):
        yield "somebody is published in part"
    limit = asked.suppression_limit + 1e-9
    if len(rows) < len(table.people) * (1 - limit) or len(after) < len(before) * (1 - limit):
        yield "more is left out than may be"


@dataclass
class Found:
    """What came of some tables.

    Attributes
    ----------
    tables : sequence of int
    outcomes : Counter of str
    released : Counter of str
        Way → releases.
    messages : list of str
        About whatever was broken or failed.
    """

    tables: Sequence[int]
    outcomes: Counter[str] = field(default_factory=Counter)
    released: Counter[str] = field(default_factory=Counter)
    messages: list[str] = field(default_factory=list)

    def add(self, other: Found) -> None:
        """Take in what came of other tables."""
        self.tables = [*self.tables, *other.tables]
        self.outcomes += other.outcomes
        self.released += other.released
        self.messages += other.messages

    @property
    def right(self) -> bool:
        """Whether nothing was broken and nothing failed."""
        return not self.messages

    def __str__(self) -> str:
        """Count the tables, runs and releases, and what was broken or failed."""
        count = self.outcomes
        runs = count["released"] + count["no release"]
        return (
            f"tables {min(self.tables)}..{max(self.tables)}: {len(self.tables)} tables, {runs} runs, "
            f"{count['released']} releases, {count['BROKEN']} broken, {count['FAILED']} failed, "
            f"{count['refused']} refused"
        )


@dataclass
class Fuzz:
    """Releases tables, and recounts what comes out.

    Attributes
    ----------
    ways : sequence of Way
    guarded : bool
        Whether the library recounts every run, too.
    places : collection of int or None
        Which promises are tried; None: all.
    refused : set
        (Way, place of the promise, whether records may be suppressed) of what no table is released with.
    """

    ways: Sequence[Way]
    guarded: bool = False
    places: Collection[int] | None = None
    refused: set[tuple[Way, int, bool]] = field(default_factory=set)

    def tried(self, numbers: Sequence[int]) -> Found:
        """Release tables in every way under every promise."""
        found = Found(numbers)
        for number in numbers:
            self._try_table(number, found)
        return found

    def _try_table(self, number: int, found: Found) -> None:
        table, known = drawn_table(number), Recounted()
        k, limit = KS[number % len(KS)], LIMITS[number // 2 % len(LIMITS)]
        suppressed = "star" if number % 7 == 0 else "remove"
        for turn, way in enumerate(self.ways):
            for place in range(len(promises(k))) if self.places is None else self.places:
                asked = policy(way, k, place, limit, suppressed, table.tree_of_days)
                if (way, place, limit > 0) not in self.refused:
                    guarded = self.guarded or self._stands_guard(number + turn, place, len(promises(k)))
                    for what, why in self._tried_once(table, number, way, place, asked, guarded, known):
                        found.outcomes[what] += 1
                        if what == "released":
                            found.released[str(way)] += 1
                        if why:
                            said = f"{what} table {number}, {way}, promise {place}: {why}"
                            found.messages.append(said)

    @staticmethod
    def _stands_guard(turn: int, place: int, places: int) -> bool:
        return turn % GUARDED_TABLES == 0 and place == turn // GUARDED_TABLES % places

    def _tried_once(
        self, table: DrawnTable, number: int, way: Way, place: int, asked: Policy, guarded: bool, known: Recounted
    ) -> Iterator[tuple[str, str]]:
        """Yield what came of a run, and why that is wrong."""
        try:
            data = published(table, way, asked, None if number % 3 else number, guarded)
        except sf.UnsatisfiableError:
            yield "no release", ""
        except sf.PolicyError as error:
            if all(problem.startswith(SETTLED) for problem in error.problems):
                self.refused.add((way, place, asked.suppression_limit > 0))
            else:
                yield "refused", ""
        except Exception as error:
            yield "FAILED", f"{type(error).__name__}: {error}"
        else:
            yield "released", ""
            for wrong in wrongs(rows_of(data, table), table, way, asked, known):
                yield "BROKEN", wrong


@cache
def _own_fuzz(chosen: tuple[Way, ...], guarded: bool, places: tuple[int, ...] | None) -> Fuzz:
    """Return what this process runs tables with."""
    return Fuzz(chosen, guarded, places)


def _block(chosen: tuple[Way, ...], guarded: bool, places: tuple[int, ...] | None, numbers: Sequence[int]) -> Found:
    own = _own_fuzz(chosen, guarded, places)
    # The collector walks over the modules of everything imported, again and again: once a block is enough.
    gc.disable()
    try:
        return own.tried(numbers)
    finally:
        gc.enable()
        gc.collect()


def all_found(work: Callable[[Sequence[int]], Found], first: int, tables: int, processes: int) -> Iterator[Found]:
    """Yield what came of each block of tables, in order, on so many processes."""
    last = first + tables
    blocks = [range(start, min(start + BLOCK, last)) for start in range(first, last, BLOCK)]
    if processes == 1:
        yield from map(work, blocks)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        yield from pool.map(work, blocks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tables that were asked for; 1 if anything was broken or failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.people_fuzz")
    parser.add_argument("--first", type=int, default=0, help="number of the first table")
    parser.add_argument("--tables", type=int, default=20, help="how many tables")
    parser.add_argument("--guarded", action="store_true", help="let the library recount every run, too")
    parser.add_argument("--methods", help="only these, such as mondrian,optimal; by default all")
    parser.add_argument("--promises", help="only these, such as 0,11: places in promises(); by default all")
    parser.add_argument("--variants", action="store_true", help="other settings than the defaults instead")
    parser.add_argument("--processes", type=int, default=1, help="how many work at a time, each on one thread")
    parser.add_argument("--log", type=Path, help="a file to which every line is appended")
    words = parser.parse_args(arguments)
    start, found = time.perf_counter(), Found([])
    methods = words.methods.split(",") if words.methods else list(ANONYMIZERS)
    chosen = tuple(way for way in (variants() if words.variants else ways()) if way.method in methods)
    places = tuple(map(int, words.promises.split(","))) if words.promises else None
    work = partial(_block, chosen, words.guarded, places)
    for each in all_found(work, words.first, words.tables, words.processes):
        _tell([*each.messages, str(each)], words.log)
        found.add(each)
    seconds = time.perf_counter() - start
    _tell([f"{found}, {seconds:.0f} s"], None)
    _tell([f"{count} {way}" for way, count in found.released.items()], None)
    return 0 if found.right else 1


def _tell(lines: Sequence[str], log: Path | None) -> None:
    print(*lines, sep="\n", flush=True)
    if log is not None:
        with log.open("a") as file:
            print(*lines, sep="\n", file=file)


if __name__ == "__main__":
    os.environ.setdefault("SFUMATO_KERNELS", "compiled")
    sys.exit(main())
