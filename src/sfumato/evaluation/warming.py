"""Compile the kernels of named jobs in advance, by doing the jobs on small made-up tables."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.errors import InputError, SfumatoError
from sfumato.kernels.jit import TAKEN, always
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import EntropyLDiversity
from sfumato.progress import Progress, shown
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema
from sfumato.table.table import Table

USUAL = ("mondrian", "k-member", "measure", "risk")
"""The jobs that are compiled by default; verifying is part of every anonymizer."""

_WIDTHS = (60, 600)
"""Values of the widest attribute of a table: codes of one byte and of two bytes."""

_RECORDS = 900


def warm(names: Sequence[str] = USUAL, *, progress: Progress = shown) -> dict[str, float]:
    """Compile the kernels of jobs, for this machine and this version, into the user's cache folder.

    `names`: Anonymizers and publishers as policies name them; ``verify``, ``measure``, ``risk``. `progress`: Called
    with (what, done, total). Result: Name of each kernel that was compiled → seconds; empty if all were compiled
    before. Raises InputError with every name that is not known.
    """
    unknown = sorted(set(names) - set(_known()))
    if unknown:
        raise InputError(*(f"{name}: unknown; allowed: {', '.join(_known())}" for name in unknown))
    before = set(TAKEN.compiled)
    jobs = [(name, size) for name in names for size in _WIDTHS]
    with always("compiled"):
        for done, (name, size) in enumerate(jobs):
            progress(f"compiling for {name}", done, len(jobs))
            _do(name, _table(size))
        progress("done", len(jobs), len(jobs))
    return {name: seconds for name, seconds in TAKEN.compiled.items() if name not in before}


def _known() -> list[str]:
    """Return the names that :func:`warm` takes."""
    return [*ANONYMIZERS, *PUBLISHERS, *_OTHERS]


def _do(name: str, table: Table) -> None:
    if name in _OTHERS:
        _OTHERS[name](table)
        return
    from sfumato.release.anonymize import anonymize

    make: Any = ChainMap[str, Any](ANONYMIZERS, PUBLISHERS)[name]  # type: ignore[arg-type]
    for models in _models(make):
        try:
            anonymize(table, models, anonymizer=make(), seed=1, threads=1)
        except (SfumatoError, TypeError):
            # Not every algorithm takes every model, or can be built without settings; what it reached is compiled.
            continue


def _models(make: Any) -> Iterator[list[Any]]:
    if not getattr(make, "promises", True):
        yield []
        return
    yield [KAnonymity(5)]
    yield [KAnonymity(5), EntropyLDiversity(2)]


def _verify(table: Table) -> None:
    _do("mondrian", table)


def _measure(table: Table) -> None:
    from sfumato.evaluation.losses import measure
    from sfumato.release.anonymize import anonymize

    release = anonymize(table, KAnonymity(5), seed=1, threads=1)
    measure(table, release, k=5)


def _risk(table: Table) -> None:
    from sfumato.evaluation.risk.measure import risk

    risk(table)


_OTHERS: dict[str, Callable[[Table], None]] = {"verify": _verify, "measure": _measure, "risk": _risk}


def _table(values: int) -> Table:
    """Make up a table of invented records."""
    numbers = np.random.default_rng(1)
    columns: dict[str, Any] = {"number": numbers.integers(0, values, _RECORDS)}
    for name, distinct in (("group", 5), ("town", 12), ("illness", 6)):
        columns[name] = [f"{name} {number}" for number in numbers.integers(0, distinct, _RECORDS)]
    return read_table(
        pl.DataFrame(columns), Schema(quasi_identifying=["number", "group", "town"], sensitive=["illness"])
    )
