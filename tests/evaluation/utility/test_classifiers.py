"""Classifiers trained on every kind of release, and the records they are trained on."""

from __future__ import annotations

import random
import sys
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.inputs import hold_out
from sfumato.evaluation.utility.classifiers import LEARNERS, Accuracy, accuracies, measured_features
from sfumato.evaluation.utility.joint import Joint, JointPart, drawn_records, original_joint, read_joint
from sfumato.evaluation.utility.queries import domains_of
from sfumato.published import BucketizedTables, MarginalTables, Published, PublishedTable, RandomizedTable, SlicedTable
from sfumato.published.apart import labels_of
from sfumato.table.encoding import encode

NAMES = ("age", "town", "illness")
QUASI = NAMES[:2]


def people(count: int, seed: int) -> list[tuple[int | None, str, str]]:
    """An illness that follows from the age, but for one in ten."""
    draw = random.Random(seed)
    found: list[tuple[int | None, str, str]] = []
    for _ in range(count):
        age = draw.randint(20, 79)
        illness = "measles" if age < 40 else "flu" if age < 60 else "gout"
        own = draw.choice(["flu", "gout"]) if draw.random() < 0.1 else illness
        found.append((None if draw.random() < 0.02 else age, draw.choice(["ulm", "bonn", "kiel"]), own))
    return found


def table_of(rows: list[Any]) -> sf.Table:
    frame = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, schema=NAMES, orient="row")
    return sf.read_table(frame, sf.Schema(quasi_identifying=list(QUASI), sensitive=["illness"]))


ROWS = people(900, 1)
TRAIN, TEST = hold_out(table_of(ROWS), 1 / 3, seed=1)
FRAME = TRAIN.frame.with_columns(pl.col("town", "illness").cast(pl.String))
DOMAINS = domains_of(encode(TRAIN))
ORIGINAL = original_joint(DOMAINS)


def bucketized(buckets: int) -> BucketizedTables:
    frame = FRAME.with_columns(bucket=pl.int_range(pl.len()) % buckets)
    counts = frame.group_by("bucket", "illness").len("count").sort("bucket", "illness")
    return BucketizedTables(frame.drop("illness"), counts, QUASI, "illness")


def sliced(columns: tuple[tuple[str, ...], ...], buckets: int) -> SlicedTable:
    frame = FRAME.with_columns(bucket=pl.int_range(pl.len()) % buckets).sort("bucket")
    data = frame.select("bucket")
    rng = np.random.default_rng(1)
    for column, labels in zip(columns, labels_of(columns), strict=True):
        part = frame.with_columns(order=pl.Series(rng.random(frame.height))).sort("bucket", "order")
        data = data.with_columns(**{label: part[name] for name, label in zip(column, labels, strict=True)})
    return SlicedTable(data, columns, ("illness",))


def scores(published: Published, **options: Any) -> dict[str, Accuracy]:
    settings = {"targets": ("illness",), "seed": 1, **options}
    found = accuracies(ORIGINAL, read_joint(published, DOMAINS), TEST, DOMAINS, **settings)
    return {each.learner: each for each in found}


def records_of(joint: Joint, seed: int = 1) -> list[tuple[Any, ...]]:
    labels = drawn_records(joint, np.random.default_rng(seed))
    return list(zip(*(labels[name].tolist() for name in NAMES), strict=True))


def rows_of(part: JointPart) -> Counter[tuple[int, ...]]:
    names = [name for name in NAMES if name in part.label_of]
    rows: Counter[tuple[int, ...]] = Counter()
    for row, count in zip(
        zip(*(part.label_of[name].tolist() for name in names), strict=True), part.counts, strict=True
    ):
        rows[row] += int(count)
    return rows


def test_records_come_out_as_they_are():
    found = Counter(records_of(ORIGINAL))
    codes = [DOMAINS[name].codes.tolist() for name in NAMES]
    assert found == Counter(zip(*codes, strict=True))


