"""What the classes of a solution publish where an anonymizer decides it: nodes and ranges, not only record numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Regions:
    """The region of each class: for every attribute a range of codes, which may be wider than the class's own values.

    Global recodings need it: a level of a hierarchy is published as a whole, whatever values a class happens to have.

    Letters: c classes, q quasi-identifying attributes.

    Attributes
    ----------
    low, high : numpy.ndarray
        int32 (c, q): first and last code that each class covers. A node of a hierarchy is the range of its leaves. The
        missing value alone is ``low == high == attribute.size``; ``*`` is 0 and ``attribute.size``, whether a value is
        missing or not.
    level : numpy.ndarray
        int32 (c, q): level of the node, for attributes with a hierarchy, 0 for the missing value, the height for ``*``;
        0 for the others.

    Raises
    ------
    ValueError
        When the shapes differ: a fault of an anonymizer.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    level: NDArray[np.int32]

    def __post_init__(self) -> None:
        """Check the shapes: what is published must be known for every class."""
        if not self.low.shape == self.high.shape == self.level.shape or self.low.ndim != 2:
            raise ValueError("regions need a low, a high and a level for each class and attribute")

    def take(self, classes: NDArray[np.integer]) -> Regions:
        """Return the regions of some classes, in that order."""
        return Regions(self.low[classes], self.high[classes], self.level[classes])
