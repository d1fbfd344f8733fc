"""Minimality: learn from what a known algorithm did not publish (Wong, Fu, Wang and Pei, 2007)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.evaluation.attacks.belief_curve import BeliefCurve, Beliefs, curve_of
from sfumato.evaluation.attacks.licence import allowed_guess
from sfumato.evaluation.attacks.minimality_game import Game, game_of
from sfumato.evaluation.attacks.options import SURE
from sfumato.evaluation.attacks.placing import generalized, place
from sfumato.evaluation.attacks.protocol import AttackResult, Counted, Target
from sfumato.evaluation.attacks.rerunning import models_of, solver_of
from sfumato.evaluation.attacks.world_tally import Cells, Tally
from sfumato.kernels import choice
from sfumato.options import Checked, Limit, Share
from sfumato.rates import Rate

DRAWN_RECORDS, FEWEST_WORLDS, MOST_WORLDS = 2_000_000, 20, 500
"""Records, and fewest and most worlds, that are drawn by default."""

RECOGNIZED = 0.5
"""Least share of the classes that a run on the original reproduces if the algorithm is the right one."""

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

    *People with several records.* Where promises are about people, the algorithm is run as the release was made: with
    their records folded into one, or with classes that are judged by people. A world deals the rows of each class out
    to the records of its people; where pseudonyms are published, whole bundles of rows to people who have as many. The
    attacker knows everybody's quasi-identifying values, and so how many records each has. A claim is that somebody has
    a value in some record, and people are counted. Where promises are about records, each of these is taken for a
    person, and records are counted. Where classes keep what people wish for (a k of one's own), it is not played: the
    attacker does not know the wishes.

    *Cost.* One run of the algorithm for each world.
    """

    name: ClassVar[str] = "minimality"
    kinds: ClassVar[frozenset[str]] = frozenset({"generalized-table"})
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
            When the release is not a generalized table, or shares no quasi-identifying attribute with the people.
        PolicyError
            When the algorithm or the models are not given, or the original does not say whom promises are about.
        """
        published = generalized(target.published, self.name)
        solver = solver_of(target.anonymizer, self.name)
        models = models_of(target.models, self.name)
        names = tuple(name for name in target.original.schema.sensitive if name in published.data.columns)
        if not names:
            raise InputError("minimality: the release has no sensitive attribute, so there is nothing to learn")
        placement = place(published, target.original.frame, target.original.schema, target.recoding, names[0])
        if not any(rule.attribute for model in models for rule in model.rules(names)):
            note = "no promised model looks at sensitive values, so that the algorithm tells nothing of them"
            return tuple(self._unplayed(name, (note,)) for name in names)
        if published.promised or published.promised_l:
            note = "classes keep what people wish for, which the attacker does not know; the algorithm needs it"
            return tuple(self._unplayed(name, (note,)) for name in names)
        game = game_of(published, placement, solver, models, target)
        if not game.records:
            note = "nobody is in one sure class alone, so that there are no worlds to try"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        if game.comes_back().mean() < RECOGNIZED:
            note = "the algorithm does not bring back the published classes; it rests on random choices, or is another"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        return self._played(game, names, target)

    def _played(self, game: Game, names: Sequence[str], target: Target) -> tuple[AttackResult, ...]:
        values = [game.sensitive[:, column].astype(np.int64) for column in range(len(names))]
        cells = [found for column in values if (found := game.cells(column)) is not None]
        if len(cells) < len(values):
            note = "classes hold too many different values to keep a belief in each; play it on part of the table"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        worlds, whole = self._worlds(game, target)
        if not whole and self.worlds is None and self._takes_too_long(game):
            note = "the algorithm takes too long to be run in many worlds; say how many with worlds, or wait longer"
            return tuple(self._unplayed(name, (*game.notes, note)) for name in names)
        tallies = [Tally.of(each) for each in cells]
        for number, world in enumerate(worlds, 1):
            target.progress("minimality: trying worlds", number, number)
            back = game.comes_back(world)
            accepted = np.full(game.count, back.all()) if whole else back
            for tally, column in zip(tallies, values, strict=True):
                tally.add(column[world], accepted)
        return tuple(
            self._scored(name, game, tally, column, whole, target)
            for name, tally, column in zip(names, tallies, values, strict=True)
        )

    def _worlds(self, game: Game, target: Target) -> tuple[Iterator[NDArray[np.int64]], bool]:
        """Return the worlds to try, and whether these are all worlds."""
        everything = game.every_world(self.exhaustive)
        if everything is not None:
            return everything, True
        return game.random_worlds(self._drawn(game), target.seed), False

    def _drawn(self, game: Game) -> int:
        return self.worlds or min(MOST_WORLDS, max(FEWEST_WORLDS, DRAWN_RECORDS // game.records))

    def _takes_too_long(self, game: Game) -> bool:
        if self._seconds(game) <= self.patience:
            return False
        if choice.setting() != "auto":
            return True
        # What is too slow as it is written need not be when it is compiled, and whether it was compiled before must
        # not decide whether the attack is played.
        with choice.always("compiled"):
            game.comes_back()
            return self._seconds(game) > self.patience

    def _seconds(self, game: Game) -> float:
        """Estimate what running the algorithm in all worlds takes, from one run."""
        start = process_time()
        game.comes_back()
        return (process_time() - start) * self._drawn(game)

    def _scored(
        self, name: str, game: Game, tally: Tally, truth: NDArray[np.int64], whole: bool, target: Target
    ) -> AttackResult:
        cells, shares = tally.cells, tally.cells.shares
        belief, doubt = (tally.exact_belief, 0.0) if whole else (tally.drawn_belief, tally.doubt)
        group, rises = np.arange(len(belief)), belief - shares
        enough: NDArray[np.bool_] = rises >= np.maximum(self.rise, SPREADS * doubt) - SURE
        claims = cells.claimable(belief) & enough
        claim = np.where(claims, belief, -1.0).argmax(axis=1)
        claimed = claims[group, claim]
        made, usual = claimed[cells.group_of], shares[group, claim]
        right = cells.right(claim, truth)[made]
        baseline = (usual[cells.group_of][made] if made.any() else shares.max(axis=1)[cells.group_of]).mean()
        figures = {
            "claimed": float(made.sum() / game.everybody),
            "highest_rise": float(rises[group, claim][claimed].max(initial=0.0)),
            "average_certainty": float(cells.certainty(belief, truth).mean()),
            "average_certainty_by_class": float(cells.certainty(shares, truth).mean()),
            "worlds": float(tally.tried),
            "worlds_left": tally.brought_back,
        }
        result = self._result(name, Rate(float(right.sum()), int(made.sum()), float(baseline)), figures, game.notes)
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
            "cuts; or a larger k, or a stricter model than the one that is needed",
        )


def _curve(cells: Cells, surest: NDArray[np.float64], right: NDArray[np.bool_], bound: float | None) -> BeliefCurve:
    """Rank people by the belief in what is named of them, the class's own share where it did not rise."""
    group = cells.group_of
    told = Beliefs(surest[group], right.astype(np.float64), cells.shares.max(axis=1)[group])
    return curve_of(told, None, None, guessing=(0.0, 0.0), bound=bound, alone=_ALONE, judges=False)
