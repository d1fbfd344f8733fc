"""The paper on CAAT: its time and KACA's by the number of quasi-identifying attributes, for two k."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.clustering import greedy
from sfumato.anonymizers.clustering import kaca as kaca_algorithm
from sfumato.anonymizers.clustering.distinct import DistinctRecords, HeightDistance, collapse_records
from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.metrics import normalized_certainty_penalty
from sfumato.models import KAnonymity
from sfumato.numbers import figure, percent
from sfumato.papers.datasets import EIGHT, adult_attributes, complete_adult
from sfumato.papers.reproduction import (
    Claim,
    Curve,
    Panel,
    Reproduction,
    Setting,
    agreed,
    beside_paper,
    curve_of,
    ends,
    headline,
    lies_below,
    rises,
    run_all,
)
from sfumato.recoding import TIGHT, recode
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema

_TITLE = "Jiang H., clustering-anonymity for data publishing: CAAT (2014)"
_CAAT, _KACA = "caat", "kaca"
_KS = (3, 6)
_COUNTS = (2, 3, 4, 5, 6, 7, 8)
_STARTS = 10
_RECORDS = 5000

_NOTES = (
    "The paper does not name its table; it refers to that of KACA's paper, which used Adult. Hierarchies are ours: it "
    "prints none. Its times were measured on a processor of 2006 and its figures have no readable numbers.",
    "Both algorithms search a tree here and leave out what is too far. Their results are those of the plain ones. "
    "Seconds (of the processor, on one thread) and 'looked at' are of these. 'Plain' counts are what the algorithms as "
    "printed would evaluate, worked out from the classes they make. CAAT evaluates every record that is left, for each "
    "record that it moves. KACA evaluates every other class, for each small class that it takes up. The result does "
    "not tell how many records CAAT moves at once, nor which joins left a class over. So there is a least and a most.",
)


def caat(setting: Setting) -> Reproduction:
    """Run both from several starts for 2 to 8 attributes, and judge the paper's claims."""
    records, starts = (300, 2) if setting.quick else (_RECORDS, _STARTS)
    counts = _COUNTS[::3] if setting.quick else _COUNTS
    adult, source = complete_adult(setting.data, records)
    tables = {count: _encoded(adult, count) for count in counts}
    setting.progress("caat: warming up", 0, 1)
    for run in (_caat, _kaca):
        run(tables[counts[0]], _KS[0], 0)
    jobs = [
        partial(_row, label, tables[count], count, k, setting.seed + start)
        for count in reversed(counts)
        for k in _KS
        for start in range(starts)
        for label in _RUNS
    ]
    runs = run_all(jobs, setting, "caat")
    figures = ("seconds", "looked", "plain_least", "plain_most", "loss", "classes")
    results = runs.group_by("method", "k", "attributes").agg(pl.col(figures).mean()).sort("method", "k", "attributes")
    return Reproduction(
        "caat", _TITLE, (f"{source}; means of {starts} starts",), {"results": results, "runs": runs},
        claims_of(results), tuple(_panels()), _NOTES,
    )  # fmt: skip


def claims_of(results: pl.DataFrame) -> tuple[Claim, ...]:
    """Judge the paper's claims; `results` has method, k, attributes, seconds, looked, plain counts, loss."""
    return tuple(_claims(results))


def _claims(results: pl.DataFrame) -> Iterator[Claim]:
    for k, number in zip(_KS, (1, 2), strict=True):
        where = f"experiment, figure {number}"
        seconds, looked = ({one: _curve(results, one, k, up) for one in _RUNS} for up in ("seconds", "looked"))
        yield _below(f"k = {k}: CAAT takes less time than KACA for 2 to 8 attributes", where, seconds)
        yield _below(f"k = {k}: the same by distances that the pruned searches look at", where, looked)
        yield _plain(results, k, where)
        yield Claim.judged(
            f"k = {k}: the time of both rises with the number of attributes",
            where,
            agreed([rises(curve, slack=0.1) for curve in seconds.values()]),
            "; ".join(f"{one} {ends(curve)} attributes" for one, curve in seconds.items() if curve),
        )
    yield _rises_with_k(results)
    yield _loss(results)


def _below(text: str, where: str, curves: Mapping[str, Curve]) -> Claim:
    return Claim.judged(text, where, lies_below(curves[_CAAT], [curves[_KACA]]), _beside(curves[_CAAT], curves[_KACA]))


def _beside(one: Curve, other: Curve) -> str:
    return beside_paper(one, other, "numbers of attributes")


def _plain(results: pl.DataFrame, k: int, where: str) -> Claim:
    """Judge by plain counts: CAAT's most must be below KACA's least; it fails where its least is not below its most."""
    least, most = ({one: _curve(results, one, k, f"plain_{end}") for one in _RUNS} for end in ("least", "most"))
    surely = lies_below(most[_CAAT], [least[_KACA]])
    possibly = lies_below(least[_CAAT], [most[_KACA]])
    places = sorted(most[_CAAT])
    sentence = "; ".join(
        f"{figure(place)}: {_span(least[_CAAT], most[_CAAT], place)} for {_span(least[_KACA], most[_KACA], place)}"
        for place in places
        if place in most[_KACA]
    )
    return Claim.judged(
        f"k = {k}: the same by the distances that the algorithms as printed evaluate",
        where,
        True if surely else False if possibly is False else None,
        sentence or "nothing was run",
    )


def _span(least: Curve, most: Curve, place: float) -> str:
    return f"{figure(least[place], 2)} to {figure(most[place], 2)}"


