"""Checks that options of attacks share."""

from __future__ import annotations

SURE = 1e-9
"""Shares this close are equal: they are quotients of counts."""


def share_problems(what: str, value: object) -> list[str]:
    """Say that a value is no share above 0, at most 1; nothing where it is."""
    if _is_number(value) and 0 < value <= 1:  # type: ignore[operator]
        return []
    return [f"{what}: must be a number above 0, at most 1"]


def count_problems(what: str, value: object, *, least: int = 1) -> list[str]:
    """Say that a value is no whole number from `least` on; nothing where it is."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return []
    return [f"{what}: must be a whole number, {least} or above"]


def above_problems(what: str, value: object, least: float) -> list[str]:
    """Say that a value is no number above `least`; nothing where it is."""
    if _is_number(value) and least < value < float("inf"):  # type: ignore[operator]
        return []
    return [f"{what}: must be a number above {least:g}"]


def choice_problems(what: str, value: object, known: tuple[str, ...]) -> list[str]:
    """Say that a value is none of those known; nothing where it is one."""
    return [] if value in known else [f"{what}: must be one of {', '.join(map(repr, known))}"]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
