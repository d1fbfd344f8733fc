"""Which database is meant: URLs, without passwords."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit

from sfumato.errors import InputError, PolicyError

KINDS = {"postgresql": "postgresql", "postgres": "postgresql", "sqlite": "sqlite", "duckdb": "duckdb"}
"""Scheme → the module that knows the database."""

_OURS = ("table", "schema")
"""Parameters of a URL that are for us, not for the driver."""
_SECRET = ("password", "secret")


@dataclass(frozen=True)
class Address:
    """Where a database is."""

    kind: str  # name of the module that knows it
    target: str  # What its driver is given: a URL, or the path of a file. It holds no password.
    shown: str  # what messages call it: neither a user nor parameters are in it
    # `table`, `schema`: as the URL itself names them
    table: str | None = None
    schema: str | None = None
    # typed on a page for one connection; no message shows it
    password: str = field(default="", repr=False)

    @property
    def for_driver(self) -> str:
        """The target with the password, for the driver alone."""
        more = f"{'&' if '?' in self.target else '?'}password={quote(self.password, safe='')}"
        return f"{self.target}{more}" if self.password else self.target

    @property
    def url(self) -> str:
        """The database as a command takes it, without user and parameters."""
        return self.shown if self.kind == "postgresql" else f"{self.kind}:///{self.target}"

    def __repr__(self) -> str:
        """Return what may be shown."""
        return f"Address({self.shown})"


def is_database(source: object) -> bool:
    """Tell whether something is the URL of a database of a known kind."""
    return isinstance(source, str) and source.partition("://")[0].lower() in KINDS and "://" in source


def names_release(source: object) -> bool:
    """Tell whether something is the URL of a database that names a schema, where a release lies, and no table.

    Raises ``PolicyError`` when a password is in it, or it cannot be read.
    """
    if not is_database(source):
        return False
    address = address_of(str(source))
    return address.schema is not None and address.table is None


def is_database_path(path: os.PathLike[str]) -> bool:
    """Tell whether a path was made of such a URL, and has lost a slash."""
    scheme, found, _ = os.fspath(path).partition(":/")
    return bool(found) and scheme.lower() in KINDS


def address_of(url: str) -> Address:
    """Read a URL: ``postgresql://host/database`` as libpq does, ``sqlite:///path`` or ``duckdb:///path``.

    A path from the root has a fourth slash. ``?table=...`` and ``?schema=...`` name what is meant. A password in it is
    refused.
    """
    scheme, _, rest = url.partition("://")
    kind = KINDS[scheme.lower()]
    place, _, query = rest.partition("?")
    settings = [part.partition("=") for part in query.split("&") if part]
    if any(word in key.lower() for key, _, _ in settings for word in _SECRET) or ":" in place.rpartition("@")[0]:
        raise PolicyError(
            "there is a password in the URL of the database. The history of commands and the list of processes show "
            "it. Leave it out, and give it in the environment (PGPASSWORD), a password file (~/.pgpass) or a service "
            "file (PGSERVICE)"
        )
    ours = {key: unquote(value) for key, _, value in settings if key in _OURS}
    others = "&".join("".join(parts) for parts in settings if parts[0] not in _OURS)
    if kind == "postgresql":
        target = f"postgresql://{place}" + (f"?{others}" if others else "")
        return Address(kind, target, _shown(place), **ours)
    return Address(kind, _file(scheme, place, others), f"{kind} file {_name(place)}", **ours)


def _shown(place: str) -> str:
    try:
        parts = urlsplit(f"postgresql://{place}")
    except ValueError:
        raise PolicyError("the URL of the database cannot be read; write postgresql://host/database") from None
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _file(scheme: str, place: str, others: str) -> str:
    if not place.startswith("/") or len(place) < 2 or others:
        raise PolicyError(
            f"the URL of the database cannot be read; write {scheme}:///path/of/file, with a fourth slash for a path "
            "from the root"
        )
    return unquote(place[1:])


def _name(place: str) -> str:
    return os.path.basename(unquote(place))


def existing_file(address: Address) -> str:
    """Return the path of a database that is a file. Raises ``InputError`` when there is none."""
    if os.path.isfile(address.target):
        return address.target
    hint = "" if os.path.isabs(address.target) else "; a path from the root has four slashes"
    raise InputError(f"there is no such database file; check the path{hint}")
