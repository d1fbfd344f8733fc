"""What the algorithm itself tells: lines of ``several_seeds.py`` for decision records 11 and 37."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from drawn import Figures, Line, adult, kept, parted

import sfumato as sf
from sfumato.evaluation.attacks import DeFinetti, Minimality
from sfumato.models.protocol import PrivacyModel
from sfumato.table.table import Table

PATIENTS = ("age", "sex", "zip", "disease")
MODELS: Mapping[str, list[PrivacyModel]] = {
    "probabilistic l = 2": [sf.ProbabilisticLDiversity(2)],
    "distinct l = 3": [sf.DistinctLDiversity(3)],
    "k = 5, entropy l = 3": [sf.KAnonymity(5), sf.EntropyLDiversity(3)],
}
KINDS: Mapping[str, object] = {
    "slices": sf.Slicing(),
    "slices, smallest buckets": sf.Slicing(bucket_size="smallest"),
    "slices at medians": sf.Slicing(split="median"),
    "overlapping slices": sf.OverlappingSlicing(),
    "overlapping slices, smallest buckets": sf.OverlappingSlicing(bucket_size="smallest"),
    "overlapping slices at medians": sf.OverlappingSlicing(split="median"),
}


def cuts(records: int) -> Iterator[Line]:
    """Yield what minimality claims of Mondrian's classes of Adult, with a larger k as well."""
    draw = occupations(records)
    for promised, models in MODELS.items():
        smallest = 5 if promised.startswith("k") else 0
        for size in (0, 5, 10, 20):
            if size > smallest or size == 0:
                asked = [*models[-1:], sf.KAnonymity(size)] if size else models
                yield f"{promised}, default{f', k = {size}' if size else ''}", claimed(draw, asked, sf.Mondrian(), 100)
        yield f"{promised}, blind", claimed(draw, models, sf.Mondrian(blind=True), 100)
    close: list[PrivacyModel] = [sf.TCloseness(0.4)]
    yield "t = 0.4, default", claimed(draw, close, sf.Mondrian(), 100)
    yield "t = 0.4, blind", claimed(draw, close, sf.Mondrian(blind=True), 100)


def patients(records: int) -> Iterator[Line]:
    """Yield the same of people drawn from the documentation's table."""
    with TemporaryDirectory() as folder, chdir(folder):
        runpy.run_path(str(Path(__file__).parents[1] / "make_patients.py"))
        frame = pl.read_csv("patients.csv").select(PATIENTS)

    def draw(seed: int) -> Table:
        return parted(frame, ["disease"], records, seed)[0]

    for promised, models in MODELS.items():
        yield f"patients, {promised}, default", claimed(draw, models, sf.Mondrian(), 500)
        yield f"patients, {promised}, blind", claimed(draw, models, sf.Mondrian(blind=True), 500)
    for size in (10, 20):
        asked = [*MODELS["probabilistic l = 2"], sf.KAnonymity(size)]
        yield f"patients, probabilistic l = 2, default, k = {size}", claimed(draw, asked, sf.Mondrian(), 500)


def halves(records: int) -> Iterator[Line]:
    """Yield what minimality claims of slices."""
    draw = occupations(records)
    for size in (2, 4):
        for kind, way in KINDS.items():
            yield f"{kind}, l = {size}", claimed(draw, [sf.ProbabilisticLDiversity(size)], way, 100)


def large(records: int) -> Iterator[Line]:
    """Yield the same of a larger table."""
    draw = occupations(records)
    for kind, size in (("slices", 2), ("overlapping slices", 2), ("slices, smallest buckets", 4)):
        yield f"{kind}, l = {size}", claimed(draw, [sf.ProbabilisticLDiversity(size)], KINDS[kind], 100)


def blind(records: int) -> Iterator[Line]:
    """Yield what minimality and deFinetti tell of blind slices, and what they and the usual ones keep."""
    draw = occupations(records)
    makers = {"slices": sf.Slicing, "overlapping slices": sf.OverlappingSlicing}
    for size, (kind, maker), looks in product((2, 3, 4), makers.items(), (False, True)):
        yield (
            f"{kind}{'' if looks else ', blind'}, l = {size}",
            _kept(draw, size, maker(split="balanced" if looks else "blind"), looks),
        )


def _kept(draw: Callable[[int], Table], size: int, way: object, looks: bool) -> Callable[[int], Figures]:
    def measured(seed: int) -> Figures:
        table = draw(seed)
        release = sf.anonymize(table, sf.ProbabilisticLDiversity(size), anonymizer=way, seed=seed)
        attacks = [DeFinetti(), *([] if looks else [Minimality(worlds=30)])]
        tenth = {
            f"{found.attack}, surest tenth": next(look.inside.share for look in found.curve.looks if look.share == 0.1)
            for found in sf.attack(release, table, attacks=attacks, seed=seed).results
            if found.curve is not None
        }
        return tenth | kept(release, table, seed)

    return measured


def occupations(records: int) -> Callable[[int], Table]:
    """Return what draws records of Adult with an occupation."""
    return lambda seed: adult("occupation", records, seed)[0]


def claimed(
    draw: Callable[[int], Table], models: list[PrivacyModel], way: object, worlds: int
) -> Callable[[int], Figures]:
    """Return what publishes once and plays: loss, claims, how many are right and would be by class, the surest."""

    def measured(seed: int) -> Figures:
        table = draw(seed)
        release = sf.anonymize(table, models, anonymizer=way, seed=seed)
        attack = Minimality(worlds=worlds)
        played = sf.attack(release, table, attacks=[attack], seed=seed).results[0]
        lost = getattr(release.report, "losses", None)
        found = {} if lost is None else {"loss": lost.normalized_ncp}
        if played.curve is None:
            return {**found, "not played": 1.0}
        told: dict[str, float] = {"claims": played.success.people}
        if told["claims"]:
            told |= {"right": played.success.share, "by class": played.success.baseline}
        looks = {look.share: look.inside.share for look in played.curve.looks}
        return {**found, **told, "surest hundredth": looks[0.01], "surest tenth": looks[0.1]}

    return measured
