"""Recount marginal tables: sizes of their cells, their sensitive values, and whether they are safe in combination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, class_statistics
from sfumato.models.protocol import Achieved, Check, Outcome, PrivacyModel, promise_words, says
from sfumato.numbers import counted
from sfumato.published.apart import COUNT, MarginalTables
from sfumato.table.encoding import encode
from sfumato.table.header import columns_of, exactly
from sfumato.table.reading import read_written
from sfumato.table.schema import Attribute, Schema

# How sets of attributes overlap: whether their tables can determine more than they show.


Sets = Sequence[Sequence[str]]


def is_acyclic(sets: Sets) -> bool:
    """Tell whether sets of attributes overlap like a tree (Graham's reduction).

    Attributes of a single set, and sets that lie inside another one, are removed until nothing changes; if the sets
    have no circle, nothing is left. Count tables of such sets determine no count of a combination of their attributes
    except 0 and sums of counts in one table.
    """
    left = [set(names) for names in sets]
    while True:
        holders = Counter(name for names in left for name in names)
        trimmed = [{name for name in names if holders[name] > 1} for names in left]
        rest = [
            names
            for place, names in enumerate(trimmed)
            if names
            and not any(names < other or (names == other and place > before) for before, other in enumerate(trimmed))
        ]
        if not rest:
            return True
        if rest == left:
            return False
        left = rest


def ordered_sets(sets: Sets) -> list[int]:
    """Order sets so that each has as much as possible in common with those before it, ties by place; return places."""
    left = list(range(len(sets)))
    past: set[str] = set()
    order = []
    while left:
        best = max(left, key=lambda place: (len(past & set(sets[place])), -place))
        order.append(best)
        past.update(sets[best])
        left.remove(best)
    return order


def repeated_sets(sets: Sets, names: Collection[str]) -> list[str]:
    """Return the attributes that are in more than one set."""
    return [name for name in names if sum(name in members for members in sets) > 1]


_MOST = 1 << 31


@dataclass(frozen=True, eq=False, repr=False)
class _CountTable:
    """One table: its cells over the quasi-identifying attributes, and the sensitive values in them."""

    statistics: ClassStatistics


def check_marginals(
    published: MarginalTables, models: Sequence[PrivacyModel], sensitive: Mapping[str, Attribute]
) -> list[Check]:
    """Recount every model, one check each.

    Every combination of quasi-identifying values in every table has k records or more; the sensitive values beside it
    satisfy the other models. This holds for all tables together if their sets form no circle, no sensitive attribute is
    in two of them, and they agree on what they share; else it is undecidable.

    *Why this follows.* Tables of sets without a circle determine the count of a group of people only if it is 0 or a
    sum of counts in one table, so nobody finds a group of fewer than k by subtraction. Among all distributions that
    agree with them, the one of largest entropy makes a sensitive attribute independent of everything else, given those
    beside it in its table. An attacker who assumes independence of what is not published infers the shares in that
    table, and no more. Cost O(rows) and O(records).
    """
    reason = _unsafe(published)
    parts = [] if reason else [_part(published, place, sensitive) for place in range(len(published.columns))]
    return [_check(model, parts, reason) for model in models]


def records_of(published: MarginalTables) -> int:
    """Return how many records the tables count."""
    return int(published.marginals[0][COUNT].sum())


def _unsafe(published: MarginalTables) -> str:
    """Say why tables cannot be judged one by one; empty if they can."""
    if any(frame[COUNT].null_count() or (frame[COUNT] < 1).any() for frame in published.marginals):
        return "there are counts below 1"
    if any(int(frame[COUNT].cast(pl.Float64).sum()) >= _MOST for frame in published.marginals):
        return "the tables count more records than can be recounted"
    if not is_acyclic(published.columns):
        return "sets of attributes overlap in a circle"
    if twice := repeated_sets(published.columns, published.sensitive):
        return f"sensitive attributes are in several tables: {', '.join(twice)}"
    pairs = combinations(range(len(published.columns)), 2)
    if not all(_agree(published, *pair) for pair in pairs):
        return "the tables do not agree on what they share"
    return ""


def _agree(published: MarginalTables, one: int, other: int) -> bool:
    shared = [name for name in published.columns[one] if name in published.columns[other]]
    sums = []
    for place in (one, other):
        frame = published.marginals[place]
        if not shared:
            sums.append(pl.DataFrame({COUNT: [frame[COUNT].sum()]}))
        else:
            keys = exactly(*shared)
            texts = frame.select(keys.cast(pl.String), COUNT)
            sums.append(texts.group_by(keys).agg(pl.col(COUNT).sum()).sort(keys))
    return sums[0].with_columns(pl.col(COUNT).cast(pl.Int64)).equals(sums[1].with_columns(pl.col(COUNT).cast(pl.Int64)))


def _part(published: MarginalTables, place: int, sensitive: Mapping[str, Attribute]) -> _CountTable:
    frame, columns = published.marginals[place], published.columns[place]
    quasi = [name for name in columns if name not in published.sensitive]
    texts = [exactly(name).cast(pl.String).alias(str(number)) for number, name in enumerate(quasi)]
    cells = _numbered(frame.select(texts))
    cells = cells if quasi else np.zeros(frame.height, dtype=np.int32)
    counts = frame[COUNT].cast(pl.Int64).to_numpy()
    attributes = {name: sensitive[name] for name in columns if name in published.sensitive}
    return _CountTable(_statistics(frame, cells, counts, attributes))


def _numbered(keys: pl.DataFrame) -> NDArray[np.int32]:
    """Give equal rows the same number, from 0."""
    if not keys.width:
        return np.zeros(0, dtype=np.int32)
    different = keys.unique(maintain_order=True).with_row_index("cell")
    found = keys.join(different, on=keys.columns, nulls_equal=True, maintain_order="left")
    return found["cell"].cast(pl.Int32).to_numpy()


def _statistics(
    frame: pl.DataFrame, cells: NDArray[np.int32], counts: NDArray[np.int64], attributes: Mapping[str, Attribute]
) -> ClassStatistics:
    count = int(cells.max(initial=-1)) + 1
    if not attributes:
        return ClassStatistics(np.bincount(cells, counts, count).astype(np.int64), {})
    encoded = encode(read_written(columns_of(frame, attributes), Schema(quasi_identifying=attributes)), order="name")
    codes = np.repeat(encoded.codes, counts, axis=0)
    return class_statistics(np.repeat(cells, counts), count, codes, encoded.attributes)


def _check(model: PrivacyModel, parts: Sequence[_CountTable], reason: str) -> Check:
    words = promise_words(model)
    speaks_of = says(model).speaks_of
    if "marginals" not in speaks_of:
        return Check(words, Outcome.UNDECIDABLE, detail="count tables promise nothing about it")
    if reason:
        return Check(words, Outcome.UNDECIDABLE, detail=reason)
    judged = [part.statistics for part in parts if concerned(model, part.statistics.sensitive)]
    if "sizes" in speaks_of:
        judged = [ClassStatistics(np.concatenate([part.sizes for part in judged]), {})]
    failing = sum(int((~model.holds(part)).sum()) for part in judged)
    achieved: tuple[Achieved, ...] = tuple(each for part in judged for each in model.achieved(part))
    if failing:
        return Check(words, Outcome.BROKEN, achieved, f"{counted(failing, 'combination')} of values break it")
    return Check(words, Outcome.HOLDS, achieved, "" if judged else "no table has a sensitive attribute")


def concerned(model: PrivacyModel, sensitive: Mapping[str, object] | Sequence[str]) -> bool:
    """Tell whether a model applies to a table with these sensitive attributes."""
    if "sizes" in says(model).speaks_of:
        return True
    attribute = getattr(model, "attribute", None)
    return bool(sensitive) if attribute is None else attribute in sensitive
