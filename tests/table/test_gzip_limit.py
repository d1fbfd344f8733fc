"""A small gzip file that unpacks to much is refused before it fills the memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato as sf

UNPACK_LIMIT = "SFUMATO_UNPACK_LIMIT"

SCHEMA = sf.Schema(quasi_identifying=["age"], others="drop")
LINE = b"20,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"


def packed(path: Path, size: int, parts: int = 1) -> Path:
    part = LINE * (size // len(LINE) // parts)
    path.write_bytes(gzip.compress(b"age,note\n") + gzip.compress(part) * parts)
    return path


def test_a_bomb_is_refused_with_advice(tmp_path):
    path = packed(tmp_path / "bomb.csv.gz", 200 << 20, parts=20)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(sf.InputError, match=f"unpacks to more than [0-9]+ MB.*{UNPACK_LIMIT}"):
        sf.read_table(path, SCHEMA)


def test_a_bomb_in_a_release_does_not_fill_the_memory_of_its_reader(tmp_path):
    program = (
        "import resource, sys; import sfumato as sf; from sfumato.table.sources.text_files import CsvFile\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "try:\n    CsvFile(open(sys.argv[1], 'rb').read(), 'gzip').content\n"
        "except sf.InputError as error:\n    print(error)"
    )
    path = packed(tmp_path / "bomb.csv.gz", 4 << 30, parts=400) if sys.platform == "linux" else None
    if path is None:
        pytest.skip("memory is not limited there")
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert "unpacks to more than" in done.stdout


def test_the_limit_can_be_set(tmp_path, monkeypatch):
    path = packed(tmp_path / "table.csv.gz", 3 << 20)
    assert sf.read_table(path, SCHEMA).height == (3 << 20) // len(LINE)
    monkeypatch.setenv(UNPACK_LIMIT, "2")
    with pytest.raises(sf.InputError, match="more than 2 MB"):
        sf.read_table(path, SCHEMA)
    monkeypatch.setenv(UNPACK_LIMIT, "4")
    assert sf.read_table(path, SCHEMA).height


@pytest.mark.parametrize("said", ["", "0", "-1", "x", "1.5", "²"])
def test_a_limit_that_is_none(said, tmp_path, monkeypatch):
    path = packed(tmp_path / "table.csv.gz", 1 << 10)
    monkeypatch.setenv(UNPACK_LIMIT, said)
    with pytest.raises(sf.InputError, match="whole number of MB"):
        sf.read_table(path, SCHEMA)


def test_parts_are_read_one_after_the_other_and_a_cut_off_one_is_damaged(tmp_path):
    path = packed(tmp_path / "table.csv.gz", 1 << 16, parts=7)
    assert sf.read_table(path, SCHEMA).height == 7 * ((1 << 16) // len(LINE) // 7)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(sf.InputError, match="damaged or cut off"):
        sf.read_table(path, SCHEMA)
