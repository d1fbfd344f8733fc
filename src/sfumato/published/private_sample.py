"""A random sample of generalized records under differential privacy, as its recipient holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from sfumato.errors import VerificationError
from sfumato.published.private import Domain

SAMPLE = "sample"
"""Name of the only table."""


@dataclass(frozen=True, eq=False, repr=False)
class PrivateSample:
    """Generalized records of a random sample.

    Attributes
    ----------
    data : polars.DataFrame
        One row for each published record, in random order; texts, null for missing.
    domains : mapping of str to Domain
        What may stand in each column, on the level that was chosen; declared, never read off the data.
    levels : mapping of str to int
    sensitive : tuple of str
    """

    data: pl.DataFrame
    domains: Mapping[str, Domain]
    levels: Mapping[str, int]
    sensitive: tuple[str, ...]

    @property
    def quasi_identifying(self) -> tuple[str, ...]:
        """Columns that are not sensitive."""
        return tuple(name for name in self.domains if name not in self.sensitive)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The only table."""
        return {SAMPLE: self.data}

    @property
    def structure(self) -> dict[str, Any]:
        """What a recipient needs beside the table."""
        return {
            "domains": {name: domain.to_dict() for name, domain in self.domains.items()},
            "levels": dict(self.levels),
            "sensitive": list(self.sensitive),
        }

    def smallest(self) -> int | None:
        """Return the size of the smallest class of records that are alike in all columns; None without records."""
        if not self.data.height:
            return None
        sizes = self.data.group_by(self.data.columns).len()["len"]
        return int(sizes.min())  # type: ignore[arg-type]

    @classmethod
    def assemble(cls, tables: Mapping[str, pl.DataFrame], structure: Mapping[str, Any]) -> PrivateSample:
        """Put the table of a release together.

        Raises
        ------
        VerificationError
            When it holds values outside of the declared domains.
        """
        data = tables[SAMPLE]
        domains: Mapping[str, Domain] = structure["domains"]
        for name, domain in domains.items():
            if data.height and (domain.codes(data[name]) < 0).any():
                raise VerificationError(f"{SAMPLE}: holds values outside of the declared domains; it was changed")
        return cls(data.select(list(domains)), domains, structure["levels"], tuple(structure["sensitive"]))
