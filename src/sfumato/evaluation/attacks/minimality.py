"""Minimality: learn from what a known algorithm did not publish (Wong, Fu, Wang and Pei, 2007)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import process_time
from typing import Annotated, Any, ClassVar, Protocol, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.errors import InputError, PolicyError, UnsatisfiableError, raise_all
from sfumato.evaluation.attacks.placement import Placement, place_people, require_generalized
from sfumato.evaluation.attacks.protocol import AttackResult, Counted, Target
from sfumato.evaluation.attacks.verdicts import SURE, BeliefCurve, Beliefs, allowed_guess, draw_curve
from sfumato.evaluation.attacks.worlds import (
    Bundles,
    Cells,
    SliceGame,
    WorldTally,
    bundled_count,
    every_bundled_world,
    every_world,
    open_slice_game,
    people_cells,
    random_bundled_worlds,
    random_worlds,
    sliced_values,
    survivors,
    world_cells,
    world_count,
)
from sfumato.kernels import choice
from sfumato.models import known_model
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import of_population, says
from sfumato.models.sensitive import whole_table_models
from sfumato.numbers import counted
from sfumato.options import Checked, Limit, Share
from sfumato.published import BucketizedTables, PublishedTable, SlicedTable
from sfumato.rates import Rate
from sfumato.recoding import Recoding, recode_as_published
from sfumato.release.folding import unfolded, without_unread_columns
from sfumato.release.people import carried
from sfumato.table.encoding import EncodedTable, PeopleApart, encode
from sfumato.table.folding import fold, numbered_by_content
from sfumato.table.header import exactly
from sfumato.table.row_order import canonical_order
from sfumato.table.schema import text_of

# Run the algorithm of a release again, as an attacker who knows it does.


class Solver(Protocol):
    """An algorithm that returns a partition."""

    def solve(self, problem: Any) -> Partition:
        """Partition the records."""
        ...


def solver_of(anonymizer: object | None, attack: str, does: str = "solve") -> Solver:
    """Return the algorithm of a target, or raise PolicyError when it is unknown or cannot be run: it lacks a method."""
    if anonymizer is None or isinstance(anonymizer, type) or not callable(getattr(anonymizer, does, None)):
        raise PolicyError(
            f"{attack}: the attacker runs the algorithm of the release again; give it as anonymizer, e.g. Mondrian()"
        )
    return cast(Solver, anonymizer)


def models_of(entries: Sequence[Mapping[str, Any]], attack: str) -> tuple[PrivacyModel, ...]:
    """Build the promised models, or raise PolicyError when there are none or one is unknown."""
    built = [known_model(entry) for entry in entries]
    problems = (
        [f"{attack}: {built.count(None)} promised model(s) are not known to this version"] if None in built else []
    )
    if not entries:
        problems.append(f"{attack}: the attacker knows what was promised; give the models of the release")
    known = tuple(model for model in built if model is not None)
    if whole_table_models(known) or of_population(known):
        problems.append(
            f"{attack}: is not played on promises about a population, or about figures of the whole table: what the "
            "algorithm refuses then follows from more than each class"
        )
    if any(says(model).needs_original for model in known):
        problems.append(
            f"{attack}: is not played on promises that compare with all original records: what the algorithm refuses "
            "then follows from records that nobody sees"
        )
    raise_all(PolicyError, problems)
    return known


@dataclass(frozen=True, eq=False, repr=False)
class Behind:
    """Who the records are about, where promises are about people.

    `numbers`: int32 (n,): the person of each record. `together`: Whether all records of a person share one class.
    `carried`: uint64 (n,): a hash of what records hold beside their quasi-identifying codes, by which people are
    ordered.
    """

    numbers: NDArray[np.int32]
    together: bool
    carried: NDArray[np.uint64]

    def take(self, rows: NDArray[np.int64]) -> Behind:
        """Return the people behind some of the records."""
        return replace(self, numbers=self.numbers[rows], carried=self.carried[rows])

    def exchanged(self, world: NDArray[np.int64]) -> Behind:
        """Return the same people with other records' values: what a record holds beside its codes goes with these."""
        return replace(self, carried=self.carried[world])


