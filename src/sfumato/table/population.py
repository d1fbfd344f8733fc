"""The population of a table: read with the same columns, and compared with the table's records."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sfumato.errors import InputError, SfumatoError, raise_all
from sfumato.table.databases.address import is_database
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.header import columns_of
from sfumato.table.reading import read_table
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table


def read_population(source: object, table: Table, reading: Mapping[str, Any] = MappingProxyType({})) -> Table:
    """Read a table of everybody who might be in `table`, with the same quasi-identifying columns.

    Parameters
    ----------
    source
        A table, or what :func:`sfumato.read_table` reads. Other columns are not loaded.
    table
        The table to publish; its kinds and hierarchies are the population's, too.
    reading
        How a file is read.

    Raises
    ------
    InputError
        With everything that is wrong: columns that are not there, values of another kind.
    """
    attributes = {
        name: Attribute(kind=table.kinds[name], hierarchy=attribute.hierarchy)
        for name, attribute in table.schema.quasi_identifying.items()
    }
    try:
        if isinstance(source, Table):
            missing = [name for name in attributes if name not in source.frame.columns]
            raise_all(InputError, [f"column {name!r} is not in it; give it a role" for name in missing])
            source = columns_of(source.frame, list(attributes))
        refuse_unending(source)
        return read_table(source, Schema(quasi_identifying=attributes, others="drop"), **reading)
    except SfumatoError as error:
        raise population_problems(error) from None


def refuse_unending(source: object) -> None:
    """Raise InputError for a path that is a device, a pipe or a socket: these may never end."""
    if not isinstance(source, (str, os.PathLike)) or is_database(source):
        return
    try:
        mode = os.stat(source).st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError("it is a pipe, a device or a socket; save its content to a file, and name that")


class PopulationError(InputError):
    """Something is wrong with the table of a population."""


def population_problems(error: SfumatoError) -> PopulationError:
    """Name the population in the problems of an error."""
    return PopulationError(*(f"population: {problem}" for problem in error.problems))


def value_keys(attribute: EncodedAttribute) -> list[Any]:
    """Return what the values of a code are compared by: numbers may be written in several ways."""
    labels = attribute.labels.to_list()
    return [float(label) for label in labels] if attribute.kind is Kind.NUMERIC else labels
