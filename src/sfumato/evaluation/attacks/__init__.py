"""Attacks, each played against a release."""

from typing import Any

from sfumato.evaluation.attacks.attribute_disclosure import BackgroundKnowledge, Homogeneity, Similarity, Skewness
from sfumato.evaluation.attacks.attribute_inference import AttributeInference
from sfumato.evaluation.attacks.corruption import Corruption
from sfumato.evaluation.attacks.definetti import DeFinetti
from sfumato.evaluation.attacks.downcoding import Downcoding
from sfumato.evaluation.attacks.fingerprint import Fingerprint
from sfumato.evaluation.attacks.intersection import Intersection
from sfumato.evaluation.attacks.linkage import Linkage
from sfumato.evaluation.attacks.membership import MembershipInference
from sfumato.evaluation.attacks.minimality import Minimality
from sfumato.evaluation.attacks.nearest_linkage import NearestLinkage
from sfumato.evaluation.attacks.noisy_linkage import NoisyLinkage
from sfumato.evaluation.attacks.reconstruction import Reconstruction
from sfumato.evaluation.attacks.record_order import RecordOrder
from sfumato.evaluation.attacks.seed_guessing import SeedGuessing
from sfumato.evaluation.attacks.shadow_membership import ShadowMembership
from sfumato.evaluation.attacks.singling_out import SinglingOut

__all__ = [
    "ATTACKS",
    "DEFAULT",
    "ON_DEMAND",
    "AttributeInference",
    "BackgroundKnowledge",
    "Corruption",
    "DeFinetti",
    "Downcoding",
    "Fingerprint",
    "Homogeneity",
    "Intersection",
    "Linkage",
    "MembershipInference",
    "Minimality",
    "NearestLinkage",
    "NoisyLinkage",
    "Reconstruction",
    "RecordOrder",
    "SeedGuessing",
    "ShadowMembership",
    "Similarity",
    "SinglingOut",
    "Skewness",
]

ATTACKS: dict[str, Any] = {
    "linkage": Linkage,
    "nearest-linkage": NearestLinkage,
    "noisy-linkage": NoisyLinkage,
    "homogeneity": Homogeneity,
    "background-knowledge": BackgroundKnowledge,
    "corruption": Corruption,
    "skewness": Skewness,
    "similarity": Similarity,
    "attribute-inference": AttributeInference,
    "membership-inference": MembershipInference,
    "shadow-membership": ShadowMembership,
    "singling-out": SinglingOut,
    "definetti": DeFinetti,
    "reconstruction": Reconstruction,
    "minimality": Minimality,
    "intersection": Intersection,
    "downcoding": Downcoding,
    "seed-guessing": SeedGuessing,
    "record-order": RecordOrder,
    "fingerprint": Fingerprint,
}
"""Name on the command line → class."""

ON_DEMAND: dict[str, str] = {name: one.on_demand for name, one in ATTACKS.items() if hasattr(one, "on_demand")}
"""Attacks that are played only when they are named, and why."""

DEFAULT = tuple(name for name in ATTACKS if name not in ON_DEMAND)
"""The default set of attacks: those that the kind of release and the given data allow are played."""
