"""Playing attacks: what may be handed in, what is chosen, what bad input gets, and what is worked out once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from evaluation.attacks.attacked_tables import SCHEMA, WITH_NAMES, bucketized, patients, people
from sfumato.errors import InputError, PolicyError, SfumatoError
from sfumato.evaluation.attacks import Homogeneity, Skewness, posterior, protocol
from sfumato.evaluation.attacks.play import read_frame
from sfumato.evaluation.attacks.protocol import ResultCache, Target
from sfumato.published import MarginalTables, PublishedTable, RandomizedTable

FRAME = people(200, 3, linked=True)


@pytest.fixture(scope="module")
def table() -> sf.Table:
    return sf.read_table(FRAME.drop("name"), SCHEMA)


@pytest.fixture(scope="module")
def release(table: sf.Table) -> sf.Release:
    return sf.anonymize(table, sf.KAnonymity(5), seed=1)


def problems(call: object) -> str:
    with pytest.raises(SfumatoError) as caught:
        call()  # type: ignore[operator]
    return "\n".join(caught.value.problems)


class TestWhatIsHandedIn:
    def test_memory_folder_and_published_tables_give_the_same(
        self, table: sf.Table, release: sf.Release, tmp_path: Path
    ) -> None:
        folder = release.save(tmp_path / "release")
        parquet = release.save(tmp_path / "parquet", format="parquet")
        published = PublishedTable(release.data, ("age", "sex", "zip"), ("disease",))
        answers = [
            sf.attack(one, table, attacks="homogeneity").results for one in (release, folder, str(parquet), published)
        ]
        assert answers[0][0].success.people > 0
        assert all(answer == answers[0] for answer in answers)

    def test_the_original_as_a_frame_or_file_with_its_schema(
        self, table: sf.Table, release: sf.Release, tmp_path: Path
    ) -> None:
        FRAME.write_csv(tmp_path / "people.csv")
        answers = [
            sf.attack(release, original, schema=WITH_NAMES, attacks="homogeneity").results
            for original in (FRAME, tmp_path / "people.csv", FRAME.to_pandas())
        ]
        assert all(answer == sf.attack(release, table, attacks="homogeneity").results for answer in answers)

    def test_several_by_name_and_value(self, table: sf.Table, release: sf.Release) -> None:
        played = sf.attack(release, table, attacks=["homogeneity", Homogeneity(threshold=0.5)])
        assert [result.attack for result in played.results] == ["homogeneity", "homogeneity"]
        assert played["homogeneity"] == played.results
        assert played["linkage"] == ()
        with pytest.raises(sf.PolicyError, match="'linkage of stars' is unknown; played were homogeneity"):
            _ = played["linkage of stars"]

    def test_the_default_set_lists_what_cannot_be_played(self, table: sf.Table) -> None:
        frame = FRAME.drop("name", "disease")
        bare = sf.read_table(frame, sf.Schema(quasi_identifying=SCHEMA.quasi_identifying))
        played = sf.attack(sf.anonymize(bare, sf.KAnonymity(5)), bare)
        assert "sensitive" in played.unplayed["homogeneity"]
        assert "not played: homogeneity" in str(played)

    def test_a_page_and_plain_values(self, table: sf.Table, release: sf.Release) -> None:
        played = sf.attack(release, table, attacks="homogeneity")
        assert json.loads(json.dumps(played.to_dict()))["people"] == 200
        assert "homogeneity" in str(played)
        assert played.to_dict()["succeeding"] == len(played.succeeding)

    def test_progress_is_told_attack_by_attack(self, table: sf.Table, release: sf.Release) -> None:
        said: list[tuple[str, int, int]] = []
        sf.attack(release, table, attacks="homogeneity", progress=lambda *what: said.append(what))
        assert said == [("homogeneity", 0, 1), ("done", 1, 1)]


class TestBadInput:
    def test_everything_at_once(self, release: sf.Release) -> None:
        said = problems(
            lambda: sf.attack(
                release,
                FRAME,
                attacks=["homogenity", 3],  # type: ignore[list-item]
                threads=0,
                seed=-1,
                earlier="nowhere",
                register=Path("nowhere.csv"),
            )
        )
        for part in (
            "'homogenity' is unknown; known are linkage, ",
            "is no attack",
            "original: is not a table",
            "threads: must be",
            "seed: must be",
            "earlier: nowhere: no such release folder",
            "register: there is no such file; check the path",
        ):
            assert part in said

    def test_another_original(self, release: sf.Release) -> None:
        other = sf.read_table(pl.DataFrame({"height": [1, 2]}), sf.Schema(quasi_identifying=["height"]))
        said = problems(lambda: sf.attack(release, other))
        assert "original: has none of the quasi-identifying columns of the release (age, sex, zip)" in said
        assert "original: has no column 'disease'" in said

    def test_a_control_group_with_other_columns(self, table: sf.Table, release: sf.Release) -> None:
        control = sf.read_table(pl.DataFrame({"height": [1, 2]}), sf.Schema(quasi_identifying=["height"]))
        assert "control: has none of" in problems(lambda: sf.attack(release, table, control=control))

    def test_a_release_that_is_none(self, table: sf.Table, tmp_path: Path) -> None:
        assert "release: " in problems(lambda: sf.attack(tmp_path, table))
        assert "release: is no release" in problems(lambda: sf.attack(3, table))  # type: ignore[arg-type]

    def test_a_damaged_folder(self, table: sf.Table, release: sf.Release, tmp_path: Path) -> None:
        folder = release.save(tmp_path / "release")
        (folder / "release.json").write_text("{", encoding="utf-8")
        assert "is damaged" in problems(lambda: sf.attack(folder, table))

    def test_a_kind_that_an_attack_cannot_be_played_on(self) -> None:
        published = RandomizedTable(patients().frame, ("age", "sex", "zip"), ("disease",))
        said = problems(lambda: sf.attack(published, patients(), attacks="homogeneity"))
        assert "homogeneity: cannot be played on a randomized-table" in said

    def test_no_attack(self, table: sf.Table, release: sf.Release) -> None:
        with pytest.raises(PolicyError, match="name at least one"):
            sf.attack(release, table, attacks=[])

    def test_no_message_shows_a_cell(self, release: sf.Release, tmp_path: Path) -> None:
        bad = tmp_path / "bad.csv"
        bad.write_text('age,name\n"1\n', encoding="utf-8")
        with pytest.raises(InputError) as caught:
            sf.attack(release, FRAME, schema=WITH_NAMES, register=bad)
        assert caught.value.__cause__ is None


def test_buckets_can_be_attacked_as_they_are() -> None:
    assert sf.attack(bucketized(), patients(), attacks="homogeneity").kind == "bucketized-tables"


def test_a_register_is_read_as_strictly_as_a_table(tmp_path: Path) -> None:
    path = tmp_path / "register.csv"
    path.write_text("name, age\nAda, 23\nBen,\n")
    assert read_frame(path).rows() == [("Ada", "23"), ("Ben", None)]
    path.write_text("age,age\n23,24\n")
    with pytest.raises(sf.InputError, match="several columns have the same name; rename them"):
        read_frame(path)
    path.write_text("name,age\nAda,23,4\n")
    with pytest.raises(sf.InputError, match="row"):
        read_frame(path)


def test_a_release_without_records_has_every_attack_listed_with_the_reason(table: sf.Table) -> None:
    """As noise may leave it: all counts of a marginal at 0."""
    counts = table.frame.select("age", "disease").head(0).with_columns(count=pl.lit(0, pl.Int64))
    nothing = MarginalTables((counts,), (("age", "disease"),), ("disease",))
    played = sf.attack(nothing, table, control=table, seed=1)
    assert played.results == ()
    told = played.unplayed["membership-inference"]
    assert told == "nothing was published that it could be played on: the release has no records"
    assert "succeed" in str(played)
    with pytest.raises(PolicyError, match="the release has no records"):
        sf.attack(nothing, table, control=table, attacks="membership-inference")


def test_the_very_same_values_are_asked_once() -> None:
    kept, one, other, asked = ResultCache(), [1], [1], []
    for given in (one, one, other, one):
        assert kept.once("sum", (given,), lambda: asked.append(1) or len(asked), 1) == (2 if given is other else 1)
    assert kept.once("another", (one,), lambda: 9, 1) == 9


def test_what_is_too_large_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MOST", 10)
    kept, given = ResultCache(), object()
    answers = iter(range(10))
    assert [kept.once("large", (given,), lambda: next(answers), 11) for _ in range(2)] == [0, 1]
    assert [kept.once("small", (given,), lambda: next(answers), 6) for _ in range(2)] == [2, 2]
    assert [kept.once("no room", (given,), lambda: next(answers), 6) for _ in range(2)] == [3, 4]


def test_attacks_share_the_posterior_of_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    worked_out = posterior.posterior

    def counting(published, people, **options):
        asked.append(people)
        return worked_out(published, people, **options)

    monkeypatch.setattr(posterior, "posterior", counting)
    people, control = patients(), patients()
    target = Target(bucketized(), people, control)
    alone = [attack.play(Target(bucketized(), people, control)) for attack in (Homogeneity(), Skewness())]
    del asked[:]
    assert [attack.play(target) for attack in (Homogeneity(), Skewness())] == alone
    assert len(asked) == 2
    assert asked[0] is people
    assert asked[1] is control


def test_other_people_and_other_releases_are_told_anew() -> None:
    people = patients()
    target = Target(bucketized(), people)
    first = [known for _, known in posterior.posteriors_of_target(target, people, "disease")]
    again = [known for _, known in posterior.posteriors_of_target(target, people, "disease")]
    others = [known for _, known in posterior.posteriors_of_target(target, patients(), "disease")]
    assert first[0] is again[0]
    assert others[0] is not first[0]
    assert np.array_equal(others[0].shares, first[0].shares)
