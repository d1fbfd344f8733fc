"""Every exception of the library.

No message may carry a value of an identifying, quasi-identifying or sensitive attribute: messages hold counts, column
names and row numbers only, and neither user nor password of an address. Every exception gathers all problems that were
found, one line each.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")

_USER = re.compile(r"(?<![\w.+-])([a-z][a-z0-9+.-]+:/*)(?=[^\s'\"])[^'\"\n]{0,2000}@", re.IGNORECASE)
"""What stands before the @ of an address, well written or not; bounded, so that long messages cost little."""
_NAMES = r"password|passwd|pwd|secret\w*|token|signature|sig|\w*access[_-]?key\w*|account[_-]?key"
_PARAMETER = re.compile(rf"\b((?:{_NAMES})=)[^&;\s'\"]+", re.IGNORECASE)


def without_credentials(text: str) -> str:
    """Cut user and password out of every address, and secrets out of parameters."""
    return _PARAMETER.sub(r"\1...", _USER.sub(r"\1...@", text))


class SfumatoError(Exception):
    """Base of every error that the library raises on purpose.

    Parameters
    ----------
    *problems
        One sentence per mistake: what happened, where, and what to do about it.

    Attributes
    ----------
    problems : tuple of str
        The sentences, in the order in which they were found.
    answers : mapping of str to str
        For columns that something is asked about, the likeliest answer, as an option of the command line.
    """

    exit_code = 2

    def __init__(self, *problems: str) -> None:
        self.problems: tuple[str, ...] = tuple(without_credentials(problem) for problem in problems)
        self.answers: dict[str, str] = {}
        super().__init__("\n".join(self.problems))


class InputError(SfumatoError):
    """A table, file or frame that cannot be used as it is."""


class SchemaError(SfumatoError):
    """Roles, kinds or domains that contradict each other or the table."""


class HierarchyError(SfumatoError):
    """A hierarchy that does not fit its attribute or is not a hierarchy."""


class PolicyError(SfumatoError):
    """A policy, model or option with a wrong name or value."""


class UnsatisfiableError(SfumatoError):
    """The declared models cannot be met on this table within the suppression limit."""

    exit_code = 1


class VerificationError(SfumatoError):
    """A published table breaks a declared model, or a release was changed after it was written."""

    exit_code = 1


def raise_all(error: type[SfumatoError], problems: Iterable[str]) -> None:
    """Raise `error` with every problem at once, or return when there is none."""
    found = tuple(problems)
    if found:
        raise error(*found)


def said_of(source: str, error: SfumatoError) -> SfumatoError:
    """Return an error with the name of a source before every problem."""
    said = type(error)(*(f"{source}: {problem}" for problem in error.problems))
    said.answers = error.answers
    return said


def raise_together(errors: Sequence[SfumatoError]) -> None:
    """Raise one error with the problems of all, of their common type; of mixed types it is an ``InputError``."""
    if not errors:
        return
    types = {type(error) for error in errors}
    made = types.pop() if len(types) == 1 else InputError
    together = made(*(problem for error in errors for problem in error.problems))
    together.answers = {column: answer for error in errors for column, answer in error.answers.items()}
    raise together from None


def attempt(work: Callable[[], Result], errors: list[SfumatoError]) -> Result | None:
    """Return what `work` gives, or keep its error until all else has been tried."""
    try:
        return work()
    except SfumatoError as error:
        errors.append(error)
        return None


def system_reason(error: Exception) -> str:
    """Return in words what the system refused; empty where it does not say. Polars has its number in the text alone."""
    found = re.search(r"\(os error (\d+)\)", str(error))
    number = getattr(error, "errno", None) or (int(found[1]) if found else 0)
    return os.strerror(number) if number else ""


@contextmanager
def write_errors(what: str, advice: str = "") -> Iterator[None]:
    """Turn what the system refuses into an ``InputError`` of one sentence."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{what} cannot be written ({system_reason(error) or 'unknown reason'}){advice}") from None
