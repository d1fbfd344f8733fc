"""Public names of the last version that stand in a module now: they go on working for this one, each with a warning."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "sfumato.attacks": "ATTACKS fits linking_attack",
    "sfumato.extend": "register",
    "sfumato.noisy_counts": (
        "DifferentialPrivacy PrivacyLedger PrivatePolicy PrivateRelease publish_privately save_private"
    ),
    "sfumato.private_sample": "PrivateSamplePolicy PrivateSampleRelease publish_private_sample save_private_sample",
    "sfumato.queries": "Among Query Range Workload answer query_workload",
    "sfumato.randomization": "Noise PRAM RankSwapping Rounding Sampling Shuffling Swapping TopBottomCoding",
    "sfumato.ratings": (
        "RatingAnonymity RatingAttack RatingLoss RatingPolicy RatingRelease RatingUtility Ratings "
        "Satisfaction Scale SensitiveIssues anonymize_ratings attack_ratings check_ratings "
        "hold_out_ratings rating_utility read_ratings save_ratings"
    ),
    "sfumato.results": (
        "ClassSizes Comparison Correlation Descriptives RawTable ReleaseOnDisk ReleaseReport "
        "Reproduction Review SeriesVerification"
    ),
    "sfumato.sets": (
        "KmAnonymity SetAttack SetCheck SetLoss SetPolicy SetRelease Sets anonymize_sets "
        "attack_sets check_sets read_sets save_sets"
    ),
}
"""Module → its names that stood beside it."""
MOVED = {name: module for module, names in _MODULES.items() for name in names.split()}


def former_name(name: str) -> Any:
    """Return what a former name of :mod:`sfumato` stands for, with a warning that names where it stands now."""
    from sfumato.former import warn

    warn(f"sfumato.{name}", f"{MOVED[name]}.{name}")
    return getattr(import_module(MOVED[name]), name)
