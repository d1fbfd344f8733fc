"""The review of a table: every column looked at once, and one list of questions with their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from shlex import quote
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SchemaError, SfumatoError, raise_together, said_of
from sfumato.findings.meaning import Judgement, Meaning, Values, are_codes, judge_meaning, names_a_quantity
from sfumato.findings.oddities import (
    Mark,
    below_zero,
    copies,
    days_for_nothing,
    equal_records,
    farthest_decide,
    left_by_programs,
    may_count_seconds,
    missing_marks,
    mistyped,
    names_that_are_values,
    numbers_in_texts,
    of_two_units,
    rows_that_add_up,
    same_words,
    sentinels,
    spelling_variants,
    with_lost_digits,
    written_as_codes,
)
from sfumato.findings.words import names_of, values_that_mean
from sfumato.hierarchy.tree import HierarchySpecification
from sfumato.numbers import counted
from sfumato.progress import Progress, silent
from sfumato.table.columns import (
    NestedValues,
    TypedColumn,
    ValueReading,
    folded_label,
    proposals,
    question_among_days,
    question_beside_days,
    read_attribute,
    said_of_strays,
    strays,
    way_of,
    with_missing,
)
from sfumato.table.distinct import repeats
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.header import missing_columns
from sfumato.table.identification import Look, Sort, look_of, name_in_words, sort_by_name
from sfumato.table.schema import Attribute, Kind, Role, Schema
from sfumato.table.sources.protocol import Reading
from sfumato.table.written_forms import PLAIN

if TYPE_CHECKING:
    from sfumato.notebook import Markup
    from sfumato.table.raw_table import RawTable

# Which role a column seems to have, by its name and its meaning. A proposal: the steward decides.


@dataclass(frozen=True)
class RoleProposal:
    """A proposed role, and why."""

    role: Role
    reason: str


def propose_role(name: str, judgement: Judgement, look: Look) -> RoleProposal | None:
    """Return the role that a column seems to have; None where nothing speaks for one. Names in several languages."""
    words = name_in_words(name)
    if judgement.meaning in (Meaning.IDENTIFIER, Meaning.FREE_TEXT):
        return RoleProposal(Role.IDENTIFYING, judgement.reason)
    if names_of("technical").search(words):
        return None
    if look.by_value in (Sort.BIRTHS, Sort.POSTCODES, Sort.COORDINATES, Sort.PLACES):
        return RoleProposal(Role.QUASI_IDENTIFYING, look.sentence())
    quasi, sensitive = names_of("quasi_identifying").search(words), names_of("sensitive").search(words)
    if sensitive or words == "y":
        return RoleProposal(Role.SENSITIVE, "its name is that of something that people keep to themselves")
    if quasi or judgement.meaning is Meaning.PLACE:
        return RoleProposal(Role.QUASI_IDENTIFYING, "its name is that of something that others may know")
    if judgement.meaning is Meaning.DATE:
        return RoleProposal(Role.QUASI_IDENTIFYING, "others may know a date")
    return None


class Severity(StrEnum):
    """Whether a finding stops a release until somebody answers, or is said beside it."""

    SEVERE = "severe"
    REMARK = "remark"


@dataclass(frozen=True)
class Answer:
    """One way to answer a finding: what it does, and how the command line and Python say it."""

    effect: str
    option: str = ""
    python: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return plain values, for JSON."""
        return {"effect": self.effect, "option": self.option, "python": self.python}


@dataclass(frozen=True)
class Finding:
    """One thing about a table that a steward should hear, or answer."""

    name: str  # what was found, such as ``"spellings"``; with a column it is what ``--accept`` names
    columns: tuple[str, ...]  # where it was found; empty for the rows of the table
    severity: Severity
    question: str  # a plain sentence or two, with counts and without values
    answers: tuple[Answer, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    # the text that stands for a missing value; one of a list that is known before any table is read
    mark: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """What answers it in a policy, for each column."""
        return tuple(f"{self.name}:{column}" for column in self.columns)

    def problem(self) -> str:
        """Write the question and all answers on one line."""
        ways = [f"{answer.effect}: {answer.option}" for answer in self.answers if answer.option]
        return f"{self.where}{self.question} {'; '.join(ways)}"

    def __str__(self) -> str:
        """Write the question, and an answer a line."""
        ways = [f"    {answer.effect}: {answer.option}" for answer in self.answers if answer.option]
        return "\n".join([f"{self.where}{self.question}", *ways])

    @property
    def where(self) -> str:
        """Name the columns, and a colon; nothing for the rows of the table."""
        return f"{', '.join(self.columns)}: " if self.columns else ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "finding": self.name,
            "columns": list(self.columns),
            "severity": str(self.severity),
            "question": self.question,
            "answers": [answer.to_dict() for answer in self.answers],
            "counts": dict(self.counts),
        }


@dataclass(frozen=True)
class ColumnReview:
    """What one column seems to be."""

    name: str
    judgement: Judgement  # what its values mean, why, and whether that is plain
    kind: Kind | None  # as it would be read today; None where reading asks first
    role: RoleProposal | None  # the role that it seems to have; None where nothing speaks for one
    # `distinct`, `missing`: different values, and records without one
    distinct: int
    missing: int
    hierarchy: HierarchySpecification | None = None  # for codes whose own characters carry a tree
    # whether classes can publish it: not a text of which most values differ, unless it has a hierarchy
    can_be_classed: bool = True
    # whether reading asks what its values are, and they are hardly text: somebody has to say it first
    must_be_told: bool = False

    @property
    def meaning(self) -> Meaning:
        """What its values mean."""
        return self.judgement.meaning

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "column": self.name,
            "meaning": str(self.meaning),
            "sure": self.judgement.sure,
            "reason": self.judgement.reason,
            "kind": None if self.kind is None else str(self.kind),
            "role": None if self.role is None else str(self.role.role),
            "role_reason": None if self.role is None else self.role.reason,
            "distinct": self.distinct,
            "missing": self.missing,
        }


