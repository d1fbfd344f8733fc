"""The parts of a policy: how the table is read, its columns' roles, how the release is written, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from sfumato.errors import PolicyError, SfumatoError, raise_all
from sfumato.options import Checked, Limit
from sfumato.policy.entries import (
    AlsoWritten,
    HierarchyEntry,
    PolicyPart,
    as_json,
    described_as_mapping,
    described_hierarchy,
    describing,
    lists_values,
    problems_reported,
    published_hierarchy,
)
from sfumato.table.person_keys import PersonKey, as_person_key, key_columns
from sfumato.table.schema import Attribute, Kind, Others, Schema
from sfumato.table.sources.protocol import CsvFormat, Place
from sfumato.table.written_forms import WrittenForm

_WRITTEN = ("decimal", "thousands", "unit", "dates", "strays", "missing")
"""Settings of a column that say how its values are written in the steward's file."""


_PLACE = ("sheet", "range", "codes", "header_line", "footer_lines", "label_lines", "hidden")
"""Where the table lies in a workbook or text, and columns of a statistical file that are read as codes."""


def _described_as(text: str) -> Any:
    """Describe a setting where it stands, as parts that take it over need it described, too."""
    return Field(description=text)


class Layout(PolicyPart):
    """How a file is laid out."""

    separator: Annotated[str, _described_as("The character between fields.")] = ","
    encoding: Annotated[str, _described_as("How the file writes letters.")] = "utf-8"
    quote: Annotated[
        str, _described_as("The character around fields that hold separators; empty: quotes are ordinary text.")
    ] = '"'
    missing: Annotated[
        tuple[str, ...], _described_as("Texts that stand for a missing value, beside the empty field.")
    ] = ("",)
    header: Annotated[bool, _described_as("Whether the first row names the columns.")] = True
    columns: Annotated[
        tuple[str, ...] | None, _described_as("Names of all columns, where the first row does not say them.")
    ] = None
    strip: Annotated[bool, _described_as("Whether blanks around fields are dropped.")] = True
    sheet: Annotated[str | None, _described_as("The sheet of a workbook that holds the table.")] = None
    range: Annotated[str | None, _described_as("Its cells in the sheet, names first, such as B3:H500.")] = None
    codes: Annotated[
        tuple[str, ...] | None, _described_as("Columns of SPSS, Stata and SAS files to read as codes, without labels.")
    ] = None
    header_line: Annotated[int | None, _described_as("The line that names the columns; left out, it is found.")] = None
    footer_lines: Annotated[
        int | None, _described_as("Lines below the records that are left out; where some look like that, it is asked.")
    ] = None
    label_lines: Annotated[
        int | None, _described_as("Rows of units, types or labels below the names; left out, they are looked for.")
    ] = None
    hidden: Annotated[
        Literal["keep", "drop"] | None, _described_as("What becomes of rows and columns that a workbook hides.")
    ] = None

    @model_validator(mode="after")
    def _is_a_layout(self) -> Self:
        with problems_reported(self.keys()):
            self.layout()
        return self

    def layout(self) -> CsvFormat:
        """Return the layout of the file."""
        quote, lines = self.quote or None, (self.header_line, self.footer_lines, self.label_lines)
        return CsvFormat(
            self.separator, self.encoding, quote, self.header, self.columns, self.strip, *lines, foreign=True
        )

    def place(self) -> Place:
        """Return where the table lies inside of a file."""
        return Place(self.sheet, self.range, self.codes or (), hidden=self.hidden)

    def reading(self) -> dict[str, Any]:
        """Return the arguments for :func:`sfumato.read_table`, or :func:`sfumato.ratings.read_ratings`."""
        settings = {**self.model_dump(), "quote": self.quote or None}
        return {key: value for key, value in settings.items() if key not in _PLACE or value is not None}


