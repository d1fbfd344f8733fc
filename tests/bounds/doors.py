"""Tables that break loops, and every door of the program through which they come to a kernel."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_type_hints

import numpy as np
import polars as pl

import sfumato as sf
from anonymizers.clustering.clustering_tables import problem
from anonymizers.clustering.distance_kernels import box_distances, distances_from, gaps_to_class
from golden.runs import BLOCKS
from guarantees.combinations import PARAMETERS, choices
from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.anonymizers.clustering.distinct import HeightDistance, WeightedHierarchyDistance, collapse_records
from sfumato.anonymizers.clustering.greedy import _INTERVALS
from sfumato.anonymizers.clustering.sbc import similarity_table
from sfumato.anonymizers.feasibility import feasible
from sfumato.classes.partition import group_records
from sfumato.evaluation.attacks import ATTACKS
from sfumato.evaluation.attacks.definetti import DeFinetti
from sfumato.evaluation.attacks.linking_attack import linking_attack
from sfumato.evaluation.risk.adversaries import individual_risk
from sfumato.kernels.boxes import value_sets
from sfumato.models import MODELS
from sfumato.models.protocol import Outcome
from sfumato.progress import silent
from sfumato.release.anonymize import solved_task
from sfumato.release.task import Task
from sfumato.series.attacks import attack_releases, attack_with_keys, covering
from sfumato.table.encoding import encode
from sfumato.table.schema import Kind
from sfumato.table.writing import label_lines

TREE = sf.groups({"low": {"few": ["a", "b"], "some": ["c"]}, "high": {"many": ["d", "e"]}})
BIG, WIDE = 2**53, 2**63
NUMBERS: tuple[tuple[Any, ...], ...] = (
    (0.0, -0.0),
    (0.0, -0.0, 5e-324),
    (0.0, 5e-324, 1e-310, -2.5e-308),
    (1e-301, 3e-301, -2e-301),
    (1e-71, 4e-71),
    (2e-70, -3e-70, 0.0, 7e-70),
    (0.0, 5e-324, 1e-160, 1.0),
    (1.0, 1.0 + 2**-52, 1.0 + 2**-51, 1.5),
    (1e70, -1e70, 9e69, 0.0, 1.0),
    (1e70, 1e70 * (1 - 2**-53), 1e70 * (1 - 2**-52)),
    (1e-150, 1e70, 3.0, -7e69),
    (1e150, -1e150, 0.0),
    (1e200, 1.0, -1e308),
    (float("nan"), 1.0, 2.0, 2.5, None),
    (float("inf"), 1.0, float("-inf"), float("nan")),
    (BIG - 1, BIG, BIG + 1, BIG + 2),
    (WIDE - 1, WIDE - 2, -WIDE, 0),
    (float(BIG), float(BIG + 2), float(BIG - 1), -float(BIG)),
    (float(WIDE), float(-WIDE), 1.0),
    (0.1, 0.2, 0.3, 0.1 + 0.2),
    (7,),
    (3.5, None),
    (None,),
)
"""Values of one column, the odd ones."""


def numbers(draw: random.Random, rows: int, odd: float) -> list[Any]:
    """Draw the numbers of one column: odd ones, few that tie, or all different; in some columns some are missing."""
    found = _numbers(draw, rows, odd)
    missing = draw.choice((0.0, 0.0, 0.0, 0.3))
    return [None if draw.random() < missing else value for value in found]


def _numbers(draw: random.Random, rows: int, odd: float) -> list[Any]:
    if draw.random() < odd:
        values = draw.choice(NUMBERS)
        return [draw.choice(values) for _ in range(rows)]
    kind = draw.random()
    if kind < 0.3:
        return draw.sample(range(3 * rows), rows)
    if kind < 0.5:
        return [draw.gauss(0, 10) for _ in range(rows)]
    some = draw.choice((2, 3, 5, 9))
    return [draw.randrange(some) * draw.choice((1, 1, 10)) for _ in range(rows)]


def days(draw: random.Random, rows: int) -> list[date | None]:
    """Draw dates, at the ends of what there is and near each other."""
    ends = (date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), None)
    near = [date(2020, 2, 27) + timedelta(days=number) for number in range(4)]
    return [draw.choice(ends if draw.random() < 0.1 else near) for _ in range(rows)]


def drawn_frame(draw: random.Random, odd: float, rows: int = 0) -> pl.DataFrame:
    """Draw a table of one record or more."""
    rows = (
        rows or draw.choice((1, 2, 3, 5, 8, 12, 12, 20, 20, 30, 45)) if draw.random() < 0.98 else draw.choice((60, 200))
    )
    letters = draw.choice(("a", "ab", "abc", "abcde"))
    columns: dict[str, Any] = {
        "n0": numbers(draw, rows, odd),
        "n1": numbers(draw, rows, odd / 2),
        "day": days(draw, rows),
        "c0": [draw.choice(letters) for _ in range(rows)],
        "c1": [draw.choice((*letters, None)) for _ in range(rows)],
        "c2": [f"{draw.choice(letters)}{draw.randrange(9)}" for _ in range(rows)],
        "s0": [draw.choice(letters) for _ in range(rows)],
        "s1": numbers(draw, rows, odd / 3),
        "plain": numbers(draw, rows, odd),
        "who": [draw.randrange(max(1, rows * 2 // 3)) for _ in range(rows)],
        "wish": [draw.choice((None, 1, 2, 3)) for _ in range(rows)],
    }
    return pl.DataFrame({name: _series(name, values) for name, values in columns.items()})


def _series(name: str, values: list[Any]) -> pl.Series:
    dtype = pl.Float64 if any(isinstance(value, float) for value in values) else None
    if all(value is None for value in values):
        dtype = pl.Date if name == "day" else pl.String if name[0] in "cs" else pl.Float64
    return pl.Series(name, values, dtype=dtype)


def drawn_schema(draw: random.Random, trees: bool, person: bool, *, ordered: bool = False) -> sf.Schema:
    """Draw roles; with `trees` every quasi-identifying column has a hierarchy, `ordered` asks for sensitive numbers."""
    tree = trees or draw.random() < 0.5
    quasi: dict[str, Any] = {
        "n0": sf.Attribute(hierarchy=sf.intervals(2, 10) if trees else None, weight=draw.choice((1, 1, 1e6, 1e-6))),
        "n1": None if not trees else sf.intervals(5),
        "day": sf.dates() if trees else None,
        "c0": TREE if tree else sf.Attribute(kind="categorical"),
        "c1": sf.flat() if trees else sf.Attribute(kind="categorical"),
        "c2": sf.flat() if trees else sf.Attribute(kind="categorical"),
    }
    names = draw.sample(sorted(quasi), draw.choice((1, 2, 3, 5)))
    sensitive: dict[str, Any] = {"s0": TREE if draw.random() < 0.5 else None}
    if draw.random() < (1.0 if ordered else 0.4):
        sensitive["s1"] = sf.Attribute(kind="numeric")
    return sf.Schema(
        quasi_identifying={name: quasi[name] for name in names},
        sensitive=sensitive,
        insensitive=["plain"],
        person="who" if person else None,
        wished_k="wish" if person and draw.random() < 0.3 else None,
        others="drop",
    )


class _Draw:
    """What a strategy of the guarantees' parameters is drawn by here."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def of(self, name: str) -> Any:
        values = {key: self.draw.choice(strategy.elements) for key, strategy in PARAMETERS[name].items()}  # type: ignore[attr-defined]
        if name == "guarded-values":
            return sf.GuardedValues(["a"], values["p"], "s0")
        if name == "t-closeness" and self.draw.random() < 0.7:
            values["distance"] = self.draw.choice(("equal", "ordered", "hierarchical"))
        return MODELS[name](**values)


