"""Strata: no class holds records of two, whatever the method; each is solved by itself, or left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import naive.mdav
import sfumato as sf
from anonymizers.clustering.numbers_tables import classes_of
from examples import examples
from sfumato.anonymizers.parts import Partwise
from sfumato.anonymizers.protocol import Problem
from sfumato.cli.app import app
from sfumato.release.on_disk import not_on_disk
from sfumato.table.encoding import encode

METHODS = (sf.MDAV, sf.VMDAV, sf.KMeans, sf.KMember, sf.KACA, sf.OKA, sf.SBC, sf.CAAT, sf.UtilityRecoding)
EACH_METHOD = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)


def people(rows: int, strata: int = 3, seed: int = 4) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": draw.integers(18, 90, rows),
            "income": draw.integers(0, 90_000, rows),
            "region": draw.choice([f"region {number}" for number in range(strata)], rows),
            "disease": draw.choice(["flu", "cold", "gout", "mumps"], rows, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )


def read(frame: pl.DataFrame, **settings: Any) -> sf.Table:
    quasi = [name for name in frame.columns if name not in ("disease", "person")]
    return sf.read_table(frame, sf.Schema(quasi_identifying=quasi, sensitive=["disease"], **settings))


def classes_published(frame: pl.DataFrame, quasi: Sequence[str]) -> list[pl.DataFrame]:
    return frame.with_columns(pl.col(*quasi).cast(pl.String)).partition_by(*quasi)


@EACH_METHOD
@given(st.integers(1, 4), st.integers(0, 9), st.sampled_from([2, 3, 5]), st.sampled_from([None, 20]))
@examples(8)
def test_every_class_keeps_the_models_within_one_stratum(method, strata, seed, k, block_size):
    frame = people(120, strata, seed)
    anonymizer = method(strata=["region"], **({} if block_size is None else {"block_size": block_size}))
    models = [sf.KAnonymity(k), sf.DistinctLDiversity(2)]
    release = sf.anonymize(read(frame), models, anonymizer=anonymizer, seed=seed)
    published = release.published.data
    # Strata are published as they are, so that each has its own records, and nobody else's.
    assert Counter(published["region"].cast(pl.String)) == Counter(frame["region"])
    for region, rows in frame.partition_by("region", as_dict=True).items():
        shown = published.filter(pl.col("region").cast(pl.String) == region[0])
        assert Counter(shown["disease"].cast(pl.String)) == Counter(rows["disease"])
    for rows in classes_published(published, ["age", "income", "region"]):
        assert rows.height >= k
        assert rows["disease"].n_unique() >= 2


@pytest.mark.parametrize("k", [2, 5])
def test_mdav_within_strata_is_that_of_the_twin_in_each(k):
    draw = np.random.default_rng(k)
    values, stratum = draw.normal(size=(120, 3)) * [1, 10, 100], np.sort(draw.integers(0, 4, 120))
    order = np.lexsort((*values.T[::-1], stratum))
    values = values[order]
    frame = pl.DataFrame({"s": stratum, **{f"a{place}": column for place, column in enumerate(values.T)}})
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=["s", "a0", "a1", "a2"])))
    found = sf.MDAV(strata=["s"]).solve(Problem(table, [sf.KAnonymity(k)]))
    scores = naive.mdav.standardized(values.tolist())
    expected = []
    for number in range(4):
        (rows,) = np.nonzero(stratum == number)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(naive.mdav, "standardized", np.array)  # the scale is that of the whole table
            expected += [sorted(rows[members].tolist()) for members in naive.mdav.mdav(scores[rows].tolist(), k)]
    assert sorted(classes_of(found.class_of, found.count)) == sorted(expected)


@EACH_METHOD
def test_neither_order_nor_threads_nor_other_strata_change_what_is_published(method):
    frame = people(150)
    anonymizer = method(strata=["region"], block_size=40)

    def rows(frame: pl.DataFrame, threads: int) -> list[tuple[Any, ...]]:
        release = sf.anonymize(read(frame), sf.KAnonymity(3), anonymizer=anonymizer, seed=7, threads=threads)
        return sorted(release.published.data.cast(pl.String).rows())

    first = rows(frame, 1)
    assert rows(frame, 3) == first
    assert rows(frame.sample(fraction=1, shuffle=True, seed=1), 1) == first


def test_models_that_compare_with_the_whole_table_do_so_in_every_stratum():
    frame = people(300, 2)
    release = sf.anonymize(
        read(frame), [sf.KAnonymity(3), sf.TCloseness(0.3)], anonymizer=sf.MDAV(strata=["region"]), seed=1
    )
    whole = release.published.data["disease"].cast(pl.String).to_list()
    for rows in classes_published(release.published.data, ["age", "income", "region"]):
        within = rows["disease"].cast(pl.String).to_list()
        distance = sum(abs(within.count(value) / len(within) - whole.count(value) / len(whole)) for value in set(whole))
        assert distance / 2 <= 0.3 + 1e-9


def test_strata_that_break_a_model_are_left_out_whole_or_refused():
    frame = pl.concat([people(90, 2), people(6).with_columns(region=pl.Series(["far away", "farther"] * 3))])
    anonymizer = sf.MDAV(strata=["region"])
    with pytest.raises(sf.UnsatisfiableError) as error:
        sf.anonymize(read(frame), sf.KAnonymity(5), anonymizer=anonymizer)
    assert "2 of 4 strata, with 6 records" in str(error.value)
    assert "far away" not in str(error.value)
    release = sf.anonymize(read(frame), sf.KAnonymity(5), anonymizer=anonymizer, suppression_limit=0.1)
    assert release.report.suppressed == 6
    assert not {"far away", "farther"} & {*release.published.data["region"].cast(pl.String)}
    assert any("left out, with 6 records" in note for note in release.report.notes)
    with pytest.raises(sf.UnsatisfiableError, match="2 of 2 strata, with 90 records") as error:
        sf.anonymize(read(people(90, 2)), sf.KAnonymity(80), anonymizer=anonymizer, suppression_limit=1)
    assert "suppression" not in str(error.value)


def test_several_columns_and_missing_values_make_strata():
    frame = people(400, 2).with_columns(
        region=pl.when(pl.col("age") < 40).then(pl.col("region")), size=pl.col("income") % 3
    )
    release = sf.anonymize(read(frame), sf.KAnonymity(4), anonymizer=sf.KMeans(strata=("region", "size")), seed=1)
    shown = release.published.data.select(pl.col("region", "size").cast(pl.String)).rows()
    assert Counter(shown) == Counter(frame.select(pl.col("region", "size").cast(pl.String)).rows())
    assert release.report.notes[0].startswith("9 strata of ")


def test_means_are_those_of_each_stratum():
    frame = people(200, 2)
    recoding = sf.Recoding(numeric="mean")
    release = sf.anonymize(
        read(frame), sf.KAnonymity(5), anonymizer=sf.MDAV(strata=["region"]), recoding=recoding, seed=1
    )
    shown = release.published.data.group_by(pl.col("region").cast(pl.String)).agg(
        pl.col("income").cast(pl.String).cast(pl.Float64).sum()
    )
    whole = frame.group_by("region").agg(pl.col("income").sum())
    both = shown.join(whole, on="region")
    # Means are rounded, each by less than one.
    assert both.select((pl.col("income") - pl.col("income_right")).abs().max()).item() < 100


def test_roles_and_options_that_do_not_go_with_strata_are_refused_at_once():
    frame = people(100, 2).with_columns(person=pl.int_range(100) // 2)
    with pytest.raises(sf.PolicyError) as error:
        sf.anonymize(read(frame.drop("person")), sf.KAnonymity(3), anonymizer=sf.MDAV(strata=["disease", "town"]))
    assert "'disease' is sensitive" in str(error.value)
    assert "'town' is no quasi-identifying column" in str(error.value)
    with pytest.raises(sf.PolicyError, match="records of a person may lie in several strata"):
        sf.anonymize(read(frame, person="person"), sf.KAnonymity(3), anonymizer=sf.MDAV(strata=["region"]))
    with pytest.raises(sf.PolicyError, match="refine or strata"):
        sf.anonymize(read(frame.drop("person")), sf.KAnonymity(3), anonymizer=sf.MDAV(strata=["region"]), refine=5)
    for wrong in ([], ["region", "region"], "region"):
        with pytest.raises(sf.PolicyError, match="strata"):
            sf.MDAV(strata=wrong)


def test_policies_say_strata_and_the_disk_engine_refuses_them():
    policy = sf.Policy.from_mapping(
        {
            "columns": {"quasi-identifying": ["age", "income", "region"], "sensitive": ["disease"]},
            "models": [{"name": "k-anonymity", "k": 3}],
            "anonymizer": {"name": "mdav", "strata": ["region"]},
        }
    )
    assert policy.to_anonymizer() == sf.MDAV(strata=("region",))
    assert 'strata = [\n    "region",\n]' in policy.published()
    assert any("strata" in problem for problem in not_on_disk(policy))
    release = sf.anonymize(sf.read_table(people(60, 2), policy), policy, seed=1)
    assert "strata=('region',)" in release.report.anonymizer


def test_the_command_line_names_strata(tmp_path):
    people(60, 2).write_csv(tmp_path / "people.csv")
    columns = ["--quasi", "age,income,region", "--sensitive", "disease", "-k", "4"]
    said = ["anonymize", str(tmp_path / "people.csv"), *columns, "--anonymizer", "mdav", "--set"]
    result = CliRunner().invoke(app, [*said, "strata=region", "--out", str(tmp_path / "release")])
    assert result.exit_code == 0, result.output
    assert "2 strata of" in result.output
    assert CliRunner().invoke(app, ["verify", str(tmp_path / "release")]).exit_code == 0
    result = CliRunner().invoke(app, [*said, "strata=disease", "--out", str(tmp_path / "other")])
    assert result.exit_code == 2
    assert "'disease' is sensitive" in result.output
    said[said.index("mdav")] = "mondrian"
    result = CliRunner().invoke(app, [*said, "strata=region", "--out", str(tmp_path / "other")])
    assert result.exit_code == 2
    assert "--set strata: unknown key; allowed: name, mode" in result.output


def test_whoever_knows_nothing_of_strata_solves_in_parts_as_before():
    class Own(Partwise):
        name = "own"
        block_size = None

        def solve_part(self, start):
            return start.partition(np.zeros(start.problem.table.height, dtype=np.int32), 1)

    assert Own().solve(Problem(encode(read(people(20))), [sf.KAnonymity(3)])).count == 1
