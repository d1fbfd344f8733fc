"""What policies under differential privacy share: columns with declared domains, and the promise; never a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import tomli_w

from sfumato.errors import PolicyError, raise_all
from sfumato.models.of_kinds import DifferentialPrivacy
from sfumato.policy.entries import PolicyPart, as_json, checked, described_as_mapping, entry_for, hyphenated
from sfumato.policy.mistakes import KeyPath
from sfumato.policy.parts import Column, Columns, Source, policy_columns
from sfumato.policy.policy import attributes_of
from sfumato.policy.whole_policy import WholePolicy
from sfumato.table.schema import Attribute, Kind, Schema

Bins = int | Sequence[float]

ModelPart: Any = entry_for(DifferentialPrivacy)
BinsSetting = int | tuple[float, ...]


class DeclaredPolicy(WholePolicy):
    """What policies under differential privacy share: columns with declared domains, and the promise."""

    # `purpose`, `recipient`: free text for the report
    purpose: str | None = None
    recipient: str | None = None
    source: Source = Source()  # how a file is read
    columns: Columns  # the role of every column, with its declared domain
    model: ModelPart  # a :class:`sfumato.DifferentialPrivacy`

    made_with: ClassVar[str]
    """The part that says how such a release is made."""

    @classmethod
    def part_of(cls, said: Mapping[str, Any]) -> PolicyPart:
        """Check what a call says of that part, under the names that the call gives its settings."""
        part: type[PolicyPart] = type(cls.model_fields[cls.made_with].default)
        names: dict[KeyPath, str] = {(hyphenated(name),): name for name in part.model_fields}
        return checked(part, {hyphenated(name): value for name, value in said.items()}, names=names)

    @classmethod
    def of(cls, model: Any, part: PolicyPart, schema: Schema) -> Self:
        """Make a policy from the arguments of a call; it does not say how the table was read."""
        entry = ModelPart.model_validate_json(as_json(described_as_mapping(model)))
        said: dict[str, Any] = {cls.made_with: part}
        return cls.model_construct(columns=policy_columns(schema), model=entry, **said)

    def made_by_part(self) -> dict[str, Any]:
        """Return what that part says, by the names of its settings."""
        part: PolicyPart = getattr(self, self.made_with)
        return {name: getattr(part, name) for name in type(part).model_fields}

    @property
    def numbers(self) -> frozenset[str]:
        """Columns whose declared domain is one of numbers."""
        raise NotImplementedError

    def to_mapping(self) -> dict[str, Any]:
        """Return plain values; :meth:`from_mapping` makes an equal policy of them."""
        mapping = super().to_mapping()
        mapping["columns"] = {key: value for key, value in self.columns.to_mapping().items() if value}
        part = mapping[self.made_with]
        # A number of 0 says something.
        mapping[self.made_with] = {
            name: said for name, said in part.items() if said is not False and said not in ({}, [])
        }
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
        """Return the roles of the columns, with a kind for each by its declared domain; reads hierarchies."""
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