def rerun(solver: Solver, problem: Problem, behind: Behind | None = None) -> Partition | None:
    """Return the solution, or None when the models cannot be met.

    As a release is made: records are in canonical order; where promises are about people, their records are folded into
    one or classes are judged by people.
    """
    try:
        if behind is None:
            return _solved(solver, problem)
        problem = replace(problem, table=without_unread_columns(problem))
        if not behind.together:
            numbers = numbered_by_content(problem.table, behind.numbers, (behind.carried, None))
            return _solved(solver, replace(problem, table=replace(problem.table, apart=PeopleApart(numbers, None))))
        folded = fold(problem.table, behind.numbers, behind.carried)
        # People stand in an order that depends on their records alone.
        return unfolded(solver.solve(replace(problem, table=folded.table)), folded)
    except UnsatisfiableError:
        return None


def _solved(solver: Solver, problem: Problem) -> Partition:
    if getattr(solver, "order_free", False) and not problem.suppression_limit:
        return solver.solve(problem)
    order = canonical_order(problem.table)
    return solver.solve(replace(problem, table=problem.table.take(order))).put_back(order)


_DRAWN_RECORDS, _FEWEST_WORLDS, _MOST_WORLDS = 2_000_000, 20, 500
"""Records, and fewest and most worlds, that are drawn by default."""

_RECOGNIZED = 0.5
"""Least share of the classes that a run on the original reproduces if the algorithm is the right one."""

_LOOKS_AT_NONE = "no promised model looks at sensitive values, so that the algorithm tells nothing of them"
_DRAWN = (
    "the members of buckets are drawn: each division into buckets with these counts is equally likely, whoever has "
    "which value, so that the algorithm tells nothing of them"
)
_PARTS = (
    "the members of buckets are drawn inside parts of alike people; what the cuts between these parts may tell is not "
    "reckoned with"
)
_HARDLY = (
    "hardly any drawn world brings a bucket back, and the cuts do not spread one sensitive attribute evenly; what "
    "somebody could learn who searches longer is not known"
)

_ALONE = "people who are not in the data are in no class"

_WALKS, _SETTLING, _SWEEPS = 3, 100, 50
"""Searches for worlds that even cuts leave open; exchanges proposed for each record before and while counting."""

HARDLY = 0.05
"""Share of the buckets that drawn worlds must bring back on average; below it they say nothing."""

_SPREADS = 3.0
"""Standard errors of a drawn share by which a belief must rise before anything is claimed."""


