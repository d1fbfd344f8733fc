"""Who may talk to the studio: the browser that was given the token, asking from a page of ours, and nobody else.

Other users of the machine can reach the port, and other pages in the same browser can send requests there. So the token
is the guard, not the address; and what a page of somebody else sends is refused whether or not the browser adds the
cookie.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from sfumato.studio.words import asked_language, reader, say
from sfumato.whole_files import PRIVATE, write_whole

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Content policy of every page; a report, which is shown in a frame without rights, has its own."""
FRAMED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'"
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "SAMEORIGIN",
}
OURS = "x-sfumato"
"""Header that every write has; another page cannot send it without asking the server first, which never allows it."""
MOST = 1_000_000
"""Bytes of a request's body."""
LARGE = "/start/file"
"""Where a file of any size may be sent, a piece at a time, until a table is open."""
LANGUAGE = "sfumato-language"
"""Cookie of the language that somebody chose; every studio on this computer has it."""
IDLE = 15 * 60
"""Seconds without a request after which the studio locks."""
PATIENCE = 10.0
"""Seconds that a connection has for the head of a request."""
AT_ONCE = 64
"""Connections that are held open; a browser opens six. Every system lets a program have four times as many files."""


class Guard:
    """Middleware that lets through only what the one browser asks.

    * `app`: what is guarded.
    * `port`: the port that the server listens on.
    * `say`: told a new address to open after the studio has locked itself.
    * `clock`: seconds; for tests.
    * `kept`: a private file with the port and the digest of the cookie that was given last: a page goes on after the
      studio was killed and begun again. Nobody can make the cookie of it; it serves as long as one that lies idle.
    """

    def __init__(
        self,
        app: Any,
        port: int,
        say: Callable[[str], None] = print,
        clock: Callable[[], float] = time.monotonic,
        kept: Path | None = None,
    ) -> None:
        self._app, self._port, self._say, self._clock, self._kept = app, port, say, clock, kept
        self._cookie = f"sfumato-{port}"
        last = None if kept is None else last_session(kept)
        self._session = last[1] if last is not None and last[0] == port else None
        self._seen = clock()
        self.token: str | None = secrets.token_urlsafe(32)
        self.when_opened: Callable[[], None] = lambda: None

    @property
    def address(self) -> str:
        """Where to open the studio, once."""
        return f"http://127.0.0.1:{self._port}/open?token={self.token}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request through, or answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        request = Request(scope)
        reader.set(asked_language(request.cookies.get(LANGUAGE, ""), request.headers.get("accept-language", "")))
        response = self._refusal(request) or self._own(request)
        if response is not None:
            response.headers.update(HEADERS)
            await response(scope, receive, send)
            return
        await self._app(scope, receive if request.url.path == LARGE else _limited(receive), _with_headers(send))

    def _own(self, request: Request) -> Response | None:
        """Answer what no page answers; None for all else."""
        if request.url.path == "/open":
            return self._opened(request)
        return _in_language(request) if (request.method, request.url.path) == ("POST", "/language") else None

    def _refusal(self, request: Request) -> Response | None:
        """Say why a request is refused; None lets it through."""
        headers = request.headers
        if headers.get("host", "") not in self._hosts() or len(headers.getlist("host")) != 1:
            return PlainTextResponse("This is not the address of the studio.\n", 421)
        if not self._is_from_us(headers, request):
            return PlainTextResponse("Refused: another page asks.\n", 403)
        if request.method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("Refused.\n", 405)
        if request.method == "POST" and headers.get(OURS) != "1":
            return PlainTextResponse("Refused: the request does not come from the studio's page.\n", 403)
        if request.url.path != LARGE and _is_too_long(headers):
            return PlainTextResponse("The request is too long.\n", 413)
        return None if request.url.path == "/open" else self._who(request)

    def _who(self, request: Request) -> Response | None:
        given = request.cookies.get(self._cookie, "")
        if self._session is None or not hmac.compare_digest(_digest(given), self._session):
            return PlainTextResponse(say("Open the studio by the address that the terminal shows.") + "\n", 401)
        now = self._clock()
        if now - self._seen > IDLE:
            self._lock()
            locked = say("The studio is locked. The terminal shows an address that opens it again.")
            return PlainTextResponse(locked, 401)
        # A page that only watches a job is not somebody at the keyboard.
        if not request.url.path.endswith("/events"):
            if self._kept is not None and now - self._seen > IDLE / 15:
                self._keep()
            self._seen = now
        return None

    def _lock(self) -> None:
        self._session = None
        self.forget()
        self.token = secrets.token_urlsafe(32)
        self._say(f"The studio was idle and has locked itself. Open it again: {self.address}")

    def _opened(self, request: Request) -> Response:
        given = request.query_params.get("token", "")
        if self.token is None or not hmac.compare_digest(given.encode(), self.token.encode()):
            return PlainTextResponse(say("This address has been used, or is wrong.") + "\n", 401)
        cookie = secrets.token_urlsafe(32)
        self.token, self._session, self._seen = None, _digest(cookie), self._clock()
        self._keep()
        self.when_opened()
        # What begins elsewhere, as with the file that opens the browser, carries no cookie to its end: a page of ours
        # asks for the next one.
        is_ours = request.headers.get("sec-fetch-site") != "cross-site"
        response = RedirectResponse("/", 303) if is_ours else PlainTextResponse("", headers={"Refresh": "0; url=/"})
        response.set_cookie(self._cookie, cookie, httponly=True, samesite="strict", path="/")
        return response

    def _keep(self) -> None:
        if self._kept is not None and self._session is not None:
            write_whole(self._kept, f"{self._port} {self._session}", PRIVATE)

    def forget(self) -> None:
        """Let no page in that was open before."""
        if self._kept is not None:
            self._kept.unlink(missing_ok=True)

    def _hosts(self) -> set[str]:
        return {f"{host}:{self._port}" for host in ("127.0.0.1", "localhost", "[::1]")}

    def _is_from_us(self, headers: Headers, request: Request) -> bool:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts()}:
            return False
        # The address from the terminal is opened from nowhere; the file that opens the browser has the token.
        return site in (None, "same-origin", "none") or (site == "cross-site" and request.url.path == "/open")


