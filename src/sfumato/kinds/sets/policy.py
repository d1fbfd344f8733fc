"""The policy of anonymous sets: everything that they are made from except the data, as one value.

It neither reads nor changes sets; :func:`sfumato.anonymize_sets` takes it.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import tomli_w
from pydantic import Field

from sfumato.anonymizers.protocol import Anonymizer
from sfumato.errors import PolicyError, SfumatoError, raise_all
from sfumato.kinds.sets.sets import SetForm, Sets
from sfumato.models.of_kinds import KmAnonymity
from sfumato.policy.entries import (
    HierarchyEntry,
    PolicyPart,
    as_json,
    described_as_mapping,
    describing,
    entry_for,
    published_hierarchy,
)
from sfumato.policy.mistakes import spell
from sfumato.policy.parts import ColumnSettings, Layout, Output, policy_columns
from sfumato.policy.policy import AnonymizerEntry, anonymizer_entry, attributes_of
from sfumato.policy.whole_policy import LaidOutPolicy
from sfumato.table.schema import Schema

Method = Literal["mixed", "apriori", "optimal", "suppress"]
"""How sets are made anonymous: items generalized or left out; generalized, step by step or at least loss; left out."""

ModelPart: Any = entry_for(KmAnonymity)


class SetColumns(PolicyPart):
    """The layout of sets in the source; see :func:`sfumato.read_sets`.

    Attributes
    ----------
    form
        A row for each item of a person, or a row for each person.
    person
        Column of people, in the long form, or columns that say together who it is.
    item
        Column of items; in the wide form that of whole sets.
    item_separator
        What stands between the items of a set in the wide form.
    hierarchy
        Ever coarser names for the items, or the path of a file of them.
    key_form
        Which spellings of a key are one person's, in the long form.
    """

    form: SetForm = "long"
    person: str | tuple[str, ...] | None = None
    item: str | None = None
    item_separator: Annotated[str, Field(min_length=1)] = ";"
    hierarchy: HierarchyEntry | None = None
    key_form: str | None = None


class BesideColumns(PolicyPart):
    """Columns beside the sets.

    Attributes
    ----------
    quasi_identifying
        Columns that an attacker may know.
    """

    quasi_identifying: ColumnSettings = Field(default_factory=dict)


class SetChange(PolicyPart):
    """What may be done to sets; see :func:`sfumato.anonymize_sets`.

    Attributes
    ----------
    method
        How; if not said, items are generalized or left out where they have a hierarchy, else left out.
    class_size
        Records that each class is to have, if more than k.
    """

    method: Method | None = None
    class_size: Annotated[int, Field(ge=1)] | None = None


class SetPolicy(LaidOutPolicy):
    """What anonymous sets are made from: how to read them, what is promised, what may be done.

    Make it with :meth:`from_file` or :meth:`from_mapping`; equal by value.

    Attributes
    ----------
    purpose, recipient : str or None
        Free text for the report.
    threads : int or None
        None: all cores. It never changes the result.
    source : Layout
        How a text file is read.
    sets : SetColumns
    columns : BesideColumns
    model : Entry
        A :class:`sfumato.KmAnonymity`.
    change : SetChange
    anonymizer : Entry or None
        The algorithm that makes classes of the columns beside the sets; None: Mondrian.
    output : Output
    """

    made_by: ClassVar[str] = "SetPolicy.from_file"
    blanks: ClassVar[str] = "people and items"

    threads: Annotated[int, Field(ge=1)] | None = None
    source: Layout = Layout()
    sets: SetColumns = SetColumns()
    columns: BesideColumns = BesideColumns()
    model: ModelPart
    change: SetChange = SetChange()
    anonymizer: AnonymizerEntry | None = None
    output: Output = Output()

    @classmethod
    def of(
        cls,
        model: KmAnonymity,
        sets: Sets,
        *,
        method: Method | None,
        class_size: int | None,
        anonymizer: Anonymizer | None,
    ) -> SetPolicy:
        """Make a policy from the arguments of a call; it does not say how the sets were read."""
        change = {"method": method, "class-size": class_size}
        with describing("model"):
            mapping = {
                "model": described_as_mapping(model),
                "change": {name: value for name, value in change.items() if value is not None},
            }
            policy = cls.model_validate_json(as_json(mapping))
        beside = {} if sets.beside is None else policy_columns(sets.beside.schema).quasi_identifying
        with describing("anonymizer"):
            way = None if anonymizer is None else anonymizer_entry(anonymizer)
        columns = BesideColumns.model_construct(quasi_identifying=beside)
        return policy.model_copy(update={"columns": columns, "anonymizer": way})

    def to_mapping(self) -> dict[str, Any]:
        """Return plain values; :meth:`from_mapping` makes an equal policy of them."""
        mapping = super().to_mapping()
        if not self.columns.quasi_identifying:
            del mapping["columns"]
        return mapping

    def published(self) -> str:
        """Return the edition that goes into a release, as the text of a policy file.

        It says what was promised and how it was reached, and nothing about the steward's files, domains or machine.
        Hierarchies that list original values are marked as withheld.
        """
        beside = {name: column.published() for name, column in self.columns.quasi_identifying.items()}
        hierarchy = published_hierarchy(self.sets.hierarchy)
        changes = {"threads": None, "columns": BesideColumns.model_construct(quasi_identifying=beside)}
        mapping = self.model_copy(update=changes).to_mapping()
        del mapping["source"], mapping["sets"]
        if hierarchy is not None:
            mapping["sets"] = {"hierarchy": hierarchy.model_dump(mode="json", by_alias=True, exclude_none=True)}
        return tomli_w.dumps(mapping)

    def to_anonymizer(self) -> Anonymizer | None:
        """Return the algorithm that makes classes, if the policy names one."""
        return None if self.anonymizer is None else self.anonymizer.build()

    def reading(self) -> dict[str, Any]:
        """Return how sets are read, as arguments for :func:`sfumato.read_sets`; reads the hierarchies that are files.

        Raises
        ------
        PolicyError
            With the problems of every hierarchy.
        """
        problems: list[str] = []
        attributes = attributes_of(self.columns.quasi_identifying, "quasi-identifying", problems)
        hierarchy = None
        if self.sets.hierarchy is not None:
            try:
                hierarchy = self.sets.hierarchy.build()
            except SfumatoError as error:
                problems += [f"{spell(('sets', 'hierarchy'))}: {problem}" for problem in error.problems]
        raise_all(PolicyError, problems)
        schema = Schema(quasi_identifying=attributes) if attributes else None
        columns = self.sets.model_dump(exclude={"hierarchy"})
        return {**columns, "hierarchy": hierarchy, "schema": schema, "reading": self._layout()}
