"""``sfumato ratings``: commands on survey ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sfumato.cli.kernels import say_result
from sfumato.cli.options import METHOD, OUTPUT, PRIVACY, AsJson, Reading
from sfumato.cli.progress import progress_bar
from sfumato.cli.rating_options import (
    Form,
    Issue,
    Issues,
    KeyForm,
    Rating,
    RatingScale,
    RatingsFile,
    Seed,
    SensitiveDrawn,
    SensitiveFile,
    SensitiveNames,
    SensitiveShare,
    SensitiveWords,
    User,
    ratings_of,
)

if TYPE_CHECKING:
    from sfumato.published.checks.ratings.satisfaction import Satisfaction

HELP = "Survey ratings, sparse and identifying: sfumato ratings COMMAND --help"

EXAMPLE = """\b
Example:
  sfumato ratings check ratings.csv -k 20 --epsilon 1 -l 1 \\
      --scale 0.5,5,0.5 --sensitive-share 0.1
  sfumato ratings check survey.csv --form wide --user id \\
      --sensitive 'N*' --scale 1,6 -k 5 --epsilon 1 --how-far
"""


def check(
    ratings: RatingsFile,
    k: Annotated[int, typer.Option("-k", help="Records around each, itself included.", rich_help_panel=PRIVACY)],
    epsilon: Annotated[
        float, typer.Option(help="Largest difference of ratings that are alike.", rich_help_panel=PRIVACY)
    ],
    l: Annotated[  # noqa: E741
        float, typer.Option("-l", help="Smallest deviation of each sensitive issue.", rich_help_panel=PRIVACY)
    ] = 0,
    group: Annotated[
        Literal["ball", "trimmed"],
        typer.Option(metavar="KIND", help="Which records are around one: ball or trimmed.", rich_help_panel=PRIVACY),
    ] = "ball",
    nulls: Annotated[
        Literal["skip", "g", "literal"],
        typer.Option(
            metavar="KIND", help="Deviation with missing ratings: skip, g or literal.", rich_help_panel=PRIVACY
        ),
    ] = "skip",
    sensitive: SensitiveNames = None,
    sensitive_file: SensitiveFile = None,
    sensitive_share: SensitiveShare = None,
    sensitive_drawn: SensitiveDrawn = "random",
    seed: Seed = None,
    form: Form = "long",
    user: User = None,
    key_form: KeyForm = None,
    issue: Issue = None,
    rating: Rating = None,
    issues: Issues = None,
    scale: RatingScale = None,
    reading: Reading = Reading(),  # noqa: B008 - a frozen value
    search: Annotated[
        Literal["masks", "slicing", "pairwise"],
        typer.Option(
            metavar="NAME", help="masks; or the paper's, for study: slicing, pairwise.", rich_help_panel=METHOD
        ),
    ] = "masks",
    threads: Annotated[int | None, typer.Option(help="Threads; default all cores.", rich_help_panel=METHOD)] = None,
    how_far: Annotated[
        bool,
        typer.Option(
            "--how-far", help="Also find the largest k, smallest epsilon and largest l.", rich_help_panel=OUTPUT
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Decide whether ratings are (k, epsilon, l)-anonymous as they are, and say why not.

    Around every record there must be k records whose ratings of every non-sensitive issue differ by at most epsilon,
    and the standard deviation of their ratings of every sensitive issue must be at least l.

    Exit code 0: they are. 1: they are not.
    """
    from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity
    from sfumato.published.checks.ratings.check import check_ratings

    model = RatingAnonymity(k, epsilon, l, group, nulls)
    read = ratings_of(
        ratings,
        SensitiveWords(sensitive, sensitive_file, sensitive_share, sensitive_drawn, seed),
        form=form,
        user=user,
        key_form=key_form,
        issue=issue,
        rating=rating,
        issues=issues,
        scale=scale,
        layout=reading,
    )
    with progress_bar(quiet=as_json) as progress:
        answer = check_ratings(read, model, search=search, threads=threads, progress=progress)
        limits = _limits(answer) if how_far else {}
    say_result({**answer.to_dict(), **limits}, _page(answer, limits), as_json=as_json)
    if not answer.holds:
        raise typer.Exit(1)


def _limits(answer: Satisfaction) -> dict[str, float | None]:
    return {
        "largest_k": answer.largest_k,
        "smallest_epsilon": answer.smallest_epsilon,
        "largest_l": answer.largest_l,
    }


def _page(answer: Satisfaction, limits: dict[str, float | None]) -> str:
    from sfumato.numbers import figure

    told = [
        f"  {name.replace('_', ' ')} with the other two as they are: {'none' if limit is None else figure(limit)}"
        for name, limit in limits.items()
    ]
    return "\n".join([str(answer), *told])
