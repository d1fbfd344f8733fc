"""Measuring what an existing published table lost, compared with its original."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from sfumato.classes.partition import GeneralizedTable
from sfumato.classes.statistics import SensitiveCounts, class_statistics
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.inputs import generalized_file, generalized_table, private_part
from sfumato.metrics import Losses, measure_losses
from sfumato.models.protocol import smallest_allowed
from sfumato.published.checks.generalized import read_published
from sfumato.recoding import Recoding
from sfumato.recoding.parsing import generalize_published
from sfumato.release.agreement import PublishedPolicy
from sfumato.release.description import LONGEST_NAME, Description, build_model
from sfumato.release.release import Release
from sfumato.release.transaction import no_release
from sfumato.release.verify import open_folder, read_release, refuse_swapped
from sfumato.table.databases.address import is_database
from sfumato.table.encoding import encode
from sfumato.table.reading import read_with
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table


def measure(
    table: Any,
    published: Release | str | Path | pl.DataFrame,
    *,
    schema: Schema | None = None,
    recoding: Recoding | None = None,
    k: int | None = None,
    label: str | None = None,
) -> Losses:
    """Measure every information loss of a published table.

    Parameters
    ----------
    table
        The original, with the hierarchies and domains that the losses refer to.
    published
        A release, a release folder, a CSV or Parquet file in the notation of releases, or a frame.
    schema
        The roles of the columns, where `table` is a file or a frame that was not read yet.
    recoding
        How it was published; None reads it from a release folder's policy, else takes the defaults.
    k
        The class size that DM and C_avg refer to; None takes the release's k, else 1.
    label
        The published column, sensitive or insensitive, that somebody wants to predict: the classification metric CM
        refers to it. None: no CM.

    Returns
    -------
    Losses
        Records that are missing from the published table count as suppressed. The squared error is left out: published
        rows are shuffled, so nobody knows which record they come from.

    Raises
    ------
    InputError
        When the two do not fit together: different columns, unreadable labels, more records than the original.
    SchemaError
        When there is no such column to predict.
    """
    if k is not None and (not isinstance(k, int) or k < 1):
        raise PolicyError("k: must be a whole number, 1 or above")
    refuse_swapped(table, "measure(original, release)")
    table = read_with(table, schema)
    data, known_recoding, known_k = _opened(published)
    encoded = encode(table)
    predicted = {} if label is None else {label: Attribute(kind=Kind.CATEGORICAL)}
    read = read_published(data, [attribute.name for attribute in encoded.attributes], predicted)
    frame = read.frame
    if frame.height > table.height:
        raise InputError(
            f"the published table has {frame.height} records and the original {table.height}; name the table that the "
            "release was made from"
        )
    generalized = generalize_published(frame, encoded, recoding or known_recoding)
    return measure_losses(generalized, k or known_k, labels=_labels(read, generalized))


def _labels(read: Table, generalized: GeneralizedTable) -> SensitiveCounts | None:
    """Count what is to be predicted in every class; None if nothing is."""
    if not read.schema.sensitive:
        return None
    encoded = encode(private_part(read), order="name")
    class_of, count = generalized.class_of[: read.height], len(generalized.sizes)
    return class_statistics(class_of, count, encoded.codes, encoded.attributes).sensitive[encoded.attributes[0].name]


def _opened(published: Release | str | Path | pl.DataFrame) -> tuple[pl.DataFrame | str, Recoding | None, int]:
    if isinstance(published, pl.DataFrame):
        return published, None, 1
    if isinstance(published, Release):
        return (
            generalized_table(published).data,
            PublishedPolicy(published.policy).recoding(),
            _promised_k(published.description),
        )
    if is_database(published):
        opened = read_release(published)
        assert opened.description is not None
        return generalized_table(opened).data, opened.policy.recoding(), _promised_k(opened.description)
    if not isinstance(published, (str, Path)):
        raise InputError("published: is neither a release, a frame nor the name of a folder or file")
    path = Path(published)
    if len(path.name) > LONGEST_NAME or "\0" in str(path):
        raise InputError("the name of the release folder is not a valid folder name")
    if path.is_file():
        return str(path), None, 1
    if problem := no_release(path):
        raise InputError(f"{problem}; name a release or a published file")
    folder = open_folder(path)
    return str(generalized_file(folder)), folder.policy.recoding(), _promised_k(folder.description)


def _promised_k(description: Description) -> int:
    return smallest_allowed([model for entry in description.models if (model := build_model(entry)) is not None])
