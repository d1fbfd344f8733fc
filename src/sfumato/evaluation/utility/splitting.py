"""Hold out original records, so that what is learnt from a release can be tested on people who are not in it."""

from __future__ import annotations

import numpy as np

from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.randomness import permutation, seed_problems
from sfumato.table.distinct import distinct_of
from sfumato.table.table import Table


def hold_out(table: Table, share: float = 1 / 3, *, seed: int | None = None) -> tuple[Table, Table]:
    """Split a table into records to publish and records to test on.

    The split is stratified: as far as whole records allow, each value of the first sensitive attribute has the same
    share.

    Parameters
    ----------
    table
        The original.
    share
        Share of the records to hold out, above 0 and below 1.
    seed
        None draws from the operating system.

    Returns
    -------
    tuple of Table
        The records to anonymize, and those held out, both in the order of the table.

    Raises
    ------
    PolicyError
        When the share is invalid.
    InputError
        When one of the two would have no records.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> frame = pl.DataFrame({"age": range(30), "illness": ["flu", "cold", "gout"] * 10})
    >>> table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["illness"]))
    >>> sf.hold_out(table, seed=1)
    (Table('table', 20 records, 2 columns), Table('table', 10 records, 2 columns))
    """
    is_share = isinstance(share, (int, float)) and not isinstance(share, bool) and 0 < share < 1
    raise_all(PolicyError, [*([] if is_share else ["share: must be above 0 and below 1"]), *seed_problems(seed)])
    order = permutation(table.height, seed)
    if table.schema.sensitive:
        distinct = distinct_of(table.frame[next(iter(table.schema.sensitive))])
        # Sorted by value, each value's records in random order: every stretch then holds each value in its proportion.
        order = order[np.argsort(distinct.rank_of[distinct.raw][order], kind="stable")]
    places = np.arange(1, table.height + 1) * share + 1e-9
    kept = np.zeros(table.height, dtype=np.bool_)
    kept[order] = np.floor(places) > np.floor(places - share)
    if kept.all() or not kept.any():
        raise InputError("hold out: the table has too few records for this share; choose another")
    parts = (np.flatnonzero(~kept), np.flatnonzero(kept))
    published, held = (table.take(rows) for rows in parts)
    return published, held
