"""What the classes of a solution publish if the anonymizer decides it: nodes and ranges, not only record numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
    sets : mapping of int to numpy.ndarray
        For unordered attributes (by their place) whose classes cover any values, not a range of codes: bool
        (c, size + 1), the missing value's last. Their `low` and `high` are not read.
    between : bool
        Whether intervals end between the values of the data and reach to the ends of the domain, so that no end is
        anybody's value.

    Raises
    ------
    ValueError
        When the shapes differ: a fault of an anonymizer.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    level: NDArray[np.int32]
    sets: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)
    between: bool = False

    def __post_init__(self) -> None:
        """Check the shapes: what is published must be known for every class."""
        if not self.low.shape == self.high.shape == self.level.shape or self.low.ndim != 2:
            raise ValueError("regions need a low, a high and a level for each class and attribute")
        if any(len(members) != len(self.low) for members in self.sets.values()):
            raise ValueError("regions need a value set for each class")

    def take(self, classes: NDArray[np.integer]) -> Regions:
        """Return the regions of some classes, in that order."""
        sets = {index: members[classes] for index, members in self.sets.items()}
        return Regions(self.low[classes], self.high[classes], self.level[classes], sets, self.between)
