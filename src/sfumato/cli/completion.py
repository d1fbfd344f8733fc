"""What a shell offers as values: columns of the table that was named, models, anonymizers, attacks.

Only names of columns are read of a table, never its values. What cannot be read is passed over: nothing is offered.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable


def words_so_far() -> list[str]:
    """Return the words behind the program's name that a shell wants to have completed; none if it does not ask."""
    if "_SFUMATO_COMPLETE" not in os.environ:
        return []
    return (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()[1:]


def columns(incomplete: str) -> list[str]:
    """Offer the columns of the first file on the line; of a list, behind its last comma."""
    from sfumato.errors import SfumatoError
    from sfumato.table.sources import open_source
    from sfumato.table.sources.protocol import CsvFormat

    # A database would be asked over the network, and standard input has been read by nobody yet.
    place = next((word for word in words_so_far() if os.path.isfile(word)), None)
    if place is None:
        return []
    try:
        names = open_source(place, CsvFormat()).names
    except (SfumatoError, OSError):
        return []
    before, comma, begun = incomplete.rpartition(",")
    taken = {*before.split(",")} if comma else set()
    return [f"{before}{comma}{name}" for name in names if name.startswith(begun) and name not in taken]


def models(incomplete: str) -> list[str]:
    """Offer privacy models."""
    from sfumato.models import MODELS

    return _begun(MODELS, incomplete)


def anonymizers(incomplete: str) -> list[str]:
    """Offer algorithms, for all kinds of release."""
    from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS

    return _begun([*ANONYMIZERS, *PUBLISHERS], incomplete)


def attacks(incomplete: str) -> list[str]:
    """Offer attacks; of a list, behind its last comma."""
    from sfumato.evaluation.attacks import ATTACKS

    before, comma, begun = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _begun(ATTACKS, begun)]


def one_of(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return what offers some names."""

    def offer(incomplete: str) -> list[str]:
        return _begun(names, incomplete)

    return offer


def _begun(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