@pytest.mark.parametrize(
    "published", [sliced((("age",), ("town", "illness")), 40), bucketized(40)], ids=lambda published: published.kind
)
def test_records_put_together_keep_every_part_in_its_bucket(published):
    joint = read_joint(published, DOMAINS)
    found = records_of(joint)
    assert len(found) == TRAIN.height
    for part in joint.parts:
        places = [place for place, name in enumerate(NAMES) if name in part.label_of]
        assert Counter(tuple(row[place] for place in places) for row in found) == rows_of(part)
    assert found != records_of(joint, seed=2)


def test_records_of_overlapping_parts_agree_on_what_they_share():
    joint = read_joint(sliced((("age", "town"), ("town", "illness")), 30), DOMAINS)
    found = records_of(joint)
    for names in (("age", "town"), ("town", "illness")):
        places = [NAMES.index(name) for name in names]
        part = joint.parts[places[0]]
        assert Counter(tuple(row[place] for place in places) for row in found) == rows_of(part)


def test_records_of_marginals_whose_counts_differ():
    marginals = (
        FRAME.group_by("age", "town").len("count"),
        FRAME.group_by("town", "illness").len("count").filter(pl.col("count") > 40),
    )
    joint = read_joint(MarginalTables(marginals, (QUASI, ("town", "illness")), ("illness",)), DOMAINS)
    assert len(records_of(joint)) == TRAIN.height


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    "published",
    [
        PublishedTable(FRAME, QUASI, ("illness",)),
        RandomizedTable(FRAME, QUASI, ("illness",)),
        MarginalTables((FRAME.group_by(NAMES).len("count"),), (NAMES,), ("illness",)),
        sliced((NAMES,), 9),
    ],
    ids=lambda published: published.kind,
)
def test_what_is_published_exactly_teaches_as_much(published, learner):
    found = scores(published, learners=(learner,))[learner]
    assert found.release == pytest.approx(found.original, abs=0.01)
    assert found.baseline < 0.5
    assert found.original > found.baseline + (0.1 if learner == "logistic-regression" else 0.3)


def test_what_is_suppressed_teaches_nothing():
    starred = PublishedTable(FRAME.with_columns(age=pl.lit("*"), town=pl.lit("*")), QUASI, ("illness",))
    for found in scores(starred).values():
        assert found.release == pytest.approx(found.baseline, abs=0.03)
        assert found.original > found.release


def test_larger_buckets_teach_less():
    fine, rough = (scores(bucketized(count), learners=("naive-bayes",))["naive-bayes"] for count in (200, 3))
    assert fine.release > rough.release + 0.1


@pytest.mark.parametrize("encoding", ["midpoint", "bounds", "expand"])
def test_generalized_tables_teach_under_every_encoding(encoding):
    release = sf.anonymize(TRAIN, [sf.KAnonymity(10)], seed=1)
    published = PublishedTable(release.data, QUASI, ("illness",))
    found = scores(published, learners=("decision-tree",), encoding=encoding)["decision-tree"]
    assert found.release > found.baseline + 0.3


def test_a_quasi_identifying_target_and_one_of_numbers():
    found = accuracies(
        ORIGINAL,
        read_joint(PublishedTable(FRAME, QUASI, ("illness",)), DOMAINS),
        TEST,
        DOMAINS,
        targets=("town", "age"),
        learners=("naive-bayes",),
        seed=1,
    )
    assert [each.target for each in found] == ["town", "age"]
    assert found[0].original == pytest.approx(found[0].baseline, abs=0.1)
    assert found[1].original > found[1].baseline + 0.15
    assert set(found[1].to_dict()) == {"target", "learner", "release", "original", "baseline"}


def test_the_same_seed_gives_the_same():
    assert scores(bucketized(20)) == scores(bucketized(20))