class Source(Layout):
    """How a table is read: the layout of a text file, how numbers and dates are written in it, and what of a database.

    Attributes
    ----------
    decimal
        The character before the fraction of a number.
    thousands
        The character between the thousands of a number.
    dates
        How dates are written, such as dd.mm.yyyy; several forms where the file has several.
    table
        Which table of a database, with its schema before a dot where it needs one.
    query
        A file with one SELECT, which a database is asked instead.
    """

    decimal: str | None = None
    thousands: str | None = None
    dates: str | tuple[str, ...] | None = None
    table: str | None = None
    query: str | None = None

    @model_validator(mode="after")
    def _is_a_form(self) -> Self:
        with problems_reported(self.keys()):
            if self.table is not None and self.query is not None:
                raise PolicyError("query: is named beside a table; leave one of them out")
            WrittenForm(self.decimal, self.thousands, dates=self.dates)
        return self

    def reading(self) -> dict[str, Any]:
        """Return the arguments for :func:`sfumato.read_table`; of what only some sources are told, what is said."""
        settings, always = super().reading(), Layout.model_fields.keys()
        return {key: value for key, value in settings.items() if key in always or value is not None}

    def place(self) -> Place:
        """Return where the table lies inside of its source."""
        return Place(self.sheet, self.range, self.codes or (), self.table, self.query, self.hidden)


class Column(PolicyPart):
    """Settings of one quasi-identifying or sensitive column.

    Attributes
    ----------
    kind
        How values are read and compared; left out, they are read off the column. Ordered texts are listed in domain.
    hierarchy
        Ever coarser labels for the values, or the path of a file of them.
    domain
        Lowest and highest value, or all categories; of ordered ones the lowest first. Left out, those of the data.
        Losses are measured against it.
    domain_withheld
        Whether a published policy keeps the domain to itself.
    weight
        Importance of the column in losses and in the choice of cuts.
    decimal
        The character before the fraction of a number.
    thousands
        The character between the thousands of a number.
    unit
        What stands beside every number, such as a currency or a percent sign.
    dates
        How dates are written, such as dd.mm.yyyy.
    strays
        Whether text among numbers or dates counts as missing.
    missing
        Values that stand for a missing one in this column, such as 999.
    spellings
        Whether spellings of one label are published as one.
    """

    kind: Literal["numeric", "categorical", "boolean", "date", "ordered"] | None = None
    hierarchy: HierarchyEntry | None = None
    domain: tuple[int | float, ...] | tuple[str, ...] | None = None
    domain_withheld: bool = False
    weight: Annotated[float, Field(gt=0)] = 1.0
    decimal: str | None = None
    thousands: str | None = None
    unit: str | None = None
    dates: str | tuple[str, ...] | None = None
    strays: Literal["missing"] | None = None
    missing: tuple[str, ...] | None = None
    spellings: Literal["merge"] | None = None

    @model_validator(mode="after")
    def _is_a_form(self) -> Self:
        # A published edition has no domain, which is the order.
        kind = "categorical" if self.kind == "ordered" and self.domain_withheld else self.kind
        domain: Any = self.domain if kind == "ordered" else None
        with problems_reported(self.keys()):
            kind_of = None if kind is None else Kind(kind)
            Attribute(kind=kind_of, domain=domain, spellings=self.spellings, **self.written())
        return self

    def written(self) -> dict[str, Any]:
        """Return the settings that say how values are written."""
        return {key: getattr(self, key) for key in _WRITTEN}

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
        settings = {"weight": self.weight, "spellings": self.spellings, **self.written()}
        return Attribute(kind=kind, hierarchy=hierarchy, domain=domain, **settings)

    def published(self) -> Column:
        """Return the edition for a release: nothing that lists original values, or is about the steward's file."""
        is_withheld = self.domain_withheld or self.domain is not None
        changes = {
            "hierarchy": published_hierarchy(self.hierarchy),
            "domain": None,
            "domain_withheld": is_withheld,
            **dict.fromkeys(_WRITTEN),
        }
        return self.model_copy(update=changes)


ColumnSettings = Annotated[dict[str, Column], AlsoWritten("array", "string")]


