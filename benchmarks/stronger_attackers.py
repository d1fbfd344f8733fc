"""Measures what each stronger attacker gains; ``python -m benchmarks.stronger_attackers [NAME ...]``.

Printed are medians and ranges over five seeds, each of another sample of Adult, looked for in the folder that
``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Literal

import polars as pl

import sfumato as sf
from benchmarks.adult import read_adult
from sfumato.evaluation.attacks import AttributeInference, Corruption, NoisyLinkage
from sfumato.table.table import Table

SEEDS = (1, 2, 3, 4, 5)
NUMBERS = ("age", "education-num", "hours-per-week", "sex")
SEVEN = (*NUMBERS, "race", "workclass", "marital-status")

Row = tuple[str, Sequence[float]]
"""What is measured, and its share for each seed."""


def drawn(records: int, seed: int, quasi: Sequence[str], sensitive: str) -> Table:
    """Draw records of Adult."""
    adult = read_adult(Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data")
    schema = sf.Schema(quasi_identifying=list(quasi), sensitive=[sensitive], others="drop")
    return sf.read_table(adult.sample(records, seed=seed), schema)


def linkage() -> Iterator[Row]:
    """Picking from the class that covers least, and from all classes that fit."""
    for anonymizer in (sf.Mondrian(), sf.MDAV(), sf.KMember()):
        weighed, alike = [], []
        for seed in SEEDS:
            table = drawn(1000, seed, NUMBERS, "occupation")
            release = sf.anonymize(table, sf.KAnonymity(5), anonymizer=anonymizer, seed=seed)
            picked = sf.attack(release, table, attacks="linkage", seed=seed).results[1]
            weighed.append(picked.success.share)
            alike.append(picked.figures["picking_from_all_that_fit"])
        yield f"{anonymizer.name}, from all that fit", alike
        yield f"{anonymizer.name}, from the class that covers least", weighed


def noisy() -> Iterator[Row]:
    """A tenth of what is known wrong, a tenth unknown: weighing agreement, and taking all for true."""
    for anonymizer in (sf.Mondrian(), sf.KMember()):
        found: dict[str, list[float]] = {
            name: [] for name in ("weighing", "knowing how much is wrong", "taking it for true")
        }
        for seed in SEEDS:
            table = drawn(1000, seed, SEVEN, "occupation")
            release = sf.anonymize(table, sf.KAnonymity(5), anonymizer=anonymizer, seed=seed)
            attacks = [NoisyLinkage(), NoisyLinkage(weights="known")]
            estimated, known = sf.attack(release, table, attacks=attacks, seed=seed).results
            shares = estimated.success.share, known.success.share, estimated.figures["taking_all_for_true"]
            for told, share in zip(found.values(), shares, strict=True):
                told.append(share)
        yield from ((f"{anonymizer.name}, {what}", shares) for what, shares in found.items())


CLASSIFIERS: tuple[Literal["naive-bayes", "gradient-boosting"], ...] = ("naive-bayes", "gradient-boosting")
L3 = sf.ProbabilisticLDiversity(3)
OF_VALUES: dict[str, tuple[Sequence[Any], Any]] = {
    "Mondrian": ((sf.KAnonymity(5), L3), sf.Mondrian()),
    "buckets": ((L3,), sf.Bucketization()),
    "buckets of random members": ((L3,), sf.Bucketization(members="random")),
}
"""Releases that promise 3-diverse occupations."""


def corruption() -> Iterator[Row]:
    """The occupations of a part of the people are known."""
    for name, (models, anonymizer) in OF_VALUES.items():
        attacks = [Corruption(share) for share in (0.1, 0.5, 0.9, 1.0)]
        told: list[list[float]] = [[] for _ in attacks]
        for seed in SEEDS:
            table = drawn(5000, seed, SEVEN, "occupation")
            release = sf.anonymize(table, models, anonymizer=anonymizer, seed=seed)
            for shares, result in zip(told, sf.attack(release, table, attacks=attacks, seed=seed).results, strict=True):
                shares.append(result.success.share)
        for attack, shares in zip(attacks, told, strict=True):
            yield f"{name}, {attack.corrupted:.0%} known", shares


def boosting() -> Iterator[Row]:
    """Naive Bayes and boosted trees, alone and corrected by the records that fit."""
    for name, (_, anonymizer) in OF_VALUES.items():
        for sensitive, diversity in (("occupation", 3), ("marital-status", 2)):
            models = (sf.KAnonymity(10),) if name == "Mondrian" else (sf.ProbabilisticLDiversity(diversity),)
            quasi = [one for one in (*SEVEN, "occupation") if one != sensitive]
            found: dict[str, list[float]] = {}
            for seed in SEEDS:
                table = drawn(3000, seed, quasi, sensitive)
                release = sf.anonymize(table, models, anonymizer=anonymizer, seed=seed)
                for classifier in CLASSIFIERS:
                    attack = AttributeInference(classifier=classifier)
                    result = sf.attack(release, table, attacks=attack, seed=seed).results[0]
                    alone = result.figures[f"{classifier.replace('-', '_')}_alone"]
                    found.setdefault(f"{name}, {sensitive}, {classifier} alone", []).append(alone)
                    found.setdefault(f"{name}, {sensitive}, {classifier}", []).append(result.success.share)
            yield from found.items()


def shadows() -> Iterator[Row]:
    """Members found while 1 % of others pass, and areas, with shadows and without."""
    for name, (_, anonymizer) in OF_VALUES.items():
        models = (sf.KAnonymity(5),) if name == "Mondrian" else (L3,)
        found: dict[str, list[float]] = {}
        for seed in SEEDS:
            everybody = drawn(6000, seed, (*NUMBERS, "race"), "occupation")
            table, control = everybody.take(slice(0, 2000)), everybody.take(slice(2000, None))
            release = sf.anonymize(table, models, anonymizer=anonymizer, seed=seed)
            attacks = ["shadow-membership", "membership-inference"]
            played = sf.attack(release, table, control=control, attacks=attacks, seed=seed)
            for attack in attacks:
                pairs, sure = played[attack]
                found.setdefault(f"{name}, {attack}, area", []).append(pairs.figures["auc"])
                found.setdefault(f"{name}, {attack}, found at 1 %", []).append(sure.success.share)
        yield from found.items()


def films() -> Iterator[Row]:
    """Ratings of sensitive films, told by the record that fits eight others best; a tenth of the films is sensitive."""
    path = Path(os.environ["SFUMATO_DATA"]) / "ml-latest-small" / "ratings.csv.gz"
    scale = sf.ratings.Scale(0.5, 5, 0.5)
    found: dict[str, list[float]] = {}
    for seed in SEEDS:
        sensitive = sf.ratings.SensitiveIssues(share=0.1, seed=seed)
        everybody = sf.ratings.read_ratings(pl.read_csv(path), sensitive=sensitive, scale=scale)
        ratings, others = sf.ratings.hold_out_ratings(everybody, 0.1, seed=seed)
        rates = sf.ratings.attack_ratings(ratings, known=8, control=others, seed=seed).before
        assert rates.told is not None
        assert rates.told_of_control is not None
        found.setdefault("told", []).append(rates.told.share)
        found.setdefault("the usual rating", []).append(rates.told.baseline)
        found.setdefault("of others", []).append(rates.told_of_control.share)
        found.setdefault("the usual rating, of others", []).append(rates.told_of_control.baseline)
    yield from found.items()


MEASURED: dict[str, Callable[[], Iterator[Row]]] = {
    "linkage": linkage,
    "noisy": noisy,
    "corruption": corruption,
    "boosting": boosting,
    "shadows": shadows,
    "films": films,
}


def main(names: Sequence[str]) -> None:
    """Print a line for each figure."""
    for name in names or tuple(MEASURED):
        print(f"\n{name}", flush=True)
        for what, shares in MEASURED[name]():
            middle, low, high = (100 * each(shares) for each in (median, min, max))
            print(f"  {what}: {middle:.1f} % ({low:.1f} to {high:.1f} %)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
