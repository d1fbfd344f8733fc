"""One table for the library and for the twins: rows of texts, hierarchies as paths, one sensitive column."""

from __future__ import annotations

import random
from collections.abc import Sequence

import polars as pl

import sfumato as sf
from naive import full_domain as twin
from sfumato.anonymizers.protocol import Problem
from sfumato.hierarchy.level_table import HierarchyTable
from sfumato.models.protocol import PrivacyModel
from sfumato.table.encoding import encode

TREE: twin.Hierarchy = (
    ("a", "ab", "abc", "*"),
    ("b", "ab", "abc", "*"),
    ("c", "c", "abc", "*"),
    ("d", "d", "d", "*"),
    ("e", "e", "e", "*"),
)
FLAT: twin.Hierarchy = (("a", "*"), ("b", "*"), ("c", "*"))

SHARES: Sequence[tuple[PrivacyModel, twin.Model]] = [
    (sf.AlphaKAnonymity(0.6, 2), twin.model("alpha-k", alpha=0.6, k=2)),
    (sf.ProbabilisticLDiversity(1.6), twin.model("probabilistic", l=1.6)),
    (sf.EntropyLDiversity(1.6), twin.model("entropy", l=1.6)),
    (sf.RecursiveLDiversity(2, 2), twin.model("recursive", c=2, l=2)),
    (sf.TCloseness(0.4), twin.model("t-closeness", t=0.4)),
    (sf.BasicBetaLikeness(1.0), twin.model("basic-beta", beta=1.0)),
    (sf.EnhancedBetaLikeness(1.0), twin.model("enhanced-beta", beta=1.0)),
    (sf.DeltaDisclosure(1.0), twin.model("delta", delta=1.0)),
]
"""Models that look at shares, which merging with a class that fails may spoil."""


class Case:
    """A problem as the library and as the twins see it."""

    def __init__(
        self,
        rows: Sequence[Sequence[str | None]],
        hierarchies: Sequence[twin.Hierarchy],
        models: Sequence[tuple[PrivacyModel, twin.Model]],
        limit: int = 0,
        sensitive: Sequence[str] | None = None,
    ) -> None:
        names = [f"q{place}" for place in range(len(hierarchies))]
        columns = {name: pl.Series([row[i] for row in rows], dtype=pl.String) for i, name in enumerate(names)}
        if sensitive is not None:
            columns["disease"] = pl.Series(list(sensitive), dtype=pl.String)
        schema = sf.Schema(
            quasi_identifying={name: HierarchyTable(tree) for name, tree in zip(names, hierarchies, strict=True)},
            sensitive=[] if sensitive is None else ["disease"],
        )
        self.table = sf.read_table(pl.DataFrame(columns), schema)
        self.models = [model for model, _ in models]
        self.problem = Problem(encode(self.table), self.models, limit)
        self.naive = twin.Problem(
            twin.collapse(rows, sensitive), hierarchies, [naive for _, naive in models], limit=limit
        )


def k_anonymity(k: int) -> tuple[PrivacyModel, twin.Model]:
    return sf.KAnonymity(k), twin.model("k-anonymity", k=k)


def random_case(
    seed: int, models: Sequence[tuple[PrivacyModel, twin.Model]] | None = None, limited: bool = True
) -> Case:
    """Up to three attributes, up to thirty records, some values missing; k-anonymity, or the models that are given."""
    draw = random.Random(seed)
    hierarchies = [draw.choice([TREE, FLAT]) for _ in range(draw.randint(1, 3))]
    size = draw.randint(4, 30)
    missing = draw.random() < 0.3
    rows = [
        [None if missing and draw.random() < 0.2 else draw.choice(tree)[0] for tree in hierarchies] for _ in range(size)
    ]
    if models is None:
        models = [k_anonymity(draw.randint(2, 4))]
        if draw.random() < 0.5:
            models.append((sf.DistinctLDiversity(2), twin.model("distinct", l=2)))
    limit = draw.randint(0, size // 2) if limited else 0
    return Case(rows, hierarchies, models, limit, draw.choices("xyz", k=size))
