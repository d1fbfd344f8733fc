"""Classifiers trained on a release and tested on original records that were not in it.

The learners are scikit-learn's, an optional dependency. A generalized cell is read as numbers, and exact cells in the
same form.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.evaluation.utility.joint import Joint, drawn_records
from sfumato.evaluation.utility.queries import AttributeDomain, Bins, Floats, coarse
from sfumato.evaluation.utility.spreads import AttributeSpread, default_reading, read_labels
from sfumato.parallel import Once
from sfumato.table.table import Table

Learner = Literal["decision-tree", "naive-bayes", "logistic-regression"]


LEARNERS: tuple[Learner, ...] = get_args(Learner)


TrainedOnce = Once[tuple[object, ...], float]
"""Accuracies of classifiers trained on one original and tested on one table, by everything else that they depend on."""


@dataclass(frozen=True)
class Accuracy:
    """How often a classifier is right about held-out original records.

    `target`: The attribute that is predicted from all others. `original`: Trained on the records that the release was
    made from. `baseline`: Accuracy of always naming the most frequent class of those records.
    """

    target: str
    learner: Learner
    release: float
    original: float
    baseline: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


def accuracies(
    original: Joint,
    published: Joint,
    holdout: Table,
    domains: Mapping[str, AttributeDomain],
    *,
    targets: Sequence[str],
    learners: Sequence[Learner] = LEARNERS,
    encoding: Encoding = "midpoint",
    seed: int | None = None,
    trained: TrainedOnce | None = None,
) -> tuple[Accuracy, ...]:
    """Train on a release and on its original, and test both on records of neither.

    `original`, `published`: The joint distribution of all attributes in both. `holdout`: Original records that the
    release was not made from, under the same schema. `targets`: Attributes to predict, each from all other published
    ones; numbers in 4 classes of about equal frequency. `learners`: Some of ``"decision-tree"``, ``"naive-bayes"`` and
    ``"logistic-regression"``. `encoding`: How a generalized cell is read: ``"midpoint"``, ``"bounds"`` or ``"expand"``;
    see :func:`~sfumato.evaluation.utility.classifiers.measured_features`. Naive Bayes always takes shares of bins.
    `seed`: For combining records and for draws; None draws from the operating system. `trained`: What several releases
    of one original share if they are tested on the same records: with a seed, classifiers are trained on the original
    once. Result: For each target, one for each learner. Records without the target are left out. Raises PolicyError
    with every option that does not suit; when scikit-learn is not installed. Raises InputError when the held-out
    records lack a column, or nobody has the target.

    If rows of a release are not records (slicing, bucketization, marginals), they are combined at random inside each
    bucket, as the publisher's permutation did; an attribute in several columns links them. A held-out category that the
    original does not have counts as missing. Of more than 100 categories, all but the 99 most frequent are one.
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
class _Records:
    """Records as labels, and what the labels stand for."""

    spreads: Mapping[str, AttributeSpread]
    labels: Mapping[str, NDArray[np.int32]]

    def features(
        self, learner: Learner, domains: Sequence[AttributeDomain], encoding: Encoding, rng: np.random.Generator
    ) -> Floats:
        if learner == "naive-bayes":
            return _binned_features(self.spreads, self.labels, domains)
        return measured_features(self.spreads, self.labels, domains, encoding, rng)

    def classes(self, target: str, bins: Bins, rng: np.random.Generator) -> NDArray[np.int64]:
        return _target_classes(self.spreads[target], self.labels[target], bins, rng)

    def where(self, chosen: NDArray[np.bool_]) -> _Records:
        return _Records(self.spreads, {name: labels[chosen] for name, labels in self.labels.items()})


@dataclass(frozen=True, eq=False, repr=False)
class _Course:
    """One target and the attributes from which it is predicted."""

    target: AttributeDomain
    others: Sequence[AttributeDomain]
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
        bins = coarse(self.target, _NUMBER_CLASSES, _MOST_CATEGORIES)
        classes = records.classes(self.target.name, bins, self.rng)
        known = classes < bins.count
        if not known.any():
            raise InputError(
                f"classifiers: nobody has a value of {self.target.name!r} in the original, release or holdout"
            )
        return records.where(known), classes[known]

    def _right(
        self, learner: Learner, given: Floats, truth: NDArray[np.int64], records: _Records, classes: NDArray[np.int64]
    ) -> float:
        train = records.features(learner, self.others, self.encoding, self.rng)
        return float(np.mean(predict_classes(learner, train, classes, given, self.seed) == truth))

    def _once(self, learner: Learner, work: Callable[[], float]) -> float:
        """Train on the original, unless that was done for another release and nothing is drawn at random."""
        if self.trained is None or self.seed is None or self.encoding == "expand":
            return work()
        names = tuple(domain.name for domain in self.others)
        return self.trained.of((learner, self.target.name, names, self.encoding, self.seed), work)


def _exact_records(table: Table, domains: Sequence[AttributeDomain]) -> _Records:
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
    if encoding not in _ENCODINGS:
        problems.append(f"encoding: must be one of {', '.join(_ENCODINGS)}")
    return problems


