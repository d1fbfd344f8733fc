"""The policy: everything that a release is made from except the data, as one value.

The command line, a TOML file and a program all make this object, and a release is made from it alone. It is a value:
it neither reads tables nor anonymizes, and never holds a seed. :func:`sfumato.read_table` and
:func:`sfumato.anonymize` take it.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import tomllib
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import Field

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.anonymizers.protocol import Anonymizer, Publisher
from sfumato.errors import PolicyError, SfumatoError, raise_all
from sfumato.models import GENERALIZE, MODELS
from sfumato.models.protocol import PrivacyModel
from sfumato.policy.entries import (
    LazyEntries,
    PolicyPart,
    as_json,
    checked,
    described_as_mapping,
    describing,
    entry_for,
    entry_of,
    raise_mistakes,
    spelled_out,
)
from sfumato.policy.mistakes import KeyPath, Mistake, spell
from sfumato.policy.parts import Column, Columns, Context, People, Source, Subset, TableOutput, Wish, policy_columns
from sfumato.policy.whole_policy import WholePolicy
from sfumato.recoding import Recoding
from sfumato.registry import Registry
from sfumato.table.schema import Attribute, Schema
from sfumato.table.sources.protocol import Reading
from sfumato.table.table import Table

Withstand = Literal["algorithm", "labels", "others"]
"""Who is to be withstood beyond the models: who knows the algorithm, who reads labels, who knows other people."""

DEFAULT_ANONYMIZER = "auto"
FORMER_ANONYMIZER = "mondrian"
"""What a policy file means that names no anonymizer and was written before findings were answered in it."""
_ANONYMIZERS = LazyEntries(ChainMap(ANONYMIZERS, PUBLISHERS), tag="name")  # type: ignore[arg-type]
_MODELS = LazyEntries(MODELS, tag="name")
ModelEntry: Any = Annotated[Any, _MODELS]
AnonymizerEntry: Any = Annotated[Any, _ANONYMIZERS]
RecodingEntry: Any = entry_for(Recoding)
PeopleEntry: Any = entry_for(People)


def anonymizer_entry(anonymizer: Anonymizer | Publisher) -> PolicyPart:
    """Describe an algorithm; one from outside the library is carried unchanged."""
    return entry_of(anonymizer, _ANONYMIZERS)


def _default_anonymizer(data: Mapping[str, Any]) -> PolicyPart:
    """Return what a policy without an anonymizer means; one of the last version is known by its columns."""
    is_former = data["columns"].accept is None
    name = FORMER_ANONYMIZER if is_former else DEFAULT_ANONYMIZER
    default: PolicyPart = _ANONYMIZERS[name].model_validate({"name": name})
    return default


class Policy(WholePolicy):
    """What a release is made from: how to read the table, the roles, the models, and the anonymizer.

    Make it with :meth:`from_file`, :meth:`from_mapping` or :meth:`of`; equal by value.

    Attributes
    ----------
    purpose, recipient : str or None
        Free text for the report: what the release is for and who gets it.
    source : Source
        How a text file is read.
    columns : Columns
        The role of every column.
    models : tuple
        At least one privacy model; none if the anonymizer can promise none.
    anonymizer : Entry
        The algorithm, which also decides what kind of release it is.
    recoding : Entry
        How classes are published.
    people : Entry
        What is done about people who have several records.
    suppression_limit : float
        Fraction of the records that may be suppressed, 0 to 1.
    refine : int or None
        Small changes that are tried for each record after the anonymizer; None: none.
    threads : int or None
        None: all cores. It never changes the result.
    output : TableOutput
        How the release is written.
    wishes : tuple of Wish
        A larger k, or l, for everybody with some value of a column, beside what the columns of wishes say.
    population : str or None
        File of everybody who might be in the table, for models that speak of them.
    subset : Subset or None
        Which records are published; the whole table is then the population. None: all.
    context : Context or None
        For whom the release is made, and what is assumed of them. It goes into the evidence, never into a release.
    withstand : tuple of str
        Attackers beyond the models whom the release is to withstand, out of algorithm, labels and others.
    """

    purpose: str | None = None
    recipient: str | None = None
    suppression_limit: Annotated[float, Field(ge=0, le=1)] = 0.0
    refine: Annotated[int, Field(ge=0)] | None = None
    threads: Annotated[int, Field(ge=1)] | None = None
    source: Source = Source()
    columns: Columns
    models: tuple[ModelEntry, ...] = ()
    anonymizer: AnonymizerEntry = Field(default_factory=_default_anonymizer)
    recoding: RecodingEntry = RecodingEntry()
    people: PeopleEntry = PeopleEntry()
    output: TableOutput = TableOutput()
    wishes: tuple[Wish, ...] = ()
    population: Annotated[str, Field(min_length=1)] | None = None
    subset: Subset | None = None
    context: Context | None = None
    withstand: tuple[Withstand, ...] = ()

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], *, names: Mapping[KeyPath, str] | None = None) -> Policy:
        """Check plain values in the layout of a TOML file.

        Parameters
        ----------
        mapping
            Tables as dictionaries, with hyphenated keys.
        names
            What messages call certain keys instead, such as ``{("models", 0, "k"): "-k"}``.

        Raises
        ------
        PolicyError
            With every mistake, one line each, that names the key and never shows a value.
        """
        policy = checked(cls, spelled_out(mapping), names=names, mistakes=list(_contradictions(mapping)))
        raise_mistakes(_misfits(policy), names)
        return policy

    @classmethod
    def of(
        cls,
        schema: Schema,
        models: Sequence[PrivacyModel],
        anonymizer: Anonymizer | Publisher,
        recoding: Recoding,
        suppression_limit: float,
        refine: int = 0,
        people: People = People(),  # noqa: B008 - a frozen value
        withstand: tuple[Withstand, ...] = (),
    ) -> Policy:
        """Make a policy from the arguments of a call; the release is then made from it like any other.

        Models and anonymizers from outside the library are carried unchanged; the text only names them.

        Raises
        ------
        PolicyError
            When an argument has settings that no policy can hold.
        """
        columns = policy_columns(schema)
        with describing("models"):
            promised = tuple(entry_of(model, _MODELS) for model in models)
        with describing("anonymizer"):
            way = anonymizer_entry(anonymizer)
        with describing("recoding"):
            forms = RecodingEntry.model_validate_json(as_json(described_as_mapping(recoding)))
        return cls.model_construct(
            columns=columns,
            models=promised,
            anonymizer=way,
            recoding=forms,
            people=PeopleEntry.model_validate_json(as_json(described_as_mapping(people))),
            suppression_limit=suppression_limit,
            refine=refine or None,
            withstand=withstand,
        )

    @classmethod
    def propose(cls, source: object, *, reading: Reading | None = None) -> Policy:
        """Propose a first policy for a table from its review, as ``sfumato init`` does.

        Parameters
        ----------
        source
            What :func:`sfumato.open_table` takes, or what it returns.
        reading
            How it is read.

        Returns
        -------
        Policy
            k = 5, and two values in each class of what looks sensitive. Read it before you publish with it: roles are
            proposals, and columns for which nothing speaks are dropped.

        Raises
        ------
        SfumatoError
            When the source cannot be read, or no column can be quasi-identifying.
        """
        from sfumato.findings.review import review
        from sfumato.policy.proposal import proposed_policy

        changed = {} if reading is None else {key: getattr(reading, key) for key in reading.changed()}
        return cls.from_mapping(tomllib.loads(proposed_policy(review(source, reading=reading), changed)))

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of policy files, for editors and forms.

        Every setting has a ``description``, its range where it has one, and an ``x-group``: ``needed`` has no default,
        ``usual`` takes a few words or numbers, ``rare`` takes lists or tables. Numbers that count something have an
        ``x-unit``.
        """
        return _helpful(super().json_schema())

    def to_mapping(self) -> dict[str, Any]:
        """Return plain values; :meth:`from_mapping` makes an equal policy of them."""
        mapping = self.model_dump(mode="json", by_alias=True, exclude_none=True, serialize_as_any=True)
        for name in ("wishes", "withstand"):
            if not getattr(self, name):
                del mapping[name]
        if self.people == PeopleEntry():
            del mapping["people"]
        parts = {"columns": self.columns.to_mapping(), "recoding": mapping["recoding"]}
        # To have been asked and to have answered nothing is something.
        filled = {
            part: {key: value for key, value in keys.items() if value or key == "accept"}
            for part, keys in parts.items()
        }
        if self.anonymizer.name in PUBLISHERS and self.recoding == RecodingEntry():
            # There are no classes for which a recoding could be chosen.
            del mapping["recoding"], filled["recoding"]
        return {**mapping, **filled}

    def __str__(self) -> str:
        """Say in words what the policy does; values that it lists are not shown."""
        from sfumato.policy.policy_html import policy_text

        return policy_text(self)

    def _repr_html_(self) -> str:
        """Show notebooks the policy; values that it lists are not shown."""
        from sfumato.notebook import card
        from sfumato.policy.policy_html import policy_parts, promises_html

        return card("Policy", promises_html(self), *policy_parts(self))

    def published(self) -> str:
        """Return the edition that goes into a release, as the text of a policy file.

        It says what was promised and how it was reached. It holds nothing about the steward's files or machine, no
        domain, and no hierarchy that lists original values: those are marked as withheld.
        """
        columns = self.columns.model_copy(
            update={
                role: {name: column.published() for name, column in getattr(self.columns, role).items()}
                for role in ("quasi_identifying", "sensitive")
            }
            # A reason may say what was found in the original; that it was answered may be known.
            | {"accept": dict.fromkeys(self.columns.accept or (), "") or None}
        )
        # Who is given a larger k is told by values of the table.
        mapping = self.model_copy(
            update={"columns": columns, **dict.fromkeys(("threads", "population", "subset", "context")), "wishes": ()}
        ).to_mapping()
        del mapping["source"]
        # A folder says itself which cells lie beside its labels.
        for name in ("cells", "labels", "domain"):
            mapping["output"].pop(name, None)
        return tomli_w.dumps(mapping)

    @property
    def withholds(self) -> bool:
        """Whether the edition in a release lacks what is needed to read the original."""
        named = (*self.columns.quasi_identifying.values(), *self.columns.sensitive.values())
        return self.source != Source() or any(column.published() != column for column in named)

    def to_schema(self) -> Schema:
        """Return the roles of the columns; reads the hierarchies that are files.

        Raises
        ------
        PolicyError
            With the problems of every hierarchy.
        """
        problems: list[str] = []
        quasi_identifying = attributes_of(self.columns.quasi_identifying, "quasi-identifying", problems)
        sensitive = attributes_of(self.columns.sensitive, "sensitive", problems)
        raise_all(PolicyError, problems)
        return Schema(
            identifying=self.columns.identifying,
            quasi_identifying=quasi_identifying,
            sensitive=sensitive,
            insensitive=self.columns.insensitive,
            others=self.columns.others,
            person=self.columns.person,
            wished_k=self.columns.wished_k,
            wished_l=self.columns.wished_l,
            key_form=self.columns.key_form,
            publish=self.columns.publish,
            accept=self.columns.accept,
        )

    def without_sensitive(self) -> Policy:
        """Return the policy that reads only the quasi-identifying columns, on which all losses depend."""
        columns = Columns.model_construct(quasi_identifying=self.columns.quasi_identifying, others="drop")
        return self.model_copy(update={"columns": columns})

    def to_anonymizer(self) -> Anonymizer | Publisher:
        """Return the algorithm."""
        anonymizer: Anonymizer | Publisher = self.anonymizer.build()
        return anonymizer

    def to_recoding(self) -> Recoding:
        """Return the choice of how classes are published."""
        recoding: Recoding = self.recoding.build()
        return recoding

    def to_people(self) -> People:
        """Return what is done about people who have several records."""
        people: People = self.people.build()
        return people

    def reading(self) -> dict[str, Any]:
        """Return how a text file is read, as arguments for :func:`sfumato.read_table`."""
        return self.source.reading()

    def beside(self, source: Any) -> Policy:
        """Return the policy that reads a table beside the one it describes: what such a source lacks is left out."""
        from sfumato.table.sources import meaningless

        unused = meaningless(source, self.source.layout(), self.source.place())
        usual = {name: Source.model_fields[name].default for name in unused}
        return self.model_copy(update={"source": self.source.model_copy(update=usual)})

    def read(self, source: Any) -> Table:
        """Read a table: the old way to write ``sfumato.read_table(source, policy)``."""
        from sfumato.table.reading import read_table

        return read_table(source, self)

    def to_models(self) -> list[PrivacyModel]:
        """Return the privacy models, in order."""
        return [entry.build() for entry in self.models]