def _rises_with_k(results: pl.DataFrame) -> Claim:
    pairs = {one: [_curve(results, one, k, "seconds") for k in _KS] for one in _RUNS}
    verdicts = [lies_below(low, [high]) for low, high in pairs.values()]
    sentence = "; ".join(f"{one} (k = 3 for k = 6): {_beside(low, high)}" for one, (low, high) in pairs.items())
    return Claim.judged(
        "The time of both rises with k, at every number of attributes",
        "experiment, conclusion 1",
        agreed(verdicts),
        sentence,
    )


def _loss(results: pl.DataFrame) -> Claim:
    sentence = "; ".join(
        f"{one}, k = {k}: {percent(curve[max(curve)], 3)} with {figure(max(curve))} attributes"
        for one in _RUNS
        for k in _KS
        if (curve := _curve(results, one, k, "loss"))
    )
    return Claim.judged(
        "CAAT's information loss is small enough", "conclusions", None,
        f"the paper puts it off to later work and prints none; ours: {sentence}",
    )  # fmt: skip


def _curve(results: pl.DataFrame, method: str, k: int, up: str) -> Curve:
    return curve_of(results, "attributes", up, method=method, k=k)


def _encoded(adult: pl.DataFrame, count: int) -> EncodedTable:
    names = EIGHT[:count]
    return encode(read_table(adult.select(names), Schema(quasi_identifying=adult_attributes(names))))


def _row(label: str, table: EncodedTable, count: int, k: int, seed: int) -> dict[str, Any]:
    return {"method": label, "k": k, "attributes": count, "seed": seed, **_RUNS[label](table, k, seed)}


def _caat(table: EncodedTable, k: int, seed: int) -> dict[str, Any]:
    (start,) = feasible(Problem(table, [KAnonymity(k)], seed=seed))
    began = time.thread_time()
    records = collapse_records(start, HeightDistance())
    first = int(np.random.default_rng(seed).integers(len(records.weights)))
    found = greedy.caat_classes(records, first, "widen", "all", frozen=False)
    seconds = time.thread_time() - began
    least, most = plain_caat(found.class_of, records.record_of, found.count)
    return _figures(records, found.class_of, found.count, seconds, found.looked, least, most)


def _kaca(table: EncodedTable, k: int, seed: int) -> dict[str, Any]:
    (start,) = feasible(Problem(table, [KAnonymity(k)], seed=seed))
    began = time.thread_time()
    records = collapse_records(start, kaca_algorithm.KACA().distance)
    found = kaca_algorithm.kaca_classes(records, stub=True)
    seconds = time.thread_time() - began
    least, most = plain_kaca(len(records.weights), found.count, len(found.picks))
    return _figures(records, found.class_of, found.count, seconds, found.looked, least, most)


_RUNS = {_CAAT: _caat, _KACA: _kaca}


def _figures(
    records: DistinctRecords,
    class_of: NDArray[np.int32],
    count: int,
    seconds: float,
    looked: int,
    least: int,
    most: int,
) -> dict[str, Any]:
    partition = records.partition(*records.completed(class_of, count))
    loss = normalized_certainty_penalty(recode(records.start.problem.table, partition, TIGHT))
    return {
        "seconds": seconds,
        "looked": looked,
        "plain_least": least,
        "plain_most": most,
        "loss": loss,
        "classes": partition.count,
    }


def plain_caat(class_of: NDArray[np.int32], record_of: NDArray[np.int32], count: int) -> tuple[int, int]:
    """Count distances that the printed CAAT evaluates: least and most that the order of classes allows.

    A record joins after a look at all that are left, together with all that are equally near. At most, each distinct
    record joins alone; at least, all of a class join at once. Each class except the first starts with the furthest of
    all that are left.
    """
    sizes = np.bincount(class_of, minlength=count)
    distinct = np.bincount(np.unique(np.stack([class_of, record_of]), axis=1)[0], minlength=count)
    before = len(class_of) - np.concatenate([[0], np.cumsum(sizes)[:-1]])
    after = before - sizes
    seeds = int(before[1:].sum())
    least = int(np.where(distinct > 1, after, 0).sum())
    most = int(((distinct - 1) * before).sum())
    return seeds + least, seeds + most


def plain_kaca(distinct: int, count: int, picks: int) -> tuple[int, int]:
    """Count distances that the printed KACA evaluates: the least and the most that its number of picks allows.

    Each class that is picked is compared with all others. There are `distinct` classes first and `count` last; when
    those in between were joined is unknown.
    """
    joined = max(distinct - count, 0)
    late = [distinct] * max(picks - joined, 0) + list(range(distinct, count, -1))
    soon = list(range(distinct, count, -1)) + [count] * max(picks - joined, 0)
    return sum(max(classes - 1, 0) for classes in soon[:picks]), sum(max(classes - 1, 0) for classes in late[:picks])


def _panels() -> Iterator[Panel]:
    across = "quasi-identifying attributes"
    for k, number in zip(_KS, (1, 2), strict=True):
        for up, axis in (
            ("seconds", "time of the processor (s)"),
            ("looked", "distances looked at by pruned searches"),
            ("plain_most", "distances of the algorithms as printed, at most"),
            ("loss", "information loss (normalized NCP)"),
        ):
            shown = f"figure {number}" if up == "seconds" else "not in the paper"
            yield Panel(
                f"{up.replace('_', '-')}-k{k}", f"{headline(axis)} against attributes, k = {k} ({shown})", "results",
                "attributes", up, (across, axis), {"k": k}, logarithmic=up != "loss",
            )  # fmt: skip
