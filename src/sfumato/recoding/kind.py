"""Which kind of recoding a published table shows."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.generalized import GeneralizedColumn, GeneralizedTable
from sfumato.errors import InputError
from sfumato.hierarchy.tree import Hierarchy
from sfumato.table.exact_names import columns_of


class RecodingKind(StrEnum):
    """Kinds of recoding, from the most rigid to the most flexible."""

    FULL_DOMAIN = "full-domain"
    SINGLE_DIMENSIONAL = "single-dimensional"
    MULTIDIMENSIONAL = "multidimensional"
    LOCAL = "local"


def recoding_kind(generalized: GeneralizedTable) -> RecodingKind:
    """Name the most rigid kind that the published records show.

    * full-domain: every attribute is published on one level of its hierarchy; without a hierarchy, unchanged or with
      the same generalized value everywhere;
    * single-dimensional: equal original values of an attribute are published equally;
    * multidimensional: equal original records are published equally;
    * local: anything else.

    Suppressed records are left out.

    Parameters
    ----------
    generalized
        A recoded table, aligned with its original.

    Raises
    ------
    InputError
        When the table was read back from a published frame, whose rows are not aligned with the original.

    Notes
    -----
    Follows the thesis's section 2.4. Cost O(n · q), by hashing.
    """
    if not generalized.aligned:
        raise InputError("the kind of recoding cannot be found from a published table, because its rows are shuffled")
    kept = np.flatnonzero(generalized.class_of >= 0)
    original = [pl.Series(f"original {index}", codes) for index, codes in enumerate(generalized.original.codes[kept].T)]
    images = [pl.Series(f"published {index}", image) for index, image in enumerate(_images(generalized, kept))]
    frame = pl.DataFrame([*original, *images])
    pairs = [(before.name, after.name) for before, after in zip(original, images, strict=True)]
    if all(_determines(frame, [before], [after]) for before, after in pairs):
        return RecodingKind.FULL_DOMAIN if _on_one_level(generalized) else RecodingKind.SINGLE_DIMENSIONAL
    befores, afters = [before for before, _ in pairs], [after for _, after in pairs]
    return RecodingKind.MULTIDIMENSIONAL if _determines(frame, befores, afters) else RecodingKind.LOCAL


def _images(generalized: GeneralizedTable, kept: NDArray[np.int64]) -> list[NDArray[np.int32]]:
    # Two generalized values with one label (as means may have) are one value to a recipient.
    return [
        _label_numbers(column.labels)[column.per_class][generalized.class_of[kept]] for column in generalized.columns
    ]


def _label_numbers(labels: pl.Series) -> NDArray[np.int32]:
    distinct = labels.unique(maintain_order=True)
    numbers = pl.int_range(len(distinct), eager=True, dtype=pl.Int32)
    return labels.replace_strict(distinct, numbers, return_dtype=pl.Int32).to_numpy()


def _determines(frame: pl.DataFrame, keys: Sequence[str], images: Sequence[str]) -> bool:
    return columns_of(frame, keys).n_unique() == columns_of(frame, [*keys, *images]).n_unique()


def _on_one_level(generalized: GeneralizedTable) -> bool:
    return all(
        _shares_a_level(column)
        if column.attribute.hierarchy is not None
        else column.count == 1 or not column.level.any()
        for column in generalized.columns
    )


def _shares_a_level(column: GeneralizedColumn) -> bool:
    """Tell whether the labels are on one level; a label that repeats on several levels is on all of them."""
    hierarchy = column.attribute.hierarchy
    assert hierarchy is not None
    # The missing value has no ancestor but the top, so it stays unchanged on every level below.
    nodes = (column.low < column.attribute.size) & ~column.unrestricted
    lowest = column.level[nodes].tolist()
    highest = [_highest(hierarchy, *node) for node in zip(column.low[nodes].tolist(), lowest, strict=True)]
    if column.unrestricted.any():
        return all(level == hierarchy.height for level in highest)
    return not lowest or max(lowest) <= min(highest)


def _highest(hierarchy: Hierarchy, leaf: int, level: int) -> int:
    """Return the highest level on which the leaf's label is that of `level`."""
    labels = [step.labels[node] for step, node in zip(hierarchy.levels, hierarchy.node_of[:, leaf], strict=True)]
    return max(place for place, label in enumerate(labels) if label == labels[level])
