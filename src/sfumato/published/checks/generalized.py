"""Recounting a release from its published data alone. Nothing here knows which algorithm made it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import group_records
from sfumato.classes.statistics import (
    STARRED,
    ClassStatistics,
    class_statistics,
    counted_people,
    counted_statistics,
    largest_of,
)
from sfumato.errors import VerificationError, raise_all
from sfumato.kernels.grouping import first_records
from sfumato.models.protocol import Check as Check
from sfumato.models.protocol import Outcome as Outcome
from sfumato.models.protocol import (
    PrivacyModel,
    WholeTableModel,
    of_population,
    promise_words,
    says,
    speak_of,
    unknown_original,
    unknown_population,
)
from sfumato.numbers import counted, percent, plural
from sfumato.parallel import each, worth_starting
from sfumato.published.checks.people import ATTESTED, NO_STEP, PeopleFound, WishesFound, attested_checks, wishes_found
from sfumato.published.protocol import Roles
from sfumato.recoding.notation import STAR
from sfumato.table.distinct import FEW, as_categories, private_categorical, texts_of
from sfumato.table.encoding import EncodedAttribute, encode
from sfumato.table.person_keys import STEPS, STEPS_OF_L, steps_of
from sfumato.table.reading import read_written
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table

if TYPE_CHECKING:
    from sfumato.published.checks.population import Register

# The published values of each class as numbers, for models of single values.


def numbered_values(columns: Sequence[pl.Series], class_of: NDArray[np.int32], count: int) -> NDArray[np.int32]:
    """Give each class's published values numbers, int32 (c, q): equal texts one, missing its own; −1 is ``*``."""
    firsts = first_records(class_of, count)
    return np.column_stack([_numbers(column.gather(firsts)) for column in columns]).reshape(count, len(columns))


def _numbers(labels: pl.Series) -> NDArray[np.int32]:
    texts = labels.cast(pl.String)
    numbers = texts.cast(private_categorical()).to_physical().cast(pl.Int64) + 1
    values = numbers.fill_null(0).to_numpy().astype(np.int32)
    return np.where(texts.eq_missing(STAR).to_numpy(), np.int32(STARRED), values).astype(np.int32)


Attested = Literal["attested"]

LONG_TEXT = 16
"""From this many bytes on, comparing the texts of a column is faster than numbering them."""


@dataclass(frozen=True)
class Verification:
    """Every promise of a release, recounted.

    * `records`, `classes`: published records, and the groups of records that were judged.
    * `unit`: what the groups are called.
    * `roles`: the role of every published column, as the release itself says; None if no columns were judged.
    * `people`: the people of the classes, where records of one person are known to be.
    * `wishes`: what classes promise to those who wish for a k, or an l, of their own.
    * `uncovered`: what no promise covers, such as sensitive columns without a model.
    """

    checks: tuple[Check, ...]
    records: int
    classes: int
    unit: str = "equivalence class"
    roles: Roles | None = None
    people: PeopleFound | None = None
    wishes: tuple[WishesFound, ...] = ()
    uncovered: tuple[Uncovered, ...] = ()

    @property
    def ok(self) -> bool:
        """Tell whether anything is promised, every required promise was recounted and holds, and nothing is broken."""
        return all(
            check.outcome is Outcome.HOLDS or (check.outcome is Outcome.UNDECIDABLE and not check.required)
            for check in self.checks
        )

    def without_people(self) -> Verification:
        """Return the edition of somebody who cannot tell who is who: no promise is said to hold."""
        checks = tuple(
            Check(check.promise, Outcome.UNDECIDABLE, detail=ATTESTED, required=False) for check in self.checks
        )
        wishes = tuple(replace(each, kept=None) for each in self.wishes)
        bare = tuple(each.without_counts() for each in self.uncovered)
        return replace(self, checks=checks, people=None, wishes=wishes, uncovered=bare)

    def without_population(self) -> Verification:
        """Return the edition of somebody who has the published records alone: of others, no promise is said to hold."""
        return replace(self, checks=tuple(_without_others(check) for check in self.checks))

    def raise_if_broken(self) -> None:
        """Raise VerificationError naming every broken promise."""
        raise_all(
            VerificationError, (_check_in_words(check) for check in self.checks if check.outcome is Outcome.BROKEN)
        )

    def raise_unless_ok(self) -> None:
        """Raise VerificationError naming every promise that is broken or left undecided by the published data."""
        undecided = (Outcome.BROKEN, Outcome.UNDECIDABLE)
        raise_all(
            VerificationError,
            (_check_in_words(check) for check in self.checks if check.required and check.outcome in undecided),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "ok": self.ok,
            "records": self.records,
            plural(self.unit.rpartition(" ")[2]): self.classes,
            **({"people": self.people.to_dict()} if self.people else {}),
            **({"wishes": [each.to_dict() for each in self.wishes]} if self.wishes else {}),
            **({"roles": self.roles.to_dict()} if self.roles else {}),
            **({"uncovered": [each.to_dict() for each in self.uncovered]} if self.uncovered else {}),
            "checks": [
                {
                    "promise": check.promise,
                    "outcome": str(check.outcome),
                    "achieved": [str(value) for value in check.achieved],
                    "detail": check.detail,
                }
                for check in self.checks
            ],
        }

    def _repr_html_(self) -> str:
        """Show notebooks every promise, and what became of it."""
        from sfumato.notebook import card, lines
        from sfumato.published.checks.verification_html import check_table, verdict

        rows = [
            *([str(self.people)] if self.people else []),
            *map(str, self.wishes),
            *(self.roles.lines() if self.roles else []),
            *(f"! {each}" for each in self.uncovered),
        ]
        return card("Verification", self._counts(), verdict(self.ok), check_table(self.checks), lines(rows))

    def _counts(self) -> str:
        return f"{counted(self.records, 'record')} in {counted(self.classes, self.unit)}"

    def __str__(self) -> str:
        """Return the roles, and one line per promise."""
        roles = self.roles.lines() if self.roles else []
        people = [self.people] if self.people else []
        bare = [f"! {each}" for each in self.uncovered]
        lines = (*people, *roles, *bare, *self.checks, *self.wishes)
        return "\n".join([self._counts(), *(f"  {line}" for line in lines)])


