"""``sfumato review`` and ``sfumato init``: what a table holds, and a first policy for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from shlex import split
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import AsJson, Original, Overwrite, PolicyFile, RoleOptions, Settings, option
from sfumato.cli.outcome import complain, say
from sfumato.cli.progress import progress_bar, say_result
from sfumato.errors import InputError, SfumatoError, raise_all
from sfumato.numbers import counted

if TYPE_CHECKING:
    from sfumato.findings.review import OpenFindings, Review
    from sfumato.policy.bridges import Bridge
    from sfumato.table.schema import Schema


def review(
    table: Original,
    policy: PolicyFile = None,
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Say what each column of a table seems to be, and what to answer before it is published.

    It reads every column once. It prints counts and no value. Roles and meanings are proposals: nothing is changed.
    """
    found = _reviewed(table, _read_as(policy, roles, settings or ()), quiet=as_json)
    say_result(found.to_dict(), str(found), as_json=as_json)


def init(
    table: Original,
    out: Annotated[Path, option("Policy file to write; - for standard output.", "FILE")] = Path("policy.toml"),
    overwrite: Overwrite = False,
    settings: Settings = None,
) -> None:
    """Write a first policy for a table, with a reason beside each choice.

    It proposes a role for each column, k = 5 and, for what looks sensitive, two values in each class. Read it, correct
    it, and publish with it. From an ARX project (.deid), a script with sdcMicro's calls (.R) or Amnesia's rules (.txt)
    it makes a policy, and says what differs.
    """
    from sfumato.policy.proposal import answers_to_check, proposed_policy
    from sfumato.whole_files import PUBLIC, write_whole

    if str(out) != "-" and out.exists() and not overwrite:
        raise InputError(f"{out}: already exists; name another file or add --overwrite")
    from sfumato.policy.bridges import reader_of

    if (reader := reader_of(table)) is not None:
        return _carry_over(reader(Path(table), out.parent / "hierarchies"), out, overwrite=overwrite)
    schema, source = _read_as(None, RoleOptions(), settings or ())
    found = _reviewed(table, (schema, source), quiet=str(out) == "-")
    command = f"sfumato anonymize {table} --policy {out} --out release/"
    text = proposed_policy(found, _source(settings or ()), command)
    if str(out) == "-":
        say(text.rstrip("\n"))
        return
    write_whole(out, text.encode("utf-8"), mode=PUBLIC)
    complain([line for told in answers_to_check(found) for line in told.split("\n")])
    say(f"Policy written to {out}. Read it, then publish with:\n  {command}")


def _carry_over(found: Bridge, out: Path, *, overwrite: bool) -> None:
    """Write the policy of another program's file, and the hierarchies beside it; say what differs."""
    from sfumato.whole_files import PRIVATE, write_whole

    complain(found.differences)
    if str(out) == "-":
        return say(found.policy.to_toml().rstrip("\n"))
    taken = [str(path) for path in found.hierarchies if path.exists() and not overwrite]
    raise_all(InputError, [f"{path}: already exists; move it away or add --overwrite" for path in taken])
    for path, text in found.hierarchies.items():
        path.parent.mkdir(exist_ok=True)
        write_whole(path, text.encode("utf-8"), mode=PRIVATE)
    found.policy.to_file(out, remarks=found.differences)
    files = counted(len(found.hierarchies), "hierarchy file")
    say(f"Policy written to {out}, with {files}. Read it before you publish.")


def at_a_terminal() -> bool:
    """Tell whether somebody is there to be asked."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def answers_of(error: OpenFindings, *, quiet: bool) -> dict[str, str]:
    """Ask somebody at a terminal about findings, and return a reason for each; raise the error without an answer."""
    if quiet or not error.findings or not at_a_terminal():
        raise with_one_line(error)
    answers = {}
    for finding in error.findings:
        complain(str(finding).split("\n"))
        reason = typer.prompt(
            "Why may it be published as it is? (nothing: stop)", default="", show_default=False, err=True
        )
        if not reason.strip():
            raise error
        answers.update(dict.fromkeys(finding.keys, reason.strip()))
    complain([f"answered; to be asked no more, --save-policy writes the answers down: {', '.join(answers)}"])
    return answers


def with_one_line(error: SfumatoError, *, is_settled: bool = False) -> SfumatoError:
    """Add the options that answer everything, where there are several; the person corrects what is not so.

    `is_settled`: whether the policy stays as it is, and only how values are written can be said.
    """
    options = list(dict.fromkeys(error.answers.values()))
    later = [option for option in options if is_settled and not _is_of_writing(option)]
    now = [option for option in options if option not in later]
    lines = []
    if now and len(error.answers) > 1:
        lines.append(f"to answer all at once, add this, and change what is not so: {' '.join(now)}")
    if later:
        lines.insert(0, f"a series keeps its policy: start it anew with {' '.join(later)}")
    return type(error)(*error.problems, *lines) if lines else error


def _is_of_writing(option: str) -> bool:
    """Tell whether an option says how the values of a column are written, and nothing else."""
    from sfumato.cli.words import WRITTEN

    words = split(option)
    keys = [path.partition("=")[0].rpartition(".")[2] for path in words[1::2]]
    return {*words[::2]} == {"--set"} and {*keys} <= {*WRITTEN}


@contextmanager
def in_one_line(*, is_settled: bool = False) -> Iterator[None]:
    """Put the options that answer everything behind what is open; see :func:`with_one_line`."""
    try:
        yield
    except SfumatoError as error:
        raise with_one_line(error, is_settled=is_settled) from None


def _reviewed(table: str, how: tuple[Schema | None, dict[str, Any]], *, quiet: bool) -> Review:
    from sfumato.findings.review import review as review_table
    from sfumato.table.raw_table import open_table
    from sfumato.table.sources.protocol import Reading

    schema, source = how
    with progress_bar(quiet=quiet) as progress:
        progress("reading", 0, 1)
        return review_table(open_table(table, reading=Reading(**source)), schema, progress=progress)


def _source(settings: Sequence[str]) -> dict[str, Any]:
    from sfumato.cli.words import reading_words

    return reading_words(settings, "is not about how the file is read")["source"]


def _read_as(policy: Path | None, roles: RoleOptions, settings: Sequence[str]) -> tuple[Schema | None, dict[str, Any]]:
    """Return the roles, where somebody gave any, and how the file is read."""
    from sfumato.cli.words import Words, columns_alone
    from sfumato.policy.entries import checked
    from sfumato.policy.mistakes import KeyPath
    from sfumato.policy.parts import Source

    if policy is not None or any(getattr(roles, option.name) for option in fields(roles)):
        words = {**roles.words, "others": roles.others or (None if policy else "drop")}
        meant = columns_alone(Words(policy=policy, **words, settings=settings))
        return meant.to_schema(), meant.reading()
    source = _source(settings)
    names: dict[KeyPath, str] = {(key,): f"--set source.{key}" for key in source}
    return None, checked(Source, source, names=names).reading()
