"""Gather what is wrong with several columns, so that one run reports everything."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.errors import InputError, SfumatoError


def raise_together(errors: Sequence[SfumatoError]) -> None:
    """Raise one error with the problems of all, of their common type; of mixed types it is an ``InputError``."""
    if not errors:
        return
    types = {type(error) for error in errors}
    error = types.pop() if len(types) == 1 else InputError
    raise error(*(problem for error in errors for problem in error.problems)) from None
