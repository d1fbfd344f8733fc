"""An estimator for scikit-learn's pipelines: what is trained behind it sees a release, never the original."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Anonymizer as Algorithm
from sfumato.errors import PolicyError
from sfumato.models import KAnonymity
from sfumato.models.protocol import PrivacyModel
from sfumato.recoding import Recoding
from sfumato.release.anonymize import released, solved_task
from sfumato.release.recipient import open_release
from sfumato.release.task import Arguments, Task
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise ImportError("scikit-learn is not installed; install it with: pip install 'sfumato[utility]'") from None

_TARGET = "y"


class Anonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Publish the training records, and hand what is published to the next step.

    Every column is quasi-identifying. ``fit_transform`` makes a release, verified as any other, and returns its cells
    in the order of the records: the middle of each range of numbers, and of each set of categories one value that is
    drawn from it.

    Parameters
    ----------
    models
        What the release promises; None is ``KAnonymity(5)``.
    anonymizer, recoding
        As for :func:`sfumato.anonymize`; one that publishes classes of records.
    sensitive_target
        Whether `y` is the sensitive column that the models speak of.
    seed
        Makes the release repeatable; None draws from the operating system.

    Attributes
    ----------
    release_ : Release
        What was published. Its promises hold for this one table.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    *Guarantee.* That of ``release_``, for the records it was fitted on, and for what is worked out from them and from
    nothing else. `y` is published beside the cells, whether it is sensitive or not. ``transform`` returns records as
    they are: people to be predicted are in no release, and nothing is promised to them.
    """

    def __init__(
        self,
        models: PrivacyModel | Sequence[PrivacyModel] | None = None,
        *,
        anonymizer: Algorithm | None = None,
        recoding: Recoding | None = None,
        sensitive_target: bool = False,
        seed: int | None = None,
    ) -> None:
        self.models = models
        self.anonymizer = anonymizer
        self.recoding = recoding
        self.sensitive_target = sensitive_target
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Anonymizer:
        """Make the release.

        Parameters
        ----------
        X
            Records: an array or a frame, a column for each attribute, numbers or texts.
        y
            The target; needed where it is sensitive.

        Raises
        ------
        SfumatoError
            What :func:`sfumato.anonymize` raises.
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Make the release, and return its cells in the order of the records.

        Returns
        -------
        numpy.ndarray
            (n, q), float64 where all columns are numbers, else objects; a cell that says nothing is NaN, or None.

        Raises
        ------
        SfumatoError
            What :func:`sfumato.anonymize` raises.
        """
        records = self._records(X, reset=True)
        frame = _frame(records)
        names, secret = frame.columns, []
        if self.sensitive_target:
            if y is None:
                raise PolicyError("sensitive_target: needs y")
            frame, secret = frame.with_columns(pl.Series(_TARGET, np.asarray(y))), [_TARGET]
        table = read_table(frame, Schema(quasi_identifying=names, sensitive=secret))
        models = KAnonymity(5) if self.models is None else self.models
        task = Task(table, Arguments(models, self.anonymizer, self.recoding).policy(table, self.seed), seed=self.seed)
        way = task.anonymizer
        if not isinstance(way, Algorithm):
            raise PolicyError(f"anonymizer: {way.name} publishes no classes of records; take one that does")
        solved = solved_task(task, way)
        self.release_ = released(solved, way)
        opened = open_release(self.release_)
        middle, drawn = (opened.to_polars(cells=cells, seed=self.seed) for cells in ("midpoint", "drawn"))
        cells = [(middle if opened.columns[name].is_number else drawn)[name] for name in names]
        made = pl.DataFrame(cells)[np.argsort(solved.order)]
        return made.to_numpy().astype(np.float64 if _is_numeric(records) else object)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return records as they are, in the form of those that were published; nothing is promised to them."""
        check_is_fitted(self, "release_")
        return self._records(X, reset=False)

    def _records(self, given: Any, *, reset: bool) -> NDArray[Any]:
        found: NDArray[Any] = validate_data(
            self, given, reset=reset, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=2 if reset else 1
        )
        return found.astype(np.float64) if _is_numeric(found) else found

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what records may hold."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.non_deterministic = self.seed is None
        tags.target_tags.required = self.sensitive_target
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns, which are those of the records."""
        check_is_fitted(self, "release_")
        names = getattr(self, "feature_names_in_", None)
        found = [f"x{place}" for place in range(self.n_features_in_)] if names is None else names
        return np.asarray(found if input_features is None else input_features, dtype=object)


def _is_numeric(records: NDArray[Any]) -> bool:
    return records.dtype.kind in "biuf"


def _frame(records: NDArray[Any]) -> pl.DataFrame:
    """Return records as a frame; a column of objects has numbers if all of them are, else texts."""
    columns = []
    for place, column in enumerate(records.T):
        name, values = f"x{place}", [None if value != value else value for value in column.tolist()]
        numeric = all(value is None or isinstance(value, (int, float)) for value in values)
        columns.append(
            pl.Series(name, values, dtype=pl.Float64)
            if numeric
            else pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)
        )
    return pl.DataFrame(columns)
