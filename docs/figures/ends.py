"""What ends of intervals and regions tell: lines of ``several_seeds.py`` for decision record 9."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import which_method
from drawn import Figures, Line, complete, counts_off, parted

import sfumato as sf
from sfumato.evaluation.attacks import MembershipInference
from sfumato.table.table import Table

EIGHT = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country", "hours-per-week")
WEIGHTED = ("fnlwgt", "sex", "race")
SEVEN = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
SIZES = (2, 5, 10)
TABLES = ("Diabetes", "Poland", "Motor", "Bank")

Draw = Callable[[int], tuple[Table, Table]]


def ends(records: int) -> Iterator[Line]:
    """Yield how often exact values are guessed, and who is found, with tight and with rounded ends."""
    ways: dict[str, Any] = {"Mondrian": sf.Mondrian(), "k-member": sf.KMember()}
    for names, found in ((EIGHT, "age"), (WEIGHTED, "fnlwgt")):
        draw = drawing(complete(names), (), records)
        for (kind, way), size, form in product(ways.items(), SIZES, ("tight", "rounded")):
            yield f"{kind}, k = {size}, {form}, {found}", told(draw, size, way, form, found)


def regions(records: int) -> Iterator[Line]:
    """Yield the same of regions, without and with an occupation that the attacker knows."""
    eight, seven = (
        drawing(complete(EIGHT), (), records),
        drawing(complete((*SEVEN, "occupation")), ("occupation",), records),
    )
    for size, extent in product(SIZES, ("tight", "region")):
        way = sf.Mondrian(extent=extent)
        yield f"8 attributes, k = {size}, {extent}", told(eight, size, way, "tight", "age", counts=True)
        yield f"7 attributes, k = {size}, {extent}", told(seven, size, way, "tight", "age", counts=True, known=True)
    yield "7 attributes, k = 5, global", told(seven, 5, sf.GlobalMondrian(), "tight", "age", counts=True, known=True)


def tables(records: int) -> Iterator[Line]:
    """Yield what rounding does on four other tables."""
    which_method.RECORDS = records
    for name in TABLES:
        frame = which_method.SOURCES[name].table(Path(os.environ["SFUMATO_DATA"])).frame
        columns = list(which_method.SOURCES[name].quasi)
        draw = drawing(frame.select(columns).drop_nulls(), (), frame.height // 2)
        for size, form in product((2, 5), ("tight", "rounded")):
            yield f"{name}, k = {size}, {form}", told(draw, size, sf.Mondrian(), form, None, counts=True)


def drawing(frame: pl.DataFrame, sensitive: Sequence[str], records: int) -> Draw:
    """Return what draws people to publish and as many others."""
    return lambda seed: parted(frame, sensitive, records, seed)


def told(
    draw: Draw, size: int, way: object, form: str, attribute: str | None, *, counts: bool = False, known: bool = False
) -> Callable[[int], Figures]:
    """Return what publishes once: loss, exact values guessed and by usual values, and who is known to be there."""

    def measured(seed: int) -> Figures:
        table, control = draw(seed)
        recoding = sf.Recoding(ends=form)
        release = sf.anonymize(table, sf.KAnonymity(size), anonymizer=way, recoding=recoding, seed=seed)
        found = {"loss": release.report.losses.normalized_ncp}
        if counts:
            found["counts off"] = counts_off(release, table, seed)
        for result in sf.attack(release, table, control=control, attacks="downcoding", seed=seed).results:
            name = result.goal.split(" was ")[0].split()[-1] if attribute is None else attribute
            if result.curve is None and f" {name} " in f" {result.goal} ":
                found |= {f"{name} guessed": result.success.share, f"{name} by usual values": result.success.baseline}
        if attribute is not None:
            for knows in (False, True)[: 1 + known]:
                attack = MembershipInference(knows_sensitive=knows)
                pairs, sure = sf.attack(release, table, control=control, attacks=[attack], seed=seed).results
                key = ", occupation known" if knows else ""
                found |= {f"area{key}": pairs.success.share, f"found at 1 %{key}": sure.success.share}
        return found

    return measured
