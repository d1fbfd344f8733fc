"""Metrics of one's own in a comparison: functions of a release and the table that it was made from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sfumato.errors import PolicyError, SfumatoError, raise_all
from sfumato.registry import Registry
from sfumato.release.release import Release
from sfumato.table.table import Table

Metric = Callable[[Release, Table], float]
"""Returns one number. It is called on several threads, with one release on each."""

METRICS = Registry({}, group="sfumato.metrics")
"""Names that plug-ins give to metrics."""

_TAKEN = frozenset({"anonymizer", "repetition", "status", "reason", "records", "suppressed", "seconds", "cpu_seconds"})
_TAKEN_TOO = frozenset(
    {"loss", "discernibility", "average_class_size", "classes", "highest_risk", "average_risk", "count_error"}
)


def metrics_of(given: Mapping[str, Metric] | Sequence[str], vary: str) -> dict[str, Metric]:
    """Return metrics by their names, those of plug-ins looked up.

    Raises
    ------
    PolicyError
        With every one that is unknown, no function, or named like another figure.
    """
    if isinstance(given, str) or not isinstance(given, (Mapping, Sequence)):
        raise PolicyError("metrics: give functions by their names, such as {'suppressed cells': count_stars}")
    if not isinstance(given, Mapping):
        unknown = [f"metrics: {name!r} is not the name of a plug-in's metric" for name in given if name not in METRICS]
        raise_all(PolicyError, unknown)
        given = {name: METRICS[name] for name in given}
    problems = [f"metrics: {name!r} is no function" for name, metric in given.items() if not callable(metric)]
    taken = {*_TAKEN, *_TAKEN_TOO, vary}
    problems += [f"metrics: {name!r} is the name of another figure" for name in given if name in taken]
    raise_all(PolicyError, problems)
    return dict(given)


def measured(metrics: Mapping[str, Metric], release: Release, table: Table) -> dict[str, float]:
    """Measure a release, raising PolicyError where a metric fails; what it says of that may hold values."""
    return {name: _number(name, metric, release, table) for name, metric in metrics.items()}


def _number(name: str, metric: Metric, release: Release, table: Table) -> float:
    try:
        found: Any = metric(release, table)
        number = float(found)
    except SfumatoError:
        raise
    except Exception as error:
        raise PolicyError(f"metrics: {name!r} failed ({type(error).__name__}); mend it, or leave it out") from None
    if math.isnan(number):
        raise PolicyError(f"metrics: {name!r} returned no number; mend it, or leave it out")
    return number
