"""The parts of a policy: how the table is read, which roles its columns have, and how the release is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from sfumato.errors import PolicyError
from sfumato.policy.entries import AlsoWritten, PolicyPart, problems_reported
from sfumato.policy.hierarchy_entries import HierarchyEntry, published_hierarchy
from sfumato.table.csv_format import CsvFormat
from sfumato.table.schema import Attribute, Kind, Others


class Source(PolicyPart):
    """How a text file is read, and what of a database; an empty `quote` means that quotes are ordinary text."""

    separator: str = ","
    encoding: str = "utf-8"
    quote: str = '"'
    missing: tuple[str, ...] = ("",)
    header: bool = True
    columns: tuple[str, ...] | None = None
    strip: bool = True
    table: str | None = None
    query: str | None = None

    @model_validator(mode="after")
    def _is_a_layout(self) -> Self:
        with problems_reported(self.keys()):
            if self.table is not None and self.query is not None:
                raise PolicyError("query: is named beside a table; leave one of them out")
            CsvFormat(**{field.name: self.reading()[field.name] for field in fields(CsvFormat)})
        return self

    def reading(self) -> dict[str, Any]:
        """Return the arguments for :func:`sfumato.read_table`; of what only some sources are told, what is said."""
        unsaid = {name for name in ("table", "query") if getattr(self, name) is None}
        return {**self.model_dump(exclude=unsaid), "quote": self.quote or None}


class Column(PolicyPart):
    """Settings of one quasi-identifying or sensitive column."""

    kind: Literal["numeric", "categorical", "boolean", "date"] | None = None
    hierarchy: HierarchyEntry | None = None
    domain: tuple[int | float, ...] | tuple[str, ...] | None = None
    domain_withheld: bool = False
    weight: Annotated[float, Field(gt=0)] = 1.0

    @field_validator("domain")
    @classmethod
    def _fits_the_kind(cls, domain: Any, others: ValidationInfo) -> Any:
        kind = others.data.get("kind")
        with problems_reported(["domain"]):
            Attribute(kind=kind, domain=domain)
        return domain

    def to_attribute(self) -> Attribute:
        """Return the settings for a schema; reads the hierarchy if it is a file.

        Raises
        ------
        SfumatoError
            When the hierarchy cannot be read, or when a setting was withheld from a published policy.
        """
        hierarchy = self.hierarchy.build() if self.hierarchy else None
        if self.domain_withheld:
            raise PolicyError("domain was withheld from the published policy; give it again, or leave it out")
        kind = None if self.kind is None else Kind(self.kind)
        domain: Any = self.domain
        return Attribute(kind=kind, hierarchy=hierarchy, domain=domain, weight=self.weight)

    def published(self) -> Column:
        """Return the edition for a release: nothing that lists original values."""
        is_withheld = self.domain_withheld or self.domain is not None
        changes = {"hierarchy": published_hierarchy(self.hierarchy), "domain": None, "domain_withheld": is_withheld}
        return self.model_copy(update=changes)


ColumnSettings = Annotated[dict[str, Column], AlsoWritten("array", "string")]


class Columns(PolicyPart):
    """The role of every column."""

    identifying: tuple[str, ...] = ()
    quasi_identifying: Annotated[ColumnSettings, Field(min_length=1)]
    sensitive: ColumnSettings = Field(default_factory=dict)
    insensitive: tuple[str, ...] = ()
    others: Others = "error"
    person: str | None = None
    wished_k: str | None = None
    wished_l: str | None = None

    def to_mapping(self) -> dict[str, Any]:
        """Return plain values, in the short form if columns have no settings."""
        return {
            "identifying": list(self.identifying),
            "quasi-identifying": _short(self.quasi_identifying),
            "sensitive": _short(self.sensitive),
            "insensitive": list(self.insensitive),
            "others": self.others,
            "person": self.person,
            "wished-k": self.wished_k,
            "wished-l": self.wished_l,
        }


class Wish(PolicyPart):
    """A k, an l or both that everybody with some value of a column is given, as if they wished for it."""

    k: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    l: Annotated[int, Field(ge=1, lt=2**31)] | None = None  # noqa: E741 - the letter of the literature
    column: str
    value: str

    @model_validator(mode="after")
    def _wishes_something(self) -> Self:
        with problems_reported(self.keys()):
            if self.k is None and self.l is None:
                raise PolicyError("k: is missing, or l; say what is wished")
        return self


class Output(PolicyPart):
    """How the release is written."""

    format: Literal["csv", "parquet"] = "csv"


def _short(columns: Mapping[str, Column]) -> list[str] | dict[str, Any]:
    settings = {
        name: column.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
        for name, column in columns.items()
    }
    return settings if any(settings.values()) else list(settings)
