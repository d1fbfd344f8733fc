"""An object store in memory that speaks as much of S3 as readers ask for: lists, sizes, and pieces of objects."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET, KEY = "hospital", "store-key-of-the-tests"
"""The bucket, and the name of the key that may read it."""


class ObjectStore(ThreadingHTTPServer):
    """Serves `objects`, bytes by name; whoever does not sign with the key is refused."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.objects: dict[str, bytes] = {}

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def put(self, folder: Path, name: str) -> str:
        """Take all files of a folder; return the address of the copy."""
        for path in folder.rglob("*"):
            if path.is_file():
                self.objects[f"{name}/{path.relative_to(folder)}"] = path.read_bytes()
        return f"s3://{BUCKET}/{name}"


class _Request(BaseHTTPRequestHandler):
    server: ObjectStore
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        """Tell the size of an object."""
        self._object(whole=False)

    def do_GET(self) -> None:
        """List the bucket, or send an object or a piece of it."""
        asked = urlsplit(self.path)
        if unquote(asked.path).strip("/") != BUCKET:
            return self._object(whole=True)
        (prefix,) = parse_qs(asked.query).get("prefix", [""])
        return self._send(200, self._listed(prefix), {"Content-Type": "application/xml"})

    def _listed(self, prefix: str) -> bytes:
        found = {name: data for name, data in sorted(self.server.objects.items()) if name.startswith(prefix)}
        contents = "".join(
            f"<Contents><Key>{escape(name)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f'<ETag>"{hashlib.md5(data).hexdigest()}"</ETag><Size>{len(data)}</Size></Contents>'
            for name, data in found.items()
        )
        counts = f"<KeyCount>{len(found)}</KeyCount><IsTruncated>false</IsTruncated>"
        return f"<ListBucketResult><Name>{BUCKET}</Name>{counts}{contents}</ListBucketResult>".encode()

    def _object(self, *, whole: bool) -> None:
        name = unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}/")
        data = self.server.objects.get(name)
        if data is None:
            return self._send(404, b"", {})
        headers = {"ETag": f'"{hashlib.md5(data).hexdigest()}"', "Last-Modified": formatdate(0, usegmt=True)}
        asked = self.headers.get("Range", "").removeprefix("bytes=")
        if not whole or not asked:
            return self._send(200, data, headers, whole=whole)
        first, _, last = asked.partition("-")
        start, stop = (int(first), int(last or len(data) - 1) + 1) if first else (len(data) - int(last), len(data))
        place = f"bytes {start}-{min(stop, len(data)) - 1}/{len(data)}"
        return self._send(206, data[start:stop], {**headers, "Content-Range": place})

    def _send(self, status: int, data: bytes, headers: dict[str, str], *, whole: bool = True) -> None:
        if f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
            status, data, headers = 403, b"", {}
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if whole and self.command != "HEAD":
            self.wfile.write(data)


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Run a store while the block goes on."""
    store = ObjectStore()
    thread = threading.Thread(target=store.serve_forever, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        store.shutdown()
        store.server_close()
        thread.join()
