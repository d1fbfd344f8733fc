"""Files of SPSS, Stata and SAS: read with labels, dates and user-missing values, and written with labels."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import InputError, SfumatoError, raise_all, raise_together
from sfumato.table.announcing import announce
from sfumato.table.distinct import as_categories_where_few, text_order
from sfumato.table.header import repeated
from sfumato.table.schema import text_of
from sfumato.table.sources.protocol import STAR, Given, TableSource, library, whole_where_whole

WHAT = "files of SPSS, Stata and SAS"
_STATA_STAR = "a"
_STATA, _STATA_END = b"<stata_dta>", b"</stata_dta>"
_UTF8 = "utf-8"


@dataclass(frozen=True, eq=False, repr=False)
class LabelledSource:
    """Names of the columns of a statistical file, and how to read them."""

    load: Callable[[list[str]], pl.DataFrame]  # takes names; returns a frame of these columns, with codes as they are
    names: tuple[str, ...]
    # the label of each code, by column; without the columns whose labels are not used
    labels: Mapping[str, Mapping[Any, str]]
    value_codes: Mapping[str, Mapping[str, int]]  # the code of each label, by column

    is_text = False
    """Values have types of their own."""

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Read columns; those whose codes all have labels become text.

        Raises ``InputError`` when the file is damaged, or some codes of a column have a label and some have none.
        """
        if not names:
            return []
        frame = self.load(list(names))
        columns, errors = [], list[SfumatoError]()
        for name in names:
            try:
                columns.append(_labelled(frame.get_column(name), self.labels.get(name, {})))
            except InputError as error:
                errors.append(error)
        raise_together(errors)
        return as_categories_where_few(columns)


