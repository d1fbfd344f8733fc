"""``--kind ratings``: what commands do with survey ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.cli.kind_words import KeyForm, KindWords, KindWritten, RepeatSeed, kind_policy_of, seed_problem
from sfumato.cli.options import (
    COLUMNS,
    KNOWN,
    METHOD,
    OUTPUT,
    PRIVACY,
    READING,
    AsJson,
    Panel,
    PolicyFile,
    Settings,
    argument,
    option,
)
from sfumato.cli.progress import progress_bar, say_result
from sfumato.errors import InputError, SfumatoError

if TYPE_CHECKING:
    from sfumato.kinds.ratings.check import Satisfaction
    from sfumato.kinds.ratings.policy import RatingPolicy
    from sfumato.kinds.ratings.ratings import Ratings


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
    """Make the policy that the options mean, or raise with every mistake in the options and in the file."""
    from sfumato.kinds.ratings.policy import RatingPolicy

    return kind_policy_of(words, RatingPolicy.from_mapping, OPTIONS, ADVICE)


def scale_words(text: str | None, problems: list[str]) -> list[float] | None:
    """Read LOW,HIGH or LOW,HIGH,STEP; a mistake is added to `problems`."""
    try:
        numbers = scale_of_text(text)
    except SfumatoError as error:
        problems.extend(error.problems)
        return None
    return None if numbers is None else list(numbers)


SENSITIVE = Panel("Sensitive issues")
RatingsFile = Annotated[Path, argument("RATINGS", "CSV or Parquet file.")]
User = Annotated[
    str | None,
    COLUMNS("Column of users, or several that say together who it is; in the long form, default the first.", "NAMES"),
]
Issue = Annotated[str | None, COLUMNS("Column of issues; default the second.", "NAME")]
Rating = Annotated[str | None, COLUMNS("Column of ratings; default the third.", "NAME")]
Issues = Annotated[
    list[str] | None, COLUMNS("Columns of the wide form that are issues, or patterns; default all.", "NAMES")
]
RatingScale = Annotated[
    str | None, READING("The possible ratings; default found in the data.", "LOW,HIGH[,STEP]", "--scale")
]
# What check requires may also be in a policy file; None says nothing.


KEY_FORM = "ratings.key-form="
"""What a check takes of a policy beside how the file is read: the answer that its question names."""


def ratings_of(file: Path, chosen: DrawnChoice, columns: CheckedColumns, settings: Sequence[str]) -> Ratings:
    """Read ratings as the options say; raises SfumatoError with everything that is wrong in the options or the file."""
    from sfumato.cli.words import all_names, key_named, reading_words
    from sfumato.kinds.ratings.ratings import SensitiveIssues
    from sfumato.kinds.ratings.reading import read_ratings
    from sfumato.policy.entries import checked
    from sfumato.policy.mistakes import KeyPath
    from sfumato.policy.parts import Layout
    from sfumato.table.sources.protocol import Reading

    # Options of the last version come as settings that were read already.
    typed = [setting for setting in settings if isinstance(setting, str) and setting.startswith(KEY_FORM)]
    answers = [setting.removeprefix(KEY_FORM) for setting in typed]
    others = [setting for setting in settings if setting not in typed]
    said = reading_words(others, "is not about how the file is read")["source"]
    names: dict[KeyPath, str] = {("source", key): f"--set source.{key}" for key in said} | {
        (key,): f"--set source.{key}" for key in said
    }
    layout = checked(Layout, said, names=names).reading()
    del layout["strip"]
    share, drawn, seed = chosen.sensitive_share, chosen.sensitive_drawn, chosen.seed
    return read_ratings(
        file,
        form=columns.form,
        user=key_named(columns.user),
        issue=columns.issue,
        rating=columns.rating,
        issues=all_names(columns.issues) or None,
        key_form=answers[-1] if answers else columns.key_form,
        sensitive=SensitiveIssues(all_names(chosen.sensitive), chosen.sensitive_file, share, drawn, seed),
        scale=scale_of_text(columns.scale),
        reading=Reading(**layout),
    )


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


# ``anonymize``: from ratings and a policy to a verified release.


@dataclass(frozen=True)
class RatingPromise:
    """What is promised."""

    k: Annotated[int | None, PRIVACY("Records around each, itself included.", None, "-k")] = None
    epsilon: Annotated[float | None, PRIVACY("Largest difference of ratings that are alike.")] = None
    l: Annotated[float | None, PRIVACY("Smallest deviation of each sensitive issue.", None, "-l")] = None  # noqa: E741
    suppression: Annotated[float | None, PRIVACY("Fraction of the records that may be left out, e.g. 0.02.")] = None


@dataclass(frozen=True)
class SensitiveChoice:
    """Which issues are sensitive."""

    sensitive: Annotated[list[str] | None, SENSITIVE("Issues, or patterns such as 'N*'.", "NAMES", "--sensitive")] = (
        None
    )
    sensitive_file: Annotated[Path | None, SENSITIVE("A file with one issue or pattern per line.", "FILE")] = None
    sensitive_share: Annotated[float | None, SENSITIVE("A share of all issues.", "FRACTION")] = None


@dataclass(frozen=True)
class RatingChange:
    """How ratings are changed."""

    method: Annotated[
        Literal["groups", "plan"] | None, METHOD("groups; or plan, the literature's, for study.", "NAME")
    ] = None
    invent: Annotated[bool, METHOD("Allow ratings that nobody gave if that costs less.", None, "--invent")] = False
    keep: Annotated[int | None, METHOD("Keep this many of the most rated issues.", "COUNT")] = None


@dataclass(frozen=True)
class RatingColumns:
    """What is read, and from which columns."""

    form: Annotated[
        Literal["long", "wide", "netflix"] | None,
        READING("long: a row per rating. wide: a column per issue. netflix: as Netflix did.", "FORM"),
    ] = None
    user: User = None
    issue: Issue = None
    rating: Rating = None
    issues: Issues = None
    scale: RatingScale = None


def anonymize(
    ratings: RatingsFile,
    policy: PolicyFile = None,
    promise: RatingPromise = RatingPromise(),
    chosen: SensitiveChoice = SensitiveChoice(),
    change: RatingChange = RatingChange(),
    columns: RatingColumns = RatingColumns(),
    settings: Settings = None,
    seed: RepeatSeed = None,
    written: KindWritten = KindWritten(),  # noqa: B008 - a frozen value
) -> None:
    """Change ratings as little as possible so that (k, epsilon, l)-anonymity holds, or say why that is impossible.

    Ratings are removed and moved, and invented only with --invent; those of sensitive issues stay unchanged. The result
    is verified before it is written. With --save-policy and without --out, only the policy is written.
    """
    from sfumato.kinds.ratings.make import anonymize_ratings
    from sfumato.kinds.ratings.reading import read_ratings
    from sfumato.kinds.ratings.release import save_ratings

    problems = [*seed_problem(seed), *written.problems()]
    options = (promise, chosen, change, columns)
    own = rating_policy_of(words_of(policy, options, settings or (), problems, output={"format": written.format}))
    written.publish(
        own,
        lambda progress: anonymize_ratings(
            read_ratings(ratings, **own.reading(seed)), own, seed=seed, progress=progress
        ),
        save_ratings,
        ("ratings", ratings, policy),
    )


def words_of(
    policy: Path | None, bundles: Sequence[Any], settings: Sequence[str], problems: list[str], **parts: dict[str, Any]
) -> KindWords:
    """Gather the options that say what is read, promised and done, in bundles of them."""
    from sfumato.cli.kind_words import KindWords
    from sfumato.cli.words import all_names, key_named

    said = {name: value for bundle in bundles for name, value in vars(bundle).items()}
    file = said["sensitive_file"]
    read = {**{name: said[name] for name in ("form", "issue", "rating")}, "user": key_named(said["user"])}
    return KindWords(
        policy,
        {"suppression-limit": said["suppression"]},
        {
            "ratings": {
                **read,
                "issues": all_names(said["issues"]) or None,
                "scale": scale_words(said["scale"], problems),
            },
            "sensitive": {
                "names": all_names(said["sensitive"]) or None,
                "file": None if file is None else str(file),
                "share": said["sensitive_share"],
            },
            "model": {name: said[name] for name in ("k", "epsilon", "l")},
            "change": {"method": said["method"], "invent": said["invent"] or None, "keep": said["keep"]},
            **parts,
        },
        problems,
        settings=settings,
    )


# ``attack``: the scoring attack, on ratings as they are and on a release of them.


@dataclass(frozen=True)
class ScoringAttacker:
    """What the attacker of ratings knows, and whom it looks for."""

    known: Annotated[int, KNOWN("Known ratings per victim.", "COUNT")] = 8
    error: Annotated[float, KNOWN("By how much each may be off, in units of the scale.")] = 0
    about: Annotated[
        Literal["any", "popular", "rare"], KNOWN("Which issues they are about: any, popular or rare.", "KIND")
    ] = "any"
    with_sensitive: Annotated[bool, KNOWN("Also about sensitive issues.", None, "--with-sensitive")] = False
    threshold: Annotated[float, KNOWN("Eccentricity from which on a record stands out.")] = 1.5
    victims: Annotated[int, KNOWN("People to try; 0 for all.", "COUNT")] = 1000
    hold_out: Annotated[
        float | None, KNOWN("People who are left out beforehand and serve as the control group, e.g. 0.1.", "SHARE")
    ] = None


def attack(
    ratings: RatingsFile,
    policy: PolicyFile = None,
    attacker: ScoringAttacker = ScoringAttacker(),
    promise: RatingPromise = RatingPromise(),
    chosen: SensitiveChoice = SensitiveChoice(),
    change: RatingChange = RatingChange(),
    columns: RatingColumns = RatingColumns(),
    settings: Settings = None,
    seed: RepeatSeed = None,
    quiet: Annotated[bool, option("Show no progress.", None, "--quiet")] = False,
    as_json: AsJson = False,
) -> None:
    """Try to find people by a few roughly known ratings, in ratings as they are and in what is published of them.

    For the steward: the original decides who is right. With a policy, or -k and --epsilon, a release is made (never
    written) and attacked, too; otherwise the original alone is.
    """
    from sfumato.kinds.ratings.attack import attack_ratings, hold_out_ratings
    from sfumato.kinds.ratings.make import anonymize_ratings
    from sfumato.kinds.ratings.reading import read_ratings

    is_bare = policy is None and promise.k is None and promise.epsilon is None
    problems = [*seed_problem(seed), *(_meaningless(promise, change) if is_bare else ()), *_mistakes(attacker)]
    # If only the original is attacked, nothing is promised; the model is only there to make a policy.
    promised = replace(promise, k=1, epsilon=0.0) if is_bare else promise
    meant = rating_policy_of(words_of(policy, (promised, chosen, change, columns), settings or (), problems))
    with progress_bar(quiet=quiet or as_json) as progress:
        progress("reading", 0, 1)
        original, control = read_ratings(ratings, **meant.reading(seed)), None
        if attacker.hold_out is not None:
            original, control = hold_out_ratings(original, attacker.hold_out, seed=seed)
        release = None if is_bare else anonymize_ratings(original, meant, seed=seed, progress=progress)
        found = attack_ratings(
            original,
            release,
            known=attacker.known,
            error=attacker.error,
            issues=attacker.about,
            threshold=attacker.threshold,
            with_sensitive=attacker.with_sensitive,
            victims=attacker.victims or None,
            control=control,
            seed=seed,
            threads=meant.threads,
        )
    say_result(found.to_dict(), str(found), as_json=as_json)


def _meaningless(promise: RatingPromise, change: RatingChange) -> list[str]:
    """Name the options that say how a release is made, if none is made."""
    given = {
        "-l": promise.l,
        "--suppression": promise.suppression,
        "--keep": change.keep,
        "--method": change.method,
        "--invent": change.invent or None,
    }
    return [
        f"{option}: says how a release is made; add -k and --epsilon, or --policy"
        for option, value in given.items()
        if value is not None
    ]


def _mistakes(attacker: ScoringAttacker) -> list[str]:
    """Say what is wrong with the attacker, in the words of the command line."""
    checks = {
        "--known: must be a whole number of at least 1": attacker.known >= 1,
        "--error: must be a number of at least 0": 0 <= attacker.error < float("inf"),
        "--threshold: must be a number above 0": 0 < attacker.threshold < float("inf"),
        "--victims: must be 0 or above": attacker.victims >= 0,
        "--hold-out: must be a number above 0 and below 1": attacker.hold_out is None or 0 < attacker.hold_out < 1,
    }
    return [problem for problem, is_right in checks.items() if not is_right]


@dataclass(frozen=True)
class CheckedModel:
    """How the model is meant, beside its k and epsilon."""

    l: Annotated[float, PRIVACY("Smallest deviation of each sensitive issue.", None, "-l")] = 0  # noqa: E741
    group: Annotated[Literal["ball", "trimmed"], PRIVACY("Which records are around one: ball or trimmed.", "KIND")] = (
        "ball"
    )
    nulls: Annotated[
        Literal["skip", "g", "literal"], PRIVACY("Deviation with missing ratings: skip, g or literal.", "KIND")
    ] = "skip"


@dataclass(frozen=True)
class DrawnChoice(SensitiveChoice):
    """Which issues are sensitive, and how a share of them is drawn."""

    sensitive_drawn: Annotated[
        Literal["random", "most-rated"], SENSITIVE("How the share is drawn: random or most-rated.", "KIND")
    ] = "random"
    seed: Annotated[int | None, SENSITIVE("For tests and studies: draws the same share.")] = None


@dataclass(frozen=True)
class CheckedColumns:
    """What is read, and from which columns."""

    form: Annotated[
        Literal["long", "wide", "netflix"],
        READING("long: a row per rating. wide: a column per issue. netflix: as Netflix did.", "FORM"),
    ] = "long"
    user: User = None
    key_form: KeyForm = None
    issue: Issue = None
    rating: Rating = None
    issues: Issues = None
    scale: RatingScale = None


def check(
    ratings: RatingsFile,
    k: Annotated[int, PRIVACY("Records around each, itself included.", None, "-k")],
    epsilon: Annotated[float, PRIVACY("Largest difference of ratings that are alike.")],
    model: CheckedModel = CheckedModel(),
    chosen: DrawnChoice = DrawnChoice(),
    columns: CheckedColumns = CheckedColumns(),
    settings: Settings = None,
    search: Annotated[
        Literal["masks", "slicing", "pairwise"], METHOD("masks; or the paper's, for study: slicing, pairwise.", "NAME")
    ] = "masks",
    threads: Annotated[int | None, METHOD("Threads; default all cores.")] = None,
    how_far: Annotated[
        bool, OUTPUT("Also find the largest k, smallest epsilon and largest l.", None, "--how-far")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Decide whether ratings are (k, epsilon, l)-anonymous as they are, and say why not.

    Around every record there must be k records whose ratings of every non-sensitive issue differ by at most epsilon,
    and the standard deviation of their ratings of every sensitive issue must be at least l. Exit code 0: they are. 1:
    they are not.
    """
    from sfumato.kinds.ratings.check import check_ratings
    from sfumato.models.of_kinds import RatingAnonymity

    read = ratings_of(ratings, chosen, columns, settings or ())
    asked = RatingAnonymity(k, epsilon, model.l, model.group, model.nulls)
    with progress_bar(quiet=as_json) as progress:
        answer = check_ratings(read, asked, search=search, threads=threads, progress=progress)
        limits = _limits(answer) if how_far else {}
    say_result({**answer.to_dict(), **limits}, _page(answer, limits), as_json=as_json)
    if not answer.holds:
        raise typer.Exit(1)


def _limits(answer: Satisfaction) -> dict[str, float | None]:
    return {"largest_k": answer.largest_k, "smallest_epsilon": answer.smallest_epsilon, "largest_l": answer.largest_l}


def _page(answer: Satisfaction, limits: dict[str, float | None]) -> str:
    from sfumato.numbers import figure

    told = [
        f"  {name.replace('_', ' ')} with the other two as they are: {'none' if limit is None else figure(limit)}"
        for name, limit in limits.items()
    ]
    return "\n".join([str(answer), *told])
