"""Measures with several seeds what decision records 10, 11 and 23 first had of one.

``python docs/figures/several_seeds.py`` prints medians and ranges over five seeds, each of which draws records of Adult
and what is random in a release: what deFinetti and attribute inference find in buckets and slices (record 10), what
minimality claims of Mondrian's classes and of slices (records 11 and 37), and how often the surest few of overlapping
slices are told rightly (record 23). ``--parts``, ``--seeds`` and ``--records`` measure less. Adult is looked for in the
folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

from beliefs import adult
from members import MEMBERS, whole

import sfumato as sf
from sfumato.evaluation.attacks import Minimality
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.models.protocol import PrivacyModel
from sfumato.table.table import Table

Figures = Mapping[str, float]
Line = tuple[str, Callable[[int], Figures]]
"""What is measured, and its figures with a seed; shares between 0 and 1, counts above."""


def attacked(table: Table, model: PrivacyModel, way: object, attack: object, seed: int) -> AttackResult:
    """Publish once, and play one attack."""
    release = sf.anonymize(table, model, anonymizer=way, seed=seed)
    return sf.attack(release, table, attacks=attack, seed=seed).results[0]


def members(records: int) -> Iterator[Line]:
    """Yield record 10's other sensitive attributes, other attacks, and slices."""
    for sensitive, size in (("education", 2), ("education", 3)):

        def named(seed: int, sensitive: str = sensitive, size: int = size) -> Figures:
            table, model = whole(sensitive, records, seed), sf.ProbabilisticLDiversity(size)
            ways = {one: sf.Bucketization(members=one) for one in MEMBERS}
            return {one: attacked(table, model, way, "definetti", seed).success.share for one, way in ways.items()}

        yield f"buckets of {sensitive} at l = {size}: deFinetti", named
    for size in (2, 4, 6):

        def sliced(seed: int, size: int = size) -> Figures:
            table, model = whole("occupation", records, seed), sf.ProbabilisticLDiversity(size)
            ways = {"smallest": sf.Slicing(bucket_size="smallest"), "guarded": sf.Slicing()}
            return {one: attacked(table, model, way, "definetti", seed).success.share for one, way in ways.items()}

        yield f"slices of occupations at l = {size}: deFinetti", sliced

    def inferred(seed: int) -> Figures:
        table, model = whole("occupation", records, seed), sf.ProbabilisticLDiversity(4)
        ways = {one: sf.Bucketization(members=one) for one in MEMBERS}
        name = "attribute-inference"
        return {one: attacked(table, model, way, name, seed).success.share for one, way in ways.items()}

    yield "buckets of occupations at l = 4: attribute inference", inferred


def cuts(records: int) -> Iterator[Line]:
    """Yield record 11's claims of minimality, and those on slices: loss, claims, right ones, right by class alone."""
    ways: Mapping[str, tuple[PrivacyModel, object]] = {
        "probabilistic l = 2, Mondrian": (sf.ProbabilisticLDiversity(2), sf.Mondrian()),
        "probabilistic l = 2, blind": (sf.ProbabilisticLDiversity(2), sf.Mondrian(blind=True)),
        "distinct l = 3, Mondrian": (sf.DistinctLDiversity(3), sf.Mondrian()),
        "distinct l = 3, blind": (sf.DistinctLDiversity(3), sf.Mondrian(blind=True)),
        "probabilistic l = 2, slices": (sf.ProbabilisticLDiversity(2), sf.Slicing()),
        "probabilistic l = 2, slices, smallest": (sf.ProbabilisticLDiversity(2), sf.Slicing(bucket_size="smallest")),
        "probabilistic l = 2, slices at medians": (sf.ProbabilisticLDiversity(2), sf.Slicing(split="median")),
        "probabilistic l = 2, overlapping": (sf.ProbabilisticLDiversity(2), sf.OverlappingSlicing()),
        "probabilistic l = 4, slices": (sf.ProbabilisticLDiversity(4), sf.Slicing()),
        "probabilistic l = 4, slices at medians": (sf.ProbabilisticLDiversity(4), sf.Slicing(split="median")),
    }
    for name, (model, way) in ways.items():

        def claimed(seed: int, model: PrivacyModel = model, way: object = way) -> Figures:
            table = whole("occupation", records, seed)
            release = sf.anonymize(table, model, anonymizer=way, seed=seed)
            played = sf.attack(release, table, attacks=[minimality()], seed=seed).results[0]
            lost = getattr(release.report, "losses", None)
            losses = {} if lost is None else {"loss": lost.normalized_ncp}
            if played.curve is None:
                return {**losses, "claims": 0, "right": 0.0, "by class": 0.0, "surest tenth": 0.0}
            tenth = next(look for look in played.curve.looks if look.share == 0.1).inside.share
            told = {"claims": played.success.people, "right": played.success.share, "by class": played.success.baseline}
            return {**losses, **told, "surest tenth": tenth}

        yield f"minimality, {name}", claimed


def minimality() -> object:
    """Return the attack with as many worlds for every release."""
    return Minimality(worlds=100, patience=1000.0)


def surest(records: int) -> Iterator[Line]:
    """Yield record 23's surest few of overlapping slices."""
    for size in (2, 4):

        def looks(seed: int, size: int = size) -> Figures:
            inside, _ = adult("occupation", records, seed)
            model = sf.ProbabilisticLDiversity(size)
            result = attacked(inside, model, sf.OverlappingSlicing(), "definetti", seed)
            assert result.curve is not None
            return {
                f"{100 * look.share:g} %": look.inside.share
                for look in result.curve.looks
                if look.share is not None and look.share < 1
            }

        yield f"overlapping slices of occupations at l = {size}: deFinetti's surest", looks


PARTS: Mapping[str, Callable[[int], Iterator[Line]]] = {"members": members, "cuts": cuts, "surest": surest}


def told(figures: Sequence[float]) -> str:
    """Write a median and a range; shares in percent."""
    low, middle, high = min(figures), median(figures), max(figures)
    if high > 1:
        return f"{middle:.0f} ({low:.0f} to {high:.0f})"
    return f"{100 * middle:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def main() -> None:
    """Print a line as soon as it is measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--records", type=int, default=30_000)
    parser.add_argument("--only", default="", help="words that a line's name must hold")
    asked = parser.parse_args()
    for part in asked.parts:
        for name, measured in PARTS[part](asked.records):
            if asked.only not in name:
                continue
            rows = [measured(seed) for seed in range(1, 1 + asked.seeds)]
            print(f"{name}: " + ", ".join(f"{key} {told([row[key] for row in rows])}" for key in rows[0]), flush=True)


if __name__ == "__main__":
    main()
