"""The studio: how soon a page answers, beside what grouping the same codes takes; cancelling, silence and memory.

A real server in a process of its own is asked as a browser asks it. Seconds stand as a share of those that a bar
allows.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.census import QUASI_IDENTIFYING, SENSITIVE, census
from benchmarks.measuring import median, run_here, run_repeatedly
from benchmarks.results import Figure
from benchmarks.settings import Settings
from sfumato.classes.partition import group_records

NAME = "studio"
SHOWN = {30_000: 0.05, 1_000_000: 0.2, 10_000_000: 2.0}
"""Records → seconds from the change of a role to the class sizes."""
STARTED, PAGE, PAGE_MEANWHILE, FIRST_PAINT, PAINTED = 1.5, 0.02, 0.05, 0.3, 120_000
SILENT, CANCELLED = 1.0, 1.0
MOST_STARTED = 1_000_000
"""Records up to which the first rows have a bar; more are read for longer."""
COLUMNS = 5
LISTENED, CLUSTERED = 8.0, 300_000
"""Seconds in which a run is listened to, and records that keep the slowest anonymizer busy for longer."""
_TICK = os.sysconf("SC_CLK_TCK")


def run(settings: Settings) -> Iterator[Figure]:
    """Measure on tables of the census; the largest only in a whole run."""
    with tempfile.TemporaryDirectory() as folder:
        for rows, bar in SHOWN.items():
            if rows > settings.checked_rows and not settings.is_whole:
                continue
            path = Path(folder) / f"census-{rows}.parquet"
            frame = census(rows)
            frame.write_parquet(path)
            yield from _answers(path, frame, bar, settings.repeats)
        path = Path(folder) / "census-jobs.parquet"
        census(CLUSTERED).write_parquet(path)
        yield from _jobs(path)


def _answers(path: Path, frame: pl.DataFrame, bar: float, repeats: int) -> Iterator[Figure]:
    size = f"{frame.height:,} records"
    began = time.perf_counter()
    with studio(path) as server:
        first = server.get("/")
        server.rows(0)
        started, spent = time.perf_counter() - began, server.cpu()
        held = frame.height <= MOST_STARTED
        yield _share(f"start → the first rows, {size}", started, STARTED, f"{len(first.content):,} bytes", is_held=held)
        # What the start costs when nothing else runs on the machine.
        yield _share(f"CPU from the start to the first rows, {size}", spent, STARTED, "", is_held=held)
        if frame.height == min(SHOWN):
            yield _page_weight(server)
            yield from _seen_in_a_browser(server, repeats)
        chosen = QUASI_IDENTIFYING[:COLUMNS]
        for column in chosen:
            server.set_role(column, "quasi-identifying")
        server.sizes()
        last = chosen[-1]
        times, shares = [], []
        for turn in range(2 * repeats):
            before = server.cpu()
            cost, _ = run_here(lambda role=turn % 2: server.change(last, role))
            times.append(cost.wall)
            shares.append(server.cpu() - before)
        kernel = _grouping(frame, chosen)
        yield _share(f"change of a role → class sizes of {COLUMNS} columns, {size}", _middle(times), bar)
        allowed = 1.5 * kernel + 0.02
        detail = f"{_middle(shares):.3f} s of the server's CPU; grouping alone {kernel:.3f} s"
        ratio = _middle(shares) / allowed
        what = f"the server's CPU for it ÷ (1.5 × grouping + 20 ms), {size}"
        yield Figure(NAME, what, ratio, f"{ratio:.2f} ×", 1, True, detail)
        grid = median([run_here(lambda at=at: server.rows(at))[0] for at in _places(frame.height)]).wall
        yield _share(f"200 rows of the grid, {size}", grid, PAGE)
        yield _memory(server, frame, size)


def _page_weight(server: Studio) -> Figure:
    """Weigh the page of columns with everything that it loads."""
    html = server.get("/columns").text
    loaded = dict.fromkeys(re.findall(r'(?:src|href)="(/static/[^"]+)"', html))
    weight = len(html.encode()) + sum(len(server.get(name).content) for name in loaded)
    detail = f"{weight:,} bytes in {1 + len(loaded)} answers"
    share = weight / PAINTED
    return Figure(NAME, "bytes of the page of columns ÷ 120 kB", share, f"{share:.2f}", 1, True, detail)


def _seen_in_a_browser(server: Studio, repeats: int) -> Iterator[Figure]:
    """Measure the first paint of the page of columns, and count what it asks of others; nothing without a browser."""
    browser = shutil.which(os.environ.get("SFUMATO_BROWSER", "chromium")) or shutil.which("google-chrome")
    if browser is None or find_spec("playwright") is None:
        return
    from playwright.sync_api import sync_playwright

    address = str(server.client.base_url).rstrip("/")
    elsewhere: list[str] = []
    paints: list[float] = []
    cookies = [{"name": name, "value": value, "url": address} for name, value in server.client.cookies.items()]
    with sync_playwright() as playwright:
        context = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_context()
        context.add_cookies(cookies)
        for _ in range(repeats + 1):
            page = context.new_page()
            page.on("request", lambda asked: elsewhere.extend([asked.url] * (not asked.url.startswith(address))))
            page.goto(f"{address}/columns")
            paints.append(_painted(page))
            page.close()
    # The first one loads what the browser keeps.
    yield _share("first paint of the page of columns", _middle(paints[1:]), FIRST_PAINT, f"{paints[0]:.3f} s at first")
    what = "requests of a page to elsewhere"
    yield Figure(NAME, what, len(elsewhere), str(len(elsewhere)), 0, True, f"{repeats + 1} pages")


def _painted(page: Any) -> float:
    """Wait for the first paint with content; return the seconds that it took."""
    asked = "performance.getEntriesByName('first-contentful-paint').map(paint => paint.startTime)"
    while not (painted := page.evaluate(asked)):
        page.wait_for_timeout(20)
    return float(painted[0]) / 1000


def _memory(server: Studio, frame: pl.DataFrame, size: str) -> Figure:
    peak, allowed = server.peak(), 1.5 * frame.estimated_size() + 150e6
    detail = f"{peak / 1e6:,.0f} MB at most, where the frame has {frame.estimated_size() / 1e6:,.0f} MB"
    what = f"peak memory of the server ÷ (1.5 × frame + 150 MB), {size}"
    return Figure(NAME, what, peak / allowed, f"{peak / allowed:.2f} ×", 1, True, detail)


def _jobs(path: Path) -> Iterator[Figure]:
    """Run the slowest anonymizer, listen, and cancel it."""
    with studio(path) as server:
        for column in QUASI_IDENTIFYING[:COLUMNS]:
            server.set_role(column, "quasi-identifying")
        for column in (*QUASI_IDENTIFYING[COLUMNS:], SENSITIVE):
            server.set_role(column, "identifying")
        server.post("/setup/promises", what="add", name="k-anonymity")
        server.post("/setup/promises", what="method", name="k-member")
        server.post("/runs/start", what="release")
        silent = server.longest_silence(1, listening=LISTENED)
        yield _share(f"longest silence of a run (k-member, {LISTENED:g} s)", silent, SILENT)
        grid = median([run_here(lambda at=at: server.rows(at))[0] for at in _places(CLUSTERED)]).wall
        yield _share("200 rows of the grid during a run", grid, PAGE_MEANWHILE)
        cost, _ = run_here(lambda: server.cancel(1))
        yield _share("cancel → free", cost.wall, CANCELLED)


class Studio:
    """A server of the studio in a process of its own, and a client that it let in."""

    def __init__(self, path: Path) -> None:
        import httpx

        words = [sys.executable, "-m", "sfumato.cli", "studio", str(path), "--no-browser"]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, encoding="utf-8")
        assert self.process.stderr is not None
        found = re.search(r"(http://127\.0\.0\.1:\d+)/open\?token=\S+", self.process.stderr.readline())
        assert found is not None
        self.client = httpx.Client(base_url=found[1], timeout=120)
        self.client.get(found[0].removeprefix(found[1]))
        self.questions = 0
        self.entry = int(re.findall(r'data-entry="(\d+)"', self.get("/").text)[0])

    def get(self, path: str) -> Any:
        """Ask for a page."""
        answer = self.client.get(path)
        answer.raise_for_status()
        return answer

    def post(self, path: str, **fields: str) -> dict[str, Any]:
        """Write, as the page does."""
        answer = self.client.post(path, data={"entry": str(self.entry), **fields}, headers={"X-Sfumato": "1"})
        answer.raise_for_status()
        said: dict[str, Any] = answer.json()
        self.entry = said["entry"]
        return said

    def set_role(self, column: str, role: str) -> None:
        """Give a column a role."""
        self.post("/setup/column", column=column, what="role", value=role)

    def sizes(self) -> None:
        """Ask for the class sizes of the setup that stands."""
        self.questions += 1
        assert self.get(f"/sizes?n={self.questions}").status_code == 200

    def change(self, column: str, role: int) -> None:
        """Take a column out of the setup, or back into it, and see what becomes of the class sizes."""
        self.set_role(column, ("insensitive", "quasi-identifying")[role])
        self.sizes()

    def rows(self, start: int) -> None:
        """Ask for rows of the grid."""
        assert self.get(f"/grid?start={start}&count=200").json()

    def longest_silence(self, run: int, listening: float) -> float:
        """Listen to a run for some seconds, and return the longest time in which it said nothing new."""
        until, heard, longest = time.perf_counter() + listening, time.perf_counter(), 0.0
        with self.client.stream("GET", f"/runs/{run}/events") as stream:
            for line in stream.iter_lines():
                now = time.perf_counter()
                if line.startswith("data:"):
                    longest, heard = max(longest, now - heard), now
                    assert json.loads(line[5:])["state"] in ("waiting", "running"), line
                if now > until:
                    break
        return max(longest, time.perf_counter() - heard)

    def cancel(self, run: int) -> None:
        """Cancel a run, and wait until nothing runs."""
        self.post("/runs/cancel", run=str(run))
        with self.client.stream("GET", f"/runs/{run}/events") as stream:
            assert any('"cancelled"' in line for line in stream.iter_lines())

    def cpu(self) -> float:
        """CPU seconds of the server so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def peak(self) -> int:
        """Largest resident memory of the server, bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(re.findall(r"VmHWM:\s+(\d+)", status)[0])

    def stop(self) -> None:
        """End the server."""
        self.client.close()
        self.process.terminate()
        self.process.wait(15)
        if self.process.stderr is not None:
            self.process.stderr.close()


@contextmanager
def studio(path: Path) -> Iterator[Studio]:
    """Open a table, and close the studio afterwards."""
    server = Studio(path)
    try:
        yield server
    finally:
        server.stop()


def _grouping(frame: pl.DataFrame, names: Sequence[str]) -> float:
    """Return the CPU seconds of grouping the codes of some columns."""
    codes = np.column_stack([frame[name].rank("dense").to_numpy().astype(np.uint32) - 1 for name in names])
    return run_repeatedly(lambda: group_records(codes), 5)[0].cpu


def _places(height: int) -> list[int]:
    return [int(share * (height - 200)) for share in (0, 0.25, 0.5, 0.75, 1)]


def _share(what: str, seconds: float, allowed: float, detail: str = "", *, is_held: bool = True) -> Figure:
    """Return seconds as a share of those that are allowed; unless `is_held`, they are told and held against nothing."""
    told = f"{seconds:.3f} s of {allowed:g} s" + (f"; {detail}" if detail else "")
    return Figure(NAME, what, seconds / allowed, f"{seconds / allowed:.2f}", 1 if is_held else None, True, told)


def _middle(values: Sequence[float]) -> float:
    return float(np.median(values))
