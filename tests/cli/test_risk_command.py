from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app

MARK = "geheim"
QUASI = ["--quasi", "age,sex,zip"]


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = random.Random(4)
    rows = [
        f"{MARK}-{number},{draw.randint(41_000, 41_030)},{MARK}-{draw.choice('MF')},"
        f"{MARK}{draw.randint(77_100, 77_120)},{draw.randint(2, 9)},{number // 3}"
        for number in range(300)
    ]
    path = tmp_path_factory.mktemp("source") / "patients.csv"
    path.write_text("\n".join(["name,age,sex,zip,weight,house", *rows]) + "\n")
    return path


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["risk", *(str(word) for word in words)], prog_name="sfumato")
    assert MARK not in result.stdout + result.stderr
    assert "4100" not in result.stdout + result.stderr
    return result.exit_code, result.stdout, result.stderr


def test_help_shows_an_example():
    code, out, _ = run("--help")
    assert code == 0
    assert "sfumato risk patients.csv" in out.split("Example:")[1]


def test_a_table(patients):
    code, out, err = run(patients, *QUASI, "--weights", "weight", "--household", "house", "--sampling-fraction", 0.2)
    assert (code, err) == (0, "")
    for line in ("prosecutor", "journalist", "individual", "household", "marketer", "unique in the population"):
        assert line in out


def test_json_and_records(patients, tmp_path):
    file = tmp_path / "records.csv"
    code, out, err = run(
        patients, *QUASI, "--json", "--threshold", "cms", "--threshold", 0.5, "--records", file, "--combinations", 2
    )
    told = json.loads(out)
    assert code == 0
    assert [one["value"] for one in told["thresholds"]] == [1 / 11, 0.5]
    assert told["combinations"]["size"] == 2
    assert told["prosecutor"]["highest"] == 1
    assert "one line for each record" in err
    records = pl.read_csv(file)
    assert records["row"].to_list() == list(range(1, 301))
    above = told["prosecutor"]["above"][1]
    assert above["first_rows"] == records.filter(pl.col("prosecutor") > 0.5)["row"].to_list()[:10]
    assert run(patients, *QUASI, "--records", file)[0] == 2
    assert run(patients, *QUASI, "--records", file, "--overwrite")[0] == 0


def test_the_words_of_anonymize_will_do(patients):
    words = [*QUASI, "--identifying", "name", "--set", "columns.insensitive=weight", "--others", "drop"]
    assert run(patients, *words)[1] == run(patients, *QUASI)[1]


def test_a_population_is_read_like_the_table(patients, tmp_path):
    for path, times in ((tmp_path / "few.csv", 1), (tmp_path / "many.csv", 4)):
        header, *rows = patients.read_text().replace(",", ";").splitlines()
        path.write_text("\n".join([header, *rows * times]))
    words = [*QUASI, "--set", "source.separator=;", "--population", tmp_path / "many.csv"]
    code, out, _ = run(tmp_path / "few.csv", *words, "--json")
    assert code == 0
    assert json.loads(out)["journalist"]["highest"] == 0.25


def test_a_release(patients, tmp_path):
    release = tmp_path / "release"
    words = ["anonymize", patients, *QUASI, "--others", "drop", "-k", 5, "--out", release]
    assert CliRunner().invoke(app, [str(word) for word in words]).exit_code == 0
    code, out, _ = run(release, "--json")
    assert code == 0
    told = json.loads(out)
    assert told["prosecutor"]["highest"] <= 0.2
    assert told["quasi_identifying"] == ["age", "sex", "zip"]
    assert json.loads(run(release, "--quasi", "age", "--json")[1])["quasi_identifying"] == ["age"]
    code, _, err = run(release, "--set", "source.separator=;", "--policy", "policy.toml")
    assert (code, len(err.splitlines())) == (2, 2)


def test_a_release_and_a_population_of_original_values(patients, tmp_path):
    release, population = tmp_path / "release", tmp_path / "everybody.csv"
    words = ["anonymize", patients, *QUASI, "--others", "drop", "-k", 5, "--out", release]
    assert CliRunner().invoke(app, [str(word) for word in words]).exit_code == 0
    header, *rows = patients.read_text().splitlines()
    population.write_text("\n".join([header, *rows, *rows]))
    code, out, _ = run(release, "--population", population, "--json")
    assert code == 0
    told = json.loads(out)
    assert told["journalist"]["highest"] <= told["prosecutor"]["highest"] / 2
    code, _, err = run(release, "--population", population, "--set", "source.header-line=3")
    assert code == 2
    assert "everybody.csv" in err
    assert run(tmp_path, "--population", population)[0] == 2


def test_mistakes_are_told_at_once_and_by_the_names_of_the_options(patients):
    code, out, err = run(
        patients, *QUASI, "--special-uniques", 4, "--sampling-fraction", 2, "--threshold", "fda", "--weights", "zip"
    )
    assert (code, out) == (2, "")
    assert [line.split()[1].rstrip(":") for line in err.splitlines()] == [
        "--threshold",
        "--sampling-fraction",
        "--special-uniques",
        "--weights",
    ]


def test_files_and_columns_that_are_not_there(patients, tmp_path):
    assert run(patients)[2].startswith("sfumato: --quasi: is missing")
    code, _, err = run(patients, "--quasi", "age,zipp", "--population", tmp_path / "nobody.csv")
    assert code == 2
    assert "'zipp'" in err
    assert "nobody.csv: there is no such file" in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_records_on_a_full_disk_are_one_line(patients):
    code, _, err = run(patients, *QUASI, "--records", "/dev/full", "--overwrite")
    assert code == 2
    assert err.count("\n") == 1
    assert "cannot be written" in err


def test_records_in_a_folder_that_is_not_there(patients, tmp_path):
    code, _, err = run(patients, *QUASI, "--records", tmp_path / "nowhere" / "records.csv")
    assert code == 2
    assert "cannot be written" in err
