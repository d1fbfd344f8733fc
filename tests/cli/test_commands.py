from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli import anonymize as anonymize_command
from sfumato.cli.app import app

MARK = "geheim"
ROLES = ["--identifying", "name", "--quasi", "age,sex,zip", "--sensitive", "disease", "--others", "drop"]


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose values can be told from all other words: every one is marked, or of a range of its own."""
    draw = random.Random(4)
    rows = [
        f"{MARK}-person-{number},{draw.randint(41_000, 41_090)},{MARK}-{draw.choice('MF')},"
        f"{MARK}{draw.randint(77_100, 77_199)},{MARK}-{draw.choice(['flu', 'cold', 'asthma', 'gout'])},{number}"
        for number in range(300)
    ]
    path = tmp_path_factory.mktemp("source") / "patients.csv"
    path.write_text("\n".join(["name,age,sex,zip,disease,visit", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def release(patients: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "release"
    code, text, err = run("anonymize", patients, *ROLES, "-k", 5, "--model", "entropy-l-diversity:l=2", "--out", out)
    assert (code, err) == (0, "")
    assert f"sfumato verify {out}\n" in text
    return out


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(word) for word in words], prog_name="sfumato")
    return result.exit_code, result.stdout, result.stderr


def process(*words: object, **settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sfumato.cli", *(str(word) for word in words)]
    return subprocess.run(command, env=environment(**settings), capture_output=True, text=True, timeout=300)


def environment(**settings: str) -> dict[str, str]:
    source = str(Path(sfumato.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, **settings}


# help


@pytest.mark.parametrize("command", ["anonymize", "verify", "measure", "check", "correlation", "hierarchy", "demo"])
def test_help_shows_an_example(command):
    code, out, _ = run(command, "--help-all")
    assert code == 0
    assert "Example:" in out
    assert f"sfumato {command}" in out.split("Example:")[1]


@pytest.mark.parametrize("command", ["anonymize", "verify", "measure", "check", "correlation", "hierarchy", "demo"])
def test_help_is_wrapped_by_the_screen_alone_and_nothing_is_cut(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run(command, "--help-all")
    prose = out.split("╭")[0].rstrip().split("\n")
    for line, following in pairwise(prose[2:]):
        if line.strip() and following.strip():
            assert len(line.rstrip()) + 1 + len(following.split()[0]) > 79
    assert "…" not in out
    _, example = out.split("Example:")
    assert all(line.startswith("   ") for line in example.splitlines() if line.strip())


def test_the_tour_names_every_command():
    code, out, _ = run("--help-all")
    assert code == 0
    assert "A short tour:" in out
    for command in ("demo", "anonymize", "verify", "measure", "hierarchy"):
        assert f"sfumato {command}" in out


def test_the_version_is_one_line():
    code, out, _ = run("--version")
    assert code == 0
    assert out.startswith("sfumato")
    assert out.count("\n") == 1


def test_help_loads_nothing_heavy():
    program = (
        "import sys\nfrom sfumato.cli.app import app\n"
        "try:\n    app(['anonymize', '--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'polars', 'numba', 'numpy', 'pyarrow', 'sfumato.release'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr


# anonymize and verify


def test_a_release_is_written_and_verified(release):
    published = pl.read_csv(release / "data.csv")
    assert published.columns == ["age", "sex", "zip", "disease"]
    assert published.height == 300
    assert published.group_by("age", "sex", "zip").len()["len"].min() >= 5
    code, out, err = run("verify", release)
    assert (code, err) == (0, "")
    assert "  ✓ k-anonymity                  k=5    k=5" in out


def test_verify_speaks_json(release):
    code, out, _ = run("verify", release, "--json")
    assert code == 0
    assert json.loads(out)["ok"] is True


def test_a_changed_cell_is_noticed(release, tmp_path):
    changed = tmp_path / "changed"
    changed.mkdir()
    for file in release.iterdir():
        (changed / file.name).write_bytes(file.read_bytes())
    lines = (changed / "data.csv").read_text().splitlines()
    lines[1] = "41000," + lines[1].split(",", 1)[1]
    (changed / "data.csv").write_text("\n".join(lines) + "\n")
    code, out, err = run("verify", changed)
    assert code == 1
    assert "broken" in out
    assert MARK not in out + err


def test_what_is_no_release_is_not_verified(tmp_path):
    code, out, err = run("verify", tmp_path)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_a_policy_file_and_a_seed_make_the_same_release_as_words(patients, tmp_path):
    policy = tmp_path / "policy.toml"
    words = [*ROLES, "-k", 4, "--seed", 3, "--quiet"]
    assert run("anonymize", patients, *words, "--out", tmp_path / "a", "--save-policy", policy) == (0, "", "")
    words = ["--policy", policy, "--seed", 3, "--quiet", "--out", tmp_path / "b"]
    assert run("anonymize", patients, *words) == (0, "", "")
    assert (tmp_path / "a" / "data.csv").read_bytes() == (tmp_path / "b" / "data.csv").read_bytes()
    written = tomllib.loads(policy.read_text())
    assert "seed" not in policy.read_text()
    assert written["models"] == [{"name": "k-anonymity", "k": 4}]
    for file in ("release.json", "report.json", "report.txt", "policy.toml"):
        assert not re.search(r"\bseed\b", (tmp_path / "a" / file).read_text())


def test_without_out_only_the_policy_is_written(patients, tmp_path):
    policy = tmp_path / "policy.toml"
    assert run("anonymize", patients, *ROLES, "-k", 4, "--save-policy", policy) == (0, "", "")
    assert os.listdir(tmp_path) == ["policy.toml"]
    code, _, err = run("anonymize", patients, *ROLES, "-k", 4, "--save-policy", policy)
    assert code == 2
    assert err.startswith("sfumato: --save-policy: ")


def test_json_is_the_report(patients, tmp_path):
    out = tmp_path / "release"
    code, said, err = run(
        "anonymize", patients, *ROLES, "-k", 5, "--set", "output.format=parquet", "--json", "--out", out
    )
    assert (code, err) == (0, "")
    steward, saved = json.loads(said), json.loads((out / "report.json").read_text())
    assert set(steward.pop("kernels")) == {"interpreted", "read", "compiled"}
    for hidden in ("entropy", "iloss", "normalized_ncp", "precision"):
        assert hidden in steward["losses"]
        assert hidden not in saved["losses"]
    assert steward["losses"].items() >= saved["losses"].items()
    assert {**steward, "losses": 0, "notes": 0} == {**saved, "losses": 0, "notes": 0}
    assert pl.read_parquet(out / "data.parquet").height == 300


def test_hierarchies_of_a_folder_are_used(patients, tmp_path):
    for column in ("zip", "sex"):
        assert run("hierarchy", patients, column, "--out", tmp_path / f"{column}.csv")[0] == 0
    words = [*ROLES, "-k", 20, "--hierarchies", tmp_path, "--out", tmp_path / "release", "--quiet"]
    assert run("anonymize", patients, *words) == (0, "", "")
    published = tomllib.loads((tmp_path / "release" / "policy.toml").read_text())
    assert published["columns"]["quasi-identifying"]["zip"]["hierarchy"] == {"kind": "withheld", "was": "file"}
    assert str(tmp_path) not in "".join((tmp_path / "release" / "policy.toml").read_text())


def test_a_release_is_only_replaced_when_asked(patients, tmp_path):
    out = tmp_path / "release"
    words = ["anonymize", patients, *ROLES, "-k", 5, "--out", out, "--quiet"]
    assert run(*words)[0] == 0
    before = (out / "data.csv").read_bytes()
    code, _, err = run(*words)
    assert code == 2
    assert err.startswith("sfumato: --out: ")
    assert "--overwrite" in err
    assert (out / "data.csv").read_bytes() == before
    assert run(*words, "--overwrite")[0] == 0


def test_other_folders_are_never_replaced(patients, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "letter.txt").write_text("dear")
    words = ["anonymize", patients, *ROLES, "-k", 5, "--out", tmp_path / "letters", "--overwrite"]
    assert run(*words)[0] == 2
    assert os.listdir(tmp_path / "letters") == ["letter.txt"]


def test_codes_that_look_like_numbers_are_published_as_codes(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("zip,d\n" + "4711,x\n4712,y\n" * 3)
    words = ["--quasi", "zip", "--sensitive", "d", "-k", 6, "--categorical", "zip"]
    assert run("anonymize", table, *words, "--out", tmp_path / "release", "--quiet") == (0, "", "")
    assert set(pl.read_csv(tmp_path / "release" / "data.csv")["zip"]) == {"{4711|4712}"}
    code, _, err = run("measure", table, tmp_path / "release")
    assert (code, err) == (0, "")


# measure


def test_losses_of_a_release_are_printed_as_text_and_as_json(patients, release):
    code, out, err = run("measure", patients, release)
    assert (code, err) == (0, "")
    assert "information loss (NCP)" in out
    code, out, err = run("measure", patients, release, "--json")
    assert (code, err) == (0, "")
    reported = json.loads((release / "report.json").read_text())["losses"]
    measured = json.loads(out)
    assert {name: measured[name] for name in reported} == pytest.approx(reported, rel=1e-5)
    assert 0 < measured["normalized_ncp"] < 1


def test_measuring_needs_what_was_withheld(patients, tmp_path):
    assert run("hierarchy", patients, "zip", "--out", tmp_path / "zip.csv")[0] == 0
    words = [*ROLES, "-k", 20, "--hierarchies", tmp_path, "--out", tmp_path / "release", "--quiet"]
    assert run("anonymize", patients, *words)[0] == 0
    code, _, err = run("measure", patients, tmp_path / "release")
    assert code == 2
    assert err.startswith("sfumato: columns.quasi-identifying.zip: hierarchy was withheld")
    assert run("measure", patients, tmp_path / "release", "--hierarchies", tmp_path)[0] == 0


def test_measuring_needs_nothing_about_sensitive_columns(patients, tmp_path):
    hierarchies = tmp_path / "hierarchies"
    hierarchies.mkdir()
    (hierarchies / "disease.csv").write_text("".join(f"{MARK}-{d};ill\n" for d in ("flu", "cold", "asthma", "gout")))
    words = [*ROLES, "-k", 5, "-t", 0.5, "--hierarchies", hierarchies, "--out", tmp_path / "release"]
    code, reported, _ = run("anonymize", patients, *words, "--details")
    assert code == 0
    code, out, err = run("measure", patients, tmp_path / "release")
    assert (code, err) == (0, "")
    withheld = ("C_avg", "ILoss", "entropy")
    lines = [line for line in out.splitlines()[2:] if not any(word in line for word in withheld)]
    assert len(lines) > 5
    assert all(line in reported for line in lines)
    quasi = tmp_path / "quasi.csv"
    pl.read_csv(patients).select("age", "sex", "zip").write_csv(quasi)
    assert run("measure", quasi, tmp_path / "release") == (0, out, "")


def test_a_release_folder_that_is_not_there_is_said_to_be(patients, tmp_path):
    missing = tmp_path / "missing"
    assert run("measure", patients, missing) == (2, "", f"sfumato: {missing}: no such release folder\n")
    assert run("verify", missing) == (2, "", f"sfumato: {missing}: no such release folder\n")
    table = sfumato.read_table(patients, sfumato.Schema(quasi_identifying=["age"], others="drop"))
    with pytest.raises(sfumato.InputError, match="missing: no such release folder"):
        sfumato.measure(table, missing)


def test_measuring_against_a_folder_that_is_no_release_is_one_line(patients, tmp_path):
    code, out, err = run("measure", patients, tmp_path)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


# what goes wrong


def test_a_promise_that_cannot_be_met_is_1_and_writes_nothing(patients, tmp_path):
    for model in (["-k", 301], ["-k", 2, "-l", 5], ["-k", 2, "--model", "alpha-k-anonymity:alpha=0.01,k=2"]):
        code, out, err = run("anonymize", patients, *ROLES, *model, "--out", tmp_path / "release")
        assert (code, out) == (1, "")
        assert err.startswith("sfumato: ")
        assert MARK not in err
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "words",
    [
        ["anonymize"],
        ["anonymize", "x.csv", "--unknown"],
        ["anonymize", "x.csv", "-k", "five"],
        ["compare", "x.csv", "--diversity", "entropie"],
        ["unknown"],
        [],
        ["verify"],
        ["anonymize", "not-there.csv", *ROLES, "-k", 5, "--out", "release"],
        ["anonymize", "not-there.csv", "--policy", "not-there.toml", "--out", "release"],
        ["hierarchy", "not-there.csv", "age"],
    ],
)
def test_wrong_usage_and_wrong_input_are_2(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(*words)
    assert code == 2
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == []


def test_a_column_that_is_not_there_and_one_without_a_role_are_named_together(patients, tmp_path):
    words = ["--quasi", "age,height", "--sensitive", "disease", "-k", 5, "--out", tmp_path / "release"]
    code, _, err = run("anonymize", patients, *words)
    assert code == 2
    assert "height" in err
    assert "visit" in err
    assert "--others drop" in err
    assert MARK not in err


def test_five_mistakes_are_five_lines(patients, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'supression-limit = 0.02\n[columns]\nquasi-identifying = ["age"]\nothers = "dorp"\n'
        '[[models]]\nname = "k-anonymity"\nk = 0\n[[models]]\nname = "k-anonimity"\n[anonymizer]\nname = "mondrain"\n'
    )
    code, out, err = run("anonymize", patients, "--policy", policy, "--out", tmp_path / "release")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 5
    assert all(line.startswith("sfumato: ") for line in err.splitlines())


@pytest.mark.parametrize(
    "content",
    [
        f"name,age\n{MARK},{MARK}\n{MARK}\n".encode(),
        f'name,age\n"{MARK},1\n'.encode(),
        f"name,age\n{MARK},\xff\xfe\n".encode("latin1"),
        f"name,age,age\n{MARK},1,2\n".encode(),
        b"",
        b"name,age\n",
        f"na\x00me,age\n{MARK},2\n".encode(),
        f"name,age\x1b[2J\n{MARK},2\n".encode(),
    ],
)
def test_a_hostile_file_ends_in_lines_without_values(content, tmp_path):
    table = tmp_path / "hostile.csv"
    table.write_bytes(content)
    words = ["--identifying", "name", "--quasi", "age", "-k", 5, "--out", tmp_path / "release"]
    code, out, err = run("anonymize", table, *words)
    assert code in (1, 2)
    assert out == ""
    assert err
    assert MARK not in err
    assert "\x1b" not in err
    assert os.listdir(tmp_path) == ["hostile.csv"]


def test_hostile_text_is_carried_as_text(tmp_path):
    table = tmp_path / "hostile.csv"
    cell = f'"=HYPERLINK(""{MARK}"")\x1b[2J"'
    table.write_text("age,note\n" + f"30,{cell}\n" * 4)
    words = ["--quasi", "age", "--set", "columns.insensitive=note", "-k", 2, "--out", tmp_path / "release"]
    code, out, err = run("anonymize", table, *words)
    assert code == 0
    assert MARK not in out + err
    published = pl.read_csv(tmp_path / "release" / "data.csv")
    assert published["note"].unique().to_list() == [f'=HYPERLINK("{MARK}")\x1b[2J']


def test_an_unexpected_error_in_the_middle_shows_no_value(patients, tmp_path, monkeypatch):
    def fall_over(*_: object, **__: object) -> None:
        raise pl.exceptions.ComputeError(MARK)

    monkeypatch.setattr(anonymize_command, "_release", fall_over)
    code, out, err = run("anonymize", patients, *ROLES, "-k", 5, "--out", tmp_path / "release")
    assert (code, out) == (2, "")
    assert "ComputeError" in err
    assert MARK not in err
    assert err.count("\n") == 1


def test_a_negative_seed_is_refused(patients, tmp_path):
    code, _, err = run("anonymize", patients, *ROLES, "-k", 5, "--seed", -1, "--out", tmp_path / "release")
    assert (code, err) == (2, "sfumato: --seed: must be 0 or above\n")


# hierarchy


def test_a_draft_goes_to_stdout_or_to_a_file(patients, tmp_path):
    code, out, err = run("hierarchy", patients, "age")
    assert (code, err) == (0, "sfumato: age: ages; HIPAA (C): put all above 89 into one group\n")
    assert all(line.endswith(";*") for line in out.splitlines())
    file = tmp_path / "age.csv"
    code, said, err = run("hierarchy", patients, "age", "--out", file)
    assert (code, said) == (0, "")
    assert file.read_text() == out
    assert MARK not in err
    assert run("hierarchy", patients, "age", "--out", file)[0] == 2
    assert run("hierarchy", patients, "age", "--out", file, "--overwrite")[0] == 0


def test_a_draft_for_codes_that_look_like_numbers(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("zip\n" + "".join(f"{code}\n" for code in range(4700, 5100, 3)))
    code, out, err = run("hierarchy", table, "zip", "--categorical", "zip")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("sfumato: zip: postcodes; HIPAA (B): keep the first three digits, and 000 for those")
    assert out.splitlines()[0].startswith("4700;470*;47**;")
    code, out, err = run("hierarchy", table, "zip", "--categorical", "age")
    assert (code, out) == (2, "")
    assert err.startswith("sfumato: --categorical: ")


def test_a_mistake_in_how_to_read_is_named_after_its_option(patients):
    code, _, err = run("hierarchy", patients, "age", "--set", "source.separator=;;")
    assert code == 2
    assert err.startswith("sfumato: --set source.separator: must be one ASCII character")


# as a program of its own


def test_the_program_prints_results_on_stdout_and_problems_on_stderr(patients, tmp_path):
    done = process("anonymize", patients, *ROLES, "-k", 5, "--out", tmp_path / "release")
    assert done.returncode == 0
    assert done.stdout.startswith("✓ verified: the promise holds ")
    assert done.stderr == ""
    assert MARK not in done.stdout + done.stderr
    again = process("anonymize", patients, *ROLES, "-k", 5, "--out", tmp_path / "release")
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.count("\n") == 1


def test_a_terminal_that_knows_only_ascii_is_no_problem(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("größe,d\n" + "1,x\n2,y\n" * 5)
    words = ["--quasi", "größe", "--sensitive", "d", "-k", 2, "--out", tmp_path / "release"]
    done = process("anonymize", table, *words, PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_gone_is_one_line_and_not_a_broken_promise(release, unbuffered):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "sfumato.cli", "verify", str(release)]
    settings = environment(PYTHONUNBUFFERED=unbuffered)
    done = subprocess.run(command, env=settings, stdout=write, stderr=subprocess.PIPE, timeout=300)
    os.close(write)
    assert done.returncode == 2
    assert done.stderr == b"sfumato: the program that read the output has ended; stopped writing\n"


@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
def test_an_interruption_writes_nothing_and_says_so_in_one_line(patients, tmp_path):
    words = ["sfumato", "anonymize", str(patients), *ROLES, "-k", "2", "--out", str(tmp_path / "release")]
    program = (
        "import signal, sys, time\nimport sfumato.release.anonymize as verb\nfrom sfumato.cli import main\n"
        "def last_forever(*_, **__):\n    print('working', flush=True)\n    time.sleep(60)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"verb.anonymize = last_forever\nsys.argv = {words!r}\nmain()"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"working\n"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, b"")
    assert err == b"sfumato: stopped; no release was written\n"
    assert os.listdir(tmp_path) == []
