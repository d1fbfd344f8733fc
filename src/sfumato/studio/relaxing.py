"""What to relax when a draft cannot be met: a few weaker drafts, each to be tried before anybody chooses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfumato.studio.draft import Draft

LOWER = ("k", "l", "m")
"""Parameters of which less is weaker."""
HIGHER = {"t": 1.0, "alpha": 1.0, "p": 0.99, "beta": None, "delta": None, "c": None}
"""Parameters of which more is weaker, with the most that makes sense."""
LIMITS = (0.01, 0.05)
"""Shares of the records that might be suppressed."""
MOST = 6


def weaker(draft: Draft) -> list[tuple[str, Draft]]:
    """Return weaker drafts with their names, of each promise and of the suppression limit; at most a handful."""
    found = [*_more_suppression(draft), *_weaker_models(draft)]
    return found[:MOST]


def _more_suppression(draft: Draft) -> Iterator[tuple[str, Draft]]:
    now = float(draft.rest.get("suppression-limit", 0.0))
    for limit in LIMITS:
        if limit > now:
            yield f"allow {limit:.0%} of the records to be suppressed", draft.with_rest("suppression-limit", limit)


def _weaker_models(draft: Draft) -> Iterator[tuple[str, Draft]]:
    models = list(draft.rest.get("models", ()))
    for place, model in enumerate(models):
        for key, value in model.items():
            for less in _weaker_values(key, value):
                changed = [*models[:place], {**model, key: less}, *models[place + 1 :]]
                yield f"{model['name']} with {key} = {less:g}", draft.with_rest("models", changed)


def _weaker_values(key: str, value: Any) -> list[Any]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return []
    if key in LOWER:
        least = 2 if key != "m" else 1
        # Close by first, then half of it.
        return sorted({each for each in (int(value) - 1, int(value) // 2) if least <= each < value}, reverse=True)
    if key in HIGHER:
        top = HIGHER[key]
        more = [value * 1.5, value * 2] if isinstance(value, float) else [value + 1, value * 2]
        kept = [round(each if top is None else min(each, top), 6) for each in more]
        return [each for each in dict.fromkeys(kept) if each > value]
    return []