def attributes_of(columns: Mapping[str, Column], role: str, problems: list[str]) -> dict[str, Attribute]:
    """Return what is declared of columns; problems with their hierarchies are added."""
    attributes = {}
    for name, column in columns.items():
        try:
            attributes[name] = column.to_attribute()
        except SfumatoError as error:
            problems.extend(f"{spell(('columns', role, name))}: {problem}" for problem in error.problems)
    return attributes


def _contradictions(mapping: Mapping[str, Any]) -> Iterator[Mistake]:
    """Find columns that are named twice, and missing or superfluous models, whatever else is wrong."""
    yield from _named_twice(mapping)
    yield from _model_contradictions(mapping)


def _model_contradictions(mapping: Mapping[str, Any]) -> Iterator[Mistake]:
    models, anonymizer = mapping.get("models"), mapping.get("anonymizer")
    name = anonymizer.get("name") if isinstance(anonymizer, Mapping) else None
    promising = bool(PUBLISHERS[name].promises) if isinstance(name, str) and name in PUBLISHERS else True
    if promising and models is None:
        yield Mistake(("models",), "is missing")
    elif promising and models in ([], ()):
        yield Mistake(("models",), "is empty; name at least one")
    elif models and not promising:
        yield Mistake(("models",), f"{name} enforces no privacy model; leave them out, or {GENERALIZE}")


