"""What a private sample says about itself: the content of its ``release.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.published.checks.private.sampling import SampleBudget
from sfumato.published.private import Domain, SeriesSpent
from sfumato.published.private_sample import SAMPLE, PrivateSample
from sfumato.release.description import (
    FORMAT,
    PRIVATE_SAMPLE,
    TableFacts,
    build_own_model,
    describe_own_model,
    listed_names,
    own_promises,
    read_own_description,
    versions,
)
from sfumato.release.private.description import opendp_version


@dataclass(frozen=True)
class SampleDescription:
    """Everything that a verifier needs beside the table.

    Attributes
    ----------
    domains : mapping of str to Domain
    levels : mapping of str to int
    sensitive : tuple of str
    budget : SampleBudget
    model : DifferentialPrivacy
    series : SeriesSpent or None
    """

    domains: Mapping[str, Domain]
    levels: Mapping[str, int]
    sensitive: tuple[str, ...]
    budget: SampleBudget
    model: DifferentialPrivacy
    series: SeriesSpent | None = None

    @property
    def structure(self) -> dict[str, Any]:
        """How the table is put together, for :meth:`sfumato.published.private_sample.PrivateSample.assemble`."""
        return {"domains": self.domains, "levels": self.levels, "sensitive": self.sensitive}


def described_sample(
    published: PrivateSample,
    budget: SampleBudget,
    model: DifferentialPrivacy,
    series: SeriesSpent | None,
    facts: Mapping[str, TableFacts],
) -> dict[str, Any]:
    """Return the content of ``release.json``; `facts` describes the file."""
    return {
        "format": FORMAT,
        "kind": PRIVATE_SAMPLE,
        "tables": {name: entry.to_dict() for name, entry in facts.items()},
        "structure": {
            **published.structure,
            "neighbours": model.neighbours,
            "budget": budget.to_dict(),
            **({} if series is None else {"series": series.to_dict()}),
        },
        "sensitive": {},
        "models": [describe_own_model(model)],
        "suppression_limit": 0.0,
        "versions": {**versions(), "opendp": opendp_version()},
    }


def read_sample_description(text: str) -> tuple[SampleDescription, TableFacts]:
    """Parse ``release.json``; return the description and what it says of the file.

    Raises
    ------
    VerificationError
        When it is not one, or is of a later format.
    """
    return read_own_description(text, _read)


def _read(content: Mapping[str, Any]) -> tuple[SampleDescription, TableFacts]:
    structure = content["structure"]
    own_promises(content, DifferentialPrivacy)
    (entry,) = content["models"]
    model = build_own_model(DifferentialPrivacy, entry)
    if model is None or content["sensitive"] != {} or content["suppression_limit"] != 0:
        raise ValueError
    domains = {str(name): Domain.of(each) for name, each in structure["domains"].items()}
    levels = dict(structure["levels"])
    sensitive = listed_names(structure["sensitive"])
    whole = all(isinstance(level, int) and not isinstance(level, bool) and level >= 0 for level in levels.values())
    if not domains or list(levels) != list(domains) or not whole or not {*sensitive} <= {*domains}:
        raise ValueError
    if structure["neighbours"] != model.neighbours or model.max_records not in (None, 1):
        raise ValueError
    series = SeriesSpent.of(structure["series"]) if "series" in structure else None
    budget = SampleBudget.of(structure["budget"])
    (table,) = content["tables"].items()
    facts = TableFacts.of(table[1])
    if table[0] != SAMPLE or facts.parts:
        raise ValueError
    return SampleDescription(domains, levels, sensitive, budget, model, series), facts