def drawn_models(draw: random.Random, sliced: bool = False) -> list[Any]:
    """Draw one model or several."""
    if sliced:
        return [draw.choice((sf.ProbabilisticLDiversity(1.5), sf.DistinctLDiversity(2), sf.EntropyLDiversity(1.2)))]
    names = draw.sample(sorted(PARAMETERS), draw.choice((0, 1, 1, 2)))
    models = [_Draw(draw).of(name) for name in names]
    if not any(isinstance(model, sf.KAnonymity) for model in models) and (not models or draw.random() < 0.6):
        models.append(sf.KAnonymity(draw.choice((1, 2, 3, 5))))
    return models


Door = Callable[[random.Random, pl.DataFrame], object]


def drawn_way(draw: random.Random, kinds: Mapping[str, Any]) -> Any:
    """Draw an anonymizer and each of its options that can be listed; combinations that contradict are drawn anew."""
    described = kinds[draw.choice(sorted(kinds))]
    hints = get_type_hints(described)
    listed = {field.name: choices(hints[field.name]) for field in fields(described)}
    for _ in range(30):
        drawn = {name: draw.choice(values) for name, values in listed.items() if values and draw.random() < 0.5}
        try:
            return described(**drawn)
        except sf.PolicyError:
            continue
    return described()


def generalized(draw: random.Random, frame: pl.DataFrame) -> object:
    """Make a release of classes, and look at it from one side or two."""
    way = draw.choice(list(BLOCKS.values())) if draw.random() < 0.2 else drawn_way(draw, ANONYMIZERS)
    if hasattr(way, "block_size") and draw.random() < 0.3:
        way = type(way)(**{**vars(way), "block_size": 10})
    return _looked_at(draw, frame, way, drawn_models(draw))


def solved(draw: random.Random, frame: pl.DataFrame) -> object:
    """Divide a table into classes and nothing else, several times as many as releases in the same time."""
    way = drawn_way(draw, ANONYMIZERS)
    schema = drawn_schema(
        draw, way.name in FULL_DOMAIN or getattr(way, "hierarchy_cuts", False) or draw.random() < 0.2, person=False
    )
    policy = sf.Policy.of(schema, drawn_models(draw), way, sf.Recoding(), draw.choice((0.0, 0.0, 0.2)))
    return solved_task(Task(sf.read_table(frame, schema), policy, False, 1, 1, silent), way)


def published(draw: random.Random, frame: pl.DataFrame) -> object:
    """Make a release of another kind, and look at it."""
    way = drawn_way(draw, PUBLISHERS)
    return _looked_at(draw, frame, way, drawn_models(draw, sliced=True) if way.promises else [])