@dataclass(frozen=True)
class Review:
    """What was found in a table: its columns, and one list of findings. It holds counts, and no value.

    Attributes
    ----------
    source : str
    records : int
    columns : tuple of ColumnReview
    findings : tuple of Finding
        Severe ones first, then in the order of the columns.
    """

    source: str
    records: int
    columns: tuple[ColumnReview, ...]
    findings: tuple[Finding, ...]

    def __getitem__(self, name: str) -> ColumnReview:
        """Return what one column seems to be; KeyError names a column that is not there."""
        return next(column for column in self.columns if column.name == name)

    @property
    def severe(self) -> tuple[Finding, ...]:
        """Findings that stop a release until somebody answers them."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.SEVERE)

    def of(self, name: str) -> tuple[Finding, ...]:
        """Return the findings about one column."""
        return tuple(finding for finding in self.findings if name in finding.columns)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "source": self.source,
            "records": self.records,
            "columns": [column.to_dict() for column in self.columns],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def __str__(self) -> str:
        """Write a table of the columns and the findings below, in 80 characters a line where names allow it."""
        wide = max([6, *(len(column.name) for column in self.columns)])
        rows = [
            f"  {column.name:{wide}}  {_meaning_of(column):16}  {_role_of(column):17}  "
            f"{column.distinct:>7,}  {column.missing:>7,}"
            for column in self.columns
        ]
        head = f"  {'column':{wide}}  {'seems to be':16}  {'role':17}  {'values':>7}  {'missing':>7}"
        parts = [f"{counted(self.records, 'record')}, {counted(len(self.columns), 'column')}", head, *rows]
        for title, severity in ((_STOPS, Severity.SEVERE), (_TELLS, Severity.REMARK)):
            some = [finding for finding in self.findings if finding.severity is severity]
            if some:
                parts += ["", f"{title}: {len(some)}", *(f"  {_mark(severity)} {finding}" for finding in some)]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        """Show notebooks the columns and the findings."""
        from sfumato.notebook import card, notebook_table

        heads = ("column", "seems to be", "role", "values", "missing")
        rows = [(c.name, _meaning_of(c), _role_of(c), f"{c.distinct:,}", f"{c.missing:,}") for c in self.columns]
        note = f"{counted(self.records, 'record')}, {counted(len(self.findings), 'finding')}"
        return card("Review", note, notebook_table(heads, rows, (3, 4)), *map(self._section, Severity))

    def _section(self, severity: Severity) -> Markup:
        from sfumato.notebook import lines, notebook_section

        title = _STOPS if severity is Severity.SEVERE else _TELLS
        some = [finding for finding in self.findings if finding.severity is severity]
        return notebook_section(title, lines(f"{one.where}{one.question}" for one in some))


_STOPS, _TELLS = "To answer before a release", "To know, which stops nothing"


def _meaning_of(column: ColumnReview) -> str:
    return f"{column.meaning}{'' if column.judgement.sure else ' ?'}"


def _role_of(column: ColumnReview) -> str:
    return "-" if column.role is None else str(column.role.role)


def _mark(severity: Severity) -> str:
    return "!" if severity is Severity.SEVERE else "·"


def review(
    source: object, schema: Schema | None = None, *, reading: Reading | None = None, progress: Progress = silent
) -> Review:
    """Look at every column of a table once, and list what a steward should hear or answer before it is published.

    Parameters
    ----------
    source
        What :func:`sfumato.open_table` takes, or what it returns.
    schema
        The roles, where they are known: what is published as it is, or under a promise of l, is asked about.
    reading
        How the source is read, as for :func:`sfumato.open_table`.
    progress
        Called with the columns that are done and their number.

    Returns
    -------
    Review
        Columns in their order, and findings. It holds counts and no value of the table.

    Raises
    ------
    InputError
        When the source cannot be read.
    SchemaError
        When the schema names columns that are not there.

    Notes
    -----
    Each column is read once, and judged by its distinct values: cost O(n) for each column, and O(d log d) for its d
    values. Meanings and roles are proposals, made from names in several languages and from values; nothing is changed.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> found = sf.review(pl.DataFrame({"age": [30, 41, 52], "stage": ["low", "medium", "high"]}))
    >>> [str(column.meaning) for column in found.columns]
    ['number', 'ordered labels']
    """
    from sfumato.table.raw_table import RawTable, open_table  # a release judges columns that are read already

    table = source if isinstance(source, RawTable) else open_table(source, reading=reading)
    _check_names(table, schema)
    profiles = []
    for done, name in enumerate(table.names):
        if done % _TOGETHER == 0:
            # A text file is gone through once for several columns.
            table.read(table.names[done : done + _TOGETHER])
        progress("reviewing", done, len(table.names))
        profiles.append(_profile(table, name, declared_of(schema, name)))
    columns, findings = judged(_beside_days(profiles, schema), schema)
    findings = [*_of_rows(table, profiles), *findings]
    findings.sort(key=lambda finding: finding.severity is Severity.REMARK)
    return Review(table.source, table.height, tuple(columns), tuple(findings))


def _check_names(table: RawTable, schema: Schema | None) -> None:
    """Refuse roles of columns that the table does not have."""
    if schema is not None:
        try:
            raise_together(missing_columns(table.names, schema))
        except SfumatoError as error:
            raise said_of(table.source, error) from None


def _beside_days(profiles: Sequence[Profile], schema: Schema | None) -> list[Profile]:
    """Ask about numbers that may count days, as other columns of the table are days."""
    days = [each.values.distinct for each in profiles if each.kind is Kind.DATE]

    def one(each: Profile) -> Profile:
        if each.kind is not Kind.NUMERIC or declared_of(schema, each.values.name) != Attribute():
            return each
        asked = question_beside_days(each.values.name, each.values.distinct, days)
        return each if asked is None else replace(each, question=str(asked), kind=None, hardly_text=True)

    return [one(each) for each in profiles]


_TRIED = 100
"""Texts at the beginning that tell whether reading a whole column as numbers is worth trying."""
_TOGETHER = 32
"""Columns that are read at a time."""


def declared_of(schema: Schema | None, name: str) -> Attribute:
    """Return what somebody has declared of a column."""
    settings = {} if schema is None else {**schema.quasi_identifying, **schema.sensitive}
    return settings.get(name, Attribute())


def judged(
    profiles: Sequence[Profile], schema: Schema | None, promised: Collection[str] | None = None
) -> tuple[list[ColumnReview], list[Finding]]:
    """Judge columns, and list what was found in them and nobody has answered.

    `promised`: sensitive columns of which a model counts the values; None: all.
    """
    siblings = Counter(profile.few_numbers for profile in profiles)
    found = [_judged(profile, siblings[profile.few_numbers], schema, promised) for profile in profiles]
    spots = (spot for _, each in found for spot in each if schema is None or not schema.answers(spot.name, spot.column))
    return [column for column, _ in found], [*_joined(spots)]


@dataclass(frozen=True, eq=False)
class Profile:
    """A column's values, and what is odd about its texts.

    ``question``: what reading would ask. ``marks``: texts that stand for a missing value. ``strays``: records whose
    text is no number or date where all others are; columns with the same such texts share the ``stray_key``.
    """

    values: Values
    missing: int
    marks: tuple[Mark, ...]
    question: str | None
    strays: int
    kind: Kind | None
    stray_key: str = ""
    hardly_text: bool = False  # whether the question is likelier answered with another kind than text
    left: tuple[tuple[str, int], ...] = ()  # what other programs left in its texts, and in how many records
    remarks: tuple[str, ...] = ()  # how it was read
    is_nested: bool = False  # whether cells hold lists or records, which nothing can publish

    @property
    def few_numbers(self) -> tuple[float, ...] | None:
        """The values, where they are a few whole numbers that other columns may have, too."""
        if self.values.kind is not Kind.NUMERIC or not 4 <= len(self.values.distinct) <= 11:
            return None
        return tuple(float(value) for value in self.values.distinct.to_list())


def _profile(table: RawTable, name: str, declared: Attribute) -> Profile:
    try:
        return profile_of(table.texts(name), table.reading_of(name), declared)
    except NestedValues as error:
        nothing = Values(name, pl.Series(name, [], pl.String), np.empty(0, np.int64), Kind.CATEGORICAL, table.height)
        return Profile(nothing, 0, (), str(error), 0, None, hardly_text=True, is_nested=True)


def _counted(column: pl.Series) -> pl.DataFrame:
    """Count the records of each value. Cost O(n)."""
    if isinstance(column.dtype, pl.Categorical):
        counts = np.bincount(column.to_physical().drop_nulls().to_numpy())
        places = np.flatnonzero(counts)
        try:
            values = pl.Series("v", places, dtype=pl.UInt32).cat.to(column.dtype)
        except pl.exceptions.PolarsError:
            # Categories that other columns share: some numbers stand for nothing here.
            values = pl.Series("v", [], dtype=column.dtype)
        if len(values):
            return pl.DataFrame({"v": values, "c": counts[places]})
    return column.to_frame("v").group_by("v").agg(pl.len().alias("c")).drop_nulls("v")


def profile_of(column: pl.Series, reading: ValueReading, declared: Attribute = Attribute()) -> Profile:  # noqa: B008
    """Read a column that is as its source has it, or as it is published unchanged. Cost O(n)."""
    name = column.name
    plain = _plain_numbers(column, reading, declared)
    if plain is not None:
        return plain
    counted_values = _counted(column)
    # Whatever the order of the records, values are looked at in one order.
    is_text = counted_values["v"].dtype == pl.String or isinstance(counted_values["v"].dtype, (pl.Categorical, pl.Enum))
    counted_values = counted_values.sort(pl.col("v").cast(pl.String) if is_text else "v", "c")
    values, counts = counted_values["v"], counted_values["c"].cast(pl.Int64).to_numpy()
    if not is_text:
        typed, question, hardly_text = _asked(values.alias(name), declared, reading)
        found = _values(name, typed.values, counts, typed.kind, len(column))
        kind = None if question is not None else typed.kind
        left = _without_end(typed.values, counts)
        return Profile(found, column.null_count(), (), question, 0, kind, "", hardly_text, left)
    texts = values.cast(pl.String)
    present = ~texts.is_in(list(reading.missing))
    texts, counts = texts.filter(present).alias(name), counts[present.to_numpy()]
    return _profile_of_texts(texts, counts, len(column), reading, declared)


_IN_NUMBERS = ("exponents", "other-digits")
"""What programs leave that numbers may have."""


def _plain_numbers(column: pl.Series, reading: ValueReading, declared: Attribute) -> Profile | None:
    """Read a text column of numbers that hardly repeat at once: its texts need not be told apart. None: of no such."""
    if column.dtype != pl.String or not reading.is_text or declared != Attribute() or repeats(column):
        return None
    try:
        if read_attribute(column.head(_TRIED), declared, replace(reading, asks=False)).kind is not Kind.NUMERIC:
            return None
        typed = read_attribute(column, declared, reading)
    except InputError:
        return None
    missing = int(column.is_in(list(reading.missing)).sum()) + column.null_count()
    # A text that reads as no number may be a mark, about which the distinct texts tell.
    if typed.kind is not Kind.NUMERIC or typed.values.null_count() != missing:
        return None
    ones = np.ones(len(column), dtype=np.int64)
    found = _values(column.name, typed.values, None, typed.kind, len(column))
    left = left_by_programs(column.fill_null(""), ones, _IN_NUMBERS)
    left += _without_end(typed.values, ones) + _codes_among(column, typed.values.cast(pl.Float64))
    remarks = tuple(remark.removeprefix(f"Column {column.name!r}: ") for remark in typed.remarks)
    return Profile(found, missing, (), None, 0, typed.kind, left=left, remarks=remarks)


def _without_end(values: pl.Series, counts: NDArray[np.int64]) -> tuple[tuple[str, int], ...]:
    infinite = values.is_infinite().fill_null(False).to_numpy() if values.dtype.is_float() else np.empty(0, np.bool_)
    return (("infinite", int(counts[infinite].sum())),) if infinite.any() else ()


_MONTHS, _OTHER = (190_001, 209_953), r"\.(?:[0-9]|[6-9][0-9]|[0-9]{3,})$"


def _codes_among(column: pl.Series, numbers: pl.Series) -> tuple[tuple[str, int], ...]:
    # Texts are counted only where fractions, or years with a month or week, may be codes.
    is_whole = bool((numbers == numbers.floor()).all())
    if is_whole and not numbers.drop_nulls().is_between(*_MONTHS).all():
        return ()
    # Zeros at the end of a fraction, or two digits up to 59, are what codes have.
    if not is_whole and not column.str.contains(r"\.[0-9]*0$").any() and column.head(_TRIED).str.contains(_OTHER).any():
        return ()
    counted_texts = column.drop_nulls().value_counts(name="records")
    return written_as_codes(counted_texts[column.name], counted_texts["records"].to_numpy())


def profile_of_typed(values: Values) -> Profile:
    """Take the values of a column of a table, which have been read; texts may mark missing ones all the same."""
    missing, marks = values.records - values.known, list[Mark]()
    if values.kind is Kind.CATEGORICAL:
        texts = values.distinct.cast(pl.String)
        marks = missing_marks(texts, values.counts, numeric=False)
        plain = ~texts.is_in([mark.value for mark in marks if mark.sure])
        values = replace(values, distinct=texts.filter(plain), counts=values.counts[plain.to_numpy()])
    return Profile(values, missing, tuple(marks), None, 0, values.kind)


def _profile_of_texts(
    texts: pl.Series, counts: NDArray[np.int64], records: int, reading: ValueReading, declared: Attribute
) -> Profile:
    """Read texts as they would be read without what seems to mark a missing value."""
    name, known = texts.name, int(counts.sum())
    marks = missing_marks(texts, counts, numeric=False)
    plain = ~texts.is_in([mark.value for mark in marks])
    rest, rest_counts = texts.filter(plain), counts[plain.to_numpy()]
    undeclared = declared.kind is None and declared.form == PLAIN
    # What reads as numbers or dates throughout has no strays, nor have codes of digits.
    whole = reading.is_text and undeclared and (
        way_of(rest, PLAIN).kind in (Kind.NUMERIC, Kind.DATE) or bool(rest.str.contains("^[0-9]+$").all())
        or question_among_days(name, rest) is not None
    )  # fmt: skip
    stray = strays(rest) if reading.is_text and undeclared and len(rest) and not whole else None
    stray = None if stray is not None and proposals(rest) else stray
    lost, lost_key = 0, ""
    if stray is not None:
        fits = stray.way.read(rest).is_not_null()
        lost = int(rest_counts[~fits.to_numpy()].sum())
        lost_key = "\n".join(sorted(rest.filter(~fits)))
        rest, rest_counts = rest.filter(fits), rest_counts[fits.to_numpy()]
    typed, question, hardly_text = _asked(rest.alias(name), declared, reading)
    numeric = typed.kind in (Kind.NUMERIC, Kind.DATE)
    remarks = [remark.removeprefix(f"Column {name!r}: ") for remark in typed.remarks]
    if declared.strays and remarks:
        # Each text was read once, whatever its count.
        unread = int(rest_counts[typed.values.is_null().to_numpy()].sum())
        remarks[0] = said_of_strays(unread, int(rest_counts.sum()), typed.kind) if unread else remarks[0]
    sure = [mark for mark in marks if mark.sure or numeric]
    if len(sure) < len(marks):
        unsure = texts.is_in([mark.value for mark in marks if mark not in sure])
        rest = pl.concat([rest, texts.filter(unsure)])
        rest_counts = np.concatenate([rest_counts, counts[unsure.to_numpy()]])
        typed = typed._replace(values=rest.alias(name))
    values = _values(name, typed.values, rest_counts, typed.kind, records)
    kind = None if question is not None or lost or (numeric and sure) else typed.kind
    left = left_by_programs(texts, counts) + _without_end(typed.values, rest_counts)
    if undeclared and not question and not lost and not remarks and typed.kind in (Kind.NUMERIC, Kind.CATEGORICAL):
        written, of_each = texts.filter(plain), counts[plain.to_numpy()]
        left += (numbers_in_texts if typed.kind is Kind.CATEGORICAL else written_as_codes)(written, of_each)
    return Profile(
        values, records - known, tuple(marks), question, lost, kind, lost_key, hardly_text, left, tuple(remarks)
    )


def _asked(values: pl.Series, declared: Attribute, reading: ValueReading) -> tuple[TypedColumn, str | None, bool]:
    """Read distinct values; return what reading asks about them, and whether the likeliest answer is not text."""
    try:
        return read_attribute(values, declared, reading), None, False
    except InputError as error:
        kind = Kind.NUMERIC if values.dtype.is_numeric() else Kind.CATEGORICAL
        hardly_text = "--categorical" not in error.answers.get(values.name, "")
        return read_attribute(values, Attribute(kind=kind), reading), str(error), hardly_text


def _values(name: str, values: pl.Series, counts: NDArray[np.int64] | None, kind: Kind, records: int) -> Values:
    """Add up the records of texts that are one value, such as 1 and 1.0. `counts`: None where each is one record."""
    if kind is Kind.NUMERIC:
        known = (values.is_not_null() & values.is_finite()).fill_null(False).to_numpy()
        numbers = values.filter(known).to_numpy()
        weights = None if counts is None else counts[known]
        order = None if weights is None else np.argsort(numbers, kind="stable")
        rising = np.sort(numbers) if order is None else numbers[order]
        first = np.flatnonzero(np.append(True, rising[1:] != rising[:-1])) if len(rising) else np.empty(0, np.int64)
        ends = np.append(first[1:], len(rising))
        together = ends - first
        if weights is not None and order is not None and len(first):
            together = np.add.reduceat(weights[order], first)
        return Values(name, pl.Series(name, rising[first], dtype=values.dtype), together, kind, records)
    if isinstance(values.dtype, (pl.Categorical, pl.Enum)):
        values = values.cast(pl.String)
    frame = pl.DataFrame({"v": values, "c": counts}).drop_nulls("v").group_by("v").agg(pl.col("c").sum()).sort("v")
    return Values(name, frame["v"].alias(name), frame["c"].to_numpy(), kind, records)


# What is found in a column; what is the same in several columns is one finding.


@dataclass(frozen=True)
class _Spot:
    """Something in one column. Spots of one name and key are one finding; ``counts`` add up."""

    name: str
    column: str
    key: str = ""
    severity: Severity = Severity.REMARK
    counts: tuple[tuple[str, int], ...] = ()
    detail: str = ""


def _judged(
    profile: Profile, siblings: int, schema: Schema | None, promised: Collection[str] | None
) -> tuple[ColumnReview, list[_Spot]]:
    values = profile.values
    look = look_of(values.name, values.distinct, values.known)
    judgement = judge_meaning(values, look, siblings)
    proposal = propose_role(values.name, judgement, look)
    tree = _tree(values, judgement)
    classed = tree is not None or values.kind is not Kind.CATEGORICAL or not look.is_mostly_distinct
    count = len(values.distinct)
    column = ColumnReview(
        values.name, judgement, profile.kind, proposal, count, profile.missing, tree, classed, profile.hardly_text
    )
    role = None if schema is None else schema.roles.get(values.name)
    declared = declared_of(schema, values.name)
    # Sets of exact values would be published; ranges and labels of a hierarchy are not the values.
    in_sets = role is Role.QUASI_IDENTIFYING and declared.hierarchy is None and not classed
    as_it_is = role in (Role.INSENSITIVE, Role.SENSITIVE) or in_sets
    counts_values = role is Role.SENSITIVE and (promised is None or values.name in promised)
    spots = [
        *_of_reading(profile),
        *_of_missing(profile),
        *_of_numbers(values, judgement, has_domain=declared.domain is not None),
        *_of_days(values),
        *_of_spellings(values, Severity.SEVERE if counts_values else Severity.REMARK),
        *_of_labels(values, judgement),
        *_of_identity(values.name, judgement, Severity.SEVERE if as_it_is else Severity.REMARK),
        *([] if declared.kind is not None else _of_meaning(values.name, judgement, values.kind)),
    ]
    return column, spots


_FEWEST_IN_A_TREE = 10


def _tree(values: Values, judgement: Judgement) -> HierarchySpecification | None:
    """Return the hierarchy that the characters of codes carry."""
    if judgement.meaning not in (Meaning.CODE, Meaning.PLACE) or len(values.distinct) < _FEWEST_IN_A_TREE:
        return None
    texts = values.distinct.cast(pl.String)
    from sfumato.hierarchy.draft import draft_rule  # few columns are such codes
    from sfumato.hierarchy.level_table import Groups
    from sfumato.hierarchy.ranges import Prefixes

    rule = draft_rule(texts)
    least = int(texts.str.len_chars().min() or 0)  # type: ignore[arg-type]
    return rule if isinstance(rule, Groups) or (isinstance(rule, Prefixes) and least >= 3) else None


def _of_reading(profile: Profile) -> Iterator[_Spot]:
    name = profile.values.name
    if profile.question is not None:
        yield _Spot("reading", name, name, Severity.SEVERE, detail=profile.question)
    if profile.strays:
        counts = (("records", profile.strays),)
        yield _Spot("strays", name, profile.stray_key, Severity.SEVERE, counts)
    for remark in profile.remarks:
        yield _Spot("way", name, remark, detail=remark)
    for left, records in profile.left:
        yield _Spot(left, name, counts=(("records", records),))


def _of_missing(profile: Profile) -> Iterator[_Spot]:
    numeric = profile.values.kind in (Kind.NUMERIC, Kind.DATE)
    for mark in profile.marks:
        name = "missing-marks" if mark.sure or numeric else "possible-missing-marks"
        yield _Spot(name, profile.values.name, mark.value.strip(), counts=(("records", mark.records),))


def _of_numbers(values: Values, judgement: Judgement, *, has_domain: bool) -> Iterator[_Spot]:
    if values.kind is not Kind.NUMERIC or judgement.meaning not in (Meaning.NUMBER, Meaning.CODE, Meaning.ORDERED):
        return
    numbers = values.distinct.cast(pl.Float64).to_numpy()
    places = sentinels(numbers, values.counts)
    if places:
        yield _Spot("sentinels", values.name, counts=(("records", int(values.counts[places].sum())),))
    usual = np.ones(len(numbers), dtype=np.bool_)
    usual[places] = False
    if lost := with_lost_digits(values.distinct, values.counts):
        yield _Spot("lost-digits", values.name, counts=(("records", lost),))
    measured = judgement.meaning is Meaning.NUMBER and not has_domain
    if measured:
        yield from _of_measures(values.name, numbers[usual], values.counts[usual])
    far = farthest_decide(numbers[usual], values.counts[usual]) if measured else None
    if far is not None:
        yield _Spot("outliers", values.name, counts=(("records", far[0]), ("times", round(far[1]))))


def _of_measures(name: str, numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> Iterator[_Spot]:
    if groups := of_two_units(numbers, counts):
        yield _Spot("two-units", name, name, counts=(("below", groups[0]), ("above", groups[1])))
    if negative := below_zero(name, numbers, counts):
        yield _Spot("below-zero", name, counts=(("records", negative),))
    if unit := may_count_seconds(numbers):
        yield _Spot("seconds", name, unit)


def _of_days(values: Values) -> Iterator[_Spot]:
    records = days_for_nothing(values.distinct, values.counts) if values.kind is Kind.DATE else 0
    if records:
        yield _Spot("days-for-nothing", values.name, counts=(("records", records),))


def _of_labels(values: Values, judgement: Judgement) -> Iterator[_Spot]:
    if values.kind is not Kind.CATEGORICAL or judgement.meaning in (Meaning.IDENTIFIER, Meaning.FREE_TEXT):
        return
    texts = values.distinct.cast(pl.String).to_list()
    if labels := same_words(texts):
        yield _Spot("same-words", values.name, counts=(("labels", labels),))
    if records := mistyped(texts, values.counts):
        yield _Spot("mistyped", values.name, counts=(("records", records),))


_MOST_COMPARED = 100_000


def _of_spellings(values: Values, severity: Severity) -> Iterator[_Spot]:
    if values.kind is not Kind.CATEGORICAL or len(values.distinct) > _MOST_COMPARED:
        return
    variants = spelling_variants(values.distinct.cast(pl.String).to_list(), values.counts)
    if variants is not None:
        counts = (("labels", variants.labels), ("groups", len(variants.groups)), ("records", variants.records))
        yield _Spot("spellings", values.name, values.name, severity, counts)


def _of_identity(name: str, judgement: Judgement, severity: Severity) -> Iterator[_Spot]:
    if judgement.meaning in (Meaning.IDENTIFIER, Meaning.FREE_TEXT):
        found = "free-text" if judgement.meaning is Meaning.FREE_TEXT else "identifier"
        yield _Spot(found, name, name, severity, detail=judgement.reason)


def _of_meaning(name: str, judgement: Judgement, kind: Kind) -> Iterator[_Spot]:
    if kind is Kind.NUMERIC and judgement.is_code:
        yield _Spot("codes", name)
    if judgement.meaning is Meaning.ORDERED and kind is Kind.CATEGORICAL:
        yield _Spot("orders", name)


def _joined(spots: Iterable[_Spot]) -> Iterator[Finding]:
    """Make one finding of what is the same in several columns."""
    groups: dict[tuple[str, str, Severity], list[_Spot]] = {}
    for spot in spots:
        groups.setdefault((spot.name, spot.key, spot.severity), []).append(spot)
    for (name, key, severity), group in groups.items():
        counts = Counter[str]()
        for spot in group:
            counts.update(dict(spot.counts))
        columns = tuple(spot.column for spot in group)
        question, answers = _WORDING[name](columns, counts, key, group[0].detail)
        answers += (_as_it_is(name, columns),) if name in STOPPING else ()
        mark = key if name.endswith("missing-marks") else None
        yield Finding(name, columns, severity, question, answers, dict(counts), mark)


STOPPING = ("identifier", "free-text", "spellings")
"""Findings that stop a release, where they are severe, until somebody accepts them; reading asks before."""


def _as_it_is(name: str, columns: Sequence[str]) -> Answer:
    keys = [f"{name}:{column}" for column in columns]
    option = " ".join(f"--accept {quote(key)}=REASON" for key in keys)
    return Answer("Publish it so" if name == "spellings" else "Publish it", option, f"Schema(accept={keys})")


_Worded = tuple[str, tuple[Answer, ...]]


def _of_columns(columns: tuple[str, ...], setting: str) -> str:
    """Write a setting of each column as it is typed."""
    return " ".join(f"--set {quote(f'column.{name}.{setting}')}" for name in columns)


def _word_reading(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    short = detail.removeprefix(f"column {columns[0]!r} ")
    return short[0].upper() + short[1:] + ("" if short.endswith((".", "?", ")")) else "."), ()


def _word_strays(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    cells = counted(counts["records"], "cell")
    # V57 beside 428 is a code.
    is_code = are_codes(pl.Series(key.split("\n"))) and not any(names_a_quantity(name_in_words(one)) for one in columns)
    ways = (
        Answer("Count them as missing", _of_columns(columns, "strays=missing"), 'Attribute(strays="missing")'),
        Answer("Keep all as text", f"--categorical {quote(','.join(columns))}", 'Attribute(kind="categorical")'),
    )
    question = f"All values are numbers or dates, but those of {cells}. Do these stand for a missing value?"
    return question, ways[::-1] if is_code else ways


def _word_marks(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    shown = f"{key!r}" if key else "A blank text"
    question = f"{shown} seems to stand for a missing value ({counted(counts['records'], 'cell')})."
    return question, (Answer("Read it as missing", f"--set {quote(f'source.missing={key}')}", f"missing=[{key!r}]"),)


def _word_possible_marks(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    question, _ = _word_marks(columns, counts, key, detail)
    options = _of_columns(columns, f"missing={key}")
    answer = Answer("Read it as missing there", options, f"Attribute(missing=[{key!r}])")
    return question.replace("seems to stand", "may stand"), (answer,)


def _word_sentinels(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    question = f"Numbers far from all others may stand for a missing value ({counted(counts['records'], 'cell')})."
    options = _of_columns(columns, "missing=NUMBER")
    return question, (Answer("Read such a number as missing", options, "Attribute(missing=[...])"),)


def _word_outliers(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    many = counted(counts["records"], "record")
    answer = Answer("Give the range", f"--set column.{columns[0]}.domain=[LOW,HIGH]", "Attribute(domain=(low, high))")
    return f"The farthest values ({many}) decide the range, and losses are shares of it.", (answer,)


def _word_spellings(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    question = (
        f"{counted(counts['labels'], 'label')} may be {counts['groups']:,}: some differ in capitals, blanks or form "
        f"alone ({counted(counts['records'], 'record')}). Are they the same?"
    )
    form = _of_columns(columns, "spellings=merge")
    return question, (Answer("Publish them in one form", form, 'Attribute(spellings="merge")'),)


def _word_identity(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    name = columns[0]
    return f"It looks like an identifier: {detail}.", (
        Answer("Remove it", removal(name), f"Schema(identifying=[{name!r}])"),
    )


def removal(name: str) -> str:
    """Return the option that removes a column."""
    return f"--identifying {quote(name)}"


def _word_free_text(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    question, answers = _word_identity(columns, counts, key, detail)
    return question.replace("an identifier", "free text"), answers


def _word_codes(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    listed = quote(",".join(columns))
    return "The numbers seem to be codes. As numbers they are published as ranges.", (
        Answer("They are codes", f"--categorical {listed}", 'Attribute(kind="categorical")'),
        Answer("They are numbers", _of_columns(columns, "kind=numeric"), 'Attribute(kind="numeric")'),
    )


def _word_orders(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    path = f"column.{columns[0]}"
    return "The labels seem to have an order. As categories they are published as sets, which may skip a step.", (
        Answer(
            "Cut them in their order, which sfumato init writes down",
            f"--set {path}.kind=ordered --set {path}.domain=LOWEST,NEXT,HIGHEST",
            'Attribute(kind="ordered", domain=(lowest, next, highest))',
        ),
    )


def _word_way(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    return detail[:1].upper() + detail[1:], ()


def _word_two_units(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    return (
        f"Two groups of numbers lie apart ({counted(counts['below'], 'record')} below, {counts['above']:,} above), as "
        "where two units are mixed. Write all in one unit."
    ), ()


def _word_days_for_nothing(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    question = f"Days far from all others may stand for a missing value ({counted(counts['records'], 'cell')})."
    options = _of_columns(columns, "missing=TEXT")
    return question, (Answer("Read such a day as missing", options, "Attribute(missing=[...])"),)


_CELLS = {
    "markup": "Tags or entities of HTML stand in {}. They are published as they are.",
    "lost-letters": "Letters were lost, or read in a wrong encoding, in {}. Write the table again.",
    "formulas": "An equals sign or an apostrophe begins {}, as spreadsheets keep codes.",
    "exponents": "Powers of ten stand in {}, as spreadsheets shorten long numbers. Digits may be lost.",
    "mixed-letters": "Latin and Cyrillic letters stand in one word, in {}. They look alike, and differ.",
    "other-digits": "Digits of another script stand in {}. As numbers they are read like usual digits.",
    "quotes": "A quotation mark stands alone in {}. A field may have been cut there.",
    "controls": "Control characters stand in {}, as in damaged files.",
    "damaged-ranges": "A spreadsheet may have made dates, such as 10-Oct, of other texts in {}.",
    "infinite": "Numbers without an end stand in {}. A release needs other ones, or none.",
    "lost-digits": "Numbers of 16 digits or more end in zeros, in {}. A spreadsheet may have rounded them.",
    "below-zero": "Numbers below zero stand in {}, though the name is that of something that is not.",
    "measures": "A number stands in nearly every text, in {}. They stay text; numbers need one unit and one form.",
    "periods": "Days, times, weeks or other parts of a year may be meant in {}. They are read as they are written.",
    "parts": "Numbers may be those of rooms, sections or hours, in {}. As numbers, 3.1 and 3.10 are the same.",
    "mistyped": "A rare label differs by one letter from a frequent one, in {}. Are they the same?",
}
"""What is said of some cells."""


_CELL_ANSWERS = {
    "infinite": (("Count them as missing", 'missing=["inf","-inf"]', 'Attribute(missing=["inf", "-inf"])'),),
    "measures": (("Read them as numbers", "unit=UNIT", "Attribute(unit=...)"),),
    "periods": (("Read them as days or times", "dates=FORM", "Attribute(dates=...)"),),
    "parts": (("Keep them as codes", "kind=categorical", 'Attribute(kind="categorical")'),),
}
"""What may be done about some of them."""


def _word_cells(name: str) -> Callable[[tuple[str, ...], Counter[str], str, str], _Worded]:
    def word(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
        answers = (
            Answer(effect, _of_columns(columns, setting), python)
            for effect, setting, python in _CELL_ANSWERS.get(name, ())
        )
        return _CELLS[name].format(counted(counts["records"], "cell")), tuple(answers)

    return word


def _word_same_words(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    return (
        f"{counted(counts['labels'], 'label')} may say the same as another one, as y and yes do. Write them in one way."
    ), ()


def _word_seconds(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    unit = f"{key} since 1970-01-01"
    return f"The numbers may count {key} since 1970. As numbers they are published as ranges.", (
        Answer(f"They are {key}", _of_columns(columns, f"dates={unit}"), f"Attribute(dates={unit!r})"),
    )


_WORDING: dict[str, Callable[[tuple[str, ...], Counter[str], str, str], _Worded]] = {
    "reading": _word_reading,
    "strays": _word_strays,
    "missing-marks": _word_marks,
    "possible-missing-marks": _word_possible_marks,
    "sentinels": _word_sentinels,
    "outliers": _word_outliers,
    "spellings": _word_spellings,
    "identifier": _word_identity,
    "free-text": _word_free_text,
    "codes": _word_codes,
    "orders": _word_orders,
    "way": _word_way,
    "two-units": _word_two_units,
    "days-for-nothing": _word_days_for_nothing,
    "same-words": _word_same_words,
    "seconds": _word_seconds,
    **{name: _word_cells(name) for name in _CELLS},
}
NAMES = (*_WORDING, "source", "empty-rows", "totals", "header", "equal-records", "copies", "turned", "notes")
"""What findings are called."""


# What is found in rows.


def _of_rows(table: RawTable, profiles: Sequence[Profile]) -> Iterator[Finding]:
    """Say how the source was read; count records without any value, and records that seem to add up the others."""
    yield from (Finding("source", (), Severity.REMARK, remark) for remark in table.remarks)
    profiles = [profile for profile in profiles if not profile.is_nested]
    empty = _empty_records(table, [profile.values.name for profile in profiles])
    if empty:
        yield Finding(
            "empty-rows", (), Severity.REMARK,
            f"{counted(empty, 'record')} have no value in any column, and would count as people.",
            counts={"records": empty},
        )  # fmt: skip
    totals = sum(_totals(profile.values) for profile in profiles if profile.values.kind is Kind.CATEGORICAL)
    if totals := max(totals, _sums(table, profiles)):
        yield Finding(
            "totals", (), Severity.REMARK,
            f"{counted(totals, 'record')} seem to add up the others, and would count as people.",
            counts={"records": totals},
        )  # fmt: skip
    if table.height < len(profiles) / _TURNED:
        question = f"Of {len(profiles):,} columns there are {counted(table.height, 'record')}. Is each person a column?"
        yield Finding("turned", (), Severity.REMARK, question)
    for name in (profile.values.name for profile in profiles if _may_be_notes(profile.values)):
        filled = np.flatnonzero(with_missing(table.texts(name), table.reading_of(name)).is_not_null().to_numpy())
        if filled[-1] - filled[0] == len(filled) - 1 and (filled[0] == 0 or filled[-1] == table.height - 1):
            question = "Texts stand beside the first records alone, as a legend does. Are they values?"
            question = (
                question if filled[0] == 0 else "Texts stand in the last records alone, as notes do. Are they values?"
            )
            yield Finding("notes", (name,), Severity.REMARK, question, counts={"records": len(filled)})
    values = [profile.values for profile in profiles]
    yield from _of_the_whole(table, values)


_TURNED, _MOST_NOTES, _FEWEST_BESIDE_NOTES = 3, 20, 20


def _may_be_notes(values: Values) -> bool:
    """Tell whether few of many records have a text, of several words."""
    few = 0 < values.known <= min(_MOST_NOTES, values.records // 3) and values.records >= _FEWEST_BESIDE_NOTES
    is_text = values.kind is Kind.CATEGORICAL
    return few and is_text and values.distinct.cast(pl.String).str.contains(r"\S\s+\S").all()


_NO_HEADER = "--set source.header=false --set source.columns=NAMES"


def _of_the_whole(table: RawTable, values: Sequence[Values]) -> Iterator[Finding]:
    """Say what columns have in common, and whether the names may be a record."""
    header = names_that_are_values([(each.name, each.distinct) for each in values]) if table.is_text else 0
    if header and header >= max(2, len(values) // 3):
        yield Finding(
            "header", (), Severity.REMARK,
            f"The first row may be a record: {counted(header, 'name')} of a column could be a value of it.",
            (Answer("There are no names", _NO_HEADER, "Reading(header=False, columns=[...])"),),
            {"columns": header},
        )  # fmt: skip
    if equal := equal_records((table.texts(each.name) for each in values), values, table.height):
        yield Finding(
            "equal-records", (), Severity.REMARK,
            f"{counted(equal, 'record')} equal an earlier one in every column. Does somebody stand there twice?",
            counts={"records": equal},
        )  # fmt: skip
    for names in copies(values, table.texts):
        yield Finding(
            "copies", names, Severity.REMARK,
            "Each value of one goes with one value of the other. What is published of one tells the other.",
        )  # fmt: skip


def _empty_records(table: RawTable, names: Sequence[str]) -> int:
    missing = None
    for name in names:
        column = table.texts(name)
        none = column.is_null()
        if column.dtype == pl.String or isinstance(column.dtype, (pl.Categorical, pl.Enum)):
            none = none | column.cast(pl.String).is_in(list(table.reading_of(name).missing)).fill_null(True)
        missing = none if missing is None else missing & none
        if not missing.any():
            return 0
    return 0 if missing is None else int(missing.sum())


def _totals(values: Values) -> int:
    """Count the records whose label says total, where hardly any has it."""
    if len(values.distinct) > _MOST_COMPARED:
        return 0
    texts, words = values.distinct.cast(pl.String), values_that_mean("totals")
    letters = texts.str.to_lowercase().str.replace_all(r"[\s_.,;:!-]+", " ").str.strip_chars()
    likely = letters.is_in(list(words)).arg_true().to_list()
    found = [place for place in likely if folded_label(texts[place]) in words]
    records = int(values.counts[found].sum())
    return records if 0 < records <= max(3, values.known // 100) else 0


_MOST_LIKELY_SUMS = 0.25


def _sums(table: RawTable, profiles: Sequence[Profile]) -> int:
    """Count the records whose numbers add up those above: the last one, and those without a label that others have."""
    of_numbers = [each for each in profiles if each.values.kind is Kind.NUMERIC and len(each.values.distinct) > 1]
    if not of_numbers or table.height <= _FEWEST_ABOVE_SUMS:
        return 0
    likely, words = np.zeros(table.height, dtype=np.bool_), [*values_that_mean("totals")]
    for each in profiles:
        labels = each.values.distinct if each.values.kind is Kind.CATEGORICAL else pl.Series([], dtype=pl.String)
        said = labels.cast(pl.String).filter(labels.cast(pl.String).str.strip_chars().str.to_lowercase().is_in(words))
        is_rare = each.missing <= _MOST_LIKELY_SUMS * table.height and each.values.kind is not Kind.NUMERIC
        if is_rare and (each.missing or len(said)):
            texts = with_missing(table.texts(each.values.name), table.reading_of(each.values.name))
            likely |= (texts.is_null() | texts.cast(pl.String).is_in(said.implode()).fill_null(False)).to_numpy()
    likely[-1] |= all(_is_half(table, each.values) for each in of_numbers)
    if not likely.any():
        return 0
    columns = [_numbers_of(table, each.values.name) for each in of_numbers]
    return rows_that_add_up(columns, np.flatnonzero(likely).tolist())


def _numbers_of(table: RawTable, name: str) -> NDArray[np.float64]:
    values, kind = table.typed(name)
    values = values if kind is Kind.NUMERIC else table.texts(name).cast(pl.String)
    return values.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()


_FEWEST_ABOVE_SUMS = 4


def _is_half(table: RawTable, values: Values) -> bool:
    """Tell whether the last of some numbers is as much as all others, or there is none."""
    last = table.some(values.name, table.height - 1, 1).cast(pl.String).cast(pl.Float64, strict=False)[0]
    return last is None or bool(np.isclose(2 * last, np.dot(values.distinct.cast(pl.Float64), values.counts)))


_AS_WRITTEN = ValueReading(missing=("",), strip=True, is_text=True)
"""How columns that are published unchanged are read, to judge them."""


class OpenFindings(SchemaError):
    """Severe findings that nobody has answered; its ``findings`` are those of its problems that an answer settles."""

    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, findings: Sequence[Finding], others: Mapping[str, str]) -> Self:
        """Put what no answer settles, of each column, before findings; what removes a column answers all about it."""
        error = cls(*others.values(), *(finding.problem() for finding in findings))
        error.findings = () if others else tuple(findings)
        error.answers = {name: removal(name) for name in others}
        for finding in sorted(findings, key=lambda one: one.name == "spellings"):
            error.answers = {**dict.fromkeys(finding.columns, finding.answers[0].option), **error.answers}
        return error


class ReadTable(Protocol):
    """A table whose columns have roles, in memory or not."""

    @property
    def schema(self) -> Schema:
        """The roles, and what was answered."""
        ...

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kind of every quasi-identifying and sensitive column."""
        ...

    @property
    def passing(self) -> Collection[str]:
        """Columns without a role of their own that are published."""
        ...

    @property
    def height(self) -> int:
        """Number of records."""
        ...

    def look(self, name: str) -> Look:
        """Return what a column looks like."""
        ...

    def counted(self, name: str) -> tuple[pl.Series, NDArray[np.int64]]:
        """Return the values of a sensitive column, rising, and how many records have each."""
        ...

    def unchanged(self, name: str) -> pl.Series:
        """Return an insensitive column, or enough of it to judge it."""
        ...


