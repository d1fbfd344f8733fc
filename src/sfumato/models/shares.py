"""The former place of the counts of classes, for packages of before; it goes with the next version."""

from __future__ import annotations

import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    from sfumato.models import reference

    if name not in ("class_of_pairs", "distinct_values", "largest_counts", "ratios"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"sfumato.models.shares is now sfumato.models.reference; import {name} from there",
        category=DeprecationWarning,
        stacklevel=2,
    )
    return getattr(reference, name)
