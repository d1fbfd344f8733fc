"""Tables and releases in an object store that only a Spark server reaches: read, counted, or refused in a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sfumato as sf
from engines.object_store import BUCKET, KEY, ObjectStore, object_store
from engines.test_disk import MODELS, TOWN_SCHEMA, content, policy_of
from engines.test_spark import in_files, rising
from golden.made_tables import town
from sfumato.engines import disk
from sfumato.errors import SfumatoError
from sfumato.models.protocol import Outcome

SERVER = """
import sys
from pysail.spark import SparkConnectServer
server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
print(server.listening_address[1], flush=True)
sys.stdin.read()
"""
SECRET = "the-secret-of-the-tests"
POLICY = policy_of(TOWN_SCHEMA, MODELS[1])


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as found:
        yield found


@pytest.fixture(scope="module")
def server_of(store: ObjectStore) -> Iterator[Callable[[str], str]]:
    """A Spark server that has a key of the store; this process has none."""
    running: list[subprocess.Popen[str]] = []

    def started(key: str) -> str:
        own = {
            "AWS_ENDPOINT": store.address, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1", "RUST_LOG": "off",
            "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": SECRET,
        }  # fmt: skip
        words = [sys.executable, "-c", SERVER]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        running.append(subprocess.Popen(words, env={**os.environ, **own}, text=True, **pipes))  # type: ignore[call-overload]
        stdout = running[-1].stdout
        assert stdout is not None
        return f"sc://127.0.0.1:{stdout.readline().strip()}"

    yield started
    for each in running:
        each.communicate()


@pytest.fixture(scope="module")
def server(server_of: Callable[[str], str]) -> str:
    return server_of(KEY)


@pytest.fixture
def asking(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", server)
    monkeypatch.setattr(disk, "PART", 60)


@pytest.mark.usefixtures("asking")
def test_a_table_and_its_release_lie_in_a_store(store: ObjectStore, tmp_path: Path):
    frame = town(150)
    address = store.put(in_files(frame, tmp_path / "in", 3), "visits")
    sf.anonymize_on_spark(address, POLICY, tmp_path / "out", seed=7)
    memory = sf.anonymize(sf.read_table(rising(frame, TOWN_SCHEMA), POLICY), POLICY, seed=7)
    memory.save(tmp_path / "memory")
    assert content(tmp_path / "out") == content(tmp_path / "memory")
    there, here = sf.verify(store.put(tmp_path / "out", "release"), engine="spark"), sf.verify(tmp_path / "out")
    assert there.ok
    assert (there.records, there.classes, there.roles) == (here.records, here.classes, here.roles)
    model = [check for check in there.checks if check.promise.startswith(("k-anonymity", "distinct"))]
    assert model == [check for check in here.checks if check.promise.startswith(("k-anonymity", "distinct"))]
    assert len(model) == 2


@pytest.mark.usefixtures("asking")
@pytest.mark.parametrize("way", ["changed", "doubled"])
def test_what_was_changed_in_the_store_is_found(way: str, store: ObjectStore, tmp_path: Path):
    in_files(town(150), tmp_path / "in", 1)
    sf.anonymize_on_disk(tmp_path / "in", POLICY, tmp_path / "out")
    address = store.put(tmp_path / "out", f"release-{way}")
    part = f"release-{way}/data/part-00000.csv"
    if way == "changed":
        store.objects[part] = store.objects[part].replace(b"1", b"2", 1)
    else:
        store.objects[part.replace("00000", "00009")] = store.objects[part]
    found = sf.verify(address, engine="spark")
    assert not found.ok
    assert [check for check in found.checks if check.outcome is Outcome.BROKEN]


def test_a_store_that_refuses_is_one_sentence(
    store: ObjectStore, server_of: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SPARK_REMOTE", server_of("somebody-else"))
    address = store.put(in_files(town(50), tmp_path / "in", 1), "refused")
    for asked in (
        lambda: sf.anonymize_on_spark(address, POLICY, tmp_path / "out"),
        lambda: sf.verify(address, engine="spark"),
    ):
        with pytest.raises(SfumatoError) as caught:
            asked()
        (problem,) = caught.value.problems
        assert not {SECRET, "somebody-else", store.address, BUCKET} & set(problem.split())
        assert SECRET not in problem
        assert caught.value.__cause__ is None
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
