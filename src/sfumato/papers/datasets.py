"""Public tables: read from a folder, or fetched once from their publisher."""

from __future__ import annotations

import hashlib
import os
from importlib import import_module
from pathlib import Path

import polars as pl

from sfumato.errors import InputError, PolicyError

ADULT = "adult.data"
ADULT_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data"
ADULT_SHA256 = "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary",
)  # fmt: skip
RATINGS_SHA256 = "f5357a61740ebcf47e20ec53456997d048298ba3ef35fdc6060ed6c677728145"

HOW_TO_GET = f"download it from {ADULT_URL} and name its folder with --data or SFUMATO_DATA"


def complete_adult(folder: Path | None, records: int | None = None) -> tuple[pl.DataFrame, str]:
    """Read the first complete records of Adult: those without ``?`` in any of their 15 fields.

    Parameters
    ----------
    folder
        Holds ``adult/adult.data`` or ``adult.data``; None takes ``SFUMATO_DATA``, else fetches it from the publisher.
    records
        None: all 30,162.

    Returns
    -------
    tuple of DataFrame and str
        The records, and a line about where they come from.

    Raises
    ------
    InputError
        When it is not in the folder, cannot be fetched, or is another file.
    PolicyError
        When it has to be fetched and pooch is not installed.
    """
    path = find_file(folder, "adult", ADULT) or _fetched()
    try:
        frame = pl.read_csv(path, has_header=False, new_columns=ADULT_COLUMNS, infer_schema=False)
        frame = frame.with_columns(pl.all().str.strip_chars()).drop_nulls()
        frame = frame.filter(~pl.any_horizontal(pl.all() == "?"))
        frame = frame.with_columns(pl.col("age").cast(pl.Int64))
    except (OSError, pl.exceptions.PolarsError):
        raise InputError(f"{path}: is not the Adult table of 15 columns; {HOW_TO_GET}") from None
    frame = frame if records is None else frame.head(records)
    same = "as published" if _sha256(path) == ADULT_SHA256 else "its bytes differ from the publisher's file"
    return frame, f"Adult (UCI; {same}): {frame.height:,} complete records, the first of the file"


def movie_ratings(folder: Path | None) -> Path | None:
    """Find the ratings of MovieLens ml-latest-small; None if they are not there."""
    found = find_file(folder, "ml-latest-small", "ratings.csv.gz")
    return found or find_file(folder, "ml-latest-small", "ratings.csv")


def find_file(folder: Path | None, inner: str, name: str) -> Path | None:
    """Look for a file in the named folder, or in the one that ``SFUMATO_DATA`` names.

    Raises
    ------
    InputError
        When the named folder does not exist.
    """
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
            f"or {HOW_TO_GET}"
        ) from None
    try:
        fetched = pooch.retrieve(
            ADULT_URL, known_hash=f"sha256:{ADULT_SHA256}", fname=ADULT, path=pooch.os_cache("sfumato")
        )
    except Exception:  # any fault of the network, the disk or the checksum
        raise InputError(f"Adult: it was not found and cannot be fetched; {HOW_TO_GET}") from None
    return Path(fetched)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
