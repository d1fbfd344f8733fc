"""Options that the commands on sets share, and the policy that they mean."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.cli.options import COLUMNS, METHOD, PRIVACY, READING, Hierarchies, Reading
from sfumato.cli.rating_options import KeyForm
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sfumato.policy.set_policy import SetPolicy

SetsFile = Annotated[Path, typer.Argument(metavar="SETS", show_default=False, help="CSV or Parquet file.")]
FormOfSets = Annotated[
    Literal["long", "wide"] | None,
    typer.Option(
        metavar="FORM",
        help="long: a row for each item of a person. wide: a row for each person, with a column of whole sets.",
        rich_help_panel=READING,
    ),
]
ItemSeparator = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Wide form: what stands between items; default ';'.", rich_help_panel=READING),
]
PersonOfSets = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Long form: column of people; default the first.", rich_help_panel=COLUMNS),
]
Item = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column of items, by default the second; wide form: of whole sets, by default the last.",
        rich_help_panel=COLUMNS,
    ),
]
ItemHierarchy = Annotated[
    Path | None,
    typer.Option(
        "--hierarchy",
        metavar="FILE",
        help="CSV with a line for each item: the item, then ever coarser names.",
        rich_help_panel=COLUMNS,
    ),
]
QuasiBeside = Annotated[
    list[str] | None,
    typer.Option(
        "--quasi",
        metavar="NAMES",
        help="Columns beside the sets that an attacker may know, too.",
        rich_help_panel=COLUMNS,
    ),
]
K = Annotated[int | None, typer.Option("-k", help="Records that hold each combination.", rich_help_panel=PRIVACY)]
M = Annotated[int | None, typer.Option("-m", help="Items that an attacker may know.", rich_help_panel=PRIVACY)]
SetMethod = Annotated[
    Literal["mixed", "apriori", "optimal", "suppress"] | None,
    typer.Option(
        metavar="NAME",
        help="apriori, optimal: generalize items. suppress: leave them out. mixed, default with a hierarchy: either.",
        rich_help_panel=METHOD,
    ),
]
ClassSize = Annotated[
    int | None,
    typer.Option(
        metavar="COUNT", help="With --quasi: records of each class, at least; default k.", rich_help_panel=METHOD
    ),
]
Anonymizer = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="With --quasi: what makes the classes; default mondrian.", rich_help_panel=METHOD
    ),
]

OPTIONS: dict[tuple[str | int, ...], str] = {
    ("threads",): "--threads",
    ("model", "k"): "-k",
    ("model", "m"): "-m",
    ("change", "method"): "--method",
    ("change", "class-size"): "--class-size",
    ("anonymizer",): "--anonymizer",
    ("anonymizer", "name"): "--anonymizer",
    ("output", "format"): "--format",
    **{("sets", key): f"--{key}" for key in ("form", "person", "item", "item-separator", "hierarchy", "key-form")},
}
"""What messages call a key that an option set."""

ADVICE = {
    "-k: is missing": "-k: give the number of records that must hold each combination, e.g. -k 5",
    "-m: is missing": "-m: give the number of items that an attacker may know, e.g. -m 2",
}


@dataclass(frozen=True)
class SetReading:
    """What is read, and from where."""

    form: FormOfSets = None
    person: PersonOfSets = None
    key_form: KeyForm = None
    item: Item = None
    item_separator: ItemSeparator = None
    hierarchy: ItemHierarchy = None
    quasi: QuasiBeside = None
    hierarchies: Hierarchies = None


@dataclass(frozen=True)
class SetMaking:
    """What is promised, and how it is reached."""

    k: K = None
    m: M = None
    method: SetMethod = None
    class_size: ClassSize = None
    anonymizer: Anonymizer = None


def set_policy_of(
    policy: Path | None, read: SetReading, make: SetMaking, layout: Reading, problems: list[str], **more: Any
) -> SetPolicy:
    """Make the policy that the options mean; `more` has keys of other parts.

    Raises
    ------
    InputError
        When the policy file, or a folder of hierarchies, cannot be read.
    PolicyError
        With every mistake in the options and in the file.
    """
    from sfumato.cli.kind_words import KindWords, kind_policy_of
    from sfumato.policy.set_policy import SetPolicy

    sets: dict[str, Any] = {"form": read.form, "person": read.person, "item": read.item}
    sets |= {"item-separator": read.item_separator, "key-form": read.key_form}
    sets |= {"hierarchy": None if read.hierarchy is None else str(read.hierarchy)}
    parts = {
        "source": layout.source,
        "sets": sets,
        "columns": _beside(read, problems),
        "model": {"k": make.k, "m": make.m},
        "change": {"method": make.method, "class-size": make.class_size},
        "anonymizer": {"name": make.anonymizer},
        "output": {"format": more.get("format")},
    }
    words = KindWords(policy, {"threads": more.get("threads")}, parts, problems)
    return kind_policy_of(words, SetPolicy.from_mapping, OPTIONS, ADVICE)


def _beside(read: SetReading, problems: list[str]) -> dict[str, Any]:
    """Return the columns beside the sets as a policy writes them."""
    from sfumato.cli.hierarchy_files import hierarchy_files
    from sfumato.cli.words import all_names

    names = all_names(read.quasi)
    if not names:
        if read.hierarchies is not None:
            problems.append("--hierarchies: is about columns beside the sets; name some with --quasi")
        return {}
    files: dict[str, Path] = {}
    if read.hierarchies is not None:
        try:
            files, found = hierarchy_files(read.hierarchies, names)
            problems += found
        except InputError as error:
            problems += error.problems
    return {"quasi-identifying": {name: {"hierarchy": str(files[name])} if name in files else {} for name in names}}
