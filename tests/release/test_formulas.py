"""Cells that a spreadsheet may run are said, and escaped or refused where that is wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.release.formulas import formula_cells

EVIL = "=HYPERLINK(geheim)"
CELLS = [EVIL, "+1+1", "-2*3", "@x", "\tgeheim", "\rgeheim", "-", "flu", "-5", "+3.5e-7", "'=x", None]
LIKE = [EVIL, "+1+1", "-2*3", "@x", "\tgeheim", "\rgeheim", "-"]


def release(cells: list[str | None] = CELLS, name: str = "note", hierarchy: Any = None, **options: Any) -> sf.Release:
    frame = pl.DataFrame(
        {
            "age": [20 + i % 3 for i in range(len(cells) * 6)],
            "job": ["@home", "away"] * (len(cells) * 3),
            name: cells * 6,
            "sick": ["=flu", "cold"] * (len(cells) * 3),
        }
    )
    schema = sf.Schema(
        quasi_identifying=["age", "job"], sensitive={"sick": sf.Attribute(hierarchy=hierarchy)}, insensitive=[name]
    )
    return sf.anonymize(sf.read_table(frame, schema), [sf.KAnonymity(3)], seed=1, **options)


def cells_of(folder: Path, name: str) -> list[str | None]:
    return pl.read_csv(folder / "data.csv", infer_schema=False)[name].to_list()


def test_cells_are_counted_by_column_numbers_and_names_are_not(tmp_path):
    assert formula_cells(release().published) == {"job": 36, "note": 6 * len(LIKE), "sick": 36}
    assert formula_cells(release(name="=note").published)["=note"] == 6 * len(LIKE) + 1
    assert formula_cells(release(["a", "-5"]).published) == {"job": 6, "sick": 6}


def test_they_are_kept_unless_something_else_is_asked_for(tmp_path):
    folder = release().save(tmp_path / "out")
    assert EVIL in cells_of(folder, "note")
    assert sf.verify(folder).ok


TREE = sf.groups({"ill": ["=flu", "cold"]})


@pytest.mark.parametrize("hierarchy", [None, TREE])
def test_escaped_cells_are_verified_as_they_stand(hierarchy, tmp_path):
    cells = [cell for cell in CELLS if cell != "'=x"]
    made = release(cells, hierarchy=hierarchy)
    folder = made.save(tmp_path / "out", formulas="escape")
    wanted = sorted(f"'{cell}" if cell in LIKE else str(cell) for cell in cells * 6)
    assert sorted(map(str, cells_of(folder, "note"))) == wanted
    assert {"'=flu", "cold"} == set(cells_of(folder, "sick"))
    assert set(cells_of(folder, "job")) == {"'@home", "away"}
    verification = sf.verify(folder)
    assert verification.ok
    assert verification.classes == sf.verify(made).classes


@pytest.mark.parametrize(
    "anonymizer", [sf.Bucketization(members="random"), sf.Slicing(), sf.Marginals(columns=(("job", "sick"),))]
)
def test_every_kind_is_escaped(anonymizer, tmp_path):
    frame = release().data.select("age", "job", "sick").cast(pl.String)
    schema = sf.Schema(quasi_identifying=["age", "job"], sensitive=["sick"])
    models = [sf.KAnonymity(3)] if anonymizer.name == "marginals" else [sf.ProbabilisticLDiversity(2)]
    made = sf.anonymize(sf.read_table(frame, schema), models, anonymizer=anonymizer, seed=1)
    folder = made.save(tmp_path / "out", formulas="escape")
    assert sf.verify(folder).ok
    assert b"\n=" not in b"".join(path.read_bytes() for path in folder.glob("*.csv"))
    assert b",=" not in b"".join(path.read_bytes() for path in folder.glob("*.csv"))


def test_an_escaped_value_that_is_there_already_is_refused(tmp_path):
    with pytest.raises(sf.PolicyError, match="column note"):
        release(["=x", "'=x", "a"]).save(tmp_path / "out", formulas="escape")
    with pytest.raises(sf.PolicyError, match="column =note"):
        release(name="=note").save(tmp_path / "out", formulas="escape")
    assert list(tmp_path.iterdir()) == []


def test_refused_with_counts_and_without_a_value(tmp_path):
    with pytest.raises(sf.PolicyError) as caught:
        release().save(tmp_path / "out", formulas="refuse")
    assert "column note: 42 cells" in str(caught.value)
    assert "geheim" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    assert release(["a"]).save(tmp_path / "parquet", format="parquet", formulas="refuse").is_dir()
    with pytest.raises(sf.PolicyError, match="formulas must be"):
        release().save(tmp_path / "out", formulas="drop")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("how", "said", "code"), [("keep", "kept", 0), ("escape", "escaped", 0), ("refuse", "or e", 2)]
)
def test_the_command_says_it(how, said, code, tmp_path):
    names = ["flu", "=geheim"] * 10
    pl.DataFrame({"age": [20, 21] * 10, "ill": names}).write_csv(tmp_path / "in.csv")
    words = ["--quasi", "age", "--sensitive", "ill", "-k", "3", "--out", str(tmp_path / "out"), "--quiet"]
    done = CliRunner().invoke(app, ["anonymize", str(tmp_path / "in.csv"), *words, "--formulas", how])
    text = done.output + str(done.exception or "")
    assert done.exit_code == code, text
    assert "column ill: 10 cells beginning with" in text
    assert said in text
    assert "geheim" not in text
