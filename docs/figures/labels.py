"""What labels tell of their members: lines of ``several_seeds.py`` for the page on declared labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import which_method
from drawn import Figures, Line, complete
from ends import SEVEN

import sfumato as sf

TABLES = ("Diabetes", "Poland", "Motor", "Bank", "Credit", "Students")
WAYS: Mapping[str, Any] = {"Mondrian": sf.Mondrian(), "k-member": sf.KMember()}


def labels(records: int) -> Iterator[Line]:
    """Yield how often one predicate for each class isolates one person, with least and with declared labels."""
    data = Path(os.environ["SFUMATO_DATA"])
    files = {name: data / f"adult/hierarchies/adult_hierarchy_{name}.csv" for name in SEVEN[1:]}
    read = {name: sf.read_hierarchy(path) for name, path in files.items()}
    yield from _lines("Adult, ARX's hierarchies", complete(SEVEN), read, records)
    yield from _lines("Adult, flat", complete(SEVEN), {}, records)
    for name in TABLES:
        which_method.RECORDS = 2 * records
        frame = which_method.SOURCES[name].table(data).frame
        yield from _lines(name, frame.select(which_method.SOURCES[name].quasi).drop_nulls(), {}, records)


def _lines(name: str, frame: pl.DataFrame, hierarchies: Mapping[str, Any], records: int) -> Iterator[Line]:
    """Yield lines of a table; a category without a hierarchy has a flat one, but with sets none."""
    texts = (column for column, dtype in frame.schema.items() if not (dtype.is_numeric() or dtype.is_temporal()))
    flat = {column: sf.flat() for column in texts}
    forms = {"sets": dict.fromkeys(flat), "least": flat | dict(hierarchies), "declared": flat | dict(hierarchies)}
    for (way, anonymizer), size, (form, known) in product(WAYS.items(), (5, 10), forms.items()):
        quasi = dict.fromkeys(frame.columns) | known
        recoding = sf.Recoding(labels="declared" if form == "declared" else "least")
        number = min(records, frame.height // 2)
        yield f"{name}, {way}, k = {size}, {form}", _isolated(frame, quasi, number, size, anonymizer, recoding)


def _isolated(
    frame: pl.DataFrame, quasi: Mapping[str, Any], records: int, size: int, anonymizer: Any, recoding: sf.Recoding
) -> Callable[[int], Figures]:
    schema = sf.Schema(quasi_identifying=quasi)

    def measured(seed: int) -> Figures:
        mixed = frame.sample(fraction=1.0, seed=seed, shuffle=True)
        table, others = (sf.read_table(part, schema) for part in (mixed[:records], mixed[records : 2 * records]))
        release = sf.anonymize(table, sf.KAnonymity(size), anonymizer=anonymizer, recoding=recoding, seed=seed)
        (found,) = sf.attack(release, table, control=others, attacks="singling-out", seed=seed).results
        assert found.curve is not None
        assert found.control is not None
        return {
            "loss": release.report.losses.normalized_ncp,
            "isolated": found.success.share,
            "if labels told nothing": found.figures["if_labels_told_nothing"],
            "surest tenth": found.curve.looks[2].inside.share,
            "of others": found.control.share,
        }

    return measured
