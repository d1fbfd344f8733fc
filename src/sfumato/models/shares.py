"""The former place of the counts of classes, for packages of before; it goes with the next version."""

from __future__ import annotations

import warnings

from sfumato.models.reference import class_of_pairs, distinct_values, largest_counts, ratios

__all__ = ["class_of_pairs", "distinct_values", "largest_counts", "ratios"]

warnings.warn(
    "sfumato.models.shares is now sfumato.models.reference; import from there", DeprecationWarning, stacklevel=2
)
