"""Published traces in other forms: wide, cells as GeoJSON, a map, a clock. All of it is made from what is published."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from math import cos, pi, radians, sin, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.hierarchy.tree import ROOT
from sfumato.kinds.traces.check import PLACE, TABLE, TIME, TRACE, VALUES
from sfumato.kinds.traces.grain import read_cell, read_time
from sfumato.numbers import counted
from sfumato.release.formulas import Formulas, frames_without_formulas
from sfumato.release.transaction import whole_folder

if TYPE_CHECKING:
    from sfumato.kinds.traces.release import TraceRelease

MOST_TIMES = 2_000
"""Columns of times that a table in wide form may have."""
_MOST_BARS = 30
"""Codes of places that are drawn."""
_LETTERS = 'font-family="system-ui,sans-serif" font-size="12" fill="currentColor"'
Tables = Mapping[str, pl.DataFrame]
"""The published tables by name."""


def wide_form(tables: Tables) -> pl.DataFrame:
    """Return published traces with a row for each, a column for each time, and places in the cells.

    Several places of one time, and several sensitive values, stand in one cell, with `` | `` between them. Raises
    ``InputError`` when there are more times than a table may have columns.
    """
    held = tables[TABLE]
    times = held[TIME].unique().sort()
    if len(times) > MOST_TIMES:
        raise InputError(f"{counted(len(times), 'time')} are too many columns for the wide form; keep the long one")
    cells = held.group_by(TRACE, TIME).agg(pl.col(PLACE).sort().str.join(" | "))
    wide = cells.pivot(TIME, index=TRACE, values=PLACE).sort(TRACE).select(TRACE, *times.to_list())
    if VALUES in tables:
        (name,) = (name for name in tables[VALUES].columns if name != TRACE)
        values = tables[VALUES].group_by(TRACE).agg(pl.col(name).sort().str.join(" | "))
        wide = wide.join(values, on=TRACE, how="left")
    return wide


def cells_as_geojson(tables: Tables) -> dict[str, Any]:
    """Return published cells as GeoJSON (RFC 7946, WGS 84), with the people in each, once, also by time; no codes."""
    held = tables[TABLE]
    of_place = held.group_by(PLACE).agg(pl.col(TRACE).n_unique().alias("people")).sort(PLACE)
    by_time = {
        place: dict(zip(rows[TIME].to_list(), rows["len"].to_list(), strict=True))
        for (place,), rows in held.group_by(PLACE, TIME).len().sort(PLACE, TIME).group_by(PLACE, maintain_order=True)
    }
    if not any(read_cell(place) for place in of_place[PLACE].to_list()):
        raise InputError("GeoJSON is of cells, and these places are codes")
    features = [
        {
            "type": "Feature",
            "geometry": _square(place),
            "properties": {"place": place, "people": people, "times": by_time[place]},
        }
        for place, people in of_place.iter_rows()
    ]
    return {"type": "FeatureCollection", "features": features}


def _square(place: str) -> dict[str, Any] | None:
    cell = read_cell(place)
    if cell is None:
        return None
    south, west, side = cell
    north, east = min(south + side, 90.0), min(west + side, 180.0)
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {"type": "Polygon", "coordinates": [ring]}


def pictures(tables: Tables) -> dict[str, str]:
    """Return a map and a clock of published traces as SVG, by title; they need nothing from elsewhere."""
    return {"Where: people by place": map_svg(tables), "When: points by hour of the day": clock_svg(tables)}


def map_svg(tables: Tables) -> str:
    """Draw cells, darker where more people are for their size; of codes of places, bars of the most frequent ones."""
    counts = tables[TABLE].group_by(PLACE).agg(pl.col(TRACE).n_unique().alias("people")).sort("people", PLACE)
    rows = counts.rows()
    cells = [(cell, place, people) for place, people in rows if (cell := read_cell(place)) is not None]
    if not cells:
        return _bars_svg(rows[::-1][:_MOST_BARS], len(rows))
    cells.sort(key=lambda one: (-one[0][2], one[1]))
    south, west, north, east = _extent([(cell, people) for cell, _, people in cells])
    squeeze = cos(radians((south + north) / 2))
    scale = min(680 / ((east - west) * squeeze), 520 / (north - south))
    width, height = (east - west) * squeeze * scale, (north - south) * scale
    dense = max(people / cell[2] ** 2 for cell, _, people in cells)
    squares = []
    for (low, left, side), place, people in cells:
        x0, x1 = ((min(max(at, west), east) - west) * squeeze * scale for at in (left, left + side))
        y0, y1 = ((north - min(max(at, south), north)) * scale for at in (low + side, low))
        shade = sqrt(people / side**2 / dense)
        squares.append(
            f'<rect x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}" fill="{_shade(shade)}" '
            f'stroke="#fff" stroke-width=".5"><title>{escape(place)}: {counted(people, "person")}</title></rect>'
        )
    return _svg(
        width,
        height + 44,
        "Map of published cells",
        [f'<rect width="{width:.1f}" height="{height:.1f}" fill="#f4f4f4"/>', *squares],
        _scale_bar(scale, width, height),
        [f'<text x="{width - 4:.1f}" y="{height + 16:.1f}" text-anchor="end">darker: more people for its size</text>'],
        [
            f'<text x="{width - 4:.1f}" y="{height + 34:.1f}" text-anchor="end">south-west corner '
            f"{south:g}°, {west:g}°; north is up</text>"
        ],
    )


def _extent(cells: list[tuple[tuple[float, float, float], int]]) -> tuple[float, float, float, float]:
    """Return the box of the smallest cells that hold nine tenths of the people; larger cells are cut there."""
    total, held = sum(people for _, people in cells), 0
    chosen = []
    for cell, people in sorted(cells, key=lambda one: one[0][2]):
        chosen.append(cell)
        held += people
        if held >= 0.9 * total:
            break
    south, west = min(cell[0] for cell in chosen), min(cell[1] for cell in chosen)
    return south, west, max(cell[0] + cell[2] for cell in chosen), max(cell[1] + cell[2] for cell in chosen)


def _scale_bar(scale: float, width: float, height: float) -> list[str]:
    """Draw a length of whole kilometres along the meridian, where a degree has 111.2 km."""
    per_km = scale / 111.2
    kilometres = max((step for step in (0.1, 0.2, 0.5, *_STEPS) if step * per_km <= width / 3), default=0.1)
    long = kilometres * per_km
    return [
        f'<path d="M4 {height + 12:.1f}v6h{long:.1f}v-6" fill="none" stroke="currentColor"/>',
        f'<text x="4" y="{height + 34:.1f}">{kilometres:g} km</text>',
    ]


_STEPS = tuple(float(step * 10**power) for power in range(5) for step in (1, 2, 5))


def _bars_svg(rows: list[tuple[str, int]], places: int) -> str:
    most = max((people for _, people in rows), default=1)
    bars = [
        f'<text x="4" y="{18 * at + 14}">{escape(place[:40])}</text>'
        f'<rect x="280" y="{18 * at + 3}" width="{340 * people / most:.1f}" height="13" fill="{_shade(0.8)}"/>'
        f'<text x="{288 + 340 * people / most:.1f}" y="{18 * at + 14}">{people:,}</text>'
        for at, (place, people) in enumerate(rows)
    ]
    height = 18 * len(rows) + 22
    more = [f'<text x="4" y="{height - 6}">{counted(places - len(rows), "place")} more</text>'] * (places > len(rows))
    return _svg(700, height, "People by place", bars, more)


def clock_svg(tables: Tables) -> str:
    """Draw points by hour, of the week and at weekends; wider times count for each hour, of days for none."""
    hours = np.zeros((2, 24))
    without = 0
    for time, points in tables[TABLE].group_by(TIME).len().sort(TIME).iter_rows():
        found = None if time == ROOT else read_time(time)
        if found is None or found[1] >= 24:
            without += points
            continue
        start, width = found
        hours[int(start // 24 % 7 >= 5), start % 24 : start % 24 + width] += points / width
    most, parts = max(float(hours.sum(axis=0).max()), 1e-9), []
    for hour in range(24):
        inner = 40.0
        for kind, colour in enumerate(("#4f81bd", "#e0a030")):
            outer = inner + 110 * float(hours[kind, hour]) / most
            what = ("Monday to Friday", "weekend")[kind]
            share = f"{hour:02d}:00, {what}: {hours[kind, hour]:.0f}"
            parts.append(f'<path d="{_sector(hour, inner, outer)}" fill="{colour}"><title>{share}</title></path>')
            inner = outer
    marks = [
        f'<text x="{180 + 165 * sin(pi * hour / 12):.1f}" y="{184 - 165 * cos(pi * hour / 12):.1f}" '
        f'text-anchor="middle">{hour}</text>'
        for hour in range(0, 24, 3)
    ]
    legend = [
        '<rect x="8" y="366" width="12" height="12" fill="#4f81bd"/>',
        '<text x="26" y="376">Monday to Friday</text>',
        '<rect x="170" y="366" width="12" height="12" fill="#e0a030"/><text x="188" y="376">weekend</text>',
    ]
    if without:
        legend.append(f'<text x="8" y="396">{counted(without, "point")} of a day and more are not drawn</text>')
    return _svg(360, 404 if without else 386, "Points by hour of the day", parts, marks, legend)


def _sector(hour: int, inner: float, outer: float) -> str:
    """Return the path of a piece of a ring: one of 24, midnight on top."""
    first, last = pi * hour / 12 + 0.01, pi * (hour + 1) / 12 - 0.01
    at = [
        (180 + radius * sin(angle), 180 - radius * cos(angle))
        for radius, angle in ((inner, first), (outer, first), (outer, last), (inner, last))
    ]
    (a, b), (c, d), (e, f), (g, h) = at
    return (
        f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}A{outer:.1f} {outer:.1f} 0 0 1 {e:.1f} {f:.1f}"
        f"L{g:.1f} {h:.1f}A{inner:.1f} {inner:.1f} 0 0 0 {a:.1f} {b:.1f}Z"
    )


def _shade(share: float) -> str:
    """Return a blue, the darker the nearer to 1."""
    light, dark = (222, 235, 247), (8, 48, 107)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(light, dark, strict=True))


def _svg(width: float, height: float, title: str, *parts: list[str]) -> str:
    inner = "".join(piece for part in parts for piece in part)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'role="img" aria-label="{escape(title)}" {_LETTERS}>{inner}</svg>'
    )


def page_of(tables: Tables, report: str) -> str:
    """Return a page with a map, a clock and a report, whole in itself."""
    drawn = "".join(f"<h2>{escape(title)}</h2>{picture}" for title, picture in pictures(tables).items())
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Traces</title>'
        '<meta name="viewport" content="width=device-width"><style>body{font-family:system-ui,sans-serif;'
        "max-width:48rem;margin:1rem auto;padding:0 1rem;color:#222}pre{white-space:pre-wrap}"
        "svg{max-width:100%;height:auto}</style></head>"
        f"<body><h1>Where people were, and when</h1>{drawn}<h2>Report</h2><pre>{escape(report)}</pre></body></html>\n"
    )


def write_forms(release: TraceRelease, folder: str | Path, *, formulas: Formulas = "keep") -> Path:
    """Write published traces in other forms into a folder beside the release; all of it may be published.

    Parameters
    ----------
    release
        As :func:`sfumato.traces.anonymize_traces` returns it.
    folder
        Where to; it must not be there yet. It gets ``wide.csv``, a row for each trace and a column for each time;
        ``report.html``, the report with a map and a clock; and, where places are cells, ``cells.geojson`` with the
        people in each.
    formulas
        Of cells that begin like a formula, as for :func:`sfumato.traces.save_traces`.

    Returns
    -------
    pathlib.Path
        The folder.

    Raises
    ------
    InputError
        When the folder cannot be written there, or there are too many times for columns.
    PolicyError
        When formulas are refused, or cannot be escaped.

    Notes
    -----
    All three files are made from the published tables alone, so that they tell nothing that the release does not.
    """
    target = Path(folder)
    raise_all(PolicyError, [] if formulas in ("keep", "escape", "refuse") else ["formulas: keep, escape or refuse"])
    tables = release.tables
    wide = frames_without_formulas({"wide": wide_form(tables)}, formulas)["wide"]
    with whole_folder(target, overwrite=False) as part:
        wide.write_csv(part / "wide.csv")
        (part / "report.html").write_text(page_of(tables, str(release.report.for_release())), encoding="utf-8")
        if release.published.is_grid:
            cells = json.dumps(cells_as_geojson(tables), ensure_ascii=False)
            (part / "cells.geojson").write_text(cells + "\n", encoding="utf-8")
    return target
