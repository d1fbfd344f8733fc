"""Public tables, read from a folder or fetched once from their publisher, and hierarchies for Adult."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import polars as pl

from sfumato.errors import InputError, PolicyError
from sfumato.hierarchy import HierarchySpecification, groups
from sfumato.table.schema import Attribute, Kind

ADULT = "adult.data"
_ADULT_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data"
_ADULT_SHA256 = "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
_ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary",
)  # fmt: skip

_HOW_TO_GET = f"download it from {_ADULT_URL} and name its folder with --data or SFUMATO_DATA"


def complete_adult(folder: Path | None, records: int | None = None) -> tuple[pl.DataFrame, str]:
    """Read the first complete records of Adult, without ``?``, and where they come from: a folder, or the publisher."""
    path = _find_file(folder, "adult", ADULT) or _fetched()
    try:
        frame = pl.read_csv(path, has_header=False, new_columns=_ADULT_COLUMNS, infer_schema=False)
        frame = frame.with_columns(pl.all().str.strip_chars()).drop_nulls()
        frame = frame.filter(~pl.any_horizontal(pl.all() == "?"))
        frame = frame.with_columns(pl.col("age").cast(pl.Int64))
    except (OSError, pl.exceptions.PolarsError):
        raise InputError(f"{path}: is not the Adult table of 15 columns; {_HOW_TO_GET}") from None
    frame = frame if records is None else frame.head(records)
    same = "as published" if _sha256(path) == _ADULT_SHA256 else "its bytes differ from the publisher's file"
    return frame, f"Adult (UCI; {same}): {frame.height:,} complete records, the first of the file"


def movie_ratings(folder: Path | None) -> Path | None:
    """Find the ratings of MovieLens ml-latest-small; None if they are not there."""
    found = _find_file(folder, "ml-latest-small", "ratings.csv.gz")
    return found or _find_file(folder, "ml-latest-small", "ratings.csv")


def _find_file(folder: Path | None, inner: str, name: str) -> Path | None:
    """Look for a file in the named folder, which must exist (``InputError``), or that of ``SFUMATO_DATA``."""
    named = folder or (Path(os.environ["SFUMATO_DATA"]) if os.environ.get("SFUMATO_DATA") else None)
    if named is None:
        return None
    if not named.is_dir():
        raise InputError(f"{named}: there is no such folder of data; check the path")
    return next((path for path in (named / inner / name, named / name) if path.is_file()), None)


def _fetched() -> Path:
    try:
        pooch = import_module("pooch")
    except ImportError:
        raise PolicyError(
            f"Adult: pooch, which fetches it, is not installed; install it with: pip install 'sfumato[report]', "
            f"or {_HOW_TO_GET}"
        ) from None
    try:
        fetched = pooch.retrieve(
            _ADULT_URL, known_hash=f"sha256:{_ADULT_SHA256}", fname=ADULT, path=pooch.os_cache("sfumato")
        )
    except Exception:  # any fault of the network, the disk or the checksum
        raise InputError(f"Adult: it was not found and cannot be fetched; {_HOW_TO_GET}") from None
    return Path(fetched)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


_TREES: Mapping[str, HierarchySpecification] = {
    name: groups(members)
    for name, members in tomllib.loads(Path(__file__).with_name("adult.toml").read_text(encoding="utf-8")).items()
}

EIGHT = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
"""Quasi-identifying attributes, in the order in which experiments add them."""


def adult_attributes(names: tuple[str, ...]) -> dict[str, Attribute]:
    """Describe attributes of Adult: age as a number, the others with their hierarchies."""
    return {
        name: Attribute(kind=Kind.CATEGORICAL, hierarchy=_TREES[name])
        if name in _TREES
        else Attribute(kind=Kind.NUMERIC)
        for name in names
    }
