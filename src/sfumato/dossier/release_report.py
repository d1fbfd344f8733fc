"""Make a report that somebody can sign from a release and its original."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from sfumato.dossier.content import LEAST, ReportedRelease, ReportOptions, content_of, refuse_broken
from sfumato.dossier.decisions import Decision
from sfumato.dossier.drawings import draw_report
from sfumato.dossier.page import render
from sfumato.dossier.public import public_edition
from sfumato.dossier.summary import doubts_of, summary_of
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.policy.policy import Policy
from sfumato.progress import Progress, beating, shown, thread_count
from sfumato.release.agreement import policy_contradictions
from sfumato.release.folder import no_release
from sfumato.release.opening import open_release
from sfumato.release.policy_text import PublishedPolicy
from sfumato.release.release import Release
from sfumato.release.verify import verify
from sfumato.table.databases.address import is_database
from sfumato.table.table import Table
from sfumato.whole_files import PRIVATE, PUBLIC, write_whole

Edition = Literal["internal", "public"]


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseReport:
    """Everything about one release, for the data steward to read, sign and keep.

    Attributes
    ----------
    content : dict
        Plain values, with figures measured on the original.
    """

    content: dict[str, Any]

    def to_dict(self, edition: Edition = "internal") -> dict[str, Any]:
        """Return plain values, for JSON: the same content as the page.

        Parameters
        ----------
        edition
            ``"internal"``: for the data steward alone. ``"public"``: without figures that were measured on the
            original, small counts masked.
        """
        if edition not in get_args(Edition):
            raise PolicyError(f"edition: must be one of {', '.join(get_args(Edition))}")
        shown = self.content if edition == "internal" else public_edition(self.content)
        told = {**shown, "edition": edition, "least": LEAST}
        return {**told, "summary": summary_of(told), "doubts": doubts_of(told)}

    def html(self, edition: Edition = "internal") -> str:
        """Return the page: one file without scripts or anything loaded from elsewhere. Needs Jinja and matplotlib."""
        told = self.to_dict(edition)
        return render(told, draw_report(told) if edition == "internal" else {})

    def save(self, path: str | Path, edition: Edition = "internal", *, overwrite: bool = False) -> Path:
        """Write the page, or, under a name that ends in ``.json``, the plain values.

        Raises
        ------
        InputError
            When the file already exists, or cannot be written.
        """
        target = Path(path)
        if target.exists() and not overwrite:
            raise InputError(f"{target}: already exists; name another file, or overwrite it")
        as_json = target.suffix == ".json"
        text = json.dumps(self.to_dict(edition), indent=2, ensure_ascii=False) if as_json else self.html(edition)
        try:
            write_whole(target, text + "\n", PRIVATE if edition == "internal" else PUBLIC)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else "unknown reason"
            raise InputError(f"{target}: the report cannot be written ({reason})") from None
        return target

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        return self.html()

    def __repr__(self) -> str:
        """Name the kind."""
        return f"ReleaseReport({self.content['kind']['name']})"

    def __str__(self) -> str:
        """Write the summary."""
        return "\n".join(self.to_dict()["summary"])


def report(
    release: Release | str | Path,
    original: Table | None = None,
    *,
    policy: Policy | None = None,
    control: Table | None = None,
    earlier: Sequence[Release | str | Path] = (),
    attacks: bool = True,
    bound: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = shown,
    decisions: Sequence[Decision] = (),
) -> ReleaseReport:
    """Measure everything about a release, and put it on one page.

    Parameters
    ----------
    release
        A release folder, or a release in memory. It is recounted first.
    original
        The table it was made from. Without it, the report says nothing about risk before, attacks, and loss.
    policy
        The steward's own policy, for purpose and recipient, and to repeat the release.
    control
        People who were not in the data, for the attacks.
    earlier
        Earlier releases of the same people.
    attacks
        Play the default set of attacks.
    bound
        Compute how little any release of the table must lose; takes a while.
    seed
        For tests and studies; None draws from the operating system.
    threads
        None reads ``SFUMATO_THREADS``, else takes all cores.
    progress
        Called with (what, done, total).
    decisions
        What was decided on the way, for the internal edition.

    Returns
    -------
    ReleaseReport

    Raises
    ------
    VerificationError
        When the release breaks a promise or was changed: nobody should sign that.
    InputError, PolicyError
        With everything that is wrong with the arguments.
    """
    given = {"original": original, "control": control}
    raise_all(
        InputError,
        [f"{name}: is not a Table; use read_table" for name, one in given.items() if not isinstance(one, Table | None)],
    )
    count = thread_count(threads)

    def work(told: Progress) -> ReleaseReport:
        told("verifying", 0, 5)
        subject = _subject(release, original, policy, control, tuple(earlier))
        return ReleaseReport(content_of(subject, ReportOptions(attacks, bound, seed, count, told, tuple(decisions))))

    return beating(progress, "verifying", work)


def _placed(release: Release | str | Path) -> Release | str | Path:
    """Take a text for the name of a folder, unless it is the URL of a database."""
    return release if isinstance(release, Release) or is_database(release) else Path(release)


def _subject(
    release: Release | str | Path,
    original: Table | None,
    policy: Policy | None,
    control: Table | None,
    earlier: Sequence[Release | str | Path],
) -> ReportedRelease:
    verification = verify(release)
    refuse_broken(verification)
    opened = open_release(release)
    if opened.description is None:
        raise InputError("release: is not a release; give a release, or the folder of one")
    if policy is not None and opened.policy.text is not None:
        said = PublishedPolicy(policy.published()).content
        raise_all(PolicyError, policy_contradictions(said, opened.policy.content))
    named = [_placed(one) for one in earlier]
    raise_all(InputError, [problem for one in named if isinstance(one, Path) and (problem := no_release(one))])
    return ReportedRelease(
        _placed(release),
        opened.published,
        opened.description,
        verification,
        opened.policy,
        policy,
        {entry.file: entry.sha256 for entry in opened.files.values()},
        original,
        control,
        named,
    )
