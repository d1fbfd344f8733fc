"""Minimality: learn from what a known algorithm did not publish (Wong, Fu, Wang and Pei, 2007)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.attacks.belief_curve import BeliefCurve, Beliefs, curve_of
from sfumato.evaluation.attacks.licence import allowed_guess
from sfumato.evaluation.attacks.options import SURE
from sfumato.evaluation.attacks.placing import Placement, generalized, place
from sfumato.evaluation.attacks.protocol import AttackResult, Counted, Target
from sfumato.evaluation.attacks.rerunning import RerunTask, Solver, models_of, rerun, solver_of
from sfumato.evaluation.attacks.worlds import (
    Tally,
    WorldCells,
    cells_of,
    every_world,
    random_worlds,
    survivors,
    world_count,
)
from sfumato.kernels import choice
from sfumato.models.protocol import PrivacyModel
from sfumato.numbers import counted
from sfumato.options import Checked, Limit, Share
from sfumato.published import PublishedTable
from sfumato.rates import Rate
from sfumato.recoding import recode_as_published
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.exact_names import exactly
from sfumato.table.kinds import text_of

DRAWN_RECORDS, FEWEST_WORLDS, MOST_WORLDS = 2_000_000, 20, 500
"""Records, and fewest and most worlds, that are drawn by default."""

RECOGNIZED = 0.5
"""Least share of the classes that a run on the original reproduces if the algorithm is the right one."""

MOST_CELLS = 1 << 25
"""Most beliefs that are kept at a time: people by values of a class."""

_ALONE = "people who are not in the data are in no class"

SPREADS = 3.0
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

    *Counted* are records, each taken for a person, where people have several.

    *Cost.* One run of the algorithm for each world.
    """

    name: ClassVar[str] = "minimality"
    kinds: ClassVar[frozenset[str]] = frozenset({"generalized-table"})
    counts: ClassVar[Counted] = "records"
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
            When the release is not a generalized table, or shares no quasi-identifying attribute with the people.
        PolicyError
            When the algorithm or the models are not given, or the promises are about people with several records.
        """
        published = generalized(target.published, self.name)
        if target.rows.promised:
            raise PolicyError(
                "minimality: is not played on promises to people: the algorithm then solves a table with one record "
                "for each person, and worlds that exchange the values of single records are not its inputs"
            )
        solver = solver_of(target.anonymizer, self.name)
        models = models_of(target.models, self.name)
        names = tuple(name for name in target.original.schema.sensitive if name in published.data.columns)
        if not names:
            raise InputError("minimality: the release has no sensitive attribute, so there is nothing to learn")
        placement = place(published, target.original.frame, target.original.schema, target.recoding, names[0])
        if not any(rule.attribute for model in models for rule in model.rules(names)):
            note = "no promised model looks at sensitive values, so that the algorithm tells nothing of them"
            return tuple(self._unplayed(name, (note,)) for name in names)
        table = encode(target.original)
        granted = _granted(
            published, table, RerunTask(table, models, seed=target.seed, threads=target.threads), solver, target
        )
        game = _game(*(_placed(placement) if granted is None else granted), table, models)
        if not game.people.size:
            note = "nobody is in one sure class alone, so that there are no worlds to try"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        if game.comes_back(solver, target).mean() < RECOGNIZED:
            note = "the algorithm does not bring back the published classes; it rests on random choices, or is another"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        return self._played(game, names, solver, target)

    def _played(self, game: _Game, names: Sequence[str], solver: Solver, target: Target) -> tuple[AttackResult, ...]:
        values = [game.sensitive[:, column].astype(np.int64) for column in range(len(names))]
        cells = [cells_of(game.classes, game.table.codes, column, int(column.max()) + 1) for column in values]
        if max(len(each.members) * each.width for each in cells) > MOST_CELLS:
            note = "classes hold too many different values to keep a belief in each; play it on part of the table"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        worlds, whole = self._worlds(game, target)
        if not whole and self.worlds is None and self._takes_too_long(game, solver, target):
            note = "the algorithm takes too long to be run in many worlds; say how many with worlds, or wait longer"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        tallies = [Tally.of(each) for each in cells]
        for number, world in enumerate(worlds, 1):
            target.progress("minimality: trying worlds", number, number)
            back = game.comes_back(solver, target, world)
            accepted = np.full(game.count, back.all()) if whole else back
            for tally, column in zip(tallies, values, strict=True):
                tally.add(game.classes, column[world], accepted)
        return tuple(
            self._scored(name, game, tally, column, whole, target)
            for name, tally, column in zip(names, tallies, values, strict=True)
        )

    def _worlds(self, game: _Game, target: Target) -> tuple[Iterator[NDArray[np.int64]], bool]:
        """Return the worlds to try, and whether these are all worlds."""
        kinds = np.unique(game.sensitive, axis=0, return_inverse=True)[1].ravel()
        joint = cells_of(game.classes, np.zeros((len(kinds), 1), dtype=np.int64), kinds, int(kinds.max()) + 1)
        if world_count(joint, self.exhaustive) <= self.exhaustive:
            return every_world(game.classes, kinds), True
        return random_worlds(game.classes, self._drawn(game), np.random.default_rng(target.seed)), False

    def _drawn(self, game: _Game) -> int:
        return self.worlds or min(MOST_WORLDS, max(FEWEST_WORLDS, DRAWN_RECORDS // len(game.people)))

    def _takes_too_long(self, game: _Game, solver: Solver, target: Target) -> bool:
        if self._seconds(game, solver, target) <= self.patience:
            return False
        if choice.setting() != "auto":
            return True
        # What is too slow as it is written need not be when it is compiled, and whether it was compiled before must
        # not decide whether the attack is played.
        with choice.always("compiled"):
            game.comes_back(solver, target)
            return self._seconds(game, solver, target) > self.patience

    def _seconds(self, game: _Game, solver: Solver, target: Target) -> float:
        """Estimate what running the algorithm in all worlds takes, from one run."""
        start = process_time()
        game.comes_back(solver, target)
        return (process_time() - start) * self._drawn(game)

    def _scored(
        self, name: str, game: _Game, tally: Tally, truth: NDArray[np.int64], whole: bool, target: Target
    ) -> AttackResult:
        cells, shares = tally.cells, tally.cells.shares
        belief, doubt = (tally.exact_belief, 0.0) if whole else (tally.drawn_belief, tally.doubt)
        likeliest = belief.argmax(axis=1)
        group = np.arange(len(belief))
        usual, rises = shares[group, likeliest], (belief - shares)[group, likeliest]
        claimed = rises >= np.maximum(self.rise, SPREADS * doubt) - SURE
        made, own = claimed[cells.group_of], cells.places(game.classes, truth)
        right = (likeliest[cells.group_of] == own)[made]
        baseline = (usual[cells.group_of][made] if made.any() else shares.max(axis=1)[cells.group_of]).mean()
        figures = {
            "claimed": float(made.sum() / game.everybody),
            "highest_rise": float(rises[claimed].max(initial=0.0)),
            "average_certainty": float(belief[cells.group_of, own].mean()),
            "average_certainty_by_class": float(shares[cells.group_of, own].mean()),
            "worlds": float(tally.tried),
            "worlds_left": float(tally.alive.mean()),
        }
        result = self._result(name, Rate(float(right.sum()), int(made.sum()), float(baseline)), figures, game.notes)
        named = np.where(claimed, likeliest, shares.argmax(axis=1))
        surest = np.where(claimed, belief[group, likeliest], shares.max(axis=1))
        return replace(
            result, curve=_curve(cells, surest, named[cells.group_of] == own, allowed_guess(target.models, name))
        )

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
            "cuts; or a larger k, or a stricter model than the one that is needed",
        )


def _curve(
    cells: WorldCells, surest: NDArray[np.float64], right: NDArray[np.bool_], bound: float | None
) -> BeliefCurve:
    """Rank people by the belief in what is named of them, the class's own share where it did not rise."""
    group = cells.group_of
    told = Beliefs(surest[group], right.astype(np.float64), cells.shares.max(axis=1)[group])
    return curve_of(told, None, None, guessing=(0.0, 0.0), bound=bound, alone=_ALONE, judges=False)


