"""What the experiments of all papers share: their settings, runs that are timed alone, and claims about curves."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.generalized import GeneralizedTable
from sfumato.metrics import Rule, discernibility, normalized_certainty_penalty
from sfumato.models import KAnonymity
from sfumato.numbers import figure
from sfumato.parallel import each
from sfumato.progress import Progress, silent
from sfumato.recoding import TIGHT, recode
from sfumato.table.encoding import EncodedTable


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
