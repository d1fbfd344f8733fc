"""``sfumato verify``: recount a release from its published table alone."""

from __future__ import annotations

import typer

from sfumato.cli.kernels import say_result
from sfumato.cli.options import AsJson, ReleaseFolder

EXAMPLE = """\b
Example:
  sfumato verify patients-release/
"""


def verify(release: ReleaseFolder, as_json: AsJson = False) -> None:
    """Recount every promise of a release, trusting nothing but the published table.

    Exit code 0: every promise that can be decided from the release holds. 1: one does not, or a file was changed.
    """
    from sfumato.release.verify import verify as recount

    verification = recount(release)
    say_result(verification.to_dict(), str(verification), as_json=as_json)
    if not verification.ok:
        raise typer.Exit(1)