@dataclass(frozen=True)
class Minimality(Checked):
    """The minimality attack.

    An algorithm that generalizes no more than it must shows, by every cut that it did not make, that the cut would have
    broken the model. The attacker takes the worlds that the release leaves open (who of each class has which of its
    sensitive values), runs the algorithm in each, and believes those that give the same classes.

    Parameters
    ----------
    worlds
        Worlds to draw if there are too many to try all of them. None: as many as two million records make, at least
        20, at most 500.
    patience
        Seconds of the processor for all runs together. If a run on the original shows that drawing worlds takes longer
        and `worlds` is None, the attack is not played, and a note says so.
    exhaustive
        Up to this many worlds, every one is tried, and only those count in which *all* classes come out again. Drawn
        worlds count class by class: almost none reproduces all classes of a large table.
    rise
        By how much the belief in somebody's value must rise above its share in their class for a claim, above 0.

    Raises
    ------
    PolicyError
        With every option that is out of range.

    References
    ----------
    R. C.-W. Wong, A. W.-C. Fu, K. Wang, J. Pei, "Minimality attack in privacy preserving data publishing", VLDB 2007.

    Notes
    -----
    *Departure.* The paper derives formulas for recodings of its own kind. Here the algorithm itself is run, which
    covers all algorithms whose result does not depend on randomness that the attacker lacks. An algorithm that does not
    reproduce the published classes even from the original is not run any further. If it does, the attacker is assumed
    to know everybody's class, though published values may fit several.

    *People with several records.* Where promises are about people, the algorithm is run as the release was made: with
    their records folded into one, or with classes that are judged by people. A world deals the rows of each class out
    to the records of its people; where pseudonyms are published, whole bundles of rows to people who have as many. The
    attacker knows everybody's quasi-identifying values, and so how many records each has. A claim is that somebody has
    a value in some record, and people are counted. Where promises are about records, each of these is taken for a
    person, and records are counted. Where classes keep what people wish for (a k of one's own), it is not played: the
    attacker does not know the wishes.

    *Slices*, overlapping or not. The attacker knows everybody's bucket, too. A world exchanges sensitive values between
    records of a bucket that agree in what is known of their column. Few worlds are all tried, and count where the very
    same is published. Where there are more and cuts are at medians, worlds are drawn and count bucket by bucket, with
    the published columns. Where cuts spread every sensitive value evenly over both halves, hardly any drawn world would
    bring a bucket back. There the attacker searches for worlds in which few records with a value lie on the wrong side
    of the border that it has in each cut, by simulated annealing from random worlds, with borders that are estimated
    anew in every one; several searches must agree. That uses the cuts that were made and not those that were refused,
    and is played for one sensitive attribute.

    *Buckets.* Their members are drawn, and each division into buckets with the same counts is equally likely whoever
    has which value. So there is nothing to play, and a note says so.

    *Cost.* One run of the algorithm for each world; O(n depth) for each of a few hundred steps of a search.
    """

    name: ClassVar[str] = "minimality"
    kinds: ClassVar[frozenset[str]] = frozenset({"generalized-table", "sliced-table", "bucketized-tables"})
    counts: ClassVar[Counted] = "records"
    counts_as_promised: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("sensitive", "anonymizer")

    worlds: Annotated[int, Limit(1)] | None = None
    patience: Annotated[float, Limit(0, above=True)] = 20.0
    exhaustive: Annotated[int, Limit(0)] = 5000
    rise: Share = 0.1

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute.

        Raises
        ------
        InputError
            When the release is of a kind that has no classes or buckets, or shares no quasi-identifying attribute with
            the people.
        PolicyError
            When the algorithm or the models are not given, or the original does not say whom promises are about.
        """
        if isinstance(target.published, (SlicedTable, BucketizedTables)):
            return self._play_buckets(target.published, target)
        published = require_generalized(target.published, self.name)
        solver = solver_of(target.anonymizer, self.name)
        models = models_of(target.models, self.name)
        names = tuple(name for name in target.original.schema.sensitive if name in published.data.columns)
        if not names:
            raise InputError("minimality: the release has no sensitive attribute, so there is nothing to learn")
        placement = place_people(published, target.original.frame, target.original.schema, target.recoding, names[0])
        if not _looks_at(models, names):
            return tuple(self._unplayed(name, (_LOOKS_AT_NONE,)) for name in names)
        if published.promised or published.promised_l:
            note = "classes keep what people wish for, which the attacker does not know; the algorithm needs it"
            return tuple(self._unplayed(name, (note,)) for name in names)
        game = open_class_game(published, placement, solver, models, target)
        if not game.records:
            note = "nobody is in one sure class alone, so that there are no worlds to try"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        if game.comes_back().mean() < _RECOGNIZED:
            note = "the algorithm does not bring back the published classes; it rests on random choices, or is another"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        return self._played(game, names, target)

    def _played(self, game: _ClassGame, names: Sequence[str], target: Target) -> tuple[AttackResult, ...]:
        values = [game.sensitive[:, column].astype(np.int64) for column in range(len(names))]
        cells = [found for column in values if (found := game.cells(column)) is not None]
        if len(cells) < len(values):
            note = "classes hold too many different values to keep a belief in each; play it on part of the table"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        worlds, whole = self._worlds(game, target)
        if not whole and self.worlds is None and self._takes_too_long(game):
            note = "the algorithm takes too long to be run in many worlds; say how many with worlds, or wait longer"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        tallies = [WorldTally.of(each) for each in cells]
        for number, world in enumerate(worlds, 1):
            target.progress("minimality: trying worlds", number, number)
            back = game.comes_back(world)
            accepted = np.full(game.count, back.all()) if whole else back
            for tally, column in zip(tallies, values, strict=True):
                tally.add(column[world], accepted)
        return tuple(
            self._scored(name, _beliefs_from(tally, whole), column, target, (game.everybody, game.notes))
            for name, tally, column in zip(names, tallies, values, strict=True)
        )

    def _play_buckets(self, published: SlicedTable | BucketizedTables, target: Target) -> tuple[AttackResult, ...]:
        models = models_of(target.models, self.name)
        if isinstance(published, BucketizedTables):
            members = getattr(target.anonymizer, "members", "dealt")
            return (self._unplayed(published.sensitive, (_PARTS if members == "alike" else _DRAWN,)),)
        solver = solver_of(target.anonymizer, self.name, "cut")
        names = tuple(name for name in target.original.schema.sensitive if name in published.sensitive)
        if not _looks_at(models, names):
            return tuple(self._unplayed(name, (_LOOKS_AT_NONE,)) for name in names)
        problem = Problem(encode(target.original), models, seed=target.seed, threads=target.threads)
        game = open_slice_game(solver, problem, target.original, published)
        if isinstance(game, str):
            return tuple(self._unplayed(name, (game,)) for name in names)
        beliefs = self._learnt(game, target)
        if beliefs is None:
            return tuple(self._unplayed(name, (_HARDLY,)) for name in names)
        notes = ("everybody's bucket is taken to be known",)
        return tuple(
            self._scored(name, learnt, sliced_values(game, own, attribute), target, (game.records, notes))
            for own in [np.tile(np.arange(game.records)[:, None], (1, len(names)))]
            for attribute, (name, learnt) in enumerate(zip(names, beliefs, strict=True))
        )

    def _learnt(self, game: SliceGame, target: Target) -> list[_WorldBeliefs] | None:
        """Return what is believed of each sensitive attribute; None where drawn worlds say nothing."""
        seconds = _seconds_of(lambda: game.leads_here(np.tile(np.arange(game.records)[:, None], (1, len(game.names)))))
        everything = game.every_world(min(self.exhaustive, int(self.patience / max(seconds, 1e-9))))
        if everything is not None:
            return [_beliefs_from(tally, True) for tally in self._tallied(game, everything, target, whole=True)]
        walked = [self._walked(game, number, target) for number in range(_WALKS)]
        if None not in walked:
            return [_of_walks([each for each in walked if each is not None])]
        worlds = min(self._count_of(game.records), max(_FEWEST_WORLDS, int(self.patience / max(seconds, 1e-9))))
        tallies = self._tallied(game, game.random_worlds(worlds, target.seed), target, whole=False)
        if tallies[0].brought_back < HARDLY * tallies[0].tried:
            return None
        return [_beliefs_from(tally, False) for tally in tallies]

    def _tallied(
        self, game: SliceGame, worlds: Iterator[NDArray[np.int64]], target: Target, *, whole: bool
    ) -> list[WorldTally]:
        places = range(len(game.names))
        tallies = [WorldTally.of(game.cells(place)) for place in places]
        for number, world in enumerate(worlds, 1):
            target.progress("minimality: trying worlds", number, number)
            same = game.leads_here(world) if whole else None
            back = game.buckets_back(world) if same is None else [np.full(one, same) for one in game.groups]
            for attribute, tally in zip(places, tallies, strict=True):
                tally.add(sliced_values(game, world, attribute), back[attribute])
            tried, came = tallies[0].tried, tallies[0].brought_back
            if not whole and tried == _FEWEST_WORLDS and came < HARDLY * tried:
                break
        return tallies

    def _walked(self, game: SliceGame, number: int, target: Target) -> WorldTally | None:
        """Count the worlds of one walk, after it has settled."""
        worlds = game.walk(_SETTLING, _SWEEPS, (target.seed or 0) * _WALKS + number)
        if worlds is None:
            return None
        tally = WorldTally.of(game.cells(0))
        for step, values in enumerate(worlds):
            target.progress("minimality: walking through worlds", step + 1, _SWEEPS)
            tally.add(values, np.ones(game.groups[0], dtype=np.bool_))
        return tally

    def _worlds(self, game: _ClassGame, target: Target) -> tuple[Iterator[NDArray[np.int64]], bool]:
        """Return the worlds to try, and whether these are all worlds."""
        everything = game.every_world(self.exhaustive)
        if everything is not None:
            return everything, True
        return game.random_worlds(self._drawn(game), target.seed), False

    def _drawn(self, game: _ClassGame) -> int:
        return self._count_of(game.records)

    def _count_of(self, records: int) -> int:
        return self.worlds or min(_MOST_WORLDS, max(_FEWEST_WORLDS, _DRAWN_RECORDS // records))

    def _takes_too_long(self, game: _ClassGame) -> bool:
        if self._seconds(game) <= self.patience:
            return False
        if choice.setting() != "auto":
            return True
        # What is too slow as it is written need not be when it is compiled, and whether it was compiled before must
        # not decide whether the attack is played.
        with choice.always("compiled"):
            game.comes_back()
            return self._seconds(game) > self.patience

    def _seconds(self, game: _ClassGame) -> float:
        """Estimate what running the algorithm in all worlds takes, from one run."""
        return _seconds_of(game.comes_back) * self._drawn(game)

    def _scored(
        self,
        name: str,
        beliefs: _WorldBeliefs,
        truth: NDArray[np.int64],
        target: Target,
        about: tuple[int, tuple[str, ...]],
    ) -> AttackResult:
        """Judge what was believed; `about` is how many people there are, and notes."""
        everybody, notes = about
        cells, shares, belief, doubt = beliefs.cells, beliefs.cells.shares, beliefs.belief, beliefs.doubt
        group, rises = np.arange(len(belief)), belief - shares
        enough: NDArray[np.bool_] = rises >= np.maximum(self.rise, _SPREADS * doubt) - SURE
        claims = cells.claimable(belief) & enough
        claim = np.where(claims, belief, -1.0).argmax(axis=1)
        claimed = claims[group, claim]
        made, usual = claimed[cells.group_of], shares[group, claim]
        right = cells.right(claim, truth)[made]
        baseline = (usual[cells.group_of][made] if made.any() else shares.max(axis=1)[cells.group_of]).mean()
        figures = {
            "claimed": float(made.sum() / everybody),
            "highest_rise": float(rises[group, claim][claimed].max(initial=0.0)),
            "average_certainty": float(cells.certainty(belief, truth).mean()),
            "average_certainty_by_class": float(cells.certainty(shares, truth).mean()),
            "worlds": float(beliefs.worlds),
            "worlds_left": beliefs.left,
        }
        result = self._result(name, Rate(float(right.sum()), int(made.sum()), float(baseline)), figures, notes)
        named = np.where(claimed, claim, shares.argmax(axis=1))
        surest = np.where(claimed, belief[group, claim], shares.max(axis=1))
        bound = allowed_guess(target.models, name)
        return replace(result, curve=_curve(cells, surest, cells.right(named, truth), bound))

    def _unplayed(self, name: str, notes: tuple[str, ...]) -> AttackResult:
        unplayed = self._result(name, Rate(0.0, 0, 0.0), {"claimed": 0.0}, notes)
        return replace(unplayed, unplayed=notes[-1])

    def _result(self, name: str, rate: Rate, figures: dict[str, float], notes: tuple[str, ...]) -> AttackResult:
        return AttackResult(
            self.name,
            "everybody's quasi-identifying values, who is in the data, and the algorithm with its options and models",
            f"whose {name} was told more surely than by their class, and rightly",
            rate,
            None,
            figures,
            notes,
            "an algorithm that does not look at sensitive values when it forms classes, such as Mondrian with blind "
            "cuts; for slices cuts at medians; or a larger k, or a stricter model than the one that is needed",
        )


@dataclass(frozen=True, eq=False, repr=False)
class _WorldBeliefs:
    """What the worlds say: `belief`, float64 (g, w); `left`, how many brought a class or bucket back, on average."""

    cells: Cells
    belief: NDArray[np.float64]
    doubt: NDArray[np.float64] | float
    worlds: int
    left: float


def _beliefs_from(tally: WorldTally, whole: bool) -> _WorldBeliefs:
    belief, doubt = (tally.exact_belief, 0.0) if whole else (tally.drawn_belief, tally.doubt)
    return _WorldBeliefs(tally.cells, belief, doubt, tally.tried, tally.brought_back)


def _of_walks(tallies: Sequence[WorldTally]) -> _WorldBeliefs:
    """Believe the mean of several walks, and doubt it as far as they differ."""
    beliefs = np.stack([tally.exact_belief for tally in tallies])
    doubt = beliefs.std(axis=0, ddof=1) / np.sqrt(len(tallies))
    worlds = sum(tally.tried for tally in tallies)
    return _WorldBeliefs(tallies[0].cells, beliefs.mean(axis=0), doubt, worlds, float(worlds))


def _looks_at(models: Sequence[PrivacyModel], names: Sequence[str]) -> bool:
    return any(rule.attribute for model in models for rule in model.rules(names))


def _seconds_of(run: Callable[[], object]) -> float:
    start = process_time()
    run()
    return process_time() - start


def _curve(cells: Cells, surest: NDArray[np.float64], right: NDArray[np.bool_], bound: float | None) -> BeliefCurve:
    """Rank people by the belief in what is named of them, the class's own share where it did not rise."""
    group = cells.group_of
    people = Beliefs(surest[group], right.astype(np.float64), cells.shares.max(axis=1)[group])
    return draw_curve(people, None, None, guessing=(0.0, 0.0), bound=bound, alone=_ALONE, claims=True)


