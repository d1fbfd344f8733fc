"""What pages say of other things that are drawn; lines of ``several_seeds.py``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
from drawn import Figures, Line, complete

import sfumato as sf
from sfumato.evaluation.utility.answers import relative_errors

SEVEN = ("age", "workclass", "education", "marital-status", "race", "sex", "hours-per-week")
EIGHT = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country", "relationship")
KNOWN: dict[str, dict[str, Any]] = {
    "8 ratings, exactly": {"known": 8},
    "8 ratings, within 1": {"known": 8, "error": 1},
    "8 of the most rated issues, exactly": {"known": 8, "issues": "popular"},
    "4 of the least rated issues, within 1": {"known": 4, "error": 1, "issues": "rare"},
}

SCHEMA = sf.Schema(
    quasi_identifying={
        "age": sf.Attribute("numeric", domain=(0, 120)),
        "zip": sf.Attribute("categorical", domain=tuple("abcdefghij")),
        "sex": sf.Attribute("categorical", domain=("f", "m")),
    },
    sensitive={"disease": sf.Attribute("categorical", domain=("flu", "gout", "mumps", "ulcer"))},
)
TREE = (["age", "disease"], ["zip", "disease"], ["sex", "disease"])


def wishes(records: int) -> Iterator[Line]:
    """Yield what a k of one's own costs: 1 % of the people wish for 50."""

    def measured(seed: int) -> Figures:
        frame = complete(SEVEN).sample(records, seed=seed, shuffle=True)
        wished = np.where(np.random.default_rng(seed).random(records) < 0.01, 50, 5)
        roles = {"quasi_identifying": list(SEVEN)}
        own = sf.read_table(frame.with_columns(wish=pl.Series(wished)), sf.Schema(**roles, wished_k="wish"))
        table = sf.read_table(frame, sf.Schema(**roles))
        losses = {"wished": (own, 5), "50 for everybody": (table, 50), "5 for everybody": (table, 5)}
        return {name: _loss(one, sf.KAnonymity(k), seed) for name, (one, k) in losses.items()}

    yield "Adult, 1 % wish for k = 50, the others for 5: information loss", measured


def _loss(table: sf.Table, model: object, seed: int) -> float:
    return sf.anonymize(table, model, anonymizer=sf.Mondrian(), seed=seed).report.losses.normalized_ncp


def ratings(people: int) -> Iterator[Line]:
    """Yield who is found among MovieLens' ratings, before and after (3, 1)-anonymity; all of its people."""
    path = Path(os.environ["SFUMATO_DATA"]) / "ml-latest-small" / "ratings.csv.gz"
    table = sf.ratings.read_ratings(path, scale=sf.ratings.Scale(0.5, 5, 0.5))
    for what, options in KNOWN.items():

        def measured(seed: int, options: dict[str, Any] = options) -> Figures:
            release = sf.ratings.anonymize_ratings(table, sf.ratings.RatingAnonymity(3, 1), keep=50, seed=seed)
            victims = None if people >= table.height else people
            found = sf.ratings.attack_ratings(table, release, victims=victims, seed=seed, **options)
            assert found.after is not None
            sides = {"before": found.before, "after": found.after}
            return {
                f"{who} {side}": getattr(one, who).share for side, one in sides.items() for who in ("found", "control")
            }

        yield f"ratings, {what}", measured


def answers(records: int) -> Iterator[Line]:
    """Yield the median error of counts about more and more attributes, by buckets, slices and classes at l = 5."""
    ways = {
        "buckets": sf.Bucketization(members="random"),
        "slices": sf.Slicing(bucket_size="smallest"),
        "Mondrian": sf.Mondrian(),
    }
    for several in (1, 2, 3, 4):

        def measured(seed: int, several: int = several) -> Figures:
            frame = complete((*EIGHT, "occupation")).sample(records, seed=seed, shuffle=True)
            table = sf.read_table(frame, sf.Schema(quasi_identifying=list(EIGHT), sensitive=["occupation"]))
            asked = sf.queries.query_workload(table, 1000, dimensions=several, seed=seed)
            exact, found = sf.queries.answer(asked, table), {}
            for name, way in ways.items():
                release = sf.anonymize(table, sf.ProbabilisticLDiversity(5), anonymizer=way, seed=seed)
                found[name] = median(relative_errors(asked, exact, sf.queries.answer(asked, table, release), table))
            return found

        yield f"counts about {several} of eight attributes and the occupation", measured


