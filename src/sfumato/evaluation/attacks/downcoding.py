"""Downcoding: undo generalization by what the form of published cells discloses (Cohen, 2022).

Letters of the beliefs: w values under a cell in rising order, n records of the class, ``shares`` float64 (w,): how
frequent each value is in the population, summing to 1. Every belief is float64 (w,): the chance that one record of the
class, any one, has each value, if the records are drawn one by one from the population.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb
from typing import ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import Form
from sfumato.evaluation.attacks.people import by_person
from sfumato.evaluation.attacks.placement import (
    SEVERAL,
    Placement,
    RegisterAttribute,
    distinct_rows,
    pair_with_classes,
    place_people,
    require_generalized,
)
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.hierarchy.tree import Hierarchy
from sfumato.kernels.linking import UNKNOWN
from sfumato.models import known_models
from sfumato.models.protocol import smallest_allowed, speak_of
from sfumato.numbers import counted
from sfumato.options import Checked
from sfumato.randomness import permutation
from sfumato.rates import Rate
from sfumato.recoding.choice import exactly_numbered, outer_bins, roundable, with_declared_grid
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.header import columns_of, exactly
from sfumato.table.table import Table

_Belief = Callable[[NDArray[np.float64], int, int, int], NDArray[np.float64]]
"""From shares of the values under a cell, its first and last code, and the records of the class."""


_Edges = Literal["tight", "rounded", "free"]
"""What is at both edges of a cell: values of the class, values in outer bins, or nothing known."""


@dataclass(frozen=True)
class Downcoding(Checked):
    """The downcoding attack.

    The attacker knows how frequent each value is, and guesses the exact value behind each interval and each node of a
    hierarchy. What helps beyond that is the form of the release: a tight interval ends at values that occur in the
    class, a rounded one has values in its outer bins, a common ancestor is not the ancestor of one child alone, and a
    class that Mondrian left whole could not be cut, so that all but a few of its records share the middle value.

    Parameters
    ----------
    tight
        Whether intervals end at values of the class, and nodes are the lowest that cover it. None infers it from the
        algorithm and the recoding: neither does if the algorithm itself decides what is published; otherwise nodes do,
        and the recoding's `ends` say whether intervals do.

    Raises
    ------
    PolicyError
        When `tight` is neither True, False nor None.

    References
    ----------
    A. Cohen, "Attacks on deidentification's defenses", USENIX Security 2022.

    Notes
    -----
    *Departure.* The paper undoes minimal hierarchical generalization on data made for it, and on real data if the
    attacker knows the distribution. Here the guess is Bayes' rule for records drawn one by one. A value set already
    names its members, and that all of them occur does not change which is likeliest, so sets are left alone. Without a
    control group, half of the people show how frequent values are, and guesses are scored on the others. Of people with
    several records, the share that is guessed counts.

    *Cost.* O(n) for each attribute, and O(w · k²) for each different cell over w values.
    """

    name: ClassVar[str] = "downcoding"
    kinds: ClassVar[frozenset[str]] = frozenset({"generalized-table"})
    needs: ClassVar[tuple[str, ...]] = ()

    tight: bool | None = None

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each quasi-identifying attribute that is published as intervals or nodes.

        Raises
        ------
        InputError
            When the release is not a generalized table, or shares no quasi-identifying attribute with the people.
        """
        published = require_generalized(target.published, self.name)
        people, victims, population = _divided(target)
        placement = place_people(published, people, target.original.schema, target.recoding)
        forms = target.recoding.forms_of(each.attribute for each in placement.known)
        smallest = _smallest_side(target)
        results = []
        for column, (knowledge, form) in enumerate(zip(placement.known, forms, strict=True)):
            if form in (Form.INTERVAL, Form.ANCESTOR):
                attribute = on_its_grid(target, knowledge.attribute)
                edges = self._edges(target, form, attribute)
                usual = _usual_values(knowledge, placement.codes[population, column])
                ends = form is Form.INTERVAL and edges == "tight"
                guesses = _guesses(placement, column, usual, _belief(attribute, form, edges, smallest), ends=ends)
                owners = target.original.person_of
                results.append(self._result(placement, column, victims, guesses, owners, ends=ends))
        return tuple(results) or (self._unplayed(),)

    def _edges(self, target: Target, form: Form, attribute: EncodedAttribute) -> _Edges:
        if self.tight is not None:
            return "tight" if self.tight else "free"
        return label_edges(target, form, attribute)

    def _result(
        self,
        placement: Placement,
        column: int,
        victims: NDArray[np.bool_],
        guesses: NDArray[np.int64],
        owners: NDArray[np.int64],
        *,
        ends: bool,
    ) -> AttackResult:
        name = placement.known[column].attribute.name
        people = np.flatnonzero(victims & (placement.codes[:, column] != UNKNOWN))
        generalized_classes = np.zeros(guesses.shape[1], dtype=np.bool_)
        for classes, *_ in _cells(placement, column):
            generalized_classes[classes] = True
        covered, right, usual = _hits(placement, people, column, generalized_classes, guesses)
        guessed = covered > 0
        count = int(guessed.sum())
        figures = {"generalized": float(covered.mean()) if len(people) else 0.0}
        if ends and generalized_classes.any():
            figures["printed_ends"] = float(
                2 * generalized_classes.sum() / placement.publication.sizes[generalized_classes].sum()
            )
        several = int((placement.class_of[people] == SEVERAL).sum())
        notes = (
            (f"{counted(several, 'record')} that fit several classes counted in each by its size",) if several else ()
        )
        return AttackResult(
            self.name,
            "how usual each value is in the population, and how cells are formed",
            f"whose generalized {name} was guessed exactly",
            _rate(right[guessed] / covered[guessed], usual[guessed] / covered[guessed], owners[people[guessed]])
            if count
            else Rate(0.0, 0, 0.0),
            None,
            figures,
            notes,
            "ends that are not values of the class: rounded ends, a hierarchy of fixed intervals, or mondrian with "
            "extent 'region'; or one level for the whole table in place of the tightest cover",
        )

    def _unplayed(self) -> AttackResult:
        why = "no attribute is published as intervals or nodes of a hierarchy"
        return AttackResult(
            self.name,
            "how usual each value is in the population, and how cells are formed",
            "whose generalized values were guessed exactly",
            Rate(0.0, 0, 0.0),
            notes=(why,),
            unplayed=why,
        )


