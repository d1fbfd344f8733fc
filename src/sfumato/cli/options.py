"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

READING, COLUMNS, PRIVACY, METHOD, OUTPUT = "Reading the table", "Columns", "Privacy", "Method", "Output"

ANONYMIZERS = (
    "mondrian, optimal, k-member, global-mondrian, value-generalization, cell-suppression, k-means, mdav, v-mdav, sbc, "
    "datafly, incognito, caat, kaca, oka, utility-recoding"
)
"""Names for the help page; the anonymizers themselves are only loaded when one is needed."""

PUBLISHERS = (
    "bucketization, slicing, overlapping-slicing, marginals, swapping, rank-swapping, noise, pram, rounding, "
    "top-bottom-coding, sampling"
)
"""Those whose releases are no generalized tables."""

Original = Annotated[Path, typer.Argument(metavar="TABLE", show_default=False, help="CSV or Parquet file.")]
ReleaseFolder = Annotated[Path, typer.Argument(metavar="RELEASE", show_default=False, help="Folder of a release.")]
PolicyFile = Annotated[
    Path | None, typer.Option("--policy", metavar="FILE", help="Policy file (TOML); other words go before it.")
]

Separator = Annotated[
    str | None, typer.Option(help="Character between cells; write a tab as 'tab'.", rich_help_panel=READING)
]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of the file, e.g. utf8 or latin1.", rich_help_panel=READING)
]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="Text that stands for a missing value, e.g. '?'; repeatable.", rich_help_panel=READING),
]
NoHeader = Annotated[bool, typer.Option("--no-header", help="The file has no line of names.", rich_help_panel=READING)]
ColumnNames = Annotated[
    str | None,
    typer.Option("--columns", metavar="NAMES", help="Names for the columns, in order.", rich_help_panel=READING),
]

Identifying = Annotated[
    list[str] | None, typer.Option(metavar="NAMES", help="Columns to remove, such as names.", rich_help_panel=COLUMNS)
]
Quasi = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Columns that an attacker may know.", rich_help_panel=COLUMNS),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Columns whose link to a person must stay hidden.", rich_help_panel=COLUMNS),
]
Insensitive = Annotated[
    list[str] | None, typer.Option(metavar="NAMES", help="Columns to publish as they are.", rich_help_panel=COLUMNS)
]
Others = Annotated[
    str | None,
    typer.Option(metavar="drop|keep|error", help="What to do with all other columns.", rich_help_panel=COLUMNS),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Columns of codes that only look like numbers.", rich_help_panel=COLUMNS),
]
Hierarchies = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Hierarchies: one CSV per column, named after it or ending in _COLUMN.",
        rich_help_panel=COLUMNS,
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.", rich_help_panel=OUTPUT)]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.", rich_help_panel=OUTPUT)]
