"""Reproducing papers: the verb, the value, what is written, and the stand-ins."""

from __future__ import annotations

import json
import os
import re
from functools import partial
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InputError, PolicyError
from sfumato.papers import datasets, reproduction
from sfumato.papers.caat import plain_caat, plain_kaca
from sfumato.papers.datasets import EIGHT, adult_attributes
from sfumato.papers.reproduce import PAPERS
from sfumato.papers.reproduction import Claim, Panel, Reproduction, Verdict
from sfumato.papers.similarity import (
    PREFECTURES,
    SUBSCRIBERS,
    age_tree,
    claims_on_places,
    country_tree,
    frequencies,
    prefecture_tree,
    subscribers,
    taxonomy,
)
from sfumato.papers.soccer import MEASUREMENTS, players

slow = partial(pytest.param, marks=pytest.mark.slow)
DATA = pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="SFUMATO_DATA names no folder with the Adult data")


def small() -> Reproduction:
    frame = pl.DataFrame({"method": ["sbc", "sbc", "datafly"], "k": [2, 5, 2], "loss": [0.1, 0.25, 0.5]})
    printed = pl.DataFrame({"method": ["sbc", "incognito"], "k": [2, 9], "loss": [0.125, 0.75]})
    panel = Panel("loss", "Loss against k", "results", "k", "loss", ("k", "loss (share)"), logarithmic=True)
    claims = [Claim.judged(f"claim {holds}", "section 1", holds, "because") for holds in (True, False, None)]
    claims += [claims[1].on_a_stand_in()]
    return Reproduction(
        "small", "A paper", ("data",), {"results": frame, "printed": printed}, tuple(claims), (panel,), ("so",)
    )


def test_the_page_has_what_the_paper_prints_beside_ours():
    lines = [re.sub(r"\s+", " ", line).strip() for line in str(small()).splitlines()]
    place = lines.index("sbc 0.1 0.25 –")
    assert lines[place - 1 : place + 4] == [
        "k 2 5 9", "sbc 0.1 0.25 –", "the paper 0.125 – –", "datafly 0.5 – –", "incognito, the paper – – 0.75",
    ]  # fmt: skip
    for verdict in ("HOLDS", "DOES NOT HOLD", "CANNOT BE DECIDED", "ON A STAND-IN IT DOES NOT HOLD"):
        assert any(line.startswith(f"{verdict}: claim") for line in lines)


def test_verdicts_are_counted():
    assert repr(small()) == "Reproduction(small: 1 holds, 1 does not hold, 1 cannot be decided, 1 on a stand-in)"


def test_plain_values():
    told = json.loads(json.dumps(small().to_dict()))
    verdicts = [(claim["verdict"], claim["on_the_stand_in"]) for claim in told["claims"]]
    alone = [(verdict, None) for verdict in ("holds", "does not hold", "cannot be decided")]
    assert verdicts == [*alone, ("on a stand-in", "does not hold")]
    assert told["tables"]["results"][2] == {"method": "datafly", "k": 2, "loss": 0.5}


def test_a_folder(tmp_path):
    found = small()
    found.save(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "loss.svg", "results.csv", "printed.csv", "reproduction.txt", "reproduction.json",
    }  # fmt: skip
    svg = (tmp_path / "out" / "loss.svg").read_text()
    assert svg.count(">printed in the paper<") == 1
    assert "incognito" not in svg
    assert "loss (share)" in svg
    assert pl.read_csv(tmp_path / "out" / "results.csv").equals(found.frames["results"])
    (tmp_path / "out" / "results.csv").unlink()
    found.save(tmp_path / "out", drawings=False)
    assert (tmp_path / "out" / "results.csv").is_file()
    assert not (tmp_path / "out" / "loss.svg").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_folders_of_others_are_left_alone(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="not made by a reproduction"):
        small().save(tmp_path / "own")
    with pytest.raises(InputError, match="is a file"):
        small().save(tmp_path / "own" / "thesis.txt")
    with pytest.raises(InputError, match="no such folder"):
        small().save(tmp_path / "not" / "there")
    assert [path.name for path in (tmp_path / "own").iterdir()] == ["thesis.txt"]


def test_nothing_half_written(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reproduction.os, "replace", full)
    with pytest.raises(InputError, match="cannot be written"):
        small().save(tmp_path / "out", drawings=False)
    assert list(tmp_path.iterdir()) == []


