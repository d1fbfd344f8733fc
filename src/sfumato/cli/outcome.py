"""How a command ends: an exit code, and on stderr one line per problem; never a traceback, never a value."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import sys
import textwrap
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from sfumato.cli import interrupted
from sfumato.cli.help import front_page, is_whole, usage_of, without_help_option
from sfumato.cli.interrupted import SENTENCE, STOPPED
from sfumato.errors import PolicyError, SfumatoError, without_credentials

INPUT = 2

WIDTH = 80
INDENT = 4

WRITING = "sfumato.release.transaction"
"""The module that knows what was written; who has not loaded it has written nothing."""

PROGRESS = ["bar"]
"""How progress is told: as a bar, or as lines of JSON."""
PROGRESS_OPTION = "--progress"

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")

_PLAIN = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "must be a number",
    # The nearest option by letters would remove the columns.
    "--quasi-identifying (Possible options: --identifying)": "--quasi-identifying (here it is --quasi)",
}
"""What the command line's grammar says in the words of its library."""
_OVERWRITE = "overwrite=True (on the command line --overwrite)", "--overwrite"


class CommandGroup(TyperGroup):
    """The group of all commands; every error that leaves one of them ends as lines and an exit code."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the first page, or the long help where it was asked for."""
        if is_whole():
            return super().format_help(ctx, formatter)
        formatter.write(front_page())

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, *more: Any, **settings: Any) -> Any:
        """Run the command that `args` name, and exit with its code."""
        settings["standalone_mode"] = False

        def work() -> Any:
            words = without_help_option(without_progress_option(sys.argv[1:] if args is None else args))
            return super(CommandGroup, self).main(words, prog_name, *more, **settings)

        try:
            sys.exit(outcome(work))
        finally:
            PROGRESS[0] = "bar"  # what calls commands from Python may call another one


def without_progress_option(words: Sequence[str]) -> list[str]:
    """Take the option that says how progress is told out of the words, wherever it stands, and obey it."""
    left, given = [], iter(words)
    for word in given:
        option, equals, value = word.partition("=")
        if option != PROGRESS_OPTION:
            left.append(word)
            continue
        PROGRESS[0] = value if equals else next(given, "")
        if PROGRESS[0] not in ("bar", "json"):
            raise PolicyError(f"{PROGRESS_OPTION}: must be bar or json")
    return left


def outcome(work: Callable[[], Any]) -> int:
    """Do `work`, report what went wrong on stderr, and return the exit code."""
    if WRITING in sys.modules:
        sys.modules[WRITING].new_command()
    try:
        code = work()
        sys.stdout.flush()
    except BaseException as error:
        # When a pipe breaks, the command line library exits silently with code 1.
        if isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError):
            error = error.__context__
        if isinstance(error, SystemExit):
            raise
        # A command alone: its help is the message.
        if type(error).__name__ == "NoArgsIsHelpError" and not interrupted.is_on():
            print(str(getattr(error, "message", "")), file=sys.stderr)
            return INPUT
        lines, code = explained(error)
        complain(lines, is_error=True)
        if not isinstance(error, SfumatoError) and os.environ.get("SFUMATO_DEBUG") == "1":
            complain(_places(error), is_error=True)
    else:
        # The command line library turns an interruption into a code of its own.
        if code == STOPPED:
            complain(explained(KeyboardInterrupt())[0], is_error=True)
    return code if isinstance(code, int) else 0


def explained(error: BaseException) -> tuple[list[str], int]:
    """Return message and exit code; only the library's and the grammar's own words, as others may quote values."""
    if isinstance(error, SfumatoError):
        return [each.replace(*_OVERWRITE) for each in error.problems] or [type(error).__name__], error.exit_code
    if hasattr(error, "format_message"):  # a usage error, whose class has moved between versions of the library
        _leave_out_hidden(error)
        message = _one_too_many(error) or _no_command(error) or error.format_message().rstrip(".")
        for technical, plain in _PLAIN.items():
            message = message.replace(technical, plain)
        return [f"{message} (--help shows an example)"] if message else [], INPUT
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return [_stopped()], STOPPED
    if isinstance(error, MemoryError):
        return ["not enough memory; close other programs, or take fewer columns or records at a time"], INPUT
    if isinstance(error, BrokenPipeError):
        _leave_stdout()
        return ["the program that read the output has ended; stopped writing"], INPUT
    if isinstance(error, OSError) and error.errno:
        return [_about_system(error, error.errno)], INPUT
    hint = "set SFUMATO_DEBUG=1 to see where in the program"
    return [f"unexpected {type(error).__name__}, a fault in this program; {hint}"], INPUT


