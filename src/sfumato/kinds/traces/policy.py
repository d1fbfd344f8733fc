"""The policy of traces: everything that they are made from except the data, as one value."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import tomli_w
from pydantic import Field

from sfumato.errors import PolicyError
from sfumato.kinds.traces.traces import TracePrivacy, Traces
from sfumato.policy.entries import (
    HierarchyEntry,
    PolicyPart,
    as_json,
    described_as_mapping,
    describing,
    entry_for,
    published_hierarchy,
)
from sfumato.policy.parts import Layout, Output
from sfumato.policy.whole_policy import LaidOutPolicy

ModelPart: Any = entry_for(TracePrivacy)


class TraceColumns(PolicyPart):
    """Where people, places and times stand in the source; see :func:`sfumato.traces.read_traces`.

    Attributes
    ----------
    person
        Column of people, or columns that say together who it is.
    place
        Column of codes of places.
    latitude
        Column of degrees north.
    longitude
        Column of degrees east.
    time
        Column of time stamps or dates.
    zone
        The zone whose local times count.
    sensitive
        Column of sensitive values.
    wished_k
        Column of the K that each person wishes for.
    hierarchy
        Ever coarser names for codes of places, or the path of a file of them.
    cell
        Side of the finest cells, in degrees: a power of two.
    hours
        Length of the finest times.
    stay
        Minutes that a stay must last to count.
    key_form
        Which spellings of a key are one person's.
    """

    person: str | tuple[str, ...] | None = None
    place: str | None = None
    latitude: str | None = None
    longitude: str | None = None
    time: str | None = None
    zone: str | None = None
    sensitive: str | None = None
    wished_k: str | None = None
    hierarchy: HierarchyEntry | None = None
    cell: float = 2.0**-7
    hours: int = 1
    stay: int | None = None
    key_form: str | None = None


class TraceChange(PolicyPart):
    """What may be done to traces; see :func:`sfumato.traces.anonymize_traces`.

    Attributes
    ----------
    place_level
        The level of all places; left out, it is searched for.
    time_level
        The level of all times; left out, it is searched for.
    homes
        Whether nights where somebody is on most of them are kept; left out, it is asked where there are any.
    """

    place_level: Annotated[int, Field(ge=0)] | None = None
    time_level: Annotated[int, Field(ge=0)] | None = None
    homes: Literal["keep", "drop"] | None = None


class TracePolicy(LaidOutPolicy):
    """What published traces are made from: how to read them, what is promised, what may be done.

    Make it with :meth:`from_file` or :meth:`from_mapping`; equal by value.

    Attributes
    ----------
    purpose, recipient : str or None
        Free text for the report.
    suppression_limit : float
        Share of the people of whom no point may be left.
    population : str or None
        File of everybody who might be in the traces, in the same columns, where K people of it are promised.
    source : Layout
        How a text file is read.
    traces : TraceColumns
    model : Entry
        A :class:`sfumato.traces.TracePrivacy`.
    change : TraceChange
    output : Output
    """

    made_by: ClassVar[str] = "traces.TracePolicy.from_file"
    blanks: ClassVar[str] = "people and places"

    suppression_limit: Annotated[float, Field(ge=0, lt=1)] = 0.05
    population: Annotated[str, Field(min_length=1)] | None = None
    source: Layout = Layout()
    traces: TraceColumns = TraceColumns()
    model: ModelPart
    change: TraceChange = TraceChange()
    output: Output = Output()

    @classmethod
    def of(cls, model: TracePrivacy, traces: Traces, limit: float) -> TracePolicy:
        """Make a policy from the arguments of a call; of how the traces were read it says what a release does."""
        with describing("model"):
            mapping = {
                "model": described_as_mapping(model),
                "suppression-limit": limit,
                "traces": {"zone": traces.zone, **({"sensitive": traces.sensitive} if traces.sensitive else {})},
            }
            return cls.model_validate_json(as_json(mapping))

    def published(self) -> str:
        """Return the edition that goes into a release, as the text of a policy file.

        It says what was promised and how it was reached, and nothing about the steward's files or machine. A hierarchy
        that lists original places is marked as withheld.
        """
        mapping = self.to_mapping()
        for name in ("source", "population"):
            mapping.pop(name, None)
        kept = {
            name: mapping["traces"][name]
            for name in ("zone", "sensitive", "cell", "hours", "stay")
            if name in mapping["traces"]
        }
        hierarchy = published_hierarchy(self.traces.hierarchy)
        if hierarchy is not None:
            kept["hierarchy"] = hierarchy.model_dump(mode="json", by_alias=True, exclude_none=True)
        return tomli_w.dumps({**mapping, "traces": kept})

    def reading(self) -> dict[str, Any]:
        """Return how traces are read, as arguments for :func:`sfumato.traces.read_traces`; reads the hierarchy.

        Raises
        ------
        PolicyError
            When a column is missing, or the hierarchy cannot be read.
        """
        from sfumato.kinds.traces.reading import TraceGrain

        missing = [
            f"traces.{name}: name the column" for name in ("person", "time") if getattr(self.traces, name) is None
        ]
        read = self.traces
        degrees = (read.latitude, read.longitude)
        if (read.place is None) == (degrees == (None, None)):
            missing.append(
                "traces.place: name the column of places, or those of latitude and longitude; one or the other"
            )
        elif read.place is None and None in degrees:
            missing.append("traces.latitude: name both columns, of latitude and of longitude")
        if read.zone is None:
            missing.append("traces.zone: name the time zone whose local hours count, such as Europe/Rome")
        if missing:
            raise PolicyError(*missing)
        columns = read.model_dump(include={"person", "time", "zone", "sensitive", "wished_k", "key_form"})
        return {
            **columns,
            "place": degrees if read.place is None else read.place,
            "hierarchy": None if read.hierarchy is None else read.hierarchy.build(),
            "grain": TraceGrain(read.cell, read.hours, read.stay),
            "reading": self._layout(),
        }