def wrong_answers(accept: Mapping[str, str] | None) -> Iterator[str]:
    """Name the answers to what is no finding."""
    for key in accept or ():
        if key.partition(":")[0] not in NAMES:
            yield f"accept: {key!r} answers no finding; write one of {', '.join(NAMES)}, a colon and a column"


def severe_findings(table: ReadTable, promised: Collection[str]) -> tuple[Finding, ...]:
    """Return what stops a release of a table, unless it was answered.

    `promised`: sensitive columns of which a model counts the values. Cost O(d) for the distinct values of sensitive
    texts; O(n) for an insensitive column that looks as if it identified people.
    """
    schema, profiles = table.schema, []
    for name in schema.insensitive:
        if name not in table.passing and (table.look(name).sorts or table.look(name).is_mostly_distinct):
            profiles.append(profile_of(table.unchanged(name), _AS_WRITTEN))
    for name in schema.sensitive:
        kind = table.kinds[name]
        if kind is Kind.CATEGORICAL or (kind is Kind.NUMERIC and sort_by_name(name) is not None):
            profiles.append(profile_of_typed(Values(name, *table.counted(name), kind, table.height)))
    return stopping(profiles, schema, promised)


def stopping(
    profiles: Sequence[Profile], schema: Schema, promised: Collection[str] | None = None
) -> tuple[Finding, ...]:
    """Return what stops a release of columns and nobody has answered; see :func:`judged`."""
    found = judged(profiles, schema, promised)[1]
    return tuple(each for each in found if each.name in STOPPING and each.severity is Severity.SEVERE)


