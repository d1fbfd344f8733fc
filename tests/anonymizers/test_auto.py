"""What `auto` takes: by records and policy alone, the same in memory and on disk, and named in the folder."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.anonymizers import auto
from sfumato.anonymizers.clustering.refinement import RefinementLimit
from sfumato.cli.app import app
from sfumato.errors import PolicyError
from sfumato.policy.policy import anonymizer_entry
from sfumato.release.agreement import policy_contradictions
from sfumato.release.on_disk import anonymize_on_disk
from sfumato.release.task import with_choice

SCHEMA = sf.Schema(quasi_identifying=["age", "hours"], sensitive=["ill"])
ANYWHERE = sf.Mondrian(split_rule="anywhere")


def frame_of(height: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + 7 * place % 61 for place in range(height)],
            "hours": [5 + 11 * place % 37 for place in range(height)],
            "ill": ["xyz"[place % 3] for place in range(height)],
        }
    )


def taken(records: int | None, *models: Any, people: sf.People | None = None, way: sf.Auto | None = None) -> Any:
    asked = sf.Policy.of(
        SCHEMA, models or [sf.KAnonymity(5)], way or sf.Auto(), sf.Recoding(), 0.0, people=people or sf.People()
    )
    return with_choice(asked, records).to_anonymizer()


def test_the_number_of_records_decides() -> None:
    expected = {
        1: (100, 50_000), auto.FEW: (25, 50_000), auto.FEW + 1: (244, 50_000), 20_000: (244, 5_000),
        40_000: (244, 2_500), auto.MANY: (244, 2_000),
    }  # fmt: skip
    for records, (rounds, block) in expected.items():
        assert taken(records) == sf.KMember(ranks=auto.RANKS, refine=rounds, block_size=block)


def test_many_columns_take_some_of_the_effort() -> None:
    rounds = [sf.Auto().choice(auto.MANY, columns).refine for columns in (3, 4, 8, 9)]  # type: ignore[attr-defined]
    assert rounds == [244, 244, 100, 28]


def test_every_effort_ends_where_refinement_is_cold() -> None:
    for _, rounds in auto.EFFORTS:
        *_, last = RefinementLimit(rounds).stretches(points=False)
        assert (last.done, last.part[1]) == (rounds, 1.0)


def test_a_table_of_many_records_still_names_an_effort() -> None:
    """Strata are for k-member at any size."""
    assert taken(auto.MANY + 1, way=sf.Auto(strata=("age",))).refine == 244
    assert taken(auto.MANY + 1) == taken(None) == ANYWHERE


def test_what_names_no_anonymizer_means_it_but_for_files_of_the_last_version() -> None:
    columns = {"quasi-identifying": ["age", "hours"]}
    models = [{"name": "k-anonymity", "k": 5}]
    former = sf.Policy.from_mapping({"columns": columns, "models": models})
    now = sf.Policy.from_mapping({"columns": {**columns, "accept": []}, "models": models})
    assert (former.anonymizer.name, now.anonymizer.name) == ("mondrian", "auto")
    assert "as in the last version" in str(former)
    assert "last version" not in str(now)
    assert sf.Policy.from_mapping(former.to_mapping()) == former
    release = sf.anonymize(frame_of(60), sf.KAnonymity(3), schema=SCHEMA, seed=1)
    assert release.report.anonymizer == repr(taken(60))


def test_the_command_line_says_what_a_file_of_the_last_version_means(tmp_path: Path) -> None:
    frame_of(60).write_csv(tmp_path / "table.csv")
    text = 'models = [{ name = "k-anonymity", k = 3 }]\n[columns]\nquasi-identifying = ["age", "hours"]\n'
    (tmp_path / "policy.toml").write_text(text + 'sensitive = ["ill"]\n')
    names = []
    for place, words in enumerate(
        (["--policy", str(tmp_path / "policy.toml")], ["--set", "split-rule=anywhere"], ["--set", "blind=true"], [])
    ):
        out = tmp_path / f"release{place}"
        asked = words if place == 0 else ["--quasi", "age,hours", "--sensitive", "ill", "-k", "3", *words]
        result = CliRunner().invoke(app, ["anonymize", str(tmp_path / "table.csv"), *asked, "--out", str(out)])
        assert result.exit_code == 0, result.output
        names.append(tomllib.loads((out / "policy.toml").read_text())["anonymizer"]["name"])
        assert ("as in the last version" in result.output) == (place == 0)
    assert names == ["mondrian", "mondrian", "mondrian", "k-member"]


@pytest.mark.parametrize("records", [10, auto.MANY + 1, None])
def test_only_what_does_all_that_is_asked_is_taken(records: int | None) -> None:
    assert taken(records, sf.KAnonymity(5), sf.TCloseness(0.3)) == ANYWHERE
    assert taken(records, people=sf.People(rows="apart")) == ANYWHERE
    assert taken(records, way=sf.Auto(blind=True)) == sf.Mondrian(split_rule="anywhere", blind=True)
    grown = taken(records, way=sf.Auto(strata=("age",)))
    assert (grown.name, grown.strata) == ("k-member", ("age",))
    assert taken(records, people=sf.People(pseudonyms="published", fingerprint_k=2)) == ANYWHERE
    covering = sf.DeltaPresence(delta_min=0.0, delta_max=0.5)
    assert taken(records, sf.KAnonymity(2), covering).shares_nobody


def test_an_l_of_ones_own_is_kept_by_what_only_cuts() -> None:
    wished = sf.Schema(quasi_identifying=["age", "hours"], sensitive=["ill"], wished_l="l")
    models = [sf.KAnonymity(2), sf.ProbabilisticLDiversity(1.2)]
    frame = frame_of(60).with_columns(l=pl.lit(1))
    release = sf.anonymize(frame, models, anonymizer=sf.Auto(), schema=wished, seed=1)
    assert release.report.anonymizer == repr(ANYWHERE)
    assert sf.verify(release).ok


def test_a_steward_whose_policy_says_auto_gave_the_policy_of_what_it_took() -> None:
    asked = sf.Policy.of(SCHEMA, [sf.KAnonymity(5)], sf.Auto(), sf.Recoding(), 0.0)
    other = asked.model_copy(update={"anonymizer": anonymizer_entry(sf.Bucketization())})
    made = (tomllib.loads(each.published()) for each in (with_choice(asked, 60), with_choice(asked, 60_000), other))
    found = [policy_contradictions(tomllib.loads(asked.published()), each) for each in made]
    assert [bool(each) for each in found] == [False, False, True]


def test_what_no_anonymizer_has_is_refused() -> None:
    with pytest.raises(PolicyError, match="leave one out"):
        sf.Auto(strata=("age",), blind=True)


def test_other_anonymizers_stay_as_they_are() -> None:
    asked = sf.Policy.of(SCHEMA, [sf.KAnonymity(5)], sf.Mondrian(), sf.Recoding(), 0.0)
    assert with_choice(asked, 10) is asked


@pytest.mark.parametrize(("limit", "diverse"), [(5, True), (100, False), (100, True)])
def test_folders_of_both_engines_name_it_and_are_the_same(tmp_path: Path, limit: int, diverse: bool) -> None:
    folder, frame = tmp_path, frame_of(60)
    frame.write_csv(folder / "table.csv")
    models = [sf.KAnonymity(3), *([sf.DistinctLDiversity(2)] if diverse else [])]
    policy = sf.Policy.of(SCHEMA, models, sf.Auto(), sf.Recoding(), 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auto, "MANY", limit)
        sf.anonymize(sf.read_table(folder / "table.csv", policy), policy, seed=1, threads=2).save(folder / "memory")
        anonymize_on_disk(folder / "table.csv", policy, folder / "disk", seed=1, threads=1)
    files = sorted(path.name for path in (folder / "memory").iterdir())
    assert files == sorted(path.name for path in (folder / "disk").iterdir())
    assert all((folder / "memory" / name).read_bytes() == (folder / "disk" / name).read_bytes() for name in files)
    named = tomllib.loads((folder / "disk" / "policy.toml").read_text())["anonymizer"]["name"]
    assert named == ("mondrian" if limit < 60 else "k-member")


def test_a_series_takes_one_at_its_start(tmp_path: Path) -> None:
    schema = sf.Schema(identifying=["who"], quasi_identifying=["age", "hours"], sensitive=["ill"])
    policy = sf.Policy.of(schema, [sf.KAnonymity(3)], sf.Auto(), sf.Recoding(), 0.0)
    numbered = frame_of(120).with_columns(who=pl.int_range(120))
    series = sf.Series.start(tmp_path / "series", policy, table=numbered[:60])
    named = tomllib.loads(next((tmp_path / "series").rglob("policy.toml")).read_text())["anonymizer"]
    assert (named["name"], named["split-rule"]) == ("mondrian", "anywhere")
    assert series.append(numbered[60:], policy=policy).number == 2
