"""Anonymizers: one paper, one file. Each takes a problem and returns a solution that holds no published value."""

from typing import Any

from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Anonymizer, Problem

__all__ = ["ANONYMIZERS", "Anonymizer", "Mondrian", "Problem"]

ANONYMIZERS: dict[str, Any] = {
    "mondrian": Mondrian,
}
"""Name in policies and on the command line → class."""
