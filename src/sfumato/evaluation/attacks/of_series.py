"""Attacks that need the other releases of a series: here they are named, and it is said where they are played."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sfumato.release.folder import MARK

ELSEWHERE = "needs the other releases of the series: sfumato series attack plays it"
NAMES = ("forward, cross and backward attack", "record tracing")


def unplayed_of_series(release: object) -> Mapping[str, str]:
    """Return what one release of a series cannot be attacked with, and why; nothing for a release by itself."""
    if isinstance(release, (str, Path)):
        with suppress(OSError, ValueError):
            said = json.loads((Path(release) / MARK).read_text(encoding="utf-8"))
            if isinstance(said, dict) and said.get("series") is not None:
                return dict.fromkeys(NAMES, ELSEWHERE)
    return {}
