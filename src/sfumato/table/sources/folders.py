"""Folders of files."""

from __future__ import annotations

from sfumato.errors import InputError
from sfumato.table.sources.protocol import Family, Given, TableSource


def _refuse(given: Given) -> TableSource:
    raise InputError("this is a folder; give the path of a CSV or Parquet file")


FAMILY = Family(recognizes=lambda given: given.path is not None and given.path.is_dir(), open=_refuse)
