"""A generalized table: one row for each record, quasi-identifying values made coarser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
from sfumato.published.protocol import column_problems, structure_names
from sfumato.published.pseudonyms import Pseudonyms


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """A generalized table, clustered ones included.

    Attributes
    ----------
    data : polars.DataFrame
        One row for each published record, in random order.
    quasi_identifying, sensitive : tuple of str
        Columns with these roles; every other column is insensitive.
    promised : str or None
        The column that says how many each class promises at least, where people wished for a k of their own.
    promised_l : str or None
        The same for the l.
    pseudonyms : Pseudonyms or None
        The column that says which rows of a class are of one person, where that is published.
    class_number, counterfeits : str or None
        The columns that say to which class a row belongs, and how many rows of the class are invented (m-invariance).
    records : numpy.ndarray or None
        int64 (m,), where `data` has each distinct row once, to be recounted: how many records each stands for. None:
        every row is one.
    """

    kind: ClassVar[str] = "generalized-table"
    whole_numbers: ClassVar[tuple[str, ...]] = ()
    promising: ClassVar[bool] = True
    publishes_chosen: ClassVar[bool] = False
    limits: ClassVar[tuple[str, ...]] = (
        "k-anonymity hides who a record belongs to, not what all records of a class share; l-diversity and t-closeness "
        "do.",
        "It does not hide whether somebody is in the table, and does not stand up to a second release of the same "
        "people.",
    )
    data: pl.DataFrame
    quasi_identifying: tuple[str, ...]
    sensitive: tuple[str, ...]
    promised: str | None = None
    promised_l: str | None = None
    pseudonyms: Pseudonyms | None = None
    class_number: str | None = None
    counterfeits: str | None = None
    records: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        """Check that the table has the named columns, each in one role."""
        named = (*self.quasi_identifying, *self.sensitive, *self.added)
        problems = column_problems("generalized table", self.data, named, alone=False)
        if not self.quasi_identifying:
            problems.append("generalized table: names no quasi-identifying column")
        raise_all(InputError, problems)

    @property
    def added(self) -> tuple[str, ...]:
        """Return the columns that are none of the original's."""
        numbered = None if self.pseudonyms is None else self.pseudonyms.column
        return tuple(name for name in (*self.promises.values(), numbered, *self.invented.values()) if name is not None)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the only table."""
        return {"data": self.data}

    @property
    def structure(self) -> dict[str, Any]:
        """Return the roles of the columns."""
        roles = {"quasi_identifying": list(self.quasi_identifying), "sensitive": list(self.sensitive)}
        numbered = {} if self.pseudonyms is None else {"pseudonyms": self.pseudonyms.to_dict()}
        return {**roles, **self.promises, **numbered, **self.invented}

    @property
    def promises(self) -> dict[str, str]:
        """The columns that say what classes promise to those who wish for a k or an l of their own."""
        named = {"promised": self.promised, "promised_l": self.promised_l}
        return {key: name for key, name in named.items() if name is not None}

    @property
    def invented(self) -> dict[str, str]:
        """The columns that number classes and count the counterfeits in them."""
        named = {"class_number": self.class_number, "counterfeits": self.counterfeits}
        return {key: name for key, name in named.items() if name is not None}

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> Self:
        """Rebuild the value from what was written."""
        try:
            names = structure_names(structure, "quasi_identifying"), structure_names(structure, "sensitive")
        except ValueError as error:
            raise InputError(f"generalized table: {error}") from None
        promised, promised_l, *invented = map(structure.get, ("promised", "promised_l", "class_number", "counterfeits"))
        if not all(name is None or isinstance(name, str) for name in (promised, promised_l, *invented)):
            raise InputError("generalized table: promised, class_number and counterfeits must name a column")
        numbered = Pseudonyms.read(structure.get("pseudonyms"))
        return cls(tables["data"], *names, promised, promised_l, numbered, *invented)
