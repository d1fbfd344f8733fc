"""How kernels run: as they are written or compiled, with one result; and how compiled code is kept."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np
import pytest

from sfumato.kernels import beside, jit
from sfumato.kernels import store as stores
from sfumato.kernels.bits import how_many, lowest
from sfumato.kernels.grouping import column_maxima, first_records

SOURCE = Path(jit.__file__).parents[2]
CODES = np.arange(12, dtype=np.uint16).reshape(4, 3)

COMPILE = """
import json, logging, sys
logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
import numpy as np
from sfumato.kernels.jit import TAKEN
from sfumato.kernels.grouping import first_records
found = first_records(np.array([0, 1, 0, 2], np.int32), 3)
print(json.dumps([found.tolist(), sorted(TAKEN.read), sorted(TAKEN.compiled)]))
"""


TELLING = """
import atexit
from sfumato.kernels.store import Store
write = Store.write
def telling(store, name, body):
    if name.endswith(".code"):
        atexit.register(print, name)
    return write(store, name, body)
Store.write = telling
"""


def environment(cache, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SFUMATO", "NUMBA", "XDG"))}
    return {**kept, "PYTHONPATH": str(SOURCE), "SFUMATO_CACHE_DIR": str(cache), "SFUMATO_KERNELS": "compiled", **more}


def run(script, cache, *, source=SOURCE, **more):
    return subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=environment(cache, **more) | {"PYTHONPATH": str(source)},
    )


def compiled_in(done):
    found, read, compiled = json.loads(done.stdout)
    assert found == [0, 1, 3]
    return read, compiled


KERNEL = ["grouping.first_records"]


# the store


def test_compiled_code_is_read_by_the_next_process_and_by_another_install(tmp_path):
    first = run(COMPILE, tmp_path / "cache")
    assert compiled_in(first) == ([], KERNEL)
    assert first.stderr == ""
    shutil.copytree(SOURCE, tmp_path / "elsewhere", ignore=shutil.ignore_patterns("__pycache__"))
    for source in (SOURCE, tmp_path / "elsewhere"):
        assert compiled_in(run(COMPILE, tmp_path / "cache", source=source)) == (KERNEL, [])


def test_only_the_user_may_enter_the_folder(tmp_path):
    run(COMPILE, tmp_path / "cache")
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "cache", *(tmp_path / "cache").iterdir())} == {0o700}


@pytest.mark.parametrize(
    "rubbish",
    [
        pytest.param(b"", marks=pytest.mark.slow, id="empty"),
        pytest.param(b"rubbish", marks=pytest.mark.slow, id="words"),
        pytest.param(None, id="cut short"),
    ],
)
def test_rubbish_in_the_folder_is_compiled_again_and_said_once(tmp_path, rubbish):
    run(COMPILE, tmp_path)
    for file in tmp_path.glob("*/*.code"):
        file.write_bytes(file.read_bytes()[:-1] if rubbish is None else rubbish)
    done = run(COMPILE, tmp_path)
    assert compiled_in(done)[0] == KERNEL  # it was thought to be there
    assert done.stderr.count("is no compiled kernel") == 1
    assert run(COMPILE, tmp_path).stderr == ""


def test_sound_bytes_that_are_no_kernel_are_compiled_again(tmp_path):
    run(COMPILE, tmp_path)
    for file in tmp_path.glob("*/*.code"):
        stores.Store(file.parent).write(file.name, b"no pickle")
    done = run(COMPILE, tmp_path)
    compiled_in(done)
    assert done.stderr.count("is no compiled kernel") == 1


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs users")
def test_a_folder_that_cannot_be_written_is_said_once(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    # The super user may write anywhere, and is somebody else while the folder is looked for.
    as_nobody = (
        "import os\nfrom sfumato.kernels.store import _surroundings, store\n_surroundings()\nroot = os.geteuid() == 0\n"
        "os.seteuid(65534) if root else None\nassert store() is None\nos.seteuid(0) if root else None\n"
    )
    done = run(COMPILE.replace("import numpy", as_nobody + "import numpy", 1), closed / "cache")
    assert compiled_in(done) == ([], KERNEL)
    assert done.stderr.count("stay in memory") == 1
    assert not list(closed.iterdir())


def test_a_folder_that_goes_away_is_no_failure(tmp_path, caplog):
    gone = stores.Store(tmp_path / "gone")
    assert not gone.write("kernel.code", b"code")
    assert not gone.write("other.code", b"code")
    assert gone.read("kernel.code") is None
    assert len(caplog.messages) == 1


def test_no_home_at_all(tmp_path):
    done = run(COMPILE, "", HOME="relative/home")
    assert compiled_in(done) == ([], KERNEL)
    assert done.stderr.count("there is no folder for compiled kernels") == 1


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs users")
def test_a_folder_that_others_may_write_is_not_used(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    done = run(COMPILE, tmp_path / "open")
    assert compiled_in(done) == ([], KERNEL)
    assert "can be written by others" in done.stderr
    assert not list((tmp_path / "open").glob("*/*"))


def test_nothing_is_kept_where_that_is_wished(tmp_path):
    done = run(COMPILE, tmp_path / "cache", SFUMATO_CACHE="0")
    assert compiled_in(done) == ([], KERNEL)
    assert not (tmp_path / "cache").exists()


def test_several_processes_compile_at_once(tmp_path):
    started = [
        subprocess.Popen(
            [sys.executable, "-c", TELLING + COMPILE],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(tmp_path),
        )
        for _ in range(3)
    ]
    written = []
    for process in started:
        out, err = process.communicate()
        first, *more = out.splitlines()
        assert json.loads(first)[0] == [0, 1, 3]
        assert err == b""
        written += more
    # Each kernel was compiled by one of them, and read by the others.
    assert len(written) == len(set(written)) == len(list(tmp_path.glob("*/*.code")))
    assert not list(tmp_path.glob("*/*.turn"))
    assert compiled_in(run(COMPILE, tmp_path)) == (KERNEL, [])
    assert not list(tmp_path.glob("*/*.tmp"))


def test_a_change_in_a_called_kernel_is_never_missed(tmp_path):
    folder = tmp_path / "source" / "sfumato" / "kernels"
    shutil.copytree(SOURCE / "sfumato", folder.parent, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "outer.py").write_text(
        "from sfumato.kernels.jit import kernel\nfrom sfumato.kernels.inner import inner\n\n\n"
        "@kernel\ndef twice_inner(x):\n    return 2 * inner(x)\n"
    )
    printed = []
    for added in (1, 2):
        (folder / "inner.py").write_text(
            f"from sfumato.kernels.jit import inlined\n\n\n@inlined\ndef inner(x):\n    return x + {added}\n"
        )
        done = run(
            "from sfumato.kernels.outer import twice_inner\nprint(twice_inner(20))",
            tmp_path / "cache",
            source=tmp_path / "source",
            PYTHONDONTWRITEBYTECODE="1",
        )
        printed.append(int(done.stdout))
    assert printed == [42, 44]


# both ways


def test_the_store_is_asked_by_the_types_of_a_call():
    words = stores.described((CODES, 3, 2.5, True, None, (CODES[:, 0], np.int32(1))))
    assert words == (
        ("array", "uint16", 2, "C", True), ("int64",), ("float64",), ("bool",), ("none",),
        ("tuple", (("array", "uint16", 1, "A", True), ("int32",))),
    )  # fmt: skip
    assert stores.from_text(stores.signature_text(words)) == words
    assert stores.described(([1],)) is None
    assert stores.elements((CODES, 3, (CODES[:, 0],))) == 16
    assert stores.longest((CODES[:2], 3, (CODES[:, 0],))) == 4


@pytest.mark.parametrize("way", ["interpreted", "compiled"])
def test_a_kernel_returns_the_same_types_either_way(way):
    with jit.always(way):
        maxima = column_maxima(CODES)
        assert (maxima.tolist(), maxima.dtype) == ([9, 10, 11], np.int64)
        assert column_maxima(codes=CODES).tolist() == [9, 10, 11]
        word = np.uint64(0b101000)
        assert [type(found(word)) for found in (lowest, how_many)] == [int] * 2
        assert (lowest(word), how_many(word)) == (3, 2)


def test_a_float_is_divided_by_zero_either_way():
    from sfumato.kernels.jit import inlined

    @inlined
    def ratio(one, other):
        return one / other

    for way in ("interpreted", "compiled"):
        with jit.always(way):
            assert ratio(1.0, 0.0) == np.inf
            assert np.isnan(ratio(0.0, 0.0))


# the choice


def a_kernel(**settings):
    from sfumato.kernels.jit import Kernel

    return Kernel(first_records.function, kept=True, **{"steps": first_records.steps, **settings})


def decided(kernel, records=4, *, monkeypatch, kept=False):
    monkeypatch.setattr(jit, "TAKEN", jit.Taken({}, {}, {}))
    monkeypatch.setattr(jit, "is_kept", lambda *_: kept)
    monkeypatch.setattr(jit, "_from_environment", lambda: "auto")
    monkeypatch.setattr(jit, "_forced", [])
    taken = []
    monkeypatch.setattr(jit, "_compiled", lambda *_: lambda *__: taken.append("compiled"))
    monkeypatch.setattr(jit, "_watched", lambda *_: taken.append("interpreted"))
    jit.run(kernel, (np.zeros(records, np.int32), 1))
    return taken[0]


def test_small_jobs_run_as_written_and_large_ones_compiled(monkeypatch):
    assert decided(a_kernel(), monkeypatch=monkeypatch) == "interpreted"
    assert decided(a_kernel(), 10_000_000, monkeypatch=monkeypatch) == "compiled"


def test_code_that_is_there_is_taken_for_smaller_jobs_but_not_for_the_smallest(monkeypatch):
    middle = int((jit.LOADING + 2 * jit.READING) / jit.STEP)
    assert decided(a_kernel(), middle, monkeypatch=monkeypatch, kept=True) == "compiled"
    monkeypatch.setitem(sys.modules, "numba", np)
    assert decided(a_kernel(), 1000, monkeypatch=monkeypatch, kept=True) == "interpreted"
    monkeypatch.setattr(jit, "compiling_seconds", lambda _: 100.0)
    assert decided(a_kernel(), middle, monkeypatch=monkeypatch) == "interpreted"


def test_a_kernel_that_says_nothing_is_taken_to_be_slow_on_many_records(monkeypatch):
    assert decided(a_kernel(), 200_000, monkeypatch=monkeypatch) == "interpreted"
    assert decided(a_kernel(steps=None), 200_000, monkeypatch=monkeypatch) == "compiled"


def test_a_kernel_may_say_how_long_it_takes(monkeypatch):
    assert decided(a_kernel(steps=lambda *_: 1e9), monkeypatch=monkeypatch) == "compiled"


def test_a_kernel_of_numbers_alone_can_be_called_for_long(monkeypatch):
    monkeypatch.setattr(jit, "_from_environment", lambda: "auto")
    monkeypatch.setattr(jit, "TAKEN", jit.Taken({}, {}, {}))
    kernel = lowest
    types = stores.described((np.uint64(8),))
    for _ in range(2):
        assert kernel(np.uint64(8)) == 3
        jit.TAKEN.interpreted.get((kernel, types), jit.Account()).seconds += 0.01


# beside the work


def test_the_process_beside_compiles_what_was_wanted_and_the_next_run_reads_it(tmp_path):
    place = tmp_path / "cache"
    script = (
        "import json, sys\nfrom pathlib import Path\nfrom sfumato.kernels import beside\n"
        "from sfumato.kernels.store import store\n"
        "types = [['array', 'int32', 1, 'C', True], ['int64']]\n"
        "names = [['sfumato.kernels.grouping', 'first_records', json.dumps(types)], ['os', 'remove', '[]']]\n"
        "store().write(beside.WANTED, json.dumps(names).encode())\nprint(store().folder)"
    )
    folder = run(script, place).stdout.strip()
    subprocess.run([sys.executable, "-m", "sfumato.kernels.beside", folder], check=True, env=environment(place))
    assert compiled_in(run(COMPILE, place)) == (KERNEL, [])


def test_the_process_beside_waits_for_others_and_keeps_nobody_waiting(tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "PATIENCE", 30.0)
    first, beside_it = stores.Store(tmp_path), stores.Store(tmp_path)
    beside_it.gives_way = True
    assert beside_it.turn("a.code") is None
    assert not list(tmp_path.iterdir())
    held = first.turn("a.code")
    assert held is not None
    waits = ThreadPoolExecutor(1).submit(beside_it.turn, "a.code")
    assert not wait([waits], 0.1).done
    first.end_turn("a.code", held)
    assert waits.result() is None
    assert not list(tmp_path.iterdir())


def test_one_process_at_a_time_compiles_beside(tmp_path):
    with beside._alone(tmp_path / beside.LOCK) as first, beside._alone(tmp_path / beside.LOCK) as second:
        assert (first, second) == (True, False)


def test_nothing_starts_beside_in_tests_on_build_machines_or_where_it_is_not_wished(monkeypatch):
    monkeypatch.delenv("SFUMATO_BACKGROUND", raising=False)
    assert not beside._may_start()
    monkeypatch.setenv("SFUMATO_BACKGROUND", "1")
    assert beside._may_start()
    monkeypatch.setenv("SFUMATO_BACKGROUND", "0")
    assert not beside._may_start()


def test_what_is_handed_over_holds_names_and_types_alone(monkeypatch):
    monkeypatch.setattr(jit, "is_kept", lambda *_: False)
    types = stores.described((np.array([7, 7, 7], np.int32), 1))
    monkeypatch.setattr(jit, "TAKEN", jit.Taken({(first_records, types): jit.Account(1.0, 3.0)}, {}, {}))
    assert beside.wanted() == [
        ("sfumato.kernels.grouping", "first_records", '[["array","int32",1,"C",true],["int64"]]')
    ]