def test_drawing_without_matplotlib(tmp_path, monkeypatch):
    from sfumato import drawing

    def gone(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(drawing, "import_module", gone)
    with pytest.raises(PolicyError, match=re.escape("sfumato[report]")):
        small().save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------------ the verb


def test_mistakes_are_told_together():
    with pytest.raises(PolicyError) as raised:
        sf.reproduce("socer", seed=-1, quick="yes")  # type: ignore[arg-type]
    assert "soccer, caat, slicing, ratings, similarity, rings" in str(raised.value)
    assert len(raised.value.problems) == 3


def test_every_paper_is_there():
    assert list(PAPERS) == ["soccer", "caat", "slicing", "ratings", "similarity", "rings"]


def test_soccer_is_repeatable_on_any_number_of_threads():
    seen = []
    one = sf.reproduce("soccer", quick=True, threads=1, progress=lambda *step: seen.append(step))
    two = sf.reproduce("soccer", quick=True, threads=2)
    assert one.frames["results"].equals(two.frames["results"])
    assert one.claims == two.claims
    assert seen[-1][1] == seen[-1][2]
    assert "SYNTHETIC" in one.data[0]
    # A quick run has figures, and judges nothing.
    assert {(claim.verdict, claim.there) for claim in one.claims} == {(Verdict.QUICK, None)}
    assert all(claim.numbers for claim in one.claims)


@pytest.mark.slow
def test_ratings_without_the_films(tmp_path):
    found = sf.reproduce("ratings", quick=True, data=tmp_path)
    assert all("SYNTHETIC" in line for line in found.data)
    searches = found.frames["by_size"].group_by("data", "percent").agg(pl.col("satisfied").n_unique())
    assert searches["satisfied"].to_list() == [1] * searches.height
    assert {claim.verdict for claim in found.claims} == {Verdict.QUICK}


@DATA
@pytest.mark.parametrize("paper", ["similarity", "rings", slow("caat"), slow("slicing")])
def test_papers_on_adult(paper):
    found = sf.reproduce(paper, quick=True)
    assert "Adult (UCI; as published)" in found.data[0]
    assert found.claims
    for panel in found.panels:
        assert panel.rows(found.frames[panel.frame]).height
    assert len(found.drawings()) == len(found.panels)


@pytest.mark.slow
@DATA
def test_every_printed_count_of_mondrian_datafly_and_incognito_is_reproduced():
    found = sf.reproduce("similarity")
    verdicts = {
        re.search(r"(\S+(?: \(median\))?) makes as many", claim.text)[1]: claim.verdict
        for claim in found.claims
        if claim.text.startswith("Adult") and "makes as many" in claim.text
    }
    assert verdicts == {
        "mondrian (median)": Verdict.HOLDS,
        "incognito": Verdict.HOLDS,
        "datafly": Verdict.HOLDS,
        "sbc": Verdict.FAILS,
    }
    assert found.claims[0].verdict is Verdict.HOLDS  # below 20 %


# ----------------------------------------------------------------------------------------------------- stand-ins


def test_players_have_twelve_attributes_in_five_quarters():
    fitness, page = players(40, seed=1)
    assert fitness.width == 12
    assert len(MEASUREMENTS) == 7
    assert fitness["quarter"].n_unique() == 5
    assert fitness.height == 200
    last = fitness.filter(pl.col("quarter") == "2017 Q2")
    assert page.equals(last.select("player", "height", "weight"))
    assert fitness.equals(players(40, seed=1)[0])
    assert not fitness.equals(players(40, seed=2)[0])


def test_subscribers_have_the_stated_marginals():
    people = subscribers(seed=1)
    assert people.height == SUBSCRIBERS == 5750
    assert people["age"].min() == 4
    assert people["age"].max() == 99
    assert people["location"].n_unique() == len(PREFECTURES) == 47
    assert 0.65 < (people["sex"] == "Male").mean() < 0.75
    assert people["location"].value_counts(sort=True)["location"][0] == "Tokyo"


def test_trees_of_the_thesis():
    assert ("19", "[10:20]", "[0:20]", "[0:50]", "[0:100]") in age_tree().rows
    assert ("20", "[20:30]", "[20:50]", "[0:50]", "[0:100]") in age_tree().rows
    assert ("100", "[90:100]", "[70:100]", "[50:100]", "[0:100]") in age_tree().rows
    countries = country_tree().rows
    assert len(countries) == 42
    assert [len({row[level] for row in countries}) for level in range(4)] == [42, 11, 4, 1]
    assert [len({row[level] for row in prefecture_tree().rows}) for level in range(4)] == [47, 9, 2, 1]


@DATA
def test_trees_of_adult_hold_every_value():
    adult, _ = datasets.complete_adult(None)
    assert adult.height == 30_162
    sf.read_table(adult.select(EIGHT), sf.Schema(quasi_identifying=adult_attributes(EIGHT)))


def test_plain_counts_of_caat():
    import numpy as np

    # Seven records in classes of three and four, all of them different: scans of 7, 7 | 4 to start, then 4, 4, 4.
    class_of = np.array([0, 0, 0, 1, 1, 1, 1], dtype=np.int32)
    least, most = plain_caat(class_of, np.arange(7, dtype=np.int32), 2)
    assert most == 7 * 2 + 4 + 4 * 3
    assert least == 4 + 4 + 0
    # Equal records join at once.
    assert plain_caat(class_of, np.array([0, 0, 0, 1, 1, 1, 1], dtype=np.int32), 2) == (4, 4)


def test_plain_counts_of_kaca():
    # Five classes, three in the end: two picks join, one leaves the number as it is.
    assert plain_kaca(5, 3, 3) == (4 + 3 + 2, 4 + 4 + 3)
    assert plain_kaca(5, 5, 0) == (0, 0)


# ------------------------------------------------------------------------------------------------------ the data


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(InputError, match="no such folder of data"):
        sf.reproduce("similarity", data=tmp_path / "gone")


def test_another_file_is_refused(tmp_path):
    (tmp_path / "adult.data").write_text("geheim,1\ngeheim,2\n")
    with pytest.raises(InputError, match="15 columns") as raised:
        sf.reproduce("similarity", data=tmp_path)
    assert "geheim" not in str(raised.value)


def test_fetching_without_pooch(tmp_path, monkeypatch):
    def gone(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(datasets, "import_module", gone)
    with pytest.raises(PolicyError, match=re.escape("sfumato[report]")):
        datasets.complete_adult(tmp_path)


class Store:
    """Stands for pooch."""

    def __init__(self, answer: Path | Exception) -> None:
        self.answer = answer
        self.asked: dict[str, object] = {}

    def os_cache(self, name: str) -> Path:
        return Path(name)

    def retrieve(self, url: str, **settings: object) -> Path:
        self.asked = {"url": url, **settings}
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_fetching(tmp_path, monkeypatch):
    line = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, "
    file = tmp_path / "fetched.data"
    file.write_text(f"{line}Cuba, <=50K\n{line}?, <=50K\n\n")
    store = Store(file)
    monkeypatch.setattr(datasets, "import_module", lambda name: store)
    frame, told = datasets.complete_adult(tmp_path)
    assert frame.height == 1
    assert frame.row(0)[:2] == (39, "State-gov")
    assert "its bytes differ" in told
    assert str(store.asked["known_hash"]).startswith("sha256:5b00264")
    assert "archive.ics.uci.edu" in str(store.asked["url"])


def test_fetching_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "import_module", lambda name: Store(OSError("no network")))
    with pytest.raises(InputError, match="cannot be fetched; download it from https"):
        datasets.complete_adult(tmp_path)


def test_frequencies_count_every_record_once() -> None:
    frame = pl.DataFrame({"age": [20, 20, 30], "sex": ["Male", "Male", "Female"], "town": ["a", "b", "b"]})
    counted = frequencies("some", frame, "town")
    assert counted.group_by("attribute").agg(pl.col("records").sum()).sort("attribute").rows() == [
        ("age", 3), ("place", 3), ("sex", 3),
    ]  # fmt: skip
    assert counted.filter(attribute="age").sort("at").select("at", "records").rows() == [(20, 2), (30, 1)]
    assert counted.filter(attribute="place").select("value", "at", "records").rows() == [("b", 1, 2), ("a", 2, 1)]


def test_the_appendix_parts_a_region_between_the_halves() -> None:
    """As printed, A15 to A20 of Tokai-Chubu are in East Japan, and A21 to A24 in West Japan."""
    places = taxonomy()
    assert places.height == 47
    assert places.filter(region="Tokai-Chubu")["half"].to_list() == ["East-Japan"] * 6 + ["West-Japan"] * 4
    assert [claim.verdict.value for claim in claims_on_places(places)] == ["does not hold"] * 2
    mended = places.with_columns(region=pl.col("node"), half=pl.col("part"))
    assert [claim.verdict.value for claim in claims_on_places(mended)] == ["holds"] * 2
