"""When attacks take shares for equal."""

from __future__ import annotations

SURE = 1e-9
"""Shares this close are equal: they are quotients of counts."""
