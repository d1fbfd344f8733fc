"""What every class spans: smallest and largest codes, and sums of numbers.

Letters: n records, q columns, c classes, v codes of a column (the missing value's among them).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.kernels.jit import linear
from sfumato.kernels.types import Codes, Floats, Int32s, Int64s


def class_boxes(
    class_of: Int32s, codes: Codes, count: int, columns: Sequence[int] | None = None
) -> tuple[Codes, Codes]:
    """Return the smallest and the largest code of each class in each column, or in some columns.

    class_of : int32 (n,), -1 for records in no class. codes : unsigned (n, q). count : number of classes c, each with
    at least one record. Returns two views of the dtype of `codes`, (c, q). One pass, O(n · q).
    """
    top = np.iinfo(codes.dtype).max
    chosen = np.arange(codes.shape[1]) if columns is None else np.array(columns, dtype=np.int64)
    boxes = np.zeros((count, 2, len(chosen)), dtype=codes.dtype)
    # Both ends of a class share a cache line; two arrays would cost twice the misses.
    boxes[:, 0, :] = top
    _widen(class_of, codes, chosen, boxes)
    return boxes[:, 0, :], boxes[:, 1, :]


@linear
def _widen(class_of: Int32s, codes: Codes, columns: Int64s, boxes: Codes) -> None:
    for record in range(codes.shape[0]):
        owner = class_of[record]
        if owner < 0:
            continue
        for place in range(len(columns)):
            code = codes[record, columns[place]]
            if code < boxes[owner, 0, place]:
                boxes[owner, 0, place] = code
            if code > boxes[owner, 1, place]:
                boxes[owner, 1, place] = code


@linear
def class_sums(class_of: Int32s, codes: Codes, numbers: Floats, count: int) -> Floats:
    """Sum the numbers behind the codes of each class, in record order.

    class_of : int32 (n,), -1 for records in no class. codes : unsigned (n,). numbers : float64 (v,). Returns
    float64 (count,). One pass, O(n).
    """
    sums = np.zeros(count, dtype=np.float64)
    for record in range(codes.shape[0]):
        owner = class_of[record]
        if owner >= 0:
            sums[owner] += numbers[codes[record]]
    return sums
