"""What a model compares classes with: the published records, the original ones, or shares that somebody declares."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.numbers import counted
from sfumato.table.schema import Kind

if TYPE_CHECKING:
    from sfumato.classes.statistics import SensitiveCounts

# Counts of a class, summed up: the measures that several models share. Letters: c classes, z (class, value) pairs.


def largest_counts(counts: SensitiveCounts) -> NDArray[np.int64]:
    """Return how often the most frequent value of each class occurs in it; int64 (c,)."""
    return np.maximum.reduceat(counts.counts, counts.starts[:-1])


def distinct_values(counts: SensitiveCounts) -> NDArray[np.int64]:
    """Return the number of distinct values of each class; int64 (c,)."""
    return np.diff(counts.starts)


def class_of_pairs(counts: SensitiveCounts) -> NDArray[np.int64]:
    """Return the class of each (class, value) pair; int64 (z,)."""
    return np.repeat(np.arange(len(counts.starts) - 1), np.diff(counts.starts))


def ratios(counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of each value in its class over that in the table, divided once: short fractions are exact."""
    total = counts.height
    shares: NDArray[np.float64] = counts.counts * total / (counts.totals[counts.values] * sizes[class_of_pairs(counts)])
    return shares


_MISSING = ""
"""How a declared distribution names the missing value."""
_ESCAPED = tuple(f"'{sign}" for sign in "=+-@\t\r")
"""How texts begin that a spreadsheet would have calculated."""
_FINEST = 10**9
"""Most parts into which declared shares are divided."""

Reference = Literal["published", "original"] | dict[str, float] | None
"""What a setting may say; None is ``"published"``."""


class Distribution(dict[str, float]):
    """Values of a sensitive attribute, by their labels, and what share each of them has; frozen once it is made."""

    def __hash__(self) -> int:  # type: ignore[override]
        """Hash by value."""
        return hash(frozenset(self.items()))


class Originals(dict[str, Distribution]):
    """The sensitive values of all original records, attribute by attribute; empty where all of them are published."""

    def __hash__(self) -> int:  # type: ignore[override]
        """Hash by value."""
        return hash(frozenset(self.items()))


class _Numbering(NamedTuple):
    """Values in another order: `labels`, the missing one ``""``, and `places`, int64, where those of before go."""

    labels: list[str]
    places: NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """How a model sees values: in which order, all categories rising, and beside which shares (None: those counted)."""

    shares: Distribution | None = None
    order: tuple[str, ...] | None = None

    def numbering(self, counts: SensitiveCounts) -> _Numbering:
        """Return new numbers for the values that occur and those declared; refused where some occur undeclared."""
        key = {"reference": self.shares, "order": self.order}
        names = {
            what: dict.fromkeys(_canonical(label, counts.kind) for label in declared)
            for what, declared in key.items()
            if declared is not None
        }
        own = _unescaped(_labels_of(counts), {label for declared in names.values() for label in declared})
        for what, declared in names.items():
            _refuse_undeclared(what, own, declared, counts.name)
        known = dict.fromkeys(own) | names.get("reference", {})
        labels = (
            sorted(known, key=self._rank(counts)) if self.order or counts.kind is not Kind.CATEGORICAL else [*known]
        )
        number = {label: place for place, label in enumerate(labels)}
        return _Numbering(labels, np.array([number[label] for label in own], dtype=np.int64))

    def seen(self, counts: SensitiveCounts) -> SensitiveCounts:
        """Return the same counts with values, totals and places in the hierarchy as the model sees them."""
        labels, places = self.numbering(counts)
        totals = np.zeros(len(labels), dtype=np.int64)
        if self.shares is None:
            totals[places] = counts.totals
        else:
            totals[:] = _weights_of(self.shares, labels, counts.kind)
        values = places[counts.values].astype(np.int32)
        order = np.lexsort((values, class_of_pairs(counts)))
        return replace(
            counts,
            values=values[order],
            counts=counts.counts[order],
            totals=totals,
            leaf_of=None if counts.hierarchy is None else _leaves(counts, labels),
            labels=pl.Series([label for label in labels if label != _MISSING], dtype=pl.String),
            code_of=None,
        )

    def _rank(self, counts: SensitiveCounts) -> Any:
        """Return what values are sorted by; the missing value is the last."""
        if self.order is not None:
            place = {_canonical(label, counts.kind): rank for rank, label in enumerate(self.order)}
            return lambda label: (label == _MISSING, place.get(label, len(place)))
        if counts.kind is Kind.NUMERIC:
            return lambda label: (label == _MISSING, float(label or "0"))
        return lambda label: (label == _MISSING, label)


def is_fixed(column: tuple[str, View | None]) -> bool:
    """Tell whether what an attribute is compared with stays the same when records are left out."""
    view = column[1]
    return view is not None and view.shares is not None


def _labels_of(counts: SensitiveCounts) -> list[str]:
    """Return the v labels, the missing one as ``""``; ``PolicyError`` when it is not known how values are named."""
    if counts.labels is None or counts.code_of is None:
        raise PolicyError(f"reference: it is not known how the values of {counts.name!r} are named")
    labels = counts.labels.cast(pl.String)
    texts = [labels[code] if code < len(labels) else _MISSING for code in counts.code_of.tolist()]
    return [_canonical(text, counts.kind) for text in texts]


