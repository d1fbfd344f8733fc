"""Measures series of releases on Adult; ``python docs/figures/series.py`` prints it.

30,162 complete records in random order. Losses are normalized NCP of tight classes, as in decision record 2.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.adult import QUASI_IDENTIFYING, read_adult

import sfumato as sf
from sfumato.anonymizers.feasibility import Problem
from sfumato.models.protocol import PrivacyModel
from sfumato.series.grow_moves import GrownClasses, Roster, grow, tight_boxes
from sfumato.series.invariant_making import Present, keep_invariant
from sfumato.series.recount import Released, SensitiveValues, recount_pair
from sfumato.table.encoding import EncodedTable, encode

MONTHS, SEEDS = 12, (0, 1, 2, 3, 4)


def adult(seed: int) -> pl.DataFrame:
    """Return the records in random order."""
    frame = read_adult(Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data")
    return frame[np.random.default_rng(seed).permutation(len(frame))]


def encoded(frame: pl.DataFrame, sensitive: Sequence[str]) -> EncodedTable:
    """Return codes of the quasi-identifying and some sensitive attributes."""
    quasi = [name for name in QUASI_IDENTIFYING if name not in sensitive]
    return encode(sf.read_table(frame, sf.Schema(quasi_identifying=quasi, sensitive=list(sensitive), others="drop")))


def loss(table: EncodedTable, class_of: np.ndarray) -> float:
    """Return the mean loss of a cell."""
    boxes, total = tight_boxes(table.attributes, table.codes, class_of, int(class_of.max()) + 1), 0.0
    for index, attribute in enumerate(table.attributes):
        if attribute.numbers is not None:
            ends = attribute.numbers[boxes.high[:, index]] - attribute.numbers[boxes.low[:, index]]
            part = ends / attribute.domain_width
        else:
            sizes = boxes.sets[index].sum(axis=1)
            part = np.where(sizes > 1, sizes / attribute.domain_size, 0.0)
        total += float(part[class_of].mean())
    return total / len(table.attributes)


def once(table: EncodedTable, models: Sequence[PrivacyModel]) -> float:
    """Return the loss of one release of everybody by Mondrian."""
    return loss(table, sf.Mondrian().solve(Problem(table, models)).class_of)


def growing(sensitive: Sequence[str], models: Sequence[PrivacyModel], seed: int) -> None:
    """Print what twelve monthly releases lose."""
    table = encoded(adult(seed), sensitive)
    people = table.height
    value_of = table.sensitive_codes[:, 0].astype(np.int64) if sensitive else np.zeros(people, dtype=np.int64)
    shown = np.arange(table.sensitive[0].cardinality)[:, None] if sensitive else np.zeros((1, 0), dtype=np.int64)
    values = SensitiveValues(table.sensitive, shown)
    classes = np.full((people, MONTHS), -1, dtype=np.int32)
    came, history = (np.full(people, -1, dtype=np.int64) for _ in range(2))
    last: GrownClasses | None = None
    releases: list[Released] = []
    ends = np.linspace(0, people, MONTHS + 1).astype(np.int64)
    appended, seconds, strict = 0.0, 0.0, True
    for month, end in enumerate(ends[1:]):
        rows = np.arange(end)
        roster = Roster(
            table.take(rows), value_of[:end], values, classes[:end, :month].copy(), came[:end].copy(),
            history[:end].copy(),
        )  # fmt: skip
        start = time.perf_counter()
        last = grow(roster, models, releases, last, exact_months=not sensitive)
        seconds += time.perf_counter() - start
        classes[:end, month], came[:end], history[:end] = last.class_of, last.came, last.history_of
        there = last.class_of >= 0
        releases.append(Released(last.class_of[there], value_of[:end][there], last.boxes))
        strict &= all((recount_pair(each, releases[-1]).least or 10) >= 10 for each in releases[:-1])
        batch = table.take(np.arange(ends[month], end))
        appended += once(batch, models) * batch.height / people
    assert last is not None
    there = last.class_of >= 0
    reached, single = loss(table.take(np.flatnonzero(there)), last.class_of[there]), once(table, models)
    print(
        f"grow, beside {', '.join(sensitive) or 'nothing'}, {models}: loss {reached:.4f}, once {single:.4f}, "
        f"ratio {reached / single:.3f}; append {appended / single:.3f}; waiting {np.count_nonzero(~there)}; "
        f"folders alone suffice: {strict}; {seconds:.1f} s"
    )


def invariant(m: int, seed: int) -> None:
    """Print the counterfeits of twelve months in which a tenth leaves and as many new people come."""
    table = encoded(adult(seed), ["occupation"])
    draw = np.random.default_rng(seed)
    value_of = table.sensitive_codes[:, 0].astype(np.int64)
    signature_of, signatures = np.full(table.height, -1, dtype=np.int64), ()
    size = int(table.height / (1 + 0.1 * (MONTHS - 1)))
    here, coming = np.arange(size), size
    shares = []
    for month in range(MONTHS):
        if month:
            some = size // 10
            here = np.append(np.sort(draw.choice(here, size - some, replace=False)), np.arange(coming, coming + some))
            coming += some
        found = keep_invariant(Present(table.take(here), value_of[here], signature_of[here], signatures), m)
        signature_of[here], signatures = found.signature_of, found.signatures
        rows = np.count_nonzero(found.class_of >= 0) + len(found.counterfeit_class)
        shares.append(len(found.counterfeit_class) / rows)
    most, mean = max(shares), np.mean(shares)
    print(f"m-invariance, m = {m}, {size} people: counterfeits {most:.3%} of rows at most, {mean:.3%} on average")


if __name__ == "__main__":
    for seed in SEEDS:
        growing([], [sf.KAnonymity(10)], seed)
    for seed in SEEDS:
        growing(["salary-class"], [sf.KAnonymity(10)], seed)
    for seed in SEEDS:
        growing(["occupation"], [sf.KAnonymity(10), sf.DistinctLDiversity(3)], seed)
    for seed in SEEDS:
        invariant(4, seed)
