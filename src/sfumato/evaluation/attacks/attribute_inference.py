"""Attribute inference: a classifier trained on the release predicts people's sensitive values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.beliefs import Beliefs, draw_curve
from sfumato.evaluation.attacks.classifiers import (
    BoostedTrees,
    NaiveBayes,
    boosted_trees,
    known_from_others,
    naive_bayes,
    require_scikit_learn,
    usual_share,
)
from sfumato.evaluation.attacks.original_values import distinct_people, unread_notes
from sfumato.evaluation.attacks.people import Cohort, cohort_of, generator_of
from sfumato.evaluation.attacks.posterior import (
    OwnValues,
    blocks_of_people,
    peoples_posterior,
    posterior_blocks,
    sensitive_of,
)
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.verdicts import allowed_guess
from sfumato.kernels.grouping import first_records
from sfumato.options import Checked, Limit
from sfumato.published import MarginalTables, Published, RandomizedTable
from sfumato.published.bucketized import COUNT
from sfumato.rates import Rate
from sfumato.table.header import exactly


@dataclass(frozen=True)
class AttributeInference(Checked):
    """Prediction of sensitive values by a classifier that was trained on the release.

    The classifier is a Bayesian rule: a prediction from everything published counts as much as `strength` records, and
    is corrected by the sensitive values of the records that fit the person. If no record fits, the prediction decides;
    if many fit, their majority does.

    Parameters
    ----------
    classifier
        What predicts: ``"naive-bayes"``, or ``"gradient-boosting"``, trees that find what several attributes tell
        together; these need scikit-learn and take longer.
    strength
        Number of records that the prediction counts as, above 0.
    ranges
        A numeric sensitive attribute with more distinct values than this is predicted in as many equally filled ranges,
        2 or more.

    Raises
    ------
    PolicyError
        With every wrong option; when scikit-learn is needed and not installed.

    Notes
    -----
    *Played.* For each sensitive attribute, everybody's value is predicted from their quasi-identifying values. By
    guessing: everybody is said to have the value that is most frequent among them. The control group shows how well the
    same classifier does on people who are not in the data; what it learns about them is knowledge about the population,
    not a fault of the release.

    *People with several records.* Each known record is predicted, and the value named that is most likely to be among
    the person's, as if records were independent. It is right if any record of theirs has it.

    Cost O((n + m) · q + m · v) for m people and v sensitive values, plus that of finding the records that fit, and with
    trees that of :func:`sfumato.evaluation.attacks.classifiers.boosted_trees`.

    References
    ----------
    The measure is that of M. Giomi and others, "A unified framework for quantifying privacy risk in synthetic data",
    PoPETs 2023 (success beyond that on a control group); naive Bayes as an attacker against anonymized tables goes back
    to D. Kifer, "Attacks on privacy and deFinetti's theorem", SIGMOD 2009, and G. Cormode, "Personal privacy vs
    population privacy", KDD 2011. The correction by the fitting records is an addition here.
    """

    name: ClassVar[str] = "attribute-inference"
    kinds: ClassVar[frozenset[str]] = frozenset(
        {"generalized-table", "bucketized-tables", "sliced-table", "marginal-tables", "randomized-table"}
    )
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)

    strength: Annotated[float, Limit(0, above=True)] = 1.0
    ranges: Annotated[int, Limit(2)] = 20
    classifier: Literal["naive-bayes", "gradient-boosting"] = "naive-bayes"

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute."""
        if self.classifier == "gradient-boosting":
            require_scikit_learn()
        cohort = cohort_of(target)
        return tuple(self._played(target, cohort, name) for name in sensitive_of(target.published))

    def _played(self, target: Target, cohort: Cohort, sensitive: str) -> AttackResult:
        model = naive_bayes(target.published, cohort.table, sensitive, recoding=target.recoding, ranges=self.ranges)
        truth = model.answers.codes(cohort.frame[sensitive])
        trees = generator_of(target, _SALT) if self.classifier == "gradient-boosting" else None
        learnt = model if trees is None else _boosted(target, cohort, sensitive, model, trees)
        of_all = self._right if cohort.known.alone else self._right_of_people
        members, others, alone = of_all(target, cohort, sensitive, learnt, truth)
        is_member = np.arange(len(truth)) < cohort.members
        usual = _usual(truth, cohort, is_member)
        usual_of_others = _usual(truth, cohort, ~is_member) if others.people else 0.0
        population = known_from_others(cohort, sensitive, ranges=self.ranges, trees=trees)
        allowed = allowed_guess(target.models_of_victims, sensitive)
        return AttackResult(
            attack=self.name,
            knows="everybody's quasi-identifying values, and who is in the data",
            goal=f"whose {sensitive} was predicted" + ("" if model.answers.edges is None else " to the right range"),
            success=Rate(members.right.sum(), members.people, usual),
            control=Rate(others.right.sum(), others.people, usual_of_others) if others.people else None,
            figures={"answers": model.answers.size, f"{self.classifier.replace('-', '_')}_alone": alone},
            notes=(*_notes(truth), *unread_notes(target.published, cohort.frame)),
            helps="t-closeness or l-diversity with larger classes, so that few records tell nothing about one person",
            allowed=allowed,
            curve=draw_curve(members, others, population, guessing=(usual, usual_of_others), bound=allowed),
        )

    def _right(
        self, target: Target, cohort: Cohort, sensitive: str, model: NaiveBayes | BoostedTrees, truth: NDArray[np.int64]
    ) -> _Predicted:
        """Predict the value of each record."""
        told, who_of = distinct_people(cohort.table)
        named, alone = np.zeros(told.height, dtype=np.int64), np.zeros(told.height, dtype=np.int64)
        belief = np.zeros(told.height)
        blocks = posterior_blocks(_as_marginal(target.published), told, sensitive=sensitive, recoding=target.recoding)
        one_of = first_records(who_of, told.height)
        for rows, known in blocks:
            learnt = model.shares(one_of[rows])
            fitting = known.shares * known.candidates[:, None]
            tallies = _summed(fitting, model.answers.codes_of_texts(known.values), model.answers.size)
            chances = tallies + self.strength * learnt
            named[rows], alone[rows] = chances.argmax(axis=1), learnt.argmax(axis=1)
            belief[rows] = chances.max(axis=1) / chances.sum(axis=1)
        return _split(cohort, belief[who_of], named[who_of] == truth, alone[who_of] == truth)

    def _right_of_people(
        self, target: Target, cohort: Cohort, sensitive: str, model: NaiveBayes | BoostedTrees, truth: NDArray[np.int64]
    ) -> _Predicted:
        """Predict a value that one of the records of each person has."""
        named: list[NDArray[np.bool_]] = []
        alone: list[NDArray[np.bool_]] = []
        belief: list[NDArray[np.float64]] = []
        published = _as_marginal(target.published)
        for some, places in blocks_of_people(cohort.known, model.answers.size):
            part, told = cohort.table.take(places), places[some.places]
            known = peoples_posterior(published, part, some, sensitive, target.recoding, together=target.rows.together)
            groups = known.groups
            assert groups is not None
            learnt = model.shares(told)
            fitting = (groups.shares * groups.candidates[:, None])[groups.group_of]
            tallies = _summed(fitting, model.answers.codes_of_texts(known.values), model.answers.size)
            chances = tallies + self.strength * learnt
            chances /= chances.sum(axis=1, keepdims=True)
            own = OwnValues(some.person_of, part.frame[sensitive], some.people)
            of_any = [_once(each, some.owners, some.people) for each in (chances, learnt)]
            for found, each in zip((named, alone), of_any, strict=True):
                found.append(own.right(truth[places], each.argmax(axis=1)) > 0)
            belief.append(of_any[0].max(axis=1))
        return _split(cohort, np.concatenate(belief), np.concatenate(named), np.concatenate(alone))


