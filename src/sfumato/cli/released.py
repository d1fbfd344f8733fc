"""The release that a command is about: a folder, or a schema of a database."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError, SfumatoError

if TYPE_CHECKING:
    from sfumato.cli.words import Words
    from sfumato.table.table import Table


# Reading the population of a release.


def original_people(release: str, population: Path | str, policy: Path | None, words: Words | None = None) -> Table:
    """Read a population of original values by the policy that made a release, or by the release's own."""
    if os.path.isdir(release) and (reads := _reader_of_kind(Path(release))):
        people: Table = reads(policy or Path(release) / "policy.toml", population)
        return people
    from sfumato.cli.words import Words, policy_of
    from sfumato.table.reading import population_problems, read_table

    said, file = words or Words(), policy_file(release, policy)
    meant = policy_of(Words(policy=file, hierarchies=said.hierarchies, settings=said.settings))
    try:
        return read_table(population, meant.without_sensitive().beside(population))
    except SfumatoError as error:
        raise population_problems(error) from None


def _reader_of_kind(folder: Path) -> Any:
    """Return what reads a population for a kind that is no table of records, None where it knows none."""
    from sfumato.registry import OWN_KINDS, loaded
    from sfumato.release.description import own_kind
    from sfumato.release.verify import mark_of

    kind = own_kind(mark_of(folder))
    reads = "" if kind is None else OWN_KINDS[kind].population
    return loaded(reads) if reads else None


def is_release(target: str) -> bool:
    """Tell a release from a table: a folder, or the URL of a database that names a schema and no table."""
    from sfumato.table.databases.address import names_release

    return os.path.isdir(target) or names_release(target)


def release_problem(release: str) -> str | None:
    """Say why no release can be there, or return None; a database is asked when the release is read."""
    from sfumato.release.transaction import no_release
    from sfumato.table.databases.address import is_database

    return None if is_database(release) else no_release(Path(release))


def policy_file(release: str, named: Path | None) -> Path:
    """Return the policy that says how to read the original: the one that is named, or the release's own.

    It is named for a release in a database, which has no file, and there is none for what is no table of records.
    """
    from sfumato.release.description import refuse_own_kind
    from sfumato.release.verify import mark_of
    from sfumato.table.databases.address import is_database

    if problem := release_problem(release):
        raise InputError(problem)
    if named is None and is_database(release):
        raise InputError("--policy: of a release in a database, name the policy that made it")
    if not is_database(release):
        refuse_own_kind(mark_of(Path(release)))
    return named or Path(release) / "policy.toml"
