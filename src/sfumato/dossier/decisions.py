"""What was decided on the way to a release, for the report that is signed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import InputError
from sfumato.whole_files import read_regular_text


@dataclass(frozen=True)
class Decision:
    """One change of the setup."""

    made: str  # when, in UTC
    change: str  # what was changed, in words
    unique: int | None = None  # records of the original that were alone with their quasi-identifying values afterwards
    loss: float | None = None  # of the release that was made then, as a share

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def read_decisions(path: Path) -> list[Decision]:
    """Read decisions from a JSON file: a list of objects with ``made``, ``change`` and, if known, ``unique``, ``loss``.

    Raises ``InputError`` when it is something else.
    """
    try:
        content = json.loads(read_regular_text(path))
        found = [Decision(**entry) for entry in content]
    except (OSError, ValueError, TypeError):
        found = None
    if found is None or not all(map(_is_one, found)):
        raise InputError(f"{path}: is no list of decisions with made, change, unique and loss")
    return found


def _is_one(decision: Decision) -> bool:
    return (
        isinstance(decision.made, str)
        and isinstance(decision.change, str)
        and (decision.unique is None or type(decision.unique) is int)
        and (decision.loss is None or type(decision.loss) in (int, float))
    )
