"""Releases under differential privacy beside the others: what they lose, and at which value others lose as much."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from sfumato.comparison.frontier import STRICTER
from sfumato.comparison.shared_work import SharedWork, prepared
from sfumato.errors import PolicyError
from sfumato.evaluation.utility.private_view import private_joint
from sfumato.evaluation.utility.release_view import error_figures
from sfumato.numbers import figure, percent
from sfumato.policy.private_policy import PrivatePolicy
from sfumato.policy.sample_policy import PrivateSamplePolicy
from sfumato.progress import Progress, silent
from sfumato.release.private.publish import publish_privately
from sfumato.release.private.sample_publish import publish_private_sample

PrivateWay = PrivatePolicy | PrivateSamplePolicy
ERROR = "count_error"


def private_problems(private: object) -> list[str]:
    """Say what is wrong with the policies that are compared, if anything is."""
    if not isinstance(private, Mapping):
        return ["private: must be a mapping of labels to PrivatePolicy or PrivateSamplePolicy"]
    return [
        f"private: {label!r} is neither a PrivatePolicy nor a PrivateSamplePolicy"
        for label, policy in private.items()
        if not isinstance(policy, (PrivatePolicy, PrivateSamplePolicy))
    ]


def private_frame(
    private: Mapping[str, PrivateWay], ground: SharedWork, repetitions: int, progress: Progress
) -> pl.DataFrame:
    """Make each release so often, and return a row for each.

    No seed makes them the same again. Figures are for the steward: they tell of the original beyond what was spent.
    """
    columns = {"release": pl.String, "repetition": pl.Int64, "epsilon": pl.Float64, "delta": pl.Float64}
    columns |= {"status": pl.String, "reason": pl.String, ERROR: pl.Float64, "seconds": pl.Float64}
    if not private:
        return pl.DataFrame(schema=columns)
    table = prepared(ground.table, ground)
    rows: list[dict[str, Any]] = []
    for label, policy in private.items():
        for repetition in range(repetitions):
            progress(f"comparing: {label}", len(rows), len(private) * repetitions)
            model = policy.to_model()
            row = {"release": label, "repetition": repetition, "epsilon": model.epsilon, "delta": model.delta}
            began = time.perf_counter()
            try:
                release = (
                    publish_privately(ground.table, policy, progress=silent)
                    if isinstance(policy, PrivatePolicy)
                    else publish_private_sample(ground.table, policy, progress=silent)
                )
                row |= {"status": "done", "seconds": time.perf_counter() - began}
                if table.questions is not None:
                    errors, _ = error_figures(table.questions, private_joint(release, table.original))
                    row |= {f"{name}_error": each.median for name, each in errors.items() if name == "count"}
            except PolicyError as error:
                row |= {"status": "refused", "reason": "; ".join(error.problems)}
            rows.append(row)
    return pl.DataFrame(rows, schema=columns)


def private_lines(private: pl.DataFrame, means: pl.DataFrame, vary: str) -> Iterator[str]:
    """Say of each release by how much counts are off, and at which value each anonymizer is off by no more."""
    if not private.height:
        return
    for rows in private.partition_by("release", maintain_order=True):
        first = rows.row(0, named=True)
        promise = f"{first['release']} (ε = {first['epsilon']:g}, δ = {first['delta']:g})"
        refused = rows.filter(pl.col("status") != "done")["reason"].unique(maintain_order=True).to_list()
        yield from (f"{promise}: {reason}" for reason in refused)
        error: Any = rows[ERROR].mean()
        if error is not None:
            others = "; ".join(_as_good(means, vary, error)) if ERROR in means.columns else ""
            yield f"{promise}: counts are off by {percent(error, 3)} (median){others and '; no worse are '}{others}"


def _as_good(means: pl.DataFrame, vary: str, error: float) -> Iterator[str]:
    for rows in means.drop_nulls(ERROR).partition_by("anonymizer", maintain_order=True):
        good = rows.filter(pl.col(ERROR) <= error)
        label = rows["anonymizer"][0]
        if not good.height:
            continue
        by_strictness = good.sort(pl.col(vary) * STRICTER.get(vary, 1))
        yield f"{label} up to {vary} = {figure(by_strictness[vary][-1])}"
