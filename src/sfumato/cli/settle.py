"""``sfumato settle``: finish or take back what an interrupted run has left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.kernels import say_result
from sfumato.cli.options import AsJson
from sfumato.errors import without_credentials

EXAMPLE = """\b
Example:
  sfumato settle patients-release/
  sfumato settle patients-release.audit.json
"""


def settle(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", show_default=False, help="Release folder, series folder or audit file.")
    ],
    as_json: AsJson = False,
) -> None:
    """Finish a run that was interrupted after it had decided to publish, or take it back if it had not.

    Every command that writes to the same place does so by itself; verify writes nothing, and names this command.
    """
    from sfumato.release.transaction import settle as brought_to_end

    found = brought_to_end(path)
    nothing = without_credentials(f"{path}: no run was interrupted here")
    say_result({"settled": found}, "\n".join(found) or nothing, as_json=as_json)
