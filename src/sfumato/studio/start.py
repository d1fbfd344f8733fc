"""The start page: work of late, and a table that is chosen, dropped or copied from a database."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import tomli_w
from starlette.applications import Starlette
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sfumato.cli.outcome import explained
from sfumato.errors import InputError, PolicyError
from sfumato.numbers import counted
from sfumato.studio.app import leaving, page_elsewhere, static
from sfumato.studio.guard import LARGE
from sfumato.studio.pages import answering, fragment, refusal, text, whole
from sfumato.studio.project import PREFIX, Project, locked, made_private, read_mark
from sfumato.studio.routes.columns import state
from sfumato.studio.words import say
from sfumato.table.databases.address import Address, address_of, is_database
from sfumato.table.databases.protocol import Relation, connector
from sfumato.whole_files import PRIVATE, read_regular_text, write_whole

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy

_DROPPED, _PROJECT = "dropped", "project"
_PLACE = ("sheet", "range", "hidden")
_MOST, _LISTED = 12, 40  # works that are remembered, and tables that are listed
# Rows of a database table by which the size of its copy is judged.
_TRIED = 1_000
# Bytes that stay free on the disk beside a file that is dropped.
_SPARE = 50_000_000
_TABLES = (
    *(".csv", ".tsv", ".tab", ".txt", ".dat", ".gz", ".zst", ".parquet", ".feather", ".arrow", ".xlsx", ".xls", ".ods"),
    *(".sav", ".zsav", ".dta", ".sas7bdat", ".xpt", ".json", ".jsonl", ".ndjson"),
)


def state_file() -> Path | None:
    """Name the file of recent work, as the system asks; None where it says of no place."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Application Support")
    else:
        given = os.environ.get("XDG_STATE_HOME", "")
        base = given if os.path.isabs(given) else os.path.expanduser("~/.local/state")
    return Path(base) / "sfumato" / "studio.toml" if os.path.isabs(base) else None


class Recent:
    """Work of late, last first: paths of table and project, and the time; `file`: where it is kept, if at all."""

    def __init__(self, file: Path | None) -> None:
        self._file = file

    @property
    def is_on(self) -> bool:
        """Whether anything is remembered."""
        return self._file is not None and not self._content().get("off", False)

    @property
    def works(self) -> list[dict[str, str]]:
        """Return the works whose table is still there."""
        listed = self._content().get("work", [])
        known = {"table", "project", "time"}
        found = [work for work in listed if {*work} == known] if isinstance(listed, list) else []
        return [work for work in found if Path(work["table"]).is_file()]

    def add(self, project: Project) -> None:
        """Remember a project."""
        if not self.is_on:
            return
        place = {"table": str(project.table), "project": str(project.folder)}
        work = {**place, "time": datetime.now(UTC).strftime("%Y-%m-%d %H:%M")}
        others = [one for one in self.works if (one["table"], one["project"]) != (work["table"], work["project"])]
        self._write({"work": [work, *others][:_MOST]})

    def forget(self) -> None:
        """Empty the list."""
        self._write({"off": True} if self._file is not None and not self.is_on else {})

    def switch(self, *, on: bool) -> None:
        """Remember nothing from now on, and forget what was; or remember again."""
        self._write({} if on else {"off": True})

    def _content(self) -> dict[str, Any]:
        if self._file is None:
            return {}
        with contextlib.suppress(OSError, ValueError):
            return tomllib.loads(read_regular_text(self._file))
        return {}

    def _write(self, content: dict[str, Any]) -> None:
        # Whoever may not write at home works all the same.
        with contextlib.suppress(OSError):
            if self._file is not None:
                self._file.parent.parent.mkdir(parents=True, exist_ok=True)
                made_private(self._file.parent)
                write_whole(self._file, tomli_w.dumps(content), PRIVATE)


def remove_left_files() -> None:
    """Remove what was dropped into a studio that was killed; its releases stay."""
    for made in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError, InputError):
            if not (made / _DROPPED).is_dir() or made.is_symlink():
                continue
            held = locked(made)
            try:
                remove_private(made)
            finally:
                if held is not None:
                    os.close(held)


def remove_private(made: Path) -> bool:
    """Remove a temporary folder; where its project holds releases these stay. Tell whether all went."""
    if any((made / _PROJECT).glob("jobs/*/release/release.json")):
        shutil.rmtree(made / _DROPPED, ignore_errors=True)
        return False
    shutil.rmtree(made, ignore_errors=True)
    return True


