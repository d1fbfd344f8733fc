"""Everybody on whom an attack is tried: people in the data, and people who are not, in one frame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
from sfumato.evaluation.attacks.known_records import KnownRecords, known_records
from sfumato.evaluation.attacks.protocol import Target
from sfumato.table.exact_names import columns_of, exactly
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Cohort:
    """People in the data, followed by the control group.

    Attributes
    ----------
    table : Table
        The columns with a role that all of them have; categories are text.
    known : KnownRecords
        Whose records they are, and which of them the attacker knows.
    members : int
        Number of records of people in the data; they come first.
    insiders : int
        Number of people in the data.
    """

    table: Table
    known: KnownRecords
    members: int
    insiders: int

    @property
    def frame(self) -> pl.DataFrame:
        """Return their values."""
        return self.table.frame

    @property
    def outsiders(self) -> int:
        """Return the number of people who are not in the data."""
        return self.known.people - self.insiders

    def both(self, scores: NDArray[np.generic]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Split what was found of each person: people in the data, and those who are not."""
        return scores[: self.insiders], scores[self.insiders :]


def cohort_of(target: Target) -> Cohort:
    """Stack the people in the data and the control group, if there is one.

    Cost O(cells).

    Raises
    ------
    InputError
        When columns of the two have different kinds.
    """
    original, control = target.original, target.control
    names = [name for name in original.frame.columns if control is None or name in control.frame.columns]
    parts = [_plain(columns_of(table.frame, names)) for table in (original, control) if table is not None]
    unlike = [name for name in names if control is not None and _unlike(*(part.schema[name] for part in parts))]
    raise_all(
        InputError,
        [f"control, column {name!r}: is of another kind than in the data; read both by one schema" for name in unlike],
    )
    frame = pl.concat(parts, how="vertical_relaxed")
    kinds = {name: kind for name, kind in original.kinds.items() if name in names}
    schema = replace(original.schema, person=None, wished_k=None, wished_l=None)
    known = known_records(target, original)
    members, insiders = original.height, known.people
    if control is not None:
        others = known_records(target, control)
        told = np.concatenate([known.told, others.told + members])
        known = KnownRecords(np.concatenate([known.person_of, others.person_of + insiders]), told)
    return Cohort(Table(frame, schema, kinds, original.source), known, members, insiders)


def generator_of(target: Target, salt: int) -> np.random.Generator:
    """Return a random generator with the target's seed, or one from the operating system.

    `salt` keeps attacks with the same seed apart.
    """
    return np.random.default_rng(None if target.seed is None else [target.seed, salt])


def nothing_shared() -> InputError:
    """Return the error for a release that has none of the attributes that the attacker knows."""
    return InputError(
        "the release and the people share no attribute that the attacker knows, so nothing links them; give the "
        "schema or policy that the release was made with"
    )


def _unlike(one: pl.DataType, other: pl.DataType) -> bool:
    return one != other and not (one.is_numeric() and other.is_numeric())


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    # Categories of two tables are numbered separately; as text they are comparable.
    told = [name for name, dtype in frame.schema.items() if isinstance(dtype, (pl.Categorical, pl.Enum))]
    return frame.with_columns(exactly(*told).cast(pl.String))
