"""Where the work on a table runs."""

from __future__ import annotations

from sfumato.engines.protocol import Engine, LocalEngine

__all__ = ["Engine", "LocalEngine"]
