"""Cells in another form beside the labels: every format and form is recounted, whatever is changed is found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openpyxl
import polars as pl
import pyreadstat
import pytest
from tests.release.test_recipient import release_of, table_of
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.recoding.cells import CELLS
from sfumato.table.writing import FORMATS

FORMS = CELLS[1:]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_recounted_in_every_format(form: str, tmp_path: Path) -> None:
    """A generated release in each format: sets, means, hierarchies, dates, gaps and stars."""
    for place, format in enumerate(FORMATS, 3):
        rng = np.random.default_rng(place)
        release = release_of(table_of(rng).with_columns(pl.col("cost").round(2)), rng)
        folder = release.save(tmp_path / f"{place}", format=format, cells=form, domain={"age": (0, 120)}, seed=place)
        found = sf.verify(folder)
        about = [check for check in found.checks if check.promise.startswith("data-")]
        assert found.ok, str(found)
        assert len(about) == 2
        assert json.loads((folder / "release.json").read_text())["cells"]["form"] == form


def small(folder: Path, form: str, *, format: str = "csv", seed: int | None = None) -> Path:
    frame = pl.DataFrame({"age": [20, 23, 31, 38] * 3, "sex": ["f", "m"] * 6, "ill": ["a", "b", "c"] * 4})
    schema = sf.Schema(quasi_identifying=["age", "sex"], sensitive=["ill"])
    release = sf.anonymize(frame, sf.KAnonymity(4), schema=schema, anonymizer=sf.Mondrian(), seed=1)
    return release.save(folder, format=format, cells=form, seed=seed)  # type: ignore[call-overload, no-any-return]


def rewritten(folder: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Path:
    """Change the second file and its hash, as somebody does who knows how a folder is made."""
    (path,) = folder.glob("data-*.csv")
    change(pl.read_csv(path)).write_csv(path)
    mark = folder / "release.json"
    content = json.loads(mark.read_text())
    content["cells"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    mark.write_text(json.dumps(content))
    return folder


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("column", ["quasi", "ill", "rows", "header"])
def test_a_changed_file_is_found(form: str, column: str, tmp_path: Path) -> None:
    """A cell of each kind of column, a row less, or a column of another name: hashes are right, and it is found."""

    def change(frame: pl.DataFrame) -> pl.DataFrame:
        if column == "rows":
            return frame.head(frame.height - 1)
        name = "ill" if column == "ill" else frame.columns[0]
        if column == "header":
            return frame.rename({name: "other"})
        value = {"ill": "b" if frame["ill"][0] != "b" else "c", "quasi": "[1, 2]" if form == "interval" else 99}[column]
        return frame.with_columns(
            pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(value)).otherwise(pl.col(name)).alias(name)
        )

    folder = rewritten(small(tmp_path / "r", form), change)
    if column == "header":
        with pytest.raises(sf.VerificationError, match="other columns"):
            sf.verify(folder)
    else:
        assert not sf.verify(folder).ok


def test_policy_and_mark_name_the_same_cells(tmp_path: Path) -> None:
    """Who takes the second file out of one of both, or changes its form or domain there, is found out."""
    release = sf.anonymize(
        pl.DataFrame({"age": [20, 23, 31, 38] * 3}),
        sf.KAnonymity(4),
        schema=sf.Schema(quasi_identifying=["age"], sensitive=[]),
        anonymizer=sf.Mondrian(),
        seed=1,
    )
    folder = release.save(tmp_path / "r", cells="bounds", domain={"age": (0, 120)})
    policy, mark = folder / "policy.toml", folder / "release.json"
    texts = policy.read_text(), mark.read_text()
    assert 'cells = "bounds"' in texts[0]
    assert sf.verify(folder).ok
    plain = json.loads(texts[1])
    del plain["cells"]
    forms = "policy.toml says bounds, release.json says none", "policy.toml says none, release.json says bounds"
    for toml, json_text, said in (
        (texts[0], json.dumps({**plain, "format": 2}), forms[0]),
        (texts[0].replace('cells = "bounds"\n', ""), texts[1], forms[1]),
        (texts[0].replace('"bounds"', '"drawn"'), texts[1], "policy.toml says drawn"),
        (texts[0].replace("120", "90"), texts[1], "domains of cells"),
    ):
        policy.write_text(toml)
        mark.write_text(json_text)
        found = sf.verify(folder)
        assert not found.ok
        assert said in " ".join(f"{check.promise} {check.detail}" for check in found.checks)
    again = sf.Policy.from_mapping(__import__("tomllib").loads(texts[0]))
    assert (again.output.cells, again.output.domain) == ("bounds", {"age": (0, 120)})


def test_whole_numbers_stay_whole(tmp_path: Path) -> None:
    """No point where the labels show none, in every format; a middle may lie between two whole numbers."""
    for form in FORMS:
        text = next(small(tmp_path / form, form, seed=1).glob("data-*.csv")).read_text()
        assert (".0" in text) == (form == "midpoint"), form
    drawn = {format: small(tmp_path / format, "drawn", format=format, seed=1) for format in FORMATS}
    assert pl.read_parquet(drawn["parquet"] / "data-drawn.parquet")["age"].dtype == pl.Int64
    (cell,) = openpyxl.load_workbook(drawn["xlsx"] / "data-drawn.xlsx").active["A2:A2"][0]
    assert isinstance(cell.value, int)
    _, facts = pyreadstat.read_sav(drawn["sav"] / "data-drawn.sav")
    assert facts.original_variable_types["age"] == "F12.0"
    assert all(sf.verify(folder).ok for folder in drawn.values())


def test_a_missing_file_and_a_damaged_entry_are_refused(tmp_path: Path) -> None:
    folder = small(tmp_path / "r", "midpoint")
    text = (folder / "release.json").read_text()
    for change in ({"form": "label"}, {"domain": 3}, {"file": "data.csv"}, {"file": "../x"}, {"domain": {"age": [9]}}):
        content = json.loads(text)
        content["cells"] |= change
        (folder / "release.json").write_text(json.dumps(content))
        with pytest.raises(sf.VerificationError):
            sf.verify(folder)
    (folder / "release.json").write_text(text)
    (folder / "data-midpoint.csv").unlink()
    with pytest.raises(sf.VerificationError, match="missing"):
        sf.verify(folder)


def test_a_seed_draws_the_same_and_is_not_told(tmp_path: Path) -> None:
    files = [small(tmp_path / f"{n}", "drawn", seed=seed) / "data-drawn.csv" for n, seed in enumerate((7, 7, 8, None))]
    texts = [path.read_bytes() for path in files]
    assert texts[0] == texts[1]
    assert len({*texts}) == 3
    assert "seed" not in "".join(path.read_text() for path in files[0].parent.iterdir())


def test_draws_depend_on_labels_alone(tmp_path: Path) -> None:
    """Two originals that publish the same labels draw the same with one seed: nothing of the original is read."""
    schema = sf.Schema(quasi_identifying=["age"], sensitive=[])
    drawn = []
    for ages in ([20, 20, 29, 29], [20, 24, 25, 29]):
        release = sf.anonymize(
            pl.DataFrame({"age": ages}), sf.KAnonymity(4), schema=schema, anonymizer=sf.Mondrian(), seed=1
        )
        assert release.data["age"].to_list() == ["[20..29]"] * 4
        drawn.append((release.save(tmp_path / f"{ages}", cells="drawn", seed=3) / "data-drawn.csv").read_bytes())
    assert drawn[0] == drawn[1]


def test_drawn_alone_promises_nothing(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("age,ill\n" + "".join(f"{20 + n % 9},{'ab'[n % 2]}\n" for n in range(40)))
    words = ["anonymize", str(tmp_path / "in.csv"), "--quasi", "age", "--sensitive", "ill", "-k", "4", "--anonymizer"]
    words += ["mondrian", "--out", str(tmp_path / "r"), "--set", "output.cells=drawn"]
    made = CliRunner().invoke(app, [*words, "--set", "output.labels=false"])
    assert made.exit_code == 0, made.output
    assert "promises nothing" in made.output
    found = sf.verify(tmp_path / "r")
    assert not found.ok
    assert [str(check) for check in found.checks if "not promised" in str(check)]
    content = json.loads((tmp_path / "r" / "release.json").read_text())
    assert content["models"] == []
    # k of classes that nobody sees is never recounted, and no reason to refuse the rest.
    unseen = [check for check in found.checks if "of the classes" in check.promise]
    assert [str(check).split(" (values")[0] for check in unseen] == [
        "not verifiable from the release: k-anonymity (k=4) of the classes"
    ]
    for damage in ("k-anonymity", [["k-anonymity"]], [{"k": 4}], [{"name": 4}]):
        content["structure"]["classes"] = damage
        (tmp_path / "r" / "release.json").write_text(json.dumps(content))
        with pytest.raises((sf.InputError, sf.VerificationError), match=r"randomized table|damaged"):
            sf.verify(tmp_path / "r")
    refused = CliRunner().invoke(app, [*words, "--overwrite", "--engine", "disk"])
    assert refused.exit_code == 2
    assert "writes labels alone" in refused.output


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "age_low": ["a", "b", "a", "b"]})
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["age_low"])
    release = sf.anonymize(frame, sf.KAnonymity(4), schema=schema, seed=1)
    for words, error in (
        ({"cells": "bounds"}, "age_low"),
        ({"cells": "nothing"}, "one of"),
        ({"cells": "midpoint", "domain": {"age": (3, 4)}}, "outside"),
    ):
        with pytest.raises(sf.PolicyError, match=error):
            release.save(tmp_path / "r", **words)
        assert not (tmp_path / "r").exists()
    sliced = sf.anonymize(frame, sf.ProbabilisticLDiversity(2), schema=schema, anonymizer=sf.Slicing(), seed=1)
    with pytest.raises(sf.InputError, match="no row of it is a record"):
        sliced.save(tmp_path / "s", cells="midpoint")
    for text in ("labels = false", "labels = false\ncells = 'midpoint'", "domain = {age = [1, 2]}"):
        with pytest.raises(sf.PolicyError):
            sf.Policy.from_mapping(__import__("tomllib").loads(f"[output]\n{text}\n"))
