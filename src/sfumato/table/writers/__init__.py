"""Formats of other programs, each in a file; what they wrote is read back and compared before it counts."""

from __future__ import annotations

from sfumato.table.sources.protocol import library

NEEDED = {
    "xlsx": (("xlsxwriter", "fastexcel"), "excel"),
    "sav": (("pyreadstat",), "statistical"),
    "dta": (("pyreadstat",), "statistical"),
}
"""The libraries that write and read back a format, and the extra that installs them."""


def check_writer_installed(format: str) -> None:
    """Raise InputError, before any work, where a format needs a library that is not installed."""
    names, extra = NEEDED.get(format, ((), ""))
    for name in names:
        library(name, extra=extra, what=f"releases as {format}")
