"""``sfumato warm``: compile in advance what large jobs need."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.options import AsJson
from sfumato.cli.progress import progress_bar, say_result


def warm(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Anonymizers, verify, measure, risk; default the usual ones."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile the kernels of anonymizers and other jobs, once for this machine and version.

    Small jobs never need it, and large ones compile what they need themselves. It makes the first large job as quick as
    the second.
    """
    from sfumato.evaluation.warming import USUAL
    from sfumato.evaluation.warming import warm as compile_kernels

    with progress_bar() as progress:
        made = compile_kernels(names or USUAL, progress=progress)
    text = f"{len(made)} kernel(s) compiled" if made else "nothing to compile: all kernels are there"
    say_result({"compiled": made}, text, as_json=as_json)
