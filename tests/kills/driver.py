"""Real runs of every kind in processes that die before a request to the file system of a number.

Started with the shim before the C library, it reads orders, forks before it has worked with tables, and says how each
child ended. Each flow writes below a folder of its own.
"""

from __future__ import annotations

import base64
import ctypes
import gc
import json
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from unittest.mock import patch

import polars as pl

import sfumato as sf
from series.tables import SCHEMA, people
from sfumato.engines import disk
from sfumato.kinds.private.make import opendp
from sfumato.policy.parts import People
from sfumato.release.on_spark import anonymize_on_spark
from sfumato.studio.routes.sign import copy_release
from sfumato.table.sources.spark_server import client
from sfumato.whole_files import write_whole

SEVERAL = sf.Schema(quasi_identifying=["age"], sensitive=["disease"], person="who")
DOMAINS = sf.Schema(quasi_identifying={"sex": sf.Attribute("categorical", domain=("f", "m"))})


SERVER = [""]
"""The URL of a database of a PostgreSQL server."""


def table(shift: int) -> pl.DataFrame:
    """Return people with two records each."""
    return pl.DataFrame(
        {
            "who": [row // 2 for row in range(40)],
            "age": [row // 2 % 4 + shift for row in range(40)],
            "disease": ["flu", "cold"] * 20,
        }
    )


def release(shift: int) -> sf.Release:
    """Make a release of them."""
    return sf.anonymize(sf.read_table(table(shift), SEVERAL), [sf.KAnonymity(3)], seed=1)


def save(place: Path, shift: int) -> None:
    """Write such a release, its audit file beside it."""
    release(shift).save(place / "out", overwrite=shift > 0)


def save_apart(place: Path, shift: int) -> None:
    """Write such a release, its audit file elsewhere."""
    audit = place / "private" / "who.json"
    release(shift).save(place / "out", format="parquet", audit=audit, overwrite=shift > 0)


def place_in(kind: str, place: Path) -> tuple[str, str]:
    """Return the URL of a database and the schema for one run."""
    if kind == "postgresql":
        return SERVER[0], f"{place.parent.name} {place.name}"
    return f"{kind}:///{place}/held.db", "r"


def store(place: Path, kind: str, shift: int) -> None:
    """Write such a release into a database, its audit file beside it."""
    url, schema = place_in(kind, place)
    release(shift).save(url, schema=schema, audit=place / "private" / "who.json", overwrite=shift > 0)


def source(place: Path) -> str:
    """Write the table of such a release into a file."""
    table(0).write_parquet(place / "in.parquet")
    return str(place / "in.parquet")


def save_parts(place: Path, seed: int, **how: str) -> None:
    """Write such a release in several parts, its codes on disk meanwhile; or on Spark, where it is said who writes."""
    policy = sf.Policy.of(SEVERAL, [sf.KAnonymity(3)], sf.Mondrian(), sf.Recoding(), 0.0, 0, People())
    make = partial(anonymize_on_spark, **how) if how else sf.anonymize_on_disk
    with patch.object(disk, "PART", 15):
        make(str(place / "in.parquet"), policy, place / "out", seed=seed, overwrite=seed > 1)


def save_by_spark(place: Path, written_by: str) -> None:
    """Start a server in this process, and write a release with it."""
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    os.environ["SPARK_REMOTE"] = f"sc://127.0.0.1:{server.listening_address[1]}"
    save_parts(place, 2, written_by=written_by)


def encrypt(place: Path, name: str) -> None:
    """Encrypt the ledger of a series."""
    key = place / "private" / "key"
    sf.Series.open(place / "s", ledger_key=key if name == "other" else None).encrypt(place / "private" / name)


def start_and_keys(place: Path) -> None:
    """Start a series, and make two keys."""
    start(place, "append")
    for name in ("key", "other"):
        write_whole(place / "private" / name, base64.urlsafe_b64encode(name.ljust(32).encode()))


def save_policy(place: Path, k: int) -> None:
    """Write a policy."""
    policy = sf.Policy.of(SEVERAL, [sf.KAnonymity(k)], sf.Mondrian(), sf.Recoding(), 0.0, 0, People())
    policy.to_file(place / "policy.toml")


def save_ratings(place: Path, best: int) -> None:
    """Write a release of ratings."""
    rows = [(user, issue, 1 + (user + number) % best) for user in range(9) for number, issue in enumerate("abs")]
    read = sf.read_ratings(pl.DataFrame(rows, schema=["u", "i", "r"], orient="row"), scale=(1, 5), sensitive="s")
    made = sf.anonymize_ratings(read, sf.RatingAnonymity(3, 1), seed=1)
    sf.save_ratings(made, place / "out", overwrite=best > 2)


def save_sets(place: Path, more: str) -> None:
    """Write a release of sets."""
    read = sf.read_sets(pl.DataFrame({"what": ["a;b", "a", f"a;b;{more}"] * 4}), form="wide")
    sf.save_sets(sf.anonymize_sets(read, sf.KmAnonymity(2, 2), seed=1), place / "out", overwrite=more > "c")


def count(place: Path, epsilon: float) -> None:
    """Publish noisy counts, paid from a ledger."""
    table = sf.read_table(pl.DataFrame({"sex": ["f", "m"] * 20}), DOMAINS)
    made = sf.publish_privately(table, sf.DifferentialPrivacy(epsilon), ledger=place / "private" / "budget.json")
    sf.save_private(made, place / "out", overwrite=epsilon > 0.5)


def sample(place: Path, epsilon: float) -> None:
    """Publish a private sample, paid from a ledger."""
    table = sf.read_table(pl.DataFrame({"sex": ["f", "m"] * 200}), DOMAINS)
    promise = sf.DifferentialPrivacy(epsilon, 1e-5)
    made = sf.publish_private_sample(table, promise, ledger=place / "private" / "budget.json")
    sf.save_private_sample(made, place / "out", overwrite=epsilon > 1)


def start_ledger(place: Path) -> None:
    """Start a ledger of budgets."""
    from sfumato.kinds.private.ledger import PrivacyLedger

    PrivacyLedger.start(place / "private" / "budget.json", 8.0, 1e-3)


def start(place: Path, way: str) -> sf.Series:
    """Start a series of one release."""
    several = [sf.KAnonymity(2), sf.DistinctLDiversity(2), sf.ProbabilisticLDiversity(2)]
    models = several if way == "m-invariance" else [sf.KAnonymity(4)]
    return sf.Series.start(place / "s", SCHEMA, models, table=month(12), way=way, threads=1)


def refuse(place: Path) -> None:
    """Start a series that has too few people, so that it is taken back."""
    with suppress(sf.UnsatisfiableError):
        sf.Series.start(place / "s", SCHEMA, [sf.KAnonymity(40)], table=month(12), threads=1)


def month(count: int, first: int = 0) -> pl.DataFrame:
    """Return a month's people, of four diseases in turn."""
    rows = [(name, age, city, ("flu", "cold", "gout", "none")[number % 4]) for number, (name, age, city, _) in
            enumerate(people(count, first=first))]  # fmt: skip
    return pl.DataFrame(rows, schema=["name", "age", "city", "disease"], orient="row")


def prepare(flow: str, place: Path) -> None:
    """Make what is there before a run."""
    (place / "private").mkdir(parents=True)
    if flow in BEFORE:
        BEFORE[flow](place)


BEFORE: dict[str, Callable[[Path], object]] = {
    "overwrite": lambda place: save(place, 0),
    "parquet": lambda place: save_apart(place, 0),
    "ratings": lambda place: save_ratings(place, 2),
    "sets": lambda place: save_sets(place, "c"),
    "counts": lambda place: (start_ledger(place), count(place, 0.5)),
    "sample": lambda place: (start_ledger(place), sample(place, 1)),
    "sqlite": lambda place: store(place, "sqlite", 0),
    "duckdb": lambda place: store(place, "duckdb", 0),
    "postgresql": lambda place: store(place, "postgresql", 0),
    "disk": lambda place: (source(place), save_parts(place, 1)),
    "new-disk": source,
    "spark": lambda place: (source(place), save_parts(place, 1)),
    "workers": lambda place: (source(place), save_parts(place, 1)),
    "hand-over": lambda place: release(0).save(place / "made", audit=place / "private" / "who.json"),
    "policy": lambda place: save_policy(place, 3),
    "encrypt": start_and_keys,
    "other-key": lambda place: (start_and_keys(place), encrypt(place, "key")),
    "append": lambda place: start(place, "append"),
    "wait": lambda place: start(place, "append"),
    "withdraw": lambda place: start(place, "append"),
    "grow": lambda place: start(place, "grow"),
    "republish": lambda place: start(place, "m-invariance"),
}

RUNS: dict[str, Callable[[Path], object]] = {
    "new": lambda place: save(place, 0),
    "overwrite": lambda place: save(place, 7),
    "parquet": lambda place: save_apart(place, 7),
    "ratings": lambda place: save_ratings(place, 4),
    "sets": lambda place: save_sets(place, "d"),
    "counts": lambda place: count(place, 1.0),
    "sample": lambda place: sample(place, 2),
    "new-ledger": start_ledger,
    "sqlite": lambda place: store(place, "sqlite", 7),
    "duckdb": lambda place: store(place, "duckdb", 7),
    "new-sqlite": lambda place: store(place, "sqlite", 0),
    "new-duckdb": lambda place: store(place, "duckdb", 0),
    "postgresql": lambda place: store(place, "postgresql", 7),
    "new-postgresql": lambda place: store(place, "postgresql", 0),
    "disk": lambda place: save_parts(place, 2),
    "new-disk": lambda place: save_parts(place, 1),
    "spark": lambda place: save_by_spark(place, "here"),
    "workers": lambda place: save_by_spark(place, "workers"),
    "hand-over": lambda place: copy_release(place / "made", place / "out", place / "out-receipt.html"),
    "policy": lambda place: save_policy(place, 4),
    "encrypt": lambda place: encrypt(place, "key"),
    "other-key": lambda place: encrypt(place, "other"),
    "start": lambda place: start(place, "append"),
    "refused": refuse,
    "append": lambda place: sf.Series.open(place / "s").append(month(9, 300), threads=1),
    "wait": lambda place: sf.Series.open(place / "s").append(month(1, 300), threads=1),
    "grow": lambda place: sf.Series.open(place / "s").grow(month(9, 300), threads=1),
    "withdraw": lambda place: sf.Series.open(place / "s").withdraw(["p3"], most_lost=1.0),
    "republish": lambda place: sf.Series.open(place / "s").republish(month(14), most_counterfeits=0.5, threads=1),
}


def main() -> None:
    """Do what is ordered, one line each: the flow, the folder, and the number of the request to die before."""
    for module in walk_packages(sf.__path__, "sfumato."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    # What is loaded before the fork is not loaded by each child.
    for driver in ("adbc_driver_sqlite.dbapi", "adbc_driver_postgresql.dbapi", "duckdb", "pyarrow"):
        import_module(driver)
    opendp()
    with suppress(sf.InputError):
        client()
    shim = ctypes.CDLL(None)
    shim.kill_below.argtypes, shim.last_request.restype = (
        (ctypes.c_char_p, ctypes.c_long, ctypes.c_int),
        ctypes.c_char_p,
    )
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # What no collection looks at is not copied for each child.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        flow, place, at, SERVER[0] = json.loads(line)
        shim.kill_below(os.fsencode(place), at, "postgresql" in flow)
        if not (child := os.fork()):
            code = 1
            try:
                RUNS[flow](Path(place))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        answer = [code, shim.counted(), (shim.last_request() or b"").decode()]
        # What is written here for itself is not counted.
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
