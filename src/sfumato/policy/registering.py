"""Models and anonymizers of one's own, by their names."""

from __future__ import annotations

import dataclasses
from typing import Any

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.errors import PolicyError
from sfumato.models import MODELS
from sfumato.registry import Registry

_NEEDED: dict[str, tuple[Registry, tuple[str, ...]]] = {
    "a privacy model": (MODELS, ("holds", "achieved", "rules", "explain", "parameters")),
    "an anonymizer": (ANONYMIZERS, ("solve", "decides_regions")),
    "a publisher": (PUBLISHERS, ("publish", "check", "promises")),
}
"""What a class is → where it is registered, and what it must have."""


def register(own: type[Any]) -> type[Any]:
    """Make a privacy model or an anonymizer of one's own known by its name, in this program.

    Policies and the names of other calls may then use it, and :func:`sfumato.verify` recounts it. Can be a decorator. A
    package that others install names it as an entry point instead, of the group ``sfumato.models``,
    ``sfumato.anonymizers`` or ``sfumato.publishers``; then the command line knows it, too.

    Parameters
    ----------
    own
        A frozen dataclass with a class variable ``name`` and the methods of
        :class:`sfumato.models.protocol.PrivacyModel`, :class:`sfumato.anonymizers.protocol.Anonymizer` or
        :class:`sfumato.anonymizers.protocol.Publisher`.

    Returns
    -------
    type
        The same.

    Raises
    ------
    PolicyError
        When it is none of these, or something else has its name.

    Notes
    -----
    *Guarantee.* None beyond what the class itself keeps: a release promises what its model counts. Whoever recounts a
    model runs its code, so that recipients need it, and have to trust it as they trust this library.
    """
    name = getattr(own, "name", None)
    if not isinstance(own, type) or not dataclasses.is_dataclass(own) or not isinstance(name, str):
        raise PolicyError("register: give a class, a frozen dataclass with a class variable name")
    for registry, needed in _NEEDED.values():
        if all(hasattr(own, each) for each in needed):
            registry[name] = own
            return own
    wanted = "; ".join(f"{what} has {', '.join(needed)}" for what, (_, needed) in _NEEDED.items())
    raise PolicyError(f"register: {own.__name__} is neither model nor anonymizer: {wanted}")
