"""What writing a folder shares for all releases that are no table of records: ratings, sets, noisy marginals."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from sfumato.release.description import TableFacts
from sfumato.release.formulas import formula_problems
from sfumato.table.writing import PLAIN, Format, write_data


def wrong_types(
    release: object, kind: type, made_by: str, policy: object, policy_kind: type, format: object, formulas: object
) -> list[str]:
    """Name the arguments of a call that writes a folder that are not what they must be.

    made_by : the function of ``sfumato`` that makes such a release.
    """
    problems = []
    if not isinstance(release, kind):
        problems.append(f"release is not a {kind.__name__}; make one with sfumato.{made_by}(...)")
    if policy is not None and not isinstance(policy, policy_kind):
        name = policy_kind.__name__
        problems.append(f"policy is not a {name}; read one with sfumato.{name}.from_file(...)")
    if format not in PLAIN:
        problems.append("format must be 'csv' or 'parquet'")
    return problems + formula_problems(formulas)


def write_tables(folder: Path, tables: Mapping[str, pl.DataFrame], format: Format) -> dict[str, TableFacts]:
    """Write each table to a file of its own, and return what ``release.json`` says of it."""
    facts = {}
    for name, frame in tables.items():
        file = folder / f"{name}.{format}"
        facts[name] = TableFacts(file.name, write_data(frame, file, format), frame.height, tuple(frame.columns))
    return facts
