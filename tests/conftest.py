"""How the suite meets chance, and what its tests share."""

from __future__ import annotations

import gc
import logging
import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any
from unittest.mock import patch

import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings

import matrices

# No verdict depends on how busy the machine is.
patient = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
# A fifth of the examples, the same in every run.
settings.register_profile("quick", patient, max_examples=20, derandomize=True)
# As many, others in every run: for the whole suite under many seeds (--hypothesis-profile=drawn --hypothesis-seed=1).
settings.register_profile("drawn", patient, max_examples=20)
# All examples, others in every run. What fails is kept under .hypothesis, and tried first the next time.
settings.register_profile("full", patient, max_examples=100)
settings.load_profile("quick")


TESTS = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Take the same order in every run that asks for no other, and let interrupts through."""
    if getattr(config.option, "randomly_seed", None) == "default":
        config.option.randomly_seed = 1
    # A shell starts what runs in the background with interrupts ignored, and programs pass that on.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


NAMES_OF_QUARTERS = pytest.StashKey[dict[int, set[str]]]()
"""Anonymizers, publishers and models that the matrices of each quarter have."""
COLLECTED = pytest.StashKey[set[Path]]()
"""Files of tests that were looked into, whichever tests are run."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Load all modules, and put three quarters of each matrix among the slow tests.

    Hypothesis draws from the constants of modules, and draws shall not depend on what ran before.
    """
    import sfumato

    for module in walk_packages(sfumato.__path__, "sfumato."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for item in items:
        if item.nodeid in long_tests():
            item.add_marker(pytest.mark.slow)
    tests = [item.nodeid.partition("[")[0] for item in items]
    cases = Counter(tests)
    found: dict[int, set[str]] = {quarter: set() for quarter in range(matrices.QUARTERS)}
    for item, test in zip(items, tests, strict=True):
        if cases[test] < matrices.MATRIX or item.path.relative_to(TESTS).parts[0] not in matrices.WITH_MATRICES:
            continue
        values = item.callspec.params  # type: ignore[attr-defined]
        quarters = matrices.quarters_of(item.nodeid, values)
        if matrices.USUAL not in quarters:
            item.add_marker(pytest.mark.slow)
        for quarter in quarters - ({matrices.USUAL} if item.nodeid in long_tests() else set()):
            found[quarter].update(name for value in values.values() for name in matrices.names_in(value))
    config.stash[NAMES_OF_QUARTERS] = found
    config.stash[COLLECTED] = {item.path for item in items}


LONG = 0.7
"""Seconds of the processor from which on a test is a long one."""


@cache
def long_tests() -> frozenset[str]:
    """Return the tests that took long when they were last measured: ``make test-all`` runs them, ``make test`` not."""
    return frozenset(TESTS.joinpath("long.txt").read_text(encoding="utf-8").splitlines())


LONGEST = 25
"""Files of tests whose seconds every run prints."""
seconds_of: Counter[str] = Counter()
processor_seconds_of: Counter[str] = Counter()
long_ones: list[str] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Count what a test takes of the processor, its child processes with it, whatever else runs on the machine."""
    before = sum(os.times()[:4])
    item.user_properties.append(("before", before))
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    """Write what was counted into the last report of a test, which also reaches whoever runs several at once."""
    report = yield
    if call.when == "teardown":
        before = next(value for name, value in item.user_properties if name == "before")
        report.user_properties = [("processor", sum(os.times()[:4]) - before)]
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the seconds of each file."""
    file = report.nodeid.partition("::")[0]
    seconds_of[file] += report.duration  # type: ignore[assignment]
    taken = sum(value for name, value in report.user_properties if name == "processor")
    processor_seconds_of[file] += taken
    if taken >= LONG:
        long_ones.append(report.nodeid)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the files that took longest, for whoever wonders where the time goes."""
    used = processor_seconds_of.total()
    terminalreporter.section(f"seconds by file: {seconds_of.total():.0f}, of the processor {used:.0f}")
    if written := os.environ.get("SFUMATO_LONG_TESTS"):
        Path(written).write_text("\n".join([*sorted(long_ones), ""]), encoding="utf-8")
    for file, seconds in seconds_of.most_common(LONGEST):
        terminalreporter.write_line(f"{seconds:8.1f}  {processor_seconds_of[file]:8.1f}  {file}")


def pytest_collection_finish() -> None:
    """Spare the garbage collector what lives until the end: modules, and some ten thousand tests."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let it have them again: some libraries look at the end for what they still hold."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def repeatable_entropy() -> Iterator[None]:
    """Let what is drawn without a seed be the same in every run: `random` begins anew with every test and example."""
    drawn = random.randbytes if settings.default.derandomize else os.urandom  # type: ignore[union-attr]
    with patch("os.urandom", drawn):
        yield


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_disks() -> Iterator[None]:
    """No test takes the power away: what is written need not reach a disk before the test goes on."""
    with patch("os.fsync", lambda _: None):
        yield


@pytest.fixture(autouse=True)
def logging_as_at_first() -> None:
    """A command that logs as JSON does so until its process ends: the next test does not."""
    logger = logging.getLogger("sfumato")
    logger.propagate = True
    logger.handlers.clear()
    if logger.level:
        logger.setLevel(logging.NOTSET)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Any]:
    """A PostgreSQL server of this run's own; where none is installed, what needs it is skipped, or fails in CI."""
    from benchmarks.postgresql_server import binaries, postgresql_server

    if binaries() is None:
        missing = "PostgreSQL is not installed; on Debian: apt-get install postgresql"
        if os.environ.get("CI_SERVERS") == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    with postgresql_server() as server:
        yield server


@pytest.fixture(scope="session")
def sail() -> Iterator[str]:
    """The address of a Spark Connect server of this run's own, in this process: Sail, which needs no Java."""
    pytest.importorskip("pyspark", reason="the client of Spark is not installed; pip install 'sfumato[spark]'")
    pytest.importorskip("pysail", reason="Sail is not installed; pip install pysail")
    from pysail.spark import SparkConnectServer

    from sfumato.table.sources.spark_server import client

    client()
    with patch.dict(os.environ, {"RUST_LOG": "off"}):
        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
    _, port = server.listening_address
    yield f"sc://127.0.0.1:{port}"
    server.stop()


@pytest.fixture
def spark_server(sail: str) -> Iterator[str]:
    """The same, for a test whose sessions and requests have numbers that are not those of another test."""
    with patch("os.urandom", random.SystemRandom().randbytes):
        yield sail


@pytest.fixture(scope="session", autouse=True)
def one_tree_of_commands() -> Iterator[None]:
    """Build the tree of commands once: typer does it anew at every call, which costs more than most commands do."""
    get_command = cache(typer.main.get_command)
    with patch("typer.main.get_command", get_command), patch("typer.testing._get_command", get_command):
        yield
