"""Reading traces: people, places and times in long form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any, TypedDict, Unpack
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SfumatoError, attempt, raise_all, raise_together, said_of
from sfumato.former import refuse_others, warn
from sfumato.hierarchy.tree import HierarchySpecification
from sfumato.kernels.ratings.rows import number_by_appearance
from sfumato.kinds.traces.grain import LARGEST, SMALLEST, WIDTHS, Axis, Leaves, code_axis, grid_axis, time_axis
from sfumato.kinds.traces.traces import Traces
from sfumato.numbers import counted
from sfumato.table.columns import ValueReading, is_text, keys_read, typed_column
from sfumato.table.distinct import distinct_of
from sfumato.table.header import Header, check_names
from sfumato.table.person_keys import key_columns, read_key_form
from sfumato.table.reading import label_of
from sfumato.table.schema import Kind, text_of
from sfumato.table.sources import TableSource, open_source
from sfumato.table.sources.protocol import Reading, refuse_of_tables

_STAMP = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([01][0-9]|2[0-3]):([0-5][0-9])(?::[0-5][0-9](?:[.,][0-9]+)?)?"
    r" ?(Z|z|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)?)?$"
)
_MONDAY = 4 * 24
"""Hours from the first of January 1970 to the Monday that hours are counted from."""
_FIRST, _LAST = (date(year, 1, 1).toordinal() - date(1970, 1, 1).toordinal() for year in (2, 9999))
"""Days from which, and up to which, times have names. Weeks of them have, too."""


class FormerTraces(TypedDict, total=False):
    """Keywords of :func:`sfumato.traces.read_traces` that `place` and :class:`sfumato.traces.TraceGrain` have now."""

    latitude: str | None
    longitude: str | None
    cell: float
    hours: int
    stay: int | None


@dataclass(frozen=True)
class TraceGrain:
    """How finely traces are read.

    Attributes
    ----------
    cell
        Side of the finest cells in degrees, a power of two; the usual one is about 870 m from south to north.
    hours
        Length of the finest times: 1, 3, 6, 12, 24 or 168. Dates without a time of day have days at least.
    stay
        Minutes that somebody must be in one cell, or at one code, from the first to the last of stamps in a row there;
        shorter stays are no points, and who has none longer is not read. None takes every point.
    """

    cell: float = 2.0**-7
    hours: int = 1
    stay: int | None = None


def read_traces(
    source: object,
    *,
    person: str | Sequence[str],
    place: str | tuple[str, str] | None = None,
    time: str,
    zone: str | None = None,
    sensitive: str | None = None,
    wished_k: str | None = None,
    hierarchy: HierarchySpecification | None = None,
    grain: TraceGrain | None = None,
    reading: Reading | None = None,
    key_form: str | None = None,
    **former: Unpack[FormerTraces],
) -> Traces:
    """Read who was where and when.

    Parameters
    ----------
    source
        Path of a file, or a polars, pandas or Arrow frame, with a row for each point.
    person
        Column of people, or a list of columns that say together who it is.
    place
        Column of codes of places; or two columns, of degrees north and east (WGS 84).
    time
        Column of time stamps such as 2026-03-02T08:15+01:00, or of dates.
    zone
        The zone whose local times count, such as ``"Europe/Rome"``. Stamps without an offset are local already.
    sensitive
        Column of sensitive values, of people or of points; empty for none.
    wished_k
        Column of the K that a person wishes for, a whole number; empty for none. The largest of her rows counts.
    hierarchy
        Ever coarser names for codes of places.
    grain
        The finest cells and times, and which stays count; None takes the usual ones.
    reading
        How a file is read.
    key_form
        Which spellings of a key are one person's, as :class:`sfumato.Schema` takes it; None asks, by an error.
    former
        Keywords of the last version, with a warning.

    Returns
    -------
    Traces
        Points of one person in one finest cell and time are one.

    Raises
    ------
    InputError
        With what is wrong: missing columns, rows without person, place or time, points outside of the globe, stamps
        without a zone.
    HierarchyError
        When codes are not in the hierarchy; they are counted.

    Notes
    -----
    Hours are local. Of a clock change both hours with one name are one. Days begin at midnight, weeks on Monday.
    """
    label = label_of(source)
    place, fine = _of_call(place, grain, former)
    try:
        errors: list[SfumatoError] = [InputError(one) for one in _unknown(place, hierarchy, zone, fine)]
        how = reading or Reading()
        refuse_of_tables("traces", how)
        read_key_form(key_form)
        keys = key_columns(person if isinstance(person, str) else _names(person))
        opened = open_source(source, how.layout(), how.place())
        where = [place] if isinstance(place, str) else [*place] if isinstance(place, Sequence) else []
        others = [name for name in (sensitive, wished_k) if name is not None]
        read = attempt(lambda: _columns(opened, [*keys, *where, time, *others]), errors)
        raise_together(errors)
        columns = read or {}
        values = ValueReading(how.tokens(), True, opened.is_text)
        numbered = attempt(lambda: _people([columns[name] for name in keys], values, key_form), errors)
        placed = attempt(
            lambda: (
                _codes(columns[where[0]], values, hierarchy)
                if isinstance(place, str)
                else _cells(columns[where[0]], columns[where[1]], values, fine.cell)
            ),
            errors,
        )
        timed = attempt(lambda: _minutes(columns[time], str(zone)), errors)
        wishes = None if wished_k is None else attempt(lambda: _wishes(columns[wished_k], values), errors)
        held = attempt(lambda: _sensitive(columns.get(sensitive or ""), values), errors)
        raise_together(errors)
        assert numbered is not None
        assert placed is not None
        assert timed is not None
        (owners, people), (axis, leaf), (minutes, is_clock) = numbered, placed, timed
        wished = None
        if wishes is not None:
            wished = np.ones(people, dtype=np.int64)
            np.maximum.at(wished, owners, wishes)
        if fine.stay is not None:
            stays = _long_stays(owners, leaf, minutes, fine.stay, is_clock=is_clock)
            left, whose = np.unique(owners[stays], return_inverse=True)
            owners, people = whose.astype(np.int32), len(left)
            leaf, minutes = leaf[stays], minutes[stays]
            held = None if held is None else held.filter(stays)
            wished = None if wished is None else wished[left]
        times, moment = time_axis(minutes // 60 - _MONDAY, fine.hours if is_clock else max(fine.hours, 24))
    except SfumatoError as error:
        raise said_of(label, error) from None
    starts, points = _rows(owners, leaf.astype(np.int64) << 32 | moment, people)
    value_starts, codes, names = _values(owners, held, people)
    where_of, when_of = (points >> 32).astype(np.int32), (points & 0xFFFFFFFF).astype(np.int32)
    parts = (not isinstance(place, str), str(zone), sensitive, value_starts, codes, names, label, wished)
    return Traces(starts, where_of, when_of, axis, times, *parts)


def _of_call(
    place: str | tuple[str, str] | None, grain: TraceGrain | None, former: FormerTraces
) -> tuple[str | tuple[str, str] | None, TraceGrain]:
    """Return places and grain as the call says, or as keywords of the last version do."""
    refuse_others("read_traces", former, FormerTraces)
    north, east = former.get("latitude"), former.get("longitude")
    if north is not None or east is not None:
        if place is not None or north is None or east is None:
            raise InputError("place: name one column of codes, or two columns, of latitude and longitude")
        warn("read_traces(latitude=..., longitude=...)", "place=(LATITUDE, LONGITUDE)")
        place = north, east
    fine: dict[str, Any] = {name: value for name, value in former.items() if name in ("cell", "hours", "stay")}
    if fine and grain is not None:
        raise TypeError(f"read_traces() takes {', '.join(fine)} in grain; put it there")
    if fine:
        warn(f"read_traces({', '.join(f'{name}=...' for name in fine)})", "grain=traces.TraceGrain(...)")
    return place, grain or TraceGrain(**fine)


def _names(person: object) -> tuple[str, ...]:
    """Return the columns that say together who it is."""
    names = tuple(person) if isinstance(person, Sequence) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError("person: name a column, or several that say together who it is")
    return names


def _unknown(place: str | tuple[str, str] | None, hierarchy: object, zone: object, grain: TraceGrain) -> Iterator[str]:
    if not isinstance(grain, TraceGrain):
        yield "grain: is a TraceGrain, such as TraceGrain(hours=3)"
        return
    if grain.stay is not None and (not isinstance(grain.stay, int) or grain.stay < 1):
        yield "stay: must be a whole number of minutes, at least 1"
    if not isinstance(place, str) and (
        not isinstance(place, (tuple, list)) or len(place) != 2 or not all(isinstance(name, str) for name in place)
    ):
        yield "place: name one column of codes, or two columns, of latitude and longitude"
    if not isinstance(place, str) and hierarchy is not None:
        yield "hierarchy: is about codes of places; leave it out, as cells of degrees have a grid"
    if not isinstance(zone, str) or zone not in available_timezones():
        yield "zone: name the time zone whose local hours count, such as Europe/Rome"
    cell = grain.cell
    if not isinstance(cell, (int, float)) or not SMALLEST <= cell <= LARGEST or np.frexp(cell)[0] != 0.5:
        yield "cell: must be a power of two of a degree, from 2^-14 to 1, such as 0.0078125"
    if grain.hours not in WIDTHS:
        yield f"hours: must be one of {', '.join(map(str, WIDTHS))}"


def _columns(source: TableSource, names: Sequence[str]) -> dict[str, pl.Series]:
    check_names(Header(source.names, frozenset(names if source.is_text else source.names)))
    problems = [f"there is no column {name!r}" for name in dict.fromkeys(names) if name not in source.names]
    if len({*names}) < len(names):
        problems.append("one column is used twice; name different columns for person, place, time and sensitive")
    raise_all(InputError, problems)
    return dict(zip(names, source.read(names), strict=True))


def _refuse_lost(lost: pl.Series | NDArray[np.bool_], what: str, advice: str = "complete or remove them") -> None:
    """Raise InputError with the number of rows in which something is wrong, and the first of them."""
    rows = np.flatnonzero(np.asarray(lost))
    if len(rows):
        raise InputError(f"{counted(len(rows), 'row')} {what}, first row {rows[0] + 1:,}; {advice}")


def _people(keys: Sequence[pl.Series], values: ValueReading, key_form: str | None) -> tuple[NDArray[np.int32], int]:
    people = keys_read(keys, values, key_form)
    if not len(people):
        raise InputError("there are no rows")
    _refuse_lost(people.is_null(), "without a person")
    whose = distinct_of(people)
    return number_by_appearance(whose.raw, whose.rank_of, len(whose.values)), len(whose.values)


def _wishes(column: pl.Series, values: ValueReading) -> NDArray[np.int64]:
    """Return the K that is wished for in each row, 1 for none."""
    held = typed_column(column, Kind.NUMERIC, values)[0].cast(pl.Float64).fill_null(1).to_numpy()
    _refuse_lost((held < 1) | (held != np.floor(held)) | (held >= 2**31), "whose wished K is no whole number from 1 on")
    return held.astype(np.int64)


def _cells(north: pl.Series, east: pl.Series, values: ValueReading, cell: float) -> tuple[Axis, Leaves]:
    errors: list[SfumatoError] = []
    found = [attempt(partial(_degrees, column, values), errors) for column in (north, east)]
    raise_together(errors)
    latitudes, longitudes = (column.to_numpy() for column in found if column is not None)
    outside = ~((np.abs(latitudes) <= 90) & (np.abs(longitudes) <= 180))
    if outside.any():
        fit_turned = ((np.abs(longitudes) <= 90) & (np.abs(latitudes) <= 180)).all()
        raise InputError(
            f"{counted(int(outside.sum()), 'point')} outside of the globe, first row {int(outside.argmax()) + 1:,}; "
            "latitudes go from -90 to 90, longitudes from -180 to 180"
            + ("; exchanged, all would fit: name the other column first" if fit_turned else "")
        )
    return grid_axis(latitudes, longitudes, cell)


def _degrees(column: pl.Series, values: ValueReading) -> pl.Series:
    """Return degrees; a comma is before the fraction, as thousands are on no globe."""
    if is_text(column):
        degrees = _degrees_of_texts(column, values)
    else:
        degrees = typed_column(column, Kind.NUMERIC, values)[0].cast(pl.Float64).fill_nan(None)
    _refuse_lost(degrees.is_null(), f"without {column.name!r}")
    return degrees


def _degrees_of_texts(column: pl.Series, values: ValueReading) -> pl.Series:
    texts = column.cast(pl.String).str.strip_chars()
    texts = texts.set(texts.is_in(["", *values.missing]).fill_null(False), None)
    plain = texts.str.replace(",", ".", literal=True).str.replace("\u2212", "-", literal=True)
    numbers = plain.cast(pl.Float64, strict=False).fill_nan(None)
    _refuse_lost(
        numbers.is_null() & plain.is_not_null() & (plain.str.to_lowercase() != "nan"),
        f"whose {column.name!r} is no number of degrees, such as 46.05",
        "write them so, or remove them",
    )
    return numbers


def _codes(column: pl.Series, values: ValueReading, hierarchy: HierarchySpecification | None) -> tuple[Axis, Leaves]:
    codes = typed_column(column, Kind.CATEGORICAL, values)[0]
    _refuse_lost(codes.is_null(), "without a place")
    found = distinct_of(codes)
    names = tuple(text_of(found.values).to_list())
    if hierarchy is None:
        return code_axis(None, names), found.rank_of[found.raw].astype(np.int32)
    tree = hierarchy.build(found.values, name="places")
    place_of = {leaf: place for place, leaf in enumerate(tree.leaves)}
    numbers = np.array([*(place_of[name] for name in names), 0], dtype=np.int32)
    return code_axis(tree, tree.leaves), numbers[found.rank_of[found.raw]]


def _minutes(column: pl.Series, zone: str) -> tuple[NDArray[np.int64], bool]:
    """Return local minutes of a zone since 1970, and whether the column tells more than days."""
    if isinstance(column.dtype, pl.Datetime):
        local = (
            column if column.dtype.time_zone is None else column.dt.convert_time_zone(zone).dt.replace_time_zone(None)
        )
        _refuse_lost(local.is_null(), "without a time")
        return _named(local.dt.epoch("s").to_numpy() // 60), True
    if column.dtype == pl.Date:
        _refuse_lost(column.is_null(), "without a time")
        return _named(column.to_physical().to_numpy().astype(np.int64) * 1440), False
    texts = column.cast(pl.String).str.strip_chars()
    _refuse_lost((texts.is_null() | (texts == "")).fill_null(True), "without a time")
    stamps = distinct_of(texts)
    parts = stamps.values.cast(pl.String).str.extract_groups(_STAMP).struct.unnest()
    days = parts["1"].str.to_date("%Y-%m-%d", strict=False)
    wrong = np.append(days.is_null().to_numpy(), False)[stamps.rank_of][stamps.raw]
    _refuse_lost(
        wrong,
        "with a time that is not written as 2026-03-02T08:15+01:00 or 2026-03-02",
        "write them so, or remove them",
    )
    zoned, bare = parts["4"].is_not_null(), parts["2"].is_null()
    if (bare.any() and not bare.all()) or (zoned.any() and not zoned.all()):
        raise InputError("time: some stamps have an offset or a time of day and others none; write all of them alike")
    minutes = days.to_physical().cast(pl.Int64) * 1440
    if not bare.any():
        minutes = minutes + parts["2"].cast(pl.Int64) * 60 + parts["3"].cast(pl.Int64)
    if zoned.any():
        minutes = _local(minutes, parts["4"], zone)
    return _named(np.append(minutes.to_numpy(), 0)[stamps.rank_of][stamps.raw]), not bare.all()


def _named(minutes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return minutes since 1970 of days that have names, or refuse them."""
    strange = (minutes < _FIRST * 1440) | (minutes >= _LAST * 1440)
    _refuse_lost(strange, "with a time before year 2 or after year 9998", "correct or remove them")
    return minutes


