"""What promises about sensitive values leave open, whatever kind of release makes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfumato.models.protocol import PrivacyModel

BESIDE_THE_TABLE = (
    "Promises about sensitive values bound what the table itself tells of anybody. Who knows the algorithm may learn "
    "more (minimality).",
    "So may who knows values of some people (background knowledge), or learns from the whole table how values go "
    "together (deFinetti).",
)
"""Attackers that no such promise is about."""


def about_values(models: Iterable[PrivacyModel], sensitive: Sequence[str]) -> bool:
    """Tell whether any of the models looks at sensitive values."""
    return any(rule.attribute is not None for model in models for rule in model.rules(sensitive))


def limits_of_values(models: Iterable[PrivacyModel], sensitive: Sequence[str]) -> tuple[str, ...]:
    """Return what is left open where something is promised about sensitive values."""
    return BESIDE_THE_TABLE if about_values(models, sensitive) else ()
