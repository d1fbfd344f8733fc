"""What is written of every release under differential privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from sfumato.kinds.private.check import Domain
from sfumato.release.formulas import Formulas, frames_without_formulas

# The report of a release under differential privacy: what is promised about whom, and what it cost.


LIMITS = (
    "It hides whether any one person is in the table, up to ε. It does not hide what the table says about people in "
    "general: of somebody in it and of somebody who is not, the same may be concluded.",
    "A group of g people is hidden up to g times ε, and δ grows faster than that.",
    "Another release of the same people adds its ε to this one's.",
    "Nobody can see ε in a file: who made the release attests that the noise was drawn.",
)
"""What such a release does not hide."""


def escaped_domains(domains: Mapping[str, Domain], formulas: Formulas) -> dict[str, Domain] | None:
    """Return the domains with their labels as they are to be written, or None; each label is looked at once."""
    frames = {name: pl.DataFrame({name: pl.Series(domain.labels, dtype=pl.String)}) for name, domain in domains.items()}
    escaped = frames_without_formulas(frames, formulas)
    if escaped is frames:
        return None
    return {name: replace(domain, labels=tuple(escaped[name][name].to_list())) for name, domain in domains.items()}


def said_otherwise(made: object | None, policy: object, settings: Sequence[str]) -> list[str]:
    """Tell which settings a policy has otherwise than the one that a release was made with, if that is known."""
    return [
        f"the policy says another {name} than the release was made with"
        for name in settings
        if made is not None and getattr(made, name) != getattr(policy, name)
    ]
