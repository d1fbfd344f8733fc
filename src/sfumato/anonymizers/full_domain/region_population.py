"""The people of a population in the regions of full-domain generalizations, and the models that speak of them.

Here every class publishes a region that is known while it is judged, so that people are counted who have the published
values. A value of the population that the table lacks belongs to the region that has its label on the level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.domain_levels import DomainLevels, domain_levels
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.population import people_of_regions
from sfumato.classes.statistics import ClassStatistics
from sfumato.errors import PolicyError
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import of_population
from sfumato.models.whole_table import WholeTableModel, left_after, whole_table_models
from sfumato.table.encoding import EncodedAttribute, PeopleOfPopulation
from sfumato.table.population import value_keys

Marks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class RegionModels:
    """The models of a problem that speak of a population, judged by region.

    Attributes
    ----------
    models : tuple of PrivacyModel
        None of them where nothing is said of a population.
    population : PeopleOfPopulation or None
    whole : tuple of WholeTableModel
        Bounds on figures of the whole table.
    """

    models: tuple[PrivacyModel, ...]
    population: PeopleOfPopulation | None
    whole: tuple[WholeTableModel, ...] = ()

    @classmethod
    def of(cls, problem: Problem) -> RegionModels:
        """Take them from a problem; none where its classes count shares (:func:`by_region`)."""
        population = problem.table.population
        if population is None or population.nodes is None:
            return cls((), None, tuple(problem.whole))
        return cls(tuple(of_population(problem.models)), population, tuple(problem.whole))

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.models or self.whole)

    @property
    def lasting(self) -> bool:
        """Whether a class that satisfies them still does after any addition, and none concerns the whole table."""
        return not self.whole and all(model.lasting for model in self.models)  # type: ignore[attr-defined]

    @property
    def steady(self) -> bool:
        """Whether what holds of a table goes on holding when its classes are merged."""
        return all(model.steady for model in self.whole)

    def people(
        self, places: Sequence[int], levels: Sequence[int], regions: NDArray[np.integer]
    ) -> NDArray[np.int64] | None:
        """Count the people of each region, int64 (c,); None without a population."""
        return None if self.population is None else people_of_regions(self.population, places, levels, regions)

    def leave_out_nobody(self, people: NDArray[np.int64] | None) -> bool:
        """Tell whether the people of the published classes, int64 (c,), are as many as some model asks for: all."""
        if self.population is None or people is None:
            return True
        asked = any(getattr(model, "covers_everybody", False) for model in self.models)
        return not asked or int(people.sum()) == self.population.height

    def left(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None, kept: Marks, room: int) -> Marks:
        """Leave out the weakest of the kept classes, up to `room` records, until the whole table holds; bool (c,)."""
        kept = left_after(self.whole, sizes, people, kept, room) if self.whole else kept
        covered = self.leave_out_nobody(None if people is None else people[kept])
        return kept if covered else np.zeros_like(kept)

    def hold(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None, *, lasting: bool = False) -> Marks:
        """Tell which classes satisfy them, or only those of them that are lasting; bool (c,)."""
        verdict = np.ones(len(sizes), dtype=np.bool_)
        statistics = ClassStatistics(sizes, {}, population=people)
        for model in self.models:
            if not lasting or model.lasting:  # type: ignore[attr-defined]
                verdict &= model.holds(statistics)
        return verdict


def by_region(problem: Problem) -> Problem:
    """Return a problem for who knows all classes of a candidate, and what they publish.

    Classes are judged by the people of their regions, and the whole table by itself. Where nothing is promised of
    either, it is the same problem.

    Raises
    ------
    PolicyError
        When an attribute of the population has another number of levels than that of the table.
    """
    whole = whole_table_models(problem.models)
    if whole:
        models = [model for model in problem.models if model not in whole]
        problem = replace(problem, models=models, whole=(*problem.whole, *whole))
    population = problem.table.population
    if population is None or population.nodes is not None:
        return problem
    own = domain_levels(problem.table)
    other = domain_levels(replace(problem.table, attributes=population.encoded))
    nodes = tuple(_nodes(here, there) for here, there in zip(own, other, strict=True))
    table = replace(problem.table, population=replace(population, nodes=nodes))
    return replace(problem, table=table)


def _nodes(own: DomainLevels, other: DomainLevels) -> NDArray[np.int32]:
    """Return the table's node of each value of the population on each level; int32 (h + 1, values)."""
    if own.height != other.height:
        name = own.attribute.name
        raise PolicyError(
            f"population: the hierarchy of {name!r} has {own.height} levels for the table and {other.height} for the "
            "population; give one that says the same of both"
        )
    rows = []
    for level in range(own.height + 1):
        node_of = {key: int(own.node_of[level, code]) for code, key in enumerate(_keys(own.attribute, level))}
        keys = _keys(other.attribute, level)
        rows.append([*(node_of.get(key, -1) for key in keys), *_missing(own, other, level)])
    return np.array(rows, dtype=np.int32)


def _keys(attribute: EncodedAttribute, level: int) -> Sequence[object]:
    """Return what each value, without the missing one, is called on a level."""
    hierarchy = attribute.hierarchy
    if hierarchy is None or hierarchy.height == 0:
        return value_keys(attribute) if level == 0 else [None] * attribute.size
    if level == 0:
        return value_keys(attribute)
    labels = hierarchy.levels[level].labels
    return [labels[node] for node in hierarchy.node_of[level]]


def _missing(own: DomainLevels, other: DomainLevels, level: int) -> list[int]:
    """Return the node of the population's missing value, if it has one."""
    if not other.attribute.has_missing:
        return []
    if own.attribute.has_missing:
        return [int(own.node_of[level, own.attribute.size])]
    # A root that is published by its name covers no missing value.
    covered = level == own.height and int(own.high[level].max(initial=0)) == own.attribute.size
    return [0 if covered else -1]
