"""The policy of a release as its recipient holds it: the text of ``policy.toml``, read here and nowhere else.

It is parsed plainly. A :class:`~sfumato.policy.policy.Policy` knows every algorithm, and who verifies a release must
not need any.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.errors import PolicyError
from sfumato.recoding import Recoding
from sfumato.whole_files import read_regular_text

FILE = "policy.toml"


@dataclass(frozen=True)
class PublishedPolicy:
    """What a release says of how it was made."""

    text: str | None = None  # as TOML; None where the release says nothing

    @classmethod
    def of_folder(cls, folder: Path) -> PublishedPolicy:
        """Read the file of a release folder, where there is one."""
        path = folder / FILE
        return cls(read_regular_text(path, errors="replace") if path.is_file() else None)

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """Plain values, unchecked: who receives a release may have been sent anything.

        Raises ``PolicyError`` when the text is no TOML.
        """
        try:
            return tomllib.loads(self.text or "")
        except (tomllib.TOMLDecodeError, RecursionError):
            # Messages of the parser may quote a key, and keys of groups are values.
            raise PolicyError(f"{FILE}: is damaged; it is not valid TOML") from None

    def recoding(self) -> Recoding:
        """Return how the release was published; other parts of the policy may be unknown here or withheld.

        Raises ``PolicyError`` when it cannot be read.
        """
        damaged = PolicyError(f"{FILE}: is damaged; say how the table was published with recoding=")
        try:
            content = self.content
        except PolicyError:
            raise damaged from None
        try:
            return Recoding.from_policy(content.get("recoding", {}))
        except (AttributeError, TypeError):
            raise damaged from None

    def rows_together(self) -> bool:
        """Tell whether it says that all records of a person share one class; if it cannot be read, it does not."""
        try:
            rows = self.content.get("people", {}).get("rows", "together")
            return bool(self.content["columns"]["person"]) and bool(rows == "together")
        except (PolicyError, KeyError, TypeError, AttributeError):
            return False

    def algorithm(self) -> tuple[str, dict[str, Any]] | None:
        """Return the name of the anonymizer and its settings, as a program writes them; None where none can be read."""
        try:
            settings = dict(self.content["anonymizer"])
            return str(settings.pop("name")), {name.replace("-", "_"): value for name, value in settings.items()}
        except (PolicyError, KeyError, TypeError, ValueError):
            return None
