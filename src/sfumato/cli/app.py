"""The command ``sfumato``: its commands, its short tour, and its entry point."""

from __future__ import annotations

import codecs
import contextlib
import inspect
import logging
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import Annotated, Any

import typer

from sfumato.cli import interrupted
from sfumato.cli.completion import words_so_far
from sfumato.cli.former import FORMER, renewed
from sfumato.cli.forms import Forms, form_in, forms_of
from sfumato.cli.help import BriefCommand, BriefGroup
from sfumato.cli.interrupted import STOPPED, is_default
from sfumato.cli.options import option, spread
from sfumato.cli.outcome import PROGRESS_OPTION, CommandGroup, Warnings, complain, explained
from sfumato.cli.progress import announce_compiling, restore_terminal
from sfumato.errors import PolicyError
from sfumato.kernels.announcing import compiling
from sfumato.registry import loaded
from sfumato.table.announcing import listeners

# Ctrl-C while kernels are compiled: it ends the program, whichever thread compiles.


PATIENCE = 0.1
"""Seconds for the main thread to take the interruption by itself."""


def stop_compiling_at_interrupt() -> None:
    """Watch for interruptions; call it from the main thread.

    The interpreter passes an interruption to the main thread alone, once that runs Python again. The main thread may be
    waiting for another thread, or be inside the compiler for many seconds. The compiler itself calls Python: an
    exception that is raised there is printed and forgotten, or becomes another one. So the program ends without one.
    """
    with suppress(ValueError, OSError):
        receiver, sender = socket.socketpair()
        sender.setblocking(False)
        signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        if is_default():
            signal.signal(signal.SIGINT, _interrupted)
        threading.Thread(target=_watch, args=(receiver, sender), daemon=True, name="sfumato-stop").start()


def _interrupted(number: int, frame: FrameType | None) -> None:
    """End the program while it compiles; else let it end itself."""
    _end_if_compiling()
    signal.default_int_handler(number, frame)


def _end_if_compiling() -> None:
    if compiling:
        with suppress(RuntimeError):  # the main thread may be printing
            restore_terminal()
            complain(explained(KeyboardInterrupt())[0], is_error=True)
        os._exit(STOPPED)


def _watch(receiver: socket.socket, sender: socket.socket) -> None:
    while number := receiver.recv(1):
        if number[0] == signal.SIGINT:
            time.sleep(PATIENCE)
            _end_if_compiling()
    sender.close()


COMMANDS = {
    "demo": "demo",
    "review": "review",
    "init": "review",
    "anonymize": "anonymize",
    "verify": "verify",
    "sign": "sign",
    "settle": "settle",
    "measure": "measure",
    "risk": "risk",
    "check": "check",
    "correlation": "correlation",
    "attack": "attack",
    "compare": "compare",
    "lattice": "lattice",
    "report": "evidence",
    "hierarchy": "hierarchy",
    "budget": "budget",
    "reproduce": "reproduce",
    "studio": "studio",
    "warm": "warm",
    "help": "explain",
}
"""Command → the module whose function of the same name it runs."""

GROUPS = {
    "series": dict.fromkeys(("start", "append", "republish", "withdraw", "show", "new-key", "encrypt"), "series"),
    "evidence": dict.fromkeys(("init", "write", "task", "score", "log"), "evidence"),
    "policy": {"check": "check:policy_check"},
}
"""The same for the commands of a group, whose help stands in the module of its first one; or the function's place."""

WRITERS = {"anonymize", *(f"series {verb}" for verb in ("start", "append", "republish", "withdraw", "encrypt"))}
"""Commands that change more than one file: what ends one that was interrupted stands in their help."""

SETTLE = "After a run that was killed, sfumato settle PATH brings together what it has left (PATH: what it writes)."


