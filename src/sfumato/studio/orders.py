"""What jobs the studio can start: the words of a command each, and the files that the command needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from sfumato.dossier.decisions import Decision
from sfumato.errors import InputError
from sfumato.numbers import counted
from sfumato.policy.policy import Policy
from sfumato.studio.history import HistoryEntry
from sfumato.studio.jobs import POLICY, RELEASE, Job
from sfumato.studio.project import Project
from sfumato.whole_files import PRIVATE, write_whole

Making = Callable[[int, Path], Job]
REPORT, DECISIONS = "report.html", "decisions.json"
HELD_OUT = 0.2


def release_order(project: Project, entry: HistoryEntry, title: str, *, bound: bool = False) -> Making:
    """Order a release of the draft of an entry. Raises ``PolicyError``: while the draft is no policy."""
    policy = entry.draft.policy()

    def make(number: int, folder: Path) -> Job:
        words = ["anonymize", str(project.table), "--policy", _written(policy, folder), "--out", str(folder / RELEASE)]
        more = ["--bound"] if bound else []
        job = _job(project, entry, policy, number, "release", title, [*words, *more, "--json"])
        return job

    return make


def try_order(project: Project, entry: HistoryEntry, title: str, about: int) -> Making:
    """Order a release of a draft that is only thrown away: whether it can be met, and what it would cost."""
    making = release_order(project, entry, title)
    return lambda number, folder: replace(making(number, folder), kind="try", about=about)


def draft_attack_order(project: Project, entry: HistoryEntry) -> Making:
    """Order attacks on what the draft would publish, with some people held out."""
    policy = entry.draft.policy()

    def make(number: int, folder: Path) -> Job:
        words = ["attack", str(project.table), "--policy", _written(policy, folder), "--hold-out", str(HELD_OUT)]
        return _job(project, entry, policy, number, "attack", "attack on the draft", [*words, "--json"])

    return make


def attack_order(project: Project, entry: HistoryEntry, run: Job, folder_of_run: Path, earlier: Path | None) -> Making:
    """Order attacks on a release; with an earlier one of the same people also the intersection of both."""
    policy = Policy.from_file(folder_of_run / POLICY)

    def make(number: int, folder: Path) -> Job:
        words = ["attack", str(folder_of_run / RELEASE), "--original", str(project.table)]
        words += ["--policy", _written(policy, folder), *(["--earlier", str(earlier)] if earlier else [])]
        named = f", beside {earlier.relative_to(project.table.parent).as_posix()}" if earlier else ""
        title = f"attack on release {run.number}{named}"
        job = _job(project, entry, policy, number, "attack", title, [*words, "--json"])
        return replace(job, about=run.number)

    return make


def report_order(
    project: Project, run: Job, folder_of_run: Path, edition: str, earlier: Sequence[Path], log: Sequence[Decision]
) -> Making:
    """Order the report on a release, in an edition, with what was decided on the way."""
    if edition not in ("internal", "public"):
        raise InputError("edition: choose the internal or the public one")
    policy, entry = Policy.from_file(folder_of_run / POLICY), project.history.entry(run.entry)

    def make(number: int, folder: Path) -> Job:
        write_whole(folder / DECISIONS, json.dumps([decision.to_dict() for decision in log]), PRIVATE)
        words = ["report", str(folder_of_run / RELEASE), "--original", str(project.table)]
        words += ["--policy", _written(policy, folder), "--edition", edition, "--out", str(folder / REPORT), "--quiet"]
        words += ["--decisions", str(folder / DECISIONS)]
        words += [word for path in earlier for word in ("--earlier", str(path))]
        job = _job(project, entry, policy, number, "report", f"{edition} report on release {run.number}", words)
        return replace(job, about=run.number)

    return make


def compare_order(
    project: Project, entry: HistoryEntry, methods: Sequence[str], values: str, kind: str = "compare"
) -> Making:
    """Order a comparison of methods over several k."""
    policy = entry.draft.policy()
    if not methods:
        raise InputError("methods: choose at least one")

    def make(number: int, folder: Path) -> Job:
        words = ["compare", str(project.table), "--policy", _written(policy, folder)]
        words += ["--anonymizers", ",".join(methods), "-k", values, "--queries", "0"]
        title = f"{counted(len(methods), 'method')}, k = {values.replace(',', ', ')}"
        return _job(project, entry, policy, number, kind, title, [*words, "--json"])

    return make


def lattice_order(project: Project, entry: HistoryEntry) -> Making:
    """Order a search of the levels that satisfy the draft's promises; nothing is published."""
    policy = entry.draft.policy()

    def make(number: int, folder: Path) -> Job:
        words = ["lattice", str(project.table), "--policy", _written(policy, folder), "--json"]
        return _job(project, entry, policy, number, "lattice", "levels that satisfy the promises", words)

    return make


def _job(
    project: Project, entry: HistoryEntry, policy: Policy, number: int, kind: str, title: str, words: list[str]
) -> Job:
    return Job(number, kind, words, entry.number, title, policy=policy.to_toml(), table=project.sha256)


def _written(policy: Policy, folder: Path) -> str:
    path = folder / POLICY
    policy.to_file(path)
    return str(path)