def starred(draw: random.Random, frame: pl.DataFrame, model: Any = None) -> object:
    """Star cells of few columns, for models that count stars as any value too."""
    models = model or draw.choice(
        (
            sf.KAnonymity(draw.choice((2, 3, 5))),
            sf.SubsetKAnonymity(draw.choice((2, 3)), draw.choice((1, 2))),
            sf.WildcardKAnonymity(draw.choice((2, 3))),
        )
    )
    more = [sf.DistinctLDiversity(2)] if draw.random() < 0.2 else []
    few = frame if draw.random() < 0.5 else frame.head(9)
    way = sf.CellSuppression(
        method=draw.choice(("heuristic", "exact")) if few.height < 20 else "heuristic",
        importance=draw.choice((None, {"c0": 1e9}, {"c0": 1e-9})),
    )
    names = {name: sf.Attribute(kind="categorical") for name in ("c0", "c1", "s0")[: draw.choice((2, 3))]}
    schema = sf.Schema(
        quasi_identifying={**names, "n0": sf.Attribute(kind="numeric")}, sensitive=["s1"] if more else [],
        others="drop",
    )  # fmt: skip
    return sf.anonymize(sf.read_table(few, schema), [models, *more], anonymizer=way, seed=1, threads=1)


APART = ("mondrian", "optimal", "datafly")
"""Anonymizers of RARE that judge classes by people whose records lie in several."""

RARE: tuple[tuple[Any, tuple[Any, ...], float], ...] = (
    (sf.UtilityRecoding(direction="top-down"), (sf.KAnonymity(3),), 0.0),
    (sf.CAAT(interval="midpoint"), (sf.KAnonymity(2),), 0.0),
    (sf.CAAT(interval="mean", ties="all"), (sf.KAnonymity(2),), 0.0),
    (sf.SBC(remainder="nearest"), (sf.KAnonymity(4),), 0.0),
    (sf.KACA(stub=True), (sf.KAnonymity(4),), 0.0),
    (sf.KMeans(start="k-means++"), (sf.KAnonymity(2),), 0.0),
    (sf.KMember(seeds="furthest"), (sf.KAnonymity(2),), 0.0),
    (sf.KMember(), (sf.DistinctLDiversity(2),), 0.7),
    (sf.KMember(), (sf.ProbabilisticLDiversity(2),), 0.7),
    (sf.MDAV(), (sf.ProbabilisticLDiversity(2),), 0.7),
    (sf.ValueGeneralization(), (sf.KAnonymity(3),), 0.0),
    (sf.ValueGeneralization(), (sf.KAnonymity(2),), 0.0),
    (sf.ValueGeneralization(direction="bottom-up"), (sf.KAnonymity(2), sf.DistinctLDiversity(2)), 0.5),
    (sf.Mondrian(hierarchy_cuts=True, attribute_choice="widest"), (sf.KAnonymity(2),), 0.0),
    (sf.Mondrian(blind=True), (sf.KAnonymity(2), sf.EntropyLDiversity(1.1)), 0.5),
    (sf.Mondrian(), (sf.KAnonymity(2), sf.TCloseness(0.5, attribute="s1", distance="ordered")), 0.0),
    (sf.Mondrian(), (sf.KAnonymity(2),), 0.0),
    (sf.Mondrian(widths="region"), (sf.KAnonymity(2),), 0.0),
    (sf.Optimal(), (sf.KAnonymity(2), sf.DistinctLDiversity(2)), 0.5),
    (sf.Optimal(), (sf.KAnonymity(2), sf.TCloseness(0.4, attribute="s0", distance="equal")), 0.5),
    (sf.Datafly(), (sf.KAnonymity(2), sf.EntropyLDiversity(1.1)), 0.5),
)
"""Anonymizers with models and a limit for which some kernel is needed that hardly any others need."""


def generalized_rarely(draw: random.Random, frame: pl.DataFrame, options: Any = None) -> object:
    """Make a release by options that are seldom drawn together, where one sensitive value is in most records."""
    way, models, limit = options or draw.choice(RARE)
    if draw.random() < 0.6:
        frame = frame.with_columns(s0=pl.when(pl.int_range(pl.len()) % 5 < 3).then(pl.lit("a")).otherwise("s0"))
    # Numbers without a hierarchy are cut at places, and that in one algorithm alone where it takes hierarchies as well.
    trees = draw.random() < (0.3 if way.name not in FULL_DOMAIN or way.name == "value-generalization" else 1.0)
    schema = drawn_schema(
        draw, trees, person := way.name in APART and not getattr(way, "blind", False) and draw.random() < 0.6,
        ordered=any(getattr(model, "attribute", None) == "s1" for model in models),
    )  # fmt: skip
    if way.name == "mondrian" and way.hierarchy_cuts:
        schema = drawn_schema(draw, trees=True, person=False)
    told: dict[str, Any] = {"people": sf.People(rows="apart")} if person and schema.person else {}
    release = sf.anonymize(
        sf.read_table(frame, schema), models, anonymizer=way, suppression_limit=limit, seed=1, threads=1,
        refine=0 if told else draw.choice((0, 5)), **told,
    )  # fmt: skip
    register = frame.select(pl.col("who").cast(pl.String), *schema.quasi_identifying)
    return linking_attack(
        release.data, register, replace(schema, person=None, wished_k=None), sensitive="s0", identity="who"
    )


