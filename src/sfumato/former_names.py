"""Names and modules of the last version that stand elsewhere now: they go on working for this one, with a warning."""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
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


_MODULES_NOW = {
    "sfumato.dossier": "sfumato.evidence",
    "sfumato.dossier.content": "sfumato.evidence.content",
    "sfumato.dossier.release_report": "sfumato.evidence.release_report",
    "sfumato.dossier.subgroups": "sfumato.evidence.subgroups",
    "sfumato.models.says": "sfumato.models.protocol",
    "sfumato.models.sensitive": "sfumato.models.protocol",
    "sfumato.models.shares": "sfumato.models.reference",
}
"""Modules that pages for packages of others have shown, and where what they held lies now."""


def former_module(name: str) -> ModuleSpec | None:
    """Return how a module is loaded by its former address; None for any other."""
    return ModuleSpec(name, _Loader(), is_package=True) if name in _MODULES_NOW else None


class _Loader:
    """What fills a module at a former address."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make an empty module, whose names are looked up one by one."""
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Let it give every public name of the module that has taken its place, with a warning."""
        now = _MODULES_NOW[module.__name__]

        def former(name: str) -> Any:
            from sfumato.former import warn

            if name.startswith("_") or not hasattr(import_module(now), name):
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            warn(f"{module.__name__}.{name}", f"{now}.{name}")
            return getattr(import_module(now), name)

        module.__getattr__ = former  # type: ignore[method-assign]
