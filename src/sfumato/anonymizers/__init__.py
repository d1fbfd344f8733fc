"""Anonymizers: one paper, one file. Each takes a problem and returns a solution that holds no published value."""

from typing import Any

from sfumato.anonymizers.datafly import Datafly
from sfumato.anonymizers.incognito import Incognito
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Anonymizer, Problem

__all__ = ["ANONYMIZERS", "Anonymizer", "Datafly", "Incognito", "Mondrian", "Problem"]

ANONYMIZERS: dict[str, Any] = {
    "mondrian": Mondrian,
    "datafly": Datafly,
    "incognito": Incognito,
}
"""Name in policies and on the command line → class."""
