"""The releases of a series as a recipient reads them, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import VerificationError
from sfumato.published import PublishedTable
from sfumato.published.checks.generalized import Verification
from sfumato.release.description import Description, is_of_ratings
from sfumato.release.opening import mark_of, opened_folder
from sfumato.release.policy_text import PublishedPolicy
from sfumato.release.verify import recounted
from sfumato.series.description import Place


@dataclass(frozen=True, eq=False, repr=False)
class ReadRelease:
    """A release of a series that was read from its folder.

    Attributes
    ----------
    path : Path
    place : Place or None
        None where it says that it is of no series.
    description : Description
    policy : PublishedPolicy
    published : PublishedTable
    verification : Verification
        Of the release by itself.
    """

    path: Path
    place: Place | None
    description: Description
    policy: PublishedPolicy
    published: PublishedTable
    verification: Verification

    @classmethod
    def of(cls, path: Path) -> ReadRelease:
        """Read and recount a release folder.

        Raises
        ------
        SfumatoError
            When it cannot be read, or is no generalized table.
        """
        mark = mark_of(path)
        if is_of_ratings(mark):
            raise VerificationError(f"{path.name}: is a release of ratings, which no series holds")
        opened = opened_folder(path, mark)
        published, integrity = opened.read()
        if not isinstance(published, PublishedTable):
            raise VerificationError(f"{path.name}: is a {published.kind}, and a series holds generalized tables alone")
        verification = recounted(opened, mark, published, integrity)
        return cls(path, Place.of(mark), opened.description, opened.policy, published, verification)