def private(people: int) -> Iterator[Line]:
    """Yield what attackers find in noisy counts of invented people: 480 cells, each of which few share."""
    for epsilon in (0.1, 0.5, 1, 4, 100):
        for names in ((["age", "zip", "sex", "disease"],), TREE):

            def measured(seed: int, epsilon: float = epsilon, names: Any = names) -> Figures:
                table, control = (sf.read_table(invented(people, 2 * seed + side), SCHEMA) for side in (0, 1))
                model = sf.noisy_counts.DifferentialPrivacy(epsilon=epsilon)
                release = sf.noisy_counts.publish_privately(table, model, marginals=names, bins={"age": 6})
                inside, outside = release.in_cells(table), release.in_cells(control)
                asked = ["membership-inference", "attribute-inference"]
                if not any(table.height for table in release.as_marginals().tables.values()):
                    return {"no counts": 1.0}
                played = sf.attack(release.as_marginals(), inside, control=outside, attacks=asked, seed=seed)
                told = played["attribute-inference"][0]
                assert told.control is not None
                area = played["membership-inference"][0].success.share
                return {"area": area, "guessed": told.success.share, "of others": told.control.share}

            yield f"noisy counts, epsilon = {epsilon:g}, {len(names)} marginals", measured


def noisy(people: int) -> Iterator[Line]:
    """Yield how far noisy counts of invented people are off, and what they keep of associations."""
    for epsilon in (0.5, 1):

        def measured(seed: int, epsilon: float = epsilon) -> Figures:
            table = sf.read_table(invented(people, seed), SCHEMA)
            model = sf.noisy_counts.DifferentialPrivacy(epsilon=epsilon)
            release = sf.noisy_counts.publish_privately(table, model, marginals=TREE, bins={"age": 6})
            asked = sf.queries.query_workload(release.in_cells(table), 1000, seed=seed)
            found = sf.measure_utility(
                release.as_marginals(), release.in_cells(table), workload=asked, classifiers=(), seed=seed
            )
            return {"counts off": found.queries["count"].median, "associations": found.correlations.kept}

        yield f"counts of {people:,} people, epsilon = {epsilon:g}", measured


def sampled(people: int) -> Iterator[Line]:
    """Yield what attackers find in private samples of invented people, in forty classes."""
    schema = sf.Schema(
        quasi_identifying={"zip": sf.Attribute("categorical", domain=tuple("abcdefghij"))},
        sensitive={"disease": sf.Attribute("categorical", domain=("flu", "gout", "mumps", "ulcer"))},
        others="drop",
    )
    for epsilon in (0.5, 1, 4):

        def measured(seed: int, epsilon: float = epsilon) -> Figures:
            table, control = (sf.read_table(invented(people, 2 * seed + side), schema) for side in (0, 1))
            model = sf.noisy_counts.DifferentialPrivacy(epsilon=epsilon, delta=1e-4)
            release = sf.private_sample.publish_private_sample(table, model, share=0.3)
            inside, outside = release.in_levels(table), release.in_levels(control)
            asked = ["membership-inference", "attribute-inference"]
            played = sf.attack(release.as_classes(), inside, control=outside, attacks=asked, seed=seed)
            (pairs, sure), told = played["membership-inference"], played["attribute-inference"][0]
            return {
                "k": release.budget.k,
                "area": pairs.success.share,
                "found at 1 %": sure.success.share,
                "guessed": told.success.share,
                "by guessing": told.success.baseline,
            }

        yield f"private samples, epsilon = {epsilon:g}", measured


def invented(people: int, seed: int) -> pl.DataFrame:
    """Make people of whom half have the disease that their age and place suggest."""
    generator = np.random.default_rng(seed)
    ages, zips, sexes, any_of_four = (generator.integers(0, most, people) for most in (120, 10, 2, 4))
    usual = (ages // 20 + zips) % 4
    diseases = np.where(generator.random(people) < 0.4, usual, any_of_four)
    names = ["flu", "gout", "mumps", "ulcer"]
    columns = {"zip": ["abcdefghij"[one] for one in zips], "sex": ["fm"[one] for one in sexes]}
    return pl.DataFrame({"age": ages, **columns, "disease": [names[one] for one in diseases]})


def genetic(records: int) -> Iterator[Line]:
    """Yield the loss that the genetic search comes to after so many nodes, Adult with nine hierarchies."""
    for (size, limit), nodes in product(((5, 0.05), (5, 1.0), (50, 1.0)), (100, 300, 1000)):

        def measured(seed: int, size: int = size, limit: float = limit, nodes: int = nodes) -> Figures:
            return {"loss": searched(records, size, limit, nodes, seed)}

        yield f"genetic, k = {size}, {limit:.0%} suppressed, {nodes} nodes", measured


def searched(records: int, size: int, limit: float, nodes: int, seed: int) -> float:
    """Return the information loss (LM) of the node that the genetic search takes."""
    folder = Path(os.environ["SFUMATO_DATA"]) / "adult"
    frame = pl.read_csv(folder / "arx_adult.csv", separator=";", infer_schema=False).head(records)
    files = {name: folder / "hierarchies" / f"adult_hierarchy_{name}.csv" for name in frame.columns}
    schema = sf.Schema(quasi_identifying={name: sf.read_hierarchy(file) for name, file in files.items()})
    way = sf.Heuristic(strategy="genetic", node_limit=nodes)
    found = sf.search_lattice(
        sf.read_table(frame, schema), sf.KAnonymity(size), anonymizer=way, suppression_limit=limit, seed=seed
    )
    assert found.loss is not None
    return found.loss
