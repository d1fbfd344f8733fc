"""Which original values a generalized value may stand for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.generalized import GeneralizedColumn


def covers(column: GeneralizedColumn, codes: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Tell which generalized values cover which codes.

    Parameters
    ----------
    column
        One attribute with g generalized values.
    codes
        Integers (m,): original codes; the missing value's is ``attribute.size``.

    Returns
    -------
    numpy.ndarray
        bool (g, m). A value set covers its members, ``*`` every value and the missing one, anything else the codes from
        its lowest to its highest. A mean covers the range of its class; one that was read back from a published frame
        covers only its two neighbours.

    Notes
    -----
    Memory g · m bytes; pass few codes, or distinct ones.
    """
    wanted = np.asarray(codes, dtype=np.int64)
    if column.members is None:
        return (column.low[:, None] <= wanted) & (wanted <= column.high[:, None])
    table = np.zeros((column.count, column.attribute.size + 1), dtype=np.bool_)
    sets = np.repeat(np.arange(column.count), np.diff(column.members.starts))
    table[sets, column.members.codes] = True
    covered: NDArray[np.bool_] = table[:, wanted]
    return covered
