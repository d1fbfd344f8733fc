"""What a recipient finds in every release under differential privacy: declared domains, and what a series has spent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.models.checks import Check, Outcome
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.published.roles import named
from sfumato.release.agreement import Difference, known_own_model, model_differences, role_names
from sfumato.release.description import TableFacts, describe_own_model
from sfumato.release.table_files import has_rows
from sfumato.table.reading import read_written
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.sources import open_source
from sfumato.table.sources.protocol import CsvFormat

NOISY = "noisy"
"""Column of counts with noise, as they were drawn; ``count`` has those that were fitted to each other."""
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


def opendp_version() -> str:
    """Return the version of OpenDP that is installed."""
    try:
        return version("opendp")
    except PackageNotFoundError:
        return "unknown"


def read_texts(path: Path, facts: TableFacts, expected: tuple[str, ...], numbers: tuple[str, ...] = ()) -> pl.DataFrame:
    """Read a table: some columns as numbers, everything else as text; ``InputError`` for unexpected columns."""
    names = open_source(path, CsvFormat(strip=False)).names
    if sorted(names) != sorted(facts.columns) or sorted(names) != sorted(expected):
        raise InputError(f"{path.name}: has other columns than release.json says; it was changed")
    if not facts.rows and not has_rows(path):
        return pl.DataFrame({name: pl.Series([], dtype=pl.String) for name in names})
    text, number = Attribute(kind=Kind.CATEGORICAL), Attribute(kind=Kind.NUMERIC)
    kinds = {name: number if name in numbers else text for name in names}
    frame = read_written(path, Schema(quasi_identifying=kinds)).frame
    return frame.select(names)


class DeclaredDescription(Protocol):
    """What a release under differential privacy says of its columns and its promise."""

    @property
    def domains(self) -> Mapping[str, Domain]:
        """The declared domain of every published column."""
        ...

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Sensitive columns."""
        ...

    @property
    def model(self) -> DifferentialPrivacy:
        """What is promised."""
        ...


def promise_differences(content: Mapping[str, Any], description: DeclaredDescription) -> Iterator[Difference]:
    """Compare the promise and the columns of releases under differential privacy."""
    yield from model_differences(
        [known_own_model(DifferentialPrivacy, {"name": DifferentialPrivacy.name, **content["model"]})],
        [describe_own_model(description.model)],
    )
    columns = content["columns"]
    for role, told in (("quasi-identifying", False), ("sensitive", True)):
        said = role_names(columns.get(role, []))
        found = [name for name in description.domains if (name in description.sensitive) is told]
        if not set(found) <= set(said):
            yield Difference(f"{role} columns", named(said) or "none", named(found))
