"""What is left to each class by the cuts of Mondrian: regions that meet, where the classes' own values leave gaps.

Letters: b cuts, c classes, q attributes, v codes of an attribute (the missing value's among them).

A cut is a row (attribute, first class, first class on the right, end of the classes). Each takes from the classes on
either side what is the other's; in which order does not matter, so that they come in any.
"""

from __future__ import annotations

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Codes, Flags, Int32s, Int64s


@kernel
def narrow_ranges(
    cuts: Int64s, tight: Int64s, heights: Int32s, offsets: Int64s,
    sizes: Int64s, low: Int32s, high: Int32s,
) -> None:  # fmt: skip
    """Narrow the range of every class by every cut.

    cuts : int64 (b, 4); tight : int64 (2, c, q), smallest and largest code of each class; heights : int32 (all codes),
    how much speaks for ending a range after a code; offsets : int64 (q + 1,), where those of an attribute stand;
    sizes : int64 (q,), code of the missing value; low, high : int32 (c, q), narrowed here, never below `tight`.
    """
    for cut in range(len(cuts)):
        attribute, first, middle, last = cuts[cut]
        left = tight[1, first, attribute]
        for owner in range(first, middle):
            left = max(left, tight[1, owner, attribute])
        right = tight[0, middle, attribute]
        for owner in range(middle, last):
            right = min(right, tight[0, owner, attribute])
        # Equal values on both sides, as relaxed cuts make them, are in both ranges.
        start = right
        if left < right:
            start = _border(left, right, sizes[attribute], heights[offsets[attribute] : offsets[attribute + 1]]) + 1
            left = start - 1
        for owner in range(first, middle):
            high[owner, attribute] = min(high[owner, attribute], left)
        for owner in range(middle, last):
            low[owner, attribute] = max(low[owner, attribute], start)


@inlined
def _border(left: int, right: int, size: int, heights: Int32s) -> int:
    """Choose the last code of the left range, of ``left .. right-1``: the highest border, the middle of equal ones."""
    if right == size:
        return size - 1
    best = (left + right - 1) // 2
    for code in range(left, right):
        if heights[code] > heights[best]:
            best = code
    return best


@kernel
def occurring(class_of: Int32s, codes: Codes, found: Flags) -> None:
    """Mark the codes of each class. class_of : int32 (n,); codes : unsigned (n,); found : bool (c, v), False."""
    for record in range(len(class_of)):
        if class_of[record] >= 0:
            found[class_of[record], codes[record]] = True


@kernel
def narrow_sets(
    cuts: Int64s, found: Flags, left: Flags, right: Flags,
    allowed: Flags,
) -> None:  # fmt: skip
    """Narrow the value sets of one attribute by every cut of it.

    A value on neither side goes to the side of fewer classes, where it costs least; one on both stays in both.

    cuts : int64 (b, 4), of this attribute alone; found, allowed : bool (c, v), codes of each class, and those left to
    it, narrowed here; left, right : bool (v,), overwritten.
    """
    for cut in range(len(cuts)):
        _, first, middle, last = cuts[cut]
        left[:] = False
        right[:] = False
        for owner in range(first, middle):
            left |= found[owner]
        for owner in range(middle, last):
            right |= found[owner]
        small_left = middle - first <= last - middle
        for code in range(len(left)):
            in_left, in_right = left[code], right[code]
            if not in_right and (in_left or small_left):
                for owner in range(middle, last):
                    allowed[owner, code] = False
            elif not in_left:
                for owner in range(first, middle):
                    allowed[owner, code] = False