def remarks_on(
    columns: Iterable[tuple[EncodedAttribute, NDArray[np.integer]]], schema: Schema, promised: Collection[str]
) -> tuple[Finding, ...]:
    """Return what stops nothing, of quasi-identifying and sensitive columns.

    `columns`: what the codes of each mean, and how many records have each code, integers (cardinality,). Cost O(d log
    d) for the d values of each.
    """
    profiles = [profile_of_typed(_cell_values(attribute, counts)) for attribute, counts in columns]
    return tuple(each for each in judged(profiles, schema, promised)[1] if each.severity is Severity.REMARK)


def _cell_values(attribute: EncodedAttribute, counts: NDArray[np.integer]) -> Values:
    occurring = np.flatnonzero(counts[: attribute.size])
    labels = attribute.labels.gather(occurring).alias(attribute.name)
    if attribute.kind is Kind.NUMERIC:
        labels = labels.cast(pl.Float64)
        whole = labels.cast(pl.Int64, strict=False)
        # What is beyond 64 bits has no whole number.
        labels = whole if (whole.cast(pl.Float64) == labels).fill_null(False).all() else labels
    elif attribute.kind is Kind.DATE:
        labels = labels.str.to_date("%Y-%m-%d", strict=False)
    elif attribute.kind is Kind.BOOLEAN:
        labels = labels == "true"
    order = labels.arg_sort()
    counted = counts[occurring].astype(np.int64)[order.to_numpy()]
    return Values(attribute.name, labels.gather(order), counted, attribute.kind, int(counts.sum()))


def remarks_in_short(findings: Iterable[Finding]) -> str:
    """Name the findings that stop nothing, and their columns, on one line."""
    columns: dict[str, list[str]] = {}
    for finding in (each for each in findings if each.severity is Severity.REMARK):
        columns.setdefault(finding.name, []).extend(finding.columns)
    return ", ".join(f"{name} ({', '.join(dict.fromkeys(listed))})" for name, listed in columns.items())
