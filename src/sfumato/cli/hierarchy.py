"""``sfumato hierarchy``: draft a hierarchy for a column, as a file to be edited."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfumato.cli.options import Categorical, Original, Overwrite, Settings, argument, option
from sfumato.cli.outcome import complain
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sfumato.hierarchy.tree import Hierarchy


def hierarchy(
    table: Original,
    column: Annotated[str, argument("COLUMN", "Its name.")],
    out: Annotated[Path | None, option("File to write; default stdout.", "FILE")] = None,
    overwrite: Overwrite = False,
    categorical: Categorical = None,
    settings: Settings = None,
) -> None:
    """Draft a hierarchy for a column: one line per value, level 0 first, ever coarser to the right.

    Numbers get intervals of round widths, dates calendar units, and codes prefixes. Other values are listed one by one;
    group them by writing the same label over several. The file holds original values: it is yours, not for release.
    """
    from sfumato.cli.words import all_names, reading_words
    from sfumato.hierarchy import draft_hierarchy, hierarchy_text, write_hierarchy
    from sfumato.policy.entries import checked
    from sfumato.policy.mistakes import KeyPath
    from sfumato.policy.parts import Source
    from sfumato.table.identification import hint
    from sfumato.table.reading import read_table
    from sfumato.table.schema import Attribute, Kind, Schema
    from sfumato.table.sources.protocol import Reading

    if out is not None and out.exists() and not overwrite:
        raise InputError(f"{out}: already exists; name another file or add --overwrite")
    codes, layout = all_names(categorical), reading_words(settings or (), "is not about how the table is read")
    source, written = layout["source"], layout["written"]
    if not {column}.issuperset([*codes, *written]):
        option = "--categorical" if codes else "an option"
        raise InputError(f"{option}: names a column other than {column!r}, the only one that is read")
    names: dict[KeyPath, str] = {(key,): f"--set source.{key}" for key in source}
    attribute = Attribute(kind=Kind.CATEGORICAL if codes else None, **written.get(column, {}))
    schema = Schema(quasi_identifying={column: attribute}, others="drop")
    read = read_table(table, schema, reading=Reading(**checked(Source, source, names=names).reading()))
    drafted = draft_hierarchy(read.frame[column])
    if note := _poor_draft(drafted):
        complain([f"column {column!r}: {note}"])
    identification = hint(column, read.look(column))
    complain([identification] if identification else [])
    if out is None:
        print(hierarchy_text(drafted), end="")
    else:
        write_hierarchy(drafted, out)
        complain([f"{out}: {drafted.size} values, {drafted.height} levels above them; edit it, then use --hierarchies"])


def _poor_draft(drafted: Hierarchy) -> str | None:
    """Say that a draft groups nothing yet, if it does."""
    levels = drafted.levels[1:-1]
    if not levels:
        return "the draft is only value;* for every value: nothing lies between a value and all of them; add levels"
    if all(len(level.labels) == drafted.size for level in levels):
        return "the draft puts every value into a group of its own; write the same label over several to group them"
    return None
