"""Require a generalized table, for what only such a release has: classes, and values that can be read back."""

from __future__ import annotations

from pathlib import Path

from sfumato.errors import InputError, VerificationError
from sfumato.published import PublishedTable
from sfumato.published.protocol import structure_names
from sfumato.release.description import Description
from sfumato.release.opening import OpenedRelease, ReleaseFolder
from sfumato.release.release import Release
from sfumato.release.table_files import refuse_too_large


def generalized_table(release: Release | OpenedRelease) -> PublishedTable:
    """Return the table of a release, or raise InputError when it is of another kind."""
    if not isinstance(release.published, PublishedTable):
        raise InputError(_refusal(release.published.kind))
    return release.published


def generalized_file(folder: ReleaseFolder) -> Path:
    """Return the data file of a release folder, or the folder of its parts.

    Raises
    ------
    InputError
        When the release is of another kind, or its parts do not fit into memory.
    """
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
    return f"the release is of kind {kind}; this needs a generalized table, with its equivalence classes"
