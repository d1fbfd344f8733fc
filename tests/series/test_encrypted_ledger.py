"""The ledger encrypted at rest: nothing of it can be read without the key, and nothing is changed unseen."""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from series.tables import SCHEMA, people, write_csv
from sfumato.cli.app import app
from sfumato.series import private_files
from sfumato.series.private_files import MARK, write_new_key

pytest.importorskip("cryptography", reason="cryptography is not installed; pip install 'sfumato[encryption]'")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    write_new_key(tmp_path / "the.key")
    return tmp_path / "the.key"


def started(folder: Path, key: Path, way: str) -> sf.Series:
    first = write_csv(folder / "first.csv", people(20))
    made = sf.Series.start(folder / "s", SCHEMA, sf.KAnonymity(3), table=first, ledger_key=key, way=way)
    step(made, write_csv(folder / "b.csv", people(2, first=100)))
    return made


@pytest.fixture
def series(tmp_path: Path, key: Path) -> sf.Series:
    return started(tmp_path, key, "append")


def step(series: sf.Series, table: Path) -> object:
    way = json.loads((series.folder / "series.json").read_text())["way"]
    return getattr(series, way)(table)


def more(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "more.csv", people(10, first=400))


def stored(folder: Path) -> Iterator[Path]:
    yield from (path for path in folder.iterdir() if path.name != "lock")


def refused(series: sf.Series, table: Path) -> str:
    before = {path: path.read_bytes() for path in stored(series.ledger)}
    with pytest.raises((sf.InputError, sf.VerificationError)) as caught:
        step(series, table)
    assert {path: path.read_bytes() for path in stored(series.ledger)} == before
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize("way", ["append", "grow"])
def test_every_file_of_it_is_encrypted(way: str, key: Path, tmp_path: Path) -> None:
    series = started(tmp_path, key, way)
    secret = base64.urlsafe_b64decode(key.read_text())
    files = list(stored(series.ledger))
    assert {path.name.split("-")[0] for path in files} >= {"ledger.json", "people", "waiting"}
    for path in files:
        content = path.read_bytes()
        assert content.startswith(MARK)
        # Parquet, JSON and the values of columns would show in it.
        assert not any(word in content for word in (b"PAR1", b'"series"', b"disease", b"gout", secret))
    assert step(series, more(tmp_path)).number == 2  # type: ignore[attr-defined]
    assert all(path.read_bytes().startswith(MARK) for path in stored(series.ledger))
    assert series.verify(ledger=True).ok


