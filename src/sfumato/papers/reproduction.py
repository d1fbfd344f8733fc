"""The result of repeating a paper's experiments: tables, claims with their verdicts, drawings of its panels."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.partition import GeneralizedTable
from sfumato.drawing import curves_svg, style_of
from sfumato.errors import InputError, write_errors
from sfumato.metrics import Rule, discernibility, normalized_certainty_penalty
from sfumato.models import KAnonymity
from sfumato.numbers import figure
from sfumato.parallel import each
from sfumato.progress import Progress, silent
from sfumato.recoding import TIGHT, recode
from sfumato.table.encoding import EncodedTable

_MARK = "reproduction.json"
"""The file that marks a reproduction's own folder."""

_CELL = 11
"""Width of a column of a page's tables, in characters."""

PRINTED = "printed"
"""Name of the table with the paper's printed figures."""


class Verdict(StrEnum):
    """The outcome of a claim; a stand-in decides nothing of what the paper saw."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "cannot be decided"
    STAND_IN = "on a stand-in"
    QUICK = "not judged"  # a quick run shows figures


@dataclass(frozen=True)
class Claim:
    """Something that a paper says about its experiments, and whether it holds here."""

    text: str  # the claim, in our words
    where: str  # its place in the paper
    verdict: Verdict
    numbers: str  # the figures that decide it, or why nothing does
    there: Verdict | None = None  # on a stand-in: whether it holds of that

    @classmethod
    def judged(cls, text: str, where: str, holds: bool | None, numbers: str) -> Claim:
        """Make a claim that holds, does not, or (None) cannot be decided."""
        verdict = Verdict.OPEN if holds is None else Verdict.HOLDS if holds else Verdict.FAILS
        return cls(text, where, verdict, numbers)

    def on_a_stand_in(self) -> Claim:
        """Return the claim as one that was tried on another table than the paper's."""
        return self if self.verdict is Verdict.OPEN else replace(self, verdict=Verdict.STAND_IN, there=self.verdict)

    def unjudged(self) -> Claim:
        """Return the claim with its figures alone, of a run on too few records to judge by."""
        return replace(self, verdict=Verdict.QUICK, there=None)

    def to_dict(self) -> dict[str, str | None]:
        """Return plain values, for JSON."""
        content = {"claim": self.text, "where": self.where, "verdict": self.verdict.value, "numbers": self.numbers}
        return {**content, "on_the_stand_in": None if self.there is None else self.there.value}

    def __str__(self) -> str:
        """Write the verdict, the claim, and the figures in a line below."""
        verdict = self.verdict.upper() if self.there is None else f"{self.verdict.upper()} IT {self.there.upper()}"
        return f"  {verdict}: {self.text} ({self.where})\n    {self.numbers}"


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction:
    """The repeated experiments of a paper; made by :func:`sfumato.reproduce`.

    Attributes
    ----------
    paper : str
        Its name here.
    title : str
        Its author and title.
    data : tuple of str
        The tables that were used, and whether they are the paper's.
    frames : mapping of str to polars.DataFrame
        Tidy tables. ``"printed"``, if there is one, has the paper's printed figures, under the same column names.
    claims : tuple of Claim
    panels : tuple of Panel
        The drawings.
    notes : tuple of str
        What else a reader should know, above all departures from the paper.
    """

    paper: str
    title: str
    data: tuple[str, ...]
    frames: Mapping[str, pl.DataFrame]
    claims: tuple[Claim, ...]
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "paper": self.paper,
            "title": self.title,
            "data": list(self.data),
            "claims": [claim.to_dict() for claim in self.claims],
            "tables": {name: frame.to_dicts() for name, frame in self.frames.items()},
            "notes": list(self.notes),
        }

    def drawings(self) -> dict[str, str]:
        """Draw every panel, with the paper's printed figures as hollow marks.

        Returns
        -------
        dict of str to str
            Name without ending → SVG.

        Raises
        ------
        PolicyError
            When matplotlib is not installed.
        """
        printed = self.frames.get(PRINTED, pl.DataFrame())
        return {panel.name: _draw_panel(panel, self.frames[panel.frame], printed) for panel in self.panels}

    def save(self, folder: str | Path, *, drawings: bool = True) -> Path:
        """Write tables (CSV), drawings (SVG), ``reproduction.txt`` and ``reproduction.json`` into a folder.

        Parameters
        ----------
        folder
            Created if it does not exist; a folder of an earlier reproduction is replaced.
        drawings
            Draw the panels; needs matplotlib.

        Raises
        ------
        InputError
            When it cannot be written or holds something else.
        PolicyError
            When matplotlib is needed and not installed.
        """
        target = Path(folder)
        check_reproduction_folder(target)
        drawn = self.drawings() if drawings else {}
        texts = {f"{name}.svg": svg for name, svg in drawn.items()}
        texts |= {f"{name}.csv": frame.write_csv() for name, frame in self.frames.items()}
        texts["reproduction.txt"] = f"{self}\n"
        texts[_MARK] = json.dumps(self.to_dict(), indent=2) + "\n"
        with write_errors(f"{target}: the reproduction"):
            _replace_folder(target, texts)
        return target

    def __repr__(self) -> str:
        """Count the verdicts."""
        counts = {verdict: sum(claim.verdict is verdict for claim in self.claims) for verdict in Verdict}
        told = (f"{count} {verdict}" for verdict, count in counts.items() if count or verdict is not Verdict.QUICK)
        return f"Reproduction({self.paper}: {', '.join(told)})"

    def __str__(self) -> str:
        """Write a page: data, tables, claims, notes."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield self.title
        yield from (f"  {line}" for line in self.data)
        printed = self.frames.get(PRINTED, pl.DataFrame())
        for panel in self.panels:
            yield ""
            yield panel.title
            yield from _table(panel, panel.rows(self.frames[panel.frame]), panel.rows(printed))
        yield ""
        yield "Claims"
        for claim in self.claims:
            yield str(claim)
        if self.notes:
            yield ""
            yield "Notes"
            yield from (f"  {note}" for note in self.notes)


def headline(text: str) -> str:
    """Capitalize the first letter of a text and leave the rest unchanged."""
    return text[:1].upper() + text[1:]


def check_reproduction_folder(folder: Path) -> None:
    """Raise InputError unless `folder` is new, empty, or a reproduction's own."""
    if not folder.absolute().parent.is_dir():
        raise InputError(f"{folder.absolute().parent}: there is no such folder; make it first")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _MARK).is_file():
        raise InputError(f"{folder}: is not empty and was not made by a reproduction; name another folder")