def _named_twice(mapping: Mapping[str, Any]) -> Iterator[Mistake]:
    columns = mapping.get("columns")
    roles: dict[str, list[str]] = {}
    for role in ("person", "wished-k", "wished-l", "identifying", "quasi-identifying", "sensitive", "insensitive"):
        names = columns.get(role) if isinstance(columns, Mapping) else None
        for name in names if isinstance(names, (list, tuple, Mapping)) else (names,):
            if isinstance(name, str):
                roles.setdefault(name, []).append(role)
    for name, named in roles.items():
        if len(named) > 1:
            places = " and ".join(dict.fromkeys(named))
            yield Mistake(("columns",), f"column {name!r} is named {len(named)} times, as {places}; name it once")


def _misfits(policy: Policy) -> Iterator[Mistake]:
    """Find models and forms that no column of the policy fits."""
    sensitive = tuple(policy.columns.sensitive)
    for place, model in enumerate(policy.to_models()):
        try:
            model.rules(sensitive)
        except SfumatoError as error:
            yield from (Mistake(("models", place), problem) for problem in error.problems)
    for name in policy.to_recoding().forms:
        if name not in policy.columns.quasi_identifying:
            yield Mistake(("recoding", "forms", name), "names no quasi-identifying column; name one, or leave it out")


