"""Which cases of a test that tries every pair a run has: a fixed quarter in ``make test``, all in ``make test-all``.

A case of a matrix is in one quarter, drawn from its name. A case with an anonymizer or a publisher as it is when nobody
chooses an option is in every quarter, so that each quarter has every one of them; that each has every model, too, a
test states (``guarantees/test_quarters.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from zlib import crc32

MATRIX = 24
"""Cases of one test from which on it is a matrix, in the folders below."""
WITH_MATRICES = {"anonymizers", "golden", "guarantees", "naive", "published"}
QUARTERS = 4
USUAL = 0
"""The quarter of ``make test``."""


def quarters_of(name: str, values: Mapping[str, Any]) -> set[int]:
    """Return the quarters that a case of a matrix is in."""
    if any(is_plain(value) for value in values.values()):
        return set(range(QUARTERS))
    return {crc32(name.encode()) % QUARTERS}


@cache
def _known() -> tuple[dict[type, str], dict[type, str], dict[str, Any]]:
    from guarantees.combinations import PUBLISHER_SETTINGS, SETTINGS
    from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
    from sfumato.models import MODELS

    ways = {**ANONYMIZERS, **PUBLISHERS}
    return (
        {ways[name]: name for name in ways},
        {MODELS[name]: name for name in MODELS},
        {**SETTINGS, **PUBLISHER_SETTINGS},
    )


def is_plain(value: Any) -> bool:
    """Tell whether a parameter is an anonymizer with the options that it has when nobody chooses any."""
    ways, _, settings = _known()
    way = settings.get(value, value) if isinstance(value, str) else value
    return type(way) in ways and way == type(way)()


def names_in(value: Any) -> Iterator[str]:
    """Yield the names of anonymizers, publishers and models that a parameter is or holds."""
    ways, models, settings = _known()
    one = settings.get(value, value) if isinstance(value, str) else value
    if isinstance(one, str):
        yield from {one} & {*ways.values(), *models.values()}
    elif isinstance(one, (list, tuple)):
        for each in one:
            yield from names_in(each)
    elif name := {**ways, **models}.get(type(one)):
        yield name
