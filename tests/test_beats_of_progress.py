"""Progress of work that says nothing for long: who waits is called back, may stop it, and gets its result or error."""

from __future__ import annotations

import sys
import threading

import polars as pl
import pytest

import sfumato as sf
from sfumato.progress import BEAT, beating, shown, silent


def test_silent_work_is_told_of_until_it_is_done():
    told: list[tuple[str, int, int]] = []
    enough = threading.Event()

    def progress(what: str, done: int, total: int) -> None:
        told.append((what, done, total))
        if len(told) == 3:
            enough.set()

    def work(tell):
        tell("first", 1, 2)
        # It says nothing more until three calls have come.
        assert enough.wait(20 * BEAT)
        return "result"

    assert beating(progress, "nothing yet", work) == "result"
    assert told[-2:] == [("first", 1, 2)] * 2


def test_the_callback_is_called_in_the_thread_of_the_caller_and_may_stop_the_work():
    began, goes_on, ended = threading.Event(), threading.Event(), threading.Event()

    def progress(what: str, done: int, total: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        assert began.wait(20)
        raise KeyboardInterrupt

    def work(tell):
        began.set()
        assert goes_on.wait(20)
        try:
            tell("later", 1, 2)
        finally:
            ended.set()
        pytest.fail("work that nobody waits for goes on")

    with pytest.raises(KeyboardInterrupt):
        beating(progress, "working", work)
    goes_on.set()
    assert ended.wait(20)


def test_an_error_of_the_work_is_the_callers():
    def work(tell):
        raise sf.InputError("no")

    with pytest.raises(sf.InputError, match="no"):
        beating(lambda *told: None, "working", work)


@pytest.mark.parametrize("nobody", [silent, shown])
def test_where_nobody_listens_no_thread_is_made(nobody, monkeypatch):
    # Another test may have loaded it, and then there may be a notebook.
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert beating(nobody, "working", lambda tell: threading.current_thread()) is threading.current_thread()


def test_reading_risk_and_recounting_tell_and_return_the_same(tmp_path):
    told: list[str] = []

    def progress(what: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        told.append(what)

    path = tmp_path / "people.csv"
    pl.DataFrame({"age": [20, 20, 30, 30], "sick": ["flu", "cold", "flu", "cold"]}).write_csv(path)
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["sick"])
    table = sf.read_table(path, schema, progress=progress)
    assert table.frame.to_dicts() == sf.read_table(path, schema).frame.to_dicts()
    assert sf.risk(table, progress=progress).to_dict() == sf.risk(table).to_dict()
    folder = tmp_path / "release"
    sf.anonymize(table, sf.KAnonymity(2)).save(folder)
    assert str(sf.verify(folder, progress=progress)) == str(sf.verify(folder))
    policy = sf.Policy.from_file(folder / "policy.toml")
    assert sf.read_table(path, policy, progress=progress).frame.to_dicts() == table.frame.to_dicts()
    # A step that is over at once may be passed over, as only the last one that was told is passed on.
    steps = {"opening", "reading", "classes", "special uniques", "combinations", "leaving columns out", "recounting"}
    assert {*told} <= steps


@pytest.mark.parametrize("verb", ["read_table", "risk", "verify"])
def test_a_callback_that_raises_ends_a_verb(verb, tmp_path, monkeypatch):
    class EnoughError(Exception):
        pass

    def progress(what: str, done: int, total: int) -> None:
        raise EnoughError

    path = tmp_path / "people.csv"
    pl.DataFrame({"age": [20, 20, 30, 30] * 5_000}).write_csv(path)
    schema = sf.Schema(quasi_identifying=["age"])
    table = sf.read_table(path, schema)
    folder = tmp_path / "release"
    sf.anonymize(table, sf.KAnonymity(2)).save(folder)
    # Work so short that it may be over before anybody is called is held up here.
    monkeypatch.setattr("sfumato.progress._do", lambda work, beats, done: beats.told.set())
    calls = {
        "read_table": lambda: sf.read_table(path, schema, progress=progress),
        "risk": lambda: sf.risk(table, progress=progress),
        "verify": lambda: sf.verify(folder, progress=progress),
    }
    with pytest.raises(EnoughError):
        calls[verb]()
