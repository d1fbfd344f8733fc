"""``sfumato series`` from end to end."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from series.tables import people, write_csv
from sfumato.cli.app import app

ROLES = ["--identifying", "name", "--quasi", "age,city", "--sensitive", "disease"]


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def run(*words: object) -> tuple[int, str, str]:
    group = {"verify": [], "attack": []}.get(str(words[0]), ["series"])
    result = CliRunner().invoke(app, [*group, *(str(word) for word in words)], prog_name="sfumato")
    assert "Traceback" not in result.stdout + result.stderr
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def months(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a table for each month, and go where they lie."""
    for month, count in enumerate((30, 20, 2, 20)):
        write_csv(tmp_path / f"{month}.csv", people(count, first=100 * month, seed=month))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", ["start", "append", "show"])
def test_help_shows_an_example(command: str) -> None:
    code, out, _ = run(command, "--help-all")
    assert code == 0
    assert "sfumato series append monthly/ february.csv" in out


def test_a_walk_through_the_months(months: Path) -> None:
    code, out, err = run("start", "s", "0.csv", *ROLES, "-k", "3", "--model", "entropy-l-diversity:l=2")
    assert code == 0
    assert out.startswith("Release 1: 30 people came\n")
    assert out.splitlines()[1].split()[:2] == ["✓", "verified:"]
    assert "Open      nothing; what no release promises: sfumato limits\n" in out
    assert "Next      sfumato verify s\n" in out
    assert "series started in s; keep s.ledger to yourself, and copies of it" in err
    code, out, err = run("append", "s", "1.csv", "--details")
    assert (code, out.split("\n")[0]) == (0, "Release 2: 20 people came")
    assert "entropy-l-diversity (l=2): holds" in out
    assert "It is release 2 of a series (append). It stands up to the others of the series" in unwrapped(out)
    assert "release 2 written to s/0002; check it with: sfumato verify s" in err
    code, out, _ = run("append", "s", "2.csv")
    waits = "Nothing was published: 2 people wait. A class needs at least 3 people, and there are 2 people to come."
    assert (code, unwrapped(out)) == (0, waits)
    code, out, _ = run("append", "s", "3.csv")
    assert (code, out.split("\n")[0]) == (0, "Release 3: 22 people came, 2 of whom had waited")
    code, out, _ = run("show", "s")
    assert code == 0
    assert "release 3: 72 records; 22 newcomers in " in out
    assert "waiting: 0 people" in out
    code, out, _ = run("verify", "s")
    assert code == 0
    assert "recounted from the folders\n" in out
    assert "attested by the steward, not recountable from the folders\n" in out
    code, out, _ = run("verify", "s", "--ledger", "s.ledger")
    assert code == 0
    assert "attested by the ledger, not recountable from the folders\n" in out


def test_json(months: Path) -> None:
    code, out, _ = run("start", "s", "0.csv", *ROLES, "-k", "3", "--json", "--quiet")
    told = json.loads(out)
    assert (code, told["number"], told["published"], told["waiting"]) == (0, 1, 30, 0)
    assert told["report"]["verification"]["ok"]
    code, out, _ = run("append", "s", "2.csv", "--json")
    told = json.loads(out)
    assert (code, told["number"], told["waiting"], told["report"]) == (0, None, 2, None)
    code, out, _ = run("show", "s", "--json")
    told = json.loads(out)
    assert (told["waiting"], told["releases"][0]["newcomers"]) == (2, 30)
    code, out, _ = run("verify", "s", "--json")
    told = json.loads(out)
    assert (code, told["ok"], told["ledger"]) == (0, True, None)
    assert told["recounted"]["releases"][0]["way"] == "append"


