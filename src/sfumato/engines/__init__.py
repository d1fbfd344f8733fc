"""Where the work on a table runs."""

from __future__ import annotations

from sfumato.engines.local import LocalEngine
from sfumato.engines.protocol import Engine

__all__ = ["Engine", "LocalEngine"]