def test_what_is_written_meanwhile_is_encrypted_too(
    series: sf.Series, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Temporary files are looked at when the system is asked to put them on the disk."""
    seen, real = list[bytes](), os.fsync

    def look(descriptor: int) -> None:
        seen.extend(path.read_bytes() for path in series.ledger.glob(".*.part"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    step(series, more(tmp_path))
    assert len(seen) >= 3
    assert all(content.startswith(MARK) for content in seen)


def test_no_nonce_twice(series: sf.Series, tmp_path: Path) -> None:
    step(series, more(tmp_path))
    place = slice(len(MARK) + 8, len(MARK) + 20)
    nonces = [path.read_bytes()[place] for path in stored(series.ledger)]
    assert len(set(nonces)) == len(nonces)


def test_the_key_is_nowhere_else(series: sf.Series, key: Path) -> None:
    text, secret = key.read_bytes().strip(), base64.urlsafe_b64decode(key.read_text())
    for folder in (series.folder, series.ledger):
        for path in folder.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                assert text not in content
                assert secret not in content
                assert secret.hex().encode() not in content
    assert secret.hex() not in repr(private_files.cipher_of(key))
    assert repr(secret) not in repr(private_files.cipher_of(key))


@pytest.mark.skipif(sys.platform == "win32", reason="files have no modes there")
def test_its_owner_alone_may_read_the_key(key: Path) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_without_the_key(series: sf.Series, tmp_path: Path) -> None:
    plain = sf.Series.open(series.folder)
    said = refused(plain, more(tmp_path))
    assert said.startswith(f"{series.ledger}: the ledger is encrypted; give its key with ledger_key=")
    assert plain.verify().ok
    with pytest.raises(sf.InputError, match="the ledger is encrypted"):
        plain.verify(ledger=True)


def test_with_another_key(series: sf.Series, tmp_path: Path) -> None:
    write_new_key(tmp_path / "other.key")
    other = sf.Series.open(series.folder, ledger_key=tmp_path / "other.key")
    assert refused(other, more(tmp_path)) == f"{series.ledger}: the ledger is encrypted with another key; give that one"


@pytest.mark.parametrize("place", [len(MARK) + 9, -1, "cut", "empty"])
def test_a_changed_ledger(place: int | str, series: sf.Series, tmp_path: Path) -> None:
    file = series.ledger / "ledger.json"
    content = bytearray(file.read_bytes())
    if isinstance(place, int):
        content[place] ^= 1
    else:
        content = content[: {"cut": 60, "empty": len(MARK) + 8}[place]]
    file.write_bytes(content)
    assert "ledger.json is damaged; the releases stand" in refused(series, more(tmp_path))


@pytest.mark.parametrize("stem", ["people", "waiting"])
def test_a_changed_file(stem: str, series: sf.Series, tmp_path: Path) -> None:
    file = next(series.ledger.glob(f"{stem}-*"))
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert f"{file.name} was changed or is damaged" in refused(series, more(tmp_path))


def test_an_encrypted_ledger_is_not_exchanged_for_a_plain_one(tmp_path: Path, key: Path) -> None:
    plain = sf.Series.start(tmp_path / "p", SCHEMA, sf.KAnonymity(3), table=write_csv(tmp_path / "p.csv", people(9)))
    with_key = sf.Series.open(plain.folder, ledger_key=key)
    assert "this ledger is not encrypted; leave the key out, or encrypt it" in refused(with_key, more(tmp_path))


def test_a_plain_ledger_goes_on_and_can_be_encrypted(tmp_path: Path, key: Path) -> None:
    plain = sf.Series.start(tmp_path / "p", SCHEMA, sf.KAnonymity(3), table=write_csv(tmp_path / "p.csv", people(9)))
    assert plain.append(write_csv(tmp_path / "q.csv", people(2, first=50))).waiting == 2
    before = {path.name for path in stored(plain.ledger)}
    sealed = plain.encrypt(key)
    assert all(path.read_bytes().startswith(MARK) for path in stored(plain.ledger))
    assert {path.name for path in stored(plain.ledger)} & before == {"ledger.json"}
    assert sealed.append(more(tmp_path)).published == 12
    assert sealed.verify(ledger=True).ok


def test_the_key_is_changed(series: sf.Series, tmp_path: Path) -> None:
    write_new_key(tmp_path / "next.key")
    changed = series.encrypt(tmp_path / "next.key")
    assert "encrypted with another key" in refused(series, more(tmp_path))
    assert step(changed, more(tmp_path)).number == 2  # type: ignore[attr-defined]
    assert changed.verify(ledger=True).ok


@pytest.mark.parametrize("calls", [0, 2, 3])
def test_a_kill_while_the_key_is_changed(
    calls: int, series: sf.Series, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the change of ledger.json the old key opens everything, after it the new one."""
    write_new_key(tmp_path / "next.key")
    real, left = os.replace, [calls]

    def killed(part: str, path: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        real(part, path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        try:
            series.encrypt(tmp_path / "next.key")
            ended = True
        except KeyboardInterrupt:
            ended = False
    now = sf.Series.open(series.folder, ledger_key=tmp_path / "next.key") if ended else series
    assert now.verify(ledger=True).ok
    assert step(now, more(tmp_path)).number == 2  # type: ignore[attr-defined]
    known = {path.name.split("-")[0] for path in stored(series.ledger)}
    assert known <= {"ledger.json", "people", "kept", "keys"}


def test_the_settings_give_a_key(tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(private_files.KEY_FILE_SETTING, str(key))
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3), table=write_csv(tmp_path / "a.csv", people(9)))
    assert (series.ledger / "ledger.json").read_bytes().startswith(MARK)
    monkeypatch.delenv(private_files.KEY_FILE_SETTING)
    monkeypatch.setenv(private_files.KEY_SETTING, key.read_text())
    assert series.append(more(tmp_path)).number == 2


@pytest.mark.parametrize("text", ["", "hunter2", "QUJD", base64.b64encode(b"k" * 31).decode(), "ä" * 43 + "="])
def test_what_is_no_key(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad.key").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sf.InputError) as caught:
        private_files.cipher_of("bad.key")
    (problem,) = caught.value.problems
    assert problem.endswith("make one with sfumato series new-key")
    assert text not in problem or not text
    if text:
        monkeypatch.setenv(private_files.KEY_SETTING, text)
        with pytest.raises(sf.InputError, match="SFUMATO_LEDGER_KEY: is no key of a ledger"):
            private_files.cipher_of()
    with pytest.raises(sf.InputError, match="cannot be read"):
        private_files.cipher_of(tmp_path / "none.key")


def test_a_key_in_a_folder_that_it_protects(tmp_path: Path, key: Path) -> None:
    table = write_csv(tmp_path / "a.csv", people(9))
    with pytest.raises(sf.InputError, match="keep it elsewhere"):
        sf.Series.start(
            tmp_path / "s",
            SCHEMA,
            sf.KAnonymity(3),
            table=table,
            ledger=tmp_path / "l",
            ledger_key=tmp_path / "l" / "k",
        )
    plain = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3), table=table)
    shutil.copy(key, plain.ledger / "the.key")
    with pytest.raises(sf.InputError, match="keep it elsewhere"):
        plain.encrypt(plain.ledger / "the.key")


def test_without_the_library(tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(sf.InputError, match=r"install it with: pip install 'sfumato\[encryption\]'"):
        private_files.cipher_of(key)


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "a.csv", people(9))
    write_csv(tmp_path / "b.csv", people(9, first=50))

    def run(*words: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, [*(["series"] if words[0] != "verify" else []), *words], prog_name="sfumato")
        assert result.exit_code == code, result.output
        return " ".join(result.output.split())

    assert "key written to one.key" in run("new-key", "one.key")
    assert "is there already; a key is never replaced" in run("new-key", "one.key", code=2)
    columns = ("--identifying", "name", "--quasi", "age,city", "--sensitive", "disease", "-k", "3", "--quiet")
    run("start", "s", "a.csv", *columns, "--ledger-key", "one.key")
    assert "the ledger is encrypted" in run("append", "s", "b.csv", code=2)
    run("append", "s", "b.csv", "--ledger-key", "one.key", "--quiet")
    run("new-key", "two.key")
    assert "s.ledger is encrypted" in run("encrypt", "s", "--ledger-key", "one.key", "--new-key", "two.key")
    assert "9 newcomers" in run("show", "s", "--ledger-key", "two.key")
    assert "attested by the ledger" in run("verify", "s", "--ledger", "s.ledger", "--ledger-key", "two.key")