def _weights_of(shares: Distribution, labels: Sequence[str], kind: Kind) -> NDArray[np.int64]:
    """Return whole numbers that stand to each other as the declared shares do; int64, 0 for what has none."""
    canonical = {_canonical(label, kind): Fraction(str(share)) for label, share in shares.items()}
    scale = math.lcm(*(share.denominator for share in canonical.values()))
    whole = {label: int(share * scale) for label, share in canonical.items()}
    divisor = math.gcd(*whole.values())
    return np.array([whole.get(label, 0) // divisor for label in labels], dtype=np.int64)


def mistakes_in(reference: object) -> Iterator[str]:
    """Say what is wrong with what a setting says; nothing of it that is a value of a table."""
    if reference is None or isinstance(reference, Originals):
        return
    if isinstance(reference, str):
        if reference not in ("published", "original"):
            yield "reference must be one of published, original or a table of values and their shares"
        return
    if not isinstance(reference, Mapping) or not reference:
        yield "reference must be one of published, original or a table of values and their shares, at least one"
        return
    good = [isinstance(share, Real) and not isinstance(share, bool) for share in reference.values()]
    finite = all(good) and all(math.isfinite(share) and share > 0 for share in reference.values())
    if not finite or not all(isinstance(label, str) for label in reference):
        yield "reference must give every value, by its label, a number above 0: its share, or how often it occurs"
        return
    scale = math.lcm(*(Fraction(str(share)).denominator for share in reference.values()))
    if sum(int(Fraction(str(share)) * scale) for share in reference.values()) > _FINEST:
        yield f"reference must have shares that are whole parts of a total of at most {_FINEST:,}; round them"


def frozen_reference(reference: object) -> object:
    """Return what a setting says so that it can be hashed."""
    is_plain = type(reference) is dict or (isinstance(reference, Mapping) and not isinstance(reference, dict))
    return Distribution(reference) if is_plain and isinstance(reference, Mapping) else reference


def distribution_of(counts: SensitiveCounts) -> Distribution:
    """Return how often each value occurs in the whole table, as a reference."""
    return Distribution(zip(_labels_of(counts), counts.totals.tolist(), strict=True))


def _canonical(label: str, kind: Kind) -> str:
    """Write numbers in one way, so that 5 and 5.0 are the same value."""
    if kind is not Kind.NUMERIC or label == _MISSING:
        return label
    try:
        return repr(float(label))
    except ValueError:
        return label


def _refuse_undeclared(what: str, own: Sequence[str], declared: Mapping[str, object], name: str) -> None:
    lacking = [label for label in own if label not in declared and not (what == "order" and label == _MISSING)]
    if lacking:
        raise PolicyError(
            f"{what}: lacks {counted(len(lacking), 'value')} of the {len(own)} that occur in {name!r}; add them, or "
            "correct the spelling" + (', the missing value being ""' if _MISSING in lacking else "")
        )


def _unescaped(labels: Sequence[str], declared: Collection[str]) -> list[str]:
    """Name texts that an escaped file shows with ``'`` before them as they were declared, unless two would be one."""
    named = [label[1:] if label not in declared and label[1:] in declared else label for label in labels]
    escaped = [label.startswith(_ESCAPED) or label == name for label, name in zip(labels, named, strict=True)]
    return named if all(escaped) and len({*named}) == len(named) else [*labels]


def _leaves(counts: SensitiveCounts, labels: Sequence[str]) -> NDArray[np.int32]:
    assert counts.hierarchy is not None
    leaves = _unescaped([_canonical(leaf, counts.kind) for leaf in counts.hierarchy.leaves], labels)
    place = {leaf: code for code, leaf in enumerate(leaves)}
    unknown = sum(label != _MISSING and label not in place for label in labels)
    if unknown:
        raise PolicyError(
            f"reference: {counted(unknown, 'declared value')} of {counts.name!r} "
            f"{'is' if unknown == 1 else 'are'} not in its hierarchy; add them to it, or leave them out"
        )
    return np.array([place.get(label, -1) for label in labels], dtype=np.int32)


def value_paths(counts: SensitiveCounts) -> NDArray[np.int32]:
    """Return the node above each value at each level, int32 (H + 1, v); the missing value is a leaf under the root."""
    if counts.hierarchy is None or counts.leaf_of is None:
        raise PolicyError(f"t-closeness: {counts.name!r} has no hierarchy; give it one or choose another distance")
    paths = counts.hierarchy.node_of[:, counts.leaf_of].astype(np.int32)
    for level, nodes in zip(counts.hierarchy.levels[:-1], paths, strict=False):
        nodes[counts.leaf_of < 0] = len(level.labels)
    if len(paths) == 1:
        # A hierarchy of one value has no step from leaf to root; the missing value needs one.
        paths = np.vstack([np.arange(len(counts.totals), dtype=np.int32), np.zeros_like(paths)])
    return paths


def flat_tree(counts: SensitiveCounts) -> tuple[list[int], list[float]]:
    """Write the tree as kernels read it: values, then nodes where branches meet; the parent (−1) and height of each."""
    paths = value_paths(counts)
    height = len(paths) - 1
    current = list(range(len(counts.totals)))
    parents = [-1] * len(current)
    weights = [0.0] * len(current)
    for level in range(1, height + 1):
        below: dict[int, list[int]] = {}
        for value, node in enumerate(paths[level].tolist()):
            below.setdefault(node, []).append(value)
        for values in below.values():
            children = {current[value] for value in values}
            if len(children) == 1:
                continue
            for child in children:
                parents[child] = len(parents)
            for value in values:
                current[value] = len(parents)
            parents.append(-1)
            weights.append(level / height)
    return parents, weights