class Columns(PolicyPart):
    """The role of every column.

    Attributes
    ----------
    identifying
        Columns that are always removed.
    quasi_identifying
        Columns that an attacker may know.
    sensitive
        Columns whose link to a person must stay hidden.
    insensitive
        Columns that are published unchanged.
    others
        What happens to columns that no role names: an error, they are dropped, or they are kept.
    person
        The column that says who a record is about, where people have several records, or several that do so together;
        always removed.
    wished_k
        The column that says which k a record's person wishes for; always removed.
    wished_l
        The same for the l of l-diversity.
    publish
        Columns that are published though they look like identifiers.
    key_form
        Which spellings of a key are one person's: exact, fold, or by kind, such as fold:capitals,exact:zeros.
    accept
        Findings that somebody has answered, such as spellings:disease, each with its reason. Others that are severe
        then stop a release; left out, they are told and stop nothing.
    """

    identifying: tuple[str, ...] = ()
    quasi_identifying: Annotated[ColumnSettings, Field(min_length=1)]
    sensitive: ColumnSettings = Field(default_factory=dict)
    insensitive: tuple[str, ...] = ()
    others: Others = "error"
    person: str | tuple[str, ...] | None = None
    wished_k: str | None = None
    wished_l: str | None = None
    publish: tuple[str, ...] = ()
    key_form: str | None = None
    accept: Annotated[dict[str, str], AlsoWritten("array", "string")] | None = None

    @field_validator("accept", mode="before")
    @classmethod
    def _reasons_may_be_left_out(cls, accept: Any) -> Any:
        return dict.fromkeys(accept, "") if isinstance(accept, (list, tuple)) else accept

    @field_validator("person")
    @classmethod
    def _one_in_a_list_is_alone(cls, person: PersonKey) -> PersonKey:
        with problems_reported(["person"]):
            if person == ():
                raise PolicyError("person: is an empty list; name the column, or leave it out")
        return as_person_key(key_columns(person))

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Columns that say together who a record is about; none where every record is another person."""
        return key_columns(self.person)

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Insensitive columns: those of that role, and those of none that are to be published."""
        others = {*self.identifying, *self.quasi_identifying, *self.sensitive, *self.insensitive}
        others |= {*self.key_columns, self.wished_k, self.wished_l}  # type: ignore[arg-type]
        return (*self.insensitive, *(name for name in dict.fromkeys(self.publish) if name not in others))

    def to_mapping(self) -> dict[str, Any]:
        """Return plain values, in the short form if columns have no settings."""
        return {
            "identifying": list(self.identifying),
            "quasi-identifying": _short(self.quasi_identifying),
            "sensitive": _short(self.sensitive),
            "insensitive": list(self.insensitive),
            "others": self.others,
            "person": list(self.person) if isinstance(self.person, tuple) else self.person,
            "wished-k": self.wished_k,
            "wished-l": self.wished_l,
            "publish": list(self.publish),
            **({} if self.key_form is None else {"key-form": self.key_form}),
            **({} if self.accept is None else {"accept": self.accept if any(self.accept.values()) else [*self.accept]}),
        }


class Wish(PolicyPart):
    """A k, an l or both that everybody with some value of a column is given, as if they wished for it.

    Attributes
    ----------
    k, l
        What is given to them, at least.
    column, value
        Who they are.
    """

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


class Subset(PolicyPart):
    """The records that are published, those with some value of a column; all others only protect them.

    Attributes
    ----------
    column, value
        Which column, and its value in the records that are published.
    """

    column: str
    value: str


class Output(PolicyPart):
    """How the release is written."""

    format: Annotated[
        Literal["csv", "parquet", "xlsx", "sav", "dta"], _described_as("Of the files that hold the tables.")
    ] = "csv"


class TableOutput(Output):
    """How a release of one table is written.

    Attributes
    ----------
    cells
        Form of a second file beside the labels; left out, there is none.
    labels
        Whether labels are written; without them drawn cells stand alone, and promise nothing.
    domain
        For columns, what a ``*`` may stand for: the lowest and the highest number or date, or every category. The
        release shows it.
    """

    cells: Literal["bounds", "interval", "midpoint", "drawn"] | None = None
    labels: bool | None = None
    domain: dict[str, tuple[int | float | str | date, ...]] | None = None

    @model_validator(mode="after")
    def _cells_stand_for_something(self) -> Self:
        with problems_reported(["labels", "domain"]):
            if self.labels is False and self.cells != "drawn":
                raise PolicyError("labels: only drawn cells stand alone; write labels, or cells = 'drawn'")
            if self.domain is not None and self.cells is None:
                raise PolicyError("domain: is for cells that are no labels; choose cells, or leave it out")
        return self

    @property
    def alone(self) -> bool:
        """Whether drawn cells stand without labels."""
        return self.labels is False


Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
WAYS = {
    "attempt": "somebody at the recipient tries on purpose",
    "recognition": "somebody recognizes a person without meaning to",
    "breach": "the file gets into other hands",
}
"""How it may come to an attack where the recipient is named, as the policy calls it."""