TWICE = (("n0", "s0"), ("c0", "s0"))
"""Columns that share the sensitive values."""

SEPARATED: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (sf.Slicing(split="balanced"), (sf.ProbabilisticLDiversity(1.2),)),
    (sf.Slicing(split="balanced", bucket_size="smallest"), (sf.ProbabilisticLDiversity(1.5),)),
    (sf.Slicing(protection="matching"), (sf.ProbabilisticLDiversity(1.5),)),
    (sf.Slicing(protection="matching"), (sf.TCloseness(0.4, distance="hierarchical"),)),
    (sf.OverlappingSlicing(duplicate_sensitive=True), (sf.ProbabilisticLDiversity(1),)),
    (sf.OverlappingSlicing(columns=TWICE, duplicate_sensitive=True), (sf.ProbabilisticLDiversity(1),)),
    (sf.OverlappingSlicing(columns=TWICE, duplicate_sensitive=True), (sf.ProbabilisticLDiversity(1.2),)),
    (sf.Bucketization(), (sf.DistinctLDiversity(2),)),
    (sf.Bucketization(members="random"), (sf.DistinctLDiversity(2),)),
)
"""Publishers that separate values from people, with models that they can promise."""


def separated(draw: random.Random, frame: pl.DataFrame, options: Any = None) -> object:
    """Separate sensitive values from people, and attack that in some way."""
    way, models = options or draw.choice(SEPARATED)
    names = draw.sample(("n0", "n1", "c0", "c1"), draw.choice((1, 2, 3)))
    attack = draw.choice(("minimality", DeFinetti(exact=draw.choice((1, 256))), "attribute-inference", "known-items"))
    if getattr(way, "columns", None) == TWICE:
        # Of these attacks only one joins columns by a value.
        names, attack = ["n0", "c0"], "attribute-inference"
    schema = sf.Schema(
        quasi_identifying={name: TREE if name == "c0" else None for name in names},
        sensitive={"s0": TREE},
        others="drop",
    )
    table = sf.read_table(frame, schema)
    release = sf.anonymize(table, models, anonymizer=way, seed=1, threads=1)
    return sf.attack(release, table, attacks=attack, seed=1, threads=1)


FULL_DOMAIN = ("optimal", "heuristic", "datafly", "incognito", "samarati", "value-generalization")


def _looked_at(draw: random.Random, frame: pl.DataFrame, way: Any, models: list[Any]) -> object:
    trees = way.name in FULL_DOMAIN or getattr(way, "hierarchy_cuts", False) or draw.random() < 0.2
    counts_records = way.name in PUBLISHERS
    person = not counts_records and draw.random() < 0.25
    table = sf.read_table(frame, drawn_schema(draw, trees, person))
    told: dict[str, Any] = {"suppression_limit": draw.choice((0.0, 0.0, 0.2, 0.5))}
    if person and draw.random() < 0.4:
        told["people"] = sf.People(rows="apart")
    if draw.random() < 0.1:
        told["refine"] = 5
    try:
        release = sf.anonymize(table, models, anonymizer=way, seed=1, threads=1, **told)
    except sf.SfumatoError:
        weakest = [] if not models else sf.ProbabilisticLDiversity(1) if counts_records else sf.KAnonymity(1)
        release = sf.anonymize(table, weakest, anonymizer=way, seed=1, threads=1)
    if draw.random() < 0.4:
        draw.choice(LOOKS)(draw, release, table)
    return release


def _attacked(draw: random.Random, release: Any, table: Any) -> None:
    sf.attack(release, table, attacks=draw.choice(sorted(ATTACKS)), seed=1, threads=1)


def attacked(draw: random.Random, frame: pl.DataFrame, attack: str) -> object:
    """Make a release as most are made, and attack it in one way."""
    schema = drawn_schema(draw, trees=False, person=False)
    table = sf.read_table(frame, schema)
    way = draw.choice((sf.Mondrian(), sf.KMember()))
    release = sf.anonymize(table, sf.KAnonymity(draw.choice((1, 2))), anonymizer=way, seed=1, threads=1)
    return sf.attack(release, table, attacks=attack, seed=1, threads=1)


def risked(draw: random.Random, frame: pl.DataFrame) -> None:
    """Count what records of a table are alone on."""
    table = sf.read_table(frame, drawn_schema(draw, trees=False, person=False))
    _risked(draw, table, table)


def rated_alike(draw: random.Random, frame: pl.DataFrame) -> object:
    """Check ratings of which more pairs are alike than there is room for at first."""
    rows = [(person, issue, draw.choice((1, 2)), 0) for person in range(50) for issue in "ab"]
    source = pl.DataFrame(rows, schema=["user", "issue", "rating", "time"], orient="row")
    ratings = sf.read_ratings(source, scale=(1, 5, 1), time="time")
    model, search = sf.RatingAnonymity(2, draw.choice((1, 2))), draw.choice(("pairwise", "slicing"))
    return sf.check_ratings(ratings, model, search=search, threads=1)  # type: ignore[arg-type]


