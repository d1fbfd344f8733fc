"""Every exception of the library.

No message may carry a value of an identifying, quasi-identifying or sensitive attribute: messages hold counts, column
names and row numbers only. Every exception gathers all problems that were found, one line each.
"""

from __future__ import annotations

from collections.abc import Iterable


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
    """

    exit_code = 2

    def __init__(self, *problems: str) -> None:
        self.problems: tuple[str, ...] = problems
        super().__init__("\n".join(problems))


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