class Assumption(PolicyPart):
    """A probability that was not counted.

    Attributes
    ----------
    probability
        Above 0, at most 1: nobody can state that something never happens.
    owner
        Who states it: name and office.
    source
        What it rests on.
    of
        Whether it is of one of those who open the file, or of all of them together; None where nobody says so.
    """

    probability: Annotated[float, Field(gt=0, le=1)]
    owner: Words
    source: Words
    of: Literal["one", "all"] | None = None


class OwnThreshold(PolicyPart):
    """The risk that the steward accepts.

    Attributes
    ----------
    value
        The highest risk that is accepted.
    quantity
        Whether the person most at risk is meant, or the average.
    attempt
        Whether success is first multiplied with the probability that somebody tries.
    attacker
        Whether they know that somebody is in the table, or only that they are of the population.
    owner
        Who decided it: name and office.
    source
        What it rests on.
    """

    value: Annotated[float, Field(gt=0, le=1)]
    quantity: Literal["maximum", "average"]
    attempt: Literal["with", "without"]
    attacker: Literal["prosecutor", "journalist"] = "prosecutor"
    owner: Words
    source: Words


class PopulationSize(PolicyPart):
    """How many people there are of whom the table may speak, with its uncertainty.

    Attributes
    ----------
    least, most
        The ends between which the number lies.
    owner
        Who states it: name and office.
    source
        What it rests on, such as a census.
    """

    least: Annotated[int, Field(ge=1)]
    most: Annotated[int, Field(ge=1)]
    owner: Words
    source: Words

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        with problems_reported(self.keys()):
            raise_all(PolicyError, ["least is above most; exchange them"] if self.least > self.most else [])
        return self


class Controls(PolicyPart):
    """What keeps the recipient from trying; say ``none`` where there is nothing.

    Attributes
    ----------
    access
        Who may open the file, and where.
    contract
        What the recipient has signed.
    training
        What people who open it have learned.
    audit
        Who looks at what they do.
    """

    access: Words
    contract: Words
    training: Words
    audit: Words


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise PydanticCustomError("day", "must be a day, such as 2026-11-30") from None


class Author(PolicyPart):
    """Who stands for a statement.

    Attributes
    ----------
    name, role
        Who, and in which office.
    day
        When it was stated, as ISO text.
    """

    name: Words
    role: Words
    day: Annotated[str, AfterValidator(_day)]


class Answer(PolicyPart):
    """What a person answers to a question of a standard.

    Attributes
    ----------
    question
        Its name, as the evidence lists it, such as ``"iso-27559 6.3.3 a"``.
    answer
        In words.
    name, role
        Who answers, and in which office.
    day
        When it was answered, as ISO text.
    """

    question: Words
    answer: Words
    name: Words = ""
    role: Words = ""
    day: Annotated[str, AfterValidator(_day)] = ""


