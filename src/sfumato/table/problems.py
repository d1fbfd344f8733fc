"""Gather what is wrong with several columns, so that one run reports everything."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.errors import InputError, SfumatoError


def said_of(source: str, error: SfumatoError) -> SfumatoError:
    """Return an error with the name of a source before every problem."""
    return type(error)(*(f"{source}: {problem}" for problem in error.problems))


def raise_together(errors: Sequence[SfumatoError]) -> None:
    """Raise one error with the problems of all, of their common type; of mixed types it is an ``InputError``."""
    if not errors:
        return
    types = {type(error) for error in errors}
    error = types.pop() if len(types) == 1 else InputError
    raise error(*(problem for error in errors for problem in error.problems)) from None
