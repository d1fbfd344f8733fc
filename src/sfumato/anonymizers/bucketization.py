"""Bucketization: quasi-identifying values as they are, sensitive ones as counts for each bucket of records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.buckets.check import BUCKET_MODELS
from sfumato.buckets.publish import publish_buckets
from sfumato.buckets.reconstruction import least_reconstruction_error, reconstruction_error
from sfumato.buckets.search import Bucketed, search_buckets
from sfumato.errors import PolicyError, raise_all
from sfumato.figures import counted
from sfumato.models.probabilistic_l_diversity import ProbabilisticLDiversity
from sfumato.models.protocol import PrivacyModel
from sfumato.published import BucketizedTables
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table


@dataclass(frozen=True)
class Bucketization:
    """Publish two tables that share nothing but the number of a bucket (Anatomy).

    Guarantee: whoever finds a person's row learns of the sensitive value what the counts of its bucket say, and every
    bucket satisfies every model. Assumption: the attacker does not know sensitive values of others in the bucket.
    Neither identity nor membership is hidden: quasi-identifying values are published as they are.

    For models of l-diversity every bucket has values that all differ, as in the paper. Departures: values of which
    equally many records are left are taken in their order; models that such buckets cannot satisfy, such as
    t-closeness, get values that are dealt out evenly instead, into as many buckets as they allow.

    References
    ----------
    X. Xiao, Y. Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006.
    """

    name: ClassVar[str] = "bucketization"
    kind: ClassVar[str] = BucketizedTables.kind
    promises: ClassVar[tuple[str, ...]] = BUCKET_MODELS

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with everything that does not fit: columns and models."""
        raise_all(PolicyError, [*_column_problems(table), *_model_problems(table, models)])

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Make the smallest buckets that satisfy every model.

        Raises
        ------
        UnsatisfiableError
            When not even all records as one bucket do.

        Notes
        -----
        Cost O(n log v) for n records and v sensitive values; see :func:`sfumato.buckets.search.search_buckets`.
        """
        feasible(problem, may_leave_out=False)
        found = search_buckets(problem.table, problem.models, problem.seed)
        published = publish_buckets(found.buckets, problem.table, table, problem.seed)
        return Publication(published, tuple(_notes(found, table)), _figures(found, problem.models))


def _column_problems(table: EncodedTable) -> Iterator[str]:
    names = [attribute.name for attribute in table.sensitive]
    if len(names) != 1:
        yield (
            f"bucketization: needs exactly one sensitive column, and there are {len(names)}; "
            "give the others another role, or drop them"
        )
    reserved = BucketizedTables.whole_numbers
    for name in (*names, *(attribute.name for attribute in table.attributes)):
        if name in reserved:
            yield f"bucketization: publishes a column {name!r} of its own; rename that of the table"


def _model_problems(table: EncodedTable, models: Sequence[PrivacyModel]) -> Iterator[str]:
    names = [attribute.name for attribute in table.sensitive]
    for model in models:
        if model.name not in Bucketization.promises:
            yield (
                f"{model.name}: bucketization publishes quasi-identifying values as they are and cannot promise it; it "
                f"can promise {', '.join(Bucketization.promises)}; for others take an anonymizer that generalizes, "
                "such as mondrian"
            )
        else:
            try:
                model.rules(names)
            except PolicyError as error:
                yield from error.problems


def _notes(found: Bucketed, table: Table) -> Iterator[str]:
    yield "Neither identity nor membership is hidden: quasi-identifying values are published as they are."
    if table.schema.insensitive:
        yield f"Insensitive columns are not published: {', '.join(table.schema.insensitive)}."
    if found.buckets.joined:
        records = counted(found.buckets.joined, "record")
        yield f"{records} had no partners left in the end, and joined buckets that lacked their values."
    if found.buckets.dealt:
        yield "Buckets of values that all differ cannot satisfy the models here; the values were dealt out evenly."


def _figures(found: Bucketed, models: Sequence[PrivacyModel]) -> dict[str, float]:
    statistics = found.statistics
    (values,) = statistics.sensitive.values()
    shares = [model.l for model in models if isinstance(model, ProbabilisticLDiversity)]
    least = least_reconstruction_error(statistics.height, max(shares)) if shares else None
    return {
        "buckets": statistics.count,
        "smallest_bucket": int(statistics.sizes.min()),
        "largest_bucket": int(statistics.sizes.max()),
        "reconstruction_error": reconstruction_error(values, statistics),
        **({} if least is None else {"least_reconstruction_error": least}),
    }