def _without_others(check: Check) -> Check:
    if check.of_original:
        return unknown_original(check.promise)
    return unknown_population(check.promise) if check.of_population else check


def _check_in_words(check: Check) -> str:
    return f"{check.promise}: {check.outcome}; {check.detail}"


STEPS_OF: Mapping[str, Sequence[int]] = MappingProxyType({"promised": STEPS, "promised_l": STEPS_OF_L})
"""What classes may promise to whom wishes for a k and for an l of their own."""


def verify_table(
    data: pl.DataFrame | str,
    quasi_identifying: Sequence[str],
    sensitive: Mapping[str, Attribute],
    models: Sequence[PrivacyModel],
    people: NDArray[np.int32] | Attested | None = None,
    promised: Mapping[str, str] = MappingProxyType({}),
    population: Register | None = None,
    records: NDArray[np.int64] | None = None,
) -> Verification:
    """Group equal published quasi-identifying values, as text, and recount every model; one check each.

    `people`, int32 (n,), tells apart those of one class, where promises are about people; ``"attested"``: it is not
    known who is who. `promised`: the columns that say which k and l each class promises. `records`, int64 (m,): how
    many records each row stands for; not together with `people`. A missing value is a value of its own; suppressed
    records published as ``*`` are one class, and must satisfy the models too. Cost O(n · q).
    """
    by_value = bool(speak_of("values", models))
    numbers = None if isinstance(people, str) else people
    statistics = published_statistics(
        data, quasi_identifying, sensitive, values=by_value, people=numbers, promised=promised,
        population=population if of_population(models) else None, records=records,
    )  # fmt: skip
    if isinstance(people, str):
        return attested(models, statistics)
    checks = tuple(check(model, statistics) for model in models)
    height = statistics.height if statistics.people is None else int(statistics.people.records.sum())
    found = PeopleFound.of(statistics)
    wishes, bare = wishes_found(models, statistics), tuple(uncovered_classes(models, statistics))
    return Verification(checks, height, statistics.count, people=found, wishes=wishes, uncovered=bare)


def attested(models: Sequence[PrivacyModel], records: ClassStatistics) -> Verification:
    """Check what records alone decide about promises to people."""
    wishes, bare = wishes_found(models, records, attested=True), tuple(uncovered_classes(models, records))
    checks = attested_checks(models, records)
    return Verification(checks, records.height, records.count, wishes=wishes, uncovered=bare)


