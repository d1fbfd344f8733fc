"""Does a larger k ever lose less? ``python docs/figures/stricter.py [RECORDS]`` prints losses of default Mondrian.

The tables are those of ``which_method.py``, samples of at most RECORDS records; each row has one model of a sensitive
attribute, or none, and the losses for k = 2, 3, 5, 10, 20 and 50. What fell by more than a thousandth is marked.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import which_method

import sfumato as sf
from sfumato.models.protocol import PrivacyModel

SIZES = (2, 3, 5, 10, 20, 50)
MODELS: tuple[sf.DistinctLDiversity | sf.EntropyLDiversity | None, ...] = (
    None,
    *(form(least) for least in (2, 3) for form in (sf.DistinctLDiversity, sf.EntropyLDiversity)),
)


def loss(table: sf.Table, k: int, model: PrivacyModel | None) -> float:
    """Return the information loss, or NaN where the models cannot be satisfied."""
    try:
        models = [sf.KAnonymity(k), *([model] if model else [])]
        return sf.anonymize(table, models, anonymizer=sf.Mondrian(), seed=1).report.losses.normalized_ncp
    except sf.UnsatisfiableError:
        return math.nan


def rows(data: Path) -> Iterator[str]:
    """Yield a line for each table, with hierarchies and without, and each model."""
    for name, source in which_method.SOURCES.items():
        if source.sensitive is None:
            continue
        for coarser in (False, True):
            table = source.table(data, coarser=coarser)
            for model in MODELS:
                found = [loss(table, k, model) for k in SIZES]
                fall = max(before / after - 1 for i, before in enumerate(found) for after in found[i:])
                mark = f"  fell by {fall:.1%}" if fall > 0.001 else ""
                what = "hierarchies" if coarser else "none"
                figures = " ".join(f"{one:.4f}" for one in found)
                promised = f"{model.name:20} l={model.l}" if model else f"{'k alone':20}    "
                yield f"{name:10} {table.frame.height:6} {what:11} {promised}  {figures}{mark}"


if __name__ == "__main__":
    which_method.RECORDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    for row in rows(Path(os.environ["SFUMATO_DATA"])):
        print(row, flush=True)