def rated_apart(draw: random.Random, frame: pl.DataFrame) -> object:
    """Make ratings anonymous of which most are of the same issues, and differ; the fewest rated one issue alone."""
    scale, k = draw.choice(((1, 5, 1), (1, 100, 1))), draw.choice((2, 3))
    few = draw.choice((1, k - 1))
    rows = [
        (person, issue, draw.randint(*scale[:2]))
        for person in range(7 * k + few)
        for issue in ("d" if person < few else "abcd")
    ]
    source = pl.DataFrame(rows, schema=["user", "issue", "rating"], orient="row")
    ratings, model = sf.read_ratings(source, scale=scale), sf.RatingAnonymity(k, draw.choice((1, 2)))
    sf.check_ratings(ratings, model, search="slicing", threads=1)
    return sf.anonymize_ratings(
        ratings, model, invent=draw.random() < 0.3, suppression_limit=draw.choice((0.1, 0.3)), seed=1, threads=1
    )


def _attacked_from_outside(draw: random.Random, release: Any, table: Any) -> None:
    kept, control = sf.hold_out(table, 0.3, seed=1)
    other = sf.anonymize(kept, sf.KAnonymity(2), seed=1, threads=1)
    names = ("membership-inference", "attribute-inference", "singling-out", "shadow-membership", "intersection")
    sf.attack(other, kept, attacks=draw.choice(names), control=control, earlier=release, seed=1, threads=1)


def _used(draw: random.Random, release: Any, table: Any) -> None:
    workload = (
        sf.query_workload(table, 20, aggregates=("count", "sum", "average"), seed=1) if draw.random() < 0.5 else None
    )
    sf.measure_utility(release, table, workload=workload, classifiers=("naive-bayes",), seed=1)


def _described(draw: random.Random, release: Any, table: Any) -> None:
    names = [name for name in table.frame.columns if name[0] == "n"]
    sf.describe(release, table, seed=1)
    if len(names) == 2:
        sf.describe(release, table, regressions={"n0": ["n1"]}, seed=1)


def _risked(draw: random.Random, release: Any, table: Any) -> None:
    sf.risk(
        draw.choice((release, table)), special_uniques=2, combinations=2, wildcards=draw.random() < 0.5, threads=1,
        sampling_fraction=draw.choice((None, 0.1)), log_linear=draw.choice((None, "main", "two-way")),
    )  # fmt: skip


def _measured(draw: random.Random, release: Any, table: Any) -> None:
    draw.choice(
        (
            lambda: sf.measure(table, release),
            lambda: sf.lower_bound(
                table, 3, loss=draw.choice(("ncp", "squared-error", "height")), rounds=draw.choice((0, 2))
            ),
            lambda: sf.correlation(table),
            lambda: sf.search_lattice(table, sf.KAnonymity(2), threads=1),
        )
    )()


def _saved(draw: random.Random, release: Any, table: Any) -> None:
    with TemporaryDirectory() as folder:
        release.save(Path(folder) / "release")
        found = sf.verify(Path(folder) / "release")
        # Releases that promise no model cannot be decided from themselves.
        assert not any(check.outcome is Outcome.BROKEN for check in found.checks), str(found)


def _checked(draw: random.Random, release: Any, table: Any) -> None:
    sf.check(table)


LOOKS = (_attacked, _attacked, _attacked_from_outside, _used, _described, _risked, _measured, _saved, _checked)


def rated(draw: random.Random, frame: pl.DataFrame) -> object:
    """Make ratings anonymous, with scales of odd widths."""
    low, high, step = draw.choice(((1, 5, 1), (0.5, 5, 0.5), (0, 1, 1), (-10, 10, 1), (1, 100, 1)))
    values = [low + step * number for number in range(int((high - low) / step) + 1)]
    # Many who rate alike are more pairs than there is room for at first.
    many, liked = draw.choice(((1, values), (2, values), (6, values), (15, values), (30, values), (50, values[:2])))
    rows = [
        (person, issue, draw.choice(liked), draw.randrange(9))
        for person in range(many)
        for issue in ("ads" if many == 50 else "abcds")
        if draw.random() < 0.7 or issue == "a"
    ]
    source = pl.DataFrame(rows, schema=["user", "issue", "rating", "time"], orient="row")
    ratings = sf.read_ratings(source, scale=(low, high, step), sensitive=draw.choice(([], ["s"])), time="time")
    model = sf.RatingAnonymity(
        draw.choice((1, 2, 3)), draw.choice((0, 1, 2)), draw.choice((0, 0, 1)) if ratings.sensitive.any() else 0,
        group=draw.choice(("ball", "trimmed")), nulls=draw.choice(("skip", "g", "literal")),
    ) if hasattr(ratings.sensitive, "any") else sf.RatingAnonymity(
        draw.choice((1, 2, 3)), draw.choice((0, 1, 2)),
    )  # fmt: skip
    search = draw.choice(("masks", "pairwise", "slicing"))
    sf.check_ratings(ratings, model, search=search, threads=1)  # type: ignore[arg-type]
    invent = draw.random() < 0.5
    release = sf.anonymize_ratings(
        ratings, model, method=draw.choice(("groups", "plan")), invent=invent, keep=draw.choice((None, 3)),
        suppression_limit=draw.choice((0.0, 0.4)), times=not invent and draw.random() < 0.5, seed=1, threads=1,
    )  # fmt: skip
    sf.attack_ratings(ratings, release, known=2, error=draw.choice((0.0, 1.0)), seed=1, threads=1)
    return sf.rating_utility(ratings, release, seed=1)


