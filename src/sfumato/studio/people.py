"""One person of the original, before and after: who looks like them, and what that says of their sensitive values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import polars as pl

from sfumato.hierarchy.specification import text_of
from sfumato.published import PublishedTable
from sfumato.release.opening import OpenedRelease
from sfumato.studio.desk import Desk
from sfumato.studio.grid import Sheet
from sfumato.table.schema import Schema

SHOWN_VALUES, SHOWN_ROWS = 8, 50


@dataclass(frozen=True)
class Believed:
    """How sure somebody is of a sensitive attribute who has found the records that fit.

    Attributes
    ----------
    name : str
    before, after : list of (value, records, share)
        The most frequent values among the records that fit, in the original and in the release.
    others_before, others_after : int
        Records with other values.
    """

    name: str
    before: list[tuple[str, int, float]]
    after: list[tuple[str, int, float]]
    others_before: int
    others_after: int


@dataclass(frozen=True)
class Found:
    """What an attacker finds who looks for one person.

    Attributes
    ----------
    known : list of (column, value)
        What the attacker knows.
    before, after : int
        Records that fit, in the original and in the release.
    beliefs : list of Believed
    rows : dict
        The first published records that fit, as the grid has them.
    """

    known: list[tuple[str, str | None]]
    before: int
    after: int
    beliefs: list[Believed]
    rows: dict[str, Any]


def found(desk: Desk, row: int, opened: OpenedRelease, schema: Schema) -> Found:
    """Look for the person of a row of the original.

    Cost O(n · q), twice.
    """
    # Here: it loads all attacks, and no page needs them before.
    from sfumato.evaluation.attacks.linking_attack import fits

    assert isinstance(opened.published, PublishedTable)
    names = list(schema.quasi_identifying)
    typed = {name: desk.table.typed(name, schema.quasi_identifying[name].kind)[0] for name in names}
    record = pl.DataFrame([series.slice(row - 1, 1) for series in typed.values()])
    alike = pl.Series([True] * desk.table.height)
    for series in typed.values():
        alike &= series.eq_missing(series.slice(row - 1, 1))
    fitting = fits(opened.published, record, schema, recoding=opened.policy.recoding())
    sensitive = [name for name in schema.sensitive if name in fitting.columns]
    shown = Sheet.of_frame(fitting)
    return Found(
        [(name, _texts(series.slice(row - 1, 1))[0]) for name, series in typed.items()],
        int(alike.sum()),
        fitting.height,
        [_believed(name, desk.table.texts(name).filter(alike), fitting[name]) for name in sensitive],
        shown.page(0, SHOWN_ROWS),
    )


def _believed(name: str, before: pl.Series, after: pl.Series) -> Believed:
    first, last = _shares(before), _shares(after)
    return Believed(name, first[0], last[0], first[1], last[1])


def _shares(values: pl.Series) -> tuple[list[tuple[str, int, float]], int]:
    counts = Counter(_texts(values))
    first = counts.most_common(SHOWN_VALUES)
    top = [("(missing)" if value is None else value, many, many / len(values)) for value, many in first]
    return top, len(values) - sum(many for _, many in first)


def _texts(column: pl.Series) -> list[str | None]:
    return text_of(column).to_list()
