"""What a release under differential privacy says about itself: the content of its ``release.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.published.checks.private.promises import Budget
from sfumato.published.checks.private.sampling import SampleBudget
from sfumato.published.private import NOBODYS, SYNTHETIC, Domain, PrivateMarginals, SeriesSpent
from sfumato.published.private_sample import SAMPLE, PrivateSample
from sfumato.release.description import (
    FORMAT,
    PRIVATE,
    PRIVATE_SAMPLE,
    TableFacts,
    build_own_model,
    describe_own_model,
    listed_names,
    own_promises,
    read_own_description,
    versions,
)


@dataclass(frozen=True)
class PrivateDescription:
    """Everything that a verifier needs beside the tables.

    Attributes
    ----------
    domains : mapping of str to Domain
    sets : tuple of tuple of str
        Columns of each marginal.
    sensitive : tuple of str
    budget : Budget
    model : DifferentialPrivacy
    synthetic : bool
        Whether there are synthetic records.
    series : SeriesSpent or None
        What releases about the same people have spent, if that is told.
    """

    domains: Mapping[str, Domain]
    sets: tuple[tuple[str, ...], ...]
    sensitive: tuple[str, ...]
    budget: Budget
    model: DifferentialPrivacy
    synthetic: bool
    series: SeriesSpent | None = None

    @classmethod
    def of(
        cls,
        published: PrivateMarginals,
        budget: Budget,
        model: DifferentialPrivacy,
        series: SeriesSpent | None = None,
    ) -> PrivateDescription:
        """Describe marginals."""
        return cls(
            published.domains, published.sets, published.sensitive, budget, model, published.records is not None, series
        )

    @property
    def structure(self) -> dict[str, Any]:
        """How the tables are put together, for :meth:`sfumato.published.private.PrivateMarginals.assemble`."""
        return {"domains": self.domains, "sets": self.sets, "sensitive": self.sensitive}

    def to_dict(self, facts: Mapping[str, TableFacts], structure: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content of ``release.json``; `facts` describes the files, `structure` the tables."""
        return {
            "format": FORMAT,
            "kind": PRIVATE,
            "tables": {name: entry.to_dict() for name, entry in facts.items()},
            "structure": {
                **structure,
                "neighbours": self.model.neighbours,
                "budget": self.budget.to_dict(),
                **({} if self.series is None else {"series": self.series.to_dict()}),
                **({SYNTHETIC: NOBODYS} if self.synthetic else {}),
            },
            "sensitive": {},
            "models": [describe_own_model(self.model)],
            "suppression_limit": 0.0,
            "versions": {**versions(), "opendp": opendp_version()},
        }


def opendp_version() -> str:
    """Return the version of OpenDP that is installed."""
    try:
        return version("opendp")
    except PackageNotFoundError:
        return "unknown"


def read_private_description(text: str) -> tuple[PrivateDescription, dict[str, TableFacts]]:
    """Parse ``release.json``; return the description and what it says of the files.

    Raises
    ------
    VerificationError
        When it is not one, or is of a later format.
    """
    return read_own_description(text, _read)


def _read(content: Mapping[str, Any]) -> tuple[PrivateDescription, dict[str, TableFacts]]:
    structure = content["structure"]
    own_promises(content, DifferentialPrivacy)
    (entry,) = content["models"]
    model = build_own_model(DifferentialPrivacy, entry)
    if model is None or content["sensitive"] != {} or content["suppression_limit"] != 0:
        raise ValueError
    domains = {str(name): Domain.of(each) for name, each in structure["domains"].items()}
    sets = tuple(listed_names(names) for names in structure["sets"])
    sensitive = listed_names(structure["sensitive"])
    if not sets or {name for names in sets for name in names} != {*domains} or not {*sensitive} <= {*domains}:
        raise ValueError
    if any(not names or len(set(names)) < len(names) for names in sets):
        raise ValueError
    is_synthetic = SYNTHETIC in content["tables"]
    # Records that are not said to be synthetic would pass for somebody's.
    if structure["neighbours"] != model.neighbours or structure.get(SYNTHETIC) != (NOBODYS if is_synthetic else None):
        raise ValueError
    series = SeriesSpent.of(structure["series"]) if "series" in structure else None
    budget = Budget.of(structure["budget"])
    description = PrivateDescription(domains, sets, sensitive, budget, model, is_synthetic, series)
    return description, _facts(content["tables"], description)


def _facts(tables: Mapping[str, Any], description: PrivateDescription) -> dict[str, TableFacts]:
    names = {f"marginal_{place}" for place in range(1, len(description.sets) + 1)}
    if set(tables) != names | ({SYNTHETIC} if description.synthetic else set()):
        raise ValueError("other tables")
    facts = {name: TableFacts.of(entry) for name, entry in tables.items()}
    if len({entry.file for entry in facts.values()}) < len(facts) or any(entry.parts for entry in facts.values()):
        raise ValueError("other files")
    return facts


# What a private sample says about itself: the content of its ``release.json``.


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
    return read_own_description(text, _read_sample)


def _read_sample(content: Mapping[str, Any]) -> tuple[SampleDescription, TableFacts]:
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
