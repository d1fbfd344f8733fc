"""How a notebook shows values: short tables, bars and curves as HTML that needs nothing but itself.

Every text is escaped here, once. Colours are those of the page around, so that the same HTML suits light and dark.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from itertools import pairwise
from typing import Any

from sfumato.numbers import percent

MOST_ROWS = 30
"""Rows that a table shows; the others are counted."""

GOOD, BAD, OPEN, PLAIN = "good", "bad", "open", "plain"
"""What a mark says: holds, is broken, nobody knows, nothing of the sort."""

_LEFT, _RIGHT, _HIGH, _LOW = 58.0, 420.0, 12.0, 190.0
"""Where curves are drawn, in a picture 640 wide."""
_WIDEST = 170
"""Pixels of a bar that stands for all."""
_COLOURS = {GOOD: "#23936b", BAD: "#d1495b", OPEN: "#b8860b", PLAIN: "#3f7fd0"}
CURVES = ("#3f7fd0", "#d1495b", "#23936b", "#b8860b", "#9163c4", "#12939a", "#e07b39", "#808080")
"""Told apart on white and on black."""

_STYLE = (
    "<style>"
    ".sfumato{font-size:13px;line-height:1.45;max-width:860px}"
    ".sfumato .sf-title{font-weight:600;font-size:15px;margin:0 0 5px}"
    ".sfumato .sf-title span{font-weight:400;opacity:.7}"
    ".sfumato .sf-head{font-weight:600;font-size:13px;margin:11px 0 2px}"
    ".sfumato .sf-line,.sfumato .sf-list li{margin:2px 0;font-size:13px}"
    ".sfumato .sf-list{margin:2px 0 2px 19px;padding:0}"
    ".sfumato .sf-table{border-collapse:collapse;border:none;margin:4px 0;font-size:13px;width:auto;background:none}"
    ".sfumato .sf-table :is(tr,tr:nth-child(2n),tr:hover){background:none!important;border:none}"
    ".sfumato .sf-table :is(th,td){border:none;border-bottom:1px solid rgba(128,128,128,.25);"
    "padding:3px 14px 3px 0;text-align:left;vertical-align:baseline;white-space:normal;max-width:480px;"
    "min-width:0;background:none}"
    ".sfumato .sf-table th{font-weight:400;opacity:.65}"
    ".sfumato .sf-table .sf-number{text-align:right;font-variant-numeric:tabular-nums}"
    ".sfumato .sf-bar{display:inline-block;height:9px;border-radius:2px;vertical-align:baseline;"
    "margin-right:7px;min-width:2px}"
    ".sfumato svg{display:block;max-width:100%;height:auto;font-size:12px}"
    ".sfumato td svg{max-width:none}"
    "</style>"
)


@dataclass(frozen=True)
class Markup:
    """HTML that is safe: nothing in it comes from outside but by way of :func:`notebook_text`."""

    html: str


Cell = str | int | Markup


def notebook_text(written: object) -> str:
    """Escape a text for any place of a page."""
    return escape(str(written), quote=True)


def card(title: str, note: str, *parts: Markup) -> str:
    """Return what ``_repr_html_`` returns: a title, what it counts, and what is below."""
    head = f'<p class="sf-title">{notebook_text(title)} <span>{notebook_text(note)}</span></p>'
    return f'{_STYLE}<div class="sfumato">{head}{"".join(part.html for part in parts)}</div>'


def notebook_section(head: str, *parts: Markup) -> Markup:
    """Return parts under a heading, or nothing if they are empty."""
    inner = "".join(part.html for part in parts)
    return Markup(f'<p class="sf-head">{notebook_text(head)}</p>{inner}' if inner else "")


def lines(sentences: Iterable[str]) -> Markup:
    """Return a list of sentences."""
    items = "".join(f"<li>{notebook_text(sentence)}</li>" for sentence in sentences)
    return Markup(f'<ul class="sf-list">{items}</ul>' if items else "")


def paragraph(sentence: str) -> Markup:
    """Return one sentence."""
    return Markup(f'<p class="sf-line">{notebook_text(sentence)}</p>' if sentence else "")


def notebook_table(heads: Sequence[str], rows: Sequence[Sequence[Cell]], numbers: Iterable[int] = ()) -> Markup:
    """Return a table of at most :data:`MOST_ROWS` rows.

    `heads`: of the columns; none if all are empty. `rows`: texts are escaped. `numbers`: which columns, from 0, hold
    numbers, and are aligned to the right.
    """
    if not rows:
        return Markup("")
    right = frozenset(numbers)
    top = f"<thead>{_row(heads, 'th', right)}</thead>" if any(heads) else ""
    body = "".join(_row(row, "td", right) for row in rows[:MOST_ROWS])
    more = len(rows) - MOST_ROWS
    left = paragraph(f"and {more:,} more").html if more > 0 else ""
    return Markup(f'<table class="sf-table">{top}<tbody>{body}</tbody></table>{left}')


def _row(cells: Sequence[Cell], tag: str, right: frozenset[int]) -> str:
    aligned = (f'{tag} class="sf-number"' if place in right else tag for place in range(len(cells)))
    written = (f"<{start}>{_cell(cell)}</{tag}>" for start, cell in zip(aligned, cells, strict=True))
    return f"<tr>{''.join(written)}</tr>"


def _cell(cell: Cell) -> str:
    if isinstance(cell, Markup):
        return cell.html
    return f"{cell:,}" if isinstance(cell, int) else notebook_text(cell)


def notebook_mark(words: str, kind: str) -> Markup:
    """Return a word in the colour of what it says."""
    return Markup(f'<span style="color:{_COLOURS[kind]};font-weight:600">{notebook_text(words)}</span>')


def bar(share: float, words: str | None = None, *, kind: str = PLAIN) -> Markup:
    """Return a bar of a share from 0 to 1, and the share in words behind it."""
    width = _WIDEST * min(max(share, 0.0), 1.0)
    label = percent(share, 3) if words is None else words
    if not width:
        return Markup(notebook_text(label))
    return Markup(
        f'<span class="sf-bar" style="width:{width:.1f}px;background:{_COLOURS[kind]}"></span>{notebook_text(label)}'
    )


def interval(low: float, high: float, at: float, others: Mapping[str, float]) -> Markup:
    """Return an interval of shares on a scale from 0 to 1 with a point in it, and other points as short strokes.

    `low`, `high`, `at`: ends of the interval, and the point. `others`: what a stroke is → where it is.
    """
    width, height = 130.0, 14.0
    strokes = "".join(
        f'<path d="M{width * place:.1f} 1V13" stroke="currentColor" stroke-width="1.5" opacity=".6">'
        f"<title>{notebook_text(name)}</title></path>"
        for name, place in others.items()
    )
    line = f'<path d="M0 7H{width:g}" stroke="currentColor" opacity=".2"/>'
    span = f'<path d="M{width * low:.1f} 7H{width * high:.1f}" stroke="{_COLOURS[PLAIN]}" stroke-width="3"/>'
    point = f'<circle cx="{width * at:.1f}" cy="7" r="4.5" fill="{_COLOURS[PLAIN]}"/>'
    box = f'viewBox="-6 0 {width + 12:g} {height:g}" width="{width + 12:g}" height="{height:g}"'
    return Markup(f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {box}>{line}{strokes}{span}{point}</svg>')


def curves(points: Mapping[str, Sequence[tuple[float, float]]], across: str, up: str) -> Markup:
    """Draw curves; places across are spread evenly, as those of a sweep are chosen, not measured.

    `points`: name of a curve → its points, from the left. `across`, `up`: what the axes are.
    """
    places = sorted({x for curve in points.values() for x, _ in curve})
    top = max((y for curve in points.values() for _, y in curve), default=0.0)
    if not places or top <= 0:
        return Markup("")
    step = (_RIGHT - _LEFT) / max(1, len(places) - 1)
    middle = (_LEFT + _RIGHT) / 2
    column = {x: _LEFT + step * place if len(places) > 1 else middle for place, x in enumerate(places)}
    drawn = [_axes(top, column), _names(across, up)]
    for number, (name, curve) in enumerate(points.items()):
        colour = CURVES[number % len(CURVES)]
        spots = [(column[x], _LOW - (_LOW - _HIGH) * y / top) for x, y in curve]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in spots]
        drawn.append(_key(number, name, colour))
    height = max(236, 30 + 18 * len(points))
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 640 {height}" width="640" '
        f'height="{height}">{"".join(drawn)}</svg>'
    )


def _axes(top: float, column: Mapping[float, float]) -> str:
    lines = []
    for share in (0.0, 0.5, 1.0):
        y = _LOW - (_LOW - _HIGH) * share
        lines.append(f'<path d="M{_LEFT - 8:g} {y:g}H{_RIGHT + 8:g}" stroke="currentColor" opacity=".2"/>')
        lines.append(_written(_LEFT - 12, y + 4, "end", f"{top * share:.3g}"))
    return "".join([*lines, *(_written(x, _LOW + 18, "middle", f"{value:g}") for value, x in column.items())])


def _names(across: str, up: str) -> str:
    middle = (_LOW + _HIGH) / 2
    turned = _written(14, middle, "middle", up).replace("<text ", f'<text transform="rotate(-90 14 {middle:g})" ', 1)
    return _written((_LEFT + _RIGHT) / 2, _LOW + 38, "middle", across) + turned


def _written(x: float, y: float, anchor: str, words: str) -> str:
    place = f'x="{x:.1f}" y="{y:g}" text-anchor="{anchor}"'
    return f'<text {place} fill="currentColor" opacity=".8">{notebook_text(words)}</text>'


def _key(number: int, name: str, colour: str) -> str:
    y = 20 + 18 * number
    return f'<circle cx="448" cy="{y}" r="4" fill="{colour}"/>{_written(458, y + 4, "start", name)}'


def tree(levels: Sequence[Sequence[int]]) -> Markup:
    """Draw nested ranges, the widest on top: each level is the starts of its nodes and, last, the number of leaves."""
    leaves, wide, step = levels[0][-1], 560.0, 22.0
    boxes = []
    for row, starts in enumerate(reversed(levels)):
        if len(starts) > 400:
            starts = (0, leaves)  # finer than can be seen
        boxes += [
            f'<rect x="{wide * first / leaves + 0.5:.2f}" y="{row * step + 1:g}" '
            f'width="{max(wide * (last - first) / leaves - 1, 0.4):.2f}" height="{step - 3:g}" rx="2" '
            f'fill="{_COLOURS[PLAIN]}" opacity="{0.9 - 0.6 * row / max(1, len(levels) - 1):.2f}"/>'
            for first, last in pairwise(starts)
        ]
    height = step * len(levels)
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {wide:g} {height:g}" width="{wide:g}" '
        f'height="{height:g}">{"".join(boxes)}</svg>'
    )


PATIENCE = 1.0
"""Seconds of work before a bar is drawn, so that short work leaves nothing behind."""
EVERY = 0.2
"""Seconds between two drawings."""


class CellBar:
    """The bar of one kernel: drawn late and seldom, gone when its cell has run; `shell`: that of IPython."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._began: float | None = None
        self._drawn = 0.0
        self._handle: Any = None

    def show(self, what: str, done: int, total: int) -> None:
        """Draw what is being done, if it has been going on for long enough."""
        now = time.monotonic()
        if self._began is None:
            self._began = now
            self._shell.events.register("post_run_cell", self._end)
        if now - self._began < PATIENCE or now - self._drawn < EVERY:
            return
        self._drawn = now
        self._put(_html(what, done / max(1, total), now - self._began))

    def _put(self, html: str) -> None:
        shown: Any = import_module("IPython.display")
        if self._handle is None:
            self._handle = shown.display(shown.HTML(html), display_id=True)
        else:
            self._handle.update(shown.HTML(html))

    def _end(self, *_: object) -> None:
        """Take the bar away after the cell, whether it was finished, failed or was interrupted."""
        self._shell.events.unregister("post_run_cell", self._end)
        if self._handle is not None:
            self._put("")
        self._began, self._handle = None, None


_bars: dict[int, CellBar] = {}


def show(what: str, done: int, total: int) -> None:
    """Draw a bar if a kernel of Jupyter runs this, on the thread that runs its cells; else do nothing."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(shell, "kernel", None) is None or threading.current_thread() is not threading.main_thread():
        return
    _bars.setdefault(id(shell), CellBar(shell)).show(what, done, total)


def _html(what: str, share: float, seconds: float) -> str:
    percent = 100 * min(max(share, 0.0), 1.0)
    return (
        '<div style="display:flex;gap:.8em;align-items:center;font-size:.875rem;max-width:40rem">'
        f'<span style="flex:1">{escape(what)}</span>'
        '<span style="flex:1;height:.5em;border-radius:3px;background:rgba(128,128,128,.25)">'
        f'<span style="display:block;height:100%;width:{percent:.0f}%;border-radius:3px;background:#3f7fd0"></span>'
        f'</span><span style="opacity:.7">{seconds:.0f} s</span></div>'
    )
