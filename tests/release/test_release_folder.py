"""Saving: the folder is whole or not there, whatever happens in between."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.release import table_files as files_module
from sfumato.release import transaction
from sfumato.release.transaction import check_target
from sfumato.table import writing as writing_module

FILES = {"release.json", "report.json", "report.txt", "policy.toml"}


def made(k: int = 2, rows: int = 60) -> sf.Release:
    frame = pl.DataFrame({"age": [20 + i % 7 for i in range(rows)], "disease": ["flu", "cold", "gout"] * (rows // 3)})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease"]))
    return sf.anonymize(table, [sf.KAnonymity(k)], seed=1)


@pytest.fixture(scope="module")
def release() -> sf.Release:
    return made()


@pytest.fixture(scope="module")
def other() -> sf.Release:
    return made(k=9)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_folder_holds_the_release_and_nothing_else(release, tmp_path, format):
    saved = release.save(tmp_path / "out", format=format)
    assert saved == tmp_path / "out"
    assert set(os.listdir(saved)) == FILES | {f"data.{format}"}
    assert os.listdir(tmp_path) == ["out"]
    described = json.loads((saved / "release.json").read_text())
    assert described["kind"] == "generalized-table"
    assert described["structure"] == {"quasi_identifying": ["age"], "sensitive": ["disease"]}
    told = described["tables"]["data"]
    assert (told["file"], told["rows"], told["columns"]) == (f"data.{format}", 60, ["age", "disease"])
    assert described["models"] == [{"name": "k-anonymity", "k": 2}]
    assert json.loads((saved / "report.json").read_text()) == release.report.for_release().to_dict()
    assert (saved / "report.txt").read_text() == f"{release.report.for_release()}\n"


def test_json_is_plain_json(release, tmp_path):
    def refuse(word: str) -> None:
        raise AssertionError(word)

    saved = release.save(tmp_path / "out")
    for name in ("release.json", "report.json"):
        json.loads((saved / name).read_text(), parse_constant=refuse)


def test_an_unknown_format_is_refused(release, tmp_path):
    with pytest.raises(sf.PolicyError, match="csv"):
        release.save(tmp_path / "out", format="docx")
    assert os.listdir(tmp_path) == []


def test_an_empty_folder_may_be_the_target(release, tmp_path):
    (tmp_path / "out").mkdir()
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok


def test_a_relative_path_and_one_with_dots(release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    release.save("out")
    release.save(Path("out") / ".." / "second")
    assert sorted(os.listdir(tmp_path)) == ["out", "second"]


def test_a_release_is_replaced_only_when_asked(release, other, tmp_path):
    target = release.save(tmp_path / "out")
    before = content(target)
    with pytest.raises(sf.InputError, match="overwrite"):
        other.save(target)
    assert content(target) == before
    other.save(target, overwrite=True)
    assert content(target) != before
    assert sf.verify(target).ok
    assert os.listdir(tmp_path) == ["out"]


def test_nothing_of_the_replaced_release_stays(release, tmp_path):
    target = release.save(tmp_path / "out", format="parquet")
    (target / "note.txt").write_text("mine")
    release.save(target, format="csv", overwrite=True)
    assert set(os.listdir(target)) == FILES | {"data.csv"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_no_release_is_never_replaced(release, tmp_path, overwrite):
    letters = tmp_path / "letters"
    letters.mkdir()
    (letters / "letter.txt").write_text("dear")
    with pytest.raises(sf.InputError, match="not a release"):
        release.save(letters, overwrite=overwrite)
    with pytest.raises(sf.InputError, match="is a file"):
        release.save(letters / "letter.txt", overwrite=overwrite)
    with pytest.raises(sf.InputError, match="no such folder"):
        release.save(tmp_path / "missing" / "out", overwrite=overwrite)
    with pytest.raises(sf.InputError):
        release.save("/", overwrite=overwrite)
    assert content(letters) == {"letter.txt": b"dear"}


UNPORTABLE = {
    "CON": r"is the name of a device \(CON\)",
    "nul.csv": r"is the name of a device \(NUL\)",
    "Com1 .x": r"is the name of a device \(COM1\)",
    "lpt¹": "is the name of a device",
    "week:1": "holds a colon, a line end",
    "a\\b": "holds a colon, a line end",
    "what?": "holds a colon, a line end",
    "out\n": "holds a colon, a line end",
    "a\tb": "holds a colon, a line end",
    "a\u2028b": "holds a colon, a line end",
    "out ": "ends in a blank or a dot",
    "out.": "ends in a blank or a dot",
    "out\u00a0": "ends in a blank or a dot",
}


@pytest.mark.parametrize("name", UNPORTABLE, ids=repr)
def test_names_that_no_other_system_can_hold_are_refused(release, tmp_path, name):
    with pytest.raises(sf.InputError, match=UNPORTABLE[name]) as told:
        release.save(tmp_path / name)
    assert "\n" not in str(told.value)
    with pytest.raises(sf.InputError, match=UNPORTABLE[name]):
        sf.Series.start(tmp_path / name, sf.Schema(quasi_identifying=["age"], identifying=["id"]), sf.KAnonymity(2))
    assert not list(tmp_path.iterdir())
    # What an earlier version has written opens, and may be replaced.
    old = release.save(tmp_path / "plain").rename(tmp_path / name)
    assert sf.verify(old).ok
    assert sf.verify(release.save(old, overwrite=True)).ok


@pytest.mark.parametrize("name", ["console", "nullable.csv", "com10", "größe", ".hidden", "a.b", "2026-01"])
def test_names_like_these_are_fine(release, tmp_path, name):
    assert sf.verify(release.save(tmp_path / name)).ok


def test_tables_with_such_names_are_refused(release, tmp_path):
    class Named(type(release.published)):
        tables = property(lambda self: {"con": self.data})

    fields = dataclasses.fields(release.published)
    own = Named(**{field.name: getattr(release.published, field.name) for field in fields})
    with pytest.raises(sf.InputError, match="table 'con': its file name is the name of a device"):
        files_module.write_tables(own, tmp_path, "csv")


def test_names_that_the_system_refuses_are_an_input_error(release, tmp_path):
    with pytest.raises(sf.InputError):
        release.save(tmp_path / ("x" * 250))
    with pytest.raises(sf.InputError):
        release.save(tmp_path / ("x" * 300))
    with pytest.raises(sf.InputError):
        release.save(f"{tmp_path}/a\0b")
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    with pytest.raises(sf.InputError):
        release.save(tmp_path / "nowhere")
    assert os.listdir(tmp_path) == ["nowhere"]


# what can go wrong while writing


def failing(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise error

    return fail


class HalfOfLines:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def blocks(self, threads: int) -> Iterator[bytes]:
        yield b"half of i"
        raise self.error


def break_lines(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    monkeypatch.setattr(writing_module, "MANY", 0)
    monkeypatch.setattr(writing_module, "label_lines", lambda _: HalfOfLines(error))


def break_write(name: str) -> Callable[[pytest.MonkeyPatch, BaseException], None]:
    def arrange(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
        write = Path.write_bytes

        def write_bytes(self: Path, *words: Any, **more: Any) -> int:
            if self.name == name:
                write(self, b"half of i")
                raise error
            return write(self, *words, **more)

        monkeypatch.setattr(Path, "write_bytes", write_bytes)

    return arrange


def break_rename(number: int) -> Callable[[pytest.MonkeyPatch, BaseException], None]:
    def arrange(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
        rename, calls = Path.rename, []

        def counted(self: Path, target: Path) -> Path:
            calls.append(target)
            if len(calls) == number:
                raise error
            return rename(self, target)

        monkeypatch.setattr(transaction, "exchanged", lambda one, other: False)
        monkeypatch.setattr(Path, "rename", counted)

    return arrange


STEPS: dict[str, Callable[[pytest.MonkeyPatch, BaseException], None]] = {
    "mkdir": lambda patch, error: patch.setattr(Path, "mkdir", failing(error)),
    "data": lambda patch, error: patch.setattr(files_module, "write_data", failing(error)),
    "half of the data": break_lines,
    **{name: break_write(name) for name in sorted(FILES)},
    "sync": lambda patch, error: patch.setattr(os, "fsync", failing(error)),
    "first rename": break_rename(1),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_refuses_leaves_nothing_behind(release, tmp_path, step, number):
    target = tmp_path / "out"
    with pytest.MonkeyPatch.context() as patch:
        STEPS[step](patch, OSError(number, os.strerror(number), str(tmp_path / "secret-name")))
        with pytest.raises(sf.InputError, match=os.strerror(number)) as caught:
            release.save(target)
    assert caught.value.__suppress_context__
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("step", [*STEPS, "second rename"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt(), MemoryError()])
def test_whatever_happens_the_old_release_stays_whole(release, other, tmp_path, step, error):
    target = release.save(tmp_path / "out")
    before = content(target)
    with pytest.MonkeyPatch.context() as patch:
        (STEPS | {"second rename": break_rename(2)})[step](patch, error)
        with pytest.raises((sf.InputError, KeyboardInterrupt, MemoryError)):
            other.save(target, overwrite=True)
    assert content(target) == before
    assert os.listdir(tmp_path) == ["out"]
    assert sf.verify(target).ok


def test_an_interruption_right_after_the_last_rename_leaves_the_new_release(release, other, tmp_path, monkeypatch):
    target = release.save(tmp_path / "out")
    rename, calls = Path.rename, []

    def then_stop(self: Path, to: Path) -> Path:
        calls.append(rename(self, to))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return calls[-1]

    with monkeypatch.context() as patch:
        patch.setattr(transaction, "exchanged", lambda one, other: False)
        patch.setattr(Path, "rename", then_stop)
        with pytest.raises(KeyboardInterrupt):
            other.save(target, overwrite=True)
    assert content(target) == content(other.save(tmp_path / "same"))
    assert sorted(os.listdir(tmp_path)) == ["out", "same"]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Have the system itself refuse to let any file grow beyond `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("size", [0, 1, 100, 550])
def test_files_that_cannot_grow_leave_nothing_behind(release, tmp_path, format, size):
    failure = None
    with largest_file(size):
        try:
            release.save(tmp_path / "out", format=format)
        except sf.InputError as error:
            failure = error
    assert failure is not None
    assert os.listdir(tmp_path) == []


PROGRAM = """
import os, signal, sys
from pathlib import Path
import polars as pl
import sfumato as sf
from sfumato.release import table_files, transaction
from sfumato.table import writing

