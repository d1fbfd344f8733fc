"""MDAV: microaggregation by maximum distance to the average vector (Domingo-Ferrer & Torra 2005)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.numeric_partwise import NumericPartwise
from sfumato.anonymizers.clustering.numeric_records import NumericRecords
from sfumato.anonymizers.clustering.numeric_space import Categories
from sfumato.anonymizers.partwise import BlockSize
from sfumato.kernels.points.mdav import mdav
from sfumato.options import Names


@dataclass(frozen=True)
class MDAV(NumericPartwise):
    """Make classes of k around the record farthest from the mean of all that are left, and around its opposite.

    A method for numbers and dates, on the scale of z-scores; other columns are encoded as numbers, or refused.

    Parameters
    ----------
    categories
        What becomes of columns that hold no numbers. ``"ranks"``: places on a line, in the order of the hierarchy's
        leaves, else of falling frequency. ``"one-hot"``: a coordinate for each category, 64 at most. ``"refuse"``: an
        error that names them.
    block_size
        Records that are clustered at once at most; larger tables are cut into blocks. 0: never.
    strata
        Quasi-identifying columns in whose values all records of a class agree; None: classes may mix any.

    Raises
    ------
    PolicyError
        With every option that is unknown; from :meth:`solve` when categories are refused.

    Notes
    -----
    *Guarantee.* Every class satisfies every model. With k-anonymity alone every class has k records but one, which has
    k to 2k − 1; classes that break another model are merged into the class with the nearest mean, the smallest first.

    *Complexity.* The farthest and the nearest records are sought in a tree of shrinking boxes, with the result of
    looking at all: at worst O(d n² / k), on real tables closer to O(d n log n). O(d n) memory.

    *Sources.* Domingo-Ferrer and Torra, "Ordinal, continuous and heterogeneous k-anonymity through microaggregation",
    Data Mining and Knowledge Discovery 2005. Departures: of equally far records the one with the lowest values is
    taken; missing values lie apart from all numbers; models besides k-anonymity are enforced by merging. Published
    means are a matter of the recoding: ``Recoding(numeric="mean")``.
    """

    name: ClassVar[str] = "mdav"

    categories: Categories = "ranks"
    block_size: BlockSize = 20_000
    strata: Names | None = None

    def classes(self, records: NumericRecords) -> tuple[NDArray[np.int32], int]:
        """Return the class of each record, int32 (n,), and how many there are."""
        return records.merged(*mdav(records.points, records.starts, records.class_size))