def last_session(kept: Path) -> tuple[int, str] | None:
    """Return the port of the studio that ran here last, and the digest of its cookie; None if that is long ago."""
    try:
        if time.time() - kept.stat().st_mtime > IDLE:
            return None
        port, digest = kept.read_text(encoding="ascii").split()
        return int(port), digest
    except (OSError, ValueError):
        return None


def _in_language(request: Request) -> Response:
    """Remember the language that somebody chose."""
    response = PlainTextResponse("")
    chosen = asked_language(request.query_params.get("value", ""), "")
    response.set_cookie(LANGUAGE, chosen, httponly=True, samesite="strict", path="/", max_age=365 * 86_400)
    return response


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()


def _is_too_long(headers: Headers) -> bool:
    length = headers.get("content-length", "0")
    return not length.isdigit() or int(length) > MOST


def _limited(receive: Any) -> Any:
    """Stop reading a body that is longer than it said."""
    read = 0

    async def limited() -> Any:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        return message if read <= MOST else {"type": "http.disconnect"}

    return limited


def _with_headers(send: Any) -> Any:
    async def with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return with_headers


class Connection(H11Protocol):
    """A connection that may neither wait for ever nor keep others out.

    Where too many are open, the one goes that waited longest without a request; who asks at once is heard.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._patience: asyncio.TimerHandle | None = self.loop.call_later(PATIENCE, transport.abort)
        held = [
            other for other in self.connections if isinstance(other, Connection) and not other.transport.is_closing()
        ]
        waiting = [other for other in held if other.cycle is None or other.cycle.response_complete]
        if len(held) > AT_ONCE and waiting:
            min(waiting, key=lambda other: other._since).transport.abort()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._since = self.loop.time()
        super().on_response_complete()

    def data_received(self, data: bytes) -> None:
        """Take some bytes of a request; its head must be whole in time."""
        super().data_received(data)
        is_in_head = self.conn.their_state is h11.IDLE
        if not is_in_head:
            self._forget()
        elif self._patience is None:
            self._patience = self.loop.call_later(PATIENCE, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._forget()
        super().connection_lost(exc)

    def _forget(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
