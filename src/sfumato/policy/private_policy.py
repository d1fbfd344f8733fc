"""The policy of a release under differential privacy: everything it is made from except the data, as one value.

It neither reads nor counts anything; :func:`sfumato.publish_privately` takes it. It never holds a seed: noise that
somebody can draw again hides nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import tomli_w
from pydantic import Field

from sfumato.anonymizers.private.sampled import Objective, SampleSettings
from sfumato.anonymizers.private.task import Choice, Counting, in_cells
from sfumato.errors import PolicyError, raise_all
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.policy.columns import policy_columns
from sfumato.policy.entries import PolicyPart, as_json, described_as_mapping, describing, entry_for
from sfumato.policy.parts import Column, Columns, Output, Source
from sfumato.policy.policy import attributes_of
from sfumato.policy.whole_policy import WholePolicy
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table

ModelPart: Any = entry_for(DifferentialPrivacy)
BinsSetting = int | tuple[float, ...]


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


class DeclaredPolicy(WholePolicy):
    """What policies under differential privacy share: columns with declared domains, and the promise.

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
    """

    purpose: str | None = None
    recipient: str | None = None
    source: Source = Source()
    columns: Columns
    model: ModelPart

    @property
    def numbers(self) -> frozenset[str]:
        """Columns whose declared domain is one of numbers."""
        raise NotImplementedError

    def to_mapping(self) -> dict[str, Any]:
        """Return plain values; :meth:`from_mapping` makes an equal policy of them."""
        mapping = super().to_mapping()
        mapping["columns"] = {key: value for key, value in self.columns.to_mapping().items() if value}
        return mapping

    def published(self) -> str:
        """Return the edition that goes into a release, as the text of a policy file.

        It says what was promised and done; domains stand in ``release.json``, with all their cells.
        """
        columns = self.columns.model_copy(
            update={
                role: {name: column.published() for name, column in getattr(self.columns, role).items()}
                for role in ("quasi_identifying", "sensitive")
            }
        )
        mapping = self.model_copy(update={"columns": columns}).to_mapping()
        mapping.pop("source", None)
        return tomli_w.dumps(mapping)

    def to_model(self) -> DifferentialPrivacy:
        """Return what is promised."""
        model: DifferentialPrivacy = self.model.build()
        return model

    def to_schema(self) -> Schema:
        """Return the roles of the columns, with a kind for each that its declared domain gives; reads hierarchies.

        Raises
        ------
        PolicyError
            With the problems of every hierarchy.
        """
        problems: list[str] = []
        quasi = attributes_of(self.columns.quasi_identifying, "quasi-identifying", problems)
        sensitive = attributes_of(self.columns.sensitive, "sensitive", problems)
        raise_all(PolicyError, problems)
        columns = self.columns
        return Schema(
            identifying=columns.identifying,
            quasi_identifying=self._with_kinds(quasi, columns.quasi_identifying),
            sensitive=self._with_kinds(sensitive, columns.sensitive),
            insensitive=columns.insensitive,
            others=columns.others,
            person=columns.person,
            wished_k=columns.wished_k,
            wished_l=columns.wished_l,
            key_form=columns.key_form,
            publish=columns.publish,
        )

    def reading(self) -> dict[str, Any]:
        """Return how a file is read, as arguments for :func:`sfumato.read_table`."""
        return self.source.reading()

    def _with_kinds(self, attributes: Mapping[str, Attribute], said: Mapping[str, Column]) -> dict[str, Attribute]:
        """Settle the kind of each column before its values are seen: texts, or numbers where it has bins."""
        settled = {}
        for name, attribute in attributes.items():
            kind, strays = attribute.kind, said[name].strays
            if kind is None and attribute.dates is None:
                kind = Kind.NUMERIC if name in self.numbers else Kind.CATEGORICAL
            if kind is Kind.NUMERIC and strays is None:
                # A text among numbers is one more missing value; as an error it would tell of somebody.
                strays = "missing"
            settled[name] = replace(attribute, kind=kind, strays=strays)
        return settled


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

    counting: CountingPart = CountingPart()
    output: Output = Output()

    @classmethod
    def of(cls, model: DifferentialPrivacy, counting: Counting, schema: Schema) -> PrivatePolicy:
        """Make a policy from the arguments of a call; it does not say how the table was read."""
        with describing("counting"):
            part = CountingPart.model_validate_json(as_json(described_as_mapping(counting)))
        entry = ModelPart.model_validate_json(as_json(described_as_mapping(model)))
        return cls.model_construct(columns=policy_columns(schema), model=entry, counting=part)

    @property
    def numbers(self) -> frozenset[str]:
        """Columns that have bins."""
        return frozenset(self.counting.bins)

    def to_mapping(self) -> dict[str, Any]:
        """Return plain values; :meth:`from_mapping` makes an equal policy of them."""
        mapping = super().to_mapping()
        mapping["counting"] = {key: value for key, value in mapping["counting"].items() if value not in ({}, [], False)}
        return mapping

    def to_counting(self) -> Counting:
        """Return what is counted."""
        said = {name: getattr(self.counting, name) for name in CountingPart.model_fields}
        return Counting(**said)

    def in_cells(self, table: Table) -> Table:
        """Return a table with each value as the label of the cell that it falls into, and no columns but the counted.

        Raises
        ------
        PolicyError
            When a column has no declared domain.
        """
        return in_cells(table, self.to_counting())


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

    sampling: SamplingPart = SamplingPart()
    output: Output = Output()

    @classmethod
    def of(cls, model: DifferentialPrivacy, sampling: SampleSettings, schema: Schema) -> PrivateSamplePolicy:
        """Make a policy from the arguments of a call; it does not say how the table was read."""
        with describing("sampling"):
            part = SamplingPart.model_validate_json(as_json(described_as_mapping(sampling)))
        entry = ModelPart.model_validate_json(as_json(described_as_mapping(model)))
        return cls.model_construct(columns=policy_columns(schema), model=entry, sampling=part)

    @property
    def numbers(self) -> frozenset[str]:
        """Columns that have bins, or intervals as hierarchy."""
        columns = {**self.columns.quasi_identifying, **self.columns.sensitive}
        intervals = {name for name, column in columns.items() if getattr(column.hierarchy, "kind", None) == "intervals"}
        return frozenset(intervals | set(self.sampling.bins))

    def to_mapping(self) -> dict[str, Any]:
        """Return plain values; :meth:`from_mapping` makes an equal policy of them."""
        mapping = super().to_mapping()
        mapping["sampling"] = {key: value for key, value in mapping["sampling"].items() if value != {}}
        return mapping

    def to_sampling(self) -> SampleSettings:
        """Return how the sample is made."""
        return SampleSettings(**{name: getattr(self.sampling, name) for name in SamplingPart.model_fields})
