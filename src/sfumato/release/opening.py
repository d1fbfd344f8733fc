"""Opening a release: the one way from where it lies, or from what a program holds, to what it says and shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.errors import InputError
from sfumato.models.checks import Check
from sfumato.published import Published
from sfumato.release.description import Description, TableFacts, read_description
from sfumato.release.folder import MARK, no_release
from sfumato.release.policy_text import PublishedPolicy
from sfumato.release.release import Release
from sfumato.release.stored import stored_release
from sfumato.release.table_files import read_published_files
from sfumato.table.databases.address import is_database
from sfumato.whole_files import read_regular_text


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseFolder:
    """What a folder says about itself; its tables are read when they are asked for."""

    path: Path
    description: Description
    files: Mapping[str, TableFacts]  # what ``release.json`` says of the file of each table
    policy: PublishedPolicy

    def read(self) -> tuple[Published, tuple[Check, ...]]:
        """Read every table; tell of each file whether it is the one that was written.

        Raises ``VerificationError`` when a file is missing, or the tables contradict each other or the structure.
        Raises ``SfumatoError`` when a file cannot be read as a table.
        """
        return read_published_files(self.path, self.description, self.files)


@dataclass(frozen=True, eq=False, repr=False)
class OpenedRelease:
    """Published tables, and what the release says of how they came about."""

    published: Published
    description: Description | None = None  # None where somebody handed in nothing but tables
    policy: PublishedPolicy = field(default_factory=PublishedPolicy)
    files: Mapping[str, TableFacts] = field(default_factory=dict)  # empty for what is in memory


def open_release(release: object) -> OpenedRelease:
    """Take a release, read a release folder or a release in a database, or take published tables as they are.

    Raises ``InputError`` when it is none of these. Raises ``VerificationError`` when the folder or what the database
    holds is damaged.
    """
    if isinstance(release, Release):
        return OpenedRelease(release.published, release.description, PublishedPolicy(release.policy))
    if isinstance(release, Published) and not isinstance(release, type):
        return OpenedRelease(release)
    if not isinstance(release, (str, Path)):
        raise InputError("is no release; give a release, the folder of one, or published tables")
    if is_database(release):
        stored = stored_release(str(release), None)
        return OpenedRelease(stored.published, stored.description, stored.policy, stored.facts)
    folder = open_folder(Path(release))
    published, _ = folder.read()
    return OpenedRelease(published, folder.description, folder.policy, folder.files)


def open_folder(folder: Path) -> ReleaseFolder:
    """Read what a release folder says about itself.

    Raises ``InputError`` when it is no release folder. Raises ``VerificationError`` when it is damaged, of a later
    format, or a release of ratings.
    """
    return opened_folder(folder, mark_of(folder))


def mark_of(folder: Path) -> str:
    """Return the text of the ``release.json`` of a folder. Raises ``InputError`` when there is none."""
    if problem := no_release(folder):
        raise InputError(problem)
    return read_regular_text(folder / MARK, errors="replace")


def opened_folder(folder: Path, mark: str) -> ReleaseFolder:
    """Return a folder whose ``release.json`` has been read."""
    description, files = read_description(mark)
    return ReleaseFolder(folder, description, files, PublishedPolicy.of_folder(folder))
