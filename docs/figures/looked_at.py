"""Which columns of real tables are asked about? ``SFUMATO_DATA=... python docs/figures/looked_at.py`` lists them.

Every CSV file below that folder is read as if all its columns but one were kept without a role.
"""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path

import polars as pl

import sfumato as sf
from sfumato.table.identification import look_at

LEFT_OUT = ("hierarch", "dictionary", "mapping")


def table_of(path: Path) -> sf.Table:
    """Read a table; the last column has a role, as one must."""
    with gzip.open(path, "rt", errors="replace") if path.suffix == ".gz" else path.open(errors="replace") as file:
        first = file.readline().strip()
    separator = max(";,\t", key=first.count)
    header = path.suffix != ".data"
    names = [name.strip().strip('"') for name in first.split(separator)]
    columns = None if header else [f"c{place}" for place in range(len(names))]
    last = (columns or names)[-1]
    schema = sf.Schema(quasi_identifying={last: sf.Attribute(kind="categorical")}, others="keep")
    return sf.read_table(
        path, schema, reading=sf.Reading(separator, header=header, columns=columns, missing=("NA", "?"))
    )


def million() -> float:
    """Return the seconds that looking at a million distinct texts takes."""
    texts = pl.Series("code", [f"{number:09d}" for number in range(1_000_000)]).cast(pl.Categorical)
    start = time.perf_counter()
    look_at(texts)
    return time.perf_counter() - start


if __name__ == "__main__":
    data = Path(os.environ["SFUMATO_DATA"])
    files = [*sorted(data.rglob("*.csv*")), data / "adult" / "adult.data"]
    columns = asked = amounts = tables = 0
    for file in (file for file in files if not any(word in str(file) for word in LEFT_OUT)):
        table = table_of(file)
        tables += 1
        columns += len(table.passing) + 1
        for name in table.frame.columns:
            if (found := table.look(name)).sorts:
                asked += 1
                amounts += found.by_value is found.by_name is None
                print(f"{file.name:24} {name:18} {found.sentence()}")
    print(f"{tables} tables, {columns} columns, {asked} asked about, {amounts} by the number of their values alone")
    print(f"a million distinct texts: {million():.2f} s")
