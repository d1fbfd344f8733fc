"""Gradient-boosted trees of scikit-learn, an optional dependency, trained on a release of any kind."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.evaluation.attacks.answers import Answers
from sfumato.evaluation.utility.domains import Domain, Floats, domains_of
from sfumato.evaluation.utility.records import drawn_records
from sfumato.evaluation.utility.views import read_joint
from sfumato.published import Published
from sfumato.recoding.choice import Recoding
from sfumato.table.encoding import encode
from sfumato.table.table import Table

MOST_CATEGORIES = 250
"""Most values of an attribute that trees take for categories; of more, their order counts."""

ROUNDS, LEAVES = 60, 8
"""Most rounds of boosting, and most leaves of a tree: what is published at random must not be learnt by heart."""

DRAWS = 5
"""Possible tables behind a release that are learnt from together."""

FEWEST_TO_STOP = 1000
"""Records from which on a tenth is kept aside, and boosting stops where it no longer gets better on them."""


@dataclass(frozen=True, eq=False, repr=False)
class BoostedTrees:
    """What trained trees say of the people to judge.

    Attributes
    ----------
    answers : Answers
    chances : numpy.ndarray
        float64 (m, a): how likely each answer is for each of m people, sums of 1.
    """

    answers: Answers
    chances: Floats

    def shares(self, rows: NDArray[np.integer] | slice) -> Floats:
        """Return how likely each answer is for some people: float64 (people, a)."""
        found: Floats = self.chances[rows]
        return found


def boosted_trees(
    published: Published,
    people: Table,
    sensitive: str,
    answers: Answers,
    *,
    recoding: Recoding,
    generator: np.random.Generator,
) -> BoostedTrees:
    """Train trees on a release and judge people by their quasi-identifying values.

    Parameters
    ----------
    published
        A release of any kind with that sensitive attribute.
    people
        m people. Their quasi-identifying values are read; of the sensitive ones only which there are.
    sensitive
        The attribute to predict.
    answers
        What may be named.
    recoding
        How a generalized table was published.
    generator
        Draws original values for labels, and combines what stands in one bucket.

    Raises
    ------
    PolicyError
        When scikit-learn is not installed.
    InputError
        When cells of the release cannot be read.

    Notes
    -----
    The rows to learn from are five possible tables behind the release: a generalized cell is an original value that it
    may stand for, drawn evenly, and parts of a bucket are combined at random. At most 60 rounds of trees with eight
    leaves on histograms of values. Cost O(60 · a · n · q) for n records.
    """
    boosting = _boosting()
    domains = domains_of(encode(people))
    joint = read_joint(published, domains, recoding)
    names = [name for name in people.schema.quasi_identifying if name in joint.spreads]
    tables = [drawn_records(joint, generator) for _ in range(DRAWS)]
    labels = {name: np.concatenate([table[name] for table in tables]) for name in (*names, sensitive)}
    drawn = {name: joint.spreads[name].draw(labels[name], generator) for name in labels}
    truth = answers.codes(_texts(domains[sensitive], drawn[sensitive]))
    told = truth >= 0
    chances = np.zeros((people.height, answers.size))
    if len(np.unique(truth[told])) < 2:
        chances[:, truth[told][0] if told.any() else 0] = 1.0
        return BoostedTrees(answers, chances)
    model = boosting.HistGradientBoostingClassifier(
        categorical_features=[_is_category(domains[name]) for name in names],
        max_iter=ROUNDS,
        max_leaf_nodes=LEAVES,
        early_stopping=len(truth) >= FEWEST_TO_STOP,
        n_iter_no_change=3,
        random_state=int(generator.integers(0, 1 << 31)),
    )
    train = np.column_stack([_column(domains[name], drawn[name]) for name in names])
    asked = np.column_stack([_column(domains[name], _own(domains[name])) for name in names])
    # More threads wait for each other on a machine that has other work.
    with warnings.catch_warnings(), import_module("threadpoolctl").threadpool_limits(1):
        # Answers that one record has are no mistake here.
        warnings.simplefilter("ignore")
        model.fit(train[told], truth[told])
        chances[:, model.classes_] = model.predict_proba(asked)
    return BoostedTrees(answers, chances)


def needed() -> None:
    """Raise PolicyError if scikit-learn is not installed."""
    _boosting()


def _boosting() -> Any:
    try:
        return import_module("sklearn.ensemble")
    except ImportError:
        raise PolicyError(
            "attribute-inference: gradient boosting needs scikit-learn, which is not installed; install "
            "sfumato[utility], or take naive-bayes"
        ) from None


def _is_category(domain: Domain) -> bool:
    return domain.numbers is None and domain.attribute.size < MOST_CATEGORIES


def _own(domain: Domain) -> NDArray[np.generic]:
    """Return the values of the people: numbers (NaN: missing), or codes."""
    codes = domain.codes.astype(np.int64)
    return codes if domain.numbers is None else np.append(domain.numbers, np.nan)[codes]


def _column(domain: Domain, values: NDArray[np.generic]) -> Floats:
    """Return values as trees take them; NaN if they are missing."""
    found = values.astype(np.float64)
    return np.where(found >= domain.attribute.size, np.nan, found) if domain.numbers is None else found


def _texts(domain: Domain, values: NDArray[np.generic]) -> pl.Series:
    """Return drawn values as they are in an original column."""
    labels = pl.Series([*domain.texts, None], dtype=pl.String)
    missing = len(domain.texts)
    if domain.numbers is None:
        return labels.gather(np.minimum(values.astype(np.int64), missing))
    place_of = {number: place for place, number in enumerate(domain.numbers.tolist())}
    return labels.gather([place_of.get(number, missing) for number in values.astype(np.float64).tolist()])
