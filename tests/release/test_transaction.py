"""A run with people is killed at each step: release and audit file agree after one more command, nothing is left."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.release.audit import folder_with_audit
from sfumato.release.transaction import interrupted, settle

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked there")

EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "shutil.rmtree", "ctypes.dlsym")
KILLED = 77


def release_of(shift: int) -> sf.Release:
    frame = pl.DataFrame(
        {
            "who": [row // 2 for row in range(40)],
            "age": [row // 2 % 4 + shift for row in range(40)],
            "disease": ["flu", "cold"] * 20,
        }
    )
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["disease"], person="who")
    return sf.anonymize(sf.read_table(frame, schema), [sf.KAnonymity(3)], seed=1)


def killed(new: dict[str, bytes], place: Path, step: int) -> bool:
    """Write a release that is ready in a child that dies before its file operation of a number; tell whether it did."""
    if not (child := os.fork()):
        left = [step]

        def counting(event: str, arguments: tuple[object, ...]) -> None:
            if event in EVENTS:
                left[0] -= 1
                if left[0] == -1:
                    os._exit(KILLED)

        sys.addaudithook(counting)
        # No threads are in a forked child, so that it only writes bytes.
        with folder_with_audit(place / "out", place / "private" / "who.json", overwrite=True) as (part, secret):
            for name, content in new.items():
                (secret if name == "audit" else part / name).write_bytes(content)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED


def settled_everywhere(base: Path, every: int, named: str) -> list[bytes]:
    old, new = release_of(0), release_of(7)
    new.save(base / "new", audit=base / "new.json")
    ready = {path.name: path.read_bytes() for path in (base / "new").iterdir()}
    ready["audit"] = (base / "new.json").read_bytes()
    marks = []
    for step in range(0, 5000, every):
        place = base / str(step)
        (place / "private").mkdir(parents=True)
        old.save(place / "out", audit=place / "private" / "who.json")
        went_on = killed(ready, place, step)
        # A kill leaves one release or the other; what is left is in folders of their owner alone.
        assert sf.verify(place / "out").ok
        holders = [path for path in place.rglob(".*.part") if path.parent in (place, place / "private")]
        assert all(path.stat().st_mode & 0o777 == 0o700 for path in holders)
        assert (interrupted(place / "out") is None) or holders
        settle(place / ("out" if named == "folder" else "private/who.json"))
        settle(place / ("out" if named == "folder" else "private/who.json"))
        assert sf.verify(place / "out", audit=place / "private" / "who.json").ok
        names = sorted(os.listdir(place)) + os.listdir(place / "private")
        assert names == ["out", "private", "who.json"], (step, names)
        marks.append((place / "out" / "release.json").read_bytes())
        if not went_on:
            return marks
    raise AssertionError("the run never ended")


@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_release_and_audit_file_agree_after_any_kill(tmp_path, every):
    marks = settled_everywhere(tmp_path, every, "folder")
    print(len(marks), "points")
    assert len(set(marks)) == 2