def _replace_folder(target: Path, texts: Mapping[str, str]) -> None:
    """Write a folder beside the target, and move it there when it is complete."""
    part = Path(tempfile.mkdtemp(prefix=".sfumato-", dir=target.absolute().parent))
    try:
        part.chmod(0o755)
        for name, text in texts.items():
            (part / name).write_text(text, encoding="utf-8", newline="\n")
        if target.exists():
            shutil.rmtree(target)
        os.replace(part, target)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _table(panel: Panel, rows: pl.DataFrame, printed: pl.DataFrame) -> Iterator[str]:
    """Write a line for each curve, and one for the paper's printed figures."""
    places = sorted({*rows[panel.across].to_list(), *printed[panel.across].to_list()})
    labels = list(dict.fromkeys([*rows[panel.curves].to_list(), *printed[panel.curves].to_list()]))
    lines = [(label, _cells(panel, rows, label)) for label in labels]
    told = {label: _cells(panel, printed, label) for label in labels}
    width = max([len(panel.across), *(len(label) for label in labels), 12])
    yield f"  {panel.across:<{width}}" + _columns(places)
    for label, cells in lines:
        if cells:
            yield f"  {label:<{width}}" + _columns([cells.get(place) for place in places])
        if told[label]:
            name = "  the paper" if cells else f"{label}, the paper"
            yield f"  {name:<{width}}" + _columns([told[label].get(place) for place in places])


def _columns(values: Sequence[float | None]) -> str:
    """Write the cells of a line, with four digits."""
    return "".join(f"{'–' if value is None else figure(float(value), 4):>{_CELL}}" for value in values)


