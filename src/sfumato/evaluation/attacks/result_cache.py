"""Results that several attacks of one call need, computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

Found = TypeVar("Found")

MOST = 1 << 24
"""Most cells that are kept in total, 8 bytes each."""


@dataclass(frozen=True, eq=False, repr=False)
class ResultCache:
    """Results by the values that they were computed from. It lives as long as its target."""

    _found: dict[tuple[str | int, ...], tuple[object, int, tuple[object, ...]]] = field(default_factory=dict)

    def once(self, name: str, given: tuple[object, ...], work: Callable[[], Found], cells: int) -> Found:
        """Return what `work` returns, without repeating it for the same name and the same objects.

        Parameters
        ----------
        name
            Name of the result.
        given
            Values from which it is computed; compared by identity.
        work
            Computes it.
        cells
            Size of the result; a result for which there is no room left is not kept.
        """
        key: tuple[str | int, ...] = (name, *(id(value) for value in given))
        if key in self._found:
            return cast(Found, self._found[key][0])
        result = work()
        if cells + sum(size for _, size, _ in self._found.values()) <= MOST:
            # The values are kept as well, since later objects could otherwise have their identities.
            self._found[key] = (result, cells, given)
        return result
