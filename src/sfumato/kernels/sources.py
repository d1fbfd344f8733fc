"""Which source a kernel stands on, as one digest: compiled code is looked up by it."""

from __future__ import annotations

import hashlib
import re
import sys
from functools import cache
from importlib.util import find_spec

_IMPORTED = re.compile(r"^from (sfumato\.kernels\.[\w.]+) import", re.MULTILINE)
_ALWAYS = "sfumato.kernels.compiled"  # how kernels are compiled


@cache
def source_digest(module: str) -> str | None:
    """Return the sha256 of the source of a kernel module and of those that it stands on; None without source."""
    digest = hashlib.sha256()
    for name in sorted(_reached(module)):
        source = _source(name)
        if source is None:
            return None
        digest.update(f"{name}\n{len(source)}\n{source}".encode())
    return digest.hexdigest()


def _reached(module: str) -> set[str]:
    """Return the kernel modules that a module stands on, itself among them."""
    found, left = {_ALWAYS}, [module]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left.extend(_IMPORTED.findall(_source(name) or ""))
    return found


@cache
def _source(module: str) -> str | None:
    loaded = sys.modules.get(module)
    spec = loaded.__spec__ if loaded else find_spec(module)
    reader = getattr(spec.loader if spec else None, "get_source", None)
    try:
        return reader(module) if reader else None
    except (OSError, ImportError, UnicodeDecodeError):
        return None
