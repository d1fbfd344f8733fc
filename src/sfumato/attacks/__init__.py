"""Attacks, each played against a release."""

from typing import Any

from sfumato.attacks.background_knowledge import BackgroundKnowledge
from sfumato.attacks.exact_linkage import Linkage
from sfumato.attacks.homogeneity import Homogeneity
from sfumato.attacks.nearest_linkage import NearestLinkage
from sfumato.attacks.similarity import Similarity
from sfumato.attacks.skewness import Skewness

__all__ = [
    "ATTACKS",
    "DEFAULT",
    "BackgroundKnowledge",
    "Homogeneity",
    "Linkage",
    "NearestLinkage",
    "Similarity",
    "Skewness",
]

ATTACKS: dict[str, Any] = {
    "linkage": Linkage,
    "nearest-linkage": NearestLinkage,
    "homogeneity": Homogeneity,
    "background-knowledge": BackgroundKnowledge,
    "skewness": Skewness,
    "similarity": Similarity,
}
"""Name on the command line → class."""

DEFAULT: tuple[str, ...] = ("linkage", "homogeneity", "background-knowledge", "skewness", "similarity")
"""Attacks that are played where none is named, as far as kind of release and what is known allow."""
