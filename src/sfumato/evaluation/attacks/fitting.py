"""The published records that fit one person: the result of linking them."""

from __future__ import annotations

import numpy as np
import polars as pl

from sfumato.errors import InputError
from sfumato.evaluation.attacks.publication import read_publication
from sfumato.evaluation.attacks.register import read_register, shared_attributes
from sfumato.kernels.linking.linkage import Coverage, covering_classes
from sfumato.recoding.choice import Recoding
from sfumato.table.schema import Schema


def fitting_records(
    published: pl.DataFrame, person: pl.DataFrame, schema: Schema, *, recoding: Recoding | None = None
) -> pl.DataFrame:
    """Return the published records that fit one person of a register.

    Parameters
    ----------
    published
        What was published.
    person
        One row of the register.
    schema, recoding
        As for :func:`sfumato.evaluation.attacks.linkage.linking_attack`, whose rules apply here, too.

    Returns
    -------
    polars.DataFrame
        Rows of `published`, in their order.

    Raises
    ------
    InputError
        When `person` is not one row, shares no attribute with `published`, or has a value of another kind.

    Notes
    -----
    Cost O(n · q).
    """
    shared = shared_attributes(published, person, schema)
    if person.height != 1 or not shared:
        raise InputError("person: give one row that shares a quasi-identifying column with the published table")
    known = read_register(person, schema, shared)
    publication = read_publication(published, shared[0], known, recoding or Recoding())
    rows = np.cumsum([0, *(each.attribute.size + 1 for each in known)]).astype(np.int64)
    shifts = np.zeros(len(known), dtype=np.int64)
    labels = publication.label_of, publication.runs, publication.low, publication.high
    table = covering_classes(Coverage(*labels, rows, shifts))
    told = [int(row + each.codes[0]) for row, each in zip(rows, known, strict=False) if each.codes[0] >= 0]
    fitting = np.bitwise_and.reduce(table[told], axis=0)
    fits = np.unpackbits(fitting.view(np.uint8), bitorder="little")[publication.class_of]
    return published.filter(pl.Series(fits.astype(np.bool_)))
