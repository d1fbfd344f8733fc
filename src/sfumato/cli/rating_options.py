"""Options that the commands on ratings share, and reading ratings by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.cli.kind_words import KindWords, kind_policy_of
from sfumato.cli.options import COLUMNS, METHOD, PRIVACY, READING, Reading
from sfumato.errors import InputError, SfumatoError

if TYPE_CHECKING:
    from sfumato.policy.rating_policy import RatingPolicy
    from sfumato.table.ratings.ratings import Ratings


# From the options of the commands on ratings to a policy. Options override a policy file.


OPTIONS: dict[tuple[str | int, ...], str] = {
    ("suppression-limit",): "--suppression",
    ("threads",): "--threads",
    ("model", "k"): "-k",
    ("model", "epsilon"): "--epsilon",
    ("model", "l"): "-l",
    ("sensitive", "names"): "--sensitive",
    ("sensitive", "file"): "--sensitive-file",
    ("sensitive", "share"): "--sensitive-share",
    ("sensitive", "drawn"): "--sensitive-drawn",
    ("change", "method"): "--method",
    ("change", "keep"): "--keep",
    ("output", "format"): "--format",
    **{("model", key): f"--{key}" for key in ("group", "nulls")},
    **{("ratings", key): f"--{key}" for key in ("form", "user", "issue", "rating", "issues", "scale", "key-form")},
}
"""What messages call a key that an option set."""

ADVICE = {
    "-k: is missing": "-k: give the number of records that must be around each, e.g. -k 3",
    "--epsilon: is missing": "--epsilon: give the largest difference of ratings that are alike, e.g. --epsilon 1",
}


def rating_policy_of(words: KindWords) -> RatingPolicy:
    """Make the policy that the options mean.

    Raises
    ------
    InputError
        When the policy file cannot be read.
    PolicyError
        With every mistake in the options and in the file.
    """
    from sfumato.policy.rating_policy import RatingPolicy

    return kind_policy_of(words, RatingPolicy.from_mapping, OPTIONS, ADVICE)


def scale_words(text: str | None, problems: list[str]) -> list[float] | None:
    """Read LOW,HIGH or LOW,HIGH,STEP; a mistake is added to `problems`."""
    try:
        numbers = scale_of_text(text)
    except SfumatoError as error:
        problems.extend(error.problems)
        return None
    return None if numbers is None else list(numbers)


SENSITIVE, KNOWN = "Sensitive issues", "What the attacker knows"

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
        metavar="NAMES",
        help="Column of users, or several that say together who it is; in the long form, default the first.",
        rich_help_panel=COLUMNS,
    ),
]
Issue = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column of issues; default the second.", rich_help_panel=COLUMNS),
]
KeyForm = Annotated[
    str | None,
    typer.Option(
        metavar="FORM",
        help="exact or fold: whether keys of people that differ in capitals, blanks, zeros and the like are one "
        "person's. By kind: fold:capitals,exact:zeros.",
        rich_help_panel=COLUMNS,
    ),
]
Rating = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column of ratings; default the third.", rich_help_panel=COLUMNS),
]
Issues = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Columns of the wide form that are issues, or patterns; default all.",
        rich_help_panel=COLUMNS,
    ),
]
RatingScale = Annotated[
    str | None,
    typer.Option(
        "--scale",
        metavar="LOW,HIGH[,STEP]",
        help="The possible ratings; default found in the data.",
        rich_help_panel=READING,
    ),
]
SensitiveNames = Annotated[
    list[str] | None,
    typer.Option("--sensitive", metavar="NAMES", help="Issues, or patterns such as 'N*'.", rich_help_panel=SENSITIVE),
]
SensitiveFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A file with one issue or pattern per line.", rich_help_panel=SENSITIVE),
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

# What check requires may also be in a policy file; None says nothing.
K = Annotated[int | None, typer.Option("-k", help="Records around each, itself included.", rich_help_panel=PRIVACY)]
Epsilon = Annotated[
    float | None, typer.Option(help="Largest difference of ratings that are alike.", rich_help_panel=PRIVACY)
]
L = Annotated[
    float | None,
    typer.Option("-l", help="Smallest deviation of each sensitive issue.", rich_help_panel=PRIVACY),
]
GroupKind = Annotated[
    Literal["ball", "trimmed"] | None,
    typer.Option(metavar="KIND", help="Which records are around one: ball or trimmed.", rich_help_panel=PRIVACY),
]
NullsKind = Annotated[
    Literal["skip", "g", "literal"] | None,
    typer.Option(metavar="KIND", help="Deviation with missing ratings: skip, g or literal.", rich_help_panel=PRIVACY),
]
Suppression = Annotated[
    float | None,
    typer.Option(help="Fraction of the records that may be left out, e.g. 0.02.", rich_help_panel=PRIVACY),
]
Method = Annotated[
    Literal["groups", "plan"] | None,
    typer.Option(metavar="NAME", help="groups; or plan, the literature's, for study.", rich_help_panel=METHOD),
]
Invent = Annotated[
    bool,
    typer.Option("--invent", help="Allow ratings that nobody gave if that costs less.", rich_help_panel=METHOD),
]
Keep = Annotated[
    int | None,
    typer.Option(metavar="COUNT", help="Keep this many of the most rated issues.", rich_help_panel=METHOD),
]
Threads = Annotated[int | None, typer.Option(help="Threads; default all cores.", rich_help_panel=METHOD)]
FormOrNone = Annotated[
    Literal["long", "wide", "netflix"] | None,
    typer.Option(
        metavar="FORM",
        help="long: a row per rating. wide: a column per issue. netflix: as Netflix did.",
        rich_help_panel=READING,
    ),
]
DrawnOrNone = Annotated[
    Literal["random", "most-rated"] | None,
    typer.Option(
        "--sensitive-drawn",
        metavar="KIND",
        help="How the share is drawn: random or most-rated.",
        rich_help_panel=SENSITIVE,
    ),
]
RepeatSeed = Annotated[
    int | None,
    typer.Option("--seed", help="For tests and studies only: makes chance repeatable.", rich_help_panel=METHOD),
]


@dataclass(frozen=True)
class SensitiveWords:
    """The options about sensitive issues."""

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
    layout: Reading,
    key_form: str | None = None,
) -> Ratings:
    """Read ratings as the options say.

    Raises
    ------
    SfumatoError
        With everything that is wrong in the options or the file.
    """
    from sfumato.cli.words import all_names, key_named
    from sfumato.policy.entries import checked
    from sfumato.policy.mistakes import KeyPath
    from sfumato.policy.parts import Layout
    from sfumato.table.ratings.reading import read_ratings
    from sfumato.table.ratings.sensitive import SensitiveIssues

    said = layout.source
    names: dict[KeyPath, str] = {(key,): f"--{key}" for key in said}
    reading = checked(Layout, said, names=names).reading()
    del reading["strip"]
    chosen = SensitiveIssues(
        all_names(sensitive.names), sensitive.file, sensitive.share, sensitive.drawn, sensitive.seed
    )
    columns = all_names(issues) or None
    parts: dict[str, Any] = {"form": form, "user": key_named(user), "issue": issue, "rating": rating, "issues": columns}
    parts["key_form"] = key_form
    return read_ratings(file, **parts, sensitive=chosen, scale=scale_of_text(scale), **reading)


def scale_of_text(text: str | None) -> tuple[float, ...] | None:
    """Read LOW,HIGH or LOW,HIGH,STEP, or raise InputError."""
    if text is None:
        return None
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) not in (2, 3):
        raise InputError("--scale: write LOW,HIGH or LOW,HIGH,STEP, for example 0.5,5,0.5")
    return numbers
