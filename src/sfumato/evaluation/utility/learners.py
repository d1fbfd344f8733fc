"""Classifiers of scikit-learn, an optional dependency."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.evaluation.utility.domains import Floats

Learner = Literal["decision-tree", "naive-bayes", "logistic-regression"]
LEARNERS: tuple[Learner, ...] = get_args(Learner)

SMALLEST_LEAF = 5
ITERATIONS = 200

Classes = NDArray[np.int64]


def predictions(learner: Learner, train: Floats, classes: Classes, test: Floats, seed: int | None) -> Classes:
    """Train on some records and predict the classes of others.

    Parameters
    ----------
    learner
        ``"decision-tree"``: CART with at least 5 records in a leaf. ``"naive-bayes"``: categories with shares as
        counts. ``"logistic-regression"``: on standardized columns.
    train, test
        float64, one row per record, the same columns.
    classes
        Class of each training record.
    seed
        For the tree's ties; None draws from the operating system.

    Raises
    ------
    PolicyError
        When scikit-learn is not installed.
    """
    needed()
    if len(np.unique(classes)) < 2:
        # Some classifiers refuse targets that need no learning.
        return np.full(len(test), classes[0])
    with warnings.catch_warnings():
        # A model that has not converged after this many rounds will not predict better.
        warnings.simplefilter("ignore")
        model = _MADE[learner](seed)
        found: Classes = model.fit(train, classes).predict(test)
    return found


def needed() -> None:
    """Raise PolicyError if scikit-learn is not installed."""
    try:
        import_module("sklearn")
    except ImportError:
        raise PolicyError(
            "classifiers need scikit-learn, which is not installed; install sfumato[utility], or leave classifiers out"
        ) from None


def _tree(seed: int | None) -> Any:
    return import_module("sklearn.tree").DecisionTreeClassifier(min_samples_leaf=SMALLEST_LEAF, random_state=seed)


def _bayes(seed: int | None) -> Any:
    # Shares of each attribute sum to one, so that a multinomial over all of them is a product over attributes.
    return import_module("sklearn.naive_bayes").MultinomialNB()


def _regression(seed: int | None) -> Any:
    scale = import_module("sklearn.preprocessing").StandardScaler()
    regression = import_module("sklearn.linear_model").LogisticRegression(max_iter=ITERATIONS)
    return import_module("sklearn.pipeline").make_pipeline(scale, regression)


_MADE: dict[Learner, Callable[[int | None], Any]] = {
    "decision-tree": _tree,
    "naive-bayes": _bayes,
    "logistic-regression": _regression,
}
