"""Attacks, each played against a release."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato.registry import Registry, class_places, loaded

if TYPE_CHECKING:
    from sfumato.evaluation.attacks.attribute_disclosure import BackgroundKnowledge, Homogeneity, Similarity, Skewness
    from sfumato.evaluation.attacks.corruption import Corruption
    from sfumato.evaluation.attacks.definetti import DeFinetti, OthersAndRelease
    from sfumato.evaluation.attacks.downcoding import Downcoding
    from sfumato.evaluation.attacks.fingerprint import Fingerprint
    from sfumato.evaluation.attacks.intersection import Intersection
    from sfumato.evaluation.attacks.learners import AttributeInference
    from sfumato.evaluation.attacks.linkage import Linkage
    from sfumato.evaluation.attacks.membership import MembershipInference, ShadowMembership
    from sfumato.evaluation.attacks.minimality import Minimality
    from sfumato.evaluation.attacks.nearest_linkage import NearestLinkage
    from sfumato.evaluation.attacks.noisy_linkage import NoisyLinkage
    from sfumato.evaluation.attacks.reconstruction import Reconstruction
    from sfumato.evaluation.attacks.singling_out import SinglingOut


ATTACKS = Registry(
    {
        "linkage": "sfumato.evaluation.attacks.linkage:Linkage",
        "nearest-linkage": "sfumato.evaluation.attacks.nearest_linkage:NearestLinkage",
        "noisy-linkage": "sfumato.evaluation.attacks.noisy_linkage:NoisyLinkage",
        "homogeneity": "sfumato.evaluation.attacks.attribute_disclosure:Homogeneity",
        "background-knowledge": "sfumato.evaluation.attacks.attribute_disclosure:BackgroundKnowledge",
        "corruption": "sfumato.evaluation.attacks.corruption:Corruption",
        "skewness": "sfumato.evaluation.attacks.attribute_disclosure:Skewness",
        "similarity": "sfumato.evaluation.attacks.attribute_disclosure:Similarity",
        "attribute-inference": "sfumato.evaluation.attacks.learners:AttributeInference",
        "membership-inference": "sfumato.evaluation.attacks.membership:MembershipInference",
        "shadow-membership": "sfumato.evaluation.attacks.membership:ShadowMembership",
        "singling-out": "sfumato.evaluation.attacks.singling_out:SinglingOut",
        "definetti": "sfumato.evaluation.attacks.definetti:DeFinetti",
        "others-and-release": "sfumato.evaluation.attacks.definetti:OthersAndRelease",
        "reconstruction": "sfumato.evaluation.attacks.reconstruction:Reconstruction",
        "minimality": "sfumato.evaluation.attacks.minimality:Minimality",
        "intersection": "sfumato.evaluation.attacks.intersection:Intersection",
        "downcoding": "sfumato.evaluation.attacks.downcoding:Downcoding",
        "fingerprint": "sfumato.evaluation.attacks.fingerprint:Fingerprint",
    }
)
"""Name on the command line → class, which is loaded at first use."""

CRITERIA: Mapping[str, tuple[str, ...]] = {
    "singling out": ("singling-out", "linkage", "nearest-linkage", "noisy-linkage", "downcoding", "reconstruction"),
    "linkability": ("intersection", "fingerprint"),
    "inference": (
        *("homogeneity", "background-knowledge", "corruption", "skewness", "similarity"),
        *("attribute-inference", "definetti", "others-and-release", "minimality"),
    ),
    "membership": ("membership-inference", "shadow-membership"),
}
"""What the attacks are about: the three criteria of the European data protection authorities, and membership."""

_PLACES = class_places(ATTACKS)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return loaded(_PLACES[name])


def attacks_on_demand() -> dict[str, str]:
    """Return the attacks that are played only when they are named, and why; all others make the default set."""
    return {name: one.on_demand for name, one in ATTACKS.items() if hasattr(one, "on_demand")}


_FORMER = ("seed-guessing", "record-order")


_Asked = TypeVar("_Asked")


def without_former(asked: Sequence[_Asked]) -> list[_Asked]:
    """Leave out, with a warning, what was played in version 0.2 and says nothing of what may be published."""
    for name in _FORMER:
        if name in asked:
            told = f"attack {name!r} is left out: it tries how this program draws, and is one of its tests now"
            warnings.warn(f"{told}; leave the name out", FutureWarning, stacklevel=3)
    return [one for one in asked if one not in _FORMER]
