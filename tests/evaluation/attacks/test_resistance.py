"""What is to be withstood: what is asked for, what is proved, what is played, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.evaluation.attacks.resistance import AttackTrial, label_verdict
from sfumato.evaluation.attacks.verdicts import (
    BeliefCurve,
    CurvePoint,
    exceeds_promise,
    people_to_decide,
    resistance_verdict,
)
from sfumato.rates import Rate
from sfumato.release.anonymize import shuffle_equals

SCHEMA = sf.Schema(quasi_identifying=["age", "sex"], sensitive=["disease"])


def people(count: int, seed: int = 1) -> pl.DataFrame:
    generator = np.random.default_rng(seed)
    age = generator.integers(20, 60, count)
    usual = np.where(age < 40, "a", "b")
    return pl.DataFrame(
        {
            "age": age,
            "sex": generator.choice(["f", "m"], count),
            "disease": np.where(generator.random(count) < 0.5, usual, generator.choice(list("abcdef"), count)),
        }
    )


def equals(count: int) -> sf.Table:
    """Return people of six equally frequent diseases, of whom small classes can be cut."""
    generator = np.random.default_rng(1)
    columns = {"age": generator.integers(20, 60, count), "zip": generator.integers(0, 30, count)}
    frame = pl.DataFrame({**columns, "disease": generator.choice(list("abcdef"), count)})
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age", "zip"], sensitive=["disease"]))


def made(**settings: Any) -> sf.Release:
    table = sf.read_table(people(2_000), SCHEMA)
    return sf.anonymize(table, settings.pop("models", sf.KAnonymity(5)), seed=1, **settings)


def test_what_holds_and_what_was_played_are_never_mixed(tmp_path: Path) -> None:
    release = made(withstand=["algorithm", "labels", "others"], anonymizer=sf.Mondrian())
    grounds = [(each.against, each.grounds) for each in release.report.withstood]
    assert grounds == [
        ("algorithm", "attested"),
        ("labels", "recounted"),
        ("labels", "played"),
        ("others", "played"),
    ]
    lines = str(release.report).splitlines()
    holds, played = (
        lines.index("Holds beyond the models"),
        next(i for i, line in enumerate(lines) if "when played" in line),
    )
    assert [line.split(":")[0].strip() for line in lines[holds + 1 : played]] == ["algorithm", "labels"]
    assert [line.split(":")[0].strip() for line in lines[played + 1 : played + 3]] == ["labels", "others"]
    release.save(tmp_path / "out")
    checks = {check.promise: check.outcome.value for check in sf.verify(tmp_path / "out").checks}
    assert checks["labels of the declared grid, nodes and groups"] == "holds"
    assert checks["withstood when played: algorithm, labels, others"] == "not verifiable from the release"


def test_no_figure_of_an_attack_is_in_a_folder(tmp_path: Path) -> None:
    """It would tell originals apart that publish the same table."""
    made(withstand=["labels", "others"], anonymizer=sf.Mondrian()).save(tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        assert "singling-out" not in file.read_text()
        assert "others-and-release" not in file.read_text()


def test_the_maker_and_the_labels_are_asked_for(tmp_path: Path) -> None:
    release = sf.anonymize(equals(3_000), sf.ProbabilisticLDiversity(2), withstand=("algorithm", "labels"), seed=1)
    assert "blind=True" in release.report.anonymizer
    release.save(tmp_path / "out")
    policy = (tmp_path / "out" / "policy.toml").read_text()
    assert 'labels = "declared"' in policy
    assert 'withstand = [\n    "algorithm",\n    "labels",\n]' in policy
    assert sf.verify(tmp_path / "out").ok


def test_what_does_not_withstand_is_refused_with_the_cure() -> None:
    """Mondrian's cuts that look at diseases tell who has them; blind ones do not."""
    with pytest.raises(
        UnsatisfiableError, match=r"algorithm: minimality succeeds: .*50% promised.*leave algorithm out"
    ):
        sf.anonymize(
            equals(3_000), sf.ProbabilisticLDiversity(2), anonymizer=sf.Mondrian(), withstand="algorithm", seed=1
        )


def test_an_attack_that_was_not_played_is_not_withstood() -> None:
    rate = Rate(300.0, 1_000, 0.3)
    assert AttackTrial("algorithm", AttackResult("minimality", "", "", rate)).problem is None
    unplayed = AttackResult("minimality", "", "", rate, unplayed="it takes too long")
    assert "not played: it takes too long; take one that" in (AttackTrial("algorithm", unplayed).problem or "")


