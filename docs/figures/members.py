"""What attackers find in buckets and slices of Adult: lines of ``several_seeds.py`` for decision records 10 and 23."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import beliefs
from drawn import Figures, Line, adult, kept

import sfumato as sf
from sfumato import Release
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.published import BucketizedTables

Members = Literal["random", "alike", "dealt"]
MEMBERS: tuple[Members, ...] = ("random", "alike", "dealt")
OTHERS = (("education", 2), ("education", 3), ("marital-status", 2), ("relationship", 2))


def buckets(records: int) -> Iterator[Line]:
    """Yield what deFinetti finds in buckets of occupations, and what these keep."""
    for size in (2, 3, 4, 5, 6, 7):
        for members in MEMBERS:
            way = sf.Bucketization(members=members)
            yield f"buckets of occupations, l = {size}, {members}", attacked("occupation", size, way, records)


def others(records: int) -> Iterator[Line]:
    """Yield the same of other sensitive attributes."""
    for sensitive, size in OTHERS:
        for members in MEMBERS:
            way = sf.Bucketization(members=members)
            yield f"buckets of {sensitive}, l = {size}, {members}", attacked(sensitive, size, way, records)


def slices(records: int) -> Iterator[Line]:
    """Yield the same of slices of occupations."""
    for size in (2, 4, 6):
        yield (
            f"slices of occupations, l = {size}, smallest",
            attacked("occupation", size, sf.Slicing(bucket_size="smallest"), records),
        )
        yield f"slices of occupations, l = {size}, guarded", attacked("occupation", size, sf.Slicing(), records)


def attacked(sensitive: str, size: int, way: object, records: int) -> object:
    """Return what publishes once, plays deFinetti, and measures what is kept."""

    def measured(seed: int) -> Figures:
        table, control = adult(sensitive, records, seed)
        release = sf.anonymize(table, sf.ProbabilisticLDiversity(size), anonymizer=way, seed=seed)
        played = sf.attack(release, table, control=control, attacks="definetti", seed=seed).results[0]
        return {
            **named(played),
            **kept(release, table, seed),
            "records a bucket": table.height / len(in_buckets(release)),
        }

    return measured


def named(played: AttackResult) -> Figures:
    """Return who is named: of the people in the data, of others, and by somebody who knows only others."""
    assert played.control is not None
    assert played.curve is not None
    everybody = next(look for look in played.curve.looks if look.share == 1)
    assert everybody.population is not None
    rates = {"named": played.success, "of others": played.control, "knowing only others": everybody.population}
    return {**{name: rate.share for name, rate in rates.items()}, "most frequent": played.figures["prior"]}


def in_buckets(release: Release) -> list[int]:
    """Return how many records each bucket has."""
    tables = release.published
    frame = tables.quasi if isinstance(tables, BucketizedTables) else tables.data
    return frame.group_by("bucket").len()["len"].to_list()


def more(records: int) -> Iterator[Line]:
    """Yield what other attackers find in buckets of occupations at l = 4."""
    for members in MEMBERS:

        def measured(seed: int, members: Members = members) -> Figures:
            table, control = adult("occupation", records, seed)
            way = sf.Bucketization(members=members)
            release = sf.anonymize(table, sf.ProbabilisticLDiversity(4), anonymizer=way, seed=seed)
            names = ("attribute-inference", "membership-inference", "skewness", "homogeneity", "background-knowledge")
            played = sf.attack(release, table, control=control, attacks=names, seed=seed)
            first = {name: played[name][0] for name in names}
            return {
                "attribute inference": first["attribute-inference"].success.share,
                "membership, area": first["membership-inference"].success.share,
                "people three times likelier": first["skewness"].success.people,
                "of them right": first["skewness"].success.share,
                **{name: first[name].success.people for name in names[3:]},
            }

        yield f"other attacks on buckets of occupations, l = 4, {members}", measured


def surest(records: int) -> Iterator[Line]:
    """Yield record 23's surest few of slices, and how many buckets are small."""
    for kind, way in (("slices", sf.Slicing()), ("overlapping slices", sf.OverlappingSlicing())):
        for size in (2, 4):

            def looks(seed: int, size: int = size, way: object = way) -> Figures:
                inside, _ = beliefs.adult("occupation", records, seed)
                release = sf.anonymize(inside, sf.ProbabilisticLDiversity(size), anonymizer=way, seed=seed)
                result = sf.attack(release, inside, attacks="definetti", seed=seed).results[0]
                assert result.curve is not None
                few = in_buckets(release)
                shares = [look for look in result.curve.looks if look.share is not None and look.share < 1]
                told = {f"{100 * look.share:g} %": look.inside.share for look in shares if look.share is not None}
                return {**told, "buckets of five or fewer": sum(one <= 5 for one in few) / len(few)}

            yield f"{kind} of occupations, l = {size}: deFinetti's surest", looks