def _cells(panel: Panel, rows: pl.DataFrame, label: str) -> dict[Any, Any]:
    own = rows.filter(pl.col(panel.curves) == label)
    return dict(zip(own[panel.across].to_list(), own[panel.up].to_list(), strict=True))


_PRINTED_HERE = "printed in the paper"
"""All its marks have one entry of the legend: matplotlib leaves out names that begin with a line."""

_HOLLOW = {"color": "#000000", "linestyle": "", "markerfacecolor": "none", "markersize": 9}

_VARIANTS = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class Panel:
    """One figure or table of the paper, drawn from a tidy table: a curve for each method."""

    name: str  # name of the drawing's file, without ending
    title: str  # what is shown, and which figure of the paper shows it
    frame: str
    # `across`, `up`: columns for the two axes
    across: str
    up: str
    axes: tuple[str, str]  # labels of the axes, with units
    only: Mapping[str, Any] = field(default_factory=dict)  # columns that must have these values
    curves: str = "method"  # column that distinguishes the curves
    logarithmic: bool = False  # whether the vertical axis is logarithmic

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of a table that are drawn; none if it lacks the columns."""
        needed = {self.curves, self.across, self.up, *self.only}
        if not needed <= {*frame.columns}:
            return pl.DataFrame(schema={self.curves: pl.String, self.across: pl.Float64, self.up: pl.Float64})
        rows = frame.filter(*(pl.col(name) == value for name, value in self.only.items()))
        return rows.select(self.curves, self.across, self.up).drop_nulls()


def _draw_panel(panel: Panel, frame: pl.DataFrame, printed: pl.DataFrame) -> str:
    """Draw a panel's curves as SVG, the paper's figures as hollow black marks; ``PolicyError`` without matplotlib."""
    curves: dict[str, tuple[list[float], list[float]]] = {}
    styles: dict[str, dict[str, Any]] = {}
    rows, paper_rows = panel.rows(frame), panel.rows(printed)
    labels = list(dict.fromkeys([*rows[panel.curves].to_list(), *paper_rows[panel.curves].to_list()]))
    for label in labels:
        styles[label] = _style(label, labels)
        if label in rows[panel.curves]:
            curves[label] = _points(panel, rows, label)
    for label in (name for name in labels if name in paper_rows[panel.curves]):
        name = _PRINTED_HERE if _PRINTED_HERE not in curves else f"_{label}"
        curves[name] = _points(panel, paper_rows, label)
        styles[name] = {**styles[label], **_HOLLOW}
    return curves_svg(curves, *panel.axes, styles=styles, logarithmic=panel.logarithmic)


def _points(panel: Panel, rows: pl.DataFrame, label: str) -> tuple[list[float], list[float]]:
    own = rows.filter(pl.col(panel.curves) == label).sort(panel.across)
    return own[panel.across].to_list(), own[panel.up].to_list()


def _style(label: str, labels: list[str]) -> dict[str, Any]:
    """Return the style of a method: one colour for each method, one line for each variant (``mondrian (relaxed)``)."""
    method = _method(label)
    alike = [other for other in labels if _method(other) == method]
    style = style_of(method)
    if len(alike) > 1:
        style["linestyle"] = _VARIANTS[alike.index(label) % len(_VARIANTS)]
    if label != alike[0]:
        style["markerfacecolor"] = "none"
    return style


def _method(label: str) -> str:
    return label.partition(" (")[0]


@dataclass(frozen=True)
class Setting:
    """How experiments are repeated."""

    data: Path | None = None  # folder with public tables, as ``SFUMATO_DATA`` names one; None reads that variable
    seed: int = 1  # for synthetic tables, and for algorithms that draw at random
    quick: bool = False  # fewer records and values, to see that it works
    threads: int = 1  # runs at a time
    progress: Progress = field(default=silent)  # called with (what, done, total)


@dataclass(frozen=True, eq=False)
class Method:
    """A method of publishing, with its view of the table."""

    label: str  # its name on curves and in tables
    anonymizer: Anonymizer
    table: EncodedTable  # the table that it solves
    published: EncodedTable  # the table on which its losses are counted; the same records in the same order
    rule: Rule = "auto"  # how categories count in losses
    suppressible: bool = False  # whether it may suppress k records

    def run(self, k: int, seed: int) -> dict[str, Any]:
        """Publish with k-anonymity and return figures; ``seconds`` is the time of this thread alone."""
        limit = k if self.suppressible else 0
        began = time.thread_time()
        solved = self.anonymizer.solve(Problem(self.table, [KAnonymity(k)], suppression_limit=limit, seed=seed))
        recoded = recode(self.published, solved, TIGHT)
        seconds = time.thread_time() - began
        return {
            "method": self.label,
            "k": k,
            "loss": normalized_certainty_penalty(recoded, self.rule),
            "discernibility": discernibility(recoded),
            "classes": _distinct_published(recoded),
            "suppressed": solved.suppressed,
            "seconds": seconds,
        }


def _distinct_published(recoded: GeneralizedTable) -> int:
    """Count how many different published records there are, without suppressed ones."""
    return pl.DataFrame({str(place): column.per_class for place, column in enumerate(recoded.columns)}).n_unique()


def run_all(jobs: Sequence[Callable[[], dict[str, Any]]], setting: Setting, what: str) -> pl.DataFrame:
    """Run jobs, several at a time, and put their results into a table, in the order of the jobs."""
    done = 0

    def one(job: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        nonlocal done
        row = job()
        done += 1
        setting.progress(what, done, len(jobs))
        return row

    setting.progress(what, 0, len(jobs))
    return pl.DataFrame(each(one, jobs, setting.threads), infer_schema_length=None)


Curve = dict[float, float]
"""Place → height."""


def curve_of(frame: pl.DataFrame, across: str, up: str, **only: Any) -> Curve:
    """Return a column over another, averaged over everything that `only` does not fix; sorted by place."""
    rows = frame.filter(*(pl.col(name) == value for name, value in only.items())).drop_nulls([across, up])
    means = rows.group_by(across).agg(pl.col(up).mean()).sort(across)
    return dict(zip(means[across].to_list(), means[up].to_list(), strict=True))


def rises(curve: Mapping[float, float], *, slack: float = 0.0) -> bool | None:
    """Tell whether a curve never falls by more than `slack` of its rise and ends above its start; None if too short."""
    heights = np.array([curve[place] for place in sorted(curve)])
    if len(heights) < 2:
        return None
    allowed = slack * max(heights[-1] - heights[0], 0.0)
    return bool(heights[-1] > heights[0] and np.all(np.diff(heights) >= -allowed - 1e-12))


def lies_below(one: Mapping[float, float], others: Sequence[Mapping[float, float]]) -> bool | None:
    """Tell whether a curve is below all others wherever both have a point; None if there is no such place."""
    shared = [(one[place], other[place]) for other in others for place in one if place in other]
    return all(low < high for low, high in shared) if shared else None


def ends(curve: Mapping[float, float], digits: int = 3) -> str:
    """Write the first and the last point: ``0.01 at 2 to 0.2 at 100``."""
    places = sorted(curve)
    return " to ".join(f"{figure(curve[place], digits)} at {figure(place)}" for place in (places[0], places[-1]))


def beside_paper(one: Mapping[float, float], other: Mapping[float, float], places: str) -> str:
    """Write two curves place by place, and at how many of them the first is lower; `places` names these."""
    shared = [place for place in sorted(one) if place in other]
    if not shared:
        return "nothing was run"
    lower = sum(one[place] < other[place] for place in shared)
    pairs = "; ".join(f"{figure(place)}: {figure(one[place], 2)} for {figure(other[place], 2)}" for place in shared)
    return f"lower with {lower} of {len(shared)} {places}: {pairs}"


def agreed(verdicts: Sequence[bool | None]) -> bool | None:
    """Tell whether all hold; None if one is open and none fails."""
    if any(verdict is False for verdict in verdicts):
        return False
    return None if not verdicts or any(verdict is None for verdict in verdicts) else True
