"""Classifiers trained on a release and tested on original records that were not in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.evaluation.utility.bins import Bins, coarse
from sfumato.evaluation.utility.domains import Domain, Floats
from sfumato.evaluation.utility.features import (
    ENCODINGS,
    MOST_CATEGORIES,
    Encoding,
    binned_features,
    measured_features,
    target_classes,
)
from sfumato.evaluation.utility.joint import Joint
from sfumato.evaluation.utility.labels import default_reading, read_labels
from sfumato.evaluation.utility.learners import LEARNERS, Learner, predictions
from sfumato.evaluation.utility.records import drawn_records
from sfumato.evaluation.utility.spreads import AttributeSpread
from sfumato.parallel import Once
from sfumato.table.table import Table

NUMBER_CLASSES = 4
"""Number of classes of about equal frequency into which a numeric target is divided."""

TrainedOnce = Once[tuple[object, ...], float]
"""Accuracies of classifiers trained on one original and tested on one table, by everything else that they depend on."""


@dataclass(frozen=True)
class Accuracy:
    """How often a classifier is right about held-out original records.

    Attributes
    ----------
    target : str
        The attribute that is predicted from all others.
    learner : str
    release : float
        Trained on the release.
    original : float
        Trained on the records that the release was made from.
    baseline : float
        Accuracy of always naming the most frequent class of those records.
    """

    target: str
    learner: Learner
    release: float
    original: float
    baseline: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False, repr=False)
class _Records:
    """Records as labels, and what the labels stand for."""

    spreads: Mapping[str, AttributeSpread]
    labels: Mapping[str, NDArray[np.int32]]

    def features(
        self, learner: Learner, domains: Sequence[Domain], encoding: Encoding, rng: np.random.Generator
    ) -> Floats:
        if learner == "naive-bayes":
            return binned_features(self.spreads, self.labels, domains)
        return measured_features(self.spreads, self.labels, domains, encoding, rng)

    def classes(self, target: str, bins: Bins, rng: np.random.Generator) -> NDArray[np.int64]:
        return target_classes(self.spreads[target], self.labels[target], bins, rng)

    def where(self, chosen: NDArray[np.bool_]) -> _Records:
        return _Records(self.spreads, {name: labels[chosen] for name, labels in self.labels.items()})


def accuracies(
    original: Joint,
    published: Joint,
    holdout: Table,
    domains: Mapping[str, Domain],
    *,
    targets: Sequence[str],
    learners: Sequence[Learner] = LEARNERS,
    encoding: Encoding = "midpoint",
    seed: int | None = None,
    trained: TrainedOnce | None = None,
) -> tuple[Accuracy, ...]:
    """Train on a release and on its original, and test both on records of neither.

    Parameters
    ----------
    original, published
        The joint distribution of all attributes in both.
    holdout
        Original records that the release was not made from, under the same schema.
    domains
        Attributes of the original.
    targets
        Attributes to predict, each from all other published ones; numbers in 4 classes of about equal frequency.
    learners
        Some of ``"decision-tree"``, ``"naive-bayes"`` and ``"logistic-regression"``.
    encoding
        How a generalized cell is read: ``"midpoint"``, ``"bounds"`` or ``"expand"``; see
        :func:`~sfumato.evaluation.utility.features.measured_features`. Naive Bayes always takes shares of bins.
    seed
        For combining records and for draws; None draws from the operating system.
    trained
        What several releases of one original share if they are tested on the same records: with a seed, classifiers are
        trained on the original once.

    Returns
    -------
    tuple of Accuracy
        For each target, one for each learner. Records without the target are left out.

    Raises
    ------
    PolicyError
        With every option that does not suit; when scikit-learn is not installed.
    InputError
        When the held-out records lack a column, or nobody has the target.

    Notes
    -----
    If rows of a release are not records (slicing, bucketization, marginals), they are combined at random inside each
    bucket, as the publisher's permutation did; an attribute in several columns links them. A held-out category that the
    original does not have counts as missing.

    Of more than 100 categories, all but the 99 most frequent are one.
    """
    names = [name for name in domains if name in published.spreads]
    raise_all(PolicyError, _problems(targets, names, learners, encoding))
    raise_all(InputError, [f"holdout: has no column {name!r}" for name in names if name not in holdout.frame.columns])
    rng = np.random.default_rng(seed)
    before = _Records(original.spreads, drawn_records(original, rng))
    after = _Records(published.spreads, drawn_records(published, rng))
    test = _exact_records(holdout, [domains[name] for name in names])
    found: list[Accuracy] = []
    for target in targets:
        others = [domains[name] for name in names if name != target]
        course = _Course(domains[target], others, encoding, rng, seed, trained)
        found += course.accuracies(before, after, test, learners)
    return tuple(found)


@dataclass(frozen=True, eq=False, repr=False)
class _Course:
    """One target and the attributes from which it is predicted."""

    target: Domain
    others: Sequence[Domain]
    encoding: Encoding
    rng: np.random.Generator
    seed: int | None
    trained: TrainedOnce | None

    def accuracies(
        self, before: _Records, after: _Records, test: _Records, learners: Sequence[Learner]
    ) -> list[Accuracy]:
        (old, originals), (new, published), (tested, truth) = map(self._with_target, (before, after, test))
        baseline = float(np.mean(truth == np.bincount(originals).argmax()))
        found = []
        for learner in learners:
            given = tested.features(learner, self.others, self.encoding, self.rng)
            right = partial(self._right, learner, given, truth)
            original = self._once(learner, partial(right, old, originals))
            found.append(Accuracy(self.target.name, learner, right(new, published), original, baseline))
        return found

    def _with_target(self, records: _Records) -> tuple[_Records, NDArray[np.int64]]:
        """Return the records that have the target, and their classes."""
        bins = coarse(self.target, NUMBER_CLASSES, MOST_CATEGORIES)
        classes = records.classes(self.target.name, bins, self.rng)
        known = classes < bins.count
        if not known.any():
            raise InputError(
                f"classifiers: nobody has a value of {self.target.name!r} in the original, release or holdout"
            )
        return records.where(known), classes[known]

    def _right(
        self,
        learner: Learner,
        given: Floats,
        truth: NDArray[np.int64],
        records: _Records,
        classes: NDArray[np.int64],
    ) -> float:
        train = records.features(learner, self.others, self.encoding, self.rng)
        return float(np.mean(predictions(learner, train, classes, given, self.seed) == truth))

    def _once(self, learner: Learner, work: Callable[[], float]) -> float:
        """Train on the original, unless that was done for another release and nothing is drawn at random."""
        if self.trained is None or self.seed is None or self.encoding == "expand":
            return work()
        names = tuple(domain.name for domain in self.others)
        return self.trained.of((learner, self.target.name, names, self.encoding, self.seed), work)


def _exact_records(table: Table, domains: Sequence[Domain]) -> _Records:
    """Read original records under another table's domains; categories that these do not have are missing."""
    spreads, labels = {}, {}
    for domain in domains:
        reading = default_reading(domain, points=True)
        spreads[domain.name], (labels[domain.name],), _ = read_labels([table.frame[domain.name]], domain, reading)
    return _Records(spreads, labels)


def _problems(targets: Sequence[str], names: Sequence[str], learners: Sequence[str], encoding: str) -> list[str]:
    problems = [
        f"targets: column {name!r} is not a published quasi-identifying or sensitive column"
        for name in targets
        if name not in names
    ]
    if len(names) < 2:
        problems.append("classifiers: need a published column besides the target")
    unknown = [name for name in learners if name not in LEARNERS]
    problems += [f"classifiers: {name!r} is unknown; known are {', '.join(LEARNERS)}" for name in unknown]
    if encoding not in ENCODINGS:
        problems.append(f"encoding: must be one of {', '.join(ENCODINGS)}")
    return problems