step, target = sys.argv[1], sys.argv[2]
frame = pl.DataFrame({"age": [1, 2, 3, 4] * 10, "disease": ["flu", "cold"] * 20})
table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease"]))
made = sf.anonymize(table, [sf.KAnonymity(3)], seed=1)

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if step == "json":
    table_files._as_json = die
elif step == "sync":
    transaction._sync = die
elif step == "hash":
    writing.sha256_of = die
else:
    transaction.exchanged = lambda *_: False
    rename, calls = Path.rename, []
    def counted(self, to):
        calls.append(to)
        return die() if len(calls) == int(step) else rename(self, to)
    Path.rename = counted
made.save(target, overwrite=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
@pytest.mark.parametrize(
    "step", ["hash", *(pytest.param(step, marks=pytest.mark.slow) for step in ("json", "sync", "1")), "2"]
)
def test_a_kill_leaves_the_old_release_whole_or_no_release(release, tmp_path, step):
    target = release.save(tmp_path / "out")
    before = content(target)
    source = str(Path(sf.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, step, str(target)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = [path for path in tmp_path.iterdir() if path.name.startswith(".out.")]
    after = before
    if step == "2":
        # Between the two renames there is none under the name; both are whole beside it.
        assert not target.exists()
        assert content(left[0] / "old") == before
        after = content(left[0] / "new")
    else:
        assert content(target) == before
    assert left
    # The next run finishes what was decided or puts the old release back, and leaves nothing else.
    with pytest.raises(sf.InputError, match="already holds a release"):
        release.save(target)
    assert content(target) == after
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("address", ["s3://KEY:SECRET@bucket/out", "abfss://name@store/out", "C:/nowhere/out"])
def test_an_address_of_a_store_is_no_folder(address):
    with pytest.raises(sf.InputError) as refused:
        check_target(Path(address), overwrite=False)
    assert ("address of a store" in str(refused.value)) == (address[0] != "C")
    assert "SECRET" not in str(refused.value)


def test_the_check_before_the_work_agrees_with_the_writing(tmp_path):
    check_target(tmp_path / "new", overwrite=False)
    with pytest.raises(sf.InputError):
        check_target(tmp_path / "a" / "b", overwrite=True)
