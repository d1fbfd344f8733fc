"""Find one person: the published records that fit what somebody knows of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import InputError
from sfumato.evaluation.attacks.fitting import fitting_records
from sfumato.published import PublishedTable
from sfumato.recoding import Recoding
from sfumato.release.opening import open_release
from sfumato.release.release import Release
from sfumato.table.schema import Schema


def fits(
    release: Release | PublishedTable | str | Path,
    record: Mapping[str, Any] | pl.DataFrame,
    schema: Schema | None = None,
    *,
    recoding: Recoding | None = None,
) -> pl.DataFrame:
    """Return the published records that fit one record: what somebody finds who looks for that person.

    A published record fits when its value of every quasi-identifying attribute that `record` names covers the value
    there. An empty value says nothing. Original and published records are never matched one to one; this is what is
    left of such a match.

    Parameters
    ----------
    release
        A release of a generalized table, its folder, or the published table.
    record
        Original values: a mapping from names of columns, or a frame of one row. Other columns are not looked at.
    schema
        Kinds and hierarchies, as the release was made with. None takes the roles of the release, and no hierarchies:
        then a value that was published as a node of a hierarchy fits only ``*`` and itself.
    recoding
        How the table was published; None takes what a release says, else the defaults.

    Returns
    -------
    polars.DataFrame
        The rows that fit, in the order of the release, which is random.

    Raises
    ------
    InputError
        When the release is no generalized table, or `record` is not one row, shares no quasi-identifying attribute with
        the release, or has a value of another kind.

    Notes
    -----
    Cost O(n · q) for n published records.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [30, 31, 40, 41], "disease": ["flu", "cold", "flu", "cough"]})
    >>> schema = sf.Schema(quasi_identifying=["age"], sensitive=["disease"])
    >>> release = sf.anonymize(sf.read_table(people, schema), sf.KAnonymity(2))
    >>> sorted(sf.fits(release, {"age": 31})["disease"])
    ['cold', 'flu']
    """
    published, said = _opened(release)
    known = record if isinstance(record, pl.DataFrame) else _row(record)
    roles = schema or Schema(quasi_identifying=published.quasi_identifying, sensitive=published.sensitive)
    return fitting_records(published.data, known, roles, recoding=recoding or said)


def _opened(release: object) -> tuple[PublishedTable, Recoding]:
    opened = open_release(release)
    if not isinstance(opened.published, PublishedTable):
        raise InputError(f"a {opened.published.kind} has no records whose values cover those of a person")
    return opened.published, opened.policy.recoding()


def _row(record: Mapping[str, Any]) -> pl.DataFrame:
    if not all(value is None or isinstance(value, (str, int, float, date)) for value in record.values()):
        raise InputError("record: give one plain value for each column")
    return pl.DataFrame({name: [value] for name, value in record.items()})