ITEMS = sf.groups({"low": {"few": ["a", "b"], "some": ["c"]}, "high": {"many": ["d", "e"], "most": ["f", "g"]}})


def in_sets(draw: random.Random, frame: pl.DataFrame) -> object:
    """Make sets anonymous, with a table beside them or without one."""
    letters = draw.choice(("a", "abc", "abcdefg"))
    source = frame.select("n0", "c0").with_columns(
        what=pl.Series([";".join(draw.sample(letters, draw.randrange(len(letters) + 1))) for _ in range(frame.height)])
    )
    beside = draw.random() < 0.5
    sets = sf.read_sets(
        source if beside else source.select("what"), form="wide", hierarchy=ITEMS if draw.random() < 0.7 else None,
        schema=sf.Schema(quasi_identifying=["n0", "c0"]) if beside else None,
    )  # fmt: skip
    sf.check_sets(sets, 2, threads=1)
    release = sf.anonymize_sets(
        sets, sf.KmAnonymity(draw.choice((1, 2, 3)), draw.choice((1, 2, 3))), seed=1, threads=1,
        method=draw.choice((None, "mixed", "apriori", "optimal", "suppress")), class_size=6 if beside else None,
    )  # fmt: skip
    return sf.attack_sets(sets, release, seed=1)


