"""What k-anonymity may promise where people have several records, side by side: to records, and to people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

import polars as pl

from sfumato.errors import PolicyError
from sfumato.models import KAnonymity
from sfumato.models.protocol import PrivacyModel
from sfumato.numbers import figure, percent
from sfumato.table.table import Table


class Promise(StrEnum):
    """One of the releases that a comparison of promises makes of everything that it compares."""

    RECORDS = "k records"
    """Counts records, and promises nothing to people."""
    TOGETHER = "together"
    """Puts all records of a person into one class and promises nothing else: what folding alone costs."""
    PEOPLE = "k people"
    """Classes of k people."""
    SHARES = "nobody above 1/k"
    """Classes in which nobody has more than 1/k of the records, either: the default."""
    APART = "rows apart"
    """The same where records of a person may lie in different classes; made where an anonymizer can do so."""


def promises_of(anonymizers: Mapping[str, object]) -> dict[str, tuple[str, Promise]]:
    """Return the labels of what is compared: for each anonymizer and promise one, with what it stands for."""
    return {
        f"{label}, {promise}": (label, promise)
        for label, anonymizer in anonymizers.items()
        for promise in Promise
        if promise is not Promise.APART or getattr(anonymizer, "people_apart", False)
    }


def models_for(models: Sequence[PrivacyModel], promise: Promise) -> tuple[PrivacyModel, ...]:
    """Return the models of a promise.

    Raises
    ------
    PolicyError
        When no model is k-anonymity.
    """
    if not any(isinstance(model, KAnonymity) for model in models):
        raise PolicyError("people: 'both' compares what k-anonymity promises; name that model, e.g. KAnonymity(5)")
    if promise is Promise.TOGETHER:
        return (KAnonymity(1),)
    shares = False if promise is Promise.PEOPLE else None
    return tuple(replace(model, shares=shares) if isinstance(model, KAnonymity) else model for model in models)


def without_people(table: Table) -> Table:
    """Return the table as one in which every record is another person."""
    return replace(table, schema=replace(table.schema, person=None), people=None)


def promise_lines(means: pl.DataFrame, promises: Mapping[str, tuple[str, Promise]], vary: str) -> list[str]:
    """Say for each anonymizer what it costs to promise something to people, and how much of it is folding.

    Parameters
    ----------
    means
        One row for each label and value, with the figures.
    promises
        What the labels stand for.
    vary
        Name of the column of values. An average is over those that all of an anonymizer's reached.
    """
    lines = []
    for name in dict.fromkeys(name for name, _ in promises.values()):
        own = {promise: label for label, (other, promise) in promises.items() if other == name}
        rows = (
            means.filter(pl.col("anonymizer").is_in(list(own.values()))) if "loss" in means.columns else pl.DataFrame()
        )
        complete = rows.filter(pl.len().over(vary) == len(own)) if rows.height else rows
        if complete.height:
            losses = dict(complete.group_by("anonymizer").agg(pl.col("loss").mean()).iter_rows())
            lines.append(_line(name, vary, {promise: losses[label] for promise, label in own.items()}))
    return lines


def _line(name: str, vary: str, loss: Mapping[Promise, float]) -> str:
    four = (Promise.RECORDS, Promise.TOGETHER, Promise.PEOPLE, Promise.SHARES)
    records, together, people, shares = (loss[promise] for promise in four)
    apart = f"; the same with rows apart {percent(loss[Promise.APART], 3)}" if Promise.APART in loss else ""
    times = f", {figure(shares / people, 3)} times that of k people" if people else ""
    return (
        f"People, {name}, information loss on average over {vary}: k records {percent(records, 3)}, which promises "
        f"nothing to people; k people {percent(people, 3)}; nobody above 1/k {percent(shares, 3)}{times}{apart}. "
        f"To put all records of a person into one class loses {percent(together, 3)} by itself, without any k: the "
        "class covers all that the person's records say, so that nobody learns more by knowing several of them."
    )
