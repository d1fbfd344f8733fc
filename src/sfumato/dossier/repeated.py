"""What a report says where a column of the original repeats as the key of people does, and nobody declared it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sfumato.evaluation.attacks.placing import place
from sfumato.models import known_models
from sfumato.models.says import smallest_allowed
from sfumato.numbers import counted
from sfumato.published import Published, PublishedTable
from sfumato.release.description import Description
from sfumato.release.policy_text import PublishedPolicy
from sfumato.table.table import Table


def repeated_key(
    original: Table | None, published: Published, description: Description, policy: PublishedPolicy
) -> dict[str, Any]:
    """Say that a column repeats, and how few people classes have by it; nothing where none does.

    Classes are counted if their labels and sizes leave no doubt which records of the original they hold.
    """
    repeated = None if original is None else original.repeated
    if original is None or repeated is None:
        return {}
    if not isinstance(published, PublishedTable):
        return {"repeated": repeated.sentence()}
    placed = place(published, original.frame, original.schema, policy.recoding())
    sure = np.flatnonzero(placed.filled)
    held = pl.DataFrame({"class": placed.class_of, "person": repeated.people}).filter(pl.col("class").is_in(sure))
    people = held.group_by("class").agg(pl.col("person").n_unique())["person"]
    if not len(people):
        return {"repeated": repeated.sentence()}
    k = smallest_allowed(known_models(description.models))
    few = int((people < k).sum())
    return {
        "repeated": f"{repeated.sentence()} By that column, of {counted(len(people), 'class')} whose records are known "
        f"for sure, the smallest has {counted(int(people.min()), 'person')}, and {few:,} have fewer than {k:,}."  # type: ignore[arg-type]
    }
