"""Every option of the last version does what its new form does, and says what that is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.cli.former import COMMANDS, FORMER, LAYOUT, PEOPLE, READING, ROLES, TABLE

ROWS = 48
PAIRS: dict[str, tuple[str, str]] = {
    "--separator": ("--separator ;", "--set source.separator=;"),
    "--encoding": ("--encoding latin1", "--set source.encoding=latin1"),
    "--missing": ("--missing ? --missing NA", '--set source.missing=["?","NA"]'),
    "--no-header": ("--no-header --columns a,b,c", "--set source.header=false --set source.columns=a,b,c"),
    "--columns": ("--no-header --columns a,b,c", "--set source.header=false --set source.columns=a,b,c"),
    "--table": ("--table t", "--set source.table=t"),
    "--query": ("--query q.sql", "--set source.query=q.sql"),
    "--sheet": ("--sheet 2024", "--set source.sheet=2024"),
    "--range": ("--range A1:E", "--set source.range=A1:E"),
    "--codes": ("--codes age,sex", "--set source.codes=age,sex"),
    "--decimal": ("--decimal pay=,", "--set column.pay.decimal=,"),
    "--thousands": ("--thousands .", "--set source.thousands=."),
    "--dates": ("--dates dd.mm.yyyy", "--set source.dates=dd.mm.yyyy"),
    "--unit": ("--unit pay=€", "--set column.pay.unit=€"),
    "--strays-missing": ("--strays-missing pay", "--set column.pay.strays=missing"),
    "--key-form": ("--key-form fold", "--set columns.key-form=fold"),
    "--wished-k": ("--wished-k own", "--set columns.wished-k=own"),
    "--wished-l": ("--wished-l own", "--set columns.wished-l=own"),
    "--numeric": ("--numeric age", "--set column.age.kind=numeric"),
    "--boolean": ("--boolean sex", "--set column.sex.kind=boolean"),
    "--insensitive": ("--insensitive id", "--set columns.insensitive=id"),
    "--format": ("--format parquet", "--set output.format=parquet"),
    "--rows": ("--rows apart", "--set people.rows=apart"),
    "--pseudonyms": ("--pseudonyms published", "--set people.pseudonyms=published"),
    "--all-records-k": ("--rows apart --all-records-k 2", "--set people.rows=apart --set people.all-records-k=2"),
    "--known-values": (
        "--pseudonyms published --known-values 2 --fingerprint-k 2",
        "--set people.pseudonyms=published --set people.known-values=2 --set people.fingerprint-k=2",
    ),
    "--fingerprint-k": (
        "--pseudonyms published --fingerprint-k 2",
        "--set people.pseudonyms=published --set people.fingerprint-k=2",
    ),
    "--keyless": ("--keyless refuse", "--set people.keyless=refuse"),
    "--threads": ("--threads 2", "--set policy.threads=2"),
    "--diversity": ("-l 2 --diversity distinct", "--model distinct-l-diversity:l=2"),
    "-c": ("-l 2 --diversity recursive -c 3", "--model recursive-l-diversity:l=2,c=3"),
    "-t": ("-t 0.4", "--model t-closeness:t=0.4"),
    "--k-map": ("--k-map 4 --population all.csv", "--model k-map:k=4 --set policy.population=all.csv"),
    "--population": ("--k-map 4 --population all.csv", "--model k-map:k=4 --set policy.population=all.csv"),
    "--subset": ("--subset sex=f", "--set subset.column=sex --set subset.value=f"),
    "--strata": ("--anonymizer mdav --strata sex", "--anonymizer mdav --set strata=sex"),
    "--refine": ("--refine 5", "--set policy.refine=5"),
    "--within": ("--within 2", "--anonymizer best --set within=2"),
    "--written-by": ("--engine spark --written-by workers", "--engine spark-workers"),
    "--schema": ("--schema r", "?schema=r"),
}  # fmt: skip
"""Option → words of the last version, and of this one."""
OF_KINDS = {
    "--group": ("ratings", "--group trimmed", "--set model.group=trimmed"),
    "--nulls": ("ratings", "--nulls g", "--set model.nulls=g"),
    "--sensitive-drawn": (
        "ratings",
        "--sensitive-share 0.5 --sensitive-drawn most-rated",
        "--sensitive-share 0.5 --set sensitive.drawn=most-rated",
    ),
    "--max-records": ("private", "--max-records 3 --person id", "--set model.max-records=3 --person id"),
}
"""Option of a kind of its own → where, and words of the last version and of this one."""
OWN_WORDS = {
    "ratings": ["anonymize", "people.csv", "--kind", "ratings", "-k", "3", "--epsilon", "1"],
    "private": [
        "anonymize",
        "people.csv",
        "--kind",
        "private-marginals",
        "--quasi",
        "sex",
        "--others",
        "drop",
        "--epsilon",
        "1",
    ],
}
ROLE_WORDS = ["--quasi", "age,sex", "--sensitive", "ill,pay", "--others", "drop", "-k", "3"]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("former") / "people.csv"
    rows = (f"{row // 2},{20 + row % 12},{'fm'[row % 2]},{1000 + row % 7},{'abcd'[row % 4]}" for row in range(ROWS))
    path.write_text("\n".join(["id,age,sex,pay,ill", *rows]) + "\n")
    return path


def run(*words: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.stdout, done.stderr


def test_every_former_option_has_its_new_form() -> None:
    assert {one.flag for options in FORMER.values() for one in options} == {*PAIRS, *OF_KINDS}
    assert {*TABLE} == {*READING, *ROLES}
    assert {*LAYOUT} < {*READING}


@pytest.mark.parametrize("flag", [flag for flag in PAIRS if flag not in ("--written-by", "--schema")])
def test_a_former_option_means_the_policy_of_its_new_form(flag: str, people: Path, tmp_path: Path) -> None:
    former, now = PAIRS[flag]
    person = " --person id" if flag[2:] in {one.flag[2:] for one in (*PEOPLE, ROLES[0])} else ""
    file, results = tmp_path / "policy.toml", []
    for words in (former, now):
        code, _, err = run(
            "anonymize", people, *ROLE_WORDS, *words.split(), *person.split(), "--save-policy", file, "--overwrite"
        )
        assert code == 0, err
        results.append((file.read_text(), err))
    assert results[0][0] == results[1][0]
    assert results[1][1] == ""
    assert f"{flag} is the form of the last version" in results[0][1]


@pytest.mark.parametrize("flag", OF_KINDS)
def test_a_former_option_of_a_kind_means_the_policy_of_its_new_form(flag: str, tmp_path: Path) -> None:
    where, former, now = OF_KINDS[flag]
    file, results = tmp_path / "policy.toml", []
    for words in (former, now):
        code, _, err = run(*OWN_WORDS[where], *words.split(), "--save-policy", file, "--overwrite")
        assert code == 0, err
        results.append((file.read_text(), err))
    assert results[0][0] == results[1][0]
    assert results[1][1] == ""
    assert f"{flag} is the form of the last version" in results[0][1]
    assert now.split("--set ")[1].split("=")[0] in results[0][1]


@pytest.mark.parametrize("flag", PAIRS)
def test_a_warning_names_the_new_form(flag: str) -> None:
    for command, options in FORMER.items():
        for one in options:
            if one.flag == flag and not (command == "compare" and flag == "--diversity"):
                new = re.findall(r"--[\w-]+(?: [a-z][\w.-]*)?|\?schema", PAIRS[flag][1])
                assert any(part.split("=")[0].split(" ")[0] in one.warning for part in new), one.warning


RELEASED = ("--missing", "--numeric", "--keyless", "--rows", "--pseudonyms", "--diversity", "-c", "--k-map", "--subset",
            "--strata", "--refine", "--wished-k")  # fmt: skip


@pytest.mark.parametrize("flag", RELEASED)
def test_a_former_option_makes_the_release_of_its_new_form(
    flag: str, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("all.csv").write_text(people.read_text())
    lines = people.read_text().splitlines()
    table = Path("people.csv")
    table.write_text("\n".join([f"{lines[0]},own", *(f"{line},3" for line in lines[1:])]) + "\n")
    person = ["--person", "id"] if flag in ("--keyless", "--rows", "--pseudonyms") else []
    made = []
    for number, words in enumerate(PAIRS[flag]):
        out = Path(str(number))
        code, _, err = run("anonymize", table, *ROLE_WORDS, *words.split(), *person, "--seed", 1, "--out", out)
        assert code == 0, err
        names = sorted(file.name for file in out.iterdir() if file.name != "release.json")
        described = json.loads((out / "release.json").read_text())
        made.append(({name: (out / name).read_bytes() for name in names}, described.get("tables")))
    assert made[0] == made[1]


def test_what_is_wrong_with_a_former_option_is_said_by_its_name(people: Path) -> None:
    code, _, err = run(
        "anonymize", people, *ROLE_WORDS, "--separator", ";;", "--threads", "0", "--unit", "x=€", "--out", "no"
    )
    assert code == 2
    for line in ("--separator: must be one ASCII", "--threads: must be at least 1", "--unit: 'x' is not a quasi"):
        assert line in err
    for words, said in (
        (("--unit", "€"), "--unit: write it as NAME=TEXT"),
        (("--decimal", ",", "--decimal", "."), "--decimal: says two things of the same"),
        (("--subset", "x"), "--subset: write it as COLUMN=VALUE"),
        (("-c", "2"), "-c: belongs to recursive l-diversity"),
        (("--written-by", "workers"), "--written-by: only Spark has workers"),
        (("--schema", "r"), "--schema: says where a release lies in a database"),
    ):
        code, _, err = run("anonymize", people, *ROLE_WORDS, *words, "--out", "no")
        assert (code, said in err) == (2, True), err


@pytest.mark.parametrize("command", [name for name in FORMER if not name.startswith(("anonymize", "verify"))])
def test_former_options_of_every_command_are_hidden_and_known(command: str) -> None:
    _, out, _ = run(*command.split(), "--help")
    for one in FORMER[command]:
        assert not re.search(rf"(?<![\w-]){one.flag}(?![\w-])", out), one.flag


@pytest.mark.parametrize("command", ["check", "correlation", "risk"])
def test_tables_are_read_as_before(command: str, people: Path, tmp_path: Path) -> None:
    table = tmp_path / "other.csv"
    table.write_text(people.read_text().replace(",", ";"))
    words = (command, table, "--quasi", "age,sex", "--json")
    former, now = (
        json.loads(run(*words, *said)[1]) for said in (("--separator", ";"), ("--set", "source.separator=;"))
    )
    assert {**former, "kernels": None} == {**now, "kernels": None}


OLD_WORDS = {
    ("ratings", "check"): "people.csv -k 2 --epsilon 1 --json",
    ("ratings", "anonymize"): "people.csv -k 2 --epsilon 4 --keep 1 --seed 1 --out out --json",
    ("ratings", "attack"): "people.csv --known 1 --seed 1 --json",
    ("sets", "check"): "people.csv -m 2 --json",
    ("sets", "anonymize"): "people.csv -k 2 -m 1 --seed 1 --out out --json",
    ("sets", "attack"): "people.csv --known 1 --seed 1 --json",
    ("private", "publish"): "people.csv --quasi sex --others drop --domain sex=f,m --epsilon 1 --save-policy p.toml",
    ("private", "sample"): "people.csv --quasi sex --others drop --domain sex=f --epsilon 1 --delta .1 --save-policy q",
    ("private", "ledger"): "ledger.json --json",
    ("utility",): "people.csv release --queries 5 --seed 1 --json",
    ("describe",): "people.csv release --column age --json",
    ("series", "grow"): "series more.csv --seed 1 --json",
    ("series", "verify"): "series --json",
    ("series", "attack"): "series --original people.csv --original more.csv --json",
    ("series", "compare"): "people.csv more.csv --policy release/policy.toml --key id --seed 1",
}  # fmt: skip
"""Words that named a command → what it is given."""


@pytest.mark.parametrize("former", OLD_WORDS, ids=" ".join)
def test_a_former_command_does_what_its_new_form_does(
    former: tuple[str, ...], people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for number, start in enumerate((former, COMMANDS[former])):
        place = tmp_path / str(number)
        place.mkdir()
        monkeypatch.chdir(place)
        rows = [f"{row},{20 + row % 6},{'fm'[row % 2]},{1000 + row % 7},{'abcd'[row % 4]}" for row in range(48)]
        named = people.read_text().splitlines()[0]
        Path("people.csv").write_text(
            "\n".join(
                [named, *(rows if former[0] not in ("ratings", "sets") else ["1,2,3,4,5", "2,2,3,4,5", "3,2,3,4,5"])]
            )
            + "\n"
        )
        Path("more.csv").write_text("\n".join([named, *(f"9{row}" for row in rows)]) + "\n")
        roles = ("--identifying", "id", "--quasi", "age,sex", "--sensitive", "ill", "--others", "drop", "-k", "3")
        if former[0] in ("utility", "describe") or former[-1] == "compare":
            assert run("anonymize", "people.csv", *roles, "--seed", 1, "--out", "release")[0] == 0
        elif former[0] == "series":
            assert run("series", "start", "series", "people.csv", *roles, "--way", "grow", "--seed", 1)[0] == 0
            if former[-1] == "attack":
                assert run("series", "append", "series", "more.csv", "--seed", 1)[0] == 0
        elif former[-1] == "ledger":
            assert run("budget", "ledger.json", "--total-epsilon", 2)[0] == 0
        code, out, err = run(*start, *OLD_WORDS[former].split())
        results.append((code, re.sub("[0-9a-f]{32,}", "", out.partition('"kernels"')[0]), err))
    assert results[0][:2] == results[1][:2], results
    assert results[0][0] in (0, 1), results
    warning = f"sfumato: sfumato {' '.join(former)} is the form of the last version"
    assert warning in results[0][2]
    assert f"write sfumato {' '.join(COMMANDS[former])}\n" in results[0][2]
    assert "form of the last version" not in results[1][2]


def test_every_former_command_is_tried_and_hidden() -> None:
    assert {*OLD_WORDS} == {words for words in COMMANDS if words[-1][0] != "-"}
    for words in ("ratings", "sets", "private"):
        code, out, err = run(words)
        assert (code, "--kind" in out, "form of the last version" in err) == (0, True, True)


def test_options_of_another_kind_are_refused_by_name_all_at_once(people: Path) -> None:
    code, _, err = run("anonymize", people, "--quasi", "age", "--epsilon", "1", "--scale", "1,5", "-m", "2")
    assert code == 2
    for option in ("--epsilon", "--scale", "-m"):
        assert f"sfumato: {option}: is an option of --kind " in err
    code, _, err = run("anonymize", people, "--kind", "sets", "--quasi", "age", "--epsilon", "1", "-t", "--engine", "x")
    assert (code, "--epsilon: is" in err) == (2, True)
    assert "--engine: is an option of --kind tables; this is --kind sets" in err
    code, _, err = run("check", people, "--kind", "nothing")
    assert (code, "--kind: check has no 'nothing'; it has tables, ratings, sets" in err) == (2, True)
