"""A release is made from one policy; whatever else says otherwise is refused by name."""

from __future__ import annotations

import tomllib
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.policy.parts import column_contradictions

COLUMNS = {"quasi-identifying": ["age", "sex"], "sensitive": ["disease"]}
FRAME = pl.DataFrame(
    {
        "age": [20 + i % 7 for i in range(60)],
        "sex": ["f", "m", "m"] * 20,
        "disease": ["flu", "cold", "gout", "burn"] * 15,
    }
)


def policy(**more: Any) -> sf.Policy:
    models = [{"name": "k-anonymity", "k": 4}]
    return sf.Policy.from_mapping({"columns": COLUMNS, "models": models, "anonymizer": {"name": "kaca"}, **more})


def table(**more: Any) -> sf.Table:
    return sf.read_table(FRAME, sf.Schema(**{"quasi_identifying": ["age", "sex"], "sensitive": ["disease"], **more}))


def problems(call: Any) -> list[str]:
    with pytest.raises(sf.PolicyError) as caught:
        call()
    return list(caught.value.problems)


def test_a_policy_is_all_that_a_release_needs():
    meant = policy(purpose="a study", **{"suppression-limit": 0.1})
    people = sf.read_table(FRAME, meant)
    release = sf.anonymize(people, meant, seed=1)
    assert release.report.anonymizer.startswith("KACA(")
    assert release.report.suppression_limit == 0.1
    assert release.report.purpose == "a study"
    assert release.policy == meant.published()
    same = sf.anonymize(
        people,
        sf.KAnonymity(4),
        anonymizer=sf.KACA(),
        suppression_limit=0.1,
        seed=1,
    )
    assert same.data.equals(release.data)
    assert {**tomllib.loads(same.policy), "purpose": "a study"} == tomllib.loads(release.policy)


def test_every_way_to_hand_it_in_is_the_same():
    meant, people = policy(), table()
    first = sf.anonymize(people, meant, seed=1)
    for release in (
        sf.anonymize(people, policy=meant, seed=1),
        sf.anonymize(people, meant, policy=policy(), seed=1),
        sf.anonymize(people, meant.to_models(), policy=meant, seed=1),
        sf.anonymize(people, sf.KAnonymity(4), anonymizer=sf.KACA(), refine=0, policy=meant, seed=1),
    ):
        assert release.data.equals(first.data)
        assert release.policy == first.policy
        assert sf.verify(release).ok


def test_what_a_call_says_otherwise_is_named_field_by_field():
    found = problems(
        lambda: sf.anonymize(
            table(),
            sf.KAnonymity(2),
            anonymizer=sf.Mondrian(),
            recoding=sf.Recoding(numeric="mean"),
            suppression_limit=0.5,
            refine=3,
            policy=policy(),
        )
    )
    assert found == [
        "models: the policy promises k-anonymity (k=4), the call k-anonymity (k=2); say it in one place",
        "anonymizer: the policy names kaca, the call mondrian; say it in one place",
        "recoding: the policy says another one than the call; say it in one place",
        "suppression_limit: the policy says 0.0, the call 0.5; say it in one place",
        "refine: the policy says 0, the call 3; say it in one place",
    ]


def test_zero_is_something_that_is_said():
    (found,) = problems(lambda: sf.anonymize(table(), policy(**{"suppression-limit": 0.1}), suppression_limit=0.0))
    assert found.startswith("suppression_limit: the policy says 0.1, the call 0.0")


def test_other_options_of_the_same_anonymizer():
    (found,) = problems(lambda: sf.anonymize(table(), policy(), anonymizer=sf.KACA(beta=2.0)))
    assert found == "anonymizer: the policy names kaca, the call the same with other options; say it in one place"


def test_two_policies():
    (found,) = problems(lambda: sf.anonymize(table(), policy(), policy=policy(refine=5)))
    assert found.startswith("policy: the call gives two")


def test_no_policy_and_no_table():
    assert problems(lambda: sf.anonymize(table(), policy="policy.toml"))[0].startswith("policy: must be a Policy")
    told, *others = problems(lambda: sf.anonymize(FRAME, sf.KAnonymity(2), seed=-1))
    assert told.startswith("table: is not a Table; read it with sfumato.read_table, or say what its columns are")
    assert others == problems(lambda: sf.anonymize(table(), policy(), seed=-1))


def test_nothing_is_promised_by_a_policy_that_promises_nothing():
    empty = policy().model_copy(update={"models": ()})
    assert problems(lambda: sf.anonymize(table(), empty))[0].startswith("models: name at least one")


def test_threads_of_a_call_go_before_those_of_the_policy(monkeypatch):
    seen: list[int | None] = []
    from sfumato.release import task

    real = task.thread_count
    monkeypatch.setattr(task, "thread_count", lambda threads: seen.append(threads) or real(threads))
    sf.anonymize(table(), policy(threads=1))
    sf.anonymize(table(), policy(threads=1), threads=2)
    assert [*dict.fromkeys(seen)] == [1, 2]


# the table