def test_features_of_the_three_encodings():
    frame = pl.DataFrame({"age": ["[20..30]", "40", None], "town": ["{bonn|ulm}", "*", "kiel"], "illness": ["flu"] * 3})
    joint = read_joint(PublishedTable(frame, QUASI, ("illness",)), DOMAINS)
    labels = {name: joint.parts[0].label_of[name] for name in NAMES}
    asked = [DOMAINS["age"], DOMAINS["town"]]
    towns = DOMAINS["town"].attribute.labels.to_list()
    mean = DOMAINS["age"].numbers[DOMAINS["age"].codes[DOMAINS["age"].codes < DOMAINS["age"].attribute.size]].mean()

    def encoded(encoding: str) -> np.ndarray:
        return measured_features(joint.spreads, labels, asked, encoding, np.random.default_rng(1))  # type: ignore[arg-type]

    shares = [[town in ("bonn", "ulm") for town in towns], [1] * 3, [town == "kiel" for town in towns]]
    middle = [[25, 0], [40, 0], [mean, 1]]
    wanted = [[*left, *(np.array(own) / sum(own)), 0] for left, own in zip(middle, shares, strict=True)]
    assert np.allclose(sorted(encoded("midpoint").tolist()), sorted(wanted))
    assert np.allclose(sorted(encoded("bounds")[:, :3].tolist()), sorted([[20, 30, 0], [40, 40, 0], [mean, mean, 1]]))
    drawn = encoded("expand")
    assert set(np.unique(drawn[:, 2:])) == {0.0, 1.0}
    assert 20 <= drawn[:, 0].min() <= 30


def test_values_that_only_held_out_people_have():
    test = table_of([(30, "nowhere", "measles"), (70, "ulm", "gout"), (45, "bonn", "cholera")])
    joint = read_joint(PublishedTable(FRAME, QUASI, ("illness",)), DOMAINS)
    found = accuracies(ORIGINAL, joint, test, DOMAINS, targets=("illness",), learners=("decision-tree",), seed=1)
    assert found[0].release == 1.0


def test_bad_options_are_all_named():
    joint = read_joint(PublishedTable(FRAME, QUASI, ("illness",)), DOMAINS)
    with pytest.raises(PolicyError) as caught:
        accuracies(ORIGINAL, joint, TEST, DOMAINS, targets=("x",), learners=("oracle",), encoding="plain")  # type: ignore[arg-type]
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["targets", "classifiers", "encoding"]
    nobody = table_of([(None, "ulm", None), (30, "ulm", None)])
    with pytest.raises(InputError, match="nobody has a value of 'illness'"):
        accuracies(ORIGINAL, joint, nobody, DOMAINS, targets=("illness",), learners=("naive-bayes",))
    narrow = sf.read_table(pl.DataFrame({"age": [1, 2]}), sf.Schema(quasi_identifying=["age"]))
    with pytest.raises(InputError) as lacking:
        accuracies(ORIGINAL, joint, narrow, DOMAINS, targets=("illness",))
    assert len(lacking.value.problems) == 2


def test_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(PolicyError, match=r"install sfumato\[utility\]"):
        scores(bucketized(20))


@pytest.mark.parametrize("share", [0.1, 1 / 3, 0.5, 0.8])
def test_holding_out_is_stratified(share):
    table = table_of(ROWS)
    published, held = hold_out(table, share, seed=3)
    assert published.height + held.height == 900
    assert held.height == pytest.approx(900 * share, abs=1)
    every, kept = (Counter(one.frame["illness"].cast(pl.String).to_list()) for one in (table, held))
    assert all(abs(kept[value] - share * every[value]) <= 1 for value in every)
    assert hold_out(table, share, seed=3)[1].frame.equals(held.frame)
    assert not hold_out(table, share)[1].frame.equals(held.frame)


def test_bad_shares():
    for share in (0, 1, -0.5, "half", True):
        with pytest.raises(PolicyError, match="share"):
            hold_out(TRAIN, share)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="too few"):
        hold_out(table_of([(30, "ulm", "flu")]), 0.5)
