"""A PostgreSQL server of one's own: in a temporary folder, on a Unix socket, as an ordinary user, and gone afterwards.

It stops when the program that started it ends, however that ends: a shell stands between, which reads a pipe.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NOBODY = 65534
_PATIENCE = 60
"""Seconds that a server may take to answer."""

_SHELL = """
"$1/postgres" -D "$2/data" -k "$2" -h '' -c fsync=off -c full_page_writes=off >"$2/log" 2>&1 &
read -r _
kill -QUIT $! 2>/dev/null
wait
rm -rf "$2"
"""
_WHO_MAY = "local all guarded scram-sha-256\nlocal all all trust\n"


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes
    ----------
    folder : pathlib.Path
        Of its socket and its data.
    """

    folder: Path

    def url(self, user: str = "steward", database: str = "postgres") -> str:
        """Return the URL of a database; `guarded` is a user who needs a password."""
        return f"postgresql://{user}@/{database}?host={self.folder}"

    @property
    def process(self) -> int:
        """Its first process."""
        with (self.folder / "data" / "postmaster.pid").open() as file:
            return int(file.readline())

    def kill(self) -> None:
        """End the server at once, without a word to whoever is connected."""
        os.kill(self.process, signal.SIGQUIT)

    def cpu(self) -> float:
        """CPU seconds of its first process and of all that served a connection and have ended; Linux alone."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements in one transaction; return the rows of the last."""
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(self.url()) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            rows = list(cursor.fetchall()) if cursor.description else []
            connection.commit()
            return rows


def binaries() -> Path | None:
    """Return the folder of the server's programs, of the newest version; None where there are none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    known = shutil.which("postgres")
    return Path(known).resolve().parent if known else None


@contextmanager
def postgresql_server() -> Iterator[Server]:
    """Start a server, and stop it when the block ends.

    Raises
    ------
    RuntimeError
        When it is not installed or does not start.
    """
    programs = binaries()
    if programs is None:
        raise RuntimeError("PostgreSQL is not installed; on Debian: apt-get install postgresql")
    # The name of a socket has at most 107 bytes, so that the folder cannot be just anywhere.
    folder = Path(tempfile.mkdtemp(prefix="sfumato-pg-", dir="/tmp"))
    ordinary: dict[str, Any] = {"cwd": folder}
    if os.getuid() == 0:
        # A server refuses to run as root.
        os.chown(folder, _NOBODY, _NOBODY)
        ordinary |= {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
    made = [programs / "initdb", "-D", folder / "data", "-U", "steward", "-A", "trust", "-E", "UTF8", "--locale=C"]
    subprocess.run([*made, "--no-sync"], check=True, capture_output=True, **ordinary)
    with (folder / "data" / "pg_hba.conf").open("w") as file:
        file.write(_WHO_MAY)
    shell = subprocess.Popen(
        ["sh", "-c", _SHELL, "sh", programs, folder], stdin=subprocess.PIPE, start_new_session=True, **ordinary
    )
    try:
        server = Server(folder)
        _await(server, shell)
        yield server
    finally:
        assert shell.stdin is not None
        shell.stdin.close()
        shell.wait(_PATIENCE)


def _await(server: Server, shell: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and shell.poll() is None:
        try:
            server.run("SELECT 1")
        except Exception:
            time.sleep(0.1)
        else:
            server.run("CREATE ROLE guarded LOGIN PASSWORD 'open sesame'")
            return
    raise RuntimeError(f"PostgreSQL does not start: {(server.folder / 'log').read_text()[-1000:]}")