def on_its_grid(target: Target, attribute: EncodedAttribute) -> EncodedAttribute:
    """Return the attribute with the grid on which intervals of the release end."""
    return with_declared_grid(attribute) if target.recoding.labels and exactly_numbered(attribute) else attribute


def label_edges(target: Target, form: Form, attribute: EncodedAttribute) -> _Edges:
    """Return what the edges of a cell disclose about its class."""
    if getattr(target.anonymizer, "decides_regions", False):
        return "free"
    is_rounded = form is Form.INTERVAL and attribute.order is None and roundable(attribute)
    return target.recoding.ends if is_rounded else "tight"


def _hits(
    placement: Placement,
    people: NDArray[np.int64],
    column: int,
    counted_classes: NDArray[np.bool_],
    guesses: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Weigh people in classes that count, and those guessed correctly in either way; float64 (3, people)."""
    # A person who fits several classes counts in each with its share of the records.
    vectors, vector_of = distinct_rows(placement.codes[people])
    weights = np.zeros((3, len(vectors)))
    for vector, owner, share in pair_with_classes(placement, vectors):
        share = share * counted_classes[owner]
        hits = guesses[:, owner] == vectors[vector, column]
        for row, weight in enumerate((share, *(share * hits))):
            weights[row] += np.bincount(vector, weight, minlength=len(vectors))
    found: NDArray[np.float64] = weights[:, vector_of]
    return found


def _rate(right: NDArray[np.float64], usual: NDArray[np.float64], owner: NDArray[np.int64]) -> Rate:
    """Score guesses of records; of people with several, the share of them that is right counts."""
    right, usual = by_person(right, owner), by_person(usual, owner)
    return Rate(float(right.sum()), len(right), float(usual.mean()))


def _divided(target: Target) -> tuple[pl.DataFrame, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return records, those on which guesses are scored, and those that show how frequent values are."""
    # Those of the control group show it. Without one, those of half of the people do, and guesses are scored on the
    # other half: frequencies that are counted among the victims themselves would disclose the rare values.
    original = _quasi(target.original)
    if target.control is None:
        person_of = target.original.person_of
        order = permutation(int(person_of.max()) + 1, target.seed)
        victims = ~np.isin(person_of, order[: len(order) // 2])
        return original, victims, ~victims
    people = pl.concat([original, _quasi(target.control)], how="vertical_relaxed")
    victims = np.arange(people.height) < original.height
    return people, victims, ~victims


def _quasi(table: Table) -> pl.DataFrame:
    """Return the quasi-identifying columns, categories as text: two tables number theirs differently."""
    texts = [name for name, dtype in table.frame.schema.items() if isinstance(dtype, (pl.Categorical, pl.Enum))]
    return columns_of(table.frame.with_columns(exactly(*texts).cast(pl.String)), table.schema.quasi_identifying)


def _guesses(
    placement: Placement, column: int, usual: NDArray[np.float64], belief: _Belief | None, *, ends: bool
) -> NDArray[np.int64]:
    """Guess the value of every record of each class, int64 (2, c): with the form of the cell, and without."""
    # It is `UNKNOWN` if nothing was generalized, or if no value inside is known.
    guesses = np.full((2, len(placement.publication.sizes)), UNKNOWN, dtype=np.int64)
    for classes, low, high, records in _cells(placement, column):
        inside = usual[low : high + 1].copy()
        if inside.any():
            guesses[:, classes] = low + inside.argmax()
        if belief is None:
            continue
        if ends:
            # An attacker who knows that the ends occur has read them from the cell.
            inside[[0, -1]] = np.maximum(inside[[0, -1]], 1)
        if inside.any():
            guesses[0, classes] = low + belief(inside / inside.sum(), low, high, records).argmax()
    return guesses


def _cells(placement: Placement, column: int) -> Iterator[tuple[NDArray[np.int64], int, int, int]]:
    """Yield classes that publish the same value of an attribute and have the same size, with both ends and the size."""
    # Only cells over several values that form one run of codes; ``*`` over missing values says nothing about them.
    publication, size = placement.publication, placement.known[column].attribute.size
    labels, runs = publication.label_of[:, column], publication.runs
    if not len(publication.low):
        return  # every cell of every column is missing
    first = np.minimum(runs[labels], len(publication.low) - 1)
    low, high = publication.low[first].astype(np.int64), publication.high[first].astype(np.int64)
    several = (runs[labels + 1] - runs[labels] == 1) & (low < high)
    several &= (high < size) | ~(placement.codes[:, column] == UNKNOWN).any()
    chosen = np.flatnonzero(several)
    keys = np.column_stack([low, np.minimum(high, size - 1), publication.sizes])[chosen]
    order = np.lexsort(keys.T)
    borders = np.flatnonzero(np.any(np.diff(keys[order], axis=0) != 0, axis=1)) + 1
    for same in np.split(order, borders) if len(order) else []:
        from_code, to_code, records = keys[same[0]].tolist()
        yield chosen[same], from_code, to_code, records


def _usual_values(knowledge: RegisterAttribute, codes_in_register: NDArray[np.int32]) -> NDArray[np.float64]:
    """Count each value among some people, float64 (codes,)."""
    size = knowledge.attribute.size
    # One more counter is for values that are not in the hierarchy.
    return np.bincount(codes_in_register[codes_in_register >= 0], minlength=size + 1)[:size].astype(np.float64)


def _smallest_side(target: Target) -> int:
    """Return the least records on each side of a cut if nothing else kept Mondrian from cutting, else 0."""
    cuts_anywhere = (
        getattr(target.anonymizer, "name", "") == "mondrian"
        and getattr(target.anonymizer, "mode", "") == "strict"
        and getattr(target.anonymizer, "split_rule", "median") != "median"
        and not getattr(target.anonymizer, "hierarchy_cuts", True)
    )
    sized = speak_of("sizes", known_models(target.models))
    return smallest_allowed(sized) if cuts_anywhere and sized and len(sized) == len(target.models) else 0


def _belief(attribute: EncodedAttribute, form: Form, edges: _Edges, smallest: int) -> _Belief | None:
    hierarchy = attribute.hierarchy
    if form is Form.ANCESTOR:
        if edges == "free" or hierarchy is None:
            return None
        return lambda shares, low, high, records: branching_belief(shares, children_of(hierarchy, low, high), records)
    if edges == "rounded":
        return lambda shares, low, high, records: _rounded(attribute, shares, low, high, records, smallest)
    if edges == "free":
        return _uncut_region(smallest) if smallest else None
    if smallest:
        return lambda shares, low, high, records: uncut_belief(shares, records, smallest)
    return lambda shares, low, high, records: tight_belief(shares, records)


def _uncut_region(smallest: int) -> _Belief:
    return lambda shares, low, high, records: uncut_region_belief(shares, records, smallest)


def _rounded(
    attribute: EncodedAttribute, shares: NDArray[np.float64], low: int, high: int, records: int, smallest: int
) -> NDArray[np.float64]:
    """Weigh values by what a rounded interval discloses: its outer bins have values, and it was not cut."""
    if smallest:
        shares = uncut_region_belief(shares, records, smallest)
    assert attribute.numbers is not None
    (second,), (last,) = outer_bins(attribute, np.array([low]), np.array([high]))
    codes = np.searchsorted(attribute.numbers, [second, last])
    return rounded_belief(shares, int(codes[0]) - low, high + 1 - int(codes[1]), records)


def children_of(hierarchy: Hierarchy, low: int, high: int) -> NDArray[np.int64]:
    """Return which child of a node each of its leaves is under."""
    nodes = hierarchy.node_of[:, low : high + 1]
    # The lowest level on which the leaves are one node; its children are one below.
    level = int((nodes != nodes[:, :1]).any(axis=1).sum())
    child_of: NDArray[np.int64] = (nodes[level - 1] - nodes[level - 1, 0]).astype(np.int64)
    return child_of


_Shares = NDArray[np.float64]


def tight_belief(shares: _Shares, records: int) -> _Shares:
    """Use that the lowest and the highest value both occur in the class of at least two records.

    By inclusion and exclusion over the ends that may be missing. Cost O(w).
    """
    low, high = shares[0], shares[-1]
    others = records - 1
    without = np.array([(1 - low) ** others, (1 - high) ** others, max(0.0, 1 - low - high) ** others])
    belief = shares * (1 - without[0] - without[1] + without[2])
    belief[0], belief[-1] = low * (1 - without[1]), high * (1 - without[0])
    return _normal(belief, shares)


def rounded_belief(shares: _Shares, first: int, last: int, records: int) -> _Shares:
    """Use that a value of the class is in the first bin of a rounded interval, and one in the last. Cost O(w)."""
    if first + last > len(shares):
        return shares
    bins = np.ones(len(shares), dtype=np.int64)
    bins[:first], bins[len(shares) - last :] = 0, 2
    mass = np.bincount(bins, weights=shares, minlength=3)
    low, high = mass[0], mass[2]
    others = records - 1
    no_low, no_high = (1 - low) ** others, (1 - high) ** others
    inside = 1 - no_low - no_high + max(0.0, 1 - low - high) ** others
    return _normal(shares * np.array([1 - no_high, inside, 1 - no_low])[bins], shares)


def branching_belief(shares: _Shares, child_of: NDArray[np.integer], records: int) -> _Shares:
    """Use that the class does not lie under one child of the node, which would have been published instead.

    child_of : integers (w,), which child each value is under. Cost O(w).
    """
    under = np.bincount(child_of, weights=shares)[child_of]
    return _normal(shares * (1 - under ** (records - 1)), shares)


def uncut_belief(shares: _Shares, records: int, smallest: int) -> _Shares:
    """Use, besides tight ends, that no cut leaves `smallest` records on both sides. Cost O(w · smallest²).

    So fewer lie below some value and fewer above it: all others share it. A class of fewer than twice `smallest` tells
    its ends alone.
    """
    if records < 2 * smallest:
        return tight_belief(shares, records)
    below = np.concatenate([[0.0], np.cumsum(shares)[:-1]])
    above = np.concatenate([np.cumsum(shares[::-1])[::-1][1:], [0.0]])
    # Powers of shares are taken relative to the highest one: those of large classes would vanish.
    highest = shares.max()
    middle = np.zeros(len(shares))
    # Expected records below and above each middle value, weighted by how likely that middle value is.
    lower, at_low = np.zeros(len(shares)), np.zeros(len(shares))
    upper, at_high = np.zeros(len(shares)), np.zeros(len(shares))
    for left in range(smallest):
        sure_low, low_count = _with_end(below, shares[0], left)
        for right in range(smallest):
            sure_high, high_count = _with_end(above, shares[-1], right)
            ways = float(comb(records, left) * comb(records - left, right))
            inner = records - left - right
            chance = ways * sure_low * sure_high * (shares / highest) ** inner * highest ** -(left + right)
            # The middle value may itself be an end; then no value has to lie beyond it.
            middle += chance * inner
            at_low += chance * low_count
            lower += chance * (left - low_count)
            at_high += chance * high_count
            upper += chance * (right - high_count)
    downwards = _spread(shares, below - shares[0], lower)
    upwards = _spread(shares[::-1], (above - shares[-1])[::-1], upper[::-1])[::-1]
    belief = middle + downwards + upwards
    belief[0] += at_low.sum()
    belief[-1] += at_high.sum()
    return _normal(belief, shares)


def uncut_region_belief(shares: _Shares, records: int, smallest: int) -> _Shares:
    """Use that no cut leaves `smallest` records on both sides of a cell whose ends need not occur.

    As :func:`uncut_belief`, except for the ends. Cost O(w · smallest²).
    """
    if records < 2 * smallest:
        return shares
    below = np.concatenate([[0.0], np.cumsum(shares)[:-1]])
    above = np.concatenate([np.cumsum(shares[::-1])[::-1][1:], [0.0]])
    highest = shares.max()
    middle, lower, upper = np.zeros((3, len(shares)))
    for left in range(smallest):
        for right in range(smallest):
            inner = records - left - right
            ways = float(comb(records, left) * comb(records - left, right)) * highest ** -(left + right)
            chance = ways * below**left * above**right * (shares / highest) ** inner
            middle += chance * inner
            lower += chance * left
            upper += chance * right
    # A share of 0 precedes the first value, which is not an end here.
    downwards = _spread(np.append(0.0, shares), np.append(0.0, below), np.append(0.0, lower))[1:]
    upwards = _spread(np.append(0.0, shares[::-1]), np.append(0.0, above[::-1]), np.append(0.0, upper[::-1]))[:0:-1]
    return _normal(middle + downwards + upwards, shares)


def _with_end(mass: _Shares, end: float, count: int) -> tuple[_Shares, _Shares]:
    """Weigh `count` records beyond each middle value, of which one at least is at the end; and how many are there."""
    ends = mass <= end * 1e-12
    if count == 0:
        return ends.astype(np.float64), np.zeros(len(mass))
    sure = np.where(ends, 0.0, mass**count - np.maximum(mass - end, 0.0) ** count)
    expected = np.divide(count * end * mass ** (count - 1), sure, out=np.zeros(len(mass)), where=sure > 0)
    return sure, np.minimum(expected, count)


def _spread(shares: _Shares, inside: _Shares, expected: _Shares) -> _Shares:
    """Spread expected records below each middle value over the values between the end and it, by their shares."""
    # inside : float64 (w,), the joint share of these values. Cost O(w).
    rate = np.divide(expected, inside, out=np.zeros(len(shares)), where=inside > 1e-15)
    # A value takes part in the rate of every middle value above it.
    beyond = np.concatenate([np.cumsum(rate[::-1])[::-1][1:], [0.0]])
    spread: _Shares = shares * beyond
    spread[0] = 0.0
    return spread


def _normal(belief: _Shares, shares: _Shares) -> _Shares:
    """Scale beliefs to a sum of 1; if the published cell is impossible in the model, return the shares."""
    belief = np.maximum(belief, 0.0)
    total = belief.sum()
    return belief / total if total > 1e-300 else shares
