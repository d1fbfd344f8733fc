"""What measures take beside an original: a generalized table, sampling weights, and people to hold out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, VerificationError, raise_all
from sfumato.published import PublishedTable
from sfumato.published.protocol import structure_names
from sfumato.randomness import permutation, seed_problems
from sfumato.release.description import Description
from sfumato.release.release import Release
from sfumato.release.table_files import refuse_too_large
from sfumato.release.verify import OpenedRelease, ReleaseFolder
from sfumato.table.distinct import distinct_of
from sfumato.table.reading import read_with
from sfumato.table.row_order import settled_order
from sfumato.table.schema import Schema
from sfumato.table.table import Table


def generalized_table(release: Release | OpenedRelease) -> PublishedTable:
    """Return the table of a release, or raise InputError when it is of another kind."""
    if not isinstance(release.published, PublishedTable):
        raise InputError(_refusal(release.published.kind))
    return release.published


def generalized_file(folder: ReleaseFolder) -> Path:
    """Return the data file or folder of parts of a release; InputError for other kinds, or parts beyond memory."""
    if folder.description.kind != PublishedTable.kind:
        raise InputError(f"{folder.path}: {_refusal(folder.description.kind)}")
    if "data" not in folder.files:
        raise VerificationError("release.json: is damaged; it names no data file")
    refuse_too_large(folder.path, folder.files["data"])
    return folder.path / folder.files["data"].file


def quasi_identifying_of(description: Description) -> tuple[str, ...]:
    """Return the quasi-identifying columns of a generalized table, or raise VerificationError."""
    try:
        return structure_names(description.structure, "quasi_identifying")
    except ValueError:
        raise VerificationError("release.json: is damaged; it names no quasi-identifying columns") from None


def _refusal(kind: str) -> str:
    cure = "sfumato measure --what utility, and sfumato attack, take any kind"
    return f"the release is of kind {kind}; this needs a generalized table, with its equivalence classes; {cure}"


def private_part(table: Table) -> Table:
    """Return the sensitive columns alone, as columns to encode."""
    # One by one: polars takes a name like `*` for a pattern when it selects.
    columns = pl.DataFrame([table.frame.get_column(name) for name in table.schema.sensitive])
    kinds = {name: table.kinds[name] for name in table.schema.sensitive}
    return Table(columns, Schema(quasi_identifying=table.schema.sensitive), kinds, table.source)


def hold_out(
    table: Any, share: float = 1 / 3, *, schema: Schema | None = None, seed: int | None = None
) -> tuple[Table, Table]:
    """Split a table into records to publish and records to test on.

    People are held out whole: all records of a person are on one side. The split is stratified: as far as whole people
    allow, each value of the first sensitive attribute has the same share. Of people with several values, the most
    frequent one counts.

    Parameters
    ----------
    table
        The original.
    share
        Share of the people to hold out, above 0 and below 1; of the records, where each is another person.
    schema
        The roles of the columns, where `table` is a file or a frame that was not read yet.
    seed
        None draws from the operating system.

    Returns
    -------
    tuple of Table
        The records to anonymize, and those held out, both in the order of the table.

    Raises
    ------
    PolicyError
        When the share is invalid.
    InputError
        When one of the two would have no people.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> frame = pl.DataFrame({"age": range(30), "illness": ["flu", "cold", "gout"] * 10})
    >>> table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["illness"]))
    >>> sf.hold_out(table, seed=1)
    (Table('table', 20 records, 2 columns), Table('table', 10 records, 2 columns))
    """
    is_share = isinstance(share, (int, float)) and not isinstance(share, bool) and 0 < share < 1
    raise_all(PolicyError, [*([] if is_share else ["share: must be above 0 and below 1"]), *seed_problems(seed)])
    table = read_with(table, schema)
    # Whom a seed draws shall not depend on where records stand.
    rows = settled_order(table.frame, table.people)
    person_of = table.take(rows).person_of
    count = int(person_of.max()) + 1
    order = permutation(count, seed)
    if table.schema.sensitive:
        distinct = distinct_of(table.frame[next(iter(table.schema.sensitive))][rows])
        usual = _most_frequent(person_of, distinct.rank_of[distinct.raw], count)
        # Sorted by value, each value's people in random order: every stretch then holds each value in its proportion.
        order = order[np.argsort(usual[order], kind="stable")]
    places = np.arange(1, count + 1) * share + 1e-9
    kept = np.zeros(count, dtype=np.bool_)
    kept[order] = np.floor(places) > np.floor(places - share)
    if kept.all() or not kept.any():
        what = "records" if table.people is None else "people"
        raise InputError(f"hold out: the table has too few {what} for this share; choose another")
    parts = (rows[~kept[person_of]], rows[kept[person_of]])
    published, held = (table.take(np.sort(part)) for part in parts)
    return published, held


def _most_frequent(owner: NDArray[np.integer], codes: NDArray[np.integer], count: int) -> NDArray[np.int64]:
    """Return the code that most entries of each owner have, the lowest of equals; int64 (count,)."""
    # owner : integers (n,), 0 .. count-1, each at least once. codes : integers (n,), 0 or above.
    width = int(codes.max()) + 1
    cells, held = np.unique(owner.astype(np.int64) * width + codes, return_counts=True)
    first = np.lexsort((cells, -held, cells // width))
    _, starts = np.unique(cells[first] // width, return_index=True)
    found: NDArray[np.int64] = cells[first][starts] % width
    return found
