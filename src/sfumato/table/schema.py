"""What each column is: roles, kinds, hierarchies, domains and weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.errors import InputError, SchemaError, raise_all
from sfumato.hierarchy.tree import HierarchySpecification
from sfumato.hierarchy.tree import text_of as text_of
from sfumato.table.person_keys import PersonKey, as_person_key, key_columns, read_key_form
from sfumato.table.written_forms import Strays, WrittenForm

if TYPE_CHECKING:
    from sfumato.notebook import Markup

Others = Literal["error", "drop", "keep"]

MOST_WEIGHT = 1e6
"""Largest weight of an attribute; the smallest is one over it. Sums of weighted losses stay whole on a fine grid."""


class Role(StrEnum):
    """What an attribute means for privacy. Every column has exactly one."""

    PERSON = "person"
    WISHED_K = "wished k"
    WISHED_L = "wished l"
    IDENTIFYING = "identifying"
    QUASI_IDENTIFYING = "quasi-identifying"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


class Kind(StrEnum):
    """How the values of an attribute are read and compared."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    BOOLEAN = "boolean"
    DATE = "date"
    ORDERED = "ordered"


@dataclass(frozen=True)
class Attribute:
    """Settings of one quasi-identifying or sensitive attribute; every one may be left out.

    Parameters
    ----------
    kind
        ``"numeric"``, ``"categorical"``, ``"boolean"``, ``"date"`` or ``"ordered"``; None reads it off the column.
        Ordered values are texts, such as low, medium, high: `domain` lists all of them, the lowest first. Classes are
        cut in this order and published as ``[low..medium]``.
    hierarchy
        Description of the hierarchy (:func:`sfumato.intervals`, :func:`sfumato.prefixes`, ...), or None.
    domain
        Declared domain, a tuple or list: ``(low, high)`` for numbers and dates, all values for categories. Its members
        are finite numbers, or text; dates become ISO text. None takes the domain from the data. Normalizes the losses;
        a value outside it is an error.
    weight
        Importance of the attribute in losses and in the choice of cuts, from 0.000001 to 1,000,000.
    decimal, thousands, unit, dates, strays
        How the values are written where they come as text: ``decimal=","``, ``thousands="."``, ``unit="€"``,
        ``dates="dd.mm.yyyy"`` (or several forms); ``strays="missing"`` makes every text that is no number or date a
        missing value. See :class:`~sfumato.table.written_forms.WrittenForm`.
    missing
        Values that stand for a missing one in this column, as text, such as ``["999"]``.
    spellings
        ``"merge"`` reads categories that differ in capitals, blanks, hyphens or form alone as one, in small letters:
        ``Flu``, ``FLU`` and ``flu`` are published as ``flu``. Everything that counts or attacks sees only that.

    Raises
    ------
    SchemaError
        With every contradictory setting.
    """

    kind: Kind | None = None
    hierarchy: HierarchySpecification | None = None
    domain: tuple[float, float] | tuple[str, ...] | None = None
    weight: float = 1.0
    decimal: str | None = None
    thousands: str | None = None
    unit: str | None = None
    dates: str | tuple[str, ...] | None = None
    strays: Strays | None = None
    missing: Sequence[str] | None = field(default=None, repr=False)  # as with the answers of a schema
    spellings: Spellings | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Check the settings against each other."""
        problems = []
        if self.kind is not None:
            try:
                object.__setattr__(self, "kind", Kind(self.kind))
            except ValueError:
                problems.append(f"kind must be one of {', '.join(Kind)}")
        if self.hierarchy is not None and not _is_hierarchy(self.hierarchy):
            problems.append("hierarchy must be the description of a hierarchy, such as sfumato.intervals(5, 10)")
        object.__setattr__(self, "weight", plain_setting(self.weight))
        if not is_finite_number(self.weight) or not 1 / MOST_WEIGHT <= self.weight <= MOST_WEIGHT:
            problems.append(
                f"weight must be a number from {1 / MOST_WEIGHT:g} to {MOST_WEIGHT:,.0f}; what counts is how many "
                "times the others it is"
            )
        if self.domain is not None:
            domain = plain_domain(self.domain)
            object.__setattr__(self, "domain", domain)
            if domain is None:
                problems.append("domain must be a list of finite numbers, or of texts or dates")
            else:
                problems.extend(_domain_problems(self))
        elif self.kind is Kind.ORDERED:
            problems.append("an ordered attribute needs its values in order as domain, the lowest first")
        if self.kind is Kind.ORDERED and self.hierarchy is not None:
            problems.append("an ordered attribute has no hierarchy: its order says what is near")
        problems.extend(_form_problems(self))
        if self.spellings not in (None, "merge"):
            problems.append("spellings must be 'merge'")
        elif self.spellings and self.kind not in (None, Kind.CATEGORICAL):
            problems.append(f"spellings is for categories, but the kind is {self.kind}")
        if self.missing is not None:
            listed = [self.missing] if isinstance(self.missing, str) else self.missing
            object.__setattr__(self, "missing", _names(listed, "missing", problems, "texts"))
        raise_all(SchemaError, problems)

    @property
    def form(self) -> WrittenForm:
        """How values are written where they come as text."""
        return WrittenForm(self.decimal, self.thousands, self.unit, self.dates, self.strays)


Spellings = Literal["merge"]


def _is_hierarchy(setting: object) -> bool:
    return isinstance(setting, HierarchySpecification) and not isinstance(setting, type)


def _form_problems(attribute: Attribute) -> Iterator[str]:
    if isinstance(attribute.dates, list):
        object.__setattr__(attribute, "dates", tuple(attribute.dates))
    try:
        form = attribute.form
    except InputError as error:
        yield from error.problems
        return
    if form.is_numeric and form.forms:
        yield "decimal, thousands and unit are for numbers, dates for dates: leave one of them out"
    elif form.is_numeric and attribute.kind not in (None, Kind.NUMERIC):
        yield f"decimal, thousands and unit are for numbers, but the kind is {attribute.kind}"
    elif form.forms and attribute.kind not in (None, Kind.DATE, Kind.NUMERIC):
        yield f"dates is for dates and times, but the kind is {attribute.kind}"
    elif form.strays and attribute.kind in (Kind.CATEGORICAL, Kind.BOOLEAN, Kind.ORDERED):
        yield f"strays is for numbers and dates, but the kind is {attribute.kind}"


_BORDERS = {Kind.NUMERIC: "numbers", Kind.DATE: "dates, also as text in ISO form"}


def _domain_problems(attribute: Attribute) -> list[str]:
    domain = attribute.domain or ()
    if attribute.kind in (Kind.NUMERIC, Kind.DATE):
        if len(domain) != 2:
            return ["domain must be two values, the lowest and the highest"]
        if isinstance(domain[0], str) is (attribute.kind is Kind.NUMERIC):
            return [f"domain of a {attribute.kind} attribute must be two {_BORDERS[attribute.kind]}"]
        if not domain[0] < domain[1]:  # type: ignore[operator]
            return ["domain must rise: its first value is the lowest, its second the highest"]
    elif len(set(domain)) != len(domain) or not domain:
        return ["domain must list distinct values, at least one"]
    elif attribute.kind is Kind.ORDERED:
        return _order_problems(domain)
    return []


def is_order(domain: tuple[object, ...]) -> bool:
    """Tell whether values can be the domain of an ordered attribute."""
    return not _order_problems(domain)


def _order_problems(domain: tuple[object, ...]) -> list[str]:
    if len(domain) < 2 or not all(isinstance(value, str) for value in domain):
        return ["domain of an ordered attribute must list its texts, at least two, the lowest first"]
    unclear = sum(".." in str(value) or str(value).strip() in ("", "*") for value in domain)
    if unclear:
        return [
            f"domain of an ordered attribute: {unclear} of its texts are empty, '*', or have '..', which ranges have"
        ]
    return []


AttributeLike = Attribute | HierarchySpecification | None


@dataclass(frozen=True)
class Schema:
    """One role for every column.

    Parameters
    ----------
    identifying
        Columns that are always removed.
    quasi_identifying
        Columns that an attacker may know: names, or a mapping from a name to an :class:`Attribute`, to the description
        of a hierarchy, or to None (no hierarchy). Their order breaks ties in the algorithms.
    sensitive
        Columns whose link to a person must stay hidden; names or a mapping as above.
    insensitive
        Columns that are published unchanged.
    others
        What happens to columns that have no role: ``"error"`` (all of them are listed), ``"drop"`` or ``"keep"``.
    person
        The column that says who a record is about, where people have several records; always removed, but people are
        counted by it. A list of columns, ``["clinic", "number"]``, where only all of them together say it. Who has no
        value in it, or in one of them, is a person of its own. None: every record is another person.
    wished_k
        The column that says which k a record's person wishes for, a whole number from 1 or nothing; always removed.
        k-anonymity then gives everybody a class of at least that many.
    wished_l
        The same for the l of distinct or probabilistic l-diversity.
    key_form
        Which spellings of a key are one person's, where they differ in capitals, inner blanks, invisible characters,
        forms of letters and digits, leading zeros or signs: ``"exact"``, none; ``"fold"``, all; or by kind, such as
        ``"fold:capitals,exact:zeros"``. None: whoever reads is asked, by an error that counts them.
    publish
        Columns that somebody has looked at, and that are published although they look as if they identified people.
        Those of them that have no other role are insensitive.
    accept
        Findings that somebody has answered, such as ``{"spellings:disease": "they are two diseases"}``: a finding and a
        column, and why it may be published so; a list gives no reasons. All others that are severe then stop a release.
        None is the way of the last version: they are told, and stop nothing.

    Raises
    ------
    SchemaError
        When a column has two roles, when there is no quasi-identifying column, or when a setting is of the wrong type.
    """

    identifying: tuple[str, ...] = ()
    quasi_identifying: Mapping[str, Attribute] = field(default_factory=dict)
    sensitive: Mapping[str, Attribute] = field(default_factory=dict)
    insensitive: tuple[str, ...] = ()
    others: Others = "error"
    person: PersonKey = None
    wished_k: str | None = None
    wished_l: str | None = None
    publish: tuple[str, ...] = ()
    key_form: str | None = None
    accept: Mapping[str, str] | None = field(default=None, repr=False)  # stored comparisons know a schema by its repr

    def __init__(
        self,
        *,
        quasi_identifying: Mapping[str, AttributeLike] | Sequence[str],
        sensitive: Mapping[str, AttributeLike] | Sequence[str] = (),
        identifying: Sequence[str] = (),
        insensitive: Sequence[str] = (),
        others: Others = "error",
        person: str | Sequence[str] | None = None,
        wished_k: str | None = None,
        wished_l: str | None = None,
        publish: Sequence[str] = (),
        key_form: str | None = None,
        accept: Mapping[str, str] | Sequence[str] | None = None,
    ) -> None:
        problems: list[str] = []
        quasi = _attributes(quasi_identifying, "quasi_identifying", problems)
        if not quasi and not problems:
            problems.append("no quasi-identifying column; name the columns that an attacker may know")
        private = _attributes(sensitive, "sensitive", problems)
        for name, value in (
            ("identifying", _names(identifying, "identifying", problems)),
            ("quasi_identifying", quasi),
            ("sensitive", private),
            ("insensitive", _names(insensitive, "insensitive", problems)),
            ("others", others),
            ("person", _person_key(person, problems)),
            ("wished_k", wished_k),
            ("wished_l", wished_l),
            ("publish", _names(publish, "publish", problems)),
            ("key_form", key_form),
            ("accept", _answers(accept, problems)),
        ):
            object.__setattr__(self, name, value)
        if others not in ("error", "drop", "keep"):
            problems.append("others must be 'error', 'drop' or 'keep'")
        for name, column in (("wished_k", wished_k), ("wished_l", wished_l)):
            if column is not None and not isinstance(column, str):
                problems.append(f"{name} must be the name of a column")
                object.__setattr__(self, name, None)
        problems.extend(_wrong_key_form(key_form))
        object.__setattr__(self, "insensitive", (*self.insensitive, *self._without_role()))
        problems.extend(self._double_roles())
        raise_all(SchemaError, problems)

    def __hash__(self) -> int:
        """Hash by value; mappings count with their order."""
        return hash(
            (
                self.person,
                self.wished_k,
                self.wished_l,
                self.identifying,
                tuple(self.quasi_identifying.items()),
                tuple(self.sensitive.items()),
            )
        )

    def _repr_html_(self) -> str:
        """Show notebooks the roles; values that a domain or hierarchy lists are not shown."""
        from sfumato.notebook import card

        return card("Schema", f"{len(self.roles)} columns with a role", roles_table(self))

    @property
    def roles(self) -> dict[str, Role]:
        """Role of every named column: of people first, then identifying, quasi-identifying, sensitive, insensitive."""
        return {
            **dict(self._of_people()),
            **dict.fromkeys(self.identifying, Role.IDENTIFYING),
            **dict.fromkeys(self.quasi_identifying, Role.QUASI_IDENTIFYING),
            **dict.fromkeys(self.sensitive, Role.SENSITIVE),
            **dict.fromkeys(self.insensitive, Role.INSENSITIVE),
        }

    def answers(self, finding: str, name: str) -> bool:
        """Tell whether somebody has said that what was found in a column may stay so."""
        looks = finding in ("identifier", "free-text") and name in self.publish
        return looks or f"{finding}:{name}" in (self.accept or {})

    def _without_role(self) -> Iterable[str]:
        """Return the columns that are only said to be published."""
        roles = self.roles
        return dict.fromkeys(name for name in self.publish if name not in roles)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Columns that say together who a record is about; none where every record is another person."""
        return key_columns(self.person)

    def _of_people(self) -> Iterator[tuple[str, Role]]:
        yield from ((name, Role.PERSON) for name in self.key_columns)
        wishes = (self.wished_k, Role.WISHED_K), (self.wished_l, Role.WISHED_L)
        yield from ((name, role) for name, role in wishes if name is not None)

    def _double_roles(self) -> list[str]:
        named: dict[str, list[str]] = {}
        for role, names in (
            *((str(role), (name,)) for name, role in self._of_people()),
            ("identifying", self.identifying),
            ("quasi-identifying", self.quasi_identifying),
            ("sensitive", self.sensitive),
            ("insensitive", self.insensitive),
        ):
            for name in names:
                named.setdefault(name, []).append(role)
        return [
            f"column {name!r} is declared {' and '.join(roles)}; give it one role"
            for name, roles in named.items()
            if len(roles) > 1
        ]


