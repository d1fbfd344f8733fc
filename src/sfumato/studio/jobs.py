"""Jobs of the studio: the words of each command, one at a time, each a process that can be killed, with its record."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError
from sfumato.numbers import counted
from sfumato.studio.project import HistoryEntry, Project
from sfumato.whole_files import PRIVATE, read_regular_text, write_whole

if TYPE_CHECKING:
    from sfumato.evidence.context import Decision
    from sfumato.policy.parts import Context
    from sfumato.policy.policy import Policy

WAITING, RUNNING, DONE, FAILED, CANCELLED, LOST = "waiting", "running", "done", "failed", "cancelled", "interrupted"
ENDED = (DONE, FAILED, CANCELLED, LOST)
RECORD, POLICY, RELEASE = "job.json", "policy.toml", "release"
"""What lies in the folder of a job."""
_MOST_LINES = 50
LATER = 2.0
"""Seconds after which the first spare process is started."""


@dataclass(frozen=True)
class Job:
    """One job, as its record says it."""

    number: int
    kind: str  # what it does: ``"release"``, ``"try"``, ``"attack"``, ``"series"``, ``"report"`` or one that compares
    words: list[str]  # the words of the command, as the page shows them
    entry: int  # the entry of the history that it was made from
    title: str
    about: int | None = None  # the release that it is about, where it is not one itself
    policy: str = ""  # the policy, in its canonical form
    table: str = ""  # the sha256 of the original
    state: str = WAITING
    # `begun`, `ended`: when, in UTC
    begun: str = ""
    ended: str = ""
    code: int | None = None  # the exit code of the command
    problems: list[str] = field(default_factory=list)  # what it said
    result: Any = None  # what it printed, for machines
    seconds: float = 0.0

    @property
    def has_ended(self) -> bool:
        """Whether it is over, one way or another."""
        return self.state in ENDED


@dataclass(frozen=True)
class Progress:
    """How far a job is."""

    what: str = "waiting"
    done: int = 0
    total: int = 0
    seconds: float = 0.0


class Jobs:
    """The queue of a project's jobs, each in a folder of its number, and the record of those that ended."""

    def __init__(self, folder: Path, *, spare: bool = True) -> None:
        self._folder, self._keeps_spare = folder, spare
        self._jobs = {job.number: job for job in map(_found, sorted(folder.glob(f"*/{RECORD}"))) if job is not None}
        self._progress: dict[int, Progress] = {}
        self._begun: dict[int, float] = {}
        self._queue: deque[int] = deque()
        self._lock = threading.RLock()
        self._running: tuple[int, subprocess.Popen[str]] | None = None
        self._ready: subprocess.Popen[str] | None = None
        self._watcher: threading.Thread | None = None
        self._closed = False
        # The first page comes first: both processes load the same library.
        self._preparing = threading.Timer(LATER, self._prepare_now)
        self._preparing.daemon = True
        self._preparing.start()

    @property
    def all(self) -> list[Job]:
        """All jobs, the latest first."""
        with self._lock:
            return [self._jobs[number] for number in sorted(self._jobs, reverse=True)]

    def of_kind(self, *kinds: str) -> list[Job]:
        """Jobs of some kinds, the latest first."""
        return [job for job in self.all if job.kind in kinds]

    def get(self, number: int) -> Job:
        """Return one job, or raise InputError."""
        with self._lock:
            if number not in self._jobs:
                raise InputError("there is no such run; load the page again")
            return self._jobs[number]

    def progress(self, number: int) -> Progress:
        """Return how far a job is; the clock is that of the studio, whatever the job's process is busy with."""
        with self._lock:
            progress, begun = self._progress.get(number, Progress()), self._begun.get(number)
            return progress if begun is None else replace(progress, seconds=round(time.monotonic() - begun, 1))

    @property
    def under_way(self) -> bool:
        """Whether a job runs or waits."""
        with self._lock:
            return any(not job.has_ended for job in self._jobs.values())

    def folder_of(self, number: int) -> Path:
        """Return the folder of a job."""
        return self._folder / f"{number:04}"

    def add(self, job: Callable[[int, Path], Job]) -> Job:
        """Put a job into the queue; `job` makes it from its number and its folder, which is there already."""
        with self._lock:
            number = max(self._jobs, default=0) + 1
            folder = self.folder_of(number)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700)
            try:
                made = job(number, folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self._keep(made)
            self._queue.append(number)
            self._next()
            return self._jobs[number]

    def cancel(self, number: int) -> None:
        """End a job at once; nothing of what it wrote is kept."""
        with self._lock:
            job = self.get(number)
            if job.has_ended:
                return
            if number in self._queue:
                self._queue.remove(number)
            process = self._running[1] if self._running is not None and self._running[0] == number else None
            self._keep(replace(job, state=CANCELLED, ended=_now()))
        if process is not None:
            _kill(process)
        _cleared(self.folder_of(number))

    def close(self) -> None:
        """End all jobs and the spare process."""
        with self._lock:
            self._closed = True
            under_way = [job.number for job in self._jobs.values() if not job.has_ended]
            ready, self._ready = self._ready, None
        self._preparing.cancel()
        for number in under_way:
            self.cancel(number)
        if ready is not None:
            _kill(ready)
            _close_pipes(ready)
        if self._watcher is not None:
            self._watcher.join(timeout=5)

    def _keep(self, job: Job) -> None:
        self._jobs[job.number] = job
        write_whole(self.folder_of(job.number) / RECORD, json.dumps(asdict(job)), PRIVATE)

    def _prepare_now(self) -> None:
        with self._lock:
            if self._running is None:
                self._prepare()

    def _prepare(self) -> None:
        if self._keeps_spare and self._ready is None and not self._closed:
            self._ready = _spare()

    def _next(self) -> None:
        with self._lock:
            if self._running is not None or not self._queue or self._closed:
                return
            number = self._queue.popleft()
            process = self._ready if self._ready is not None and self._ready.poll() is None else _spare()
            self._ready = None
            self._running = number, process
            job = replace(self._jobs[number], state=RUNNING, begun=_now())
            self._keep(job)
            self._progress[number], self._begun[number] = Progress("starting"), time.monotonic()
            self._watcher = threading.Thread(target=self._watch, args=(job, process), daemon=True, name="sfumato-job")
        self._watcher.start()

    def _watch(self, job: Job, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        printed: list[str] = []
        out = threading.Thread(target=lambda pipe: printed.append(pipe.read()), args=(process.stdout,), daemon=True)
        out.start()
        with suppress(OSError):
            process.stdin.write(json.dumps([*job.words, "--progress", "json"]) + "\n")
            process.stdin.flush()
        problems = self._follow(job.number, process)
        out.join()
        code = process.wait()
        _close_pipes(process)
        self._end(job, code, problems, "".join(printed))

    def _follow(self, number: int, process: subprocess.Popen[str]) -> list[str]:
        """Follow what a job says of its progress, and return everything else that it says."""
        problems: list[str] = []
        assert process.stderr is not None
        for line in process.stderr:
            progress = _progress(line)
            if progress is not None:
                with self._lock:
                    self._progress[number] = progress
            elif line.strip() and len(problems) < _MOST_LINES:
                problems.append(line.strip().removeprefix("sfumato: "))
        return problems

    def _end(self, job: Job, code: int, messages: list[str], printed: str) -> None:
        seconds = self.progress(job.number).seconds
        with self._lock:
            self._running = None
            self._begun.pop(job.number, None)
            if self._jobs[job.number].state == RUNNING:
                state = DONE if code == 0 else FAILED
                problems = messages if code == 0 or messages else [f"the process ended by itself (exit code {code})"]
                self._keep(
                    replace(
                        self._jobs[job.number],
                        state=state,
                        ended=_now(),
                        code=code,
                        problems=problems,
                        result=_parsed(printed),
                        seconds=seconds,
                    )
                )
            ended = self._jobs[job.number]
            self._prepare()
        if ended.state != DONE:
            _cleared(self.folder_of(job.number))
        self._next()


def _spare() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "sfumato.studio.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process and what it has started."""
    with suppress(OSError):
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _close_pipes(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _progress(line: str) -> Progress | None:
    if not line.startswith('{"progress"'):
        return None
    try:
        message = json.loads(line)
        return Progress(str(message["progress"]), int(message["done"]), int(message["total"]))
    except (ValueError, KeyError, TypeError):
        return None


def _parsed(printed: str) -> Any:
    try:
        return json.loads(printed)
    except ValueError:
        return None


def _found(path: Path) -> Job | None:
    """Read the record of a job; what was under way when the studio ended is interrupted."""
    try:
        job = Job(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    if job.has_ended:
        return job
    _cleared(path.parent)
    lost = replace(job, state=LOST, ended=_now())
    write_whole(path, json.dumps(asdict(lost)), PRIVATE)
    return lost


def _cleared(folder: Path) -> None:
    """Take away what a job that was ended has written, but for its record and its policy."""
    for left in [*folder.iterdir()] if folder.is_dir() else []:
        if left.name not in (RECORD, POLICY):
            with suppress(OSError):
                shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()


def shown_command(words: Sequence[str]) -> str:
    """Write a command as one types it."""
    import shlex

    return shlex.join(["sfumato", *(word for word in words if word != "--json")])


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")


Making = Callable[[int, Path], Job]
REPORT, DECISIONS, RECIPIENT = "report.html", "decisions.json", "recipient.json"
HELD_OUT = 0.2


def _order(
    project: Project, entry: HistoryEntry, policy: Policy, kind: str, title: str, words: Callable[[Path], list[str]]
) -> Making:
    """Order a command with a policy; `words`: all others, which may name files in the folder of the job."""

    def make(number: int, folder: Path) -> Job:
        command, subject, *more = words(folder)
        policy.to_file(folder / POLICY)
        said = [command, subject, "--policy", str(folder / POLICY), *more]
        return Job(number, kind, said, entry.number, title, policy=policy.to_toml(), table=project.sha256)

    return make


def release_order(project: Project, entry: HistoryEntry, title: str, *, bound: bool = False) -> Making:
    """Order a release of the draft of an entry. Raises ``PolicyError``: while the draft is no policy."""
    start, more = ["anonymize", str(project.table), "--out"], ["--bound", "--json"] if bound else ["--json"]
    policy = entry.draft.policy()
    return _order(project, entry, policy, "release", title, lambda folder: [*start, str(folder / RELEASE), *more])


def try_order(project: Project, entry: HistoryEntry, title: str, about: int) -> Making:
    """Order a release of a draft that is only thrown away: whether it can be met, and what it would cost."""
    making = release_order(project, entry, title)
    return lambda number, folder: replace(making(number, folder), kind="try", about=about)


def draft_attack_order(project: Project, entry: HistoryEntry) -> Making:
    """Order attacks on what the draft would publish, with some people held out."""
    words = ["attack", str(project.table), "--hold-out", str(HELD_OUT), "--json"]
    return _order(project, entry, entry.draft.policy(), "attack", "attack on the draft", lambda _: words)


def attack_order(project: Project, entry: HistoryEntry, run: Job, folder_of_run: Path, earlier: Path | None) -> Making:
    """Order attacks on a release; with an earlier one of the same people also the intersection of both."""
    from sfumato.policy.policy import Policy

    words = ["attack", str(folder_of_run / RELEASE), "--original", str(project.table)]
    words += [*(["--earlier", str(earlier)] if earlier else []), "--json"]
    named = f", beside {earlier.relative_to(project.place).as_posix()}" if earlier else ""
    title, policy = f"attack on release {run.number}{named}", Policy.from_file(folder_of_run / POLICY)
    making = _order(project, entry, policy, "attack", title, lambda _: words)
    return lambda number, folder: replace(making(number, folder), about=run.number)


def series_order(project: Project, entry: HistoryEntry, series: Path, *, without_known: bool) -> Making:
    """Order the next release of a series, of the open table; the series has a policy of its own."""
    from sfumato.series.description import WAYS, SeriesFolder

    everybody = WAYS[SeriesFolder.open(series).description.way].everybody

    def make(number: int, folder: Path) -> Job:
        words = ["series", "republish" if everybody else "append", str(series), str(project.table), "--json"]
        words += ["--leave-out-known"] if without_known and not everybody else []
        return Job(number, "series", words, entry.number, f"next release of {series.name}", table=project.sha256)

    return make


def stated_context(project: Project) -> Context | None:
    """Return what is stated of a recipient; None where nobody has."""
    from sfumato.policy.entries import checked
    from sfumato.policy.parts import Context

    file = project.folder / RECIPIENT
    return checked(Context, json.loads(read_regular_text(file))) if file.is_file() else None


def report_order(
    project: Project, run: Job, folder_of_run: Path, edition: str, earlier: Sequence[Path], log: Sequence[Decision]
) -> Making:
    """Order the report on a release, in an edition, with what was decided on the way."""
    if edition not in ("internal", "public"):
        raise InputError("edition: choose the internal or the public one")
    from sfumato.policy.policy import Policy

    policy, entry = Policy.from_file(folder_of_run / POLICY), project.history.entry(run.entry)
    policy = policy.model_copy(update={"context": stated_context(project)})

    def words(folder: Path) -> list[str]:
        write_whole(folder / DECISIONS, json.dumps([decision.to_dict() for decision in log]), PRIVATE)
        found = ["report", str(folder_of_run / RELEASE), "--original", str(project.table), "--edition", edition]
        found += ["--out", str(folder / REPORT), "--quiet", "--decisions", str(folder / DECISIONS)]
        return found + [word for path in earlier for word in ("--earlier", str(path))]

    making = _order(project, entry, policy, "report", f"{edition} report on release {run.number}", words)
    return lambda number, folder: replace(making(number, folder), about=run.number)


def compare_order(
    project: Project, entry: HistoryEntry, methods: Sequence[str], values: str, kind: str = "compare"
) -> Making:
    """Order a comparison of methods over several k."""
    policy = entry.draft.policy()
    if not methods:
        raise InputError("methods: choose at least one")
    words = ["compare", str(project.table), "--anonymizers", ",".join(methods), "-k", values]
    words += ["--queries", "0", "--json"]
    title = f"{counted(len(methods), 'method')}, k = {values.replace(',', ', ')}"
    return _order(project, entry, policy, kind, title, lambda _: words)


def lattice_order(project: Project, entry: HistoryEntry) -> Making:
    """Order a search of the levels that satisfy the draft's promises; nothing is published."""
    words = ["lattice", str(project.table), "--json"]
    title = "levels that satisfy the promises"
    return _order(project, entry, entry.draft.policy(), "lattice", title, lambda _: words)
