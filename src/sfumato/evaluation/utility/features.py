"""Records as numbers for classifiers: how a generalized cell is read, and exact cells in the same form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.utility.bins import Bins, coarse
from sfumato.evaluation.utility.domains import Domain, Floats
from sfumato.evaluation.utility.spreads import AttributeSpread

Encoding = Literal["midpoint", "bounds", "expand"]
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)

MOST_CATEGORIES = 100
NUMBER_BINS = 10

Labels = Mapping[str, NDArray[np.int32]]


def measured_features(
    spreads: Mapping[str, AttributeSpread],
    labels: Labels,
    domains: Sequence[Domain],
    encoding: Encoding,
    rng: np.random.Generator,
) -> Floats:
    """Return one row per record: numbers as numbers, a column for each category.

    ``"midpoint"``: the middle of an interval; each category has its share in a set or node. ``"bounds"``: both ends of
    an interval, categories as before. ``"expand"``: an original value drawn evenly from those that the cell stands for.
    A missing number is the original mean, with a column that says so.
    """
    columns: list[Floats] = []
    for domain in domains:
        spread, label_of = spreads[domain.name], labels[domain.name]
        if domain.numbers is None:
            columns.append(_categories(spread, label_of, domain, encoding, rng))
        else:
            columns.append(_numbers(spread, label_of, domain, encoding, rng))
    return np.hstack(columns)


def binned_features(spreads: Mapping[str, AttributeSpread], labels: Labels, domains: Sequence[Domain]) -> Floats:
    """Return one row per record: the share that each bin of each attribute has in its cell."""
    return np.hstack([spreads[domain.name].histogram(feature_bins(domain))[labels[domain.name]] for domain in domains])


def target_classes(
    spread: AttributeSpread, label_of: NDArray[np.int32], bins: Bins, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the bin of each record, drawn by their shares if a cell stands for several; b if it is missing."""
    shares = spread.histogram(bins)
    sure = shares.max(axis=1) > 1 - 1e-9
    found: NDArray[np.int64] = shares.argmax(axis=1)[label_of]
    open_cells = np.flatnonzero(~sure[label_of])
    steps = np.cumsum(shares, axis=1)[label_of[open_cells]]
    drawn = rng.random(len(open_cells)) * steps[:, -1]
    found[open_cells] = (steps <= drawn[:, None]).sum(axis=1)
    return found


def feature_bins(domain: Domain) -> Bins:
    """Return the bins in which classifiers see an attribute."""
    return coarse(domain, NUMBER_BINS, MOST_CATEGORIES)


def _categories(
    spread: AttributeSpread, label_of: NDArray[np.int32], domain: Domain, encoding: Encoding, rng: np.random.Generator
) -> Floats:
    bins = feature_bins(domain)
    if encoding != "expand":
        return spread.histogram(bins)[label_of]
    drawn = bins.bin_of[spread.draw(label_of, rng).astype(np.int64)]
    single: Floats = np.eye(bins.count + 1)[drawn]
    return single


def _numbers(
    spread: AttributeSpread, label_of: NDArray[np.int32], domain: Domain, encoding: Encoding, rng: np.random.Generator
) -> Floats:
    if encoding == "bounds":
        values = np.column_stack(spread.ends())[label_of]
    elif encoding == "midpoint":
        values = spread.values()[label_of][:, None]
    else:
        values = spread.draw(label_of, rng).astype(np.float64)[:, None]
    assert domain.numbers is not None
    known = domain.codes[domain.codes < domain.attribute.size]
    mean = domain.numbers[known].mean() if len(known) else 0.0
    missing = np.isnan(values)
    return np.column_stack([np.where(missing, mean, values), missing[:, 0]])