def _names(names: object, what: str, problems: list[str], of: str = "column names") -> tuple[str, ...]:
    listed = tuple(names) if isinstance(names, Iterable) and not isinstance(names, str) else (None,)
    if not all(isinstance(name, str) for name in listed):
        problems.append(f"{what} must be a list of {of}")
        return ()
    return listed


def _answers(given: object, problems: list[str]) -> dict[str, str] | None:
    """Return the reason of each answer, empty where a list gives none; None where nobody was asked."""
    if given is None:
        return None
    reasons = dict(given) if isinstance(given, Mapping) else dict.fromkeys(_names(given, "accept", problems), "")
    if not all(isinstance(key, str) and all(key.partition(":")) for key in reasons):
        problems.append("accept must name findings and columns, such as identifier:name")
        return {}
    return {key: str(reason) for key, reason in reasons.items()}


def _person_key(given: object, problems: list[str]) -> PersonKey:
    """Return the columns of a key; one in a list is that one."""
    names = (given,) if given is None or isinstance(given, str) else given
    listed = tuple(names) if isinstance(names, Sequence) else ()
    if given is None or (listed and all(isinstance(name, str) for name in listed) and len({*listed}) == len(listed)):
        return None if given is None else as_person_key(listed)
    problems.append("person must be the name of a column, or a list of different ones that make a key together")
    return None


