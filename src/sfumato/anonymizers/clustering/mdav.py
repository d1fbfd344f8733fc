"""MDAV and V-MDAV: microaggregation by maximum distance to the average vector, with fixed or variable class sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.numeric import Categories, NumericPartwise, NumericRecords
from sfumato.anonymizers.partwise import BlockSize
from sfumato.kernels.points.mdav import mdav, v_mdav
from sfumato.options import Limit, Names


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


@dataclass(frozen=True)
class VMDAV(NumericPartwise):
    """Make classes of k from the outside in, and let each grow while a record is much closer to it than to others.

    A method for numbers and dates, on the scale of z-scores; other columns are encoded as numbers, or refused.

    Parameters
    ----------
    gamma
        How close a record must be to join: its distance to the class is below `gamma` times that to the nearest record
        outside. 0 lets no class grow; the paper finds 0.2 good for scattered and 1.1 for clustered tables.
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
    *Guarantee.* Every class satisfies every model. With k-anonymity alone classes grow to 2k − 1 records at most; then
    those that are left over, fewer than k, join the class with the nearest mean. Classes that break another model are
    merged into the class with the nearest mean, the smallest first.

    *Complexity.* The nearest records are sought in a tree of shrinking boxes, with the result of looking at all: at
    worst O(d n²), on real tables closer to O(d n log n). O(d n) memory.

    *Sources.* Solanas and Martínez-Ballesté, "V-MDAV: a multivariate microaggregation with variable group size",
    COMPSTAT 2006. Departures: of equally far records the one with the lowest values is taken; missing values lie apart
    from all numbers; models besides k-anonymity are enforced by merging.
    """

    name: ClassVar[str] = "v-mdav"

    gamma: Annotated[float, Limit(0, 1e9, below=True)] = 0.2
    categories: Categories = "ranks"
    block_size: BlockSize = 20_000
    strata: Names | None = None

    def classes(self, records: NumericRecords) -> tuple[NDArray[np.int32], int]:
        """Return the class of each record, int32 (n,), and how many there are."""
        return records.merged(*v_mdav(records.points, records.starts, records.class_size, float(self.gamma)))
