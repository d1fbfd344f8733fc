"""Judge curves for claims: whether one rises, whether one lies below another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sfumato.numbers import figure

Curve = dict[float, float]
"""Place → height."""


def curve_of(frame: pl.DataFrame, across: str, up: str, **only: Any) -> Curve:
    """Return a column over another, averaged over everything that `only` does not fix; sorted by place."""
    kept = frame.filter(*(pl.col(name) == value for name, value in only.items())).drop_nulls([across, up])
    means = kept.group_by(across).agg(pl.col(up).mean()).sort(across)
    return dict(zip(means[across].to_list(), means[up].to_list(), strict=True))


def rises(curve: Mapping[float, float], *, slack: float = 0.0) -> bool | None:
    """Tell whether a curve never falls by more than `slack` of its whole rise, and ends above its start.

    None if it has fewer than two points.
    """
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


def beside(one: Mapping[float, float], other: Mapping[float, float], places: str) -> str:
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
