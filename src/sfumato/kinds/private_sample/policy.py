"""The policy of a private sample: everything it is made from except the data, as one value; never a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.kinds.private.policy import Bins, BinsSetting, DeclaredPolicy
from sfumato.policy.entries import PolicyPart
from sfumato.policy.parts import Output

Objective = Literal["loss", "precision"]


@dataclass(frozen=True)
class SampleSettings:
    """How a private sample is made."""

    search: float = 0.1  # share of ε that the choice of levels takes, above 0 and below 1
    share: float | None = None  # of the records, drawn at most; None: the largest that ε allows, and at most a half
    objective: Objective = "loss"  # what the search keeps: ``"loss"`` or ``"precision"``
    # levels that are named; where all columns have one, nothing is searched for
    levels: Mapping[str, int] = field(default_factory=dict)
    bins: Mapping[str, Bins] = field(default_factory=dict)


# The policy of a private sample: everything it is made from except the data, as one value; never a seed.


class SamplingPart(PolicyPart):
    """How a private sample is made; see :func:`sfumato.publish_private_sample`.

    Attributes
    ----------
    search
        Share of ε that the choice of levels takes.
    share
        Of the records, drawn at most; left out: the largest that ε allows, and at most a half.
    objective
        What the choice of levels keeps: the share of each domain that a value leaves out, or levels.
    levels
        Levels that are named; where all columns have one, nothing is searched for.
    bins
        For columns of numbers without intervals: how many bins of equal width their domain has, or the borders of bins.
    """

    search: float = 0.1
    share: float | None = None
    objective: Objective = "loss"
    levels: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    bins: dict[str, BinsSetting] = Field(default_factory=dict)


class PrivateSamplePolicy(DeclaredPolicy):
    """What a private sample is made from: how to read the table, what is promised, how levels and records are drawn.

    Make it with :meth:`from_file` or :meth:`from_mapping`; equal by value.

    Attributes
    ----------
    purpose, recipient : str or None
        Free text for the report.
    source : Source
        How a file is read.
    columns : Columns
        The role of every column, with its declared domain or hierarchy.
    model : Entry
        A :class:`sfumato.DifferentialPrivacy`.
    sampling : SamplingPart
    output : Output
    """

    made_by: ClassVar[str] = "PrivateSamplePolicy.from_file"
    made_with: ClassVar[str] = "sampling"

    sampling: SamplingPart = SamplingPart()
    output: Output = Output()

    @property
    def numbers(self) -> frozenset[str]:
        """Columns that have bins, or intervals as hierarchy."""
        columns = {**self.columns.quasi_identifying, **self.columns.sensitive}
        intervals = {name for name, column in columns.items() if getattr(column.hierarchy, "kind", None) == "intervals"}
        return frozenset(intervals | set(self.sampling.bins))

    def to_sampling(self) -> SampleSettings:
        """Return how the sample is made."""
        return SampleSettings(**self.made_by_part())