def _boosted(
    target: Target, cohort: Cohort, sensitive: str, model: NaiveBayes, generator: np.random.Generator
) -> BoostedTrees:
    published, recoding = target.published, target.recoding
    return boosted_trees(published, cohort.table, sensitive, model.answers, recoding=recoding, generator=generator)


_Predicted = tuple[Beliefs, Beliefs, float]
"""Of people in the data, and of others; and the share of the former for whom the classifier alone would be right."""

_SALT = 0x6B


def _split(
    cohort: Cohort, belief: NDArray[np.float64], named: NDArray[np.bool_], alone: NDArray[np.bool_]
) -> _Predicted:
    members, others = (
        Beliefs(each, right) for each, right in zip(cohort.both(belief), cohort.both(named.astype(float)), strict=True)
    )
    return members, others, float(cohort.both(alone)[0].mean())


def _once(chances: NDArray[np.float64], owner: NDArray[np.int64], people: int) -> NDArray[np.float64]:
    """Return the chance that any record of each person has each value; float64 (r, a) to (people, a)."""
    missed = np.ones((people, chances.shape[1]))
    np.multiply.at(missed, owner, 1 - chances)
    return 1 - missed


def _usual(truth: NDArray[np.int64], cohort: Cohort, some: NDArray[np.bool_]) -> float:
    """Return the share of some people, given by their records, who have the value that most of them have."""
    return usual_share(truth[some], cohort.known.person_of[some])


def _as_marginal(published: Published) -> Published:
    """Convert a randomized table to a single marginal; leave other kinds unchanged."""
    if not isinstance(published, RandomizedTable):
        return published
    names = (*published.quasi_identifying, *published.sensitive)
    counted = published.data.group_by(exactly(*names)).agg(pl.len().alias(COUNT))
    return MarginalTables((counted,), (names,), published.sensitive)


def _summed(shares: NDArray[np.float64], code_of: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Add up the published values that each answer stands for."""
    if shares.shape[1] == size and (code_of == np.arange(size)).all():
        return shares
    summed = np.zeros((len(shares), size))
    for place, code in enumerate(code_of):
        summed[:, code] += shares[:, place]
    return summed


def _notes(truth: NDArray[np.int64]) -> tuple[str, ...]:
    missed = int((truth < 0).sum())
    notes = [f"{missed} people have a value that was not published, which cannot be predicted"] if missed else []
    if len(np.unique(truth)) == 1:
        notes.append("everybody has the same value, so that there is nothing to learn about anybody")
    return tuple(notes)