def _long_stays(
    owners: NDArray[np.int32], leaf: Leaves, minutes: NDArray[np.int64], least: int, *, is_clock: bool
) -> NDArray[np.bool_]:
    """Tell which points belong to stays of enough minutes: a person's stamps in a row in one place."""
    if not is_clock:
        raise InputError("stay: needs times of day, and there are days alone; leave it out")
    order = np.lexsort((leaf, minutes, owners))
    whose, where, when = owners[order], leaf[order], minutes[order]
    begins = np.append(True, (whose[1:] != whose[:-1]) | (where[1:] != where[:-1]))
    firsts = np.flatnonzero(begins)
    long = when[np.append(firsts[1:], len(when)) - 1] - when[firsts] >= least
    stays = np.zeros(len(owners), dtype=np.bool_)
    stays[order] = long[np.cumsum(begins) - 1]
    if not stays.any():
        raise InputError(f"nobody is in one place for {counted(least, 'minute')}; lower stay, or take larger cells")
    return stays


def _local(minutes: pl.Series, offsets: pl.Series, zone: str) -> pl.Series:
    """Return minutes of the local time of a zone, of stamps with offsets."""
    plain = offsets.str.replace("^[Zz]$", "+00").str.replace(":", "", literal=True).str.pad_end(5, "0")
    size = plain.str.slice(1, 2).cast(pl.Int64) * 60 + plain.str.slice(3, 2).cast(pl.Int64)
    sign = plain.str.starts_with("-").cast(pl.Int64) * 2 - 1
    moments = ((minutes + sign * size) * 60_000).cast(pl.Datetime("ms")).dt.replace_time_zone("UTC")
    local = moments.dt.convert_time_zone(ZoneInfo(zone).key).dt.replace_time_zone(None)
    return local.dt.epoch("s") // 60


def _rows(
    owners: NDArray[np.int32], codes: NDArray[np.int64], people: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the codes of each person, rising, each once."""
    order = np.lexsort((codes, owners))
    whose, sorted_codes = owners[order], codes[order]
    is_new = np.append(True, (whose[1:] != whose[:-1]) | (sorted_codes[1:] != sorted_codes[:-1]))[: len(order)]
    starts = np.append(0, np.cumsum(np.bincount(whose[is_new], minlength=people))).astype(np.int64)
    return starts, sorted_codes[is_new]


def _sensitive(column: pl.Series | None, values: ValueReading) -> pl.Series | None:
    return None if column is None else typed_column(column, Kind.CATEGORICAL, values)[0]


def _values(
    owners: NDArray[np.int32], column: pl.Series | None, people: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], tuple[str, ...]]:
    if column is None:
        return np.zeros(people + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), ()
    found = distinct_of(column)
    codes, there = found.rank_of[found.raw], column.is_not_null().to_numpy()
    starts, values = _rows(owners[there], codes[there].astype(np.int64), people)
    return starts, values.astype(np.int32), tuple(text_of(found.values).to_list())
