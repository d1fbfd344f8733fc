"""How near the published records come to a person: the score of membership inference on randomized tables.

Noise and swapping leave nobody's values unchanged, so no record fits. But the nearest record is nearer to somebody
whose own record is there than to somebody else.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.cohort import nothing_shared
from sfumato.evaluation.attacks.nearest_links import nearest_links
from sfumato.evaluation.attacks.victims import KEY, Victims
from sfumato.published import RandomizedTable
from sfumato.recoding.choice import Recoding
from sfumato.table.schema import Schema
from sfumato.table.table import Table


def nearness(published: RandomizedTable, people: Table, *, sensitive: bool, threads: int) -> NDArray[np.float64]:
    """Score each person by the distance to the nearest published record, negated.

    Parameters
    ----------
    published
        n records.
    people
        m people with original values.
    sensitive
        Whether the sensitive values of the people are known, too.
    threads

    Returns
    -------
    numpy.ndarray
        float64 (m,): 0 if a record is equal, otherwise below 0.

    Raises
    ------
    InputError
        When release and people share no attribute.

    Notes
    -----
    Distances are those of :class:`~sfumato.evaluation.attacks.nearest_linkage.NearestLinkage`, and so is the cost.
    """
    settings = {**people.schema.quasi_identifying, **(people.schema.sensitive if sensitive else {})}
    names = [name for name in settings if name in published.data.columns and name in people.frame.columns]
    if not names:
        raise nothing_shared()
    victims = Victims.outside(people.frame, Schema(quasi_identifying=settings), np.arange(people.height))
    links = nearest_links(published.data, victims, names, _nothing(published.data.height), Recoding(), threads)
    assert links.distances is not None
    return -links.distances


def _nothing(count: int) -> pl.Series:
    return pl.Series(KEY, [None], dtype=pl.String).new_from_index(0, count)
