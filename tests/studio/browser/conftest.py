"""A browser of the system and a studio behind a real server; nothing is downloaded."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from studio.desks import people

NAMES = ("chromium", "google-chrome", "chrome", "chromium-browser")
AXE = Path(__file__).parent / "axe" / "axe.min.js"


def browser_path() -> str | None:
    said = os.environ.get("SFUMATO_BROWSER")
    return said or next((path for name in NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    path = browser_path()
    if path is None:
        said = "no browser: install chromium, or name one in SFUMATO_BROWSER"
        if os.environ.get("CI"):
            pytest.fail(said)
        pytest.skip(said)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield made
        made.close()


@dataclass
class Server:
    """A studio in a process of its own."""

    words: list[str]
    folder: Path | None = None
    process: subprocess.Popen[str] = field(init=False)
    address: str = field(init=False)
    said: list[str] = field(default_factory=list)

    def start(self) -> Server:
        command = [sys.executable, "-m", "sfumato.cli", "studio", *self.words, "--no-browser"]
        # What tests open is nobody's recent work.
        env = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")} if self.folder else None
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, encoding="utf-8", env=env, cwd=self.folder
        )
        assert self.process.stderr is not None
        first = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/open\?token=\S+", first)
        assert found, first
        self.address = found[0]
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self.said.extend(self.process.stderr)

    @property
    def root(self) -> str:
        return self.address.partition("/open")[0]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(15)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Any]:
    """Start servers, and stop them afterwards."""
    started: list[Server] = []

    def start(*words: str) -> Server:
        started.append(Server(list(words), tmp_path).start())
        return started[-1]

    yield start
    for server in started:
        server.stop()
        if server.process.stderr is not None:
            server.process.stderr.close()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return people(tmp_path / "people.csv", rows=200)


class Watched:
    """A page whose console, errors and requests are kept."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.lines: list[str] = []
        self.elsewhere: list[str] = []
        page.on("console", lambda line: self.lines.append(line.text))
        page.on("pageerror", lambda error: self.lines.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))
        page.on("dialog", lambda dialog: dialog.accept())

    def _asked(self, url: str) -> None:
        if not url.startswith("http://127.0.0.1:"):
            self.elsewhere.append(url)

    def check(self) -> None:
        """No line on the console, no violation of the content policy, and nobody else was asked."""
        assert self.lines == []
        assert self.elsewhere == []

    def axe(self) -> list[str]:
        """Return what axe finds, with the rule and the place."""
        self.page.evaluate(AXE.read_text(encoding="utf-8") + "; undefined")
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {node['target']} {node['failureSummary']}"
            for one in found["violations"]
            for node in one["nodes"]
        ]


@pytest.fixture
def watched(browser: Any) -> Iterator[Any]:
    """Open pages that are watched; whatever they said or asked elsewhere fails the test at its end."""
    contexts: list[Any] = []
    pages: list[Watched] = []

    def opened(
        server: Server, *, width: int = 1400, scheme: str = "light", context: Any = None, path: str = ""
    ) -> Watched:
        if context is None:
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
            )
            contexts.append(context)
            page = Watched(context.new_page())
            page.page.goto(server.address)
        else:
            page = Watched(context.new_page())
            page.page.goto(server.root + (path or "/"))
        pages.append(page)
        return page

    yield opened
    for page in pages:
        page.check()
    for context in contexts:
        context.close()
