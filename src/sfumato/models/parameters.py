"""Parameters of models: checked, kept as plain numbers, and returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

from sfumato.models.says import Says
from sfumato.options import Checked


@dataclass(frozen=True)
class CheckedModel(Checked, Says):
    """Base of models that checks parameters at construction and keeps them as plain numbers, whole ones as int."""

    def __post_init__(self) -> None:
        """Check all parameters at once."""
        super().__post_init__()
        for name, value in self.parameters().items():
            if isinstance(value, Real) and not isinstance(value, bool):
                object.__setattr__(self, name, _plain(value))

    def parameters(self) -> Mapping[str, Any]:
        """Return the parameters as plain values, without those that were left out."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


def _plain(value: Any) -> int | float:
    """Write whole numbers as int (64 bits: what a policy file holds), so that 3.0 reads and is recorded as 3."""
    number = float(value)
    return int(value) if isinstance(value, Integral) or (number.is_integer() and abs(number) < 2.0**63) else number
