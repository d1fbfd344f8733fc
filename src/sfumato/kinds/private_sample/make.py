"""A random sample of generalized records, under differential privacy: levels chosen privately, rare ones left out."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.levels import LevelTables, group_weighted, plain_records
from sfumato.classes.partition import distinct_records, group_records
from sfumato.errors import PolicyError, SfumatoError, VerificationError, raise_all
from sfumato.hierarchy import Hierarchy, Intervals
from sfumato.hierarchy.lattice_search import Lattice, Levels
from sfumato.hierarchy.tree import ROOT
from sfumato.kinds.private.check import Domain
from sfumato.kinds.private.ledger import PrivacyLedger
from sfumato.kinds.private.make import (
    DeclaredColumn,
    NoiseCore,
    borders_of,
    bound_people,
    budget_notes,
    kind_problems,
    of_bins,
    opendp,
    policy_of_private_call,
    smallest_scale,
)
from sfumato.kinds.private.policy import Bins
from sfumato.kinds.private_sample.check import (
    GRAINS,
    LEAST_EPSILON,
    STEP,
    WHOLE,
    PrivateSample,
    SampleBudget,
    largest_share,
    sample_verification,
    smallest_k,
)
from sfumato.kinds.private_sample.policy import Objective, PrivateSamplePolicy, SampleSettings
from sfumato.kinds.private_sample.release import PrivateSampleRelease
from sfumato.models.of_kinds import DifferentialPrivacy
from sfumato.numbers import counted
from sfumato.progress import Progress, shown, silent
from sfumato.randomness import permutation
from sfumato.release.problem import repeated_notes
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table

MOST_NODES = 20_000
"""Nodes between which the search chooses; of more, so many are drawn without looking at the data."""
_HALF = Fraction(1, 2)
_LEAST_SHARE = 0.001
_Codes = NDArray[np.int64]
_MOST_VALUES = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class SampleTask:
    """Records as cells of declared hierarchies, one of each person; `beyond` counts the others, steward only."""

    codes: _Codes
    ladders: tuple[Ladder, ...]
    sensitive: tuple[str, ...]
    model: DifferentialPrivacy
    sampling: SampleSettings
    beyond: int = 0

    @property
    def searches(self) -> bool:
        """Whether the levels of some column are open."""
        return any(ladder.name not in self.sampling.levels for ladder in self.ladders)


def sample_task(table: Table, model: DifferentialPrivacy, sampling: SampleSettings) -> SampleTask:
    """Put records into the cells of declared hierarchies, one of each person; ``PolicyError`` with every mistake."""
    ladders, found = _ladders_of(table, sampling)
    raise_all(PolicyError, [*_problems(table, model, sampling, ladders), *found])
    codes = np.column_stack([ladder.codes(table.frame[ladder.name]) for ladder in ladders])
    chosen = bound_people(table, np.ones(len(codes), dtype=np.bool_), 1)
    sensitive = tuple(ladder.name for ladder in ladders if ladder.name in table.schema.sensitive)
    return SampleTask(codes[chosen], ladders, sensitive, model, sampling, len(codes) - len(chosen))


@dataclass(frozen=True)
class _SolvedSample:
    """A sample, and what it cost."""

    published: PrivateSample
    budget: SampleBudget


def solve_sample(task: SampleTask, progress: Progress = silent) -> _SolvedSample:
    """Choose levels, draw records, and leave out what is rare among them.

    Raises ``PolicyError`` when ε leaves the sample less than it needs. Raises ``InputError`` when OpenDP is not
    installed. Levels are chosen by all records, with noise (ε₁, by OpenDP); then every record is drawn by itself with
    64 bits of the operating system, independent of that choice, and of the drawn records those stay whose class has k
    (ε₂, δ). So both compose to (ε₁ + ε₂, δ), whatever was chosen.

    A node's score adds up, over classes of x records of which each keeps u of 1,000, u · min(x, 2x - T) where that is
    positive, T being k over the share: a class of T records has k in the sample on average. One record more changes a
    score by at most 2 · 1,000, and never downwards. Scores are whole numbers. Cost O(n · a) for each of up to
    :data:`MOST_NODES` nodes.

    *Source.* R. Bild, K. Kuhn, F. Prasser, "SafePub: a truthful data anonymization algorithm with strong privacy
    guarantees", PoPETs 2018. *Departures.* One choice between all nodes in place of a walk from the top; scores of all
    records, as a sample that levels were chosen by is no longer random; scores of their own, which one record changes
    by little; permute-and-flip for the exponential mechanism; δ exact in place of its bound; what is left out is not
    published as rows without values; a share of at most a half where none is asked for.
    """
    names, sampling = [ladder.name for ladder in task.ladders], task.sampling
    share, epsilon, scale = split_of(task)
    k = smallest_k(share, epsilon, task.model.delta)
    levels, nodes = tuple(sampling.levels.get(name, 0) for name in names), []
    if scale is not None:
        nodes = candidate_levels(task)
        scores = scores_of(task, nodes, -(-k // share), progress)
        place, _ = NoiseCore(opendp(), "discrete Laplace", 1).choose_rising(scores, STEP, scale)
        levels = nodes[place]
    progress("drawing records", 0, 1)
    kept = draw_share(len(task.codes), share)
    budget = SampleBudget(k, float(share), float(epsilon), scale, max(len(nodes), 1))
    return _SolvedSample(_published(task, levels, task.codes[kept], k), budget)


def draw_share(records: int, share: Fraction) -> NDArray[np.bool_]:
    """Draw each record with exactly this chance, a whole multiple of 1 / GRAINS, by bits of the operating system."""
    bits = np.frombuffer(os.urandom(8 * records), dtype=np.uint64) >> np.uint64(11)
    return np.asarray(bits < np.uint64(int(share * GRAINS)))


def split_of(task: SampleTask) -> tuple[Fraction, Fraction, float | None]:
    """Return the share, ε of the sample, and the scale of the noise on scores."""
    model, sampling = task.model, task.sampling
    scale = None
    left = Fraction(model.epsilon)
    if task.searches:
        most = left * Fraction(sampling.search)
        scale = smallest_scale(lambda each: Fraction(STEP) / Fraction(each), most, float(STEP / most))
        left -= Fraction(STEP) / Fraction(scale)
    # What is written down is a float, and never more than what is left.
    epsilon = Fraction(np.nextafter(float(left), 0.0) if Fraction(float(left)) > left else float(left))
    if epsilon < LEAST_EPSILON:
        raise PolicyError(f"epsilon: leaves the sample less than {float(LEAST_EPSILON):g}; raise it")
    largest = largest_share(epsilon)
    asked = _HALF if sampling.share is None else Fraction(int(Fraction(sampling.share) * GRAINS), GRAINS)
    return min(largest, asked), epsilon, scale


def candidate_levels(task: SampleTask) -> list[Levels]:
    """Return the nodes between which the search chooses; nothing here depends on the records."""
    named = task.sampling.levels
    free = [ladder.name not in named for ladder in task.ladders]
    lattice = Lattice(tuple(ladder.height if open_ else 0 for ladder, open_ in zip(task.ladders, free, strict=True)))
    if lattice.size <= MOST_NODES:
        found = list(lattice.nodes())
    else:
        numbers: dict[int, None] = {}
        while len(numbers) < MOST_NODES:
            numbers[secrets.randbelow(lattice.size)] = None
        found = [lattice.levels(number) for number in numbers]
    fixed = [named.get(ladder.name, 0) for ladder in task.ladders]
    return [tuple(max(one, other) for one, other in zip(node, fixed, strict=True)) for node in found]


def scores_of(task: SampleTask, nodes: list[Levels], enough: int, progress: Progress = silent) -> _Codes:
    """Return the score of each node, int64: what is kept of the records in classes of about `enough` or more."""
    if not len(task.codes):
        return np.zeros(len(nodes), dtype=np.int64)
    distinct, weights, _ = distinct_records(task.codes.astype(np.uint32))
    records, tables = plain_records(distinct, weights), _tables(task.ladders)
    scores_of_ladders = [ladder.kept(task.sampling.objective) for ladder in task.ladders]
    worth = _weights(task.ladders)
    found = np.zeros(len(nodes), dtype=np.int64)
    for place, levels in enumerate(nodes):
        groups = group_weighted(records, tables, levels)
        counted = np.minimum(groups.sizes, 2 * groups.sizes - enough)
        large = np.flatnonzero(counted > 0)
        cells = records.codes[groups.firsts[large]]
        each = sum(worth[a] * scores_of_ladders[a][level, cells[:, a]] for a, level in enumerate(levels))
        found[place] = int((each // sum(worth) * counted[large]).sum())
        if not place % 500:
            progress("scoring levels", place, len(nodes))
    return found


def _weights(ladders: tuple[Ladder, ...]) -> list[int]:
    """Return the weights of the columns as whole numbers, the largest 1,000."""
    largest = max(ladder.weight for ladder in ladders)
    return [round(1000 * ladder.weight / largest) for ladder in ladders]


def _tables(ladders: tuple[Ladder, ...]) -> LevelTables:
    sizes = np.array([ladder.node_of.size for ladder in ladders], dtype=np.int64)
    return LevelTables(
        heights=tuple(ladder.height for ladder in ladders),
        starts=np.cumsum(sizes) - sizes,
        widths=np.array([ladder.node_of.shape[1] for ladder in ladders], dtype=np.int64),
        nodes=np.concatenate([ladder.node_of.ravel() for ladder in ladders]),
        bits=tuple(tuple(int(row.max()).bit_length() for row in ladder.node_of) for ladder in ladders),
    )


def _published(task: SampleTask, levels: Levels, codes: _Codes, k: int) -> PrivateSample:
    nodes = np.column_stack([task.ladders[a].node_of[level, codes[:, a]] for a, level in enumerate(levels)])
    classes, count = group_records(nodes.astype(np.uint32)) if len(nodes) else (np.zeros(0, dtype=np.int64), 0)
    enough = np.bincount(classes, minlength=count)[classes] >= k
    shown = nodes[enough][permutation(int(enough.sum()), None)]
    domains = {ladder.name: ladder.domain(level) for ladder, level in zip(task.ladders, levels, strict=True)}
    frame = pl.DataFrame([domain.column(name, shown[:, a]) for a, (name, domain) in enumerate(domains.items())])
    return PrivateSample(frame, domains, dict(zip(domains, levels, strict=True)), task.sensitive)


def in_levels(table: Table, sampling: SampleSettings, published: PrivateSample) -> Table:
    """Return people with each value as the sample publishes it; no columns but those of the sample."""
    lacking = [name for name in published.levels if name not in table.kinds]
    raise_all(PolicyError, [f"column {name!r}: is published, and the table of people lacks it" for name in lacking])
    ladders, problems = _ladders_of(table, sampling, published.levels)
    raise_all(PolicyError, problems)
    columns, settings = [], {}
    for ladder in ladders:
        level = published.levels[ladder.name]
        domain = ladder.domain(level)
        columns.append(domain.column(ladder.name, ladder.node_of[level, ladder.codes(table.frame[ladder.name])]))
        settings[ladder.name] = Attribute(kind=Kind.CATEGORICAL, domain=domain.labels)
    secret = {name: settings[name] for name in published.sensitive}
    quasi = {name: settings[name] for name in published.quasi_identifying}
    schema = Schema(quasi_identifying=quasi, sensitive=secret, person=table.schema.person)
    frame, kinds = pl.DataFrame(columns).cast(pl.Categorical), dict.fromkeys(settings, Kind.CATEGORICAL)
    return Table(frame, schema, kinds, table.source, table.people, keyless=table.keyless)


def _ladders_of(
    table: Table, sampling: SampleSettings, only: Collection[str] | None = None
) -> tuple[tuple[Ladder, ...], list[str]]:
    """Return the columns, all or some, with their levels, and what is wrong with their domains."""
    ladders, problems = [], []
    for name, attribute in {**table.schema.quasi_identifying, **table.schema.sensitive}.items():
        if only is not None and name not in only:
            continue
        if read_off := kind_problems(table, name, attribute):
            problems += read_off
            continue
        try:
            ladders.append(Ladder(name, table.kinds[name], attribute, sampling.bins.get(name)))
        except PolicyError as error:
            problems += error.problems
    return tuple(ladders), problems


class Ladder:
    """A column, its cells on level 0, and what each is on every level up to ``*``; its settings must not contradict.

    Numbers need intervals as hierarchy, or `bins` (borders, or how many), which have two levels; texts a domain or a
    hierarchy that lists them. `node_of`, int64 (levels, cells + 1): the node of each cell; the last cell is that of
    missing values and of texts outside of the domain, a node of its own below the top.
    """

    def __init__(self, name: str, kind: Kind, attribute: Attribute, bins: Bins | None) -> None:
        self.name, self.weight = name, attribute.weight
        self._declared: DeclaredColumn | None = None
        self._cuts: NDArray[np.float64] | None = None
        try:
            starts = self._numbers(kind, attribute, bins) if kind is Kind.NUMERIC else None
            if starts is None:
                starts = self._texts(kind, attribute)
        except SfumatoError as error:
            named = [problem if name in problem else f"column {name!r}: {problem}" for problem in error.problems]
            raise PolicyError(*named) from None
        cells = len(self.labels[0])
        self.node_of = np.empty((len(self.labels), cells + 1), dtype=np.int64)
        for level, first in enumerate(starts):
            self.node_of[level, :cells] = np.repeat(np.arange(len(first) - 1), np.diff(first))
            self.node_of[level, cells] = 0 if level == self.height else len(first) - 1

    @property
    def height(self) -> int:
        """The top level, on which everything is ``*``."""
        return len(self.labels) - 1

    def domain(self, level: int) -> Domain:
        """Return what may be published on a level."""
        return Domain(self.labels[level], None, missing=level < self.height)

    def codes(self, column: pl.Series) -> _Codes:
        """Return the cell of each value on level 0, int64 (n,)."""
        if self._declared is not None:
            return self._declared.codes(column)
        numbers = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        cells = np.searchsorted(np.asarray(self._cuts), numbers, side="right").astype(np.int64)
        return np.where(np.isnan(numbers), len(self.labels[0]), cells)

    def kept(self, objective: str) -> _Codes:
        """Return what a record keeps of each cell on each level, at most WHOLE: of the domain, or of the levels."""
        levels = np.arange(self.height + 1)
        if objective == "precision":
            left = (self.height - levels) * WHOLE // max(self.height, 1)
            return np.repeat(left[:, None], self.node_of.shape[1], axis=1)
        cells = len(self.labels[0])
        sizes = np.array([np.bincount(row[:cells], minlength=cells + 1)[row] for row in self.node_of])
        sizes[:-1, cells] = 1
        kept: _Codes = np.where(sizes < cells, (cells - sizes) * WHOLE // max(cells - 1, 1), 0)
        kept[self.height] = 0
        return kept

    def _texts(self, kind: Kind, attribute: Attribute) -> list[Sequence[int]]:
        self._declared = DeclaredColumn(self.name, kind, attribute, None, None, complete=False)
        if self._declared.tree is not None:
            return self._tree(self._declared.tree, 0)
        return self._flat(self._declared.domain.labels)

    def _numbers(self, kind: Kind, attribute: Attribute, bins: Bins | None) -> list[Sequence[int]] | None:
        if bins is not None:
            borders = borders_of(bins, attribute, kind)
            self._cuts = np.array(borders[1:-1], dtype=np.float64)
            return self._flat(of_bins(borders, missing=True).labels)
        if not isinstance(attribute.hierarchy, Intervals):
            return None
        cells, self._cuts = _cells_of(attribute.hierarchy, attribute)
        # One number of each finest interval stands for it: its levels are those of the whole interval.
        return self._tree(attribute.hierarchy.build(pl.Series(cells), name=self.name), 1)

    def _tree(self, tree: Hierarchy, lowest: int) -> list[Sequence[int]]:
        """Take the levels of a hierarchy from `lowest` on; starts count the nodes of the lowest one."""
        fine = {start: place for place, start in enumerate(tree.levels[lowest].starts)}
        levels = list(tree.levels[lowest:])
        self.labels = [level.labels for level in levels]
        starts: list[Sequence[int]] = [[fine[start] for start in level.starts] for level in levels]
        if len(self.labels[-1]) > 1:
            self.labels.append((ROOT,))
            starts.append([0, len(self.labels[0])])
        return starts

    def _flat(self, labels: tuple[str, ...]) -> list[Sequence[int]]:
        self.labels = [labels, (ROOT,)]
        return [list(range(len(labels) + 1)), [0, len(labels)]]


def _cells_of(given: Intervals, attribute: Attribute) -> tuple[list[float], NDArray[np.float64]]:
    """Return a number in each finest interval, and the borders between them. Values beyond the ends are in the ends."""
    if given.borders:
        line = [float(border) for border in given.borders[0]]
        if given.open_ends:
            return [line[0] - 1, *line], np.array(line)
        return line[:-1], np.array(line[1:-1])
    ends = attribute.domain
    if ends is None:
        raise PolicyError("has intervals of a width but no range; declare its domain, low and high, or give borders")
    width, start = Fraction(str(given.widths[0])), Fraction(str(given.start))
    low, high = ((Fraction(str(end)) - start) // width for end in ends)
    if high - low >= _MOST_VALUES:
        raise PolicyError(f"has more than {_MOST_VALUES:,} intervals; take wider ones")
    line = [float(start + place * width) for place in range(low, high + 1)]
    return line, np.array(line[1:])


def _problems(
    table: Table, model: DifferentialPrivacy, sampling: SampleSettings, ladders: tuple[Ladder, ...]
) -> Iterator[str]:
    schema, known = table.schema, {**table.schema.quasi_identifying, **table.schema.sensitive}
    heights = {ladder.name: ladder.height for ladder in ladders}
    if not model.delta:
        yield "delta: must be above 0; a sample of true records cannot promise less"
    if schema.person is None and model.max_records is not None:
        yield "max_records: bounds the records of a person, but no column says who is who; name it, or leave this out"
    if schema.person is not None and model.max_records != 1:
        yield "max_records: must be 1; a sample hides one record of each person, so others are dropped, at random"
    if schema.wished_k is not None or schema.wished_l is not None:
        yield "wishes for a k or an l mean nothing here; leave their columns out"
    for setting in ("levels", "bins"):
        for name in getattr(sampling, setting):
            if name not in known:
                yield f"{setting}: there is no quasi-identifying or sensitive column {name!r}"
    for name, level in sampling.levels.items():
        if name in heights and not 0 <= level <= heights[name]:
            yield f"levels: of column {name!r} are from 0 to {heights[name]}"
    if not 0 < sampling.search < 1:
        yield "search: must be above 0 and below 1, the share of ε that the choice of levels takes"
    if sampling.share is not None and not _LEAST_SHARE <= sampling.share < 1:
        yield f"share: must be from {_LEAST_SHARE} to below 1, the share of the records that is drawn"
    if known and not any(attribute.weight for attribute in known.values()):
        yield "weights of columns: one must be above 0"


# Publishing a random sample of generalized records under differential privacy.


def publish_private_sample(
    table: Table,
    model: PrivateSamplePolicy | DifferentialPrivacy,
    *,
    search: float | None = None,
    share: float | None = None,
    objective: Objective | None = None,
    levels: Mapping[str, int] | None = None,
    bins: Mapping[str, Bins] | None = None,
    ledger: str | Path | None = None,
    seed: None = None,
    progress: Progress | None = None,
) -> PrivateSampleRelease:
    """Publish true, generalized records of a random sample, so that nobody can tell whether any one person is in it.

    Full-domain generalization: one level for each column, chosen privately or named; of the records drawn, those
    stay that are alike in all columns, sensitive ones too, with k - 1 others.

    Parameters
    ----------
    table
        As :func:`sfumato.read_table` returns it. Its schema declares the domain or hierarchy of every quasi-identifying
        and sensitive column; nothing is read off the data. Its person column says who is who where people have several
        records: one of each counts, and `max_records` must be 1. Insensitive columns are not published.
    model
        What is promised, δ above 0; or the policy that says it with all of `search` to `bins`, which are left out then.
    search
        Share of ε that the choice of levels takes; 0.1 by default.
    share
        Of the records, drawn at most. None: the largest that ε allows, and at most a half. A smaller one asks for a
        smaller k, and so for less generalization.
    objective
        What the choice of levels keeps: ``"loss"`` (default), the share of its domain that a value leaves out;
        ``"precision"``, the levels of its hierarchy.
    levels
        Levels that are named; where all columns have one, nothing is searched for, and the sample has all of ε.
    bins
        For columns of numbers without intervals: how many bins of equal width their declared range has, or borders.
    ledger
        File of a :class:`sfumato.PrivacyLedger`, into which the cost is written before anything is drawn.
    seed
        Refused: a sample that can be drawn again hides nobody.
    progress
        Called with what is being done, how much is done and the total.

    Returns
    -------
    PrivateSampleRelease

    Raises
    ------
    PolicyError
        With every setting that is none and every column without a domain, or when ε is too small.
    InputError
        When OpenDP is not installed, or the ledger cannot be read or written.
    UnsatisfiableError
        When the ledger has too little left.

    Notes
    -----
    Guarantee: that of :class:`sfumato.DifferentialPrivacy`, δ worked out exactly and never rounded down. Assumptions:
    those of :func:`sfumato.publish_privately`. How it is done, its source and departures:
    :func:`sfumato.kinds.private_sample.make.solve_sample`. Cost O(n · columns) for each of up to 20,000 combinations
    of levels.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [30, 41, 52] * 400, "ill": ["yes", "no", "no"] * 400})
    >>> age, ill = sf.Attribute(hierarchy=sf.intervals(10), domain=(0, 100)), sf.Attribute(domain=("no", "yes"))
    >>> table = sf.read_table(people, sf.Schema(quasi_identifying={"age": age}, sensitive={"ill": ill}))
    >>> release = sf.publish_private_sample(table, sf.DifferentialPrivacy(1, 1e-5))  # doctest: +SKIP
    """
    said = {"search": search, "share": share, "objective": objective, "levels": levels, "bins": bins}
    policy = policy_of_private_call(table, model, PrivateSamplePolicy, said, seed, ledger)
    wanted = policy.to_model()
    task = sample_task(table, wanted, policy.to_sampling())
    told = progress or shown
    # Before anything is spent it is clear that it can be drawn.
    opendp()
    drawn, epsilon, _ = split_of(task)
    smallest_k(drawn, epsilon, wanted.delta)
    series = None if ledger is None else PrivacyLedger.spend(ledger, wanted)
    solved = solve_sample(task, told)
    verification = sample_verification(solved.published, solved.budget, wanted, series)
    if not verification.ok:
        raise VerificationError("the sample breaks its promise; nothing is published. Please report this")
    notes = [*budget_notes(wanted, table)]
    if task.beyond:
        notes.append(f"{counted(task.beyond, 'record')} do not count, as another one of their person does.")
    notes.append(f"{solved.published.data.height:,} of {len(task.codes):,} records are published.")
    notes += repeated_notes(table, None, 1)
    if table.schema.insensitive:
        notes.append(f"Insensitive columns are not published: {', '.join(table.schema.insensitive)}.")
    return PrivateSampleRelease(solved.published, wanted, solved.budget, verification, tuple(notes), policy, series)
