"""Which quasi-identifying attributes a linking attacker knows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from sfumato.classes.grouping import group_records
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.evaluation.attacks.protocol import Target
from sfumato.evaluation.attacks.register import shared_attributes
from sfumato.evaluation.attacks.victims import Victims
from sfumato.table.distinct import distinct_of


def known_problems(what: str, known: object) -> list[str]:
    """Return a problem if a value is neither a number of attributes nor names of some."""
    if known is None or (isinstance(known, int) and not isinstance(known, bool) and known >= 1):
        return []
    if isinstance(known, tuple) and known and all(isinstance(name, str) for name in known):
        return [] if len(set(known)) == len(known) else [f"{what}: known names an attribute twice"]
    return [f"{what}: known must be a number of attributes, 1 or above, or the names of some"]


def known_attributes(
    attack: str, known: int | tuple[str, ...] | None, target: Target, published: pl.DataFrame, victims: Victims
) -> tuple[str, ...]:
    """Return the names of what the attacker knows, in declared order.

    Raises
    ------
    PolicyError
        When an attribute is unknown, or when there are not as many.
    InputError
        When release and register share nothing.
    """
    shared = shared_attributes(published, victims.frame, victims.schema)
    if not shared:
        raise InputError(
            f"{attack}: the register and the release share no quasi-identifying column, so nothing links them; "
            f"the schema names {', '.join(victims.schema.quasi_identifying)}"
        )
    if known is None:
        return shared
    if isinstance(known, int):
        if known > len(shared):
            raise PolicyError(f"{attack}, known: asks for {known} attributes, but there are {len(shared)}")
        return most_telling(target.original.frame, shared, known)
    raise_all(
        PolicyError,
        (
            f"{attack}, known: {name!r} is not a quasi-identifying attribute of both; these are {', '.join(shared)}"
            for name in known
            if name not in shared
        ),
    )
    return tuple(name for name in shared if name in known)


def most_telling(frame: pl.DataFrame, names: Sequence[str], count: int) -> tuple[str, ...]:
    """Choose attributes one after the other so that most records become unique, then most vectors distinct.

    Ties go to the first in order. Cost O(q · count · n).
    """
    codes = {name: (distinct := distinct_of(frame[name])).rank_of[distinct.raw].astype(np.uint32) for name in names}
    chosen: list[str] = []
    for _ in range(count):
        left = [name for name in names if name not in chosen]
        chosen.append(max(left, key=lambda name: _told_apart([codes[one] for one in (*chosen, name)])))
    return tuple(name for name in names if name in chosen)


def _told_apart(columns: Sequence[np.ndarray]) -> tuple[int, int]:
    class_of, count = group_records(np.column_stack(columns))
    return int(np.count_nonzero(np.bincount(class_of, minlength=count) == 1)), count
