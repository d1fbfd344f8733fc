"""From a solution to published values, and from published values back to what they cover."""

from __future__ import annotations

from sfumato.classes.partition import covers
from sfumato.recoding.choice import TIGHT, Recoding, RecodingKind, recoding_kind
from sfumato.recoding.recode import publish, recode, recode_as_published

__all__ = ["TIGHT", "Recoding", "RecodingKind", "covers", "publish", "recode", "recode_as_published", "recoding_kind"]
