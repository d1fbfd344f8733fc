"""A release under differential privacy as its recipient holds it: noisy counts, fitted counts, synthetic records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError
from sfumato.published.bucketized import COUNT

NOISY = "noisy"
"""Column of counts with noise, as they were drawn; ``count`` has those that were fitted to each other."""
SYNTHETIC = "synthetic"
MOST_CELLS = 2_000_000
"""Cells of a marginal, and of a joint distribution that several of them ask for."""
NOBODYS = "Every row was drawn from a distribution that was fitted to noisy counts. It is nobody's record."
"""What a release says of its synthetic records."""


@dataclass(frozen=True)
class Domain:
    """The values of a column that are counted: declared, never read off the data.

    Attributes
    ----------
    labels : tuple of str
        One for each cell, in order.
    borders : tuple of float or None
        Of bins of numbers: rising, one more than labels. Numbers beyond the ends count in the first or last bin.
    missing : bool
        Whether one more cell, the last, counts missing values and, of texts, those that are not in the domain.
    """

    labels: tuple[str, ...]
    borders: tuple[float, ...] | None = None
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
    """What all releases about the same people have spent, up to one of them.

    Attributes
    ----------
    release : int
        How many there are.
    epsilon, delta : float
        Their sums.
    """

    release: int
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


def cells_of(names: Sequence[str], domains: Mapping[str, Domain]) -> int:
    """Return how many cells a marginal has."""
    return math.prod(domains[name].size for name in names)


@dataclass(frozen=True, eq=False, repr=False)
class PrivateMarginals:
    """Noisy marginals. Letters: t tables, a columns.

    Attributes
    ----------
    domains : mapping of str to Domain
        Of every column in some marginal.
    sets : tuple of tuple of str
        Columns of each marginal.
    noisy : tuple of numpy.ndarray
        int64, t of them, one axis for each column: counts with noise, also negative.
    counts : tuple of numpy.ndarray
        float64, as `noisy`: not negative, and all marginals of one distribution.
    sensitive : tuple of str
        Sensitive columns.
    records : numpy.ndarray or None
        int64 (n, a): synthetic records as codes, columns in the order of `domains`.
    """

    domains: Mapping[str, Domain]
    sets: tuple[tuple[str, ...], ...]
    noisy: tuple[NDArray[np.int64], ...]
    counts: tuple[NDArray[np.float64], ...]
    sensitive: tuple[str, ...]
    records: NDArray[np.int64] | None = None

    @property
    def quasi_identifying(self) -> tuple[str, ...]:
        """Columns that are not sensitive."""
        return tuple(name for name in self.domains if name not in self.sensitive)

    @property
    def total(self) -> float:
        """Records that were fitted; close to the number of records, and private as the counts are."""
        return float(self.counts[0].sum())

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """A table with all cells of each marginal, and the synthetic records if there are any."""
        tables = {f"marginal_{place}": self._marginal(place - 1) for place in range(1, len(self.sets) + 1)}
        if self.records is not None:
            tables[SYNTHETIC] = self.synthetic
        return tables

    @property
    def synthetic(self) -> pl.DataFrame:
        """The synthetic records; a table without rows if there are none."""
        codes = np.empty((0, len(self.domains)), dtype=np.int64) if self.records is None else self.records
        return pl.DataFrame(
            [domain.column(name, codes[:, place]) for place, (name, domain) in enumerate(self.domains.items())]
        )

    @property
    def structure(self) -> dict[str, Any]:
        """What a recipient needs beside the tables."""
        return {
            "domains": {name: domain.to_dict() for name, domain in self.domains.items()},
            "sets": [list(names) for names in self.sets],
            "sensitive": list(self.sensitive),
        }

    def _marginal(self, place: int) -> pl.DataFrame:
        names, noisy, counts = self.sets[place], self.noisy[place], self.counts[place]
        codes = np.indices(noisy.shape).reshape(noisy.ndim, -1)
        columns = [self.domains[name].column(name, row) for name, row in zip(names, codes, strict=True)]
        return pl.DataFrame([*columns, pl.Series(NOISY, noisy.ravel()), pl.Series(COUNT, counts.ravel())])

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> PrivateMarginals:
        """Put the tables of a release together.

        Raises
        ------
        VerificationError
            When a table does not have every cell of the declared domains once, or synthetic records lie outside.
        """
        domains: Mapping[str, Domain] = structure["domains"]
        noisy, counts = [], []
        for place, names in enumerate(structure["sets"], start=1):
            drawn, fitted = _arrays(f"marginal_{place}", tables[f"marginal_{place}"], names, domains)
            noisy.append(drawn)
            counts.append(fitted)
        records = None if SYNTHETIC not in tables else _codes(tables[SYNTHETIC], domains)
        return cls(
            domains, tuple(structure["sets"]), tuple(noisy), tuple(counts), tuple(structure["sensitive"]), records
        )


def _arrays(
    table: str, frame: pl.DataFrame, names: Sequence[str], domains: Mapping[str, Domain]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    shape = tuple(domains[name].size for name in names)
    cells = math.prod(shape)
    incomplete = VerificationError(f"{table}: has not every cell of the declared domains once; the release was changed")
    if frame.height != cells or cells > MOST_CELLS:
        raise incomplete
    codes = [domains[name].codes(frame[name]) for name in names]
    if any((code < 0).any() for code in codes):
        raise incomplete
    cell = np.ravel_multi_index(codes, shape)
    if len(np.unique(cell)) < cells:
        raise incomplete
    if frame.schema[NOISY] != pl.Int64 or frame[NOISY].null_count() or frame[COUNT].null_count():
        raise VerificationError(f"{table}: noisy counts are no whole numbers; the release was changed")
    if not frame.schema[COUNT].is_numeric():
        raise VerificationError(f"{table}: counts are no numbers; the release was changed")
    noisy, counts = np.empty(cells, dtype=np.int64), np.empty(cells)
    noisy[cell], counts[cell] = frame[NOISY].to_numpy(), frame[COUNT].cast(pl.Float64).to_numpy()
    return noisy.reshape(shape), counts.reshape(shape)


def _codes(frame: pl.DataFrame, domains: Mapping[str, Domain]) -> NDArray[np.int64]:
    codes = np.column_stack([domain.codes(frame[name]) for name, domain in domains.items()])
    if (codes < 0).any():
        raise VerificationError(f"{SYNTHETIC}: holds values outside of the declared domains; the release was changed")
    return codes.astype(np.int64)