class Start:
    """The start page until a table is open; then the pages of its project, in a temporary folder of this studio."""

    def __init__(
        self,
        pages: Callable[[Project, Policy | None], tuple[Any, Callable[[], None], Sequence[str]]],
        private: Path,
        stop: Callable[[], None],
        policy: Policy | None = None,
        recent: Recent | None = None,
    ) -> None:
        self._pages, self._private, self._policy = pages, private, policy
        self.recent = Recent(state_file()) if recent is None else recent
        self.place = Path.cwd()
        self.database: tuple[Address, list[str]] | None = None
        """The database that was asked last, with its password, and its tables; forgotten when one of them is open."""
        self._held: int | None = None
        self._end: Callable[[], None] = lambda: None
        self._app: Any = Starlette(
            routes=[*ROUTES, Route("/static/{name}", static), leaving(stop)], exception_handlers={404: page_elsewhere}
        )
        self._app.state.start = self

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer with whichever pages there are."""
        await self._app(scope, receive, send)

    @property
    def tables(self) -> list[str]:
        """Name the tables in the folder in which the studio was begun."""
        with contextlib.suppress(OSError):
            found = sorted(
                path.name for path in self.place.iterdir() if path.suffix.lower() in _TABLES and path.is_file()
            )
            return [name for name in found if not name.startswith(".")][:_LISTED]
        return []

    def open(self, table: Path, folder: Path | None, asked: Mapping[str, Any], *, dropped: bool = False) -> str:
        """Open a table at its place, or a file that was dropped.

        `folder`: of the project; None: nothing is kept but releases. `asked`: where the table lies in a workbook.
        """
        source = {key: value.strip() for key in _PLACE if isinstance(value := asked.get(key), str) and value.strip()}
        kept = folder is not None
        project = Project.opened(folder or self._make() / _PROJECT, table, source, self.place if dropped else None)
        self._app, self._end, problems = self._pages(project, self._policy)
        if kept:
            self.recent.add(project)
        return "The page asks how the file is to be read." if problems else "The table is open."

    def connect(self, url: str, password: str) -> int:
        """Ask a database for its tables, and return how many there are."""
        self.database = None
        if not is_database(url):
            raise InputError("database: write its URL, such as postgresql://host/database or sqlite:///path")
        try:
            address = replace(address_of(url), password=password)
        except PolicyError as error:
            words = "database: leave the password out of the URL, and type it into the field beside it"
            raise InputError(*(words if "password in the URL" in line else line for line in error.problems)) from None
        with connector(address).reading(address) as session:
            found = list(dict.fromkeys(session.tables()))
        tables = [name for name in found if name.partition(".")[2] not in found]
        if not tables:
            raise InputError("database: there is no table that this user may read")
        self.database = address, tables
        return len(tables)

    def size_of(self, table: str) -> tuple[int, int, int]:
        """Return records and columns of a table of the database, and about how many bytes a copy has in memory."""
        address = self._asked(table)
        with connector(address).reading(address) as session:
            names, sql = session.names(session.table(table)), session.table(table).sql
            counted_rows = Relation(f"(SELECT count(*) AS n FROM {sql})", table)
            rows = int(session.read(counted_rows, ["n"]).item())
            first = session.read(Relation(f"(SELECT * FROM {sql} LIMIT {_TRIED})", table), names)
        return rows, len(names), int(rows * first.estimated_size() / max(1, first.height))

    def _asked(self, table: str) -> Address:
        if self.database is None or table not in self.database[1]:
            raise InputError("table: is none of those that are listed; ask the database again")
        return self.database[0]

    def copy(self, table: str) -> str:
        """Read a table of the database at one state into a private file, and open that."""
        address = self._asked(table)
        with connector(address).reading(address) as session:
            relation = session.table(table)
            frame = session.read(relation, session.names(relation))
        name = re.sub(r"[^\w-]", "_", table)[:100]
        with self._private_file(f"{name}.parquet") as (path, file):
            frame.write_parquet(file)
            file.close()
            said = self.open(path, None, {}, dropped=True)
        self.database = None
        return said

    @contextlib.contextmanager
    def _private_file(self, name: str) -> Iterator[tuple[Path, IO[bytes]]]:
        """Begin a private file; nothing stays of it where what is done with it fails."""
        path = made_private(self._make() / _DROPPED) / name
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                yield path, file
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    async def take(self, name: str, size: int, chunks: AsyncIterator[bytes]) -> Path:
        """Write a file that is dropped into a private one, a piece at a time; nothing stays of one that breaks off."""
        if not name or name != Path(name).name or name.startswith(".") or "\0" in name or len(name) > 200:
            raise InputError("the name of the file cannot be used; rename it")
        folder = made_private(self._make() / _DROPPED)
        free = shutil.disk_usage(folder).free
        if size + _SPARE > free:
            raise InputError(
                f"the file has {in_bytes(size)}, and only {in_bytes(free)} are free in {folder.parent.parent}; free "
                "some space, or name the file where the studio is begun"
            )
        written = 0
        with self._private_file(name) as (path, file):
            async for chunk in chunks:
                written += len(chunk)
                file.write(chunk)
            if written != size:
                raise InputError("the file did not arrive whole; drop it once more")
        return path

    def _make(self) -> Path:
        if not self._private.exists():
            made_private(self._private)
            self._held = locked(self._private)
        return self._private

    def close(self) -> Path | None:
        """Let go of the project and remove what was dropped; return the folder that stays as it holds releases."""
        self._end()
        stays = None if not self._private.exists() or remove_private(self._private) else self._private / _PROJECT
        if self._held is not None:
            os.close(self._held)
        return stays


def in_bytes(size: int) -> str:
    """Write a size as people do."""
    for unit, step in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= step:
            return f"{size / step:.1f} {unit}"
    return f"{size} bytes"


def show(request: Request) -> Response:
    """Show the start page."""
    start: Start = request.app.state.start
    works = [{**work, "number": number} for number, work in enumerate(start.recent.works)]
    return fragment(
        "start.html",
        works=works,
        is_on=start.recent.is_on,
        tables=start.tables,
        place=start.place,
        kinds=_TABLES,
        database=start.database,
    )


def open_here(request: Request, sent: FormData) -> str:
    """Open a table of the folder in which the studio was begun, at its place."""
    start: Start = request.app.state.start
    name = text(sent, "table")
    if name not in start.tables:
        raise InputError("table: is none of those that are listed; load the page again")
    folder = start.place / f"{Path(name).stem}-project" if text(sent, "keep") else None
    return start.open(start.place / name, folder, dict(sent))


def ask_database(request: Request, sent: FormData) -> str:
    """Ask a database for its tables; the password is held until one of them is open."""
    start: Start = request.app.state.start
    return f"The database has {counted(start.connect(text(sent, 'url').strip(), text(sent, 'password')), 'table')}."


def size_of_copy(request: Request) -> Response:
    """Say how large a table of the database is, before it is copied."""
    start: Start = request.app.state.start
    table = request.query_params.get("table", "")
    try:
        size, problems = start.size_of(table), list[str]()
    except Exception as error:
        size, problems = None, explained(error)[0]
    return fragment("size_of_copy.html", size=size, problems=problems, bytes=in_bytes)


def open_copy(request: Request, sent: FormData) -> str:
    """Open a copy of a table of the database that was asked."""
    start: Start = request.app.state.start
    return start.copy(text(sent, "table"))


def open_recent(request: Request, sent: FormData) -> str:
    """Go on with work of late."""
    start: Start = request.app.state.start
    works, number = start.recent.works, whole(text(sent, "work"), "work")
    if not 0 <= number < len(works) or not read_mark(Path(works[number]["project"])):
        raise InputError("work: its project is not there any more; open the table itself")
    return start.open(Path(works[number]["table"]), Path(works[number]["project"]), {})


def change_recent(request: Request, sent: FormData) -> str:
    """Empty the list of recent work, or switch it off or on."""
    recent: Recent = request.app.state.start.recent
    what = text(sent, "what")
    if what == "forget":
        recent.forget()
        return "The list is empty."
    recent.switch(on=what == "on")
    return "Work is remembered from now on." if what == "on" else "Nothing is remembered from now on."


async def take_file(request: Request) -> Response:
    """Take a file that was dropped or chosen, and open it."""
    from starlette.concurrency import run_in_threadpool

    start: Start = request.app.state.start
    length = request.headers.get("content-length", "")
    try:
        if not length.isdigit():
            raise InputError("the size of the file is not said")
        path = await start.take(request.query_params.get("name", ""), int(length), request.stream())
        try:
            said = await run_in_threadpool(lambda: start.open(path, None, request.query_params, dropped=True))
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    except Exception as error:
        return refusal(error)
    return JSONResponse({"said": say(said), "entry": 1})


ROUTES = [
    Route("/", show),
    Route("/events", state),
    Route(LARGE, take_file, methods=["POST"]),
    Route("/start/here", answering(open_here), methods=["POST"]),
    Route("/start/database", answering(ask_database), methods=["POST"]),
    Route("/start/size", size_of_copy),
    Route("/start/copy", answering(open_copy), methods=["POST"]),
    Route("/start/work", answering(open_recent), methods=["POST"]),
    Route("/start/recent", answering(change_recent), methods=["POST"]),
]
