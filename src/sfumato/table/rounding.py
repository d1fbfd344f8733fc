"""On which grid the intervals of an attribute end, where that was settled before its values were seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Rounding:
    """The grid of an attribute of numbers or dates; a series of releases keeps that of its first one.

    Attributes
    ----------
    unit : str or tuple of int
        What the attribute is counted in: of numbers 1, 2 or 5 and a power of ten, of dates ``"D"``, ``"M"`` or ``"Y"``.
    whole : bool
        Whether all values are whole numbers, whose intervals are written closed.
    low, high : float or None
        Ends of a declared domain beyond which no interval reaches; None where none is to be shown.
    """

    unit: str | tuple[int, int]
    whole: bool
    low: float | None = None
    high: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Build it from plain values, or raise KeyError or TypeError."""
        unit = values["unit"]
        settled = unit if isinstance(unit, str) else (unit[0], unit[1])
        return cls(settled, values["whole"], values["low"], values["high"])