@dataclass(frozen=True, eq=False, repr=False)
class _Game:
    """The people in sure classes, as the algorithm sees them.

    people : int64 (n,), their places in the original. classes : int32 (n,), numbered from 0 again. table : their codes.
    """

    people: NDArray[np.int64]
    everybody: int
    classes: NDArray[np.int32]
    count: int
    table: EncodedTable
    models: tuple[PrivacyModel, ...]
    notes: tuple[str, ...]

    @property
    def sensitive(self) -> NDArray[np.unsignedinteger]:
        """Sensitive codes, (n, s)."""
        return self.table.sensitive_codes

    def comes_back(self, solver: Solver, target: Target, world: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
        """Run the algorithm in a world, or in the true one if None; tell which classes it reproduces, bool (c,)."""
        table = self.table
        if world is not None:
            table = replace(table, sensitive_codes=np.ascontiguousarray(self.sensitive[world]))
        again = rerun(solver, RerunTask(table, self.models, seed=target.seed, threads=target.threads))
        if again is None:
            return np.zeros(self.count, dtype=np.bool_)
        return survivors(self.classes, self.count, again)


def _placed(placement: Placement) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return each person's class as far as labels show it, and which classes hold exactly those people."""
    return placement.class_of, placement.filled


def _granted(
    published: PublishedTable, table: EncodedTable, task: RerunTask, solver: Solver, target: Target
) -> tuple[NDArray[np.int32], NDArray[np.bool_]] | None:
    """Return everybody's class if the algorithm makes exactly the published classes from the original, else None.

    Published values may overlap, so labels alone do not identify the classes. But an attacker who can run the algorithm
    on everybody can search for the classes that give these labels. That search is not played; it is assumed to succeed.
    """
    partition = rerun(solver, task)
    if partition is None:
        return None
    recoded = recode_as_published(table, partition, target.recoding)
    names = [attribute.name for attribute in table.attributes]
    if not set(names) <= set(published.data.columns):
        return None
    again = pl.DataFrame(
        [column.labels.gather(column.per_class).alias(column.attribute.name) for column in recoded.columns]
    ).with_columns(pl.Series("", recoded.sizes, dtype=pl.Int64))
    seen = published.data.select(text_of(published.data[name]).alias(name) for name in names)
    counts = seen.group_by(exactly(*names)).len("").cast({"": pl.Int64})
    every = exactly(*again.columns)
    if not again.sort(every).equals(counts.select(every).sort(every)):
        return None
    return recoded.class_of, np.ones(len(recoded.sizes), dtype=np.bool_)


def _game(
    placed: NDArray[np.int32], sure: NDArray[np.bool_], table: EncodedTable, models: tuple[PrivacyModel, ...]
) -> _Game:
    people = np.flatnonzero((placed >= 0) & sure[np.maximum(placed, 0)])
    number = (np.cumsum(sure) - 1).astype(np.int32)
    left_out = len(placed) - len(people)
    notes = (f"{counted(left_out, 'record')} of no sure class left out",) if left_out else ()
    chosen = replace(
        table,
        codes=np.ascontiguousarray(table.codes[people]),
        sensitive_codes=np.ascontiguousarray(table.sensitive_codes[people]),
    )
    return _Game(people, len(placed), number[placed[people]], int(sure.sum()), chosen, models, notes)