def test_too_few_people_decide_nothing() -> None:
    table = sf.read_table(people(200), SCHEMA)
    with pytest.raises(UnsatisfiableError, match=r"undecided: .*would decide it"):
        sf.anonymize(table, sf.KAnonymity(5), anonymizer=sf.Mondrian(), withstand="others", seed=1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"withstand": ["labels"], "anonymizer": sf.Bucketization(), "models": sf.DistinctLDiversity(2)}, "labels"),
        ({"withstand": "anybody"}, "must be some of algorithm, labels, others"),
        ({"withstand": ["labels"], "recoding": sf.Recoding(ends="tight")}, "tight ends"),
    ],
)
def test_what_cannot_be_asked_for_is_said(settings: Any, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        made(**settings)


def test_nobody_can_learn_where_nothing_is_sensitive() -> None:
    frame = people(100).drop("disease")
    with pytest.raises(PolicyError, match=r"algorithm: no column is sensitive.*\n?.*others: no column"):
        sf.anonymize(
            frame,
            sf.KAnonymity(2),
            schema=sf.Schema(quasi_identifying=["age", "sex"]),
            withstand=["algorithm", "others"],
        )


def test_a_series_and_a_comparison_refuse_what_they_do_not_play(tmp_path: Path) -> None:
    policy = sf.Policy.from_mapping(
        {
            "columns": {"quasi-identifying": ["age", "sex"], "sensitive": ["disease"], "person": "who"},
            "models": [{"name": "k-anonymity", "k": 2}],
            "anonymizer": {"name": "mondrian"},
            "withstand": ["others"],
        }
    )
    frame = people(100).with_columns(who=pl.int_range(100))
    series = sf.Series.start(tmp_path / "series", policy)
    with pytest.raises(PolicyError, match="withstand"):
        series.append(frame)


def test_a_command_line_and_a_policy_file_say_it_alike(tmp_path: Path) -> None:
    people(300).write_csv(tmp_path / "people.csv")
    words = ["anonymize", str(tmp_path / "people.csv"), "--quasi", "age,sex", "--sensitive", "disease", "-k", "3"]
    done = CliRunner().invoke(
        app, [*words, "--withstand", "labels,others", "--save-policy", str(tmp_path / "p.toml")], prog_name="sfumato"
    )
    assert done.exit_code == 0, done.output
    assert sf.Policy.from_file(tmp_path / "p.toml").withstand == ("labels", "others")
    done = CliRunner().invoke(app, [*words, "--withstand", "all", "--out", str(tmp_path / "o")], prog_name="sfumato")
    assert done.exit_code == 2


def test_equal_records_come_in_a_random_order() -> None:
    codes = np.array([[1], [0], [1], [0], [2]], dtype=np.uint32)
    order = np.array([0, 2, 4, 1, 3])
    seen = {tuple(shuffle_equals(codes, order, seed).tolist()) for seed in range(40)}
    assert seen == {(a, 2 - a, 4, b, 4 - b) for a in (0, 2) for b in (1, 3)}


def test_a_promise_is_the_bar_where_it_is_above_guessing() -> None:
    def curve(share: float, count: int) -> BeliefCurve:
        return BeliefCurve((CurvePoint(1.0, Rate(share * count, count, 0.3)),))

    assert resistance_verdict(curve(0.5, 2_000), 0.5) == "no better"
    assert resistance_verdict(curve(0.5, 2_000), None) == "succeeds"
    assert resistance_verdict(curve(0.5, 20), 0.5) == "undecided"
    for share in np.linspace(0, 1, 41):
        for count in (10, 200, 5_000):
            found = curve(float(share), count)
            assert (resistance_verdict(found, 0.5) == "succeeds") == exceeds_promise(found, 0.5)


def test_how_many_would_decide_is_found_beside_who_knows_only_others() -> None:
    """Whoever knows only others is tried on as many people; their interval narrows, too."""
    look = CurvePoint(1.0, Rate(30, 50, 0.3), population=Rate(29, 50, 0.3), beside_own=True)
    curve = BeliefCurve((look,))
    assert 50 < people_to_decide(curve) < 100_000


@pytest.mark.parametrize(
    ("right", "said"), [(0, "no better"), (300, "no better"), (400, "undecided"), (500, "succeeds")]
)
def test_isolation_is_judged_by_its_interval(right: int, said: str) -> None:
    rate = Rate(right, 1_000, 0.0)
    assert label_verdict(rate, 0.4) == said
    low, high = rate.interval
    assert (said == "no better") == (high <= 0.4)
    assert (said == "succeeds") == (low > 0.4)
