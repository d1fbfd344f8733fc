"""What everybody wishes for: what stands in a column, and what rules of the policy give to some; not rounded yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, raise_all
from sfumato.policy.parts import Wish


def wished(
    own: NDArray[np.integer] | None,
    rules: Mapping[Wish, int],
    height: int,
    names: Collection[str],
    records_of: Callable[[Wish], NDArray[np.bool_]],
) -> NDArray[np.int64] | None:
    """Return what the person of each record wishes for in it, int64 (n,), 1 where nothing is; None: nobody wishes.

    `own`: integers (n,): what a column says; None where there is none. `rules`: what each gives at least. `names`: the
    columns of the table. `records_of`: tells which records a rule is about, bool (n,). Raises ``PolicyError`` when a
    rule names a column that the table does not have, or a value that nobody has.
    """
    if not rules and own is None:
        return None
    raise_all(
        PolicyError,
        [
            f"wishes: column {wish.column!r} is not in the table, or has no role; correct it, or give it one"
            for wish in rules
            if wish.column not in names
        ],
    )
    wishes = np.ones(height, dtype=np.int64) if own is None else own.astype(np.int64)
    idle = []
    for wish, least in rules.items():
        about = records_of(wish)
        wishes = np.where(about, np.maximum(wishes, least), wishes)
        if not about.any():
            idle.append(wish.column)
    # A value that is spelled otherwise would protect nobody, and nobody would hear of it.
    raise_all(
        PolicyError,
        [
            f"wishes: no record has the value of column {column!r} that a rule is about; "
            "correct the spelling, or leave the rule out"
            for column in idle
        ],
    )
    return wishes