def grown(draw: random.Random, frame: pl.DataFrame) -> object:
    """Publish a table in three steps, each way that there is, and withdraw somebody."""
    way = draw.choice(("append", "grow", "grow", "m-invariance"))
    schema = sf.Schema(
        identifying=["key"],
        quasi_identifying=draw.choice((["n0", "c0"], ["n0", "day"], ["c0", "c2"], ["n0"])),
        sensitive=draw.choice((["s0"], [])) if way == "grow" else ["s0"],
        others="drop",
    )
    table = frame.with_columns(key=pl.format("p{}", pl.int_range(pl.len())))
    third = max(1, frame.height // 3)
    with TemporaryDirectory() as folder:
        models = sf.KAnonymity(draw.choice((1, 2))) if draw.random() < 0.7 else sf.DistinctLDiversity(2)
        told: dict[str, Any] = {"key": "key"} if way != "append" else {}
        if way == "m-invariance":
            told |= {"table": table.slice(0, third)}
            models = sf.MInvariance(2) if hasattr(sf, "MInvariance") else models
        series = sf.Series.start(Path(folder) / "s", schema, models, way=way, threads=1, seed=1, **told)
        for start in range(third if told.get("table") is not None else 0, frame.height, third):
            part = table.slice(start, third)
            getattr(series, {"append": "append", "grow": "grow"}.get(way, "republish"))(part)
        if draw.random() < 0.5:
            series.withdraw(table.head(1).select("key"))
        series.verify(ledger=True)
    return series


def grown_often(draw: random.Random, frame: pl.DataFrame) -> object:
    """Publish a table in many small steps, so that classes of several releases go together."""
    few = frame.sample(28, with_replacement=True, seed=draw.randrange(99)).with_columns(
        key=pl.format("p{}", pl.int_range(pl.len())), n0=pl.Series([draw.randrange(9) for _ in range(28)])
    )
    schema = sf.Schema(identifying=["key"], quasi_identifying=["n0", "c0"], sensitive=["s0"], others="drop")
    with TemporaryDirectory() as folder:
        series = sf.Series.start(
            Path(folder) / "s", schema, sf.KAnonymity(draw.choice((2, 3))), way="grow", key="key", threads=1, seed=1
        )
        for start in range(0, few.height, step := draw.choice((4, 5, 7))):
            series.grow(few.slice(start, step))
    return series


def m_invariant(draw: random.Random, frame: pl.DataFrame) -> object:
    """Publish everybody again, some gone and some new."""
    models = [sf.KAnonymity(2), sf.DistinctLDiversity(2), sf.ProbabilisticLDiversity(2)]
    schema = sf.Schema(identifying=["key"], quasi_identifying=["n0", "c0"], sensitive=["s0"], others="drop")
    table = frame.with_columns(key=pl.format("p{}", pl.int_range(pl.len())))
    cut = draw.randrange(frame.height + 1)
    with TemporaryDirectory() as folder:
        series = sf.Series.start(
            Path(folder) / "s", schema, models, table=table.head(cut), key="key", way="m-invariance", threads=1, seed=1
        )
        for _ in range(2):
            series.republish(table.sample(fraction=draw.choice((0.5, 0.9, 1.0)), seed=draw.randrange(99)))
    return series


def attacked_series(draw: random.Random, frame: pl.DataFrame) -> object:
    """Attack the releases of a growing series, and separate ones of the same people."""
    names = draw.choice((["n0", "c0"], ["c2"], ["c0", "c2"]))
    table = frame.select(*names, "s0", who=pl.format("p{}", pl.int_range(pl.len())))
    half = max(1, frame.height // 2)
    schema = sf.Schema(identifying=["who"], quasi_identifying=names, sensitive=["s0"])
    with TemporaryDirectory() as place:
        folder = Path(place)
        parts = [table.head(half), table.slice(half)]
        for number, part in enumerate(parts):
            part.write_csv(folder / f"{number}.csv")
        originals = [folder / "0.csv", folder / "1.csv"]
        series = sf.Series.start(folder / "s", schema, sf.KAnonymity(1), way="grow", key="who", threads=1, seed=1)
        for part in parts:
            series.grow(part)
        releases = list(series.releases)
        if draw.random() < 0.5:
            releases, originals = [folder / "a", folder / "b"], [folder / "0.csv", folder / "0.csv"]
            for path in releases:
                way = sf.Mondrian() if draw.random() < 0.5 else sf.KMember()
                sf.anonymize(sf.read_table(parts[0], schema), sf.KAnonymity(2), anonymizer=way, threads=1).save(path)
            return attack_with_keys(releases, originals, "who")
        return attack_releases(releases, originals)


def wished(draw: random.Random, frame: pl.DataFrame) -> object:
    """Let people with several records wish for a k of their own."""
    schema = sf.Schema(
        quasi_identifying={"c0": TREE, "n0": sf.Attribute(kind="numeric")}, sensitive=["s0"], person="who",
        wished_k="wish", others="drop",
    )  # fmt: skip
    models = draw.choice(([sf.KAnonymity(2)], [sf.KAnonymity(2), sf.EntropyLDiversity(1.1)]))
    way = draw.choice((sf.Mondrian(), sf.KMember()))
    return sf.anonymize(sf.read_table(frame, schema), models, anonymizer=way, suppression_limit=0.5, seed=1, threads=1)


def covered_in_sets(draw: random.Random, frame: pl.DataFrame) -> object:
    """Find the classes that cover people by labels whose values lie anywhere among those of all people."""
    count = draw.choice((40, 70, 130))
    people = pl.DataFrame({"what": [f"v{number}" for number in range(count)], "n": list(map(str, range(count)))})
    # Such sets span the cuts of space, but few of them have a value between two cuts.
    sets = [draw.sample(range(count), draw.choice((1, 2, 2, 2))) for _ in range(count)]
    labels = pl.DataFrame(
        {
            "what": ["{" + "|".join(f"v{number}" for number in chosen) + "}" for chosen in sets],
            "n": [draw.choice((f"[{min(chosen)}, {max(chosen)}]", "*")) for chosen in sets],
        }
    )
    return covering(labels, people, {"what": Kind.CATEGORICAL, "n": Kind.NUMERIC})


def populated(draw: random.Random, frame: pl.DataFrame) -> object:
    """Publish some of a population, and recount what the population says."""
    schema = sf.Schema(quasi_identifying={"n0": sf.intervals(2, 10), "c0": TREE, "c1": sf.flat()}, sensitive=["s0"])
    everybody = frame.select("n0", "c0", "c1", "s0")
    table = sf.read_table(everybody.head(max(1, frame.height // 2)), schema)
    models = draw.choice((sf.KMap(2), sf.DeltaPresence(0.9), sf.AverageRisk(0.8, adversary="marketer")))
    anonymizer = draw.choice((sf.Mondrian(), sf.Optimal(), sf.KMember()))
    release = sf.anonymize(
        table, models, anonymizer=anonymizer, population=everybody, suppression_limit=0.5, seed=1, threads=1
    )
    sf.verify(release, population=sf.read_table(everybody, schema))
    return sf.attack(release, table, attacks="linkage", seed=1, threads=1)


def measured_apart(draw: random.Random, frame: pl.DataFrame) -> object:
    """Ask what pages and studies ask of algorithms: distances of records and classes, lines of labels, risks."""
    schema = sf.Schema(quasi_identifying={"c0": TREE, "c1": sf.flat(), "n0": None}, sensitive=["s0"], others="drop")
    table = encode(sf.read_table(frame, schema))
    (start,) = feasible(problem(table, sf.KAnonymity(1)))
    some = np.array([draw.randrange(frame.height) for _ in range(3)], dtype=np.int64)
    letters = pl.Enum(list("abcde"))
    label_blocks = label_lines(frame.select(pl.col("c0", "c1", "s0").cast(letters), near=pl.col("who")))
    # More groups, and more sets of values, than there is room for at first.
    numbers = np.random.default_rng(draw.randrange(99))
    group_records(numbers.integers(0, 2**20, (9000, 2), dtype=np.int32))
    value_sets(numbers.integers(0, 40, 600).astype(np.uint8), np.arange(0, 601, 3), 40)
    if label_blocks is not None:
        list(label_blocks.blocks(1))
    alike = np.array([draw.choice((1, 2, 3, 70, 5000)) for _ in range(9)], dtype=np.float64)
    individual_risk(alike, alike * draw.choice((1.0, 1.0 + 1e-12, 3.0, 1e6)))
    laid = similarity_table(table, np.arange(table.height), 2, chain=draw.choice(("previous", "all")), seed=0)
    distances_from(int(laid.tree.record_at[0]), laid.tree, laid.measure, laid.chain)
    heights = collapse_records(start, HeightDistance())
    others, members = some % len(heights.codes), some[:2] % len(heights.codes)
    gaps_to_class(heights.codes, members, others, draw.choice(list(_INTERVALS.values())), heights.loss)
    weighted = collapse_records(start, WeightedHierarchyDistance(1.0))
    places = some % len(weighted.codes)
    return box_distances(weighted.codes, places[:1], places, weighted.loss)


def private(draw: random.Random, frame: pl.DataFrame) -> object:
    """Publish a private sample."""
    schema = sf.Schema(quasi_identifying={"c0": TREE, "c1": sf.flat()}, sensitive=["s0"], others="drop")
    return sf.publish_private_sample(sf.read_table(frame, schema), sf.DifferentialPrivacy(1.0, 1e-3))


def read_as_text(draw: random.Random, frame: pl.DataFrame) -> object:
    """Read the table from a file, whose lines a kernel counts, and make a release past memory."""
    schema = drawn_schema(draw, trees=False, person=False)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        frame.write_csv(path)
        policy = sf.Policy.of(schema, [sf.KAnonymity(2)], sf.Mondrian(), sf.Recoding(), 0.2)
        sf.anonymize_on_disk(path, policy, Path(folder) / "r", seed=1, threads=1)
        return sf.verify(Path(folder) / "r")


def traced(draw: random.Random, frame: pl.DataFrame) -> object:
    """Make traces anonymous: poles, the other side of the globe, people of one point and of many; and look at them."""
    north, east = draw.choice((((-90, 90), (-180, 180)), ((89.9, 90), (179.9, 180)), ((46, 46.01), (14, 14.01))))
    stamp = "2026-03-{:02}T{:02}:00"
    people = draw.choice((1, 8, 25))
    rows = [
        (
            who,
            draw.uniform(*north),
            draw.uniform(*east),
            stamp.format(draw.choice((1, 8, 29)), draw.randrange(24)),
            ill,
            own,
        )
        for who in range(2 * people)
        for ill, own in draw.choices((("a", None), ("b", None), ("b", 4)), k=draw.choice((1, 2, 6)))
    ]
    names = ["who", "north", "east", "when", "ill", "own"]
    grain = sf.traces.TraceGrain(draw.choice((2.0**-14, 0.25, 1.0)), draw.choice((1, 24, 168)))
    town = pl.DataFrame(rows, schema=names, orient="row")
    among = draw.choice((None, None, "population"))
    read = partial(sf.traces.read_traces, person="who", place=("north", "east"), time="when", zone="UTC", grain=grain)
    wishes = None if among else draw.choice((None, "own"))
    traces = read(town.filter(pl.col("who") < people), sensitive="ill", wished_k=wishes)
    sf.traces.check_traces(traces, 4)
    model = sf.traces.TracePrivacy(draw.choice((1, 2, 3)), draw.choice((1, 2, 3, 4)), draw.choice((1, 1, 0.5)), among)
    beside = {"population": read(town)} if among else {}
    release = sf.traces.anonymize_traces(traces, model, suppression_limit=0.9, seed=1, **beside)
    sf.verify(release, **beside)
    sf.traces.trace_utility(traces, release, seed=1)
    return sf.traces.attack_traces(traces, release, noise=draw.choice((0, 0.3)), seed=1)


DOORS: tuple[tuple[float, Door], ...] = (
    (20, solved),
    (6, generalized_rarely),
    (5, generalized),
    (2.5, separated),
    (2.5, rated),
    (2.5, in_sets),
    (2, published),
    (1.5, starred),
    (1, traced),
    (0.7, populated),
    (0.3, measured_apart),
    (0.25, grown),
    (0.2, private),
    (0.15, attacked_series),
    (0.15, m_invariant),
    (0.15, read_as_text),
    (0.15, grown_often),
)
"""Each with its share; those that take long have little."""


SELDOM: tuple[Door, ...] = (
    *(partial(generalized_rarely, options=options) for options in RARE),
    *(partial(separated, options=options) for options in SEPARATED),
    *(partial(attacked, attack=name) for name in sorted(ATTACKS)),
    partial(starred, model=sf.SubsetKAnonymity(2, 2)),
    risked,
    rated_alike,
    rated_apart,
    attacked_series,
    covered_in_sets,
    grown_often,
    measured_apart,
    populated,
    traced,
    wished,
)
"""Doors to kernels that few others reach: half of the tables take them in turn."""


def is_whole(number: int) -> bool:
    """Tell whether kernels run in their forms on whole arrays: in one of four rounds through the seldom doors."""
    return number // 4 // len(SELDOM) % 4 == 1


def knock(number: int) -> str:
    """Run one generated table through one door, and tell what came of it; what is no answer in words is raised."""
    draw = random.Random(number)
    if number % 4 < 2:
        # Of two tables that come here one has lower sizes, and none of them is too small to be divided.
        door, rows = SELDOM[number // 4 % len(SELDOM)], draw.choice((9, 13, 21, 30, 45))
        frame = drawn_frame(draw, draw.choice((0.0, 0.0, 0.3)), rows)
    else:
        (door,) = draw.choices([door for _, door in DOORS], [weight for weight, _ in DOORS])
        frame = drawn_frame(draw, draw.choice((0.0, 0.3, 0.8)))
    name = getattr(door, "func", door).__name__
    try:
        door(draw, frame)
    except sf.SfumatoError as error:
        return f"{name}: {type(error).__name__}"
    return f"{name}: done"