def _leave_out_hidden(error: Any) -> None:
    """Take the options that help hides out of those that a usage error offers in place of an unknown one."""
    if getattr(error, "possibilities", None) and getattr(error, "ctx", None) is not None:
        shown = {name for each in error.ctx.command.params if not getattr(each, "hidden", False) for name in each.opts}
        error.possibilities = [name for name in error.possibilities if name in shown or name == "--help"]


def _one_too_many(error: Any) -> str:
    """Say what a command takes, where more was given; empty for other mistakes."""
    if "unexpected extra argument" not in error.message:
        return ""
    has_original = any("--original" in each.opts for each in error.ctx.command.params)
    beside = "; the original table goes behind --original" if has_original else ""
    words = error.message.rpartition("(")[2].rstrip(").")
    return f"{words}: {error.ctx.command_path} takes {usage_of(error.ctx) or 'options'} alone{beside}"


def _no_command(error: Any) -> str:
    """Say which commands a group has, where another one was asked for; empty for other mistakes."""
    commands = getattr(error.ctx and error.ctx.command, "commands", None)
    if not error.message.startswith("No such command") or not commands or error.ctx.parent is None:
        return ""
    shown = ", ".join(name for name, each in commands.items() if not each.hidden)
    return f"{error.message.rstrip('.')}; {error.ctx.command_path} has {shown}"


def _stopped() -> str:
    """Say what an interruption has left; what has not been loaded has written nothing."""
    writing = sys.modules.get(WRITING)
    said = None if writing is None else writing.after_stop()
    return SENTENCE if said is None else f"stopped; {said}"


def complain(lines: Sequence[str], *, is_error: bool = False) -> None:
    """Print lines to stderr, or log them with ``--log-json``; a terminal is never sent control characters."""
    lines = [without_credentials(line) for line in lines]
    if interrupted.is_on():
        return interrupted.log(lines, is_error=is_error)
    with contextlib.suppress(OSError, ValueError):
        for line in lines:
            print(f"sfumato: {printable(line)}", file=sys.stderr)
        sys.stderr.flush()


class Warnings(logging.Handler):
    """Prints what the library warns of as other messages are printed."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record, unless all are written as JSON."""
        if not interrupted.is_on():
            complain([record.getMessage()])


def say(text: str) -> None:
    """Print the result of a command to stdout."""
    print("\n".join(printable(line) for line in text.split("\n")))


def say_fitted(text: str) -> None:
    """Print what a person reads: no line is wider than a terminal."""
    say("\n".join(part for line in text.split("\n") for part in narrow(line)))


def narrow(line: str) -> list[str]:
    """Return a line as lines that fit a terminal; what does not fit goes on below, further in."""
    if len(line) <= WIDTH:
        return [line]
    indent = " " * min(len(line) - len(line.lstrip()) + INDENT, WIDTH // 4)  # titles may stand far to the right
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def printable(line: str) -> str:
    """Write control characters as escapes, so that a column's name cannot rewrite the screen or fake a line."""
    return _UNPRINTABLE.sub(lambda match: repr(match[0])[1:-1], line).replace("\n", "\\n")


def _about_system(error: OSError, number: int) -> str:
    where = f"{os.fspath(error.filename)}: " if isinstance(error.filename, (str, os.PathLike)) else ""
    if number in (errno.ENOSPC, errno.EDQUOT):
        return f"{where}the disk is full; free some space and start again"
    if number in (errno.EACCES, errno.EPERM):
        return f"{where}permission denied"
    reason = os.strerror(number)
    return f"{where}{reason[:1].lower()}{reason[1:]}"


def _leave_stdout() -> None:
    # The interpreter flushes stdout once more when it ends, and would complain again.
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _places(error: BaseException | None) -> list[str]:
    """Say where in the program an error arose: lines of source, but neither messages nor local variables."""
    places: list[str] = []
    while error is not None:
        entries = traceback.extract_tb(error.__traceback__)
        places += [f"  {entry.filename}:{entry.lineno} in {entry.name}: {entry.line}" for entry in entries]
        places.append(f"  {type(error).__module__}.{type(error).__qualname__}")
        error = error.__cause__ or error.__context__
    return places
