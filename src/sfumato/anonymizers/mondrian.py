"""Mondrian: top-down greedy partitioning (LeFevre, DeWitt, Ramakrishnan, ICDE 2006).

Below the algorithm stand the blocks whose cuts look at nobody's sensitive value (`blind`), and the regions that cuts
leave to classes. Letters: n records, m distinct ones, q attributes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.layout import Records, lay_out_records, space_of
from sfumato.anonymizers.parts import least_loss_solution
from sfumato.anonymizers.protocol import ModelsApart, Problem
from sfumato.classes.partition import Partition, Regions
from sfumato.errors import PolicyError, raise_all
from sfumato.kernels.boxes import class_boxes
from sfumato.kernels.mondrian.cuts import NOT_KEPT, LaidRecords, Options
from sfumato.kernels.mondrian.mondrian import classes_hold, narrow_ranges, narrow_sets, occurring, partition_range
from sfumato.kernels.predicates import RuleArrays
from sfumato.kernels.types import SET, Space
from sfumato.models.compiled import renumber_places
from sfumato.models.protocol import implied_size, relative, ruled
from sfumato.options import Checked
from sfumato.parallel import each, thread_pool
from sfumato.randomness import permutation
from sfumato.table.encoding import EncodedAttribute, EncodedTable

_Mode = Literal["strict", "relaxed"]

_SplitRule = Literal["median", "median+fallback", "anywhere"]

_AttributeChoice = Literal["least-loss", "widest"]

_Widths = Literal["data", "region"]

_Extent = Literal["tight", "region"]

_UNLIMITED = 2**62

SMALLEST_TASK = 16_000

_APART_TASK = 2_000
"""Records from which on people are numbered anew, so that a cut does not cost what the people of the table would."""

_TASKS = 32

_REFUSED = 1.75
"""Times the smallest size that classes have on average from which on many cuts must have been refused."""

RETRIED = (0.8, 1.25)
"""Shares of the average size of classes that are then asked of all of them."""

MOST_RETRIED = 200_000
"""Records up to which that is done."""

_LARGER = (
    "Sensitive values refused many cuts. Larger classes lose less here than cuts as far as the models allow, "
    "and promise as much. So larger ones were asked for."
)
"""What the release says that beat the one without."""

_CERTAIN = 1e9

_MARGINS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0)
"""Standard deviations by which a part is thought to have more of a value than chance gives it, tried in this order."""

_FEWEST_RECORDS, _FEWEST_CLASSES = 100, 5
"""Records that a block has at least, and classes that a margin must make to be tried: what is told is told of them."""

_CLASSES_MEANT = 20
"""Smallest classes that fill a block."""


@dataclass(frozen=True)
class Mondrian(Checked):
    """Cut the table along one attribute, then each part again, until no cut is allowable.

    Parameters
    ----------
    mode
        ``"strict"``: equal values stay together, so equal records get equal published values. ``"relaxed"``: values
        equal to the median go to either side, so that both halves have the same size.
    split_rule
        Where an attribute is cut. ``"median"``: values up to the lower median go left (the paper's rule). With
        ``"median+fallback"`` the cut below the median is also tried, and the allowable one that is closer to half is
        made; a skewed attribute can then be cut at all. ``"anywhere"``: every place is weighed, and single categories
        against the rest; less loss, more time; only with ``attribute_choice="least-loss"``.
    attribute_choice
        Which attribute is cut. ``"widest"``: the one with the largest normalized width (the paper's rule).
        ``"least-loss"``: the one whose cut promises the least information loss in the final classes; categories without
        a hierarchy are also cut in the order of their frequency inside the part. None becomes ``"widest"`` with
        ``mode="relaxed"``, ``split_rule="median"``, ``widths="region"`` or ``hierarchy_cuts``, which are the paper's,
        and with ``extent="region"``, as least loss is that of tight classes; ``"least-loss"`` otherwise.
    widths
        ``"data"``: width of the values that a part has. ``"region"``: width of the region that earlier cuts have left,
        starting from the declared domain, as the UTD Anonymization Toolbox does.
    hierarchy_cuts
        Cut an attribute that has a hierarchy into all children of the part's common ancestor at once, instead of in two
        between neighbouring leaves.
    extent
        What a class publishes. ``"tight"``: the smallest value set or node that has its values, and the interval that
        the recoding makes of them, which loses least, but leaves out whoever has none of them. ``"region"``: all that
        the cuts have left to it, so that the classes cover everything between them, and nobody can be told to be absent
        (decision record 9).
    blind
        Decide on cuts without a look at who has which sensitive value, but for those between large parts. Whoever runs
        the algorithm again then learns next to nothing of single people from cuts that were refused, which costs loss
        (decision record 11). No difference where no model looks at sensitive values. Not with ``widths="region"``.

    Raises
    ------
    PolicyError
        With every option that is unknown or contradicts another.

    Notes
    -----
    *Guarantee.* Every class satisfies every model of the problem: a cut is made only when all its parts do. This needs
    models that are monotone under merging, as all models of the library are. Strict classes hold at most
    ``2 q (k - 1) + m`` records (m: records with equal quasi-identifying values), relaxed ones at most ``2 k - 1`` where
    k-anonymity is the only model. Blind, the table is first cut into blocks of at least 100 records, and 20 times k.
    Inside a block every cut follows from quasi-identifying values, the sensitive values that the release shows, and one
    margin: a part counts as if it had more of the frequent values than chance gives it, by so many standard deviations.
    The margin is the first with which all classes of the block satisfy every model. That smaller ones did not do is all
    that refusals tell of a block; it is assumed to be no secret of a single person. Blocks that make fewer than five
    classes take no margin, but only cuts that no way to share their values out could forbid.

    With ``"least-loss"``, where sensitive values refuse many cuts, the table is also cut into larger classes, and the
    best solution is kept: what a cut promises is else reckoned with classes that are not to be had.

    *Complexity.* O(q n log n) time and O(q n) memory; equal records are collapsed first.
    Blind: as often as margins are tried, at most 13 times, and nothing is collapsed.

    *Sources.* K. LeFevre, D. J. DeWitt, R. Ramakrishnan, "Mondrian multidimensional k-anonymity", ICDE 2006;
    Algorithm 1 of the soccer paper. `blind` is our answer to the attack of Wong, Fu,
    Wang and Pei, "Minimality attack in privacy preserving data publishing", VLDB 2007. Departures: ``"least-loss"`` and
    ``"anywhere"`` are ours (decision record 2); the attribute next in width is tried when the widest has no allowable
    cut, as LeFevre's text says and the printed algorithm does not.
    """

    name: ClassVar[str] = "mondrian"
    people_apart: ClassVar[ModelsApart] = "any model"
    only_cuts: ClassVar[bool] = True

    mode: _Mode = "strict"
    split_rule: _SplitRule = "median+fallback"
    attribute_choice: _AttributeChoice | None = None
    widths: _Widths = "data"
    hierarchy_cuts: bool = False
    extent: _Extent = "tight"
    blind: bool = False

    @property
    def order_free(self) -> bool:
        """Whether solutions are the same in whatever order the records stand: all but relaxed ones."""
        return self.mode == "strict"

    @property
    def shares_nobody(self) -> bool:
        """Whether the ranges of no two classes meet; what is published of them may."""
        return self.mode == "strict"

    @property
    def decides_regions(self) -> bool:
        """Whether solutions say what each class publishes: with ``extent="region"``."""
        return self.extent == "region"

    def __post_init__(self) -> None:
        """Check the options against each other, and settle which attribute rule None stands for."""
        super().__post_init__()
        if self.attribute_choice is None:
            # Least loss is that of tight classes, which says little of what their regions will lose.
            by_width = _textbook_options(self) or (self.decides_regions and self.split_rule != "anywhere")
            object.__setattr__(self, "attribute_choice", "widest" if by_width else "least-loss")
        raise_all(PolicyError, _contradictions(self))

    def solve(self, problem: Problem) -> Partition:
        """Partition the records.

        Raises
        ------
        UnsatisfiableError
            When not even all records together satisfy the models, and leaving some of the most frequent sensitive
            values out within the suppression limit does not change that. Nothing else is ever suppressed: a record
            that is left out is charged in full, which costs more than it saves.
        """
        starts = feasible(problem, may_leave_out=self.mode == "strict")
        solutions = [solution for start in starts for solution in self._solutions(start)]
        return solutions[0] if len(solutions) == 1 else least_loss_solution(problem.table, solutions)

    def _solutions(self, start: FeasibleProblem) -> Iterator[Partition]:
        """Yield the solution, and others of larger classes where sensitive values have refused many cuts."""
        # What a cut is thought to lose is then that of classes as small as there are few; judged by what classes really
        # became, other cuts are chosen, and may lose less.
        first = self.solve_part(start)
        yield first
        usual = start.problem.table.height / max(1, first.count)
        judged = self.attribute_choice == "least-loss" and start.ruled and not self.blind
        if (
            judged
            and usual > _REFUSED * implied_size(start.rules.arrays)
            and start.problem.table.height <= MOST_RETRIED
        ):
            for share in RETRIED:
                larger = self.solve_part(start, math.ceil(share * usual))
                yield replace(larger, notes=(*larger.notes, _LARGER))

    def solve_part(self, start: FeasibleProblem, least: int = 1) -> Partition:
        """Partition all records of a problem into classes of at least `least`, and of what the models ask for.

        Cuts above a range decide nothing inside of it: with tight classes, and `widths` those of the data, the solution
        of a table is that of the parts that its first cuts make, side by side.
        """
        partition, cuts = self.solve_with_cuts(start, least)
        if not self.decides_regions:
            return partition
        return replace(partition, regions=_regions_of(start.problem.table, partition, cuts))

    def solve_with_cuts(
        self, start: FeasibleProblem, least: int = 1, *, keeps: bool = False
    ) -> tuple[Partition, NDArray[np.int64]]:
        """Partition all records of a problem, and tell how: by which cuts of classes.

        `start`: the problem. `least`: fewest records of a class, besides what the models ask for. `keeps`: keep the
        cuts though classes are tight. Returns `partition`, without regions; `cuts`, int64 (b, 4): attribute, first
        class, first class on the right, end of the classes; no rows if not kept.
        """
        table = start.problem.table
        # Relaxed halves depend on the order of equal records, which is drawn.
        order = permutation(table.height, start.problem.seed) if self.mode == "relaxed" else None
        blind = self.blind and start.ruled
        # Collapsed records stand in the order of their sensitive values, too, and are as many as these make them,
        # which blind cuts must not depend on.
        records = lay_out_records(
            table, start.rules, collapse=order is None and not blind, kept=start.kept, order=order
        )
        options = self.cut_options(start.rules.arrays, least)
        keeps |= self.decides_regions
        made = np.zeros((records.height, 3), dtype=np.int32) if keeps else NOT_KEPT
        space, rules, notes = space_of(table.attributes), start.rules.arrays, []
        first = options._replace(smallest=least_blind_block(start.smallest)) if blind else options
        starts = _partition(records, space, rules, first, start.problem, made)
        if blind:
            notes.append(_cut_blocks(records, space, rules, options, starts, made, start.problem.threads))
        partition = replace(start.partition(*_classes(records, starts)), notes=tuple(notes))
        return partition, _cuts(starts, made) if keeps else np.zeros((0, 4), dtype=np.int64)

    def class_starts(self, records: Records, rules: RuleArrays, problem: Problem) -> NDArray[np.bool_]:
        """Cut records that are laid out already, wherever they lie; bool (m,), set at the first record of every class.

        For strict cuts that are not blind, and classes whose regions nobody asks for. Records are moved so that those
        of a class stand together. As :meth:`solve_part` does, it makes one solution and no larger ones beside it.

        `records`: collapsed, in the order of :func:`~sfumato.anonymizers.layout.lay_out_records`. `rules`: the models,
        compared with the whole table. `problem`: says attributes, threads and whom to tell of progress; its records are
        not looked at.
        """
        return _partition(
            records, space_of(problem.table.attributes), rules, self.cut_options(rules), problem, NOT_KEPT
        )

    def cut_options(self, rules: RuleArrays, least: int = 1) -> Options:
        """Return the options as kernels take them."""
        return Options(
            # Whoever judges cuts by what smaller classes would lose is led astray by those that no model admits.
            smallest=max(least, implied_size(rules)),
            ruled=ruled(rules),
            relaxed=self.mode == "relaxed",
            fallback=self.split_rule != "median",
            least_loss=self.attribute_choice == "least-loss",
            everywhere=self.split_rule == "anywhere",
            regions=self.widths == "region",
            by_tree=self.hierarchy_cuts,
        )


def _textbook_options(options: Mondrian) -> list[str]:
    present = {
        "mode='relaxed'": options.mode == "relaxed",
        "split_rule='median'": options.split_rule == "median",
        "widths='region'": options.widths == "region",
        "hierarchy_cuts": options.hierarchy_cuts,
    }
    return [words for words, holds in present.items() if holds]


def _contradictions(options: Mondrian) -> list[str]:
    problems = []
    textbook = _textbook_options(options)
    if options.attribute_choice == "least-loss" and textbook:
        problems.append(f"mondrian: attribute_choice='least-loss' cannot be combined with {' or '.join(textbook)}")
    if options.split_rule == "anywhere" and options.attribute_choice == "widest":
        problems.append("mondrian: split_rule='anywhere' needs attribute_choice='least-loss'")
    if options.widths == "region" and (options.hierarchy_cuts or options.mode == "relaxed"):
        problems.append("mondrian: widths='region' needs mode='strict' and no hierarchy_cuts")
    if options.widths == "region" and options.blind:
        problems.append("mondrian: widths='region' cannot be combined with blind")
    return problems


def _partition(
    records: Records, space: Space, rules: Any, options: Options, problem: Problem, made: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Run the kernel over ranges in a thread pool; which ranges there are depends on the table alone."""
    starts = np.zeros(records.height, dtype=np.bool_)
    task = _APART_TASK if rules.apart >= 0 else max(SMALLEST_TASK, records.height // _TASKS)
    counted = slice(len(space.kinds), len(space.kinds) + len(rules.offsets) - 1)

    def run(low: int, high: int, region: NDArray[np.float64], rules: Any) -> tuple[int, Any, Any, Any]:
        most_cuts = _UNLIMITED if high - low <= task else 1
        if rules.apart >= 0:
            rules, records.codes[low:high, counted] = renumber_places(rules, records.codes[low:high, counted])
        left, regions = partition_range(records.laid, low, high, region, most_cuts, space, rules, options, starts, made)
        return (0 if len(left) else high - low), left, regions, rules

    region = _region(problem.table, space)
    if records.height <= task:
        # A single range gains nothing from a thread of its own.
        run(0, records.height, region, rules)
        problem.progress("partitioning", records.height, records.height)
        return starts
    done = 0
    with thread_pool(problem.threads) as pool:
        pending: set[Future[tuple[int, Any, Any, Any]]] = {pool.submit(run, 0, records.height, region, rules)}
        while pending:
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                parts, left, regions, among_them = future.result()
                done += parts
                for index, (low, high) in enumerate(left):
                    box = regions[index] if options.regions else region
                    pending.add(pool.submit(run, int(low), int(high), box, among_them))
            problem.progress("partitioning", done, records.height)
    return starts


def _region(table: EncodedTable, space: Space) -> NDArray[np.float64]:
    """Bounds of the whole table on every attribute, float64 (q, 2): declared domains, else the data's."""
    bounds = np.empty((len(table.attributes), 2))
    for row, (first, stop) in enumerate(zip(space.offsets, space.offsets[1:], strict=False)):
        low, width = table.attributes[row].domain_low, table.attributes[row].domain_width
        is_numeric = table.attributes[row].is_numeric
        bounds[row] = (low, low + width) if is_numeric else (space.positions[first], space.positions[stop - 1])
    return bounds


def _classes(records: Records, starts: NDArray[np.bool_]) -> tuple[NDArray[np.int32], int]:
    classes = np.cumsum(starts, dtype=np.int32) - 1
    return records.spread(classes), int(classes[-1]) + 1


def _cuts(starts: NDArray[np.bool_], made: NDArray[np.int32]) -> NDArray[np.int64]:
    """Turn cuts of records into cuts of classes, int64 (b, 4): attribute, first class, middle, end."""
    middles = np.flatnonzero(starts)[1:]
    class_at = np.append(np.cumsum(starts) - 1, np.count_nonzero(starts))
    attributes, firsts, ends = made[middles].T
    return np.column_stack([attributes, class_at[firsts], class_at[middles], class_at[ends]]).astype(np.int64)


def _cut_blocks(
    records: Records, space: Space, rules: Any, options: Options, starts: NDArray[np.bool_], made: NDArray[np.int32],
    threads: int,
) -> str:  # fmt: skip
    """Cut every block by the first margin with which all its classes satisfy the rules; returns a note."""
    # Inside a block, sensitive values are counted for ranges as a whole, which a release shows anyway. Whether a range
    # is cut follows from these counts, the quasi-identifying values, and one margin for the block. So whoever runs the
    # algorithm again learns of the block that smaller margins did not do, and nothing of any single cut (decision
    # record 11). Small blocks, and those for which no margin does, are cut where no way to share sensitive values out
    # could break a rule; not at all if a rule compares classes with the whole table.
    bounds = [(int(low), int(high)) for low, high in pairwise([*np.flatnonzero(starts), records.height])]

    def run(block: tuple[int, int]) -> bool:
        cut, is_certain = _cut(*block, records, space, rules, options, len(made) > 0)
        _put_back(block[0], cut, records, starts, made)
        return is_certain

    certain = each(run, bounds, threads)
    return (
        f"Cuts did not look at who has which sensitive value, in {len(certain):,} blocks. In {sum(certain):,} of them "
        "only those were made for which no sensitive value could matter."
    )


def _cut(
    low: int, high: int, records: Records, space: Space, rules: Any, options: Options, keeps_cuts: bool
) -> tuple[_Cut, bool]:
    def by(margin: float) -> _Cut:
        return _cut_by(low, high, records, space, rules, options._replace(margin=margin), keeps_cuts)

    if records.weights[low:high].sum() >= _FEWEST_RECORDS:
        for margin in _MARGINS:
            cut = by(margin)
            # Counted before the classes are judged: it follows from what is public, and so tells nothing.
            if np.count_nonzero(cut.starts) < _FEWEST_CLASSES:
                break
            if classes_hold(cut.codes, cut.weights, cut.starts, space, rules, options):
                return cut, False
    cut = by(_CERTAIN)
    if relative(rules):
        # The least diverse part is not always the one that is farthest from the whole table.
        cut.starts[1:] = False
    return cut, True


def _cut_by(
    low: int, high: int, records: Records, space: Space, rules: Any, options: Options, keeps_cuts: bool
) -> _Cut:
    size = high - low
    words = records.words[low:high].copy()
    cut = _Cut(
        words, words.view(records.codes.dtype), records.weights[low:high].copy(), records.rows[low:high].copy(),
        np.zeros(size, dtype=np.bool_), np.zeros((size if keeps_cuts else 0, 3), dtype=np.int32),
    )  # fmt: skip
    partition_range(
        LaidRecords(cut.codes, cut.words, cut.weights, cut.rows), 0, size, np.zeros((len(space.kinds), 2)), _UNLIMITED,
        space, rules, options, cut.starts, cut.made,
    )  # fmt: skip
    return cut


def _put_back(low: int, cut: _Cut, records: Records, starts: NDArray[np.bool_], made: NDArray[np.int32]) -> None:
    block = slice(low, low + len(cut.rows))
    records.words[block], records.weights[block], records.rows[block] = cut.words, cut.weights, cut.rows
    starts[block] = cut.starts
    if len(made):
        # The first record keeps the cut that made the block.
        inside = np.flatnonzero(cut.starts)[1:]
        made[low + inside] = cut.made[inside] + np.array([0, low, low], dtype=np.int32)


@dataclass(frozen=True, eq=False, repr=False)
class _Cut:
    """A block that was cut: copies of its records as they now stand, where classes start, and the cuts made."""

    words: NDArray[np.uint64]
    codes: NDArray[np.unsignedinteger]
    weights: NDArray[np.int32]
    rows: NDArray[np.int32]
    starts: NDArray[np.bool_]
    made: NDArray[np.int32]


def least_blind_block(smallest: int) -> int:
    """Return how many records both sides of a cut must have for sensitive values to be looked at."""
    return max(_FEWEST_RECORDS, _CLASSES_MEANT * smallest)


def _regions_of(table: EncodedTable, partition: Partition, cuts: NDArray[np.int64]) -> Regions:
    """Return what the cuts leave to each class: regions that cover every value of the table's columns together."""
    # A range between two sides of a cut ends where the hierarchy has its highest border between them, or in the middle
    # of the codes that neither has. A class that mixes missing and present values covers everything. Cost O(n q + c ·
    # depth), without order times the values, memory two bytes for each class and such value.
    space, attributes = space_of(table.attributes), table.attributes
    tight = np.stack(class_boxes(partition.covered_by, table.codes, partition.count)).astype(np.int64)
    low, high = np.zeros_like(tight[0], dtype=np.int32), np.zeros_like(tight[0], dtype=np.int32)
    sizes = np.array([attribute.size for attribute in attributes], dtype=np.int64)
    high[:] = [attribute.cardinality - 1 for attribute in attributes]
    ranged = space.kinds[cuts[:, 0]] != SET
    narrow_ranges(cuts[ranged], tight, _border_heights(attributes, space), space.offsets, sizes, low, high)
    level = np.zeros_like(low)
    for index, attribute in enumerate(attributes):
        _settle(attribute, tight[:, :, index], low[:, index], high[:, index], level[:, index])
    return Regions(low, high, level, _sets(table, partition, cuts, space), between=True)


def _border_heights(attributes: tuple[EncodedAttribute, ...], space: Space) -> NDArray[np.int32]:
    """Count after each code the levels of the hierarchy on which the next one is in another node."""
    heights = np.zeros(int(space.offsets[-1]), dtype=np.int32)
    for attribute, first in zip(attributes, space.offsets, strict=False):
        if attribute.hierarchy is not None and attribute.size > 1:
            crossed = (np.diff(attribute.hierarchy.node_of, axis=1) != 0).sum(axis=0)
            heights[first : first + attribute.size - 1] = crossed
    return heights


def _settle(
    attribute: EncodedAttribute,
    tight: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    level: NDArray[np.int32],
) -> None:
    """Turn ranges of one attribute into what can be published: nodes, and missing values apart; in place, (c,) each."""
    size = attribute.size
    missing, mixed = tight[0] == size, (tight[0] < size) & (tight[1] == size)
    high[:] = np.minimum(high, max(0, size - 1))
    if attribute.hierarchy is not None:
        inner = np.flatnonzero((low < high) & ~missing)
        level[inner] = attribute.hierarchy.common_ancestor(low[inner], high[inner])
        for step in np.unique(level[inner]):
            there = inner[level[inner] == step]
            starts = np.asarray(attribute.hierarchy.levels[step].starts, dtype=np.int32)
            nodes = attribute.hierarchy.node_of[step, low[there]]
            low[there], high[there] = starts[nodes], starts[nodes + 1] - 1
        level[mixed], level[missing] = attribute.hierarchy.height, 0
    low[mixed], high[mixed] = 0, size
    low[missing] = high[missing] = size


def _sets(
    table: EncodedTable, partition: Partition, cuts: NDArray[np.int64], space: Space
) -> Mapping[int, NDArray[np.bool_]]:
    sets = {}
    for index in np.flatnonzero(space.kinds == SET).tolist():
        width = table.attributes[index].size + 1
        found = np.zeros((partition.count, width), dtype=np.bool_)
        occurring(partition.covered_by, table.codes[:, index], found)
        allowed = np.ones_like(found)
        allowed[:, -1] = table.attributes[index].has_missing
        buffers = np.zeros((2, width), dtype=np.bool_)
        narrow_sets(cuts[cuts[:, 0] == index], found, buffers[0], buffers[1], allowed)
        sets[index] = allowed
    return sets
