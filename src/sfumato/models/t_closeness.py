"""t-closeness: the sensitive values of every class are distributed nearly as in the whole table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import SensitiveCounts
from sfumato.errors import PolicyError
from sfumato.kernels.predicates import T_BY_KIND, T_EQUAL, T_HIERARCHICAL, T_ORDERED
from sfumato.models.comparing import ComparingModel
from sfumato.models.distances import equal_distance, hierarchical_distance, ordered_distance
from sfumato.models.protocol import Rule
from sfumato.models.reference import Reference, View
from sfumato.options import Limit, Names
from sfumato.table.kinds import is_measured

Distance = Literal["equal", "ordered", "hierarchical"]

CODES: Mapping[str, int] = {"equal": T_EQUAL, "ordered": T_ORDERED, "hierarchical": T_HIERARCHICAL}
_MEASURES: Mapping[int, Callable[[SensitiveCounts, NDArray[np.int64]], NDArray[np.float64]]] = {
    T_EQUAL: equal_distance,
    T_ORDERED: ordered_distance,
    T_HIERARCHICAL: hierarchical_distance,
}


@dataclass(frozen=True)
class TCloseness(ComparingModel):
    """The earth mover's distance from the values of every class to those of the table is at most `t`.

    Guarantee: finding a person's class moves the belief about the sensitive value by `t` at most, as a share of
    probability times the distance that it moves. The whole table consists of the published records. Where people have
    several records, the distributions are of values that people have, each once for each person, so that who has many
    values weighs more.

    Parameters
    ----------
    t
        A number from 0 to 1.
    distance
        How far two values are apart. ``"equal"``: 1. ``"ordered"``: difference of their ranks among the v distinct
        values of the table over v − 1 (numbers, dates, and categories whose order is given; the missing value ranks
        last). ``"hierarchical"``: level of their lowest common ancestor over the height of the hierarchy (the missing
        value hangs right under the root). None takes ordered for numbers and dates and where an order is given,
        hierarchical for other attributes with a hierarchy, else equal.
    attribute
        The sensitive attribute, or None for every one.
    reference
        What the whole table is: ``"published"`` (None), ``"original"``, or the share of every value by its label; see
        :class:`~sfumato.models.comparing.ComparingModel`.
    order
        All categories of the attribute from the first to the last, for the ordered distance. It is part of the promise
        and is published with it. Categories that do not occur take no rank.

    References
    ----------
    N. Li, T. Li, S. Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity", ICDE 2007.
    """

    t: Annotated[float, Limit(0, 1)]
    distance: Distance | None = None
    attribute: str | None = None
    reference: Reference = None
    order: Names | None = None

    name: ClassVar[str] = "t-closeness"
    speaks_of: ClassVar = frozenset({"classes", "buckets", "slices", "marginals"})
    in_words: ClassVar[str] = (
        "people who look alike have nearly the sensitive values of the whole table (at most {t} apart)"
    )
    code: ClassVar[int] = T_BY_KIND
    bounded: ClassVar[str] = "t"
    at_least: ClassVar[bool] = False
    remedy: ClassVar[str] = "raise t"

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distance of each class to the whole table; float64 (c,)."""
        code = distance_code(self._distance_code, counts, ordered=self.order is not None)
        return _MEASURES[code](counts, counts.masses(sizes))

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return one compiled rule per protected attribute; its distance is settled when the rules are compiled."""
        settle = partial(distance_code, self._distance_code, ordered=self.order is not None)
        return [replace(rule, code=self._distance_code, settle=settle) for rule in super().rules(attributes)]

    @property
    def is_special(self) -> bool:
        """Whether it sees values otherwise than they are counted in the published table."""
        return super().is_special or self.order is not None

    def _view(self, name: str) -> View | None:
        view = super()._view(name)
        return view if self.order is None else View(None if view is None else view.shares, self.order)

    def _mistakes(self) -> Iterator[str]:
        yield from super()._mistakes()
        if self.order is not None and self.distance in ("equal", "hierarchical"):
            yield f"{self.name}: order means nothing to the distance {self.distance}; leave one of them out"
        if self.order is not None and self.attribute is None:
            yield f"{self.name}: order is that of one attribute; name it"

    @property
    def _distance_code(self) -> int:
        return T_BY_KIND if self.distance is None else CODES[self.distance]


def distance_code(code: int, counts: SensitiveCounts, *, ordered: bool = False) -> int:
    """Settle which distance fits the attribute.

    Parameters
    ----------
    code
        ``T_BY_KIND`` or the distance that was asked for.
    counts
        The attribute.
    ordered
        Whether the order of its categories is given.

    Raises
    ------
    PolicyError
        When ranks were requested and the attribute has no order. A missing hierarchy is found when its tree is read.
    """
    ordered = ordered or is_measured(counts.kind)
    if code == T_ORDERED and not ordered:
        raise PolicyError(f"t-closeness: {counts.name!r} has no order; give it one, or choose equal or hierarchical")
    if code != T_BY_KIND:
        return code
    if ordered:
        return T_ORDERED
    return T_EQUAL if counts.hierarchy is None else T_HIERARCHICAL
