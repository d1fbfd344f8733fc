"""What several attacks of one call ask for: worked out once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

Found = TypeVar("Found")

MOST = 1 << 24
"""Cells of all that is remembered together, 8 bytes each."""


@dataclass(frozen=True, eq=False, repr=False)
class ResultCache:
    """Results by what they were worked out from. It lives as long as the target that carries it."""

    _found: dict[tuple[str | int, ...], tuple[object, int, tuple[object, ...]]] = field(default_factory=dict)

    def once(self, name: str, given: tuple[object, ...], work: Callable[[], Found], cells: int) -> Found:
        """Return what `work` returns, without doing it again for the same name and the very same values.

        Parameters
        ----------
        name
            What is worked out.
        given
            Values it is worked out from; compared by identity.
        work
            Works it out.
        cells
            How large the result is; one for which there is no room left is not remembered.
        """
        key: tuple[str | int, ...] = (name, *(id(value) for value in given))
        if key in self._found:
            return cast(Found, self._found[key][0])
        result = work()
        if cells + sum(size for _, size, _ in self._found.values()) <= MOST:
            # The values are kept as well: their identities could be those of others after them.
            self._found[key] = (result, cells, given)
        return result
