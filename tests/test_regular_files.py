"""Files beside a table are regular files of a bounded size; anything else is refused in words, and nothing waits."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.evaluation.attacks.play import read_frame
from sfumato.hierarchy.level_table import read_hierarchy
from sfumato.kinds.private.ledger import PrivacyLedger
from sfumato.policy.file import read_policy
from sfumato.series.private_files import cipher_of
from sfumato.studio.project import Project
from sfumato.table.large.batches import opened_file
from sfumato.table.reading import read_population
from sfumato.whole_files import MOST_BYTES, read_regular

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes are no files there")

_READERS = (read_policy, read_hierarchy, PrivacyLedger.read, cipher_of)


def _policy() -> sf.Policy:
    models = [{"name": "k-anonymity", "k": 2}]
    return sf.Policy.from_mapping({"columns": {"quasi-identifying": ["age"]}, "models": models})


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def _socket(folder: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as heard:
        heard.bind(str(folder / "s"))
    return folder / "s"


def _huge(folder: Path) -> Path:
    with (folder / "huge").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    return folder / "huge"


def _loop(folder: Path) -> Path:
    (folder / "loop").symlink_to("loop")
    return folder / "loop"


@pytest.mark.parametrize("reader", _READERS, ids=lambda reader: reader.__qualname__)
@pytest.mark.parametrize(
    ("made", "word"),
    [
        (lambda _: Path("/dev/zero"), "device"),
        (_pipe, "pipe"),
        (_socket, "socket"),
        (_huge, "bytes"),
        (lambda folder: folder, "directory"),
        (_loop, "link"),
    ],
)
def test_no_reader_waits_for_what_is_no_file(
    reader: Callable[[Path], object], made: Callable[[Path], Path], word: str, tmp_path: Path
) -> None:
    with pytest.raises(SfumatoError, match=f"(?s)cannot be read.*{word}"):
        reader(made(tmp_path))


@pytest.mark.parametrize("made", [lambda _: Path("/dev/zero"), _pipe, _socket])
def test_no_table_is_read_for_ever(made: Callable[[Path], Path], tmp_path: Path) -> None:
    place, schema = made(tmp_path), sf.Schema(quasi_identifying=["age"])
    table = sf.read_table(pl.DataFrame({"age": [1, 2]}), schema)
    whole = partial(opened_file, place, _policy())
    reads = (partial(sf.read_table, place, schema), partial(read_population, place, table), partial(read_frame, place))
    for read in (*reads, whole, partial(sf.read_ratings, place), partial(sf.read_sets, place)):
        with pytest.raises(SfumatoError, match="it is a pipe, a device or a socket"):
            read()


@pytest.mark.parametrize("made", [lambda _: Path("/dev/zero"), _pipe, _socket])
def test_the_studio_opens_no_table_that_never_ends(made: Callable[[Path], Path], tmp_path: Path) -> None:
    with pytest.raises(SfumatoError, match="there is no such file"):
        Project.opened(tmp_path / "project", made(tmp_path), {})
    assert not (tmp_path / "project").exists()


def test_a_file_that_is_too_large_for_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_regular(tmp_path / "file", 5) == b"12345"
    with pytest.raises(OSError, match="more than the 4 bytes"):
        read_regular(tmp_path / "file", 4)


@pytest.mark.parametrize("name", ["release.json", "report.html", "policy.toml"])
def test_a_received_folder_with_a_pipe_ends(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    ended = subprocess.run(
        [sys.executable, "-m", "sfumato", "verify", str(tmp_path)], capture_output=True, text=True, timeout=50
    )
    assert ended.returncode in (1, 2)
    assert "Traceback" not in ended.stderr
