"""Grow: classes take newcomers in and are cut again, so that nobody is narrowed down by all releases together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import Problem, feasible
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.kernels.jit import repeated
from sfumato.kernels.series.growing import best_cut, loss_of, mended, part_allowed
from sfumato.models.compiled import compile_rules
from sfumato.models.protocol import PrivacyModel
from sfumato.models.rule_traits import smallest
from sfumato.series.growing_chains import KnownChains, holders_of
from sfumato.series.growing_ground import Ground, alike, axes_of, ranged, tight_boxes
from sfumato.series.growing_guard import Guard, taken_back
from sfumato.series.growing_moves import make_anew, send_down, settle
from sfumato.series.growing_tree import CutTree, Node, Standing, common_node, frozen, thawed, tree_of_cuts
from sfumato.series.recount.histories import Followed
from sfumato.series.recount.joined import Chains, chains_to, joined
from sfumato.series.recount.released import Boxes, Places, Released, any_month, dated
from sfumato.series.recount.remaining import SensitiveValues, check_models
from sfumato.table.encoding import EncodedTable
from sfumato.table.row_order import hash_order

Numbers = NDArray[np.int64]
Labels = Callable[[NDArray[np.int32], int], Boxes]


@dataclass(frozen=True, eq=False, repr=False)
class Roster:
    """Everybody who is in the table now: those of the last release, unchanged, and newcomers.

    Letters: n people.

    Attributes
    ----------
    table : EncodedTable
        Codes must mean the same in every month: domains are frozen when the series starts.
    value_of : numpy.ndarray
        Integers (n,), from 0, the same in every month: all that a row publishes beside its class.
    values : SensitiveValues
        What these numbers say of sensitive attributes.
    classes : numpy.ndarray
        int32 (n, releases): class in each earlier release, the oldest first, −1 where a person was not published.
    came : numpy.ndarray
        int64 (n,): number of the release with which each person was first published, from 0; −1 before.
    history_of : numpy.ndarray
        int64 (n,): what was returned of it for the last release; −1 before.
    """

    table: EncodedTable
    value_of: NDArray[np.integer]
    values: SensitiveValues
    classes: NDArray[np.int32]
    came: Numbers
    history_of: Numbers

    @property
    def class_of(self) -> NDArray[np.int32]:
        """Class in the last release, −1 for newcomers and whoever waits; int32 (n,)."""
        if not self.classes.shape[1]:
            return np.full(len(self.classes), -1, dtype=np.int32)
        return self.classes[:, -1]


@dataclass(frozen=True, eq=False, repr=False)
class Grown:
    """The next release, and what the ledger keeps for the one after it.

    Attributes
    ----------
    class_of : numpy.ndarray
        int32 (n,): class of each person, −1 who waits for more newcomers.
    count : int
        Classes c.
    came : numpy.ndarray
        int64 (n,): as in the roster, with this release.
    boxes : Boxes
        What each class publishes, and as a last attribute the first and last release with which somebody in it came.
    tree : CutTree
        How the table was cut; private.
    node_of : numpy.ndarray
        int64 (c,): the node of the tree where each class stands; private.
    history_of : numpy.ndarray
        int64 (n,): people who were always in one class with each other have one number; private.
    left : Places
        What all releases together leave to the people of each such history; private.
    taken_back : int
        Moves that the recount did not bear; what they had mixed stands as it was.
    """

    class_of: NDArray[np.int32]
    count: int
    came: Numbers
    boxes: Boxes
    tree: CutTree
    node_of: Numbers
    history_of: Numbers
    left: Places
    taken_back: int = 0


def grow(
    roster: Roster,
    models: Sequence[PrivacyModel],
    earlier: Sequence[Released] = (),
    last: Grown | None = None,
    *,
    labels: Labels | None = None,
    exact_months: bool = False,
) -> Grown:
    """Make the next release of a growing table.

    Parameters
    ----------
    roster
        Everybody.
    models
        Every class must satisfy them, and so must what all releases together leave of a class.
    earlier
        All earlier releases as recipients hold them, the oldest first, boxes with the months of arrival as their last
        attribute; classes of the last one are numbered as `last` numbers them.
    last
        What was returned for the last release; None: this is the first.
    labels
        Makes the boxes that classes will publish, months of arrival apart; None: tight ones.
    exact_months
        Classes publish the first and the last release with which somebody in them came. Only where rows publish
        nothing beside their class: with values the months would tell more than is counted. Else every class says the
        same, from the first release to this one, which tells nothing.

    Raises
    ------
    PolicyError
        For models that mean nothing for a series, and tables in which people have several records.
    UnsatisfiableError
        When not even all people of the first release satisfy the models.
    InputError
        When the earlier releases do not belong together, or not with the roster.

    Notes
    -----
    *Guarantee.* Every class satisfies every model, and every pair of an earlier release and this one is recounted: to
    nobody remain fewer rows than k, or rows that break a model, against an attacker who knows the person's
    quasi-identifying values and the month in which the person came (decision 35 on the months that classes publish).
    The same holds along everybody's history. Counted are pairs and histories of classes in which somebody is, which
    the ledger knows; folders alone tell as much where rows publish nothing beside their class. If the recount fails
    somewhere, what was mixed there is taken back; in the end newcomers are appended, which always holds. Against
    somebody who knows the values of *everybody*, only classes that are never divided stand: append (explanation *What
    two releases tell*). What refused cuts tell is not hidden (decision record 11).

    *Who waits.* Newcomers who are too few to be a class anywhere are not published. All others are: those who are too
    few for the leaves of the tree stand above them, as classes of their own, until enough came.

    *Complexity.* O(m log m) for m people in subtrees to which somebody came, and a recount for each earlier release.

    *Sources.* §1B of Byun et al. 2006 and Pei et al. 2007; the recount is Fung et al. 2008. The tree with classes above
    its leaves, and subtrees that are made anew, are ours (decision record 22).
    """
    _check(roster, models)
    _check_people(roster, earlier)
    order = hash_order(_contents(roster))
    people = _sorted(roster, order)
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    # Whoever makes labels has the people in their own order.
    make = labels and (lambda classes, count: labels(classes[back], count))
    shows = _Shows(make, exact_months)
    grown = _first(people, models, shows) if last is None else _next(people, models, earlier, last, shows)
    return replace(grown, class_of=grown.class_of[back], came=grown.came[back], history_of=grown.history_of[back])


class _Shows(NamedTuple):
    """What classes publish: labels made by a callable, or tight ones, and the months of arrival, exact or not."""

    labels: Labels | None
    exact_months: bool

    def boxes(self, table: EncodedTable, class_of: NDArray[np.int32], count: int) -> Boxes:
        """Return what classes publish, without months."""
        if self.labels is not None:
            return self.labels(class_of, count)
        return tight_boxes(table.attributes, table.codes, class_of, count)

    def together(self, earlier: Sequence[Released]) -> bool:
        """Tell whether all releases are counted together, and not each two of them."""
        return not self.exact_months and joined(earlier)


def _check(roster: Roster, models: Sequence[PrivacyModel]) -> None:
    check_models(models, [attribute.name for attribute in roster.table.sensitive])
    if roster.table.apart is not None or (roster.table.people is not None and (roster.table.people.records > 1).any()):
        raise_all(PolicyError, ["series: a table that grows counts rows, so that nobody may have several records"])


def _check_people(roster: Roster, earlier: Sequence[Released]) -> None:
    if roster.classes.shape[1] != len(earlier):
        raise InputError("series: the ledger must say everybody's class in each earlier release, and in no other")
    for number, (release, classes) in enumerate(zip(earlier, roster.classes.T, strict=True), start=1):
        counted = np.bincount(classes[classes >= 0], minlength=release.boxes.count)
        if len(counted) > release.boxes.count or (counted != release.sizes).any():
            missing = max(0, int(release.sizes.sum() - counted.sum()))
            raise InputError(
                f"series: release {number} and the ledger do not agree about classes ({missing:,} people are missing); "
                "a table that grows keeps everybody: start an m-invariant series where people leave"
            )


def _contents(roster: Roster) -> NDArray[np.unsignedinteger]:
    """Return what decides where a person stands while the release is made: everything, and nothing else."""
    columns = [roster.table.codes, roster.value_of[:, None], roster.classes + 1, roster.came[:, None] + 1]
    return np.concatenate([column.astype(np.uint64) for column in columns], axis=1)


def _sorted(roster: Roster, order: Numbers) -> Roster:
    return replace(
        roster,
        table=roster.table.take(order),
        value_of=roster.value_of[order].astype(np.int64),
        classes=roster.classes[order],
        came=roster.came[order],
        history_of=roster.history_of[order],
    )


def _first(people: Roster, models: Sequence[PrivacyModel], shows: _Shows) -> Grown:
    """Cut everybody, and keep the cuts."""
    start = feasible(Problem(people.table, models), may_leave_out=False)[0]
    partition, cuts = Mondrian().solve_with_cuts(start, keeps=True)
    none = np.zeros(0, dtype=np.int64)
    ground = _ground(people, models, Places(none, none, none, 0))
    order = np.argsort(partition.class_of, kind="stable")
    members = np.split(order, np.cumsum(partition.sizes)[:-1])
    root = tree_of_cuts(cuts, members, ground.codes, ranged(ground.axes), ground.width)
    grown = _finished(people, ground, root, 0, shows)
    return replace(grown, history_of=grown.class_of.astype(np.int64), left=_shown(people, grown).places)


def _shown(people: Roster, grown: Grown) -> Released:
    """Return a release as its recipients will hold it."""
    shown = grown.class_of >= 0
    return Released(grown.class_of[shown], people.value_of[shown], grown.boxes)


def _next(
    people: Roster, models: Sequence[PrivacyModel], earlier: Sequence[Released], last: Grown, shows: _Shows
) -> Grown:
    chains = chains_to(earlier, people.classes) if shows.together(earlier) else None
    ground = replace(
        _ground(people, models, last.left), known=None if chains is None else _known(people, chains, shows)
    )
    nodes = thawed(last.tree)
    for node, rows in zip(last.node_of.tolist(), _members(people.class_of, last.count), strict=True):
        nodes[node].classes.append(Standing(rows, ground.begin()))
    newcomers = np.flatnonzero(people.class_of < 0)
    if ground.allows(newcomers, [np.ones(len(newcomers), dtype=np.bool_)]):
        send_down(ground, nodes[0], newcomers)
    ground = ground.with_newcomers([each.rows for node in nodes for each in node.classes if each.origin >= last.count])

    def released(root: Node) -> tuple[Released, NDArray[np.int32]]:
        grown = _finished(people, ground, root, len(earlier), shows)
        return _shown(people, grown), grown.class_of

    before = Followed(people.history_of, people.class_of, last.left)
    guard = Guard(earlier, models, people.values, people.classes, before, chains, released)
    back = 0
    standing = ground.forget(nodes[0].below())
    for move, is_last in ((settle, False), (make_anew, True)):
        if is_last and chains is not None:
            # All was counted: what stands now is what is gone back to.
            standing = ground.forget(nodes[0].below())
        with ExitStack() as stack:
            for kernel in (best_cut, loss_of, mended, part_allowed):
                stack.enter_context(repeated(kernel, len(standing)))
            move(ground, nodes[0])
        more, followed = taken_back(ground, nodes[0], standing, guard, all_pairs=is_last)
        back += more
    grown = _finished(people, ground, nodes[0], len(earlier), shows)
    return replace(grown, taken_back=back, history_of=followed.history_of, left=followed.left)


def _known(people: Roster, chains: Chains, shows: _Shows) -> KnownChains:
    """Return chains in codes: for every code somebody who has it is looked at alone."""
    table = people.table
    holders, alone = holders_of(table)
    points = shows.boxes(table, alone, int(alone.max(initial=-1)) + 1)
    return KnownChains.of(chains, people.class_of.astype(np.int64), points, holders, table.attributes)


def _members(class_of: NDArray[np.int32], count: int) -> list[Numbers]:
    order = np.argsort(class_of, kind="stable")
    starts = np.searchsorted(class_of[order], np.arange(count + 1))
    return [order[start:stop] for start, stop in pairwise(starts.tolist())]


def _ground(people: Roster, models: Sequence[PrivacyModel], left: Places) -> Ground:
    rules = compile_rules(models, people.table)
    return Ground(
        attributes=people.table.attributes,
        axes=axes_of(people.table.attributes),
        codes=people.table.codes.astype(np.int64),
        sensitive=rules.codes.astype(np.int64),
        value_of=people.value_of.astype(np.int64),
        group_of=people.history_of.astype(np.int64),
        left=left,
        rules=rules.arrays,
        smallest=smallest(rules.arrays),
    )


def _finished(people: Roster, ground: Ground, root: Node, number: int, shows: _Shows) -> Grown:
    """Give classes the numbers in which the tree has them, and say what they publish; those that look alike are one."""
    tree, nodes = frozen(root, ground.width)
    class_of = np.full(people.table.height, -1, dtype=np.int32)
    places: list[int] = []
    for place, node in enumerate(nodes):
        for each in node.classes:
            class_of[each.rows] = len(places)
            places.append(place)
    node_of = np.array(places, dtype=np.int64)
    came = np.where((people.came < 0) & (class_of >= 0), number, people.came)
    boxes = shows.boxes(people.table, class_of, len(node_of))
    months = _months(class_of, came, number, boxes.count) if shows.exact_months else any_month(number, boxes.count)
    boxes = dated(boxes, months)
    label_of, firsts = alike(boxes)
    if len(firsts) < len(node_of):
        # To a recipient they are one class, and so they are to the recount.
        class_of = np.append(label_of, -1).astype(np.int32)[class_of]
        first, last = np.full(len(firsts), len(nodes), dtype=np.int64), np.zeros(len(firsts), dtype=np.int64)
        np.minimum.at(first, label_of, node_of)
        np.maximum.at(last, label_of, node_of)
        node_of, boxes = common_node(tree, first, last), boxes.take(firsts)
    return Grown(class_of, len(node_of), came, boxes, tree, node_of, people.history_of, ground.left)


def _months(class_of: NDArray[np.int32], came: Numbers, number: int, count: int) -> tuple[Numbers, Numbers]:
    """Return the first and the last release with which somebody in each class came."""
    months = np.full(count, number), np.zeros(count, dtype=np.int64)
    shown = class_of >= 0
    np.minimum.at(months[0], class_of[shown], came[shown])
    np.maximum.at(months[1], class_of[shown], came[shown])
    return months
