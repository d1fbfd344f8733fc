"""Plain twin of recoding: what each class publishes for one attribute, as text.

A column is a list of numbers, dates or texts with None for a missing value; a class is a list of record indices
(from 0); a tree is a dictionary from each leaf to its labels from level 0 (the leaf itself) to the root. A record in
no class is suppressed. The published text of a missing value is None.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

Value = Any
Tree = Mapping[Any, Sequence[str]]

SUPPRESSED = "*"


def members(column: Sequence[Value], records: Sequence[int]) -> list[Value]:
    return [column[index] for index in records]


def plain(value: Value) -> str | None:
    """Text of an exact value; dates come out in ISO form."""
    return None if value is None else str(value)


def is_mixed(values: Sequence[Value]) -> bool:
    """Tell whether missing and present values meet in one class."""
    return None in values and any(value is not None for value in values)


# --- the four forms ------------------------------------------------------------------------------------------------


def interval_text(values: Sequence[Value]) -> str | None:
    """`[lowest..highest]`; one value stays as it is; missing next to present is suppressed."""
    if is_mixed(values):
        return SUPPRESSED
    if len(set(values)) == 1:
        return plain(values[0])
    return f"[{plain(min(values))}..{plain(max(values))}]"


def mean_of(values: Sequence[Value]) -> float:
    return math.fsum(values) / len(values)


def mean_text(values: Sequence[Value]) -> str | None:
    """The class mean; one value stays as it is; missing next to present is suppressed."""
    if is_mixed(values):
        return SUPPRESSED
    if len(set(values)) == 1:
        return plain(values[0])
    return repr(mean_of(values))


def average_of(values: Sequence[Any], average: str) -> float:
    """Mean, median, geometric mean or the most frequent number, of several the lowest."""
    if average == "mean":
        return mean_of(values)
    if average == "median":
        return statistics.median(values)
    if average == "geometric-mean":
        return statistics.geometric_mean(values)
    return min(statistics.multimode(values))


def ancestor_level(values: Sequence[Value], tree: Tree) -> int:
    """Lowest level at which all values share a node; a node is told from others by its labels up to the root."""
    level = 0
    while len({tuple(tree[value][level:]) for value in values}) > 1:
        level += 1
    return level


def ancestor_text(values: Sequence[Value], tree: Tree) -> str | None:
    """Label of the lowest common ancestor; missing next to present is suppressed."""
    if is_mixed(values):
        return SUPPRESSED
    if set(values) == {None}:
        return None
    return tree[values[0]][ancestor_level(values, tree)]


def set_member(value: Value) -> str:
    """Text inside braces: `\\` and `|` are escaped, the missing value is `\\N`."""
    return r"\N" if value is None else str(value).replace("\\", "\\\\").replace("|", "\\|")


def exact_in_set_form(value: Value) -> str | None:
    """An exact value that could be taken for a set, an escape or a suppressed cell gets a leading `\\`."""
    text = plain(value)
    if text is None:
        return None
    return "\\" + text if text.startswith(("{", "\\")) or text == SUPPRESSED else text


def set_text(values: Sequence[Value]) -> str | None:
    """`{a|b|c}`, members sorted by their unescaped text, the missing value last; one value stays as it is."""
    distinct = set(values)
    if len(distinct) == 1:
        return exact_in_set_form(values[0])
    present = sorted((value for value in distinct if value is not None), key=str)
    return "{" + "|".join(map(set_member, [*present, None] if None in distinct else present)) + "}"


def class_text(values: Sequence[Value], form: str, tree: Tree | None = None) -> str | None:
    """Published text of one class; `form` is 'interval', 'ancestor' (needs the tree), 'set' or 'mean'."""
    if form == "ancestor":
        assert tree is not None
        return ancestor_text(values, tree)
    return {"interval": interval_text, "set": set_text, "mean": mean_text}[form](values)


# --- columns and tables --------------------------------------------------------------------------------------------


def class_texts(
    column: Sequence[Value], classes: Sequence[Sequence[int]], form: str, tree: Tree | None = None
) -> list[str | None]:
    """Published text of each class."""
    return [class_text(members(column, records), form, tree) for records in classes]


def published_column(
    column: Sequence[Value], classes: Sequence[Sequence[int]], form: str, tree: Tree | None = None
) -> list[str | None]:
    """Published text of each record in its original place; suppressed records publish `*`."""
    published: list[str | None] = [SUPPRESSED] * len(column)
    for records, text in zip(classes, class_texts(column, classes, form, tree), strict=True):
        for index in records:
            published[index] = text
    return published


def full_domain_column(column: Sequence[Value], tree: Tree, level: int) -> list[str | None]:
    """Every value climbs to the same level; the missing value stays missing."""
    return [None if value is None else tree[value][level] for value in column]


# --- which kind of recoding a published table shows ----------------------------------------------------------------


def determines(keys: Sequence[Value], images: Sequence[Value]) -> bool:
    """Tell whether equal keys always have equal images."""
    image_of: dict[Value, Value] = {}
    return all(image_of.setdefault(key, image) == image for key, image in zip(keys, images, strict=True))


def is_full_domain(column: Sequence[Value], published: Sequence[Value], tree: Tree) -> bool:
    height = len(next(iter(tree.values()))) - 1
    return any(list(published) == full_domain_column(column, tree, level) for level in range(height + 1))


def recoding_kind(
    original: Mapping[str, Sequence[Value]],
    published: Mapping[str, Sequence[Value]],
    trees: Mapping[str, Tree] | None = None,
) -> str:
    """Name the strictest kind that the table shows: 'full-domain', 'single-dim', 'multi-dim' or 'local'.

    Full-domain can only be told where every attribute has a tree.
    """
    if trees and all(is_full_domain(original[name], published[name], trees[name]) for name in original):
        return "full-domain"
    if all(determines(original[name], published[name]) for name in original):
        return "single-dim"
    vectors = list(zip(*original.values(), strict=True))
    images = list(zip(*published.values(), strict=True))
    return "multi-dim" if determines(vectors, images) else "local"