def _attributes(given: object, what: str, problems: list[str]) -> dict[str, Attribute]:
    if not isinstance(given, Mapping):
        names = _names(given, what, problems)
        if len(set(names)) < len(names):
            problems.append(f"{what} names a column twice")
        return {name: Attribute() for name in names}
    _names(given.keys(), what, problems)
    attributes = {}
    for name, setting in given.items():
        if setting is None:
            attributes[name] = Attribute()
        elif isinstance(setting, Attribute):
            attributes[name] = setting
        elif _is_hierarchy(setting):
            attributes[name] = Attribute(hierarchy=setting)
        else:
            problems.append(f"{what}, column {name!r}: give an Attribute, a hierarchy or None")
    return attributes


def _wrong_key_form(form: str | None) -> list[str]:
    """Say what is wrong with what was answered about the spellings of keys."""
    try:
        read_key_form(form)
    except SchemaError as error:
        return [str(error)]
    return []


# What a kind of values allows, and how its values are written as text.

LARGEST_NUMBER = 1e70
"""Largest magnitude of a number: sums of fourth powers of such numbers stay finite."""


def is_measured(kind: Kind) -> bool:
    """Tell whether values of this kind lie on a line, so that ranges and means make sense."""
    return kind in (Kind.NUMERIC, Kind.DATE)


