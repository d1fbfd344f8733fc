"""What the policies of all kinds of releases share: each is a TOML file of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import tomli_w
from pydantic import field_validator

from sfumato.errors import PolicyError
from sfumato.policy.entries import PolicyPart, checked, json_schema, moved_files, problems_reported, spelled_out
from sfumato.policy.file import read_policy
from sfumato.policy.mistakes import KeyPath
from sfumato.policy.parts import Layout
from sfumato.whole_files import write_whole

if TYPE_CHECKING:
    from sfumato.table.sources.protocol import Reading


class WholePolicy(PolicyPart):
    """A policy that is a file of its own; equal by value."""

    made_by: ClassVar[str] = "Policy.from_file"
    """The function of the library that makes one, for messages."""

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Read a TOML file; files that it names are looked for beside it.

        Raises ``InputError`` when the file cannot be read. Raises ``PolicyError`` with every mistake in it, or the line
        and column where it is not TOML.
        """
        return cls.from_mapping(read_policy(path))

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], *, names: Mapping[KeyPath, str] | None = None) -> Self:
        """Check plain values in the layout of a TOML file.

        `mapping`: tables as dictionaries, with hyphenated keys. `names`: what messages call certain keys instead, such
        as ``{("model", "k"): "-k"}``. Raises ``PolicyError`` with every mistake, one line each, that names the key and
        never shows a value.
        """
        return checked(cls, spelled_out(mapping), names=names)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of such policy files, for editors."""
        return json_schema(cls)

    def to_mapping(self) -> dict[str, Any]:
        """Return plain values; :meth:`from_mapping` makes an equal policy of them."""
        mapping = self.model_dump(mode="json", by_alias=True, exclude_none=True, serialize_as_any=True)
        return {key: value for key, value in mapping.items() if value != {}}

    def to_toml(self) -> str:
        """Return the text of a policy file."""
        return tomli_w.dumps(self.to_mapping())

    def to_file(self, path: str | os.PathLike[str], *, remarks: Sequence[str] = ()) -> None:
        """Write a policy file; the files that it names are written relative to its folder. Remarks end it."""
        folder = Path(path).parent
        moved = moved_files(self.to_mapping(), lambda file: os.path.relpath(file, folder))
        # A name may hold whatever ends a line.
        comments = "".join(f"# {' '.join(remark.split())}\n" for remark in remarks)
        write_whole(path, tomli_w.dumps(moved) + comments)


class LaidOutPolicy(WholePolicy):
    """What policies of kinds with rows of people share: how a file is laid out, of which blanks are always dropped."""

    blanks: ClassVar[str]
    """Around what there may be blanks."""

    purpose: str | None = None
    recipient: str | None = None

    @field_validator("source", check_fields=False)
    @classmethod
    def _strips(cls, source: Layout) -> Layout:
        with problems_reported(["source"]):
            if not source.strip:
                raise PolicyError(f"source: blanks around {cls.blanks} are always dropped; leave strip out")
        return source

    def to_model(self) -> Any:
        """Return what is promised."""
        policy: Any = self
        return policy.model.build()

    def _layout(self) -> Reading:
        """Return how a file is read."""
        from sfumato.table.sources.protocol import Reading

        policy: Any = self
        layout = policy.source.reading()
        del layout["strip"]
        return Reading(**layout)