def test_every_step_prints_the_head_and_verify_finds_it(months: Path) -> None:
    _, _, err = run("start", "s", *ROLES, "-k", "3", "--model", "entropy-l-diversity:l=2")
    heads = [head_in(err)]
    for month in (0, 1):
        _, _, err = run("append", "s", f"{month}.csv")
        heads.append(head_in(err))
    # Two people wait: nothing is published, and the head stays.
    _, _, err = run("append", "s", "2.csv")
    assert head_in(err) == heads[-1]
    (months / "gone.csv").write_text("name\n" + (months / "1.csv").read_text().splitlines()[1].split(",")[0] + "\n")
    _, out, err = run("withdraw", "s", "gone.csv", "--most-lost", "0.9", "--json")
    heads.append(head_in(err))
    assert json.loads(out)["head"] == heads[-1]
    assert len({*heads}) == 4
    code, out, _ = run("verify", "s", "--head", heads[-1])
    assert (code, out.splitlines()[-1]) == (0, "the head, that of release 3, is the last")
    code, out, _ = run("verify", "s", "--head", heads[0])
    assert (code, out.splitlines()[-1]) == (
        0,
        "the head, that of the series without a release, stands before release 1",
    )
    code, out, _ = run("verify", "s", "--head", "0" * 64, "--json")
    told = json.loads(out)
    assert (code, told["ok"], told["head"]["stands"]) == (1, False, "nowhere")
    assert run("verify", "s", "--head", "0" * 63)[0] == 2
    run("start", "g", "0.csv", *ROLES, "-k", "3", "--way", "grow", "--quiet")
    _, _, err = run("append", "g", "1.csv")
    assert run("verify", "g", "--head", head_in(err))[1].endswith("is the last\n")
    run("start", "m", "0.csv", *ROLES, "-m", "2", "--way", "m-invariance", "--quiet")
    _, _, err = run("republish", "m", "0.csv")
    assert run("verify", "m", "--head", head_in(err))[1].endswith("is the last\n")


def head_in(err: str) -> str:
    [found] = re.findall(r"head of the series: sha256 ([0-9a-f]{64}); note it elsewhere, and publish it", err)
    return str(found)


def test_a_policy_file_is_what_the_series_keeps(months: Path) -> None:
    run("start", "unused", *ROLES, "-k", "3", "--quiet")
    schema = sf.Schema(identifying=["name"], quasi_identifying=["age", "city"], sensitive=["disease"])
    sf.Policy.of(schema, [sf.KAnonymity(3)], sf.Mondrian(), sf.Recoding(), 0.0).to_file("policy.toml")
    assert run("start", "s", "--policy", "policy.toml", "--quiet") == (0, "", "")
    assert run("append", "s", "0.csv", "--policy", "policy.toml", "--quiet") == (0, "", "")
    text = Path("policy.toml").read_text()
    Path("policy.toml").write_text(text.replace("k = 3", "k = 2"))
    code, _, err = run("append", "s", "1.csv", "--policy", "policy.toml")
    assert code == 2
    assert err.startswith("sfumato: policy, models: not what the series was started with")


def test_exit_codes(months: Path) -> None:
    assert run("start", "s", "2.csv", *ROLES, "-k", "3")[0] == 1
    assert sorted(os.listdir(months)) == ["0.csv", "1.csv", "2.csv", "3.csv"]
    code, _, err = run("start", "s", "0.csv", *ROLES, "-k", "3", "--model", "t-closeness:t=0.2")
    assert code == 2
    assert "t-closeness does not judge each class by itself" in err
    assert run("start", "s", "0.csv", *ROLES, "-k", "3", "--quiet")[0] == 0
    assert run("start", "s", "0.csv", *ROLES, "-k", "3")[0] == 2
    code, _, err = run("append", "s", "0.csv")
    assert code == 2
    assert err == (
        "sfumato: 0.csv: column 'name': 30 people of 30 are in an earlier release; hand in newcomers alone, as two "
        "classes of a person can be intersected. To leave the others out, say leave_out_known=True (on the command "
        "line --leave-out-known)\n"
    )
    assert run("append", "s", "nowhere.csv")[0] == 2
    assert run("append", "nowhere", "1.csv")[0] == 2
    assert run("verify", "0.csv")[0] == 2
    data = months / "s" / "0001" / "data.csv"
    data.write_text(data.read_text().replace("flu", "gout"))
    code, out, _ = run("verify", "s")
    assert code == 1
    assert "broken: data.csv is the file that was written" in out
    assert run("verify", "s", "--json")[0] == 1
    assert run("append", "s", "1.csv")[0] == 1


