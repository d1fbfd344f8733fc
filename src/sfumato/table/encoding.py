"""Encoding: every quasi-identifying and sensitive column becomes integer codes.

Numbers and dates: rank among the sorted distinct values. Categories with a hierarchy: leaf number in depth-first order,
so that every node is a range of codes. Categories without one: rank by frequency (see decision record 2). A missing
value is a value of its own and has the largest code of its attribute.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.hierarchy.tree import Hierarchy
from sfumato.table.schema import Kind


@dataclass(frozen=True, eq=False)
class EncodedAttribute:
    """What the codes of one attribute mean.

    Attributes
    ----------
    name : str
    kind : Kind
    labels : polars.Series of String
        Text of each original value in code order, length `size`; the missing value is not among them.
    numbers : numpy.ndarray or None
        float64 (size,): the value behind each code, rising, for numeric attributes (dates: days since 1970-01-01); None
        otherwise. Also None when a hierarchy orders the codes.
    hierarchy : Hierarchy or None
        Its leaves are `labels`, in the same order.
    has_missing : bool
        Whether code `size` (missing) occurs.
    domain_width : float
        Normalizer of numeric ranges: highest − lowest of the declared domain or of the data; 0 when constant.
    domain_size : int
        Normalizer of value sets and subtrees: number of leaves, or of distinct values (declared or in the data;
        a missing value that occurs counts as one).
    weight : float
    """

    name: str
    kind: Kind
    labels: pl.Series
    numbers: NDArray[np.float64] | None
    hierarchy: Hierarchy | None
    has_missing: bool
    domain_width: float
    domain_size: int
    weight: float = 1.0

    @property
    def size(self) -> int:
        """Number of codes of original values; the missing value's code is `size`."""
        return len(self.labels)

    @property
    def cardinality(self) -> int:
        """Number of codes, the missing value included when it occurs."""
        return self.size + self.has_missing

    @property
    def is_numeric(self) -> bool:
        """Whether classes are described by a range of `numbers`."""
        return self.numbers is not None and self.hierarchy is None


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """Integer view of a table: all that anonymizers see.

    Letters: n records, q quasi-identifying attributes, s sensitive attributes.

    Attributes
    ----------
    attributes : tuple of EncodedAttribute
        Quasi-identifying attributes in declared order, length q.
    codes : numpy.ndarray
        uint8, uint16 or uint32 (n, q), row-major; one width for all columns, the smallest that fits.
    sensitive : tuple of EncodedAttribute
        Sensitive attributes in declared order, length s.
    sensitive_codes : numpy.ndarray
        Same kinds of dtype, (n, s), row-major.
    """

    attributes: tuple[EncodedAttribute, ...]
    codes: NDArray[np.unsignedinteger]
    sensitive: tuple[EncodedAttribute, ...]
    sensitive_codes: NDArray[np.unsignedinteger]

    @property
    def height(self) -> int:
        """Number of records n."""
        return len(self.codes)
