"""Small releases of every maker, attacked: no verdict may contradict its curve, and noise may seldom succeed.

POLARS_MAX_THREADS=1 python -m benchmarks.verdict_fuzz --releases 500
POLARS_MAX_THREADS=1 python -m benchmarks.verdict_fuzz --releases 1000 --permuted

A release is drawn by its number: a table, a maker, promises, and in two of three cases people who are not in it. With
``--permuted`` attackers are scored by tables whose columns were permuted, each by itself, so that the release tells
nothing of anybody in them.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from statistics import NormalDist
from typing import Any

import polars as pl

import sfumato as sf
from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.errors import SfumatoError
from sfumato.evaluation.attacks import ATTACKS, Minimality, OthersAndRelease
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.evaluation.attacks.verdicts import IN_WORDS
from sfumato.progress import silent
from sfumato.table.table import Table

TREES = {"age": sf.intervals(5, 20, 100), "city": sf.flat(), "sex": sf.flat()}
CITIES, ILLS = "ABCDE", ("flu", "cold", "cough", "gout", "mumps")
SIZES = (40, 120, 400, 1000)
APART = ("minimality", "others-and-release", "shadow-membership", "reconstruction")
PLAYED = (
    Minimality(worlds=20, exhaustive=100),
    OthersAndRelease(learner="naive-bayes"),
    *(name for name in ATTACKS if name not in APART),
)
"""Played where they fit: the default set, in fewer worlds, without trees; and those on demand that take no minutes."""


def people(chance: random.Random, count: int, linked: float) -> pl.DataFrame:
    """Draw people, whose illness hangs on their age and city with a chance of `linked`."""

    def person() -> tuple[int, str, str, str, int]:
        age, city, sex = chance.randint(20, 69), chance.choice(CITIES), chance.choice("fm")
        told = ILLS[(age // 10 + CITIES.index(city)) % len(ILLS)]
        ill = told if chance.random() < linked else chance.choices(ILLS, (5, 4, 3, 2, 1))[0]
        return age, city, sex, ill, chance.randint(1, 9)

    return pl.DataFrame([person() for _ in range(count)], ["age", "city", "sex", "ill", "visits"], orient="row")


def permuted(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """Permute each column by itself."""
    return pl.DataFrame({column.name: chance.sample(column.to_list(), frame.height) for column in frame})


def read(frame: pl.DataFrame, trees: bool) -> Table:
    """Read people, with a hierarchy for every attribute or for none."""
    schema = sf.Schema(
        quasi_identifying=TREES if trees else dict.fromkeys(TREES),
        sensitive={"ill": sf.Attribute(kind="categorical")},
        others="drop",
    )
    return sf.read_table(frame, schema)


def promises(chance: random.Random, name: str) -> list[Any]:
    """Draw what a maker is asked to promise."""
    subject = PUBLISHERS[name].promises if name in PUBLISHERS else "classes"
    k, diverse = sf.KAnonymity(chance.choice((2, 3, 5, 10))), sf.ProbabilisticLDiversity(chance.choice((1.5, 2, 3)))
    choices = {
        "classes": [[k], [k, sf.DistinctLDiversity(2)], [k, diverse]],
        "marginals": [[k], [k, diverse]],
        None: [[]],
    }
    return chance.choice(choices.get(subject, [[diverse]]))


def results(number: int, noise: bool, largest: int = max(SIZES)) -> tuple[str, tuple[AttackResult, ...]]:
    """Publish and attack a release of at most so many people by its number; no results where its maker refuses."""
    chance = random.Random(number)
    name = chance.choice([*ANONYMIZERS, *PUBLISHERS])
    made = ANONYMIZERS[name] if name in ANONYMIZERS else PUBLISHERS[name]
    frame = people(chance, chance.choice([size for size in SIZES if size <= largest]), chance.choice((0.0, 0.5, 1.0)))
    others = people(chance, frame.height // 2, 0.5) if chance.random() < 2 / 3 else None
    table = read(frame, getattr(made, "decides_regions", False) or chance.random() < 0.5)
    truth = read(permuted(frame, chance), False) if noise else table
    if noise and others is not None:
        others = permuted(others, chance)
    asked = promises(chance, name)
    try:
        release = sf.anonymize(table, asked, anonymizer=made(), seed=number, progress=silent)
    except SfumatoError as error:
        return f"{name}: {error}", ()
    given: dict[str, Any] = {"control": None if others is None else read(others, False), "seed": number}
    found: list[AttackResult] = []
    for one in PLAYED:
        with suppress(SfumatoError):  # It does not fit the kind, or what it needs is not there.
            found += sf.attack(release, truth, attacks=one, **given, progress=silent)
    return name, tuple(one for one in found if one.unplayed is None)


def contradictions(result: AttackResult) -> Iterator[str]:
    """Read a result as it is written down, and say where its headline contradicts the shares below it."""
    told = result.to_dict()
    looks = [look["inside"] for look in told.get("curve", {"looks": []})["looks"]]
    tail = 0.025 / max(1, len(looks))
    above = [_low_end(share, tail) > share["baseline"] for share in (*looks, told["success"]) if share["people"]]
    below = above[: len(looks)] if looks else above  # The share of claims is looked at beside the curve.
    certain = told["certainty"] is not None and told["certainty"]["told"] > 0 and not told["certainty"]["wrong"]
    if told["headline"] == IN_WORDS["no better"] and any(below):
        yield "no better than guessing, and a share is above it"
    if "people outside" in told["headline"] and "control" not in told:
        yield "others show as much, and there are none"
    if certain != told["headline"].startswith("succeeds") and (certain or not any(above)):
        yield "succeeds without a share above guessing, or is certain and does not"
    if (told["verdict"] == "undecided") != (told["people_needed"] is not None):
        yield "undecided, and not how many would decide"


def _low_end(share: dict[str, float], tail: float) -> float:
    """Return the low end of Wilson's interval with a chance of `tail` below it."""
    n, p, z = share["people"], share["share"], -NormalDist().inv_cdf(tail)
    low = (p + z * z / (2 * n) - z * math.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2)) / (1 + z * z / n)
    return low if p > 0 else 0.0  # Rounding must not say else.


def main() -> int:
    """Try releases and count; return 1 where a verdict contradicts its curve."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdict_fuzz", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="number of the first release")
    parser.add_argument("--releases", type=int, default=500, help="how many")
    parser.add_argument("--largest", type=int, default=max(SIZES), help="most people in a release")
    parser.add_argument("--permuted", action="store_true", help="score attackers by permuted columns")
    asked = parser.parse_args()
    headlines, succeeding, wrong = Counter[str](), Counter[str](), Counter[str]()
    number, made = asked.first, 0
    while made < asked.releases:
        name, found = results(number, asked.permuted, asked.largest)
        made += bool(found)
        headlines.update(one.headline for one in found)
        succeeding.update(one.attack for one in found if one.succeeds)
        for one in found:
            for problem in contradictions(one):
                wrong[problem] += 1
                print(f"{number}: {name}: {one.attack}: {problem}", flush=True)
        number += 1
        if made and made % 50 == 0 and found:
            print(f"# {made}: {succeeding.total()} of {headlines.total()} succeed", flush=True)
    print(f"{made} releases of {number - asked.first}; contradictions: {wrong.total()}")
    print(*(f"{count:>7,} {headline}" for headline, count in headlines.most_common()), sep="\n")
    print("succeeding:", ", ".join(f"{name} {count}" for name, count in succeeding.most_common()))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