@pytest.mark.parametrize(
    ("roles", "field"),
    [
        ({"quasi_identifying": ["sex", "age"]}, "columns.quasi-identifying: the policy names 'age', 'sex'"),
        ({"quasi_identifying": ["age"], "insensitive": ["sex"]}, "columns.insensitive: the policy names none"),
        ({"sensitive": [], "others": "drop"}, "columns.sensitive: the policy names 'disease'"),
        (
            {"quasi_identifying": {"age": sf.Attribute(weight=2), "sex": None}},
            "columns.quasi-identifying, column 'age'",
        ),
        ({"quasi_identifying": {"age": sf.intervals(5), "sex": None}}, "columns.quasi-identifying, column 'age'"),
        ({"sensitive": {"disease": sf.Attribute(kind="categorical")}}, "columns.sensitive, column 'disease'"),
    ],
)
def test_a_table_that_was_read_otherwise_is_refused(roles, field):
    found = problems(lambda: sf.anonymize(table(**roles), policy()))
    assert any(problem.startswith(field) for problem in found)
    assert all("read the table with sfumato.read_table(source, policy)" in problem for problem in found)
    assert not any(value in " ".join(found) for value in ("flu", "cold", "gout", "burn"))


def test_a_hierarchy_file_is_the_same_hierarchy_in_a_program(tmp_path):
    (tmp_path / "sex.csv").write_text("f;*\nm;*\n")
    path = str(tmp_path / "sex.csv")
    said = {"age": {}, "sex": {"hierarchy": {"kind": "file", "path": path}}}
    columns = sf.Policy.from_mapping(
        {"columns": {**COLUMNS, "quasi-identifying": said}, "models": [{"name": "k-anonymity", "k": 4}]}
    ).columns
    rows = sf.read_hierarchy(path)
    from sfumato.hierarchy import HierarchyTable

    for hierarchy, count in (
        (rows, 0),
        (HierarchyTable((("f", "*"), ("m", "*"))), 0),
        (HierarchyTable((("f", "x"), ("m", "x"))), 1),
        (None, 1),
    ):
        schema = sf.Schema(quasi_identifying={"age": None, "sex": hierarchy}, sensitive=["disease"])
        assert len(list(column_contradictions(columns, schema))) == count


def test_a_published_policy_fits_the_table_that_it_was_published_of():
    rows = {"age": None, "sex": sf.groups({"both": ["f", "m"]})}
    people = table(quasi_identifying=rows)
    published = sf.Policy.from_mapping(tomllib.loads(sf.anonymize(people, sf.KAnonymity(4)).policy))
    assert sf.anonymize(people, published).report.published == 60


# reading


def test_a_policy_says_how_a_file_is_read(tmp_path):
    file = tmp_path / "people.csv"
    FRAME.write_csv(file, separator=";")
    meant = policy(source={"separator": ";"})
    assert sf.read_table(file, meant).frame.rows() == meant.read(file).frame.rows()
    assert sf.read_table(file, meant).schema == meant.to_schema()
    (found,) = problems(lambda: sf.read_table(file, meant, strip=False))
    assert found.startswith("strip: the policy says how the file is read")


# ratings


def ratings() -> sf.Ratings:
    rows = [(user, issue, 1 + (user + place) % 3) for user in range(9) for place, issue in enumerate("abs")]
    return sf.read_ratings(pl.DataFrame(rows, schema=["u", "i", "r"], orient="row"), scale=(1, 5), sensitive="s")


def rating_policy(**more: Any) -> sf.RatingPolicy:
    return sf.RatingPolicy.from_mapping({"model": {"k": 3, "epsilon": 1}, **more})


def test_ratings_are_made_from_their_policy(tmp_path):
    meant = rating_policy(change={"method": "plan"}, **{"suppression-limit": 0.2})
    release = sf.anonymize_ratings(ratings(), meant, seed=1)
    assert release.policy == meant
    assert release.method == "plan"
    assert meant.anonymize(ratings(), seed=1).to_frame().equals(release.to_frame())
    folder = sf.save_ratings(release, tmp_path / "out")
    assert tomllib.loads((folder / "policy.toml").read_text())["change"]["method"] == "plan"
    assert sf.verify(folder).ok


def test_the_keywords_of_ratings_make_a_policy(tmp_path):
    release = sf.anonymize_ratings(ratings(), sf.RatingAnonymity(3, 1), invent=True, suppression_limit=0.2, seed=1)
    assert release.policy == rating_policy(change={"invent": True}, **{"suppression-limit": 0.2})


def test_ratings_refuse_what_their_policy_says_otherwise(tmp_path):
    found = problems(lambda: sf.anonymize_ratings(ratings(), rating_policy(), method="plan", keep=1, times=True))
    assert [problem.partition(":")[0] for problem in found] == ["method", "keep", "times"]
    release = sf.anonymize_ratings(ratings(), rating_policy(), seed=1)
    other = rating_policy(change={"invent": True}, **{"suppression-limit": 0.5})
    assert problems(lambda: sf.save_ratings(release, tmp_path / "out", policy=other)) == [
        "the policy says another invent than the release was made with",
        "the policy says another suppression-limit than the release was made with",
    ]
    assert sf.verify(sf.save_ratings(release, tmp_path / "out", policy=rating_policy(purpose="x"))).ok
