"""From a solution to published values, and from published values back to what they cover."""

from __future__ import annotations

from sfumato.recoding.choice import Recoding
from sfumato.recoding.publish import publish, publishable
from sfumato.recoding.recode import recode

__all__ = ["Recoding", "publish", "publishable", "recode"]
