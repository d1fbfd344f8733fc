"""Mondrian: top-down greedy partitioning (LeFevre, DeWitt, Ramakrishnan, ICDE 2006)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.mondrian.blind_blocks import block_size, cut_blocks
from sfumato.anonymizers.mondrian.cut_regions import regions_of
from sfumato.anonymizers.protocol import ModelsApart, Problem
from sfumato.anonymizers.records import Records, records_of
from sfumato.anonymizers.selection import least_loss
from sfumato.anonymizers.space import space_of
from sfumato.classes.partition import Partition
from sfumato.errors import PolicyError, raise_all
from sfumato.kernels.mondrian.cuts import Options
from sfumato.kernels.mondrian.mondrian import partition_range
from sfumato.kernels.mondrian.ranges import NOT_KEPT
from sfumato.kernels.predicates import RuleArrays
from sfumato.kernels.space import Space
from sfumato.models.apart import among
from sfumato.models.rule_traits import implied_size, ruled
from sfumato.options import Checked
from sfumato.parallel import thread_pool
from sfumato.randomness import permutation
from sfumato.table.encoding import EncodedTable

Mode = Literal["strict", "relaxed"]
SplitRule = Literal["median", "median+fallback", "anywhere"]
AttributeChoice = Literal["least-loss", "widest"]
Widths = Literal["data", "region"]
Extent = Literal["tight", "region"]

UNLIMITED = 2**62
SMALLEST_TASK = 16_000
APART_TASK = 2_000
"""Records from which on people are numbered anew, so that a cut does not cost what the people of the table would."""
TASKS = 32
REFUSED = 1.75
"""Times the smallest size that classes have on average from which on many cuts must have been refused."""
RETRIED = (0.8, 1.25)
"""Shares of the average size of classes that are then asked of all of them."""
MOST_RETRIED = 200_000
"""Records up to which that is done."""
LARGER = (
    "Sensitive values refused many cuts. Asking for larger classes loses less than cutting as far as the models allow, "
    "and promises as much; so this was done."
)
"""What the release says that beat the one without."""


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

    *Sources.* LeFevre et al. 2006; Algorithm 1 of the soccer paper. `blind` is our answer to the attack of Wong, Fu,
    Wang and Pei, "Minimality attack in privacy preserving data publishing", VLDB 2007. Departures: ``"least-loss"`` and
    ``"anywhere"`` are ours (decision record 2); the attribute next in width is tried when the widest has no allowable
    cut, as LeFevre's text says and the printed algorithm does not.
    """

    name: ClassVar[str] = "mondrian"
    people_apart: ClassVar[ModelsApart] = "any model"
    only_cuts: ClassVar[bool] = True

    mode: Mode = "strict"
    split_rule: SplitRule = "median+fallback"
    attribute_choice: AttributeChoice | None = None
    widths: Widths = "data"
    hierarchy_cuts: bool = False
    extent: Extent = "tight"
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
        return solutions[0] if len(solutions) == 1 else least_loss(problem.table, solutions)

    def _solutions(self, start: FeasibleProblem) -> Iterator[Partition]:
        """Yield the solution, and others of larger classes where sensitive values have refused many cuts.

        What a cut is thought to lose is then that of classes as small as there are few; judged by what classes really
        became, other cuts are chosen, and may lose less.
        """
        first = self.solve_part(start)
        yield first
        usual = start.problem.table.height / max(1, first.count)
        judged = self.attribute_choice == "least-loss" and start.ruled and not self.blind
        if judged and usual > REFUSED * implied_size(start.rules.arrays) and start.problem.table.height <= MOST_RETRIED:
            for share in RETRIED:
                larger = self.solve_part(start, math.ceil(share * usual))
                yield replace(larger, notes=(*larger.notes, LARGER))

    def solve_part(self, start: FeasibleProblem, least: int = 1) -> Partition:
        """Partition all records of a problem into classes of at least `least`, and of what the models ask for.

        Cuts above a range decide nothing inside of it: with tight classes, and `widths` those of the data, the solution
        of a table is that of the parts that its first cuts make, side by side.
        """
        partition, cuts = self.solve_with_cuts(start, least)
        if not self.decides_regions:
            return partition
        return replace(partition, regions=regions_of(start.problem.table, partition, cuts))

    def solve_with_cuts(
        self, start: FeasibleProblem, least: int = 1, *, keeps: bool = False
    ) -> tuple[Partition, NDArray[np.int64]]:
        """Partition all records of a problem, and tell how: by which cuts of classes.

        Parameters
        ----------
        start
            The problem.
        least
            Fewest records of a class, besides what the models ask for.
        keeps
            Keep the cuts though classes are tight.

        Returns
        -------
        partition : Partition
            Without regions.
        cuts : numpy.ndarray
            int64 (b, 4): attribute, first class, first class on the right, end of the classes; no rows if not kept.
        """
        table = start.problem.table
        # Relaxed halves depend on the order of equal records, which is drawn.
        order = permutation(table.height, start.problem.seed) if self.mode == "relaxed" else None
        blind = self.blind and start.ruled
        # Collapsed records stand in the order of their sensitive values, too, and are as many as these make them,
        # which blind cuts must not depend on.
        records = records_of(table, start.rules, collapse=order is None and not blind, kept=start.kept, order=order)
        options = self.cut_options(start.rules.arrays, least)
        keeps |= self.decides_regions
        made = np.zeros((records.height, 3), dtype=np.int32) if keeps else NOT_KEPT
        space, rules, notes = space_of(table.attributes), start.rules.arrays, []
        first = options._replace(smallest=block_size(start.smallest)) if blind else options
        starts = _partition(records, space, rules, first, start.problem, made)
        if blind:
            notes.append(cut_blocks(records, space, rules, options, starts, made, start.problem.threads))
        partition = replace(start.partition(*_classes(records, starts)), notes=tuple(notes))
        return partition, _cuts(starts, made) if keeps else np.zeros((0, 4), dtype=np.int64)

    def class_starts(self, records: Records, rules: RuleArrays, problem: Problem) -> NDArray[np.bool_]:
        """Cut records that are laid out already, wherever they lie; bool (m,), set at the first record of every class.

        For strict cuts that are not blind, and classes whose regions nobody asks for. Records are moved so that those
        of a class stand together. As :meth:`solve_part` does, it makes one solution and no larger ones beside it.

        Parameters
        ----------
        records
            Collapsed, in the order of :func:`~sfumato.anonymizers.records.records_of`.
        rules
            The models, compared with the whole table.
        problem
            Says attributes, threads and whom to tell of progress; its records are not looked at.
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
    task = APART_TASK if rules.apart >= 0 else max(SMALLEST_TASK, records.height // TASKS)
    counted = slice(len(space.kinds), len(space.kinds) + len(rules.offsets) - 1)

    def run(low: int, high: int, region: NDArray[np.float64], rules: Any) -> tuple[int, Any, Any, Any]:
        most_cuts = UNLIMITED if high - low <= task else 1
        if rules.apart >= 0:
            rules, records.codes[low:high, counted] = among(rules, records.codes[low:high, counted])
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
                settled, left, regions, among_them = future.result()
                done += settled
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