OTHERS = {
    "error": "A column without a role is an error.",
    "drop": "Columns without a role are dropped.",
    "keep": "Columns without a role are published unchanged.",
}


def roles_table(schema: Schema, kinds: Mapping[str, Kind] | None = None) -> Markup:
    """Return a table of all columns with a role; `kinds`: as read off a table, else those of the schema."""
    from sfumato.notebook import Markup, notebook_table, paragraph

    settings = {**schema.quasi_identifying, **schema.sensitive}
    rows = [
        (name, str(role), *_settings(settings.get(name, Attribute()), (kinds or {}).get(name)))
        for name, role in schema.roles.items()
    ]
    return Markup(
        notebook_table(("column", "role", "kind", "settings"), rows).html + paragraph(OTHERS[schema.others]).html
    )


def _settings(attribute: Attribute, kind: Kind | None) -> tuple[str, str]:
    """Return the kind, and what else is declared. A domain and a hierarchy may list values, which are not shown."""
    hierarchy = attribute.hierarchy
    rows = [
        *([f"hierarchy of {hierarchy.to_policy().get('kind', 'its own')}"] if hierarchy is not None else []),
        *(["declared domain"] if attribute.domain is not None else []),
        *([f"weight {attribute.weight:g}"] if attribute.weight != 1 else []),
    ]
    return str(kind or attribute.kind or ""), ", ".join(rows)


DomainMember = int | float | str


def plain_setting(value: Any) -> Any:
    """Return numpy scalars as Python has them and dates as ISO text; any other value as it is."""
    if isinstance(value, np.generic):
        value = value.item()
    is_date = isinstance(value, date) and not isinstance(value, datetime)
    return value.isoformat() if is_date else value


def is_finite_number(value: object) -> bool:
    """Tell whether this is a number, finite also as a float; truth values are none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def plain_domain(domain: object) -> tuple[DomainMember, ...] | None:
    """Return a domain as a tuple of finite numbers or of texts; None where it is neither."""
    if not isinstance(domain, (tuple, list)):
        return None
    members = tuple(map(plain_setting, domain))
    return members if all(map(is_finite_number, members)) or _are_texts(members) else None


def _are_texts(members: Sequence[object]) -> bool:
    return all(isinstance(member, str) for member in members)
