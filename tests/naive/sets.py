"""Sets written plainly: every combination is counted by looking into every record, every cut of a tree is tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, product

Items = frozenset[str]
Path = tuple[str, ...]
"""An item, then what stands above it, up to the root."""
Cut = dict[str, str]
"""For each item what is published for it."""


def supports(sets: Sequence[Items], size: int) -> Counter[tuple[str, ...]]:
    """Count the sets that hold each combination of items that some set holds."""
    return Counter(each for items in sets for each in combinations(sorted(items), size))


def k_of(sets: Sequence[Items], m: int) -> int | None:
    """Return the fewest sets that hold any combination of at most m items; None if every set is empty."""
    return min((count for size in range(1, m + 1) for count in supports(sets, size).values()), default=None)


def is_anonymous(sets: Sequence[Items], k: int, m: int) -> bool:
    least = k_of(sets, m)
    return least is None or least >= k


def published(sets: Sequence[Items], cut: Cut) -> list[Items]:
    return [frozenset(cut[item] for item in items if item in cut) for items in sets]


def cuts(paths: Sequence[Path]) -> list[Cut]:
    """Return every cut of a tree."""
    return [dict(chosen) for chosen in _below(paths, len(paths[0]) - 1)]


def _below(paths: Sequence[Path], level: int) -> Iterator[list[tuple[str, str]]]:
    """Publish a node for all items below it, or go on with each of its children by itself."""
    yield [(path[0], path[level]) for path in paths]
    if level:
        children = dict.fromkeys(path[level - 1] for path in paths)
        parts = ([path for path in paths if path[level - 1] == child] for child in children)
        for chosen in product(*(list(_below(part, level - 1)) for part in parts)):
            yield [pair for part in chosen for pair in part]


def penalty(sets: Sequence[Items], cut: Cut, paths: Sequence[Path]) -> float:
    """Return the mean over all items of all sets: 0 if published itself, else the share of items below its node."""
    below = Counter(cut.values())
    shares = [0.0 if below[cut[item]] == 1 else below[cut[item]] / len(paths) for items in sets for item in items]
    return sum(shares) / len(shares)


def fitting(sets: Sequence[Items], known: Items) -> int:
    return sum(known <= items for items in sets)