class AllCommands(CommandGroup):
    """The commands, in the form that their words ask for; words of the last version become those of this one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words before and of a command."""
        words, warnings = renewed(args)
        complain(warnings)
        return super().parse_args(ctx, words)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return a command, and the words behind it, in the form that they ask for."""
        name, command, words = super().resolve_command(ctx, args)
        if name is None or command is None:
            return name, command, words
        try:
            forms, form, words = form_in(name, words)
        except PolicyError:
            if ctx.resilient_parsing:  # a shell asks what may follow
                return name, command, words
            raise
        if forms is None:
            return name, command, words
        in_form = cache(lambda one: command if one == forms.usual else _form(name, forms, one))
        if not ctx.resilient_parsing:
            forms.refuse_others(form, words, lambda one: _flags(in_form(one)))
        return name if form == forms.usual else f"{name} {forms.flag} {form}", in_form(form), words


def _form(name: str, forms: Forms, form: str) -> Any:
    made = typer.Typer(rich_markup_mode="rich", add_completion=False)
    _add(made, f"{name} {forms.flag} {form}", forms.places[form])
    return typer.main.get_command(made)


def _flags(command: Any) -> dict[str, bool]:
    """Return the options of a command, and whether each takes a value."""
    flags = {"--help": False, "-h": False}
    for one in command.params:
        takes_value = not (getattr(one, "is_flag", False) or getattr(one, "count", False))
        flags |= dict.fromkeys((*one.opts, *one.secondary_opts), takes_value)
    return flags


def app_of(commands: Iterable[str], *, listed: bool = False) -> typer.Typer:
    """Make the command line with some of its commands, or with no more than a list of them; groups are among them."""
    made = typer.Typer(
        name="sfumato",
        cls=AllCommands,
        help=Path(__file__).with_name("tour.txt").read_text(encoding="utf-8"),
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_settings)
    for name in commands:
        if name in GROUPS:
            made.add_typer(_group(name), name=name)
        else:
            _add(made, name, f"sfumato.cli.{COMMANDS[name]}:{name}", listed=listed)
    return made


def _group(group: str) -> typer.Typer:
    text = loaded(f"sfumato.cli.{next(iter(GROUPS[group].values())).partition(':')[0]}:HELP")
    made = typer.Typer(cls=BriefGroup, help=text, no_args_is_help=True, rich_markup_mode="rich")
    for name, module in GROUPS[group].items():
        _add(made, f"{group} {name}", f"sfumato.cli.{module if ':' in module else f'{module}:{name}'}")
    return made


def _add(app: typer.Typer, words: str, place: str, *, listed: bool = False) -> None:
    """Add the command that stands at ``module:function``; `words` name it, with its form."""
    module, _, name = place.partition(":")
    home, name = import_module(module), name.replace("-", "_")
    command = getattr(home, name)
    app.command(
        words.rpartition(" ")[2],
        cls=BriefCommand,
        help=_help(command, SETTLE if words.partition(" --")[0] in WRITERS else ""),
        epilog=_example(home, words, name.replace("_", "-")),
    )(_nothing if listed else spread(command, FORMER.get(words, ()), forms_of(words)))


def _example(home: ModuleType, words: str, name: str) -> str:
    """Return the example of a command, from the file beside its module; a plug-in may have it in the module."""
    texts = _examples(Path(str(home.__file__)).with_name("examples.txt"))
    text = texts.get(words) or texts.get(name)
    return f"\b\nExample:\n{text}" if text else str(getattr(home, "EXAMPLES", {}).get(name) or home.EXAMPLE)


@cache
def _examples(file: Path) -> dict[str, str]:
    """Return the examples in a file by the command that each is of."""
    blocks = file.read_text(encoding="utf-8").split("# ") if file.exists() else ()
    return {command: text for command, _, text in (block.partition("\n") for block in blocks)}


def _nothing() -> None:
    """Stand for a command that is listed only."""


def _help(command: Callable[..., None], more: str) -> str:
    """Return a command's docstring, and more, with each paragraph as one line, so that the terminal can wrap it."""
    paragraphs = [*(inspect.getdoc(command) or "").split("\n\n"), *([more] if more else [])]
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _show_version(wanted: bool) -> None:
    from importlib.metadata import PackageNotFoundError, version

    if wanted:
        try:
            typer.echo(f"sfumato {version('sfumato')}")
        except PackageNotFoundError:
            typer.echo("sfumato, not installed")
        raise typer.Exit


def _settings(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    log_json: Annotated[
        bool,
        option("Write messages to stderr as JSON, one object a line; may stand anywhere.", None, interrupted.OPTION),
    ] = False,
    progress: Annotated[
        str,
        option(
            "How progress is told on stderr: a bar on a terminal, or a line of JSON at least each second. May "
            "stand anywhere.",
            "bar|json",
            PROGRESS_OPTION,
        ),
    ] = "bar",
) -> None:
    """Take the options before a command; how progress is told was taken before."""
    if log_json:
        interrupted.start_log_lines()


def __getattr__(name: str) -> typer.Typer:
    """Make the whole command line when a program asks for ``app``."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = whole = app_of([*COMMANDS, *GROUPS])
    return whole


def main() -> None:
    """Run the command line and leave with its exit code."""
    _start_in_utf8()
    # A library's warning may quote a value, and a report may hold letters that the terminal cannot show.
    warnings.simplefilter("ignore")
    # It says where it keeps its fonts, if there is no home.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    logging.getLogger("sfumato").addHandler(Warnings(logging.WARNING))
    announce_compiling()
    listeners.append(lambda sentence: complain([sentence]))
    words = _without_log_option(sys.argv[1:])
    # Taking in the options of all commands costs as much as many a command.
    every = [*COMMANDS, *GROUPS]
    named = [word for word in _first(words_so_far() or words) if word in every]
    app = app_of(named or every, listed=not (named or set(every) & set(words_so_far() or words)))
    stop_compiling_at_interrupt()
    began = time.monotonic()
    try:
        app(words, prog_name="sfumato")
    except SystemExit as end:
        if interrupted.is_on():
            interrupted.log_end(" ".join(named), end.code if isinstance(end.code, int) else 0, began)
        raise


def _start_in_utf8() -> None:
    """Start again in Python's UTF-8 mode where the locale knows ASCII alone: no file could be named with an umlaut."""
    if codecs.lookup(sys.getfilesystemencoding()).name != "ascii" or os.environ.get("PYTHONUTF8") == "1":
        return
    if sys.executable:
        words = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, words, {**os.environ, "PYTHONUTF8": "1"})


def _without_log_option(words: list[str]) -> list[str]:
    """Take the option that changes how errors are written out of the words, wherever it stands, and obey it."""
    if interrupted.OPTION not in words:
        return words
    interrupted.start_log_lines()
    return [word for word in words if word != interrupted.OPTION]


def _first(words: list[str]) -> list[str]:
    """Return the first word that may name a command, as it is written now."""
    before = 2 if words[:1] == [PROGRESS_OPTION] else 1 if words and words[0].startswith(f"{PROGRESS_OPTION}=") else 0
    return renewed(words[before:])[0][:1]
