"""``sfumato measure``: what a release lost, how useful it is, and its columns, beside those of the original table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from sfumato.cli.options import (
    AsJson,
    Hierarchies,
    Original,
    Panel,
    PolicyFile,
    ReleasePlace,
    Settings,
    Weights,
    option,
)
from sfumato.cli.progress import progress_bar, say_json, say_result
from sfumato.errors import PolicyError

if TYPE_CHECKING:
    from sfumato.evaluation.utility.queries import Workload
    from sfumato.policy.policy import Policy
    from sfumato.table.table import Table

DIGITS = 12
QUERIES, LEARNING = Panel("Queries"), Panel("Classifiers")


def _policy(release: str, policy: Path | None, hierarchies: Path | None, settings: list[str] | None) -> Policy:
    """Return the policy that says how the original is read."""
    from sfumato.cli.released import policy_file
    from sfumato.cli.words import Words, policy_of

    return policy_of(Words(policy=policy_file(release, policy), hierarchies=hierarchies, settings=settings or ()))


def measure(
    table: Original,
    release: ReleasePlace,
    policy: PolicyFile = None,
    hierarchies: Hierarchies = None,
    label: Annotated[
        str | None, option("Published column to predict, for the classification metric CM.", "NAME")
    ] = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the information losses of a release. Needs the original table, so it is for the data steward.

    The policy is the release's own unless --policy names the one that made it. Name it if hierarchies or domains of
    quasi-identifying columns were withheld from the release.
    """
    from sfumato.cli.summary import loss_headline, say_report
    from sfumato.evaluation.losses import measure as compare
    from sfumato.release.reports import loss_figures
    from sfumato.table.reading import read_table

    own = _policy(release, policy, hierarchies, settings)
    with progress_bar(quiet=as_json) as progress:
        progress("reading", 0, 2)
        original = read_table(table, own.without_sensitive())
        progress("measuring", 1, 2)
        losses = compare(original, release, label=label)
    if as_json:
        say_json(loss_figures(losses, DIGITS))
    else:
        say_report(loss_headline(losses), str(losses))


@dataclass(frozen=True)
class Queries:
    """Random queries."""

    queries: Annotated[int, QUERIES("Random queries to answer.", "COUNT")] = 1000
    dimensions: Annotated[int | None, QUERIES("Quasi-identifying columns in each query.", "COUNT")] = None
    selectivity: Annotated[float, QUERIES("Share of the records in a query.", "SHARE")] = 0.05
    aggregate: Annotated[list[str] | None, QUERIES("count, sum or average, in turn; repeatable.", "NAME")] = None


@dataclass(frozen=True)
class Learning:
    """Classifiers that are trained on a release."""

    holdout: Annotated[
        str | None, LEARNING("Original records that the release was not made from, to test classifiers on.", "FILE")
    ] = None
    target: Annotated[list[str] | None, LEARNING("Column to predict; repeatable.", "NAME")] = None
    classifier: Annotated[
        list[str] | None, LEARNING("decision-tree, naive-bayes or logistic-regression; repeatable.", "NAME")
    ] = None
    encoding_of_cells: Annotated[
        str, LEARNING("How to read generalized cells.", "midpoint|bounds|expand", "--cells")
    ] = "midpoint"


def utility(
    table: Original,
    release: ReleasePlace,
    drawn: Queries = Queries(),
    learning: Learning = Learning(),
    weights: Weights = None,
    policy: PolicyFile = None,
    hierarchies: Hierarchies = None,
    settings: Settings = None,
    seed: Annotated[int | None, option("Repeat the same queries; for studies.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print how useful a release is. Needs the original table, so it is for the data steward.

    Random queries are answered from the release and from the original, distributions and associations are compared, and
    classifiers are trained on the release if there are records to test them on.

    The policy is the release's own unless --policy names the one that made it. Name it if hierarchies or domains of
    quasi-identifying columns were withheld from the release.
    """
    from sfumato.evaluation.utility.classifiers import LEARNERS
    from sfumato.evaluation.utility.measure import measure_utility
    from sfumato.table.reading import read_table

    own = _policy(release, policy, hierarchies, settings)
    with progress_bar(quiet=as_json) as progress:
        progress("reading", 0, 1)
        original = read_table(table, own)
        found = measure_utility(
            release,
            original,
            workload=_workload(original, drawn.queries, drawn.dimensions, drawn.selectivity, drawn.aggregate, seed),
            holdout=None if learning.holdout is None else read_table(learning.holdout, own.beside(learning.holdout)),
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


def columns(
    table: Original,
    release: ReleasePlace,
    column: Annotated[list[str] | None, option("Column to describe; repeatable. Default: all.", "NAME")] = None,
    contingency: Annotated[list[str] | None, option("Two columns to count together; repeatable.", "NAME,NAME")] = None,
    regress: Annotated[
        list[str] | None,
        option("Column of numbers, and columns that explain it, e.g. pay=age,sex; repeatable.", "NAME=NAMES"),
    ] = None,
    weights: Weights = None,
    policy: PolicyFile = None,
    hierarchies: Hierarchies = None,
    settings: Settings = None,
    seed: Annotated[int | None, option("Repeat the same regressions; for studies.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print figures and distributions of each column, before and after. It has values, so it is for the data steward.

    The policy is the release's own unless --policy names the one that made it. Name it if hierarchies or domains of
    quasi-identifying columns were withheld from the release.
    """
    from sfumato.cli.settings import names_in
    from sfumato.evaluation.utility.describe import describe as describe_columns
    from sfumato.table.reading import read_table

    pairs = [tuple(names_in(pair)) for pair in contingency or ()]
    if any(len(set(pair)) != 2 for pair in pairs):
        raise PolicyError("--contingency: name two different columns, separated by a comma, e.g. sex,disease")
    explained = dict(_regression(text, names_in) for text in regress or ())
    own = _policy(release, policy, hierarchies, settings)
    with progress_bar(quiet=as_json) as progress:
        progress("reading", 0, 1)
        original = read_table(table, own)
        found = describe_columns(
            release,
            original,
            columns=column or None,
            contingency=[(first, second) for first, second in pairs],
            regressions=explained,
            weights=weights,
            seed=seed,
            progress=progress,
        )
    say_result(found.to_dict(), str(found), as_json=as_json)


def _regression(text: str, names_in: Callable[[str], list[str]]) -> tuple[str, list[str]]:
    target, equals, others = text.partition("=")
    if not (equals and target.strip() and names_in(others)):
        raise PolicyError("--regress: write a column and those that explain it, e.g. pay=age,sex")
    return target.strip(), names_in(others)
