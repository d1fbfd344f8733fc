"""Recount releases of every kind from their published tables alone: one entry for each kind.

Nothing here knows which algorithm made the tables. The check of a kind is loaded when a release of that kind is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.models.protocol import Check, Outcome, PrivacyModel, entry_words, promise_words
from sfumato.published import (
    BucketizedTables,
    MarginalTables,
    Published,
    PublishedTable,
    RandomizedTable,
    SlicedTable,
    sensitive_names,
)
from sfumato.published.checks.generalized import Attested, Verification, uncovered_values, verify_table
from sfumato.published.protocol import roles_of
from sfumato.table.schema import Attribute, Kind
from sfumato.table.table import Table

if TYPE_CHECKING:
    from sfumato.published.checks.population import Register

UNPROTECTED = Check(
    "any privacy model", Outcome.ABSENT, detail="how well people are hidden has to be measured by attacks"
)
"""What is said of a release of a kind that promises nothing."""

CLASSES_UNSEEN = "values were drawn inside classes that are not published; the steward attests it"
"""What is said of a model of classes of which one value each was drawn, and nothing else published."""

Recount = Callable[[Any, Sequence[PrivacyModel], Mapping[str, Attribute]], Verification]
"""From tables, promised models and the sensitive attributes (kinds, hierarchies) to the outcome of every promise."""


def recount(
    published: Published,
    models: Sequence[PrivacyModel],
    sensitive: Mapping[str, Attribute],
    people: NDArray[np.int32] | Attested | None = None,
    population: Register | None = None,
) -> Verification:
    """Recount every model from published tables of any kind; one check for each, in order.

    Undecidable if the tables do not decide it, or this version cannot recount their kind. Where nothing is promised
    that is said, and the outcome is never good. `people`: who is who where a generalized table does not say it itself.
    """
    if isinstance(published, PublishedTable) and published.pseudonyms is not None and people is None:
        from sfumato.published.checks.pseudonyms import recount_pseudonyms  # few releases have any

        found = recount_pseudonyms(published, published.pseudonyms, models, sensitive)
    elif isinstance(published, PublishedTable):
        found = verify_table(
            published.data, published.quasi_identifying, sensitive, models, people, published.promises, population,
            published.records,
        )  # fmt: skip
    else:
        found = RECOUNTS.get(type(published), _nothing)(published, models, sensitive)
        found = replace(found, uncovered=tuple(uncovered_values(models, sensitive)))
    checks = found.checks if models or published.promising else (*found.checks, UNPROTECTED)
    return replace(found, checks=checks, roles=roles_of(published))


def verified(
    published: Published,
    table: Table,
    models: Sequence[PrivacyModel],
    people: NDArray[np.int32] | None = None,
    kinds: Mapping[str, Kind] = MappingProxyType({}),
    population: Register | None = None,
) -> Verification:
    """Recount tables that were just made, and refuse any that break a promise, each by name, or leave one undecided.

    `kinds`: those that a reader finds where they are not those of the original.
    """
    sensitive = {
        name: Attribute(kind=kinds.get(name, table.kinds[name]), hierarchy=table.schema.sensitive[name].hierarchy)
        for name in sensitive_names(published)
    }
    verification = recount(published, models, sensitive, people, population)
    verification.raise_unless_ok()
    return verification


def _buckets(
    published: BucketizedTables, models: Sequence[PrivacyModel], sensitive: Mapping[str, Attribute]
) -> Verification:
    from sfumato.published.checks.parts import check_buckets

    checks = check_buckets(published, models, sensitive)
    return Verification(tuple(checks), published.records, published.buckets, "bucket")


def _slices(published: SlicedTable, models: Sequence[PrivacyModel], sensitive: Mapping[str, Attribute]) -> Verification:
    from sfumato.published.checks.slices import check_slices

    checks = check_slices(published, models, sensitive)
    return Verification(tuple(checks), published.data.height, published.data["bucket"].n_unique(), "bucket")


def _marginals(
    published: MarginalTables, models: Sequence[PrivacyModel], sensitive: Mapping[str, Attribute]
) -> Verification:
    from sfumato.published.checks.marginals import check_marginals, records_of

    checks = check_marginals(published, models, sensitive)
    return Verification(tuple(checks), records_of(published), len(published.marginals), "table")


def _rows(
    published: RandomizedTable, models: Sequence[PrivacyModel], sensitive: Mapping[str, Attribute]
) -> Verification:
    found = _undecided(models, published.data.height, "no model can be recounted from randomized values")
    drawn = (
        Check(f"{entry_words(entry)} of the classes", Outcome.UNDECIDABLE, detail=CLASSES_UNSEEN, required=False)
        for entry in published.classes
    )
    return replace(found, checks=(*found.checks, *drawn))


def _nothing(published: Published, models: Sequence[PrivacyModel], sensitive: Mapping[str, Attribute]) -> Verification:
    return _undecided(models, 0, f"this version cannot recount {published.kind}")


def _undecided(models: Sequence[PrivacyModel], records: int, reason: str) -> Verification:
    checks = [Check(promise_words(model), Outcome.UNDECIDABLE, detail=reason) for model in models]
    return Verification(tuple(checks), records, 1, "table")


RECOUNTS: dict[type[Any], Recount] = {
    BucketizedTables: _buckets,
    SlicedTable: _slices,
    MarginalTables: _marginals,
    RandomizedTable: _rows,
}
"""Class of published tables → how their promises are recounted, but for classes of records, which may be people's."""
