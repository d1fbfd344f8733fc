"""An l of one's own: every class has as many values as the one in it who wishes for most, recounted from outside."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from examples import examples
from guarantees.combinations import SETTINGS
from kernels.test_predicates import judged
from models.small_tables import Column, encode, members, memberships
from sfumato.anonymizers import ANONYMIZERS
from sfumato.classes.statistics import statistics_of
from sfumato.cli.app import app
from sfumato.models.compiled import compile_rules
from sfumato.table.folding import fold
from sfumato.table.person_keys import STEPS_OF_L, steps_of
from sfumato.table.schema import Kind

QUASI = ("age", "city")
COUNTING = [name for name, way in SETTINGS.items() if not way.decides_regions and not getattr(way, "blind", False)]
EACH = [
    pytest.param(name, marks=() if SETTINGS[name] == type(SETTINGS[name])() else pytest.mark.slow) for name in COUNTING
]


def frame_of(seed: int, *, people: bool) -> pl.DataFrame:
    drawn = random.Random(seed)
    height = drawn.randint(8, 50)
    return pl.DataFrame(
        {
            "who": [drawn.randint(0, height if people else 10**9) for _ in range(height)],
            "age": [drawn.randint(20, 60) for _ in range(height)],
            "city": [drawn.choice("abcd") for _ in range(height)],
            "ill": [drawn.choice("vwxyz") for _ in range(height)],
            "own": [drawn.choice([None] * 12 + [2, 3, 4]) for _ in range(height)],
            "size": [drawn.choice([None] * 12 + [2, 7]) for _ in range(height)],
            "row": list(range(height)),
        },
        schema_overrides={"own": pl.Int64, "size": pl.Int64},
    )


def table_of(frame: pl.DataFrame, *, people: bool = False, sizes: bool = False, quasi: Any = QUASI) -> sf.Table:
    roles: dict[str, Any] = {"person": "who"} if people else {}
    roles |= {"wished_k": "size"} if sizes else {}
    schema = sf.Schema(
        quasi_identifying=quasi, sensitive=["ill"], insensitive=["row"], wished_l="own", others="drop", **roles
    )
    return sf.read_table(frame, schema)


MODELS = [sf.KAnonymity(2), sf.DistinctLDiversity(1)]


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("way", EACH)
def test_classes_have_as_many_values_as_anybody_in_them_wishes(way: str, people: bool) -> None:
    released = 0
    for seed in range(4):
        frame = frame_of(seed, people=people)
        table = table_of(frame, people=people, sizes=seed % 2 == 0)
        try:
            # Samarati's search leaves nobody out for the sake of sensitive values.
            limit = 0.0 if way.startswith("Samarati") else 0.2
            release = sf.anonymize(table, MODELS, anonymizer=SETTINGS[way], suppression_limit=limit)
        except sf.UnsatisfiableError:
            continue
        released += 1
        check_by_hand(release, frame, sizes=seed % 2 == 0)
    assert released


CUTTING = [each for each in EACH if isinstance(SETTINGS[str(each.values[0])], sf.Mondrian)]


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("way", CUTTING)
@pytest.mark.parametrize(
    ("quasi", "rounds"), [(QUASI, None), (QUASI, 20), ({"age": sf.Attribute(), "city": sf.flat()}, None)],
    ids=["plain", "refined", "published-alike"],
)  # fmt: skip
def test_nobody_has_a_larger_share_than_anybody_in_the_class_wishes(
    way: str, quasi: Any, rounds: int | None, people: bool
) -> None:
    released = wished = 0
    models = [sf.KAnonymity(2), sf.ProbabilisticLDiversity(1.2)]
    for seed in range(8):
        # More than all of them together reach cannot be wished for.
        frame = frame_of(seed, people=people).with_columns(pl.col("own").clip(1, 2 if people else 3))
        table = table_of(frame, people=people, quasi=quasi)
        try:
            release = sf.anonymize(table, models, anonymizer=SETTINGS[way], suppression_limit=0.2, refine=rounds)
        except sf.UnsatisfiableError:
            continue
        released += 1
        wished += max(check_shares_by_hand(release, frame)) > 1
    assert released > 2
    assert wished > 1


def check_shares_by_hand(release: sf.Release, frame: pl.DataFrame) -> set[int]:
    classes = defaultdict(list)
    for row in release.data.iter_rows(named=True):
        classes[tuple(str(row[name]) for name in QUASI)].append(row)
    for rows in classes.values():
        mine = frame[[row["row"] for row in rows]]
        (promised,) = {row["promised_l"] for row in rows}
        assert promised in STEPS_OF_L
        assert promised >= mine["own"].fill_null(1).max()
        for ill in {row["ill"] for row in rows}:
            having = mine.filter(pl.col("ill") == ill)["who"].n_unique()
            assert having * promised <= mine["who"].n_unique()
    assert sf.verify(release).ok
    return {*release.data["promised_l"]}


def check_by_hand(release: sf.Release, frame: pl.DataFrame, *, sizes: bool) -> None:
    classes = defaultdict(list)
    for row in release.data.iter_rows(named=True):
        classes[tuple(str(row[name]) for name in QUASI)].append(row)
    for rows in classes.values():
        mine = frame[[row["row"] for row in rows]]
        (promised,) = {row["promised_l"] for row in rows}
        assert promised in STEPS_OF_L
        assert len({row["ill"] for row in rows}) >= promised >= mine["own"].fill_null(1).max()
        if sizes:
            assert mine["who"].n_unique() >= max(row["promised_k"] for row in rows) >= mine["size"].fill_null(1).max()
    assert sf.verify(release).ok
    assert not {"own", "size"} & {*release.data.columns}


@given(memberships(), st.integers(1, 5), st.data())
@examples(150)
def test_compiled_rules_are_the_model_and_the_plain_count(drawn: Any, own: int, data: st.DataObject) -> None:
    class_of, picks = drawn
    class_of = [owner + 1 for owner in class_of] if -1 in class_of else class_of
    people = [10 * owner + data.draw(st.integers(0, own - 1)) for owner in class_of]
    wishes = data.draw(st.lists(st.integers(1, 4), min_size=len(people), max_size=len(people)))
    column = Column("s", Kind.NUMERIC, tuple(picks))
    quasi = Column("q", Kind.CATEGORICAL, (0,) * len(picks))
    table = replace(encode(column), attributes=(quasi.attribute(),), codes=quasi.codes()[:, None])
    found = fold(table, np.array(people, dtype=np.int32), wished_l=np.array(wishes))
    owners = np.empty(found.table.height, dtype=np.int32)
    owners[found.person_of] = class_of
    form = data.draw(st.sampled_from([sf.DistinctLDiversity, sf.ProbabilisticLDiversity]))
    model = form(data.draw(st.integers(1, 3)))

    compiled = judged(compile_rules([sf.KAnonymity(1), model], found.table), owners.tolist())

    assert compiled == model.holds(statistics_of(found.table, owners, max(class_of) + 1)).tolist()
    for rows, held in zip(members(class_of), compiled, strict=True):
        least = max(model.l, *(wishes[i] for i in rows))
        having = defaultdict(set)
        for i in rows:
            having[picks[i]].add(people[i])
        everybody = len({people[i] for i in rows})
        shares = all(len(who) * least <= everybody for who in having.values())
        assert held == (len(having) >= least if form is sf.DistinctLDiversity else shares)


@given(memberships(), st.data())
@examples(100)
def test_merging_keeps_wishes_for_values_but_would_not_for_shares(drawn: Any, data: st.DataObject) -> None:
    class_of, picks = drawn
    wishes = data.draw(st.lists(st.integers(1, 4), min_size=len(picks), max_size=len(picks)))
    classes = members(class_of)
    held = [len({picks[i] for i in rows}) >= max(wishes[i] for i in rows) for rows in classes]
    together = [i for rows, kept in zip(classes, held, strict=True) if kept for i in rows]
    assert not together or len({picks[i] for i in together}) >= max(wishes[i] for i in together)


def test_why_wishes_for_shares_need_searches_that_only_cut() -> None:
    """By hand: half and half for who wishes for 2; five alike who wish nothing; together 6 of 7 are alike."""
    one, two = ["a", "b"], ["a"] * 5
    assert max(map(one.count, one)) * 2 <= len(one)
    assert max(map((one + two).count, one)) * 2 > len(one + two)


def test_wishes_are_rounded_up_to_steps() -> None:
    wishes = np.array([1, 2, 3, 4, 5, 6, 7, 9, 11, 20, 21])
    assert steps_of(wishes, STEPS_OF_L).tolist() == [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 40]


def test_somebody_who_changes_what_classes_promise_is_found_out(tmp_path: Path) -> None:
    folder = sf.anonymize(table_of(frame_of(1, people=False)), MODELS, seed=1).save(tmp_path / "release")
    assert sf.verify(folder).ok
    path = folder / "data.csv"
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    place = head.split(",").index("promised_l")
    cells = [line.split(",") for line in lines]
    raised = [[*cell[:place], "15" if cell[place] == "1" else cell[place], *cell[place + 1 :]] for cell in cells]
    path.write_text("\n".join([head, *map(",".join, raised)]) + "\n", encoding="utf-8")
    assert "broken: distinct-l-diversity (l=1)" in str(sf.verify(folder))
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    content = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    del content["structure"]["promised_l"]
    (folder / "release.json").write_text(json.dumps(content), encoding="utf-8")
    assert "name the same wishes" in str(sf.verify(folder))


def test_without_the_audit_file_too_few_records_break_the_promise() -> None:
    frame = frame_of(2, people=True)
    release = sf.anonymize(table_of(frame, people=True), [sf.KAnonymity(1), sf.DistinctLDiversity(1)], seed=1)
    forged = release.published.assemble(
        {"data": release.data.with_columns(promised_l=pl.lit(200))}, release.published.structure
    )
    from sfumato.published.checks.recount import recount

    checks = recount(forged, [sf.DistinctLDiversity(1)], {"ill": sf.Attribute()}, "attested").checks
    assert "a class has fewer records than it promises values" in str(checks[0])


def test_what_cannot_be_wished() -> None:
    frame = frame_of(3, people=False)
    with pytest.raises(sf.PolicyError, match="wished l: belongs to distinct-l-diversity or probabilistic-l-diversity"):
        sf.anonymize(table_of(frame), [sf.KAnonymity(2), sf.EntropyLDiversity(2)])
    with pytest.raises(sf.PolicyError, match=r"wished l: k-member merges classes.* choose mondrian, which only cuts"):
        sf.anonymize(table_of(frame), [sf.KAnonymity(2), sf.ProbabilisticLDiversity(2)], anonymizer=sf.KMember())
    with pytest.raises(sf.UnsatisfiableError, match=r"'ill': somebody wishes for more than l = \d\.\d+, which all"):
        sf.anonymize(table_of(frame.with_columns(own=pl.lit(5))), [sf.KAnonymity(2), sf.ProbabilisticLDiversity(1)])
    with pytest.raises(sf.PolicyError, match="wished l: bucketization"):
        sf.anonymize(table_of(frame), sf.DistinctLDiversity(2), anonymizer=sf.Bucketization())
    many = frame.with_columns(own=pl.when(pl.col("row") == 1).then(7).otherwise(None))
    with pytest.raises(sf.UnsatisfiableError, match="'ill': somebody wishes for more than l = 5, which all"):
        sf.anonymize(table_of(many), MODELS)
    with pytest.raises(sf.InputError, match=r"column 'own': 1 record\(s\) wish for an l that is no whole number"):
        table_of(frame.with_columns(own=pl.when(pl.col("row") == 1).then(1.5).otherwise(None)))
    taken = sf.Schema(
        quasi_identifying=QUASI, sensitive=["ill"], insensitive=["promised_l"], wished_l="own", others="drop"
    )
    with pytest.raises(sf.PolicyError, match="has a column 'promised_l' of its own"):
        sf.anonymize(sf.read_table(frame.rename({"row": "promised_l"}), taken), MODELS)


def policy_of(*wishes: dict[str, Any]) -> sf.Policy:
    models = [{"name": "k-anonymity", "k": 2}, {"name": "distinct-l-diversity", "l": 1}]
    columns = {"quasi-identifying": ["age"], "sensitive": ["ill"], "insensitive": ["city"], "others": "drop"}
    return sf.Policy.from_mapping({"columns": columns, "models": models, "wishes": list(wishes)})


def test_wishes_of_the_policy() -> None:
    frame = frame_of(4, people=False)
    policy = policy_of({"l": 3, "column": "city", "value": "a"}, {"k": 3, "l": 2, "column": "city", "value": "b"})
    release = sf.anonymize(sf.read_table(frame, policy), policy)
    assert set(release.data.filter(pl.col("city") == "a")["promised_l"]) == {3}
    assert min(release.data.filter(pl.col("city") == "b")["promised_l"]) == 2
    assert min(release.data.filter(pl.col("city") == "b")["promised_k"]) == 3
    assert sf.Policy.from_mapping(policy.to_mapping()) == policy
    assert "wishes" not in release.policy
    only = policy_of({"l": 3, "column": "city", "value": "a"})
    assert "promised_k" not in sf.anonymize(sf.read_table(frame, only), only).data.columns
    with pytest.raises(sf.PolicyError, match=r"wishes\[0\].*is missing, or l"):
        policy_of({"column": "city", "value": "a"})


def test_the_command_line(tmp_path: Path) -> None:
    frame_of(5, people=False).write_csv(tmp_path / "table.csv")
    words = [
        "--quasi",
        "age,city",
        "--sensitive",
        "ill",
        "--set",
        "columns.wished-l=own",
        "--others",
        "drop",
        "-k",
        "2",
    ]
    words += ["--model", "distinct-l-diversity:l=1", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, ["anonymize", str(tmp_path / "table.csv"), *words])
    assert done.exit_code == 0, done.output
    assert "for everybody, as those want who wish for most" in done.output
    assert 'wished-l = "own"' in (tmp_path / "out" / "policy.toml").read_text()


def test_every_anonymizer_is_tried() -> None:
    assert {type(SETTINGS[name]).__name__ for name in COUNTING} >= {
        type(way()).__name__ for way in ANONYMIZERS.values() if not way().decides_regions and way is not sf.Auto
    }
