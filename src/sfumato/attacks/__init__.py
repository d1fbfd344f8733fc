"""Attacks, each played against a release."""

from typing import Any

from sfumato.attacks.homogeneity import Homogeneity

__all__ = ["ATTACKS", "DEFAULT", "Homogeneity"]

ATTACKS: dict[str, Any] = {
    "homogeneity": Homogeneity,
}
"""Name on the command line → class."""

DEFAULT: tuple[str, ...] = ("homogeneity",)
"""Attacks that are played where none is named, as far as kind of release and what is known allow."""
