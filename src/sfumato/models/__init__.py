"""Privacy models: a file each, or one for those that are computed alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.errors import PolicyError
from sfumato.models.protocol import PrivacyModel, Says, Subject
from sfumato.registry import Registry, class_places, loaded

if TYPE_CHECKING:
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
    from sfumato.models.record_risk import AverageRisk, HighestRisk, PopulationUniques, Profitability, SampleUniques
    from sfumato.models.starred_k_anonymity import SubsetKAnonymity, WildcardKAnonymity
    from sfumato.models.t_closeness import TCloseness

MODELS = Registry(
    {
        "k-anonymity": "sfumato.models.k_anonymity:KAnonymity",
        "alpha-k-anonymity": "sfumato.models.k_anonymity:AlphaKAnonymity",
        "distinct-l-diversity": "sfumato.models.l_diversity:DistinctLDiversity",
        "probabilistic-l-diversity": "sfumato.models.l_diversity:ProbabilisticLDiversity",
        "entropy-l-diversity": "sfumato.models.l_diversity:EntropyLDiversity",
        "recursive-l-diversity": "sfumato.models.l_diversity:RecursiveLDiversity",
        "t-closeness": "sfumato.models.t_closeness:TCloseness",
        "basic-beta-likeness": "sfumato.models.likeness:BasicBetaLikeness",
        "enhanced-beta-likeness": "sfumato.models.likeness:EnhancedBetaLikeness",
        "delta-disclosure": "sfumato.models.likeness:DeltaDisclosure",
        "guarded-values": "sfumato.models.guarded_values:GuardedValues",
        "subset-k-anonymity": "sfumato.models.starred_k_anonymity:SubsetKAnonymity",
        "wildcard-k-anonymity": "sfumato.models.starred_k_anonymity:WildcardKAnonymity",
        "k-map": "sfumato.models.k_map:KMap",
        "delta-presence": "sfumato.models.k_map:DeltaPresence",
        "average-risk": "sfumato.models.record_risk:AverageRisk",
        "highest-risk": "sfumato.models.record_risk:HighestRisk",
        "profitability": "sfumato.models.record_risk:Profitability",
        "sample-uniques": "sfumato.models.record_risk:SampleUniques",
        "population-uniques": "sfumato.models.record_risk:PopulationUniques",
    },
    group="sfumato.models",
)
"""Name in policies and releases → class, which is loaded at first use."""

_PLACES = class_places(MODELS)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, loaded(_PLACES[name]))


GENERALIZE = "take an anonymizer that generalizes, such as mondrian"
"""What to take for a model that a publisher cannot promise."""


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
