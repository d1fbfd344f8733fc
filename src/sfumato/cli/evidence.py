"""``sfumato evidence``: for whom a release is made, as a form, and the page about it that is signed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import Overwrite
from sfumato.cli.outcome import say
from sfumato.cli.report import report
from sfumato.errors import InputError

HELP = """The evidence for a named recipient: what is assumed of them, what was counted, what was attacked.

init writes a form for the recipient. write makes the page, as sfumato report does.
"""
EXAMPLE = """\b
Example:
  sfumato evidence init --policy policy.toml --out for-institute.toml
  sfumato evidence write patients-release/ --original patients.csv \\
      --policy for-institute.toml --out evidence.html
"""

write = report


def init(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Policy file to write; - for standard output, the form alone.")
    ] = Path("-"),
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Policy of the release, which the form is added to.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a form: who gets the release, under which controls, and how likely somebody tries.

    It is the section [context] of a policy. Lines that are not filled in are asked for by name. A policy file for each
    recipient serves one release folder: the release holds nothing of this section.
    """
    from sfumato.policy.context import FORM
    from sfumato.policy.file import read_policy
    from sfumato.whole_files import PRIVATE, read_regular_text, write_whole

    text = FORM
    if policy is not None:
        if "context" in read_policy(policy):
            raise InputError(f"{policy}: has a section [context] already; edit it, or name another policy")
        if str(out) != "-" and out.absolute().parent != policy.absolute().parent:
            raise InputError(f"--out: name a file beside {policy}; hierarchies that it names are looked for there")
        text = f"{read_regular_text(policy).rstrip()}\n\n{FORM}"
    if str(out) == "-":
        return say(text.rstrip("\n"))
    if out.exists() and not overwrite:
        raise InputError(f"{out}: already exists; name another file or add --overwrite")
    try:
        write_whole(out, text, PRIVATE)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from None
    say(f"Form written to {out}. Fill it in, then: sfumato evidence write RELEASE --original TABLE --policy {out}")
