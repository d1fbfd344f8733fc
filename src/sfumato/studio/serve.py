"""Start the studio: a server on this computer alone, and the browser."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError, PolicyError
from sfumato.whole_files import write_whole

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy
    from sfumato.studio.guard import Guard
    from sfumato.studio.project import Project

REDIRECT = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={}"><title>Sfumato</title>\n'
)
NEEDED = ("starlette", "uvicorn", "jinja2", "python_multipart")
WAITING = 1000
"""Connections that may wait to be taken; whoever comes when they are all there comes again a second later."""
TAKEN = 50
"""Connections that are taken at a time: each is an open file, until the one that makes room for it is closed."""
SESSION = "session"
"""The file of a project that lets a page go on after the studio was killed."""
_ALLOCATOR = "_RJEM_MALLOC_CONF"
"""Setting of the allocator (jemalloc) that polars brings with it, where it brings one."""


def check_installed() -> None:
    """Raise PolicyError unless everything that the studio needs is installed."""
    if any(find_spec(name) is None for name in NEEDED):
        raise PolicyError("studio: its libraries are not installed; install them with: pip install 'sfumato[studio]'")


def run_studio(
    table: Path | None,
    *,
    project: Path | None = None,
    policy: Policy | None = None,
    source: Mapping[str, Any] | None = None,
    opens: bool = True,
    port: int = 0,
) -> None:
    """Serve a project until somebody quits; without table and project a page asks for one.

    Without a project a private one in the system's place for temporary files goes afterwards, unless it holds a
    release. `port`: 0 takes a free one.
    """
    check_installed()
    from sfumato.studio.guard import Guard, last_session
    from sfumato.studio.project import Project
    from sfumato.studio.start import Recent, remove_left_files, state_file

    remove_left_files()
    if table is None and project is None:
        _run_start(policy, opens=opens, port=port)
        return
    with _folder(project) as folder, contextlib.ExitStack() as stack:
        kept = folder / SESSION
        last = last_session(kept)
        listening = stack.enter_context(listening_socket(port, None if last is None else last[0]))
        opened = Project.opened(folder, table, source or {})
        served: list[Any] = []
        pages, close, problems = _pages_of(opened, policy, lambda: _stop(served))
        app = Guard(pages, int(listening.getsockname()[1]), say=say_at_terminal, kept=kept)
        if project is not None:
            Recent(state_file()).add(opened)
        try:
            _serve_to_one(app, listening, served, problems, opens=opens)
        finally:
            app.forget()
            close()


def _run_start(policy: Policy | None, *, opens: bool, port: int) -> None:
    """Serve the start page, and then the project of what is opened there."""
    from sfumato.studio.guard import Guard
    from sfumato.studio.project import PREFIX
    from sfumato.studio.start import Start

    served: list[Any] = []
    with listening_socket(port) as listening:
        start = Start(
            lambda opened, meant: _pages_of(opened, meant, lambda: _stop(served)),
            _new_private(PREFIX),
            lambda: _stop(served),
            policy,
        )
        app = Guard(start, int(listening.getsockname()[1]), say=say_at_terminal)
        try:
            _serve_to_one(app, listening, served, (), opens=opens)
        finally:
            if (stays := start.close()) is not None:
                say_at_terminal(f"The project holds releases and was kept, without the table: {stays}")


def _serve_to_one(
    app: Guard, listening: socket.socket, served: list[Any], problems: Sequence[str], *, opens: bool
) -> None:
    say_at_terminal(f"The studio is open at {app.address}")
    say_at_terminal("The address works once, in one browser on this computer. Stop with Ctrl-C.")
    for line in problems:
        say_at_terminal(f"{line}. The page asks how the file is to be read.")
    with browser_at(app) if opens else contextlib.nullcontext():
        serve(app, listening, served)


@contextlib.contextmanager
def browser_at(app: Guard) -> Iterator[None]:
    """Open the browser by a file for this user alone, as all see what programs start with; it goes when it was read."""
    folder = _new_private("sfumato-open-")
    file = folder / "open.html"
    app.when_opened = lambda: shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(0o700)
        write_whole(file, REDIRECT.format(app.address))
        threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()
        yield
    finally:
        app.when_opened()


def load_polars() -> None:
    """Load polars so that it returns freed memory at once: the server needs much for a moment, and then waits.

    Its allocator asks for this where it begins, and keeps freed memory otherwise; the processes that make releases go
    on doing so, as that is quicker.
    """
    if "polars" in sys.modules:
        return
    before = os.environ.get(_ALLOCATOR)
    os.environ[_ALLOCATOR] = ",".join(filter(None, [before, "dirty_decay_ms:0,muzzy_decay_ms:0"]))
    import polars

    polars.Series()  # the allocator has begun
    os.environ[_ALLOCATOR] = before or ""


def _pages_of(
    project: Project, policy: Policy | None, stop: Callable[[], None]
) -> tuple[Any, Callable[[], None], Sequence[str]]:
    """Return the pages of a project; where its table is text that cannot be read, those that ask how to, and why."""
    from sfumato.studio.app import Opening, Pages
    from sfumato.studio.desk import Desk
    from sfumato.studio.layout import is_text_file

    try:
        desk = Desk.of(project, policy)
    except InputError as error:
        if not is_text_file(project.table):
            project.close()
            raise
        opening = Opening(project, policy, stop)
        return opening, opening.close, error.problems
    except BaseException:
        project.close()
        raise
    return Pages(desk, stop), desk.close, ()


def serve(app: Any, listening: socket.socket, served: list[Any]) -> None:
    """Serve an application on a socket; `served` is given the server, so that somebody can end it."""
    import uvicorn

    from sfumato.studio.guard import Connection

    settings = uvicorn.Config(
        app,
        http=Connection,
        backlog=TAKEN,
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            # It has made as few wait as are taken at a time.
            listening.listen(WAITING)

    server = Server(settings)
    served.append(server)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def _stop(served: list[Any]) -> None:
    for server in served:
        # The answer to who asked is sent first.
        threading.Timer(0.2, lambda server=server: setattr(server, "should_exit", True)).start()


@contextlib.contextmanager
def listening_socket(port: int, last: int | None = None) -> Iterator[socket.socket]:
    """Listen on this computer alone; where no port is named, on the `last` one if it is free."""
    # Named, as asyncio sends at once only what is TCP by name; otherwise every answer waits 40 ms for a receipt.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port or last or 0))
        except OSError:
            if port or not last:
                raise
            listening.bind(("127.0.0.1", 0))
        # Whoever opens the address before the server is ready waits for it.
        listening.listen(WAITING)
    except OSError:
        listening.close()
        raise InputError(f"--port: {port} is in use; leave it out to take a free one") from None
    try:
        yield listening
    finally:
        listening.close()


@contextlib.contextmanager
def _folder(project: Path | None) -> Iterator[Path]:
    if project is not None:
        yield project.absolute()
        return
    # Not above: polars must come after its allocator was set.
    from sfumato.studio.project import PREFIX

    made = _new_private(PREFIX)
    folder = made / "project"
    try:
        made.mkdir(0o700)
        yield folder
    finally:
        if any(folder.glob("jobs/*/release/release.json")):
            say_at_terminal(f"The project holds releases and was kept: sfumato studio --project {folder}")
        else:
            shutil.rmtree(made, ignore_errors=True)


def _new_private(prefix: str) -> Path:
    """Name a new temporary folder; who removes it makes it, as a program that stops meanwhile never learns of it."""
    return Path(tempfile.gettempdir()) / f"{prefix}{secrets.token_hex(8)}"


def say_at_terminal(line: str) -> None:
    """Tell whoever sits at the terminal."""
    print(f"sfumato: {line}", file=sys.stderr, flush=True)
