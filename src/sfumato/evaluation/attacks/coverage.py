"""Labels and the codes that they cover, in the form that kernels read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.attacks.publication import PublishedClasses
from sfumato.evaluation.attacks.register import RegisterAttribute
from sfumato.kernels.linking.linkage import Coverage

TABULATED_BYTES = 64 << 20
"""Memory for the table of covering classes; if it would need more, neighbouring codes share rows."""


def coverage_of(publication: PublishedClasses, known: Sequence[RegisterAttribute]) -> Coverage:
    """Return what the classes cover of the attributes that a register shares."""
    rows, shifts = _rows(known, len(publication.sizes))
    return Coverage(publication.label_of, publication.runs, publication.low, publication.high, rows, shifts)


def _rows(known: Sequence[RegisterAttribute], classes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give each attribute rows of the table: the first row of each, int64 (q + 1,), and by how much codes are shifted.

    An attribute that is there several times has its rows once. While the table is too large, the attribute with most
    rows puts twice as many codes on each row.
    """
    place_of: dict[int, int] = {}
    places = [place_of.setdefault(id(each.attribute), len(place_of)) for each in known]
    different = dict(zip(places, known, strict=True))
    codes = np.array([different[place].attribute.size + 1 for place in range(len(different))], dtype=np.int64)
    shifts = np.zeros(len(codes), dtype=np.int64)
    affordable = TABULATED_BYTES // (8 * max(1, (classes + 63) // 64))
    while (rows := ((codes - 1) >> shifts) + 1).sum() > max(affordable, len(codes)):
        shifts[rows.argmax()] += 1
    starts = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    return np.append(starts[:-1][places], starts[-1]), shifts[places]
