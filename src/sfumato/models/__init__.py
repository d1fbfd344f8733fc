"""Privacy models, one file each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.errors import PolicyError
from sfumato.models.guarded_values import GuardedValues
from sfumato.models.k_anonymity import AlphaKAnonymity, KAnonymity
from sfumato.models.k_map import DeltaPresence, KMap
from sfumato.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    ProbabilisticLDiversity,
    RecursiveLDiversity,
)
from sfumato.models.likeness import BasicBetaLikeness, DeltaDisclosure, EnhancedBetaLikeness
from sfumato.models.profitability import Profitability
from sfumato.models.protocol import PrivacyModel
from sfumato.models.record_risk import AverageRisk, HighestRisk, PopulationUniques, SampleUniques
from sfumato.models.says import Says, Subject
from sfumato.models.starred_k_anonymity import SubsetKAnonymity, WildcardKAnonymity
from sfumato.models.t_closeness import TCloseness
from sfumato.registry import Registry

MODELS = Registry(
    {
        "k-anonymity": KAnonymity,
        "alpha-k-anonymity": AlphaKAnonymity,
        "distinct-l-diversity": DistinctLDiversity,
        "probabilistic-l-diversity": ProbabilisticLDiversity,
        "entropy-l-diversity": EntropyLDiversity,
        "recursive-l-diversity": RecursiveLDiversity,
        "t-closeness": TCloseness,
        "basic-beta-likeness": BasicBetaLikeness,
        "enhanced-beta-likeness": EnhancedBetaLikeness,
        "delta-disclosure": DeltaDisclosure,
        "guarded-values": GuardedValues,
        "subset-k-anonymity": SubsetKAnonymity,
        "wildcard-k-anonymity": WildcardKAnonymity,
        "k-map": KMap,
        "delta-presence": DeltaPresence,
        "average-risk": AverageRisk,
        "highest-risk": HighestRisk,
        "profitability": Profitability,
        "sample-uniques": SampleUniques,
        "population-uniques": PopulationUniques,
    },
    group="sfumato.models",
)
"""Name in policies and releases → class."""


def promisable(subject: Subject) -> tuple[str, ...]:
    """Return the names of the models that speak of `subject`."""
    return tuple(name for name, model in MODELS.items() if subject in getattr(model, "speaks_of", Says.speaks_of))


def known_model(entry: Mapping[str, Any]) -> PrivacyModel | None:
    """Return the model that a name and parameters describe, or None if this version does not know them."""
    try:
        known: PrivacyModel = MODELS[str(entry.get("name"))](
            **{key: value for key, value in entry.items() if key != "name"}
        )
        return known
    except (KeyError, TypeError, PolicyError):
        return None


def known_models(entries: Iterable[Mapping[str, Any]]) -> list[PrivacyModel]:
    """Return the models that entries describe, without those that this version does not know."""
    return [model for entry in entries if (model := known_model(entry)) is not None]


__all__ = [
    "MODELS",
    "AlphaKAnonymity",
    "AverageRisk",
    "BasicBetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctLDiversity",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "GuardedValues",
    "HighestRisk",
    "KAnonymity",
    "KMap",
    "PopulationUniques",
    "ProbabilisticLDiversity",
    "Profitability",
    "RecursiveLDiversity",
    "SampleUniques",
    "SubsetKAnonymity",
    "TCloseness",
    "WildcardKAnonymity",
    "known_model",
    "known_models",
    "promisable",
]