class Context(PolicyPart):
    """For whom a release is made, and what is assumed of them.

    Attributes
    ----------
    recipient
        Who gets the release.
    purpose
        What for.
    public
        Whether everybody may have it. An attempt is then certain, and no control counts.
    other_data
        What else they may hold about the same people.
    readers
        How many people at the recipient may open the file.
    controls
        What keeps the recipient from trying.
    attempt
        How likely somebody at the recipient tries on purpose.
    recognition
        How likely somebody recognizes a person without meaning to.
    breach
        How likely the file gets into other hands.
    population
        How many people there are of whom the table may speak; a journalist's risks are then estimated at both ends.
    threshold
        The risk that is accepted, if none of the usual thresholds is meant.
    author
        Who stands for this section.
    review
        When the release is looked at again, and after which events.
    review_by
        The day by which it is, as ISO text.
    answers
        To questions of standards that no count answers; one that names nobody is the author's.
    unanswered
        Who answers those that nobody has, and by which day.
    purpose_columns
        The columns that the purpose needs: what they lost is said by itself.
    """

    recipient: Words
    purpose: Words
    public: bool = False
    other_data: Words
    readers: Annotated[int, Field(ge=1)] | None = None
    controls: Controls | None = None
    attempt: Assumption | None = None
    recognition: Assumption | None = None
    breach: Assumption | None = None
    population: PopulationSize | None = None
    threshold: OwnThreshold | None = None
    author: Author | None = None
    review: Words | None = None
    review_by: Annotated[str, AfterValidator(_day)] | None = None
    answers: tuple[Answer, ...] = ()
    unanswered: Author | None = None
    purpose_columns: tuple[Words, ...] = ()

    @model_validator(mode="after")
    def _states_what_it_must(self) -> Self:
        stated = {name: getattr(self, name) is not None for name in ("controls", *WAYS)}
        with problems_reported(self.keys()):
            if self.public:
                wrong = [f"{name} means nothing for the public; leave it out" for name in stated if stated[name]]
            else:
                wrong = [f"{name} is missing; or say public = true" for name in stated if not stated[name]]
            if self.threshold and self.threshold.attacker == "journalist" and not self.population:
                wrong.append(
                    "population is missing; the threshold speaks of a journalist, whom only a population tells"
                )
            of_one = [name for name, one in self.assumptions().items() if one.of == "one"]
            if of_one and self.readers is None:
                wrong.append(f"readers is missing; how likely {', '.join(of_one)} is, is stated of one of them")
            wrong.extend(self._wrong_answers())
            raise_all(PolicyError, wrong)
        return self

    def _wrong_answers(self) -> Iterator[str]:
        """Give answers that name nobody to the author, and find those of nobody, or of somebody half named."""
        given = []
        for one in self.answers:
            named = [bool(getattr(one, key)) for key in Author.model_fields]
            if not any(named) and self.author is not None:
                given.append(one.model_copy(update=self.author.model_dump()))
            elif all(named):
                given.append(one)
            else:
                yield f"answers to {one.question!r} must say name, role and day; or state an author"
        object.__setattr__(self, "answers", tuple(given))

    def assumptions(self) -> dict[str, Assumption]:
        """Return what is assumed of each way it may come to an attack; none where the recipient is the public."""
        stated = {name: getattr(self, name) for name in WAYS}
        return {name: one for name, one in stated.items() if one is not None}


def _short(columns: Mapping[str, Column]) -> list[str] | dict[str, Any]:
    settings = {
        name: column.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
        for name, column in columns.items()
    }
    return settings if any(settings.values()) else list(settings)


@dataclass(frozen=True)
class People(Checked):
    """What is done about people who have several records; the schema's `person` says who they are.

    Parameters
    ----------
    rows
        ``"together"``: all records of a person share one class, so that knowing several of them finds no more than
        that class. ``"apart"``: they may lie in different classes, which loses less; whoever knows several records of
        somebody can intersect their classes, and the report says how few people are left then. ``"household"``: each
        key is a household, and its records are its members. Households of one size are published alike, member by
        member, so that whoever knows all members of one is left with as many households as a class has.
    pseudonyms
        Where it stands which records of a class are of one person. ``"audit"``: only in the steward's audit file.
        ``"published"``: in a column of the release, numbered afresh and at random in every class, for studies that need
        a person's records together. The release can then be recounted by everybody; and whoever knows some sensitive
        values of a person may find the person's others.
    all_records_k
        With rows apart: how many people must be left, at least, to somebody who knows all records of a person. Who
        would be among fewer is suppressed.
    known_values
        With published pseudonyms: how many sensitive values of a person somebody knows who looks for that person.
    fingerprint_k
        With published pseudonyms: how many people of a class must have, at least, any `known_values` values of one
        attribute that somebody in it has. Who would be among fewer is suppressed.
    keyless
        What happens to records without a value in the person column. ``"alone"``: each is a person of its own, and the
        report counts them. ``"refuse"``: there is no release.

    Raises
    ------
    PolicyError
        With every setting that is out of range, or means nothing beside the others.
    """

    name: ClassVar[str] = "people"

    rows: Literal["together", "apart", "household"] = "together"
    pseudonyms: Literal["audit", "published"] = "audit"
    all_records_k: Annotated[int, Limit(1)] | None = None
    known_values: Annotated[int, Limit(1, 3)] = 1
    fingerprint_k: Annotated[int, Limit(1)] | None = None
    keyless: Literal["alone", "refuse"] = "alone"

    def _mistakes(self) -> Iterator[str]:
        if self.all_records_k is not None and self.rows != "apart":
            yield "people: all_records_k says something of rows apart alone; together they share one class"
        for name, default in (("known_values", 1), ("fingerprint_k", None)):
            if self.pseudonyms != "published" and getattr(self, name) != default:
                yield f"people: {name} says something of pseudonyms='published' alone"
        if self.rows == "household" and self.pseudonyms == "published":
            yield "people: rows='household' publishes no pseudonyms; leave them out"