def measured_features(
    spreads: Mapping[str, AttributeSpread],
    labels: _Labels,
    domains: Sequence[AttributeDomain],
    encoding: Encoding,
    rng: np.random.Generator,
) -> Floats:
    """Return one row per record: numbers as numbers, a column for each category.

    ``"midpoint"``: the middle of an interval; each category has its share in a set or node. ``"bounds"``: both ends of
    an interval, categories as before. ``"expand"``: an original value drawn evenly from those that the cell stands for.
    A missing number is the original mean, with a column that says so.
    """
    columns: list[Floats] = []
    for domain in domains:
        spread, label_of = spreads[domain.name], labels[domain.name]
        if domain.numbers is None:
            columns.append(_categories(spread, label_of, domain, encoding, rng))
        else:
            columns.append(_numbers(spread, label_of, domain, encoding, rng))
    return np.hstack(columns)


def _binned_features(
    spreads: Mapping[str, AttributeSpread], labels: _Labels, domains: Sequence[AttributeDomain]
) -> Floats:
    """Return one row per record: the share that each bin of each attribute has in its cell."""
    return np.hstack([spreads[domain.name].histogram(_feature_bins(domain))[labels[domain.name]] for domain in domains])


def _target_classes(
    spread: AttributeSpread, label_of: NDArray[np.int32], bins: Bins, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the bin of each record, drawn by their shares if a cell stands for several; b if it is missing."""
    shares = spread.histogram(bins)
    sure = shares.max(axis=1) > 1 - 1e-9
    found: NDArray[np.int64] = shares.argmax(axis=1)[label_of]
    open_cells = np.flatnonzero(~sure[label_of])
    steps = np.cumsum(shares, axis=1)[label_of[open_cells]]
    drawn = rng.random(len(open_cells)) * steps[:, -1]
    found[open_cells] = (steps <= drawn[:, None]).sum(axis=1)
    return found


def _feature_bins(domain: AttributeDomain) -> Bins:
    """Return the bins in which classifiers see an attribute."""
    return coarse(domain, _NUMBER_BINS, _MOST_CATEGORIES)


def _categories(
    spread: AttributeSpread,
    label_of: NDArray[np.int32],
    domain: AttributeDomain,
    encoding: Encoding,
    rng: np.random.Generator,
) -> Floats:
    bins = _feature_bins(domain)
    if encoding != "expand":
        return spread.histogram(bins)[label_of]
    drawn = bins.bin_of[spread.draw(label_of, rng).astype(np.int64)]
    single: Floats = np.eye(bins.count + 1)[drawn]
    return single


def _numbers(
    spread: AttributeSpread,
    label_of: NDArray[np.int32],
    domain: AttributeDomain,
    encoding: Encoding,
    rng: np.random.Generator,
) -> Floats:
    if encoding == "bounds":
        values = np.column_stack(spread.ends())[label_of]
    elif encoding == "midpoint":
        values = spread.values()[label_of][:, None]
    else:
        values = spread.draw(label_of, rng).astype(np.float64)[:, None]
    assert domain.numbers is not None
    known = domain.codes[domain.codes < domain.attribute.size]
    mean = domain.numbers[known].mean() if len(known) else 0.0
    missing = np.isnan(values)
    return np.column_stack([np.where(missing, mean, values), missing[:, 0]])


_SMALLEST_LEAF = 5


_ITERATIONS = 200


_Classes = NDArray[np.int64]


def predict_classes(learner: Learner, train: Floats, classes: _Classes, test: Floats, seed: int | None) -> _Classes:
    """Train on some records, one row each, and predict the classes of others; `seed`: for the tree's ties.

    A CART with 5 records in a leaf; naive Bayes over shares of categories as counts; or logistic regression on
    standardized columns.
    """
    require_learners()
    if len(np.unique(classes)) < 2:
        # Some classifiers refuse targets that need no learning.
        return np.full(len(test), classes[0])
    with warnings.catch_warnings():
        # A model that has not converged after this many rounds will not predict better.
        warnings.simplefilter("ignore")
        model = _MADE[learner](seed)
        found: _Classes = model.fit(train, classes).predict(test)
    return found


def require_learners() -> None:
    """Raise PolicyError if scikit-learn is not installed."""
    try:
        import_module("sklearn")
    except ImportError:
        raise PolicyError(
            "classifiers need scikit-learn, which is not installed; install sfumato[utility], or leave classifiers out"
        ) from None


def _tree(seed: int | None) -> Any:
    return import_module("sklearn.tree").DecisionTreeClassifier(min_samples_leaf=_SMALLEST_LEAF, random_state=seed)


def _bayes(seed: int | None) -> Any:
    # Shares of each attribute sum to one, so that a multinomial over all of them is a product over attributes.
    return import_module("sklearn.naive_bayes").MultinomialNB()


def _regression(seed: int | None) -> Any:
    scale = import_module("sklearn.preprocessing").StandardScaler()
    regression = import_module("sklearn.linear_model").LogisticRegression(max_iter=_ITERATIONS)
    return import_module("sklearn.pipeline").make_pipeline(scale, regression)


_MADE: dict[Learner, Callable[[int | None], Any]] = {
    "decision-tree": _tree,
    "naive-bayes": _bayes,
    "logistic-regression": _regression,
}


_NUMBER_CLASSES = 4
"""Number of classes of about equal frequency into which a numeric target is divided."""


Encoding = Literal["midpoint", "bounds", "expand"]


_ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)


_MOST_CATEGORIES = 100


_NUMBER_BINS = 10


_Labels = Mapping[str, NDArray[np.int32]]
