"""``sfumato evidence``: for whom a release is made, as a form, and the page about it that is signed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, Overwrite, PolicyFile, ReleasePlace
from sfumato.cli.outcome import say
from sfumato.cli.report import report
from sfumato.errors import InputError

HELP = """The evidence for a named recipient: what is assumed of them, what was counted, what was attacked.

init writes a form for the recipient. write makes the page, as sfumato report does.
task writes a package for a person who is to look for people; score holds the answers against the key.
"""

write = report


FORM = Path(__file__).with_name("evidence_form.toml").read_text(encoding="utf-8")
"""What is filled in for a recipient."""


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


def task(
    release: ReleasePlace,
    original: Annotated[str, typer.Option(metavar="FILE", help="The table that the release was made from.")],
    control: Annotated[str, typer.Option(metavar="FILE", help="People who are not in the data.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The package to hand over; a new folder.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="Who is who, for you alone; a new file.")],
    people: Annotated[int, typer.Option(metavar="COUNT", help="People in the register; half are in the data.")] = 40,
    sources: Annotated[str, typer.Option(metavar="TEXT", help="What else the person may use, in words.")] = "none",
    policy: PolicyFile = None,
    seed: Annotated[int | None, typer.Option(help="Draws the same people; for tests.")] = None,
) -> None:
    """Write a package for somebody who is to look for people in a release, and the key to the answers.

    The package holds the release, a register of people with the values that others may know, a form, and rules. The
    policy is the release's own unless --policy names the one that made it.
    """
    from sfumato.cli.released import policy_file, release_problem
    from sfumato.cli.words import Words, policy_of
    from sfumato.evidence.intruder import make_task
    from sfumato.table.reading import read_table

    if problem := release_problem(release):
        raise InputError(problem)
    meant = policy_of(Words(policy=policy_file(release, policy)))
    tables = read_table(original, meant), read_table(control, meant.beside(control))
    say(make_task(release, *tables, out, key, people=people, sources=sources, seed=seed))


def score(
    answers: Annotated[Path, typer.Argument(metavar="ANSWERS", help="The form of a package, filled in.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="The key of the package.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the result, for sfumato evidence write --intruder.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Hold the answers of somebody who looked for people against the key, with intervals."""
    from sfumato.evidence.intruder import score_answers
    from sfumato.whole_files import PRIVATE, write_whole

    if out is not None and out.exists() and not overwrite:
        raise InputError(f"{out}: already exists; name another file or add --overwrite")
    found = score_answers(answers, key)
    text = json.dumps(found, indent=2, ensure_ascii=False)
    if out is not None:
        try:
            write_whole(out, text + "\n", PRIVATE)
        except OSError as error:
            raise InputError(f"{out}: cannot be written ({error.strerror})") from None
    say(text if as_json else "\n".join(found["sentences"]))
