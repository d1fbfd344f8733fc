"""The records of CSV files, moved byte by byte: no cell is read.

Letters: n records of both files, b bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.jit import linear
from sfumato.kernels.types import Flags, int64

Bytes = NDArray[np.uint8]

_LINE_END, _QUOTE = 10, 34


@linear
def interleave(older: Bytes, newer: Bytes, is_new: Flags, merged: Bytes) -> int:
    """Write the records of two texts into one, each in its order; return the bytes written, −1 if it does not come out.

    older, newer : uint8, records that end with a line feed; one between quotes belongs to its cell. is_new : bool (n,),
    from which text each record is. merged : uint8 (b,), room for both. Cost O(b).
    """
    sources = (older, newer)
    places = np.zeros(2, dtype=np.int64)
    written = int64(0)
    for record in range(len(is_new)):
        side = 1 if is_new[record] else 0
        source = sources[side]
        place = places[side]
        inside = False
        going = True
        while going:
            if place == len(source):
                return -1
            byte = source[place]
            merged[written] = byte
            place += 1
            written += 1
            if byte == _QUOTE:
                inside = not inside
            going = inside or byte != _LINE_END
        places[side] = place
    return written if places[0] == len(older) and places[1] == len(newer) else -1


@linear
def has_both(merged: Bytes, is_new: Flags, older: Bytes, newer: Bytes) -> bool:
    """Tell whether a text holds the records of two others and nothing else: taken out, they are the same byte for byte.

    As :func:`interleave`: merged : uint8 (b,); older, newer : uint8; is_new : bool (n,). Cost O(b).
    """
    place, first, second = int64(0), int64(0), int64(0)
    for record in range(len(is_new)):
        inside = False
        going = True
        while going:
            if place == len(merged):
                return False
            byte = merged[place]
            place += 1
            if is_new[record]:
                if second == len(newer) or newer[second] != byte:
                    return False
                second += 1
            else:
                if first == len(older) or older[first] != byte:
                    return False
                first += 1
            if byte == _QUOTE:
                inside = not inside
            going = inside or byte != _LINE_END
    return place == len(merged) and first == len(older) and second == len(newer)