_ADVICE = "read the table with sfumato.read_table(source, policy)"


def policy_columns(schema: Schema) -> Columns:
    """Describe the roles and settings of a schema; ``PolicyError`` when it has settings that no policy can hold."""
    columns = {
        "identifying": schema.identifying,
        "quasi-identifying": _described(schema.quasi_identifying),
        "sensitive": _described(schema.sensitive),
        "insensitive": schema.insensitive,
        "others": schema.others,
        "person": schema.person,
        "wished-k": schema.wished_k,
        "wished-l": schema.wished_l,
        "publish": schema.publish,
        "key-form": schema.key_form,
        "accept": schema.accept,
    }
    with describing("columns"):
        return Columns.model_validate_json(as_json(columns))


def column_contradictions(columns: Columns, schema: Schema) -> Iterator[str]:
    """Name every role and setting that differs between a policy and a table; the order of columns counts."""
    read = policy_columns(schema)
    for role, found in (("quasi_identifying", read.quasi_identifying), ("sensitive", read.sensitive)):
        named: Mapping[str, Column] = getattr(columns, role)
        if list(named) != list(found) and (role == "quasi_identifying" or set(named) != set(found)):
            yield _other_names(role, list(named), list(found))
        yield from (
            f"columns.{role.replace('_', '-')}, column {name!r}: the policy has other settings than those that the "
            f"table was read with; {_ADVICE}"
            for name in named
            if name in found and not _alike(named[name], found[name])
        )
    for role in ("person", "wished_k", "wished_l", "key_form"):
        here, there = getattr(columns, role), getattr(read, role)
        if here != there:
            yield _other_names(role, *(list(key_columns(name)) for name in (here, there)))
    if set(columns.publish) != set(read.publish):
        yield _other_names("publish", list(columns.publish), list(read.publish))
    known, kept = set(columns.unprotected), set(read.insensitive)
    if not (known <= kept if columns.others == "keep" else known == kept):
        yield _other_names("insensitive", list(columns.insensitive), list(read.insensitive))


def _described(attributes: Mapping[str, Attribute]) -> dict[str, Any]:
    return {
        name: {
            **described_as_mapping(attribute),
            **({"hierarchy": described_hierarchy(attribute.hierarchy)} if attribute.hierarchy else {}),
        }
        for name, attribute in attributes.items()
    }


def _other_names(role: str, in_policy: list[str], read: list[str]) -> str:
    policy, table = (", ".join(map(repr, names)) or "none" for names in (in_policy, read))
    return f"columns.{role.replace('_', '-')}: the policy names {policy}, the table was read with {table}; {_ADVICE}"


def _alike(column: Column, read: Column) -> bool:
    """Tell whether a column was read as a policy says; settings that were withheld do not count."""
    settings = [(each.kind, each.weight, each.spellings, each.written()) for each in (column, read)]
    if settings[0] != settings[1]:
        return False
    if column.domain != read.domain and not (column.domain_withheld and read.domain is not None):
        return False
    return column.hierarchy == read.hierarchy or _same_values(column.hierarchy, read.hierarchy)


def _same_values(value: Any, read: Any) -> bool:
    """Compare two hierarchies that list values; either may be in a file."""
    if value is None or read is None or not (lists_values(value) and lists_values(read)):
        return False
    try:
        return value.kind == "withheld" or bool(value.build() == read.build())
    except SfumatoError:
        return False
