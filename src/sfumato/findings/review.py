"""The review of a table: every column looked at once, and one list of questions with their answers."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from shlex import quote
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SchemaError
from sfumato.findings.meaning import Judgement, Meaning, Values, judge_meaning
from sfumato.findings.words import names_of, values_that_mean
from sfumato.hierarchy.tree import HierarchySpecification
from sfumato.numbers import counted
from sfumato.progress import Progress, silent
from sfumato.table.columns import (
    TypedColumn,
    ValueReading,
    folded_label,
    question_among_days,
    question_beside_days,
    read_attribute,
    strays,
    way_of,
)
from sfumato.table.distinct import repeats
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.identification import Look, Sort, look_of, name_in_words, sort_by_name
from sfumato.table.schema import Attribute, Kind, Role, Schema
from sfumato.table.sources.protocol import Reading
from sfumato.table.written_forms import PLAIN

if TYPE_CHECKING:
    from sfumato.notebook import Markup
    from sfumato.table.raw_table import RawTable

# Values that are not what they seem: marks of a missing value, sentinels, spellings of one label, far outliers.


# Texts that stand for a missing value.


@dataclass(frozen=True)
class Mark:
    """A value that seems to stand for a missing one, and whether that is plain."""

    value: str
    records: int
    sure: bool


def missing_marks(texts: pl.Series, counts: NDArray[np.int64], *, numeric: bool) -> list[Mark]:
    """Find texts that stand for a missing value among distinct ones.

    `texts`: string (d,): distinct. `counts`: int64 (d,): records that have each. `numeric`: whether all texts but such
    marks are numbers or dates: then a word among them can be nothing else.
    """
    found, marks = [], values_that_mean("missing")
    # What begins with a digit marks nothing.
    every, odd = texts, ~texts.str.contains(r"^[+-]?[0-9]")
    texts, counts = texts.filter(odd), counts[odd.to_numpy()]
    plainly = texts.str.normalize("NFKC").str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
    likely = plainly.is_in(["", *marks]).to_numpy()
    for text, count in zip(texts.filter(likely).to_list(), counts[likely].tolist(), strict=True):
        plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
        if plain == "" or plain in marks:
            sure = numeric or plain not in values_that_mean("maybe_missing")
            if sure or not _has_company(plain, every):
                found.append(Mark(text, count, sure))
    return found


def _has_company(plain: str, texts: pl.Series) -> bool:
    """Tell whether other labels are as short as a mark, so that it may be one of them: X beside Y and Z."""
    return len(plain) <= 2 and bool((texts.str.len_chars() <= 2).sum() >= 3)


# Numbers that stand for a missing value.


_NEGATIVE = {-1, -2, -3, -4, -5, -6, -7, -8, -9, -66, -77, -88, -99, -666, -777, -888, -999, -9999, -99999, -1000}
_STEPS, _ALONE = 3, 5
"""Usual steps that lie between a sentinel and the other values, and ranges of theirs where they are few."""


def sentinels(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> list[int]:
    """Return the places of numbers that seem to stand for a missing value, such as 999, 99 or -9.

    A negative one counts where all other values are zero or more; one of nines or eights where a gap parts it from all
    others. Rising numbers (d,); cost O(d).
    """
    if len(numbers) < 3:
        return []
    found = []
    rest = numbers >= 0
    if rest.sum() >= 2:
        negative = np.flatnonzero(~rest)
        # A -1 beside 0 and 1 may be a step of a scale.
        is_scale = len(numbers) <= 7 and numbers[~rest].min(initial=0) >= -3
        if 0 < len(negative) <= 4 and not is_scale and all(float(one) in _NEGATIVE for one in numbers[~rest]):
            found += negative.tolist()
    usual = np.flatnonzero(rest if found else np.ones(len(numbers), dtype=bool))
    while len(usual) >= 3 and _stands_alone(numbers, usual, counts):
        found.append(int(usual[-1]))
        usual = usual[:-1]
    return sorted(found)


def _stands_alone(numbers: NDArray[np.float64], usual: NDArray[np.int64], counts: NDArray[np.int64]) -> bool:
    """Tell whether the highest number is one of nines, eights or sevens, far above all others."""
    top, below = numbers[usual[-1]], numbers[usual[-2]]
    digits = f"{top:.0f}"
    if top != round(top) or len(digits) < 2 or not re.fullmatch(r"9+|8+|7+|9+[6-8]", digits):
        return False
    if len(digits) == 2 and below > 60:
        return False  # an age of 88 or 99
    body = numbers[usual[:-1]]
    spread = body[-1] - body[0]
    gap = top - below
    if len(body) == 1:
        return False
    steps = np.diff(body)
    usual_step = float(np.median(steps)) if len(steps) else 1.0
    return bool(gap >= max(_STEPS * usual_step, 2, spread) and (len(body) >= 5 or gap >= _ALONE * spread))


# Spellings of one label.


@dataclass(frozen=True)
class Variants:
    """Labels that differ from another one in capitals, blanks, invisible characters or forms of letters alone."""

    groups: tuple[tuple[str, ...], ...]
    records: int

    @property
    def labels(self) -> int:
        """Labels that are a spelling of another one."""
        return sum(map(len, self.groups))


def spelling_variants(texts: Sequence[str], counts: NDArray[np.int64]) -> Variants | None:
    """Find distinct labels that are spellings of one; None where there are none. Cost O(bytes)."""
    groups: dict[str, list[int]] = {}
    for place in _much_alike(pl.Series(texts, dtype=pl.String)):
        groups.setdefault(folded_label(texts[place]), []).append(place)
    several = [places for places in groups.values() if len(places) > 1]
    if not several:
        return None
    records = sum(int(counts[places].sum() - counts[places].max()) for places in several)
    return Variants(tuple(tuple(texts[place] for place in places) for places in several), records)


def _much_alike(texts: pl.Series) -> list[int]:
    """Return the places of texts whose letters and digits another one has, too: no others can be spellings of one."""
    letters = texts.str.normalize("NFKC").str.to_lowercase().str.replace_many(["ß", "ς"], ["ss", "σ"])
    alike = letters.str.replace_all(r"[^\p{L}\p{N}\p{M}]", "").is_duplicated()
    return alike.arg_true().to_list()


# Numbers that decide a range alone.


FARTHEST = 0.001
"""Share of the records whose farthest values may not decide a range."""
DECIDES = 2.0
"""Times the range without them that the whole range is, from which on they decide it."""


def farthest_decide(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[int, float] | None:
    """Count the records with the farthest values, and say how many times they widen the range; None if they do not.

    At most a thousandth of the records, at least one, from both ends. Rising numbers (d,); cost O(d).
    """
    total = int(counts.sum())
    most = max(1, int(FARTHEST * total))
    if total < 20 or len(numbers) < 5:
        return None
    low, high, left = 0, len(numbers) - 1, most
    while low < high:
        at_low, at_high = numbers[low + 1] - numbers[low], numbers[high] - numbers[high - 1]
        take_low = at_low > at_high
        count = int(counts[low if take_low else high])
        if count > left:
            break
        left -= count
        low, high = (low + 1, high) if take_low else (low, high - 1)
    inner = numbers[high] - numbers[low]
    whole = numbers[-1] - numbers[0]
    if left == most or inner <= 0 or whole < DECIDES * inner:
        return None
    return most - left, float(whole / inner)


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
        for title, severity in (("To answer before a release", Severity.SEVERE), ("To know", Severity.REMARK)):
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

        title = "To answer before a release" if severity is Severity.SEVERE else "To know"
        some = [finding for finding in self.findings if finding.severity is severity]
        return notebook_section(title, lines(f"{one.where}{one.question}" for one in some))


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

    @property
    def few_numbers(self) -> tuple[float, ...] | None:
        """The values, where they are a few whole numbers that other columns may have, too."""
        if self.values.kind is not Kind.NUMERIC or not 4 <= len(self.values.distinct) <= 11:
            return None
        return tuple(float(value) for value in self.values.distinct.to_list())


def _profile(table: RawTable, name: str, declared: Attribute) -> Profile:
    return profile_of(table.texts(name), table.reading_of(name), declared)


def profile_of(column: pl.Series, reading: ValueReading, declared: Attribute = Attribute()) -> Profile:  # noqa: B008
    """Read a column that is as its source has it, or as it is published unchanged. Cost O(n)."""
    name = column.name
    plain = _plain_numbers(column, reading, declared)
    if plain is not None:
        return plain
    counted_values = column.to_frame("v").group_by("v").agg(pl.len().alias("c")).drop_nulls("v")
    # Whatever the order of the records, values are looked at in one order.
    counted_values = counted_values.sort(pl.col("v").cast(pl.String), "c")
    values, counts = counted_values["v"], counted_values["c"].cast(pl.Int64).to_numpy()
    if values.dtype != pl.String and not isinstance(values.dtype, (pl.Categorical, pl.Enum)):
        typed, question, hardly_text = _asked(values.alias(name), declared, reading)
        found = _values(name, typed.values, counts, typed.kind, len(column))
        kind = None if question is not None else typed.kind
        return Profile(found, column.null_count(), (), question, 0, kind, "", hardly_text)
    texts = values.cast(pl.String)
    present = ~texts.is_in(list(reading.missing))
    texts, counts = texts.filter(present).alias(name), counts[present.to_numpy()]
    return _profile_of_texts(texts, counts, len(column), reading, declared)


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
    return Profile(_values(column.name, typed.values, None, typed.kind, len(column)), missing, (), None, 0, typed.kind)


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
    lost, lost_key = 0, ""
    if stray is not None:
        fits = stray.way.read(rest).is_not_null()
        lost = int(rest_counts[~fits.to_numpy()].sum())
        lost_key = "\n".join(sorted(rest.filter(~fits)))
        rest, rest_counts = rest.filter(fits), rest_counts[fits.to_numpy()]
    typed, question, hardly_text = _asked(rest.alias(name), declared, reading)
    numeric = typed.kind in (Kind.NUMERIC, Kind.DATE)
    sure = [mark for mark in marks if mark.sure or numeric]
    if len(sure) < len(marks):
        unsure = texts.is_in([mark.value for mark in marks if mark not in sure])
        rest = pl.concat([rest, texts.filter(unsure)])
        rest_counts = np.concatenate([rest_counts, counts[unsure.to_numpy()]])
        typed = typed._replace(values=rest.alias(name))
    values = _values(name, typed.values, rest_counts, typed.kind, records)
    kind = None if question is not None or lost or (numeric and sure) else typed.kind
    return Profile(values, records - known, tuple(marks), question, lost, kind, lost_key, hardly_text)


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
        known = values.is_not_null().to_numpy()
        numbers = values.drop_nulls().to_numpy()
        weights = None if counts is None else counts[known]
        order = None if weights is None else np.argsort(numbers, kind="stable")
        rising = np.sort(numbers) if order is None else numbers[order]
        first = np.flatnonzero(np.append(True, rising[1:] != rising[:-1])) if len(rising) else np.empty(0, np.int64)
        ends = np.append(first[1:], len(rising))
        together = ends - first
        if weights is not None and order is not None and len(first):
            together = np.add.reduceat(weights[order], first)
        return Values(name, pl.Series(name, rising[first], dtype=values.dtype), together, kind, records)
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
        *_of_spellings(values, Severity.SEVERE if counts_values else Severity.REMARK),
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
    measured = judgement.meaning is Meaning.NUMBER and not has_domain
    far = farthest_decide(numbers[usual], values.counts[usual]) if measured else None
    if far is not None:
        yield _Spot("outliers", values.name, counts=(("records", far[0]), ("times", round(far[1]))))


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
        if name in STOPPING:
            answers = (*answers, _as_it_is(name, columns))
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
    listed = quote(",".join(columns))
    cells = counted(counts["records"], "cell")
    return f"All values are numbers or dates, but those of {cells}. Do these stand for a missing value?", (
        Answer("Count them as missing", _of_columns(columns, "strays=missing"), 'Attribute(strays="missing")'),
        Answer("Keep all as text", f"--categorical {listed}", 'Attribute(kind="categorical")'),
    )


def _word_marks(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    shown = f"{key!r}" if key else "A blank text"
    question = f"{shown} seems to stand for a missing value ({counted(counts['records'], 'cell')})."
    return question, (Answer("Read it as missing", f"--set {quote(f'source.missing={key}')}", f"missing=[{key!r}]"),)


def _word_possible_marks(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    question, _ = _word_marks(columns, counts, key, detail)
    options = _of_columns(columns, f"missing={key}")
    return question.replace("seems to stand", "may stand"), (
        Answer("Read it as missing there", options, f"Attribute(missing=[{key!r}])"),
    )


def _word_sentinels(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    question = f"Numbers far from all others may stand for a missing value ({counted(counts['records'], 'cell')})."
    options = _of_columns(columns, "missing=NUMBER")
    return question, (Answer("Read such a number as missing", options, "Attribute(missing=[...])"),)


def _word_outliers(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    question = (
        f"The farthest values ({counted(counts['records'], 'record')}) decide the range, and losses are shares of it."
    )
    return question, (
        Answer("Give the range", f"--set column.{columns[0]}.domain=[LOW,HIGH]", "Attribute(domain=(low, high))"),
    )


def _word_spellings(columns: tuple[str, ...], counts: Counter[str], key: str, detail: str) -> _Worded:
    question = (
        f"{counted(counts['labels'], 'label')} may be {counts['groups']:,}: some differ in capitals, blanks or form "
        f"alone ({counted(counts['records'], 'record')}). Are they the same?"
    )
    return question, (
        Answer("Publish them in one form", _of_columns(columns, "spellings=merge"), 'Attribute(spellings="merge")'),
    )


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
}
NAMES = (*_WORDING, "source", "empty-rows", "totals")
"""What findings are called."""


# What is found in rows.


def _of_rows(table: RawTable, profiles: Sequence[Profile]) -> Iterator[Finding]:
    """Say how the source was read; count records without any value, and records that seem to add up the others."""
    yield from (Finding("source", (), Severity.REMARK, remark) for remark in table.remarks)
    empty = _empty_records(table)
    if empty:
        yield Finding(
            "empty-rows", (), Severity.REMARK,
            f"{counted(empty, 'record')} have no value in any column, and would count as people.",
            counts={"records": empty},
        )  # fmt: skip
    totals = sum(_totals(profile.values) for profile in profiles if profile.values.kind is Kind.CATEGORICAL)
    if totals:
        yield Finding(
            "totals", (), Severity.REMARK,
            f"{counted(totals, 'record')} seem to add up the others, and would count as people.",
            counts={"records": totals},
        )  # fmt: skip


def _empty_records(table: RawTable) -> int:
    missing = None
    for name in table.names:
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
