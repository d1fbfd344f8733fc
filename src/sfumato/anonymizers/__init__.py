"""Anonymizers: one paper, one file. Each takes a problem and returns a solution that holds no published value.

The classes are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.registry import Registry, class_places, loaded

if TYPE_CHECKING:
    from sfumato.anonymizers.best import Best
    from sfumato.anonymizers.buckets.bucketization import Bucketization
    from sfumato.anonymizers.cell_suppression import CellSuppression
    from sfumato.anonymizers.clustering.caat import CAAT
    from sfumato.anonymizers.clustering.k_member import KMember
    from sfumato.anonymizers.clustering.kaca import KACA
    from sfumato.anonymizers.clustering.kmeans import KMeans
    from sfumato.anonymizers.clustering.numeric import MDAV, VMDAV
    from sfumato.anonymizers.clustering.oka import OKA
    from sfumato.anonymizers.clustering.sbc import SBC
    from sfumato.anonymizers.clustering.utility_recoding import UtilityRecoding
    from sfumato.anonymizers.full_domain.datafly import Datafly
    from sfumato.anonymizers.full_domain.heuristic import Heuristic
    from sfumato.anonymizers.full_domain.incognito import Incognito
    from sfumato.anonymizers.full_domain.optimal import Optimal
    from sfumato.anonymizers.full_domain.samarati import Samarati
    from sfumato.anonymizers.marginals.marginals import Marginals
    from sfumato.anonymizers.mondrian import Mondrian
    from sfumato.anonymizers.protocol import Anonymizer, Problem, Publication, Publisher
    from sfumato.anonymizers.randomization.noise import Noise
    from sfumato.anonymizers.randomization.pram import PRAM
    from sfumato.anonymizers.randomization.rounding import Rounding, TopBottomCoding
    from sfumato.anonymizers.randomization.sampling import Sampling
    from sfumato.anonymizers.randomization.shuffling import Shuffling
    from sfumato.anonymizers.randomization.swapping import RankSwapping, Swapping
    from sfumato.anonymizers.single_dimensional.global_mondrian import GlobalMondrian
    from sfumato.anonymizers.single_dimensional.value_generalization import ValueGeneralization
    from sfumato.anonymizers.slicing.overlapping import OverlappingSlicing
    from sfumato.anonymizers.slicing.slicing import Slicing

__all__ = [
    "ANONYMIZERS",
    "CAAT",
    "KACA",
    "MDAV",
    "OKA",
    "PRAM",
    "PUBLISHERS",
    "SBC",
    "VMDAV",
    "Anonymizer",
    "Best",
    "Bucketization",
    "CellSuppression",
    "Datafly",
    "GlobalMondrian",
    "Heuristic",
    "Incognito",
    "KMeans",
    "KMember",
    "Marginals",
    "Mondrian",
    "Noise",
    "Optimal",
    "OverlappingSlicing",
    "Problem",
    "Publication",
    "Publisher",
    "RankSwapping",
    "Rounding",
    "Samarati",
    "Sampling",
    "Shuffling",
    "Slicing",
    "Swapping",
    "TopBottomCoding",
    "UtilityRecoding",
    "ValueGeneralization",
]

ANONYMIZERS = Registry(
    {
        "mondrian": "sfumato.anonymizers.mondrian:Mondrian",
        "optimal": "sfumato.anonymizers.full_domain.optimal:Optimal",
        "heuristic": "sfumato.anonymizers.full_domain.heuristic:Heuristic",
        "cell-suppression": "sfumato.anonymizers.cell_suppression:CellSuppression",
        "datafly": "sfumato.anonymizers.full_domain.datafly:Datafly",
        "incognito": "sfumato.anonymizers.full_domain.incognito:Incognito",
        "k-member": "sfumato.anonymizers.clustering.k_member:KMember",
        "k-means": "sfumato.anonymizers.clustering.kmeans:KMeans",
        "mdav": "sfumato.anonymizers.clustering.numeric:MDAV",
        "v-mdav": "sfumato.anonymizers.clustering.numeric:VMDAV",
        "oka": "sfumato.anonymizers.clustering.oka:OKA",
        "caat": "sfumato.anonymizers.clustering.caat:CAAT",
        "kaca": "sfumato.anonymizers.clustering.kaca:KACA",
        "utility-recoding": "sfumato.anonymizers.clustering.utility_recoding:UtilityRecoding",
        "global-mondrian": "sfumato.anonymizers.single_dimensional.global_mondrian:GlobalMondrian",
        "value-generalization": "sfumato.anonymizers.single_dimensional.value_generalization:ValueGeneralization",
        "sbc": "sfumato.anonymizers.clustering.sbc:SBC",
        "best": "sfumato.anonymizers.best:Best",
        "samarati": "sfumato.anonymizers.full_domain.samarati:Samarati",
    },
    group="sfumato.anonymizers",
)
"""Name in policies and on the command line → class."""

PUBLISHERS = Registry(
    {
        "bucketization": "sfumato.anonymizers.buckets.bucketization:Bucketization",
        "slicing": "sfumato.anonymizers.slicing.slicing:Slicing",
        "overlapping-slicing": "sfumato.anonymizers.slicing.overlapping:OverlappingSlicing",
        "marginals": "sfumato.anonymizers.marginals.marginals:Marginals",
        "swapping": "sfumato.anonymizers.randomization.swapping:Swapping",
        "rank-swapping": "sfumato.anonymizers.randomization.swapping:RankSwapping",
        "shuffling": "sfumato.anonymizers.randomization.shuffling:Shuffling",
        "noise": "sfumato.anonymizers.randomization.noise:Noise",
        "pram": "sfumato.anonymizers.randomization.pram:PRAM",
        "rounding": "sfumato.anonymizers.randomization.rounding:Rounding",
        "top-bottom-coding": "sfumato.anonymizers.randomization.rounding:TopBottomCoding",
        "sampling": "sfumato.anonymizers.randomization.sampling:Sampling",
    },
    group="sfumato.publishers",
)
"""The same for algorithms whose releases are no generalized tables."""

_PROTOCOL = ("Anonymizer", "Problem", "Publication", "Publisher")


_PLACES = {
    **class_places(ANONYMIZERS, PUBLISHERS),
    **{name: f"sfumato.anonymizers.protocol:{name}" for name in _PROTOCOL},
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return loaded(_PLACES[name])
