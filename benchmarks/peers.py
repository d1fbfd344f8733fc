"""The other packages, behind the calls that are compared. They are imported at use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.results import SkippedJob

if TYPE_CHECKING:
    import pandas as pd

Classes = NDArray[np.int32]
"""Class of each record."""


def prepare_anonypy(frame: pl.DataFrame, k: int) -> Callable[[], Sequence[Any]]:
    """Return the call that has anonypy partition a table, its text columns being categories as it asks for."""
    try:
        from anonypy.mondrian import Mondrian
    except ImportError:
        raise SkippedJob("the package anonypy is not installed; install the extra 'bench'") from None
    data = to_pandas(frame)
    texts = [name for name in frame.columns if frame[name].dtype == pl.String]
    data[texts] = data[texts].astype("category")
    partition = Mondrian(data, list(frame.columns)).partition
    return lambda: partition(k=k)


def classes_of(parts: Sequence[Any], height: int) -> Classes:
    """Turn a list of record numbers per class into the class of each record."""
    class_of = np.full(height, -1, dtype=np.int32)
    for number, part in enumerate(parts):
        class_of[np.asarray(part)] = number
    return class_of


def check_with_pycanon(data: pd.DataFrame, quasi_identifying: Sequence[str], sensitive: str) -> dict[str, float]:
    """Return k, distinct l and t as pycanon finds them."""
    try:
        from pycanon import anonymity
    except ImportError:
        raise SkippedJob("the package pycanon is not installed; install the extra 'bench'") from None
    names = list(quasi_identifying)
    return {
        "k": float(anonymity.k_anonymity(data, names)),
        "l": float(anonymity.l_diversity(data, names, [sensitive])),
        "t": float(anonymity.t_closeness(data, names, [sensitive])),
    }


def to_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """Convert to pandas, text as pandas' own text type."""
    try:
        return frame.to_pandas()
    except ModuleNotFoundError:
        raise SkippedJob("the package pandas is not installed; install the extra 'bench'") from None
