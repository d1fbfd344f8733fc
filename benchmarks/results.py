"""Figures of a run, and the machine that they come from."""

from __future__ import annotations

import dataclasses
import datetime
import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("sfumato", "polars", "numba", "numpy", "pandas", "pyarrow", "anonypy", "pycanon")


class SkippedJob(Exception):
    """A job cannot run here; the message says why and what would help."""


@dataclass(frozen=True)
class Figure:
    """One measured figure, with the bar it is held against where there is one.

    Attributes
    ----------
    job, what : str
    value : float
        A ratio or a loss, never seconds.
    text : str
        The value as it is printed, with its unit.
    bar : float or None
    at_most : bool
        Whether the bar is an upper bound.
    detail : str
        What the value comes from.
    """

    job: str
    what: str
    value: float
    text: str
    bar: float | None = None
    at_most: bool = False
    detail: str = ""

    @property
    def bar_text(self) -> str:
        """The bar in words."""
        if self.bar is None:
            return ""
        return f"at {'most' if self.at_most else 'least'} {self.bar:g}"

    @property
    def verdict(self) -> str:
        """``met``, ``MISSED``, or nothing where there is no bar."""
        if self.bar is None:
            return ""
        return "met" if (self.value <= self.bar if self.at_most else self.value >= self.bar) else "MISSED"

    def without_bar(self) -> Figure:
        """Return the same figure held against nothing."""
        return dataclasses.replace(self, bar=None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {**dataclasses.asdict(self), "verdict": self.verdict}


def machine() -> dict[str, str]:
    """Say when, on what and with which versions a run was made."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        "load at start": f"{os.getloadavg()[0]:.1f}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
