"""``sfumato utility``: how useful a release is, compared with the original table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sfumato.cli.options import (
    AsJson,
    Hierarchies,
    Original,
    PolicyFile,
    ReleasePlace,
    Settings,
    Weights,
)
from sfumato.cli.progress import progress_bar, say_result
from sfumato.errors import PolicyError

if TYPE_CHECKING:
    from sfumato.evaluation.utility.queries import Workload
    from sfumato.table.table import Table

QUERIES, LEARNING = "Queries", "Classifiers"

EXAMPLE = """\b
Example:
  sfumato utility patients.csv patients-release/
  sfumato utility patients.csv patients-release/ --queries 500 \\
      --dimensions 2 --selectivity 0.1 --aggregate count
  sfumato utility patients.csv patients-release/ --holdout others.csv
"""


@dataclass(frozen=True)
class Queries:
    """Random queries."""

    queries: Annotated[
        int, typer.Option(metavar="COUNT", help="Random queries to answer.", rich_help_panel=QUERIES)
    ] = 1000
    dimensions: Annotated[
        int | None,
        typer.Option(metavar="COUNT", help="Quasi-identifying columns in each query.", rich_help_panel=QUERIES),
    ] = None
    selectivity: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the records in a query.", rich_help_panel=QUERIES)
    ] = 0.05
    aggregate: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="count, sum or average, in turn; repeatable.", rich_help_panel=QUERIES),
    ] = None


@dataclass(frozen=True)
class Learning:
    """Classifiers that are trained on a release."""

    holdout: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Original records that the release was not made from, to test classifiers on.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Column to predict; repeatable.", rich_help_panel=LEARNING),
    ] = None
    classifier: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="decision-tree, naive-bayes or logistic-regression; repeatable.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    encoding_of_cells: Annotated[
        str,
        typer.Option(
            "--cells", metavar="midpoint|bounds|expand", help="How to read generalized cells.", rich_help_panel=LEARNING
        ),
    ] = "midpoint"


def utility(
    table: Original,
    release: ReleasePlace,
    asked: Queries = Queries(),
    learning: Learning = Learning(),
    weights: Weights = None,
    policy: PolicyFile = None,
    hierarchies: Hierarchies = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option(help="Repeat the same queries; for studies.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print how useful a release is. Needs the original table, so it is for the data steward.

    Random queries are answered from the release and from the original, distributions and associations are compared, and
    classifiers are trained on the release if there are records to test them on.

    The policy is the release's own unless --policy names the one that made it. Name it if hierarchies or domains of
    quasi-identifying columns were withheld from the release.
    """
    from sfumato.cli.released import policy_file
    from sfumato.cli.words import Words, policy_of
    from sfumato.evaluation.utility.classifiers import LEARNERS
    from sfumato.evaluation.utility.measure import measure_utility
    from sfumato.table.reading import read_table

    meant = policy_of(Words(policy=policy_file(release, policy), hierarchies=hierarchies, settings=settings or ()))
    with progress_bar(quiet=as_json) as progress:
        progress("reading", 0, 1)
        original = read_table(table, meant)
        found = measure_utility(
            release,
            original,
            workload=_workload(original, asked.queries, asked.dimensions, asked.selectivity, asked.aggregate, seed),
            holdout=None if learning.holdout is None else read_table(learning.holdout, meant.beside(learning.holdout)),
            targets=learning.target or None,
            classifiers=cast(Any, tuple(learning.classifier or LEARNERS)),
            encoding=cast(Any, learning.encoding_of_cells),
            weights=weights,
            seed=seed,
            progress=progress,
        )
    say_result(found.to_dict(), str(found), as_json=as_json)


def _workload(
    original: Table,
    queries: int,
    dimensions: int | None,
    selectivity: float,
    aggregate: list[str] | None,
    seed: int | None,
) -> Workload:
    """Draw the queries; name the options in errors."""
    from sfumato.evaluation.utility.answers import query_workload

    try:
        return query_workload(
            original,
            queries,
            dimensions=dimensions,
            selectivity=selectivity,
            aggregates=cast(Any, tuple(aggregate or ("count",))),
            seed=seed,
        )
    except PolicyError as error:
        raise PolicyError(
            *(f"--{problem.replace('aggregates', 'aggregate', 1)}" for problem in error.problems)
        ) from None
