"""Sort single ratings, in any order, into rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SfumatoError
from sfumato.kernels.ratings.rows import repeated_pairs, rows_of
from sfumato.table.header import raise_together
from sfumato.table.ratings.ratings import Ratings
from sfumato.table.ratings.scale import Scale, found_scale
from sfumato.table.ratings.sensitive import SensitiveIssues


@dataclass(frozen=True, eq=False, repr=False)
class Entries:
    """Ratings as they stand in a source.

    Letters: n records, m issues, z ratings, d distinct ratings.

    Attributes
    ----------
    records : int
        n; some may have no rating.
    names : tuple of str
        Of the issues, length m.
    record_of, issue_of : numpy.ndarray
        int32 (z,).
    values : numpy.ndarray
        float64 (d,): the distinct ratings.
    value_of : numpy.ndarray
        Unsigned integers (z,): index into `values`.
    rows : numpy.ndarray or None
        int64 (z,): row of the source that each rating stands in, from 0; None where rating ``i`` stands in row ``i``.
    times : polars.Series or None
    """

    records: int
    names: tuple[str, ...]
    record_of: NDArray[np.int32]
    issue_of: NDArray[np.int32]
    values: NDArray[np.float64]
    value_of: NDArray[np.integer]
    rows: NDArray[np.int64] | None = None
    times: pl.Series | None = None

    def row(self, place: int) -> int:
        """Return the row number, from 1, that a rating stands in."""
        return (place if self.rows is None else int(self.rows[place])) + 1


def assemble_ratings(entries: Entries, scale: Scale | None, choice: SensitiveIssues, label: str) -> Ratings:
    """Sort ratings into rows, place them on the scale and mark the sensitive issues.

    Raises
    ------
    InputError
        With ratings off the scale, issues that a user rated twice and unknown sensitive issues, all at once.
    """
    errors: list[SfumatoError] = []
    used = _fitting_scale(entries, scale, errors)
    codes = _codes(entries, used, errors)
    starts, order = rows_of(entries.record_of, entries.issue_of, entries.records, len(entries.names))
    issues = entries.issue_of[order]
    _refuse_repeated(entries, repeated_pairs(starts, issues, order), errors)
    sensitive = _sensitive(choice, entries, errors)
    raise_together(errors)
    times = None if entries.times is None else entries.times.gather(order)
    return Ratings(starts, issues, codes[order], entries.names, sensitive, used, times, label, scale is None)


def _fitting_scale(entries: Entries, scale: Scale | None, errors: list[SfumatoError]) -> Scale:
    if scale is not None:
        return scale
    try:
        if not len(entries.values):
            raise InputError("there is no rating to find the scale from; give the scale")
        return found_scale(entries.values.tolist())
    except InputError as error:
        errors.append(error)
        return Scale(0, 1)


def _codes(entries: Entries, scale: Scale, errors: list[SfumatoError]) -> NDArray[np.uint8] | NDArray[np.uint16]:
    dtype = np.uint8 if scale.size <= 256 else np.uint16
    places = scale.codes(entries.values)
    off = places < 0
    if off.any() and not errors:  # without a scale, nothing is off it
        strangers = off[entries.value_of]
        errors.append(
            InputError(
                f"{np.count_nonzero(strangers)} rating(s) are off the scale of {scale.size} ratings from {scale.low:g} "
                f"to {scale.high:g}, first in row {entries.row(int(strangers.argmax()))}; correct them, list them as "
                "missing, or give another scale"
            )
        )
    placed: NDArray[np.uint8] | NDArray[np.uint16] = np.where(off, 0, places).astype(dtype)[entries.value_of]
    return placed


def _refuse_repeated(entries: Entries, repeated: tuple[int, int], errors: list[SfumatoError]) -> None:
    count, place = repeated
    if count:
        errors.append(
            InputError(
                f"{count} rating(s) are of an issue that the same user has rated before, first in row "
                f"{entries.row(place)}; keep one of them"
            )
        )


def _sensitive(choice: SensitiveIssues, entries: Entries, errors: list[SfumatoError]) -> NDArray[np.bool_]:
    raters = np.bincount(entries.issue_of, minlength=len(entries.names)).astype(np.int64)
    try:
        return choice.choose(entries.names, raters)
    except InputError as error:
        errors.append(error)
        return np.zeros(len(entries.names), dtype=np.bool_)