def published_statistics(
    data: pl.DataFrame | str,
    quasi_identifying: Sequence[str],
    sensitive: Mapping[str, Attribute],
    *,
    values: bool = False,
    people: NDArray[np.int32] | None = None,
    promised: Mapping[str, str] = MappingProxyType({}),
    population: Register | None = None,
    records: NDArray[np.int64] | None = None,
) -> ClassStatistics:
    """Return class statistics of a published table from its values alone; with `values`, those of each class.

    People count where they are numbered; else `records` says how many each row stands for.
    """
    rows = RowsOfClasses.of(data, quasi_identifying, sensitive)
    published = numbered_values(rows.labels, rows.class_of, rows.count) if values else None
    wished = {
        key: largest_of(rows.class_of, rows.count, _promises(data, name, STEPS_OF[key]))
        for key, name in promised.items()
    }
    if records is not None:
        found = counted_statistics(rows.class_of, rows.count, records, rows.codes, rows.sensitive)
    elif people is None:
        found = class_statistics(rows.class_of, rows.count, rows.codes, rows.sensitive)
    else:
        found = counted_people(rows.class_of, rows.count, people, rows.codes, rows.sensitive)
    found = replace(found, published=published, wished=wished.get("promised"), wished_l=wished.get("promised_l"))
    if population is None:
        return found
    firsts = np.unique(rows.class_of, return_index=True)[1]
    alone = pl.DataFrame([column[firsts] for column in rows.labels])
    covered = population.covered(alone, found.sizes)
    return replace(found, population=covered, presence=population.presence(alone, found.sizes))


@dataclass(frozen=True, eq=False, repr=False)
class RowsOfClasses:
    """Rows of a published table, put into classes by their published values."""

    labels: list[pl.Series]  # the quasi-identifying columns
    class_of: NDArray[np.int32]  # (n,), from 0
    count: int
    sensitive: tuple[EncodedAttribute, ...]
    codes: NDArray[np.unsignedinteger]  # unsigned (n, s): their values

    @classmethod
    def of(
        cls, data: pl.DataFrame | str, quasi_identifying: Sequence[str], sensitive: Mapping[str, Attribute]
    ) -> RowsOfClasses:
        """Group the rows of a frame or file, and number its sensitive values."""
        labels, private = _parts(data, quasi_identifying, sensitive)
        class_of, count = group_rows(labels)
        if private is None:
            return cls(labels, class_of, count, (), np.empty((len(class_of), 0), dtype=np.uint8))
        encoded = encode(private, order="name")
        return cls(labels, class_of, count, encoded.attributes, encoded.codes)


def _promises(data: pl.DataFrame | str, name: str, steps: Sequence[int]) -> NDArray[np.int64]:
    """Return what the class of each row promises; a cell that is none of the steps promises more than can be."""
    column = data[name] if isinstance(data, pl.DataFrame) else read_published(data, [name], {}).frame[name]
    return promised_steps(column, steps)


def promised_steps(column: pl.Series, steps: Sequence[int]) -> NDArray[np.int64]:
    """Return what cells promise, int64; one that is none of the steps promises more than can be."""
    numbers = column.cast(pl.String).cast(pl.Int64, strict=False).fill_null(-1).to_numpy()
    return np.where(steps_of(numbers, steps) == numbers, numbers, NO_STEP)


def read_published(
    data: pl.DataFrame | str, quasi_identifying: Sequence[str], sensitive: Mapping[str, Attribute]
) -> Table:
    """Read a published table unchanged: quasi-identifying values as text, blanks kept."""
    as_text = Attribute(kind=Kind.CATEGORICAL)
    schema = Schema(
        quasi_identifying=dict.fromkeys(quasi_identifying, as_text), sensitive=dict(sensitive), others="drop"
    )
    return read_written(data, schema)


def _parts(
    data: pl.DataFrame | str, quasi_identifying: Sequence[str], sensitive: Mapping[str, Attribute]
) -> tuple[list[pl.Series], Table | None]:
    """Split into published labels and a table of the sensitive columns alone, the only ones that must be encoded."""
    if isinstance(data, pl.DataFrame):
        data = _with_categories(data, quasi_identifying, sensitive)
        labels = _labels(data, quasi_identifying)
        alone = Schema(quasi_identifying=sensitive, others="drop") if sensitive else None
        return labels, None if alone is None else read_written(data, alone)
    table = read_published(data, quasi_identifying, sensitive)
    labels = [table.frame.get_column(name) for name in quasi_identifying]
    if not sensitive:
        return labels, None
    columns = pl.DataFrame([table.frame.get_column(name) for name in sensitive])
    kinds = {name: table.kinds[name] for name in sensitive}
    return labels, Table(columns, Schema(quasi_identifying=sensitive), kinds, table.source)


def _with_categories(
    data: pl.DataFrame, quasi_identifying: Sequence[str], sensitive: Mapping[str, Attribute]
) -> pl.DataFrame:
    """Make categories of the text columns, except long texts that only have to be compared."""
    texts = _of_types(data, pl.String)
    compared = [name for name in quasi_identifying if name in texts and not _is_long(data[name])]
    categorical = [name for name, attribute in sensitive.items() if attribute.kind is Kind.CATEGORICAL]
    names = dict.fromkeys([*compared, *categorical])
    return data.with_columns(as_categories([data[name] for name in names if name in texts]))


