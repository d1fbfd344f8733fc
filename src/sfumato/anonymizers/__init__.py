"""Anonymizers: one paper, one file. Each takes a problem and returns a solution that holds no published value."""

from typing import Any

from sfumato.anonymizers.buckets.bucketization import Bucketization
from sfumato.anonymizers.cell_suppression.cell_suppression import CellSuppression
from sfumato.anonymizers.clustering.caat import CAAT
from sfumato.anonymizers.clustering.k_member import KMember
from sfumato.anonymizers.clustering.kaca import KACA
from sfumato.anonymizers.clustering.kmeans import KMeans
from sfumato.anonymizers.clustering.mdav import MDAV
from sfumato.anonymizers.clustering.oka import OKA
from sfumato.anonymizers.clustering.sbc import SBC
from sfumato.anonymizers.clustering.utility_recoding import UtilityRecoding
from sfumato.anonymizers.clustering.v_mdav import VMDAV
from sfumato.anonymizers.full_domain.datafly import Datafly
from sfumato.anonymizers.full_domain.incognito import Incognito
from sfumato.anonymizers.full_domain.optimal import Optimal
from sfumato.anonymizers.marginals.marginals import Marginals
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.anonymizers.protocol import Anonymizer, Problem, Publication, Publisher
from sfumato.anonymizers.randomization.coding import TopBottomCoding
from sfumato.anonymizers.randomization.noise import Noise
from sfumato.anonymizers.randomization.pram import PRAM
from sfumato.anonymizers.randomization.rank_swapping import RankSwapping
from sfumato.anonymizers.randomization.rounding import Rounding
from sfumato.anonymizers.randomization.sampling import Sampling
from sfumato.anonymizers.randomization.swapping import Swapping
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
    "Bucketization",
    "CellSuppression",
    "Datafly",
    "GlobalMondrian",
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
    "Sampling",
    "Slicing",
    "Swapping",
    "TopBottomCoding",
    "UtilityRecoding",
    "ValueGeneralization",
]

ANONYMIZERS: dict[str, Any] = {
    "mondrian": Mondrian,
    "optimal": Optimal,
    "cell-suppression": CellSuppression,
    "datafly": Datafly,
    "incognito": Incognito,
    "k-member": KMember,
    "k-means": KMeans,
    "mdav": MDAV,
    "v-mdav": VMDAV,
    "oka": OKA,
    "caat": CAAT,
    "kaca": KACA,
    "utility-recoding": UtilityRecoding,
    "global-mondrian": GlobalMondrian,
    "value-generalization": ValueGeneralization,
    "sbc": SBC,
}
"""Name in policies and on the command line → class."""

PUBLISHERS: dict[str, Any] = {
    "bucketization": Bucketization,
    "slicing": Slicing,
    "overlapping-slicing": OverlappingSlicing,
    "marginals": Marginals,
    "swapping": Swapping,
    "rank-swapping": RankSwapping,
    "noise": Noise,
    "pram": PRAM,
    "rounding": Rounding,
    "top-bottom-coding": TopBottomCoding,
    "sampling": Sampling,
}
"""The same for algorithms whose releases are no generalized tables."""