_MOST_CELLS = 1 << 25
"""Most beliefs that are kept at a time: people by values of a class."""


@dataclass(frozen=True, eq=False, repr=False)
class _ClassGame:
    """The records in sure classes, as the algorithm sees them.

    `problem`: Of these n records. `behind`: The people behind them; None where promises are about records, each of
    which is taken for a person. `classes`: int32 (n,): their classes, numbered from 0 again. `everybody`: People in the
    original, or records where each is taken for one. `bundled`: Whether a reader sees which rows of a class are of one
    person.
    """

    solver: Solver
    problem: Problem
    behind: Behind | None
    classes: NDArray[np.int32]
    count: int
    everybody: int
    bundled: bool
    notes: tuple[str, ...]

    @property
    def records(self) -> int:
        """Number of records n."""
        return len(self.classes)

    @property
    def sensitive(self) -> NDArray[np.unsignedinteger]:
        """Sensitive codes, (n, s)."""
        return self.problem.table.sensitive_codes

    @cached_property
    def bundles(self) -> Bundles:
        """The records of each person in each class."""
        assert self.behind is not None
        owner = np.unique(self.behind.numbers, return_inverse=True)[1].ravel()
        return Bundles.of(self.classes, owner, self.bundled)

    def cells(self, values: NDArray[np.int64]) -> Cells | None:
        """Set up what is believed of a sensitive attribute; None if that is too much to keep. values : int64 (n,)."""
        codes, width = self.problem.table.codes, int(values.max()) + 1
        if self.behind is not None:
            return people_cells(self.bundles, codes, values) if len(self.bundles.sizes) * width <= _MOST_CELLS else None
        cells = world_cells(self.classes, codes, values, width)
        return cells if len(cells.members) * cells.width <= _MOST_CELLS else None

    def every_world(self, most: int) -> Iterator[NDArray[np.int64]] | None:
        """Return all worlds, or None if there are more than `most`."""
        kinds = np.unique(self.sensitive, axis=0, return_inverse=True)[1].ravel()
        if self.bundled:
            few = bundled_count(self.bundles, kinds, most) <= most
            return every_bundled_world(self.bundles, kinds) if few else None
        joint = world_cells(self.classes, np.zeros((len(kinds), 1), dtype=np.int64), kinds, int(kinds.max()) + 1)
        return every_world(self.classes, kinds) if world_count(joint, most) <= most else None

    def random_worlds(self, worlds: int, seed: int | None) -> Iterator[NDArray[np.int64]]:
        """Draw worlds."""
        generator = np.random.default_rng(seed)
        if self.bundled:
            return random_bundled_worlds(self.bundles, worlds, generator)
        return random_worlds(self.classes, worlds, generator)

    def comes_back(self, world: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
        """Run the algorithm in a world, or in the true one if None; tell which classes it reproduces, bool (c,)."""
        problem, behind = self.problem, self.behind
        if world is not None:
            table = replace(problem.table, sensitive_codes=np.ascontiguousarray(self.sensitive[world]))
            problem = replace(problem, table=table)
            behind = None if behind is None else behind.exchanged(world)
        again = rerun(self.solver, problem, behind)
        if again is None:
            return np.zeros(self.count, dtype=np.bool_)
        return survivors(self.classes, self.count, again)


def open_class_game(
    published: PublishedTable,
    placement: Placement,
    solver: Solver,
    models: Sequence[PrivacyModel],
    target: Target,
) -> _ClassGame:
    """Find the records that are in sure classes, and set up what the algorithm is run on.

    Raises PolicyError when promises are about people, and the original does not say who they are.
    """
    table = encode(target.original)
    problem = Problem(table, models, seed=target.seed, threads=target.threads)
    behind = _behind(target, table)
    granted = _granted(published, rerun(solver, problem, behind), table, target.recoding)
    placed, sure = (placement.class_of, placement.filled) if granted is None else granted
    rows = np.flatnonzero((placed >= 0) & sure[np.maximum(placed, 0)])
    number = (np.cumsum(sure) - 1).astype(np.int32)
    left_out = table.height - len(rows)
    chosen = replace(
        table,
        codes=np.ascontiguousarray(table.codes[rows]),
        sensitive_codes=np.ascontiguousarray(table.sensitive_codes[rows]),
    )
    return _ClassGame(
        solver,
        replace(problem, table=chosen),
        None if behind is None else behind.take(rows),
        number[placed[rows]],
        int(sure.sum()),
        table.height if behind is None else int(target.original.person_of.max()) + 1,
        behind is not None and published.pseudonyms is not None,
        (f"{counted(left_out, 'record')} of no sure class left out",) if left_out else (),
    )


def _behind(target: Target, table: EncodedTable) -> Behind | None:
    """Return who the records are about; None where promises are about records, or everybody has one."""
    people = target.original.people
    if not target.rows.promised:
        return None
    if people is None:
        raise PolicyError(
            "minimality: the release promises something to people, and the original does not say who they are; read it "
            "with its person column"
        )
    if len(np.unique(people)) == len(people):
        return None
    return Behind(people, target.rows.together, carried(table, target.original))


def _granted(
    published: PublishedTable, partition: Partition | None, table: EncodedTable, recoding: Recoding
) -> tuple[NDArray[np.int32], NDArray[np.bool_]] | None:
    """Return everybody's class if the algorithm makes exactly the published classes from the original, else None.

    Published values may overlap, so labels alone do not identify the classes. But an attacker who can run the algorithm
    on everybody can search for the classes that give these labels. That search is not played; it is assumed to succeed.
    """
    if partition is None:
        return None
    recoded = recode_as_published(table, partition, recoding)
    names = [attribute.name for attribute in table.attributes]
    if not set(names) <= set(published.data.columns):
        return None
    again = pl.DataFrame(
        [column.labels.gather(column.per_class).alias(column.attribute.name) for column in recoded.columns]
    ).with_columns(pl.Series("", recoded.sizes, dtype=pl.Int64))
    texts = published.data.select(text_of(published.data[name]).alias(name) for name in names)
    counts = texts.group_by(exactly(*names)).len("").cast({"": pl.Int64})
    every = exactly(*again.columns)
    if not again.sort(every).equals(counts.select(every).sort(every)):
        return None
    return recoded.class_of, np.ones(len(recoded.sizes), dtype=np.bool_)