def _of_types(data: pl.DataFrame, *types: type[pl.DataType]) -> set[str]:
    return {column.name for column in data if isinstance(column.dtype, types)}


def _is_long(texts: pl.Series) -> bool:
    return int(texts.str.len_bytes().sum()) >= LONG_TEXT * len(texts)


def _labels(data: pl.DataFrame, names: Sequence[str]) -> list[pl.Series]:
    """Take text columns unchanged, and read the others."""
    texts = _of_types(data, pl.String, pl.Categorical, pl.Enum)
    found = {name: data[name] for name in names if name in texts and _readable(data[name])}
    unread = [name for name in names if name not in found]
    read = read_published(data, unread, {}).frame if unread else pl.DataFrame()
    return [found[name] if name in found else read.get_column(name) for name in names]


def _readable(column: pl.Series) -> bool:
    """Tell whether texts may be taken unchanged; otherwise the reader has to find out what their values are."""
    dtype = column.dtype
    if dtype == pl.String:
        # Blank texts are empty or begin with a blank, and blanks come before or after all that ASCII can print.
        distinct = column.filter((column < "!") | (column > "~"))
    else:
        distinct = dtype.categories if isinstance(dtype, pl.Enum) else texts_of(column)
    # The reader takes a blank text for a missing value, and it reports tables without records.
    return not (column.is_empty() or _some_blank(distinct))


def _some_blank(texts: pl.Series) -> bool:
    if len(texts) > FEW:
        return bool((texts.str.strip_chars() == "").any())
    return any(text is not None and not text.strip() for text in texts.to_list())


def check(model: PrivacyModel, statistics: ClassStatistics) -> Check:
    """Judge one model by all classes."""
    traits = says(model)
    if traits.needs_population and statistics.population is None:
        return unknown_population(promise_words(model))
    if traits.needs_original:
        return unknown_original(promise_words(model))
    judged = replace(_judged(model, statistics), of_population=traits.needs_population, of_original=traits.of_original)
    return judged if judged.outcome is Outcome.BROKEN else replace(judged, detail=traits.caveat)


def _judged(model: PrivacyModel, statistics: ClassStatistics) -> Check:
    holds, promise = model.holds(statistics), promise_words(model)
    achieved = tuple(model.achieved(statistics))
    failing = int((~holds).sum())
    if failing == 0:
        return Check(promise, Outcome.HOLDS, achieved)
    those = int(statistics.sizes[~holds].sum())
    whom = counted(those, "record" if statistics.people is None else "person")
    if isinstance(model, WholeTableModel):
        return Check(promise, Outcome.BROKEN, achieved, "the table as a whole breaks it")
    return Check(promise, Outcome.BROKEN, achieved, broken_words(failing, statistics.count, whom))


def broken_words(failing: int, classes: int, whom: str) -> str:
    """Say how many of all classes break a promise, and to whom."""
    return f"{failing:,} of {counted(classes, 'class')} with {whom} break it"


# The only promise that no recipient can recount: how many records were left out.


SUPPRESSION_PROMISE = "record suppression limit"


def suppression_check(limit: float) -> Check:
    """Return what a release alone can say about its suppression limit."""
    return Check(
        f"{SUPPRESSION_PROMISE} ({percent(limit)})",
        Outcome.UNDECIDABLE,
        detail="the number of original records is not part of the published table",
        required=False,
    )


_BLOCK = 1 << 15
"""Rows whose numbers are written at a time."""

_PIECE = 1 << 17
"""Rows whose texts are compared by one thread at a time."""


def group_rows(columns: Sequence[pl.Series]) -> tuple[NDArray[np.int32], int]:
    """Give equal rows the same number, in order of first appearance; int32 (n,). Missing is a value of its own.

    Categories are compared by their numbers. Texts are first separated by length; then each is compared with the first
    of its group, and groups in which some differ are numbered: every text is read, and the result is exact. O(n · q +
    bytes of text).
    """
    texts = [column for column in columns if column.dtype == pl.String]
    class_of, count = group_records(_numbered(columns))
    if not texts or not count:
        return class_of, count
    firsts = first_records(class_of, count)[class_of]
    refined = [numbers for column in texts if (numbers := _told_apart(column, class_of, count, firsts)) is not None]
    return group_records(np.column_stack([class_of, *refined])) if refined else (class_of, count)


