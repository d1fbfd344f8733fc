"""``sfumato ratings anonymize``: from ratings and a policy to a verified release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.cli.kernels import say_json
from sfumato.cli.options import OUTPUT, AsJson, HowFormulas, Overwrite, PolicyFile, Quiet, Reading, SavePolicy
from sfumato.cli.outcome import complain, say
from sfumato.cli.progress import progress_bar
from sfumato.cli.rating_options import (
    DrawnOrNone,
    Epsilon,
    FormOrNone,
    GroupKind,
    Invent,
    Issue,
    Issues,
    K,
    Keep,
    KeyForm,
    L,
    Method,
    NullsKind,
    Rating,
    RatingScale,
    RatingsFile,
    RepeatSeed,
    SensitiveFile,
    SensitiveNames,
    SensitiveShare,
    Suppression,
    Threads,
    User,
)

if TYPE_CHECKING:
    from sfumato.cli.kind_words import KindWords
    from sfumato.release.ratings.release import RatingRelease

EXAMPLE = """\b
Example:
  sfumato ratings anonymize ratings.csv -k 3 --epsilon 1 \\
      --scale 0.5,5,0.5 --keep 50 --out ratings-release/
  sfumato ratings anonymize ratings.csv --policy ratings.toml \\
      --out ratings-release/
"""


def anonymize(
    ratings: RatingsFile,
    policy: PolicyFile = None,
    k: K = None,
    epsilon: Epsilon = None,
    l: L = None,  # noqa: E741
    group: GroupKind = None,
    nulls: NullsKind = None,
    suppression: Suppression = None,
    sensitive: SensitiveNames = None,
    sensitive_file: SensitiveFile = None,
    sensitive_share: SensitiveShare = None,
    sensitive_drawn: DrawnOrNone = None,
    method: Method = None,
    invent: Invent = False,
    keep: Keep = None,
    form: FormOrNone = None,
    user: User = None,
    key_form: KeyForm = None,
    issue: Issue = None,
    rating: Rating = None,
    issues: Issues = None,
    scale: RatingScale = None,
    reading: Reading = Reading(),  # noqa: B008 - a frozen value
    threads: Threads = None,
    seed: RepeatSeed = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of the release.", rich_help_panel=OUTPUT)
    ] = None,
    format: Annotated[
        Literal["csv", "parquet"] | None,
        typer.Option(help="Format of the ratings; default csv.", rich_help_panel=OUTPUT),
    ] = None,
    formulas: HowFormulas = "keep",
    save_policy: SavePolicy = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Change ratings as little as possible so that (k, epsilon, l)-anonymity holds, or say why that is impossible.

    Ratings are removed and moved, and invented only with --invent; those of sensitive issues stay unchanged. The result
    is verified before it is written. With --save-policy and without --out, only the policy is written.
    """
    from sfumato.cli.anonymize import say_formulas, target_problems
    from sfumato.cli.rating_words import rating_policy_of
    from sfumato.release.ratings.anonymize import anonymize_ratings
    from sfumato.release.ratings.folder import formula_ratings, rating_report, save_ratings
    from sfumato.table.ratings.reading import read_ratings

    words = words_of(
        {**locals(), "invent": invent or None},
        [*seed_problem(seed), *target_problems(out, save_policy, overwrite=overwrite)],
        output={"format": format},
    )
    meant = rating_policy_of(words)
    if out is not None:
        with progress_bar(quiet=quiet or as_json) as progress:
            progress("reading", 0, 1)
            release = anonymize_ratings(
                read_ratings(ratings, **meant.reading(seed)), meant, seed=seed, progress=progress
            )
        save_ratings(release, out, format=meant.output.format, overwrite=overwrite, formulas=formulas)
        if meant.output.format == "csv":
            say_formulas(formula_ratings(release), formulas)
        _report(release, rating_report(release), out, quiet=quiet, as_json=as_json)
    if save_policy is not None:
        meant.to_file(save_policy)


def words_of(said: dict[str, Any], problems: list[str], **parts: dict[str, Any]) -> KindWords:
    """Gather the options that say what is read, promised and done, by the names of the parameters of a command."""
    from sfumato.cli.kind_words import KindWords
    from sfumato.cli.rating_words import scale_words
    from sfumato.cli.words import all_names

    file = said["sensitive_file"]
    read = {name: said[name] for name in ("form", "user", "issue", "rating")}
    return KindWords(
        said["policy"],
        {"suppression-limit": said["suppression"], "threads": said["threads"]},
        {
            "source": said["reading"].source,
            "ratings": {
                **read,
                "key-form": said["key_form"],
                "issues": all_names(said["issues"]) or None,
                "scale": scale_words(said["scale"], problems),
            },
            "sensitive": {
                "names": all_names(said["sensitive"]) or None,
                "file": None if file is None else str(file),
                "share": said["sensitive_share"],
                "drawn": said["sensitive_drawn"],
            },
            "model": {name: said[name] for name in ("k", "epsilon", "l", "group", "nulls")},
            "change": {name: said[name] for name in ("method", "invent", "keep")},
            **parts,
        },
        problems,
    )


def seed_problem(seed: int | None) -> list[str]:
    """Return what is wrong with a seed, if anything."""
    return ["--seed: must be 0 or above"] if seed is not None and seed < 0 else []


def _report(release: RatingRelease, report: Any, out: Path, *, quiet: bool, as_json: bool) -> None:
    if as_json:
        say_json(report.to_dict())
    elif not quiet:
        say(str(release))
        complain([f"release written to {out}; check it with: sfumato verify {out}"])
