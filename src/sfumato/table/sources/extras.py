"""Libraries that only some sources need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sfumato.errors import InputError


def library(name: str, *, extra: str, what: str) -> Any:
    """Import a library of an extra.

    Raises
    ------
    InputError
        When it is not installed, with what installs it; `what` needs it.
    """
    try:
        return import_module(name)
    except ImportError:
        raise InputError(
            f"{what} need the library {name}, which is not installed; install it with: pip install 'sfumato[{extra}]'"
        ) from None
