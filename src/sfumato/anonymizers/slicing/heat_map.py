"""A square of shares from 0 to 1 as a picture: in text, and as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from sfumato.numbers import figure

SHADES = " ·░▒▓█"
_CELL = 44
_LETTER = 7


def heat_map_text(names: Sequence[str], values: NDArray[np.float64]) -> str:
    """Draw one line for each name; fields are shaded from blank (0) to full (1), two letters wide.

    Examples
    --------
    >>> print(heat_map_text(["a", "b"], np.array([[1.0, 0.5], [0.5, 1.0]])))
    a  ██▒▒
    b  ▒▒██
    """
    width = max((len(name) for name in names), default=0)
    shades = np.ceil(np.clip(values, 0, 1) * (len(SHADES) - 1)).astype(int)
    lines = ["".join(2 * SHADES[shade] for shade in line) for line in shades]
    return "\n".join(f"{name:<{width}}  {line}".rstrip() for name, line in zip(names, lines, strict=True))


def heat_map_svg(names: Sequence[str], values: NDArray[np.float64]) -> str:
    """Draw squares whose blue deepens with the share, which is written into them."""
    left = _LETTER * max((len(name) for name in names), default=0) + 12
    top, side = left, _CELL * len(names)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + side + 4} {top + side + 4}" '
        'font-family="sans-serif" font-size="12">'
    ]
    for place, name in enumerate(names):
        middle = place * _CELL + _CELL // 2
        parts.append(f'<text x="{left - 6}" y="{top + middle + 4}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<text transform="translate({left + middle + 4} {top - 6}) rotate(-90)">{escape(name)}</text>')
    for row, line in enumerate(values):
        parts.extend(_field(left + column * _CELL, top + row * _CELL, value) for column, value in enumerate(line))
    return "\n".join([*parts, "</svg>"])


def _field(x: int, y: int, value: float) -> str:
    ink = "#fff" if value > 0.5 else "#000"
    return (
        f'<rect x="{x}" y="{y}" width="{_CELL - 1}" height="{_CELL - 1}" fill="#1f4e9c" fill-opacity="{value:.3f}" '
        f'stroke="#ccc"/><text x="{x + _CELL // 2}" y="{y + _CELL // 2 + 4}" text-anchor="middle" fill="{ink}">'
        f"{figure(value, 2)}</text>"
    )
