"""Losses as a notebook shows them."""

from __future__ import annotations

from sfumato.metrics.losses import Losses
from sfumato.notebook import Markup, bar, notebook_table
from sfumato.numbers import DIGITS, percent

_OF_ATTRIBUTES = "  "
"""What the names of figures of single attributes begin with."""


def loss_parts(losses: Losses, digits: int = DIGITS, *, of_classes: bool = False) -> tuple[Markup, ...]:
    """Return bars of what each attribute lost, and a table of all other figures; see :meth:`Losses.lines`."""
    figures = [row for row in losses.rows(digits, of_classes=of_classes) if not row[0].startswith(_OF_ATTRIBUTES)]
    if of_classes:
        return (notebook_table(("", ""), figures, (1,)),)
    bars = [(name, bar(share, percent(share, min(digits, 3)))) for name, share in losses.attribute_ncp.items()]
    return notebook_table(("attribute", "information lost (NCP)"), bars), notebook_table(("", ""), figures, (1,))
