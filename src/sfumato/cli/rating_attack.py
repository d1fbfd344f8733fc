"""``sfumato ratings attack``: the scoring attack, on ratings as they are and on a release of them."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from sfumato.cli.kernels import say_result
from sfumato.cli.options import AsJson, PolicyFile, Reading
from sfumato.cli.progress import progress_bar
from sfumato.cli.rating_options import (
    KNOWN,
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

EXAMPLE = """\b
Example:
  sfumato ratings attack ratings.csv --scale 0.5,5,0.5 --known 8
  sfumato ratings attack ratings.csv --scale 0.5,5,0.5 \\
      -k 3 --epsilon 1 --keep 50 --known 4 --error 1 --about rare
  sfumato ratings attack ratings.csv --policy ratings.toml --hold-out 0.1
"""


def attack(
    ratings: RatingsFile,
    policy: PolicyFile = None,
    known: Annotated[int, typer.Option(metavar="COUNT", help="Known ratings per victim.", rich_help_panel=KNOWN)] = 8,
    error: Annotated[
        float, typer.Option(help="By how much each may be off, in units of the scale.", rich_help_panel=KNOWN)
    ] = 0,
    about: Annotated[
        Literal["any", "popular", "rare"],
        typer.Option(metavar="KIND", help="Which issues they are about: any, popular or rare.", rich_help_panel=KNOWN),
    ] = "any",
    with_sensitive: Annotated[
        bool, typer.Option("--with-sensitive", help="Also about sensitive issues.", rich_help_panel=KNOWN)
    ] = False,
    threshold: Annotated[
        float, typer.Option(help="Eccentricity from which on a record stands out.", rich_help_panel=KNOWN)
    ] = 1.5,
    victims: Annotated[
        int, typer.Option(metavar="COUNT", help="People to try; 0 for all.", rich_help_panel=KNOWN)
    ] = 1000,
    hold_out: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="People who are left out beforehand and serve as the control group, e.g. 0.1.",
            rich_help_panel=KNOWN,
        ),
    ] = None,
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
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Try to find people by a few roughly known ratings, in ratings as they are and in what is published of them.

    For the steward: the original decides who is right. With a policy, or -k and --epsilon, a release is made (never
    written) and attacked, too; otherwise the original alone is.
    """
    from sfumato.cli.rating_anonymize import seed_problem, words_of
    from sfumato.cli.rating_words import rating_policy_of
    from sfumato.evaluation.attacks.ratings import attack_ratings, hold_out_ratings
    from sfumato.release.ratings.anonymize import anonymize_ratings
    from sfumato.table.ratings.reading import read_ratings

    is_bare = policy is None and k is None and epsilon is None
    problems = seed_problem(seed)
    if is_bare:
        problems += _meaningless(l, suppression, keep, method, invent=invent)
    # If only the original is attacked, nothing is promised; the model is only there to make a policy.
    said = {**locals(), "invent": invent or None, **({"k": 1, "epsilon": 0.0} if is_bare else {})}
    meant = rating_policy_of(words_of(said, [*problems, *_mistakes(known, error, threshold, victims, hold_out)]))
    with progress_bar(quiet=quiet or as_json) as progress:
        progress("reading", 0, 1)
        original, control = read_ratings(ratings, **meant.reading(seed)), None
        if hold_out is not None:
            original, control = hold_out_ratings(original, hold_out, seed=seed)
        release = None if is_bare else anonymize_ratings(original, meant, seed=seed, progress=progress)
        found = attack_ratings(
            original,
            release,
            known=known,
            error=error,
            issues=about,
            threshold=threshold,
            with_sensitive=with_sensitive,
            victims=victims or None,
            control=control,
            seed=seed,
            threads=meant.threads,
        )
    say_result(found.to_dict(), str(found), as_json=as_json)


def _meaningless(
    l: float | None,  # noqa: E741
    suppression: float | None,
    keep: int | None,
    method: str | None,
    *,
    invent: bool,
) -> list[str]:
    """Name the options that say how a release is made, if none is made."""
    given = {"-l": l, "--suppression": suppression, "--keep": keep, "--method": method, "--invent": invent or None}
    return [
        f"{option}: says how a release is made; add -k and --epsilon, or --policy"
        for option, value in given.items()
        if value is not None
    ]


def _mistakes(known: int, error: float, threshold: float, victims: int, hold_out: float | None) -> list[str]:
    """Say what is wrong with the attacker, in the words of the command line."""
    checks = {
        "--known: must be a whole number of at least 1": known >= 1,
        "--error: must be a number of at least 0": 0 <= error < float("inf"),
        "--threshold: must be a number above 0": 0 < threshold < float("inf"),
        "--victims: must be 0 or above": victims >= 0,
        "--hold-out: must be a number above 0 and below 1": hold_out is None or 0 < hold_out < 1,
    }
    return [problem for problem, is_right in checks.items() if not is_right]
