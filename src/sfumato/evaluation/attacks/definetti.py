"""The deFinetti attack: what all buckets together disclose about the values inside one (Kifer, 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.attacks.answers import usual_share
from sfumato.evaluation.attacks.belief_curve import Beliefs, curve_of
from sfumato.evaluation.attacks.bucket_guess import guess, read_buckets
from sfumato.evaluation.attacks.cohort import Cohort, cohort_of
from sfumato.evaluation.attacks.licence import allowed_guess
from sfumato.evaluation.attacks.naive_bayes import NaiveBayes
from sfumato.evaluation.attacks.pieces import Piece, pieces_of, unread_notes
from sfumato.evaluation.attacks.population import beliefs_of, known_from_others
from sfumato.evaluation.attacks.posterior import sensitive_of
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.options import Checked, Limit
from sfumato.rates import Rate


@dataclass(frozen=True)
class DeFinetti(Checked):
    """The deFinetti attack on buckets and slices.

    Parameters
    ----------
    rounds
        Rounds of learning, 1 or more.
    exact
        Buckets with at most this many states (the product of count + 1 over their sensitive values) are computed
        exactly, larger ones approximately; 1 or more.
    ranges
        A numeric sensitive attribute with more distinct values than this is guessed in as many equally filled ranges,
        2 or more.

    Raises
    ------
    PolicyError
        With every wrong option.

    Notes
    -----
    *Idea.* A bucket with l different sensitive values seems to leave chances of 1/l each. But if smokers have cancer
    more often in the data, then in a bucket with a smoker, a non-smoker, a cancer and a flu, the smoker is the likelier
    one to have cancer; and how often smokers have it can be learnt from all buckets together. Records are exchangeable,
    not random worlds, which by de Finetti's theorem makes the buckets samples of one unknown law.

    *Played.* A naive Bayes model of the quasi-identifying values given the sensitive one is learnt by expectation
    maximization, starting from the buckets' own shares (:mod:`sfumato.evaluation.attacks.bucket_links`); in a sliced
    table each column apart from the sensitive attribute has links of its own, and attributes in its column are used as
    they are. Everybody in the data is looked up by their quasi-identifying values. Rows that agree are treated alike,
    and the likeliest value is named; equally likely ones share.

    *By guessing*: the better of the best guess from the buckets alone (random worlds, figure ``random_worlds``, at most
    1/l if the release is l-diverse) and the most frequent value (figure ``prior``). The control group is judged by
    the naive Bayes model alone, because its people are in no bucket: what is learnt about them is knowledge of the
    population.

    *Departures.* Kifer samples permutations, assigns the likeliest one, and trains again; here the chances over all
    permutations are used, exactly where buckets are small, scaled to the right sums (Sinkhorn) in large ones. A row is
    left out when its own chances are computed. Numbers are counted in 32 equally filled ranges. If an attribute
    is in several columns of a slice, each copy counts.

    *People with several records.* What is believed of each known record adds up; the value named is right if any record
    of the person has it.

    Cost O(rounds · e · attributes) for e pairs of a row and a value of its bucket.

    References
    ----------
    D. Kifer, "Attacks on privacy and deFinetti's theorem", SIGMOD 2009.
    """

    name: ClassVar[str] = "definetti"
    kinds: ClassVar[frozenset[str]] = frozenset({"bucketized-tables", "sliced-table"})
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)

    rounds: Annotated[int, Limit(1)] = 10
    exact: Annotated[int, Limit(1)] = 256
    ranges: Annotated[int, Limit(2)] = 20

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute."""
        cohort, pieces = cohort_of(target), pieces_of(target.published)
        notes = unread_notes(target.published, cohort.frame)
        return tuple(
            self._played(pieces, cohort, name, notes, allowed_guess(target.models_of_victims, name))
            for name in sensitive_of(target.published)
        )

    def _played(
        self, pieces: tuple[Piece, ...], cohort: Cohort, sensitive: str, notes: tuple[str, ...], allowed: float | None
    ) -> AttackResult:
        buckets = read_buckets(pieces, cohort.table, sensitive, ranges=self.ranges)
        truth = buckets.answers.codes(cohort.frame[sensitive])
        inside, person = truth[: cohort.members], cohort.known.person_of[: cohort.members]
        told = cohort.known.told[cohort.known.told < cohort.members]
        guesses = guess(buckets, told, person[told], rounds=self.rounds, exact=self.exact)
        right, by_chance = (guesses.right(each, person, inside) for each in (guesses.learnt, guesses.worlds))
        usual = usual_share(inside, person)
        members = Beliefs(guesses.belief(cohort.insiders), right, by_chance)
        others, usual_of_others = _of_others(guesses.model, cohort, truth) if cohort.outsiders else (None, 0.0)
        population = known_from_others(cohort, sensitive, ranges=self.ranges)
        return AttackResult(
            attack=self.name,
            knows="everybody's quasi-identifying values, and who is in the data",
            goal=f"whose {sensitive} was guessed" + ("" if buckets.answers.edges is None else " to the right range"),
            success=Rate(float(right.sum()), cohort.insiders, max(float(by_chance.mean()), usual)),
            control=None if others is None else Rate(float(others.right.sum()), others.people, usual_of_others),
            figures={"random_worlds": float(by_chance.mean()), "prior": usual},
            notes=notes,
            helps="more sensitive values in each bucket, t-closeness of the buckets, or generalizing the values that "
            "the sensitive one depends on",
            allowed=allowed,
            curve=curve_of(members, others, population, guessing=(usual, usual_of_others), bound=allowed),
        )


def _of_others(model: NaiveBayes, cohort: Cohort, truth: NDArray[np.int64]) -> tuple[Beliefs, float]:
    """Guess the likeliest value of people who are not in the data, by what is known of their records together.

    Also returns the share of them who have the most frequent value.
    """
    known = cohort.known
    told = known.told[known.told >= cohort.members]
    outside, person = truth[cohort.members :], known.person_of[cohort.members :] - cohort.insiders
    found = beliefs_of(model.shares(told), known.person_of[told] - cohort.insiders, outside, person)
    return found, usual_share(outside, person)
