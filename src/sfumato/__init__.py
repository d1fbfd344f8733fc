"""Sfumato: privacy-preserving data publishing.

A table about people goes in with a policy; out comes a release that can be verified by whoever receives it.

    import sfumato as sf

    schema = sf.Schema(identifying=["name"], quasi_identifying=["age", "sex", "zip"], sensitive=["disease"])
    table = sf.read_table("patients.csv", schema)
    release = sf.anonymize(table, [sf.KAnonymity(5), sf.EntropyLDiversity(3)])
    release.save("patients-release/")
    sf.verify("patients-release/")

Names are loaded at first use, so that ``import sfumato`` and ``sfumato --help`` are quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.anonymizers.buckets.bucketization import Bucketization as Bucketization
    from sfumato.anonymizers.cell_suppression.cell_suppression import CellSuppression as CellSuppression
    from sfumato.anonymizers.clustering.caat import CAAT as CAAT
    from sfumato.anonymizers.clustering.k_member import KMember as KMember
    from sfumato.anonymizers.clustering.kaca import KACA as KACA
    from sfumato.anonymizers.clustering.kmeans import KMeans as KMeans
    from sfumato.anonymizers.clustering.lower_bound import lower_bound as lower_bound
    from sfumato.anonymizers.clustering.mdav import MDAV as MDAV
    from sfumato.anonymizers.clustering.oka import OKA as OKA
    from sfumato.anonymizers.clustering.sbc import SBC as SBC
    from sfumato.anonymizers.clustering.utility_recoding import UtilityRecoding as UtilityRecoding
    from sfumato.anonymizers.clustering.v_mdav import VMDAV as VMDAV
    from sfumato.anonymizers.full_domain.datafly import Datafly as Datafly
    from sfumato.anonymizers.full_domain.incognito import Incognito as Incognito
    from sfumato.anonymizers.full_domain.optimal import Optimal as Optimal
    from sfumato.anonymizers.marginals.marginals import Marginals as Marginals
    from sfumato.anonymizers.mondrian.mondrian import Mondrian as Mondrian
    from sfumato.anonymizers.randomization.coding import TopBottomCoding as TopBottomCoding
    from sfumato.anonymizers.randomization.noise import Noise as Noise
    from sfumato.anonymizers.randomization.pram import PRAM as PRAM
    from sfumato.anonymizers.randomization.rank_swapping import RankSwapping as RankSwapping
    from sfumato.anonymizers.randomization.rounding import Rounding as Rounding
    from sfumato.anonymizers.randomization.sampling import Sampling as Sampling
    from sfumato.anonymizers.randomization.swapping import Swapping as Swapping
    from sfumato.anonymizers.ratings.loss import RatingLoss as RatingLoss
    from sfumato.anonymizers.single_dimensional.global_mondrian import GlobalMondrian as GlobalMondrian
    from sfumato.anonymizers.single_dimensional.value_generalization import ValueGeneralization as ValueGeneralization
    from sfumato.anonymizers.slicing.correlation import Correlation as Correlation
    from sfumato.anonymizers.slicing.correlation import correlation as correlation
    from sfumato.anonymizers.slicing.overlapping import OverlappingSlicing as OverlappingSlicing
    from sfumato.anonymizers.slicing.slicing import Slicing as Slicing
    from sfumato.compare.compare import compare as compare
    from sfumato.compare.comparison import Comparison as Comparison
    from sfumato.dossier.report import ReleaseReport as ReleaseReport
    from sfumato.dossier.report import report as report
    from sfumato.errors import HierarchyError as HierarchyError
    from sfumato.errors import InputError as InputError
    from sfumato.errors import PolicyError as PolicyError
    from sfumato.errors import SchemaError as SchemaError
    from sfumato.errors import SfumatoError as SfumatoError
    from sfumato.errors import UnsatisfiableError as UnsatisfiableError
    from sfumato.errors import VerificationError as VerificationError
    from sfumato.evaluation.attacks import ATTACKS as ATTACKS
    from sfumato.evaluation.attacks.hold_out import attack_policy as attack_policy
    from sfumato.evaluation.attacks.linkage import linking_attack as linking_attack
    from sfumato.evaluation.attacks.play import attack as attack
    from sfumato.evaluation.attacks.ratings.holding_out import hold_out_ratings as hold_out_ratings
    from sfumato.evaluation.attacks.ratings.scoring import attack_ratings as attack_ratings
    from sfumato.evaluation.attacks.ratings.scoring_result import RatingAttack as RatingAttack
    from sfumato.evaluation.losses import measure as measure
    from sfumato.evaluation.risk.measure import risk as risk
    from sfumato.evaluation.utility.kept_ratings import RatingUtility as RatingUtility
    from sfumato.evaluation.utility.kept_ratings import rating_utility as rating_utility
    from sfumato.evaluation.utility.measure import answer as answer
    from sfumato.evaluation.utility.measure import measure_utility as measure_utility
    from sfumato.evaluation.utility.queries import Among as Among
    from sfumato.evaluation.utility.queries import Query as Query
    from sfumato.evaluation.utility.queries import Range as Range
    from sfumato.evaluation.utility.queries import Workload as Workload
    from sfumato.evaluation.utility.splitting import hold_out as hold_out
    from sfumato.evaluation.utility.workload import query_workload as query_workload
    from sfumato.hierarchy import Hierarchy as Hierarchy
    from sfumato.hierarchy import dates as dates
    from sfumato.hierarchy import flat as flat
    from sfumato.hierarchy import groups as groups
    from sfumato.hierarchy import intervals as intervals
    from sfumato.hierarchy import prefixes as prefixes
    from sfumato.hierarchy import read_hierarchy as read_hierarchy
    from sfumato.hierarchy import write_hierarchy as write_hierarchy
    from sfumato.models import AlphaKAnonymity as AlphaKAnonymity
    from sfumato.models import BasicBetaLikeness as BasicBetaLikeness
    from sfumato.models import DeltaDisclosure as DeltaDisclosure
    from sfumato.models import DistinctLDiversity as DistinctLDiversity
    from sfumato.models import EnhancedBetaLikeness as EnhancedBetaLikeness
    from sfumato.models import EntropyLDiversity as EntropyLDiversity
    from sfumato.models import KAnonymity as KAnonymity
    from sfumato.models import ProbabilisticLDiversity as ProbabilisticLDiversity
    from sfumato.models import RecursiveLDiversity as RecursiveLDiversity
    from sfumato.models import SubsetKAnonymity as SubsetKAnonymity
    from sfumato.models import TCloseness as TCloseness
    from sfumato.models import WildcardKAnonymity as WildcardKAnonymity
    from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity as RatingAnonymity
    from sfumato.papers.reproduce import reproduce as reproduce
    from sfumato.papers.reproduction import Reproduction as Reproduction
    from sfumato.policy.policy import Policy as Policy
    from sfumato.policy.rating_policy import RatingPolicy as RatingPolicy
    from sfumato.published.checks.ratings.check import check_ratings as check_ratings
    from sfumato.published.checks.ratings.satisfaction import Satisfaction as Satisfaction
    from sfumato.recoding import Recoding as Recoding
    from sfumato.release.anonymize import anonymize as anonymize
    from sfumato.release.ratings.anonymize import anonymize_ratings as anonymize_ratings
    from sfumato.release.ratings.folder import save_ratings as save_ratings
    from sfumato.release.ratings.release import RatingRelease as RatingRelease
    from sfumato.release.release import Release as Release
    from sfumato.release.search import search_lattice as search_lattice
    from sfumato.release.verify import verify as verify
    from sfumato.table.ratings.ratings import Ratings as Ratings
    from sfumato.table.ratings.reading import read_ratings as read_ratings
    from sfumato.table.ratings.scale import Scale as Scale
    from sfumato.table.ratings.sensitive import SensitiveIssues as SensitiveIssues
    from sfumato.table.reading import read_table as read_table
    from sfumato.table.schema import Attribute as Attribute
    from sfumato.table.schema import Schema as Schema
    from sfumato.table.table import Table as Table

_HOMES = {
    "anonymizers.buckets.bucketization": ("Bucketization",),
    "anonymizers.cell_suppression.cell_suppression": ("CellSuppression",),
    "anonymizers.clustering.caat": ("CAAT",),
    "anonymizers.clustering.kaca": ("KACA",),
    "anonymizers.clustering.kmeans": ("KMeans",),
    "anonymizers.clustering.mdav": ("MDAV",),
    "anonymizers.clustering.sbc": ("SBC",),
    "anonymizers.clustering.utility_recoding": ("UtilityRecoding",),
    "anonymizers.clustering.v_mdav": ("VMDAV",),
    "anonymizers.clustering.oka": ("OKA",),
    "anonymizers.full_domain.datafly": ("Datafly",),
    "anonymizers.single_dimensional.global_mondrian": ("GlobalMondrian",),
    "anonymizers.full_domain.incognito": ("Incognito",),
    "anonymizers.clustering.k_member": ("KMember",),
    "anonymizers.clustering.lower_bound": ("lower_bound",),
    "anonymizers.marginals.marginals": ("Marginals",),
    "anonymizers.mondrian.mondrian": ("Mondrian",),
    "anonymizers.full_domain.optimal": ("Optimal",),
    "anonymizers.randomization.coding": ("TopBottomCoding",),
    "anonymizers.randomization.noise": ("Noise",),
    "anonymizers.randomization.pram": ("PRAM",),
    "anonymizers.randomization.rank_swapping": ("RankSwapping",),
    "anonymizers.randomization.rounding": ("Rounding",),
    "anonymizers.randomization.sampling": ("Sampling",),
    "anonymizers.randomization.swapping": ("Swapping",),
    "anonymizers.single_dimensional.value_generalization": ("ValueGeneralization",),
    "anonymizers.slicing.overlapping": ("OverlappingSlicing",),
    "anonymizers.slicing.slicing": ("Slicing",),
    "evaluation.attacks": ("ATTACKS",),
    "evaluation.attacks.linkage": ("linking_attack",),
    "errors": (
        "HierarchyError",
        "InputError",
        "PolicyError",
        "SchemaError",
        "SfumatoError",
        "UnsatisfiableError",
        "VerificationError",
    ),
    "hierarchy": (
        "Hierarchy",
        "dates",
        "flat",
        "groups",
        "intervals",
        "prefixes",
        "read_hierarchy",
        "write_hierarchy",
    ),
    "models": (
        "AlphaKAnonymity",
        "BasicBetaLikeness",
        "DeltaDisclosure",
        "DistinctLDiversity",
        "EnhancedBetaLikeness",
        "EntropyLDiversity",
        "KAnonymity",
        "ProbabilisticLDiversity",
        "RecursiveLDiversity",
        "SubsetKAnonymity",
        "TCloseness",
        "WildcardKAnonymity",
    ),
    "release.ratings.anonymize": ("anonymize_ratings",),
    "published.checks.ratings.check": ("check_ratings",),
    "evaluation.attacks.ratings.holding_out": ("hold_out_ratings",),
    "evaluation.utility.kept_ratings": ("RatingUtility", "rating_utility"),
    "models.k_epsilon_l_anonymity": ("RatingAnonymity",),
    "anonymizers.ratings.loss": ("RatingLoss",),
    "release.ratings.release": ("RatingRelease",),
    "table.ratings.ratings": ("Ratings",),
    "table.ratings.reading": ("read_ratings",),
    "table.ratings.scale": ("Scale",),
    "published.checks.ratings.satisfaction": ("Satisfaction",),
    "evaluation.attacks.ratings.scoring": ("attack_ratings",),
    "evaluation.attacks.ratings.scoring_result": ("RatingAttack",),
    "table.ratings.sensitive": ("SensitiveIssues",),
    "recoding": ("Recoding",),
    "compare.compare": ("compare",),
    "compare.comparison": ("Comparison",),
    "papers.reproduce": ("reproduce",),
    "papers.reproduction": ("Reproduction",),
    "dossier.report": ("ReleaseReport", "report"),
    "release.anonymize": ("anonymize",),
    "evaluation.attacks.play": ("attack",),
    "evaluation.attacks.hold_out": ("attack_policy",),
    "evaluation.losses": ("measure",),
    "policy.policy": ("Policy",),
    "policy.rating_policy": ("RatingPolicy",),
    "release.ratings.folder": ("save_ratings",),
    "release.release": ("Release",),
    "release.verify": ("verify",),
    "evaluation.risk.measure": ("risk",),
    "release.search": ("search_lattice",),
    "evaluation.utility.measure": ("answer", "measure_utility"),
    "anonymizers.slicing.correlation": ("Correlation", "correlation"),
    "table.reading": ("read_table",),
    "table.schema": ("Attribute", "Schema"),
    "table.table": ("Table",),
    "evaluation.utility.queries": ("Among", "Query", "Range", "Workload"),
    "evaluation.utility.splitting": ("hold_out",),
    "evaluation.utility.workload": ("query_workload",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    return getattr(import_module(f"sfumato.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
