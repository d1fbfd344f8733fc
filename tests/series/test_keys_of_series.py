"""Spellings of keys over the releases of a series: asked about, answered once, and never two people in silence."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from series.tables import SCHEMA, write_csv
from sfumato.cli.app import app
from sfumato.series.attacks import attack_with_keys
from sfumato.series.ledger import ledger_kept
from sfumato.table.person_keys import KINDS

EARLIER = Path(__file__).with_name("earlier_series.tar.xz")
"""Series that earlier versions made, of ``P 0`` and on; the lock files are left out."""
PEOPLE = sf.Schema(person="name", quasi_identifying=["age", "city"], sensitive=["disease"])
DISEASES = ("flu", "cold", "gout", "none")


def table(names: Sequence[str]) -> pl.DataFrame:
    rows = [(name, 30 + place % 4, "AB"[place % 2], DISEASES[place % 4]) for place, name in enumerate(names)]
    return pl.DataFrame(rows, schema=["name", "age", "city", "disease"], orient="row")


def some(first: int, count: int = 6, form: str = "P {}") -> list[str]:
    return [form.format(number) for number in range(first, first + count)]


def started(tmp_path: Path, names: Sequence[str], schema: sf.Schema = SCHEMA, key_form: str | None = None) -> sf.Series:
    fields = {name: getattr(schema, name) for name in ("identifying", "person", "quasi_identifying", "sensitive")}
    return sf.Series.start(tmp_path / "s", sf.Schema(**fields, key_form=key_form), sf.KAnonymity(3), table=table(names))


def refused(series: sf.Series, names: Sequence[str], **answer: str) -> str:
    with pytest.raises(sf.InputError) as caught:
        series.append(table(names), **answer)
    return str(caught.value)


@pytest.mark.parametrize("schema", [SCHEMA, PEOPLE])
@pytest.mark.parametrize(
    ("known", "later", "kinds"),
    [
        ("P 3", "p 3", "capitals"),
        ("p3", "P 3", "capitals"),
        ("P 3", "P3", "blanks"),
        ("P 3", "P\u00a03", "blanks"),
        ("P3", "P\u200b3", "invisible"),
        ("P3", "P\uff13", "forms"),
        ("7", "007", "zeros"),
        ("0007", "7", "zeros"),
        ("7", "+7", "signs"),
        ("0.5", ".5", "zeros"),
        ("7", "\u0667", "forms"),
        ("-7", "\u22127", "signs"),
        ("-7", "\uff0d7", "forms"),
    ],
)
def test_another_spelling_in_a_later_month_is_asked(
    known: str, later: str, kinds: str, schema: sf.Schema, tmp_path: Path
) -> None:
    series = started(tmp_path, [known, *some(100)], schema)
    said = refused(series, [later, *some(200)])
    assert "keys may be other spellings of the same person's" in said
    assert f"2 differ from another only {KINDS[kinds]}" in said
    assert not any(name in said for name in (known, later) if len(name) > 1)
    assert "key-form exact" in said
    assert len(series.releases) == 1
    assert "1 person of 7 is in an earlier release" in refused(series, [later, *some(200)], key_form="fold")
    assert series.append(table([later, *some(200)]), key_form="exact").number == 2
    assert series.verify(ledger=True).ok


def test_spellings_of_one_month_are_asked(tmp_path: Path) -> None:
    with pytest.raises(sf.InputError, match="2 differ from another only in capitals"):
        started(tmp_path, ["A1", "a1", *some(0)])
    assert not (tmp_path / "s").exists()
    series = started(tmp_path, ["A1", *some(0)])
    assert "2 differ from another only in blanks inside" in refused(series, ["B 1", "B1", *some(200)])
    assert "a key that another one has" in refused(series, ["B 1", "B1", *some(200)], key_form="fold")


def test_an_answer_stays_and_makes_nobody_two_people(tmp_path: Path) -> None:
    series = started(tmp_path, ["A1", "B 1", "007", *some(0)])
    assert series.append(table(["C1", *some(100)])).number == 2
    # Each kind has its own answer, at its own time.
    assert "1 person of 7 is" in refused(series, ["a1", *some(200)], key_form="fold:capitals")
    assert series.append(table(["d1", *some(200)]), key_form="fold:capitals").number == 3
    for known in ("a1", "A1", "c1", "D1"):
        assert "1 person of 7 is in an earlier release" in refused(series, [known, *some(300)])
    assert "leading zeros" in refused(series, ["7", *some(300)])
    assert series.append(table(["7", *some(300)]), key_form="exact:zeros").number == 4
    for known in ("a1", "007", "7"):
        assert "1 person of 7 is in an earlier release" in refused(series, [known, *some(400)])
    assert series.append(table(["07", *some(400)])).number == 5
    # Capitals are answered, so that b1 and B 1 are told apart by the blank alone.
    assert "2 differ from another only in blanks" in refused(series, ["b1", *some(500)])
    assert "1 person of 7 is in an earlier release" in refused(series, ["b1", *some(500)], key_form="fold")
    with pytest.raises(sf.PolicyError, match="fold:capitals, and people are in releases by it"):
        series.append(table(some(500)), key_form="exact:capitals")
    with pytest.raises(sf.PolicyError, match="exact:zeros, and people are in releases by it"):
        series.append(table(some(500)), key_form="fold:zeros")
    assert series.append(table(some(500)), key_form="exact").number == 6
    assert series.append(table(["b1", *some(600)])).number == 7
    with pytest.raises(sf.PolicyError, match="fold:capitals"):
        series.append(table(some(700)), key_form="exact")
    assert series.verify(ledger=True).ok


def test_people_are_one_through_a_question_on_every_way(tmp_path: Path) -> None:
    series = sf.Series.start(tmp_path / "m", SCHEMA, sf.DistinctLDiversity(2), table=table(some(0)), way="m-invariance")
    with pytest.raises(sf.InputError, match="differ from another only in capitals"):
        series.republish(table(some(0, form="p {}")))
    assert series.republish(table(some(0, form="p {}")), key_form="fold").number == 2
    assert series.republish(table(some(0))).number == 3
    tags = [set(each.tags.to_list()) for each in ledger_kept(series).people()]
    assert tags[0] == tags[1] == tags[2]
    grown = sf.Series.start(tmp_path / "g", SCHEMA, sf.KAnonymity(3), table=table(some(0)), way="grow")
    with pytest.raises(sf.InputError, match="differ from another only in capitals"):
        grown.grow(table(some(0, form="p {}")))
    assert grown.grow(table(some(0, form="p {}")), key_form="exact").number == 2


def test_who_waits_is_asked_about_and_may_withdraw(tmp_path: Path) -> None:
    series = started(tmp_path, some(0))
    assert series.append(table(["Q 1"])).waiting == 1
    assert "blanks" in refused(series, ["Q1", *some(100)])
    with pytest.raises(sf.InputError, match="differ from another only in capitals"):
        series.withdraw(["q 1"])
    assert series.withdraw(["q 1"], key_form="fold").waiting == 0
    # Nothing of them is left.
    assert series.append(table(["Q1", *some(100)])).number == 2


def test_the_command_line_asks_and_takes_the_answer(tmp_path: Path) -> None:
    series = started(tmp_path, some(0))
    file = write_csv(tmp_path / "b.csv", table([*some(100), "p 2"]).rows())
    asked = CliRunner().invoke(app, ["series", "append", str(series.folder), str(file)])
    assert asked.exit_code == 2
    assert "key-form fold" in asked.output
    done = CliRunner().invoke(app, ["series", "append", str(series.folder), str(file), "--key-form", "exact"])
    assert done.exit_code == 0, done.output


def test_keys_of_new_ledgers_are_hashed_and_encrypted_with_the_ledger(tmp_path: Path) -> None:
    series = started(tmp_path, ["Anna Maria", *some(0)])
    said = json.loads((series.ledger / "ledger.json").read_text())
    assert (said["format"], said["key-rule"]) == (2, "asked")
    (file,) = series.ledger.glob("keys-*")
    spelled = pl.read_parquet(file)
    assert all(dtype == pl.Binary for dtype in spelled.dtypes)
    assert b"nna" not in file.read_bytes()
    assert spelled["tag"].is_sorted()


@pytest.mark.parametrize("name", ["first", "ways", "people", "folded", "grow", "invariant"])
def test_series_of_earlier_versions_go_on_by_their_rule(name: str, tmp_path: Path) -> None:
    with tarfile.open(EARLIER) as archive:
        archive.extractall(tmp_path, filter="data")
    series = sf.Series.open(tmp_path / name / "s")
    go = {"grow": series.grow, "invariant": series.republish}.get(name, series.append)
    before, names = len(series.releases), some(300)
    assert go(table(names)).number == before + 1
    if name != "invariant":
        with pytest.raises(sf.InputError, match="6 people of 6 are in an earlier release"):
            go(table(names))
    with pytest.raises(sf.PolicyError, match="started by an earlier version"):
        go(table(some(400)), key_form="exact")
    other = table(some(300, form="p {}"))
    if name == "folded":
        with pytest.raises(sf.InputError, match="6 people of 6 are in an earlier release"):
            go(other)
    else:
        assert go(other).number == before + 2
    said = json.loads((series.ledger / "ledger.json").read_text())
    assert said["format"] == 1
    assert "key-rule" not in said
    assert "keys" not in said["state"]
    assert not [*series.ledger.glob("keys-*")]
    assert series.verify(ledger=True).ok


def test_attacks_on_series_ask_too(tmp_path: Path) -> None:
    tables = [table(["A1", *some(0)]), table(["a1", *some(0)])]
    files = [write_csv(tmp_path / f"{number}.csv", each.rows()) for number, each in enumerate(tables)]
    releases = []
    for number, each in enumerate(tables):
        releases.append(tmp_path / f"r{number}")
        sf.anonymize(sf.read_table(each, SCHEMA), [sf.KAnonymity(3), sf.DistinctLDiversity(2)]).save(releases[-1])
    with pytest.raises(sf.InputError, match="2 differ from another only in capitals"):
        attack_with_keys(releases, files, "name")
    people = {
        form: attack_with_keys(releases, files, "name", key_form=form).played[-1].cases for form in ("fold", "exact")
    }
    assert people == {"fold": 7, "exact": 6}
    words = [*map(str, releases), "--key", "name", "--original", str(files[0]), "--original", str(files[1])]
    assert CliRunner().invoke(app, ["attack", "--kind", "series", *words]).exit_code == 2
    assert CliRunner().invoke(app, ["attack", "--kind", "series", *words, "--key-form", "fold"]).exit_code in (0, 1)
