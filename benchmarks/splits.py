"""Measures what splits that do not look at sensitive values cost; ``python -m benchmarks.splits``.

As ``benchmarks.overlapping_default``, with guarded buckets that are cut evenly inside each sensitive value
(``balanced``) or at the median of an attribute.
"""

from __future__ import annotations

import sfumato as sf
from benchmarks.overlapping_default import print_table
from sfumato.anonymizers.protocol import Publisher

WAYS: dict[str, Publisher] = {
    "slicing, balanced": sf.Slicing(),
    "slicing, median": sf.Slicing(split="median"),
    "overlapping, balanced": sf.OverlappingSlicing(),
    "overlapping, median": sf.OverlappingSlicing(split="median"),
}

if __name__ == "__main__":
    print_table(WAYS)