def _told_apart(
    column: pl.Series, class_of: NDArray[np.int32], count: int, firsts: NDArray[np.integer]
) -> NDArray[np.int32] | None:
    """Give texts a number from 1 on in groups in which some differ, 0 elsewhere; None if none differ."""
    different = _differing(column, firsts)
    if not different.any():
        return None
    mixed = np.zeros(count, dtype=np.bool_)
    mixed[class_of[different]] = True
    rows = np.flatnonzero(mixed[class_of])
    numbers = np.zeros(len(column), dtype=np.int32)
    numbers[rows] = _numbers_by_text(as_categories([column[rows]])[0]) + np.uint32(1)
    return numbers


def _differing(column: pl.Series, firsts: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Tell which texts differ from the text of the row given for each, bool (n,)."""

    def compared(start: int) -> NDArray[np.bool_]:
        differs: NDArray[np.bool_] = (
            column.slice(start, _PIECE).ne_missing(column[firsts[start : start + _PIECE]]).to_numpy()
        )
        return differs

    starts = range(0, len(column), _PIECE)
    return np.concatenate(each(compared, starts, worth_starting(pl.thread_pool_size(), len(column))))


def _numbered(columns: Sequence[pl.Series]) -> NDArray[np.uint32]:
    """Give equal values of a column one number, the missing value too, and texts of equal length; uint32 (n, q)."""
    numbers = [_numbers_by_text(column) for column in columns]
    codes = np.empty((len(numbers[0]), len(numbers)), dtype=np.uint32)
    for start in range(0, len(codes), _BLOCK):
        # Block by block the row-major target stays in the cache while its columns are filled one after the other.
        for index, column in enumerate(numbers):
            codes[start : start + _BLOCK, index] = column[start : start + _BLOCK]
    return codes


def _numbers_by_text(column: pl.Series) -> NDArray[np.unsignedinteger]:
    numbers = column.str.len_bytes() if column.dtype == pl.String else column.to_physical()
    if numbers.has_nulls():
        highest = numbers.max()
        numbers = numbers.cast(pl.UInt32).fill_null(0 if highest is None else int(highest) + 1)  # type: ignore[arg-type]
    return numbers.to_numpy()


FEWEST = 2
"""Records from which on it means something that one class holds all of them."""


@dataclass(frozen=True)
class Uncovered:
    """One thing that no promise covers; ``column`` is None for the whole table."""

    name: str
    column: str | None
    sentence: str

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence

    def without_counts(self) -> Uncovered:
        """Return what somebody may read who is not told what was counted of people."""
        return self if self.name != "sensitive" else _bare(str(self.column))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"finding": self.name, "column": self.column, "sentence": self.sentence}


def columns_without_promise(models: Sequence[PrivacyModel], sensitive: Collection[str]) -> list[str]:
    """Return the sensitive columns that no model speaks of, in their order."""
    promised = {rule.attribute for model in models for rule in model.rules(list(sensitive))}
    return [name for name in sensitive if name not in promised]


def uncovered_values(models: Sequence[PrivacyModel], sensitive: Collection[str]) -> Iterator[Uncovered]:
    """Name the sensitive columns that no model speaks of."""
    yield from map(_bare, columns_without_promise(models, sensitive))


def _bare(name: str) -> Uncovered:
    return Uncovered("sensitive", name, f"no promise covers the sensitive column {name!r}")


def uncovered_classes(models: Sequence[PrivacyModel], statistics: ClassStatistics) -> Iterator[Uncovered]:
    """Add in how many classes all records share one value of such a column, and whether one class holds everybody."""
    shared = {name: np.diff(values.starts) == 1 for name, values in statistics.sensitive.items()}
    alike = {name: np.array([own.sum(), statistics.sizes[own].sum()]) for name, own in shared.items()}
    records = statistics.height if statistics.people is None else int(statistics.people.records.sum())
    noun = "record" if statistics.people is None else "person"
    yield from uncovered(models, alike, statistics.count, records, noun)


def uncovered(
    models: Sequence[PrivacyModel], alike: Mapping[str, NDArray[np.int64]], classes: int, records: int, noun: str
) -> Iterator[Uncovered]:
    """Name what no promise covers; `alike`: classes in which all share one sensitive value, and their people."""
    for one in uncovered_values(models, alike):
        sharing, those = (int(each) for each in alike[str(one.column)])
        if not sharing:
            yield one
            continue
        verb = "shares" if sharing == 1 else "share"
        told = f"{sharing:,} of {counted(classes, 'class')} {verb} one value ({counted(those, noun)})"
        yield Uncovered(one.name, one.column, f"{one.sentence}: {told}")
    if classes == 1 and records >= FEWEST:
        yield Uncovered("one-class", None, "one class holds all records: nothing tells any two of them apart")