_GROUPS = ("needed", "usual", "rare")
"""Which settings a form shows first: those without a default; those of a few words or numbers; the others."""

_SECTION = re.compile(r"^(?P<title>[A-Z][a-z ]+)\n-{3,}\n", re.MULTILINE)
_NAMES = re.compile(r"^(?P<names>\w+(?:, \w+)*)(?: : .*)?$")


def _helpful(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema in which every property has a ``description`` and an ``x-group``."""
    # Descriptions are moved from the docstring of a part to its properties; what the part does stays with it.
    whole = {**schema, **_part(schema)}
    if "$defs" in schema:
        whole["$defs"] = {name: _part(part) for name, part in schema["$defs"].items()}
    return whole


def entry_text(docstring: str) -> dict[str, str]:
    """Return what a numpydoc docstring says of each parameter or attribute, each as one paragraph or several."""
    sections = _sections(docstring)
    return {
        name: text
        for title in ("Attributes", "Parameters")
        for names, text in _entries(sections.get(title, ""))
        for name in names
    }


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    properties, doc = part.get("properties"), inspect.cleandoc(part.get("description", ""))
    if not properties:
        return dict(part)
    texts, required = entry_text(doc), part.get("required", ())
    shown = {
        key: {**setting, **_description(texts, key), "x-group": _group(setting, key in required)}
        for key, setting in properties.items()
    }
    return {**part, "description": _what(doc), "properties": shown}


def _description(texts: Mapping[str, str], key: str) -> dict[str, str]:
    if key in ("name", "kind") and key not in texts:
        return {"description": "Which one it is."}
    name = key.replace("-", "_")
    return {"description": texts[name]} if name in texts else {}


def _group(setting: Mapping[str, Any], required: bool) -> str:
    if required:
        return _GROUPS[0]
    kinds = [setting, *setting.get("anyOf", ())]
    is_plain = any(kind.get("type") in ("integer", "number", "boolean", "string") for kind in kinds)
    return _GROUPS[1] if is_plain else _GROUPS[2]


def _what(doc: str) -> str:
    """Return the docstring without the sections that properties and messages say again."""
    sections = _sections(doc)
    notes = {title: text for title, text in sections.items() if title in ("Notes", "References")}
    return "\n\n".join([sections[""].strip(), *(f"{title}: {text.strip()}" for title, text in notes.items())])


def _sections(doc: str) -> dict[str, str]:
    """Split a docstring at its underlined titles; what comes before the first has the title ``""``."""
    found, title, start = dict[str, str](), "", 0
    for heading in _SECTION.finditer(doc):
        found[title] = doc[start : heading.start()]
        title, start = heading["title"], heading.end()
    found[title] = doc[start:]
    return found


def _entries(section: str) -> Iterator[tuple[list[str], str]]:
    """Yield the names that an entry is about, and its text, for each entry of a section."""
    names: list[str] = []
    lines: list[str] = []
    for line in [*section.splitlines(), "end"]:
        if line[:1].strip():
            if names and lines:
                yield names, " ".join(" ".join(lines).split())
            heading = _NAMES.match(line)
            names, lines = (heading["names"].split(", ") if heading else []), []
        else:
            lines.append(line.strip())


_NEEDED: dict[str, tuple[Registry, tuple[str, ...]]] = {
    "a privacy model": (MODELS, ("holds", "achieved", "rules", "explain", "parameters")),
    "an anonymizer": (ANONYMIZERS, ("solve", "decides_regions")),
    "a publisher": (PUBLISHERS, ("publish", "check", "promises")),
}
"""What a class is → where it is registered, and what it must have."""


def register(own: type[Any]) -> type[Any]:
    """Make a privacy model or an anonymizer of one's own known by its name, in this program.

    Policies and the names of other calls may then use it, and :func:`sfumato.verify` recounts it. Can be a decorator. A
    package that others install names it as an entry point instead, of the group ``sfumato.models``,
    ``sfumato.anonymizers`` or ``sfumato.publishers``; then the command line knows it, too.

    Parameters
    ----------
    own
        A frozen dataclass with a class variable ``name`` and the methods of
        :class:`sfumato.models.protocol.PrivacyModel`, :class:`sfumato.anonymizers.protocol.Anonymizer` or
        :class:`sfumato.anonymizers.protocol.Publisher`.

    Returns
    -------
    type
        The same.

    Raises
    ------
    PolicyError
        When it is none of these, or something else has its name.

    Notes
    -----
    *Guarantee.* None beyond what the class itself keeps: a release promises what its model counts. Whoever recounts a
    model runs its code, so that recipients need it, and have to trust it as they trust this library.
    """
    name = getattr(own, "name", None)
    if not isinstance(own, type) or not dataclasses.is_dataclass(own) or not isinstance(name, str):
        raise PolicyError("register: give a class, a frozen dataclass with a class variable name")
    for registry, needed in _NEEDED.values():
        if all(hasattr(own, each) for each in needed):
            registry[name] = own
            return own
    needs = "; ".join(f"{what} has {', '.join(needed)}" for what, (_, needed) in _NEEDED.items())
    raise PolicyError(f"register: {own.__name__} is neither model nor anonymizer: {needs}")
