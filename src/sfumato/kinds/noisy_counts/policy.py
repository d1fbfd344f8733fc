"""The policy of noisy counts: everything they are made from except the data, as one value; never a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.kinds.private.policy import Bins, BinsSetting, DeclaredPolicy
from sfumato.policy.entries import PolicyPart
from sfumato.policy.parts import Output
from sfumato.table.table import Table

Choice = Literal["data", "declared"]


@dataclass(frozen=True)
class Counting:
    """What is to be counted."""

    # sets of columns that the steward names; None: every column, and pairs of them
    marginals: tuple[tuple[str, ...], ...] | None = None
    two_way: int | None = None  # how many pairs; None: as many as hang together like a tree
    # how pairs are chosen: ``"data"``, privately, those that hang together most; ``"declared"``: by the order of the
    # columns alone, sensitive ones first
    choice: Choice = "data"
    bins: Mapping[str, Bins] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    complete: tuple[str, ...] = ()  # columns without a cell for missing values
    synthetic: bool = False  # whether records are drawn from the fitted distribution


class CountingPart(PolicyPart):
    """What is counted; see :func:`sfumato.publish_privately`.

    Attributes
    ----------
    marginals
        Sets of columns; left out: every column, and pairs of them.
    two_way
        How many pairs, where no marginals are named; left out: as many as form no circle.
    choice
        How pairs are chosen: by data, privately, or by the declared order of the columns alone.
    bins
        For columns of numbers: how many bins of equal width their domain has, or the borders of bins.
    levels
        For columns with a hierarchy: which of its levels is counted.
    complete
        Columns that have no cell for missing values.
    synthetic
        Whether records are drawn from the fitted distribution.
    """

    marginals: tuple[tuple[str, ...], ...] | None = None
    two_way: Annotated[int, Field(ge=0)] | None = None
    choice: Choice = "data"
    bins: dict[str, BinsSetting] = Field(default_factory=dict)
    levels: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    complete: tuple[str, ...] = ()
    synthetic: bool = False


class PrivatePolicy(DeclaredPolicy):
    """What noisy marginals are made from: how to read the table, what is promised, what is counted.

    Make it with :meth:`from_file` or :meth:`from_mapping`; equal by value.

    Attributes
    ----------
    purpose, recipient : str or None
        Free text for the report.
    source : Source
        How a file is read.
    columns : Columns
        The role of every column, with its declared domain.
    model : Entry
        A :class:`sfumato.DifferentialPrivacy`.
    counting : CountingPart
    output : Output
    """

    made_by: ClassVar[str] = "PrivatePolicy.from_file"
    made_with: ClassVar[str] = "counting"

    counting: CountingPart = CountingPart()
    output: Output = Output()

    @property
    def numbers(self) -> frozenset[str]:
        """Columns that have bins."""
        return frozenset(self.counting.bins)

    def to_counting(self) -> Counting:
        """Return what is counted."""
        return Counting(**self.made_by_part())

    def in_cells(self, table: Table) -> Table:
        """Return a table with each value as the label of the cell that it falls into, and no columns but the counted.

        Raises
        ------
        PolicyError
            When a column has no declared domain.
        """
        from sfumato.kinds.noisy_counts.make import in_cells

        return in_cells(table, self.to_counting())
