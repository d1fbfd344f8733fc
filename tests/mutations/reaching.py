"""A plug-in of pytest: which tests run which lines of the package (``-p mutations.reaching``)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

FOLDER = "SFUMATO_REACH"
"""Variable with the folder for what was found; every process writes a file of its own."""
_started: list[coverage.Coverage] = []


def pytest_configure(config: pytest.Config) -> None:
    """Begin to look, in every worker, and where there are none."""
    if hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        data = Path(os.environ[FOLDER]) / f"reach.{os.getpid()}"
        look = coverage.Coverage(data_file=str(data), source_pkgs=["sfumato"], config_file=False)
        look.start()
        _started.append(look)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Note who is looked at."""
    for look in _started:
        look.switch_context(item.nodeid)
    result = yield
    for look in _started:
        look.switch_context("")
    return result


def pytest_unconfigure() -> None:
    """Write down what was found."""
    while _started:
        look = _started.pop()
        look.stop()
        look.save()