def test_without_the_ledger_a_recipient_sees_the_releases(months: Path) -> None:
    run("start", "s", "0.csv", *ROLES, "-k", "3", "--ledger", "private", "--quiet")
    assert sorted(os.listdir(months)) == ["0.csv", "1.csv", "2.csv", "3.csv", "private", "s"]
    code, out, _ = run("show", "s")
    assert (code, out.split("\n")[1:]) == (0, ["release 1: 30 records", ""])
    code, _, err = run("append", "s", "1.csv")
    assert code == 2
    assert "there is no ledger of a series here" in err
    assert run("append", "s", "1.csv", "--ledger", "private", "--quiet") == (0, "", "")


def test_people_with_several_records_from_start_to_attack(months: Path) -> None:
    """Every month repeats some of its people, and one brings people of the month before."""
    for month, (count, again) in enumerate(((30, 0), (30, 6))):
        everybody = people(count, first=100 * month, seed=month)
        twice = [(name, age + 1, city, "gout") for name, age, city, _ in everybody[::3] if isinstance(age, int)]
        write_csv(months / f"{month}.csv", [*everybody, *twice, *people(again, first=0, seed=9)])
    roles = ["--person", "name", *ROLES[2:]]
    code, out, _ = run("start", "s", "0.csv", *roles, "-k", "3", "--seed", "1", "--details")
    assert code == 0
    assert out.startswith("Release 1: 30 people came\n")
    assert "People       30 people, counted class by class" in out
    code, _, err = run("append", "s", "1.csv")
    assert code == 2
    assert "6 people of 36 are in an earlier release" in err
    code, out, _ = run("append", "s", "1.csv", "--leave-out-known", "--seed", "2")
    assert code == 0
    assert out.startswith("Release 2: 30 people came\n6 records of 6 people left out, who are in an earlier release\n")
    code, out, _ = run("verify", "s")
    assert code == 0
    assert "k-anonymity (k=3) among the 40 new rows (people: attested, not recountable from the release)" in unwrapped(
        out
    )
    code, out, _ = run("verify", "s", "--ledger", "s.ledger")
    assert code == 0
    assert "holds: k-anonymity (k=3) among the 40 new rows of release 2, counted in people" in unwrapped(out)
    code, out, _ = run("attack", "s", "--original", "0.csv", "--original", "1.csv")
    assert code == 0
    assert "intersection of all releases: stands" in out
    assert "in 30 cases" in out
    code, out, _ = run("show", "s")
    assert "release 2: 80 records; 30 newcomers in " in out


def test_attacks_read_hierarchies_of_a_policy(months: Path) -> None:
    """Nodes of a tree cover the values under them, for rows and for values that are told apart by a key."""
    policy = """
models = [{ name = "k-anonymity", k = 3 }, { name = "distinct-l-diversity", l = 2 }]
[columns]
identifying = ["name"]
sensitive = ["disease"]
[columns.quasi-identifying.age]
[columns.quasi-identifying.city]
hierarchy = { kind = "groups", members = { north = ["A", "B"], south = ["C", "D"] } }
"""
    Path("policy.toml").write_text(policy)
    asked = sf.Policy.from_file("policy.toml")
    everybody = [(f"p{number}", 30, "ABCD"[number % 4], ("flu", "cold", "gout")[number % 3]) for number in range(12)]
    write_csv(Path("0.csv"), everybody[:8])
    write_csv(Path("1.csv"), everybody[4:])
    for name, table in (("r0", "0.csv"), ("again", "0.csv"), ("r1", "1.csv")):
        sf.anonymize(sf.read_table(table, asked), asked, seed=1).save(name)
    assert "north" in Path("r0/data.csv").read_text()
    with_keys = ["r0", "r1", "--original", "0.csv", "--original", "1.csv", "--key", "name"]
    for words, played in ((with_keys, "composition"), (["r0", "again", "--original", "0.csv"], "forward and cross")):
        code, _, err = run("attack", *words)
        assert code == 2
        assert "somebody is covered by no class of a release" in err
        code, out, _ = run("attack", *words, "--policy", "policy.toml")
        assert code in (0, 1)
        assert played in out
