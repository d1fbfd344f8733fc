from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app

MARK = "geheim"


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = random.Random(4)
    rows = [f"{draw.randint(41_000, 41_099)},{MARK}-{draw.choice('MF')},{MARK}{number % 4}" for number in range(300)]
    path = tmp_path_factory.mktemp("source") / "patients.csv"
    path.write_text("\n".join(["age,sex,disease", *rows]) + "\n")
    return path


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(word) for word in words], prog_name="sfumato")
    assert MARK not in result.stdout + result.stderr
    return result.exit_code, result.stdout, result.stderr


def test_it_prints_what_the_library_measures(patients, tmp_path):
    words = ["correlation", patients, "--quasi", "age,sex", "--sensitive", "disease"]
    table = sf.read_table(patients, sf.Schema(quasi_identifying=["age", "sex"], sensitive=["disease"]))
    code, out, err = run(*words)
    assert (code, out, err) == (0, f"{sf.correlation(table)}\n", "")
    drawn = tmp_path / "drawn.svg"
    code, out, _ = run(*words, "--bins", 5, "--discretization", "equal-width", "--svg", drawn, "--json")
    found = sf.correlation(table, bins=5, discretization="equal-width")
    told = json.loads(out)
    del told["kernels"]
    assert (code, told) == (0, found.to_dict())
    assert drawn.read_text(encoding="utf-8") == found.to_svg()
    assert run(*words, "--svg", drawn)[0] == 2
    assert run(*words, "--svg", drawn, "--overwrite")[0] == 0


def test_mistakes_are_told_at_once(patients, tmp_path):
    drawn = tmp_path / "drawn.svg"
    drawn.touch()
    code, out, err = run(
        "correlation", patients, "--quasi", "age", "--bins", 1, "--discretization", "none", "--svg", drawn
    )
    assert (code, out, len(err.splitlines())) == (2, "", 3)
    assert "'zipp'" in run("correlation", patients, "--quasi", "age,zipp")[2]
    assert run("correlation", patients)[2].startswith("sfumato: --quasi: is missing")


def test_the_classification_metric(patients, tmp_path):
    release = tmp_path / "release"
    words = ["anonymize", patients, "--quasi", "age,sex", "--sensitive", "disease", "-k", 7, "--out", release]
    assert run(*words)[0] == 0
    assert "classification" not in json.loads(run("measure", patients, release, "--json")[1])
    told = json.loads(run("measure", patients, release, "--label", "disease", "--json")[1])
    header, *rows = [line.split(",") for line in (release / "data.csv").read_text().splitlines()]
    classes: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        one = dict(zip(header, row, strict=True))
        classes.setdefault((one["age"], one["sex"]), []).append(one["disease"])
    wrong = sum(len(labels) - max(map(labels.count, labels)) for labels in classes.values())
    assert told["classification"] == pytest.approx((300 - len(rows) + wrong) / 300)
    assert "classification (CM)" in run("measure", patients, release, "--label", "disease")[1]
    code, _, err = run("measure", patients, release, "--label", "illness")
    assert code == 2
    assert "'illness'" in err
    assert run("measure", patients, release, "--label", "age")[0] == 2


@pytest.mark.parametrize("rows", [[], [("*", "x"), ("*", "y")]])
def test_suppressed_records_count_as_wrong(rows):
    people = [("a", "x"), ("a", "x"), ("a", "y"), ("b", "y"), ("c", "x"), ("c", "y")]
    original = pl.DataFrame(people, schema=["q", "disease"], orient="row")
    published = pl.DataFrame([*people[:4], *rows], schema=["q", "disease"], orient="row")
    table = sf.read_table(original, sf.Schema(quasi_identifying=["q"], sensitive=["disease"]))
    recoding = sf.Recoding(suppressed="star" if rows else "remove")
    losses = sf.measure(table, published, label="disease", recoding=recoding)
    # Of four published records y in the first class is wrong, and two records are suppressed.
    assert losses.suppressed == 2
    assert losses.classification == pytest.approx(3 / 6)
