"""The answers that an attacker chooses among: published sensitive values, or ranges of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.adding import added
from sfumato.evaluation.attacks.tallies import numbered
from sfumato.table.kinds import text_of

NOT_PUBLISHED = -1
"""Code of a value that no answer stands for."""


@dataclass(frozen=True, eq=False, repr=False)
class Answers:
    """Possible answers, numbered from 0.

    Attributes
    ----------
    size : int
        Number of answers.
    code_of : mapping of text to int
        Code of each published value; None is the missing value.
    edges : numpy.ndarray or None
        If answers are ranges of numbers: the first number of each range except the lowest.
    """

    size: int
    code_of: Mapping[str | None, int]
    edges: NDArray[np.float64] | None

    @classmethod
    def of(cls, values: pl.Series, records: NDArray[np.float64], *, numeric: bool, ranges: int) -> Answers:
        """Take each published value as an answer, or equally filled ranges of many numbers.

        Parameters
        ----------
        values
            Published sensitive values, repeated or not.
        records
            float64, as long as `values`: records that have each.
        numeric
            Whether the original values are numbers.
        ranges
            Most values that are distinguished if they are numbers.
        """
        texts, codes = numbered(values)
        if not numeric or len(texts) <= ranges:
            return cls(len(texts), {text: code for code, text in enumerate(texts)}, None)
        numbers = _numbers(pl.Series(texts, dtype=pl.String))
        edges = _edges(numbers, added(codes, records, len(texts)), ranges)
        told = _ranks(numbers, edges)
        return cls(len(edges) + 2, dict(zip(texts, told.tolist(), strict=True)), edges)

    def codes(self, column: pl.Series) -> NDArray[np.int64]:
        """Return the answer that is right for each value of an original column, `NOT_PUBLISHED` if none is."""
        if self.edges is not None:
            return _ranks(_numbers(column), self.edges)
        return np.array([self.code_of.get(text, NOT_PUBLISHED) for text in text_of(column).to_list()], dtype=np.int64)

    def codes_of_texts(self, texts: tuple[str | None, ...]) -> NDArray[np.int64]:
        """Return the answer that stands for each published value; any answer for a value that no record has."""
        return np.array([self.code_of.get(text, 0) for text in texts], dtype=np.int64)


def usual_share(truth: NDArray[np.int64], person: NDArray[np.int64]) -> float:
    """Return the share of the people whose right answer is the most frequent one: the best possible guess.

    truth, person : int64 (n,), the right answer of each record, and whose it is; an answer counts once for each person.
    """
    pairs = np.unique(np.column_stack([person, truth]), axis=0)
    had = pairs[pairs[:, 1] >= 0, 1]
    return float(np.bincount(had, minlength=1).max() / max(1, len(np.unique(person))))


def _numbers(column: pl.Series) -> NDArray[np.float64]:
    return column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()


def _edges(numbers: NDArray[np.float64], records: NDArray[np.float64], ranges: int) -> NDArray[np.float64]:
    told = np.isfinite(numbers)
    order = np.argsort(numbers[told])
    rising, below = numbers[told][order], np.cumsum(records[told][order])
    wanted = below[-1] * np.arange(1, ranges) / ranges
    return np.unique(rising[np.minimum(np.searchsorted(below, wanted, side="right"), len(rising) - 1)])


def _ranks(numbers: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the range of each number; anything that is not a number has an answer of its own, the last."""
    return np.where(np.isfinite(numbers), np.searchsorted(edges, numbers, side="right"), len(edges) + 1)
