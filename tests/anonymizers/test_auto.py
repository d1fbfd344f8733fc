"""What `auto` takes: by records and policy alone, the same in memory and on disk, and named in the folder."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.anonymizers import auto
from sfumato.errors import PolicyError
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
    assert taken(1) == taken(auto.FEW) == sf.Best()
    assert taken(auto.FEW + 1) == taken(auto.MANY) == sf.KMember()
    assert taken(auto.MANY + 1) == taken(None) == ANYWHERE


@pytest.mark.parametrize("records", [10, auto.FEW + 1, auto.MANY + 1, None])
def test_only_what_does_all_that_is_asked_is_taken(records: int | None) -> None:
    assert taken(records, sf.KAnonymity(5), sf.TCloseness(0.3)) == ANYWHERE
    assert taken(records, people=sf.People(rows="apart")) == ANYWHERE
    assert taken(records, way=sf.Auto(blind=True)) == sf.Mondrian(split_rule="anywhere", blind=True)
    assert taken(records, way=sf.Auto(strata=("age",))) == sf.KMember(strata=("age",))
    covering = sf.DeltaPresence(delta_min=0.0, delta_max=0.5)
    assert taken(records, sf.KAnonymity(2), covering).shares_nobody


def test_an_l_of_ones_own_is_kept_by_what_only_cuts() -> None:
    wished = sf.Schema(quasi_identifying=["age", "hours"], sensitive=["ill"], wished_l="l")
    models = [sf.KAnonymity(2), sf.ProbabilisticLDiversity(1.2)]
    frame = frame_of(60).with_columns(l=pl.lit(1))
    release = sf.anonymize(frame, models, anonymizer=sf.Auto(), schema=wished, seed=1)
    assert release.report.anonymizer == repr(ANYWHERE)
    assert sf.verify(release).ok


def test_what_no_anonymizer_has_is_refused() -> None:
    with pytest.raises(PolicyError, match="leave one out"):
        sf.Auto(strata=("age",), blind=True)


def test_other_anonymizers_stay_as_they_are() -> None:
    asked = sf.Policy.of(SCHEMA, [sf.KAnonymity(5)], sf.Mondrian(), sf.Recoding(), 0.0)
    assert with_choice(asked, 10) is asked


@pytest.mark.parametrize(("limits", "diverse"), [((2, 5), True), ((40, 100), False), ((40, 100), True)])
def test_folders_of_both_engines_name_it_and_are_the_same(
    tmp_path: Path, limits: tuple[int, int], diverse: bool
) -> None:
    folder, frame = tmp_path, frame_of(60)
    frame.write_csv(folder / "table.csv")
    models = [sf.KAnonymity(3), *([sf.DistinctLDiversity(2)] if diverse else [])]
    policy = sf.Policy.of(SCHEMA, models, sf.Auto(), sf.Recoding(), 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auto, "FEW", limits[0])
        patch.setattr(auto, "MANY", limits[1])
        sf.anonymize(sf.read_table(folder / "table.csv", policy), policy, seed=1, threads=2).save(folder / "memory")
        anonymize_on_disk(folder / "table.csv", policy, folder / "disk", seed=1, threads=1)
    files = sorted(path.name for path in (folder / "memory").iterdir())
    assert files == sorted(path.name for path in (folder / "disk").iterdir())
    assert all((folder / "memory" / name).read_bytes() == (folder / "disk" / name).read_bytes() for name in files)
    named = tomllib.loads((folder / "disk" / "policy.toml").read_text())["anonymizer"]["name"]
    assert named == ("mondrian" if limits[1] < 60 else "k-member")


def test_a_series_takes_one_at_its_start(tmp_path: Path) -> None:
    schema = sf.Schema(identifying=["who"], quasi_identifying=["age", "hours"], sensitive=["ill"])
    policy = sf.Policy.of(schema, [sf.KAnonymity(3)], sf.Auto(), sf.Recoding(), 0.0)
    numbered = frame_of(120).with_columns(who=pl.int_range(120))
    series = sf.Series.start(tmp_path / "series", policy, table=numbered[:60])
    named = tomllib.loads(next((tmp_path / "series").rglob("policy.toml")).read_text())["anonymizer"]
    assert (named["name"], named["split-rule"]) == ("mondrian", "anywhere")
    assert series.append(numbered[60:], policy=policy).number == 2
