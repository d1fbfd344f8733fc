"""Which anonymizer to take, in one sentence with its reasons."""

from __future__ import annotations

import polars as pl

from sfumato.numbers import figure, percent

CRITERIA = {"count_error": "median error of counts", "loss": "information loss"}
"""The criteria: the first that was measured for all decides; less is better."""

CLOSE = 1.05
"""Anonymizers within 5 % of the best count as equally good; the fastest of them is taken."""


def recommend(means: pl.DataFrame, vary: str) -> str:
    """Recommend the anonymizer with the lowest average loss over the values that every candidate reached.

    Parameters
    ----------
    means
        One row for each anonymizer and value, with the figures.
    vary
        Name of the column of values.
    """
    if means.is_empty():
        return "Recommendation: none; no anonymizer satisfied the models at any value."
    criterion = next((name for name in CRITERIA if name in means.columns and not means[name].null_count()), None)
    if criterion is None:
        return "Recommendation: none; the releases have no figure in common."
    reached = means.group_by("anonymizer", maintain_order=True).agg(pl.len(), pl.col(criterion, "seconds").mean())
    complete = reached.filter(pl.col("len") == reached["len"].max())
    best = complete[criterion].min()
    assert isinstance(best, float)  # a column of floats without nulls
    close = complete.filter(pl.col(criterion) <= best * CLOSE).sort("seconds", criterion)
    chosen = close.row(0, named=True)
    words = CRITERIA[criterion]
    reasons = [f"its {words} is {percent(chosen[criterion], 3)} on average over {vary}"]
    if chosen[criterion] == best:
        reasons[0] += ", the lowest"
    else:
        reasons[0] += f", within 5% of the lowest ({percent(best, 3)}), and it is the fastest of those"
    others = complete.filter(pl.col("anonymizer") != chosen["anonymizer"]).sort(criterion)
    if others.height:
        second = others.row(0, named=True)
        times = second["seconds"] / chosen["seconds"]
        pace = f"{figure(times, 2)} times slower" if times >= 1 else f"{figure(1 / times, 2)} times faster"
        reasons.append(f"{second['anonymizer']} comes next with {percent(second[criterion], 3)} and is {pace}")
    failed = reached.height - complete.height
    if failed:
        reasons.append(f"{failed} of {reached.height} did not reach every value")
    return f"Recommendation: {chosen['anonymizer']}; {'; '.join(reasons)}."
