"""Anonymizers: one paper, one file; each turns a problem into a solution without a published value; loaded late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.registry import Registry, class_places, loaded

if TYPE_CHECKING:
    from sfumato.anonymizers.auto import Auto
    from sfumato.anonymizers.best import Best
    from sfumato.anonymizers.bucketization import Bucketization
    from sfumato.anonymizers.cell_suppression import CellSuppression
    from sfumato.anonymizers.clustering.greedy import CAAT, OKA, KMember, UtilityRecoding
    from sfumato.anonymizers.clustering.kaca import KACA
    from sfumato.anonymizers.clustering.numeric import MDAV, VMDAV, KMeans
    from sfumato.anonymizers.clustering.sbc import SBC
    from sfumato.anonymizers.full_domain.incognito import Datafly, Incognito, Samarati
    from sfumato.anonymizers.full_domain.optimal import Heuristic, Optimal
    from sfumato.anonymizers.marginals import Marginals
    from sfumato.anonymizers.mondrian import Mondrian
    from sfumato.anonymizers.protocol import Anonymizer, Problem, Publication, Publisher
    from sfumato.anonymizers.randomization.numbers import Noise, Rounding, TopBottomCoding
    from sfumato.anonymizers.randomization.records import PRAM, RankSwapping, Sampling, Shuffling, Swapping
    from sfumato.anonymizers.single_dimensional import GlobalMondrian, ValueGeneralization
    from sfumato.anonymizers.slicing.overlapping import OverlappingSlicing
    from sfumato.anonymizers.slicing.slicing import Slicing


ANONYMIZERS = Registry(
    {
        "mondrian": "sfumato.anonymizers.mondrian:Mondrian",
        "optimal": "sfumato.anonymizers.full_domain.optimal:Optimal",
        "heuristic": "sfumato.anonymizers.full_domain.optimal:Heuristic",
        "cell-suppression": "sfumato.anonymizers.cell_suppression:CellSuppression",
        "datafly": "sfumato.anonymizers.full_domain.incognito:Datafly",
        "incognito": "sfumato.anonymizers.full_domain.incognito:Incognito",
        "k-member": "sfumato.anonymizers.clustering.greedy:KMember",
        "k-means": "sfumato.anonymizers.clustering.numeric:KMeans",
        "mdav": "sfumato.anonymizers.clustering.numeric:MDAV",
        "v-mdav": "sfumato.anonymizers.clustering.numeric:VMDAV",
        "oka": "sfumato.anonymizers.clustering.greedy:OKA",
        "caat": "sfumato.anonymizers.clustering.greedy:CAAT",
        "kaca": "sfumato.anonymizers.clustering.kaca:KACA",
        "utility-recoding": "sfumato.anonymizers.clustering.greedy:UtilityRecoding",
        "global-mondrian": "sfumato.anonymizers.single_dimensional:GlobalMondrian",
        "value-generalization": "sfumato.anonymizers.single_dimensional:ValueGeneralization",
        "sbc": "sfumato.anonymizers.clustering.sbc:SBC",
        "best": "sfumato.anonymizers.best:Best",
        "auto": "sfumato.anonymizers.auto:Auto",
        "samarati": "sfumato.anonymizers.full_domain.incognito:Samarati",
    },
    group="sfumato.anonymizers",
)
"""Name in policies and on the command line → class."""

PUBLISHERS = Registry(
    {
        "bucketization": "sfumato.anonymizers.bucketization:Bucketization",
        "slicing": "sfumato.anonymizers.slicing.slicing:Slicing",
        "overlapping-slicing": "sfumato.anonymizers.slicing.overlapping:OverlappingSlicing",
        "marginals": "sfumato.anonymizers.marginals:Marginals",
        "swapping": "sfumato.anonymizers.randomization.records:Swapping",
        "rank-swapping": "sfumato.anonymizers.randomization.records:RankSwapping",
        "shuffling": "sfumato.anonymizers.randomization.records:Shuffling",
        "noise": "sfumato.anonymizers.randomization.numbers:Noise",
        "pram": "sfumato.anonymizers.randomization.records:PRAM",
        "rounding": "sfumato.anonymizers.randomization.numbers:Rounding",
        "top-bottom-coding": "sfumato.anonymizers.randomization.numbers:TopBottomCoding",
        "sampling": "sfumato.anonymizers.randomization.records:Sampling",
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