def _labelled(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    """Put labels in the place of codes, where every code that occurs has one."""
    column = whole_where_whole(column)
    codes = column.unique().drop_nulls()
    meant = {code: str(label).strip() for code, label in labels.items()}
    known = [code for code in codes.to_list() if code in meant]
    if not known:
        return column
    name, bare = column.name, len(codes) - len(known)
    if bare:
        raise InputError(
            f"column {name!r}: {len(known):,} of its codes have a label, and {bare:,} have none; read its codes with "
            f"codes = [{name!r}] (--set source.codes={name}); add --set column.{name}.missing=NUMBER for each that "
            "stands for a missing value"
        )
    texts = [meant[code] for code in known]
    if len(set(texts)) < len(texts):
        shared = sum(texts.count(text) > 1 for text in texts)
        announce(f"column {name!r}: {shared} codes share their label with another one; they are read as one category")
    return column.replace_strict(pl.Series(known, dtype=column.dtype), pl.Series(texts), return_dtype=pl.String)


def _open(given: Given, *, reader: str, program: str, catalog: Path | None = None) -> TableSource:
    encoding = None if given.layout.encoding.lower().replace("_", "-") in (_UTF8, "utf8") else given.layout.encoding

    def load(names: list[str], **more: Any) -> pl.DataFrame:
        return _as_shown(*_load(given.file, reader, program, encoding=encoding, usecols=names, **more))

    metadata = _load(given.file, reader, program, encoding=encoding, metadataonly=True)[1]
    names, codes = tuple(metadata.column_names), frozenset(given.place.codes)
    if codes - {*names}:
        raise InputError(f"codes: names {len(codes - {*names})} column(s) that the file does not have")
    labels = dict(metadata.variable_value_labels)
    if catalog is not None:
        # Columns name a format, and a file beside theirs says what its codes mean.
        value_labels = _load(catalog, "read_sas7bcat", program, encoding=encoding)[1].value_labels
        labels |= {
            name: value_labels[form] for name, form in metadata.variable_to_label.items() if form in value_labels
        }
    labels = {name: value_labels for name, value_labels in labels.items() if name not in codes}
    stars = {name: next(iter(found)) for name, found in labels.items() if [*found.values()] == [STAR]}
    if stars:
        declared = _load(given.file, reader, program, encoding=encoding, usecols=[*stars], user_missing=True)[1]
        stars = {name: code for name, code in stars.items() if _is_missing(code, name, declared)}
        labels = {name: found for name, found in labels.items() if name not in stars}
    # What SPSS calls nominal and gives no labels are codes.
    nominal = {name for name, measure in metadata.variable_measure.items() if measure == "nominal"} - {*labels, *codes}
    load = partial(_with_names, load, nominal - {*stars}) if nominal - {*stars} else load
    value_codes = {name: found for name, value_labels in labels.items() if (found := _codes_of(value_labels))}
    return LabelledSource(partial(_with_stars, load, stars) if stars else load, names, labels, value_codes)


def _with_names(
    load: Callable[..., pl.DataFrame], nominal: Collection[str], names: list[str], **more: Any
) -> pl.DataFrame:
    """Load columns; whole numbers that name something become text, which is said."""
    columns = []
    for column in load(names, **more):
        whole = whole_where_whole(column) if column.name in nominal and column.dtype.is_float() else column
        if whole.name in nominal and whole.dtype.is_integer():
            announce(
                f"column {whole.name!r} is nominal in the file, and is read as categories; as numbers: "
                f"--set column.{whole.name}.kind=numeric"
            )
            whole = whole.cast(pl.String)
        columns.append(whole)
    return pl.DataFrame(columns)


def _is_missing(code: Any, name: str, metadata: Any) -> bool:
    """Tell whether a file declares a code as missing: of SPSS one number, of Stata a letter."""
    return {"lo": code, "hi": code} in metadata.missing_ranges.get(
        name, ()
    ) or code in metadata.missing_user_values.get(name, ())


def _with_stars(load: Callable[..., pl.DataFrame], stars: Mapping[str, Any], names: list[str]) -> pl.DataFrame:
    """Load columns; numbers with a code that is declared missing and labelled ``*`` become text, as in a release."""
    others = [name for name in names if name not in stars]
    frame = load(others) if others else pl.DataFrame()
    starred = [name for name in names if name in stars]
    found = load(starred, user_missing=True) if starred else pl.DataFrame()
    return frame.hstack([_starred(column, stars[column.name]) for column in found]).select(names)


def _starred(column: pl.Series, code: Any) -> pl.Series:
    is_star = pl.Series([cell == code for cell in column.to_list()], dtype=pl.Boolean)
    if column.dtype == pl.Object:
        numbers = pl.Series([None if cell == code else cell for cell in column.to_list()])
    else:
        numbers = column.zip_with(~is_star, pl.Series([None], dtype=column.dtype))
    return text_of(whole_where_whole(numbers)).zip_with(~is_star, pl.Series([STAR])).alias(column.name)


_WEEKS = 52
"""Of each year, as Stata counts; the last one has eight days or nine."""
_PERIODS = {"%tm": 1, "%tq": 3, "%th": 6}
"""Formats of Stata that count months, quarters and half-years since 1960, and their months."""


def _as_shown(frame: pl.DataFrame, metadata: Any) -> pl.DataFrame:
    """Return columns as Stata shows them: periods as their first day, short floats with the digits that they have."""
    columns = []
    for column in frame:
        months = _PERIODS.get(str(metadata.original_variable_types.get(column.name))[:3])
        if months is not None and column.dtype.is_numeric():
            since = (column.cast(pl.Int64) * months).alias("m").to_frame()
            day = pl.date(1960 + pl.col("m").floordiv(12), pl.col("m") % 12 + 1, 1)
            column = since.select(day.alias(column.name)).to_series()
        elif str(metadata.original_variable_types.get(column.name)).startswith("%tw") and column.dtype.is_numeric():
            weeks = column.cast(pl.Int64).alias("w").to_frame()
            first = pl.date(1960 + pl.col("w").floordiv(_WEEKS), 1, 1) + pl.duration(days=7 * (pl.col("w") % _WEEKS))
            column = weeks.select(first.alias(column.name)).to_series()
        elif metadata.readstat_variable_types.get(column.name) == "float" and column.dtype == pl.Float64:
            column = column.cast(pl.Float32).cast(pl.String).cast(pl.Float64)
        columns.append(column)
    return pl.DataFrame(columns)


def _codes_of(labels: Mapping[Any, str]) -> dict[str, int]:
    """Return the code of each label, if all codes are whole numbers; of those that share a label, the lowest."""
    if not all(isinstance(code, int | float) and code == round(code) for code in labels):
        return {}
    return {str(labels[code]).strip(): int(code) for code in sorted(labels, reverse=True)}


def _load(path: Path, reader: str, program: str, **more: Any) -> tuple[pl.DataFrame, Any]:
    pyreadstat = library("pyreadstat", extra="statistical", what=WHAT)
    if more.get("encoding", "") is None:
        del more["encoding"]
    try:
        frame, metadata = getattr(pyreadstat, reader)(path, output_format="polars", **more)
    except UnicodeError:
        raise _bad_encoding() from None
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        if "encoding" in str(error):
            raise _bad_encoding() from None
        raise InputError(f"the {program} file is damaged or cut off; get a whole copy") from None
    except OverflowError:
        raise InputError(f"the {program} file has dates after the year 9999; correct them") from None
    return frame, metadata


def _bad_encoding() -> InputError:
    return InputError("the file has text that is not in its encoding; say which it is with encoding, e.g. 'cp1252'")


def _open_stata(given: Given) -> TableSource:
    with given.file.open("rb") as stream:
        stream.seek(max(0, given.file.stat().st_size - len(_STATA_END)))
        # Labels stand at the end: where that is cut off, the codes would be read without a word.
        if given.start.startswith(_STATA) and stream.read() != _STATA_END:
            raise InputError("the Stata file is damaged or cut off; get a whole copy")
    return _open(given, reader="read_dta", program="Stata")


def _open_sas(given: Given) -> TableSource:
    catalog = given.file.with_suffix(".sas7bcat")
    return _open(given, reader="read_sas7bdat", program="SAS", catalog=catalog if catalog.is_file() else None)


OPENERS: Mapping[str, Callable[[Given], TableSource]] = {
    "spss": partial(_open, reader="read_sav", program="SPSS"),
    "stata": _open_stata,
    "sas": _open_sas,
    "spss-portable": partial(_open, reader="read_por", program="SPSS portable"),
    "sas-transport": partial(_open, reader="read_xport", program="SAS transport"),
}
"""Form of a file → what opens it; how it is recognised stands in ``sources``."""


_MOST_LABELS = 5_000
"""Distinct texts of a column from which on it is written as text."""
_RESERVED = {"ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"}


@dataclass(frozen=True)
class Program:
    """What a program's files may hold, and where they say when they were written."""

    name: str
    writer: str  # function of pyreadstat
    names: str  # what the names of columns look like
    longest_label: int  # bytes
    missing: str  # argument of its writer that names codes declared as missing
    # `written_at`, `always`: the time of writing, and what stands there instead, so that equal tables make equal files
    written_at: bytes
    always: bytes


PROGRAMS = {
    "sav": Program(
        "SPSS",
        "write_sav",
        r"(?=.{1,64}$)[A-Za-z@#$]([A-Za-z0-9@#$_.]*[A-Za-z0-9@#$])?",
        120,
        "missing_ranges",
        rb"(?s)(\A.{92})\d\d \w{3} \d\d\d\d:\d\d:\d\d",
        rb"\g<1>01 Jan 8000:00:00",
    ),
    "dta": Program(
        "Stata",
        "write_dta",
        r"[A-Za-z_][A-Za-z0-9_]{0,31}",
        320,
        "missing_user_values",
        rb"(<timestamp>\x11)\d\d \w{3} \d{4} \d\d:\d\d",
        rb"\g<1>01 Jan 1980 00:00",
    ),
}


def write_labelled(frame: pl.DataFrame, path: Path, program: Program, codes: Mapping[str, Mapping[str, int]]) -> None:
    """Write a frame for a statistical program, with `codes` where all texts have one, else numbered in order."""
    raise_all(InputError, _wrong_names(frame.columns, program))
    pyreadstat = library("pyreadstat", extra="statistical", what=WHAT)
    columns, labels, missing = [], dict[str, dict[Any, str]](), dict[str, list[Any]]()
    for column in frame:
        if column.dtype == pl.Object:
            written, star = _with_code(column, program)
            labels[column.name], missing[column.name] = {star: STAR}, [star]
        else:
            written, meant = _coded(column, program, codes.get(column.name, {}))
            labels |= {column.name: meant} if meant else {}
        columns.append(written.alias(column.name))
    # Without it SPSS shows two digits after the point; Stata shows as many as there are.
    whole = [column.name for column in frame if column.dtype.is_integer()] if program.name == "SPSS" else []
    options = {program.missing: missing, "variable_format": dict.fromkeys(whole, "F12.0")}
    try:
        getattr(pyreadstat, program.writer)(pl.DataFrame(columns), path, variable_value_labels=labels, **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError):
        raise InputError(f"{program.name} files cannot hold this table; write csv or parquet") from None
    head = path.read_bytes()[:512]
    with path.open("r+b") as file:
        file.write(re.sub(program.written_at, program.always, head, count=1))


def _wrong_names(names: Collection[str], program: Program) -> Iterator[str]:
    wrong = [name for name in names if not re.fullmatch(program.names, name) or name.upper() in _RESERVED]
    if wrong:
        listed = ", ".join(map(repr, wrong))
        yield f"{program.name} takes no such names of columns: {listed}; rename them, or write csv or parquet"
    if repeated([name.upper() for name in names]):
        yield f"{program.name} does not tell capital letters apart, by which alone names of columns differ; rename them"


def _with_code(column: pl.Series, program: Program) -> tuple[pl.Series, Any]:
    """Return numbers or dates with a code in the place of ``*``, which the program leaves out of every figure."""
    cells = column.to_list()
    if program.name == "Stata":
        return pl.Series([_STATA_STAR if cell == STAR else cell for cell in cells], dtype=pl.Object), _STATA_STAR
    numbers = pl.Series([None if cell == STAR else float(cell) for cell in cells if cell is not None], dtype=pl.Float64)
    code = math.floor(min(0.0, *numbers.drop_nulls().to_list())) - 1.0
    return pl.Series([code if cell == STAR else cell for cell in cells], dtype=pl.Float64), code


def _coded(column: pl.Series, program: Program, known: Mapping[str, int]) -> tuple[pl.Series, dict[Any, str]]:
    """Return a column as the program holds it, and the labels of its codes."""
    if column.dtype.is_integer() or isinstance(column.dtype, pl.Decimal):
        return column.cast(pl.Float64), {}
    if not isinstance(column.dtype, (pl.String, pl.Categorical, pl.Enum, pl.Boolean)):
        return column, {}
    texts = text_of(column) if column.dtype == pl.Boolean else column.cast(pl.String)
    values = _in_order(column, texts)
    if len(values) > _MOST_LABELS or any(not value or len(value.encode()) > program.longest_label for value in values):
        return texts.fill_null(""), {}
    numbers = [known[value] for value in values] if {*values} <= known.keys() else [*range(1, len(values) + 1)]
    coded = texts.replace_strict(pl.Series(values, dtype=pl.String), pl.Series(numbers, dtype=pl.Float64))
    return coded, dict(zip(numbers, values, strict=True))


def _in_order(column: pl.Series, texts: pl.Series) -> list[str]:
    found = texts.unique().drop_nulls()
    if isinstance(column.dtype, pl.Enum):
        present = {*found.to_list()}
        return [label for label in column.dtype.categories.to_list() if label in present]
    return found[text_order(found)].to_list()
