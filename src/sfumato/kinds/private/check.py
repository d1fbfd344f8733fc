"""What a recipient finds in every release under differential privacy: declared domains, and what a series has spent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.models.of_kinds import DifferentialPrivacy
from sfumato.models.protocol import Check, Outcome
from sfumato.published.protocol import named
from sfumato.release.agreement import Difference, role_names
from sfumato.release.description import build_own_model, listed_names

NOISY = "noisy"
"""Column of counts with noise, as they were drawn; ``count`` has those that were fitted to each other."""
PROMISE = "Whether any one person is in the table changes no odds by more than e^{epsilon:g}."
LEDGER = "the ledger adds up what all releases of one data set spend; nothing else is joined"
"""What the evidence says of such releases: the promise, and why they are not joined."""
MOST_CELLS = 2_000_000
"""Cells of a marginal, and of a joint distribution that several of them ask for."""


@dataclass(frozen=True)
class Domain:
    """The values of a column that are counted: declared, never read off the data."""

    labels: tuple[str, ...]  # one for each cell, in order
    # Of bins of numbers: rising, one more than labels. Numbers beyond the ends count in the first or last bin.
    borders: tuple[float, ...] | None = None
    # whether one more cell, the last, counts missing values and, of texts, those that are not in the domain
    missing: bool = True

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.labels) + self.missing

    @property
    def texts(self) -> list[str | None]:
        """Labels by code; None for the missing value."""
        return [*self.labels, *([None] if self.missing else [])]

    def column(self, name: str, codes: NDArray[np.integer] | pl.Series) -> pl.Series:
        """Write codes as labels."""
        texts = pl.Series(name, self.texts, dtype=pl.String)
        return texts.gather(codes)

    def codes(self, column: pl.Series) -> NDArray[np.int64]:
        """Read labels, int64 (n,); -1 where there is no such cell."""
        found = column.cast(pl.String).replace_strict(
            list(self.labels), list(range(len(self.labels))), default=-1, return_dtype=pl.Int64
        )
        unknown = len(self.labels) if self.missing else -1
        return pl.select(pl.when(column.is_null()).then(unknown).otherwise(found)).to_series().to_numpy()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        borders = {} if self.borders is None else {"borders": list(self.borders)}
        return {"labels": list(self.labels), **borders, "missing": self.missing}

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Domain:
        """Read plain values, or raise ValueError, KeyError or TypeError."""
        labels, borders, missing = entry["labels"], entry.get("borders"), entry["missing"]
        if not isinstance(labels, list) or not all(isinstance(label, str) and label for label in labels):
            raise TypeError
        if not isinstance(missing, bool) or not labels or len(set(labels)) < len(labels):
            raise ValueError
        if borders is None:
            return cls(tuple(labels), None, missing)
        numbers = tuple(float(border) for border in borders)
        if len(numbers) != len(labels) + 1 or not all(low < high for low, high in pairwise(numbers)):
            raise ValueError
        return cls(tuple(labels), numbers, missing)


@dataclass(frozen=True)
class SeriesSpent:
    """What all releases about the same people have spent, up to one of them."""

    release: int  # how many there are
    # `epsilon`, `delta`: their sums
    epsilon: float
    delta: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"release": self.release, "epsilon": self.epsilon, "delta": self.delta}

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> SeriesSpent:
        """Read plain values, or raise ValueError, KeyError or TypeError."""
        release, epsilon, delta = entry["release"], float(entry["epsilon"]), float(entry["delta"])
        if not isinstance(release, int) or release < 1 or not 0 < epsilon < math.inf or not 0 <= delta < math.inf:
            raise ValueError
        return cls(release, epsilon, delta)

    def __str__(self) -> str:
        """Say it in words."""
        return f"release {self.release:,}; all up to it have spent ε = {self.epsilon:g}, δ = {self.delta:g}"


Mechanism = Literal["discrete Laplace", "discrete Gaussian"]


def series_checks(model: DifferentialPrivacy, series: SeriesSpent | None) -> Iterator[Check]:
    """Say what a series is said to have spent; other releases are not here, but this one is part of the sum."""
    if series is None:
        return
    promise = f"the series has spent no more than ε = {series.epsilon:g}, δ = {series.delta:g} up to this release"
    if series.epsilon < model.epsilon or series.delta < model.delta:
        yield Check(promise, Outcome.BROKEN, detail="this release alone spends more")
    else:
        detail = "other releases are not part of this one; the steward attests what they spent"
        yield Check(promise, Outcome.UNDECIDABLE, detail=detail, required=False)


@dataclass(frozen=True)
class Declared:
    """What ``release.json`` says of every release under differential privacy."""

    domains: Mapping[str, Domain]
    sensitive: tuple[str, ...]
    model: DifferentialPrivacy
    series: SeriesSpent | None


def read_declared(content: Mapping[str, Any]) -> Declared:
    """Read domains and the promise, or raise ValueError, KeyError or TypeError."""
    structure = content["structure"]
    (entry,) = content["models"]
    model = build_own_model(DifferentialPrivacy, entry)
    if model is None or content["sensitive"] != {} or content["suppression_limit"] != 0:
        raise ValueError
    domains = {str(name): Domain.of(each) for name, each in structure["domains"].items()}
    sensitive = listed_names(structure["sensitive"])
    if not {*sensitive} <= {*domains} or structure["neighbours"] != model.neighbours:
        raise ValueError
    return Declared(domains, sensitive, model, SeriesSpent.of(structure["series"]) if "series" in structure else None)


def role_differences(policy: Mapping[str, Any], declared: Declared) -> Iterator[Difference]:
    """Compare the columns of a policy with those that are published."""
    for role, is_sensitive in (("quasi-identifying", False), ("sensitive", True)):
        said = role_names(policy["columns"].get(role, []))
        found = [name for name in declared.domains if (name in declared.sensitive) is is_sensitive]
        if not set(found) <= set(said):
            yield Difference(f"{role} columns", named(said) or "none", named(found))
