"""Two runs at once, and an interruption: one waits or is refused in words, and what is said about it is true."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from kills import driver
from sfumato.cli.app import app
from sfumato.kinds.private.ledger import PrivacyLedger
from sfumato.release import transaction

PROGRAM = """
import sys
from pathlib import Path
import sfumato as sf
from kills import driver
from sfumato.kinds.private.ledger import PrivacyLedger
place = Path(sys.argv[1])
driver.release(0)
print("ready", flush=True)
sys.stdin.readline()
try:
    exec(sys.argv[2])
except sf.SfumatoError as error:
    print(error)
    sys.exit(error.exit_code)
"""


def at_once(place: Path, *works: str) -> list[tuple[int, str]]:
    """Do each work in a process of its own, all at the same time; return how they ended, and what they said."""
    paths = os.pathsep.join([str(Path(sf.__file__).parents[1]), str(Path(__file__).parents[1])])
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, place, work],
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for work in works
    ]
    for run in runs:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
    for run in runs:
        assert run.stdin is not None
        run.stdin.write("go\n")
        run.stdin.flush()
    ended = []
    for run in runs:
        said, errors = run.communicate(timeout=120)
        assert "Traceback" not in errors
        ended.append((run.returncode, said))
    return ended


TAKEN = ("already holds a release", "is the audit file of another release", "another run wrote")


def one_is_refused(ended: Sequence[tuple[int, str]], words: Sequence[str]) -> None:
    assert sorted(code for code, _ in ended) == [0, 2]
    (said,) = [said for code, said in ended if code]
    assert any(word in said for word in words), said


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "private").mkdir()
    return tmp_path


def test_two_runs_cannot_both_write_a_new_release(place: Path) -> None:
    one_is_refused(at_once(place, *["driver.save(place, 0)"] * 2), TAKEN)
    assert sf.verify(place / "out", audit=place / "out.audit.json").ok
    assert sorted(os.listdir(place)) == ["out", "out.audit.json", "private"]


def test_two_runs_cannot_both_write_an_audit_file(place: Path) -> None:
    save = "driver.release(0).save(place / '{}', audit=place / 'private' / 'who.json')"
    ended = at_once(place, save.format("one"), save.format("two"))
    one_is_refused(ended, TAKEN)
    (written,) = [name for name in ("one", "two") if (place / name).exists()]
    assert sf.verify(place / written, audit=place / "private" / "who.json").ok
    assert len(os.listdir(place)) == 2


def test_a_folder_and_an_audit_file_are_of_one_run(place: Path) -> None:
    driver.save(place, 0)
    assert [code for code, _ in at_once(place, "driver.save(place, 7)", "driver.save(place, 9)")] == [0, 0]
    assert sf.verify(place / "out", audit=place / "out.audit.json").ok


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
@pytest.mark.parametrize("before", [True, False])
def test_a_database_and_an_audit_file_are_of_one_run(kind: str, before: bool, place: Path) -> None:
    if before:
        driver.store(place, kind, 0)
    ended = at_once(place, *(f"driver.store(place, {kind!r}, {shift})" for shift in (7, 9)))
    assert 0 in {code for code, _ in ended}
    words = ("another program", "another run", "cannot be read or written")
    assert all(any(word in said for word in words) for code, said in ended if code), ended
    url = f"{kind}:///{place}/held.db"
    assert sf.verify(url, schema="r", audit=place / "private" / "who.json").ok
    assert sorted(os.listdir(place)) == ["held.db", "private"]


def test_a_budget_is_spent_once(place: Path) -> None:
    PrivacyLedger.start(place / "budget.json", 1.0)
    (place / "link.json").symlink_to("budget.json")
    (place / "private" / "far.json").symlink_to("../budget.json")
    spend = "for _ in range(4): PrivacyLedger.spend(place / {!r}, sf.DifferentialPrivacy(0.1))"
    ended = at_once(place, *map(spend.format, ("budget.json", "link.json", "private/far.json")))
    assert PrivacyLedger.read(place / "budget.json").spent.release == 10
    assert sorted(code for code, _ in ended)[-1] == 1
    assert all("more than its total" in said for code, said in ended if code)


def test_a_ledger_of_two_names_is_refused(place: Path) -> None:
    PrivacyLedger.start(place / "budget.json", 1.0)
    os.link(place / "budget.json", place / "private" / "other.json")
    with pytest.raises(sf.InputError, match="has a second name"):
        PrivacyLedger.spend(place / "private" / "other.json", sf.DifferentialPrivacy(0.1))


def test_one_run_at_a_time_works_on_a_series(place: Path) -> None:
    series = driver.start(place, "append")
    append = "sf.Series.open(place / 's').append(driver.month(9, {}), threads=1)"
    ended = at_once(place, append.format(300), append.format(600))
    assert 0 in {code for code, _ in ended}
    assert all("another run is working on this series" in said for code, said in ended if code)
    assert series.verify(ledger=True).ok
    assert len(series.releases) == 1 + sum(code == 0 for code, _ in ended)


def test_settling_leaves_a_run_alone_that_goes_on(place: Path) -> None:
    with transaction.together(place / "out", place / "who.json", None, overwrite=False) as (part, secret):
        (part / "release.json").write_text("{}")
        for path in (place / "out", place / "who.json"):
            assert "no run was interrupted here" in CliRunner().invoke(app, ["settle", str(path)]).output
        assert secret.exists()


def test_the_command_that_is_named_can_be_typed(place: Path) -> None:
    several, private = place / "two words" / "s", place / "private" / "of s"
    several.parent.mkdir()
    driver.release(0).save(several.with_name("out"))
    sf.Series.start(several, driver.SCHEMA, [sf.KAnonymity(4)], table=driver.month(12), ledger=private, threads=1)
    for words in (["verify", several.with_name("out")], ["verify", several, "--ledger", private]):
        left = several.with_name(f".{words[1].name}.01234567.part")
        left.mkdir()
        said = CliRunner().invoke(app, [str(word) for word in words]).output
        _, *named = shlex.split(re.search(r"(sfumato settle .*) finishes it or takes it back", said)[1])
        done = CliRunner().invoke(app, named)
        assert done.exit_code == 0
        assert "a run was interrupted here; " in done.output
        assert not left.exists()
        assert "interrupted" not in CliRunner().invoke(app, [str(word) for word in words]).output


@pytest.mark.parametrize(
    "words",
    [("anonymize",), ("anonymize", "--kind", "private-marginals"), ("series", "append"), ("series", "withdraw")],
)
def test_commands_name_what_ends_them(words: tuple[str, ...]) -> None:
    assert "sfumato settle PATH" in CliRunner().invoke(app, [*words, "--help-all"], terminal_width=200).output


def anonymized(place: Path) -> tuple[int, str]:
    pl.DataFrame({"age": [1, 1, 2, 2]}).write_csv(place / "t.csv")
    words = ["anonymize", str(place / "t.csv"), "--quasi", "age", "-k", "2", "--out", str(place / "out")]
    done = CliRunner().invoke(app, words)
    return done.exit_code, done.output


@pytest.mark.parametrize(
    ("where", "said"), [("_decide", "no release was written"), ("_arrive", "out was written before")]
)
def test_an_interruption_says_what_became_of_the_release(where: str, said: str, place: Path) -> None:
    real = getattr(transaction, where)

    calls: list[object] = []

    def interrupted(*arguments: object) -> None:
        calls.append(arguments)
        if where == "_arrive":
            real(*arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt

    with patch.object(transaction, where, interrupted):
        code, output = anonymized(place)
    assert code == 130
    assert said in output
    assert (place / "out").exists() == (where == "_arrive")
    assert not [name for name in os.listdir(place) if name.startswith(".")]


def test_an_interruption_says_what_is_spent(place: Path) -> None:
    pytest.importorskip("opendp", reason="OpenDP is not installed; pip install 'sfumato[dp]'")
    driver.start_ledger(place)
    budget = str(place / "private" / "budget.json")
    pl.DataFrame({"sex": ["f", "m"] * 20}).write_csv(place / "t.csv")
    words = ["anonymize", "--kind", "private-marginals", str(place / "t.csv"), "--quasi", "sex", "--epsilon", "1"]
    words += ["--ledger", budget]
    words += ["--domain", "sex=f,m", "--out", str(place / "out")]
    with patch("sfumato.kinds.noisy_counts.make.solve_private", side_effect=KeyboardInterrupt):
        done = CliRunner().invoke(app, words)
    assert (done.exit_code, PrivacyLedger.read(budget).spent.epsilon) == (130, 1.0), done.output
    assert f"no release was written; what it was to cost stays spent in {budget}" in done.output
