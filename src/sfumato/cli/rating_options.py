"""Options that the commands on ratings share, and reading ratings as they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.cli.options import COLUMNS, READING
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sfumato.ratings.ratings import Ratings

SENSITIVE = "Sensitive issues"

RatingsFile = Annotated[Path, typer.Argument(metavar="RATINGS", show_default=False, help="CSV or Parquet file.")]
Form = Annotated[
    Literal["long", "wide", "netflix"],
    typer.Option(
        metavar="FORM",
        help="long: a row per rating. wide: a column per issue. netflix: as Netflix did.",
        rich_help_panel=READING,
    ),
]
User = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Column of users; the first of the long form unless said.", rich_help_panel=COLUMNS
    ),
]
Issue = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column of issues; the second unless said.", rich_help_panel=COLUMNS),
]
Rating = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column of ratings; the third unless said.", rich_help_panel=COLUMNS),
]
Issues = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Columns of the wide form that are issues, or patterns; all unless said.",
        rich_help_panel=COLUMNS,
    ),
]
RatingScale = Annotated[
    str | None,
    typer.Option(
        "--scale",
        metavar="LOW,HIGH[,STEP]",
        help="The ratings there can be; found unless said.",
        rich_help_panel=READING,
    ),
]
SensitiveNames = Annotated[
    list[str] | None,
    typer.Option("--sensitive", metavar="NAMES", help="Issues, or patterns such as 'N*'.", rich_help_panel=SENSITIVE),
]
SensitiveFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A file with one of them per line.", rich_help_panel=SENSITIVE),
]
SensitiveShare = Annotated[
    float | None, typer.Option(metavar="FRACTION", help="A share of all issues.", rich_help_panel=SENSITIVE)
]
SensitiveDrawn = Annotated[
    Literal["random", "most-rated"],
    typer.Option(metavar="KIND", help="How the share is drawn: random or most-rated.", rich_help_panel=SENSITIVE),
]
Seed = Annotated[
    int | None, typer.Option(help="For tests and studies: draws the same share.", rich_help_panel=SENSITIVE)
]


@dataclass(frozen=True)
class SensitiveWords:
    """What the command line says about sensitive issues."""

    names: Sequence[str] | None
    file: Path | None
    share: float | None
    drawn: Literal["random", "most-rated"]
    seed: int | None


def ratings_of(
    file: Path,
    sensitive: SensitiveWords,
    *,
    form: Literal["long", "wide", "netflix"],
    user: str | None,
    issue: str | None,
    rating: str | None,
    issues: Sequence[str] | None,
    scale: str | None,
    **layout: Any,
) -> Ratings:
    """Read ratings as the words say.

    Raises
    ------
    SfumatoError
        With everything that is wrong in the words or the file.
    """
    from sfumato.cli.words import all_names, source_words
    from sfumato.policy.entries import checked
    from sfumato.policy.mistakes import KeyPath
    from sfumato.policy.parts import Source
    from sfumato.ratings.reading import read_ratings
    from sfumato.ratings.sensitive import SensitiveIssues

    said = source_words(**layout)
    names: dict[KeyPath, str] = {(key,): f"--{key}" for key in said}
    reading = checked(Source, said, names=names).reading()
    del reading["strip"]
    chosen = SensitiveIssues(
        all_names(sensitive.names), sensitive.file, sensitive.share, sensitive.drawn, sensitive.seed
    )
    columns = all_names(issues) or None
    parts: dict[str, Any] = {"form": form, "user": user, "issue": issue, "rating": rating, "issues": columns}
    return read_ratings(file, **parts, sensitive=chosen, scale=_scale(scale), **reading)


def _scale(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) not in (2, 3):
        raise InputError("--scale: write LOW,HIGH or LOW,HIGH,STEP, for example 0.5,5,0.5")
    return numbers
