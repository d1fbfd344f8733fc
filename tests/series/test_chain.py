"""What a recipient sees in a folder that is not the one that was published."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sfumato as sf
from series.tables import SCHEMA, people, write_csv

CHAIN = "no release is missing, exchanged or of another series"


def made(folder: Path, seed: int = 0) -> sf.Series:
    """Make a series of three releases, of which each adds twenty people."""
    folder.mkdir(exist_ok=True)
    tables = [write_csv(folder / f"{n}.csv", people(20, first=100 * n, seed=10 * seed + n)) for n in range(3)]
    series = sf.Series.start(folder / "s", SCHEMA, sf.KAnonymity(3), table=tables[0])
    for table in tables[1:]:
        series.append(table)
    return series


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> sf.Series:
    return made(tmp_path_factory.mktemp("original"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> sf.Series:
    return made(tmp_path_factory.mktemp("other"), seed=1)


@pytest.fixture
def series(original: sf.Series, tmp_path: Path) -> sf.Series:
    """Copy the folder, as a recipient has it: there is no ledger."""
    shutil.copytree(original.folder, tmp_path / "s")
    return sf.Series.open(tmp_path / "s")


def broken(series: sf.Series) -> str:
    """Return everything that does not hold, one line each."""
    found = series.verify()
    assert not found.ok
    with pytest.raises(sf.VerificationError) as caught:
        found.raise_unless_ok()
    return "\n".join(caught.value.problems)


def test_what_was_published_holds(series: sf.Series) -> None:
    found = series.verify()
    assert found.ok
    text = str(found)
    assert text.index("recounted from the folders") < text.index("attested by the steward")
    assert "  nobody of a later batch is in an earlier release" in text
    assert text.count("rows of release") == 2
    assert found.last == hashlib.sha256((series.releases[-1] / "release.json").read_bytes()).hexdigest()
    assert json.loads(json.dumps(found.to_dict()))["attested"][0].startswith("nobody of a later batch")


@pytest.mark.parametrize("number", [1, 2])
def test_a_missing_release(number: int, series: sf.Series) -> None:
    shutil.rmtree(series.releases[number - 1])
    assert f"{CHAIN}: broken; release {number} is missing" in broken(series)


def test_without_the_last_release_the_rest_is_whole_and_says_where_it_ends(series: sf.Series) -> None:
    whole = series.verify().last
    shutil.rmtree(series.releases[-1])
    found = series.verify()
    assert found.ok
    assert found.last != whole
    assert any("the last release here is the last one" in sentence for sentence in found.attested)


def test_releases_of_another_series(series: sf.Series, other: sf.Series) -> None:
    shutil.rmtree(series.releases[1])
    shutil.copytree(other.releases[1], series.folder / "0002")
    found = broken(series)
    assert "release 2 is of another series" in found
    assert "release 3 was made of another release 2 than the one that lies here" in found
    assert "release 2: the rows of release 1 are there, unchanged: broken" in found


def test_a_release_by_itself(series: sf.Series, tmp_path: Path) -> None:
    table = sf.read_table(write_csv(tmp_path / "t.csv", people(60)), SCHEMA)
    shutil.rmtree(series.releases[2])
    sf.anonymize(table, sf.KAnonymity(3)).save(series.folder / "0003")
    assert "release 3 is a release by itself, and of no series" in broken(series)


def test_exchanged_releases(series: sf.Series) -> None:
    first, second = series.releases[:2]
    first.rename(series.folder / "x")
    second.rename(first)
    (series.folder / "x").rename(second)
    found = broken(series)
    assert "release 1 is release 2 of the series, in the place of another" in found
    assert "release 2 is release 1 of the series, in the place of another" in found


def test_another_series_json(series: sf.Series, other: sf.Series) -> None:
    shutil.copy(other.folder / "series.json", series.folder / "series.json")
    assert "release 1 is of another series" in broken(series)


def test_a_series_json_that_was_changed(series: sf.Series) -> None:
    file = series.folder / "series.json"
    content = json.loads(file.read_text())
    content["policy"]["models"][0]["k"] = 2
    file.write_text(json.dumps(content))
    found = broken(series)
    assert "release 1 was made of another series.json than the one that lies here" in found
    assert "every release has the policy that series.json froze: broken" in found


def change_a_row(data: str) -> str:
    first, *rows = data.splitlines(keepends=True)
    changed = rows[0].rsplit(",", 1)[0] + ",gout2\n"
    return "".join([first, changed, *rows[1:]])


def leave_a_row_out(data: str) -> str:
    return "".join(data.splitlines(keepends=True)[:-1])


def add_a_row(data: str) -> str:
    return data + data.splitlines(keepends=True)[1]


def bind(release: Path) -> None:
    """Write the hashes and counts that go with changed data, as whoever made it could."""
    mark = release / "release.json"
    content, data = json.loads(mark.read_text()), (release / "data.csv").read_bytes()
    content["tables"]["data"]["sha256"] = hashlib.sha256(data).hexdigest()
    content["tables"]["data"]["rows"] = data.count(b"\n") - 1
    mark.write_text(json.dumps(content))


@pytest.mark.parametrize("change", [change_a_row, leave_a_row_out, add_a_row])
def test_changed_data(change: Callable[[str], str], series: sf.Series) -> None:
    file = series.releases[1] / "data.csv"
    file.write_text(change(file.read_text()))
    found = broken(series)
    assert "release 2: data.csv is the file that was written: broken" in found
    bind(series.releases[1])
    assert "release 3 was made of another release 2 than the one that lies here" in broken(series)


def test_a_last_release_that_lost_a_row_of_the_one_before(series: sf.Series) -> None:
    """Nothing follows the last release, so that whoever makes it could bind anything: the rows tell."""
    older = (series.releases[1] / "data.csv").read_text().splitlines(keepends=True)
    file = series.releases[2] / "data.csv"
    lines = file.read_text().splitlines(keepends=True)
    # The last batch may hold some of these rows as well; then one of them is enough.
    lines.remove(next(row for row in older[1:] if lines.count(row) == older.count(row)))
    file.write_text("".join(lines))
    bind(series.releases[2])
    found = broken(series)
    assert "release 3: the rows of release 2 are there, unchanged: broken; 1 row of 40 cannot be found again" in found
    assert CHAIN not in found


def test_newcomers_who_hide_behind_old_rows(series: sf.Series) -> None:
    """A single new row with the label of an old class: the release alone holds, and the pair tells."""
    shutil.copy(series.releases[1] / "data.csv", series.releases[2] / "data.csv")
    file = series.releases[2] / "data.csv"
    file.write_text(add_a_row(file.read_text()))
    bind(series.releases[2])
    found = broken(series)
    assert "release 3: k-anonymity (k=3) among the 1 new row: broken" in found
    assert "release 3: k-anonymity (k=3): broken" not in found


def test_a_release_that_adds_nothing(series: sf.Series) -> None:
    shutil.copy(series.releases[1] / "data.csv", series.releases[2] / "data.csv")
    bind(series.releases[2])
    assert "release 3: there are new rows: broken; the release adds nothing" in broken(series)


def test_another_policy(series: sf.Series) -> None:
    file = series.releases[2] / "policy.toml"
    file.write_text('purpose = "other"\n' + file.read_text())
    assert "release 3 says something else in policy.toml" in broken(series)


def test_what_does_not_belong_there(series: sf.Series) -> None:
    (series.folder / "notes.txt").touch()
    assert "the folder holds nothing else: broken; there is notes.txt; take it away" in broken(series)
    (series.folder / "notes.txt").unlink()
    (series.folder / ".0004.0123abcd.part").mkdir()
    assert ".0004.0123abcd.part (left by a run that was killed, or is going on)" in broken(series)


def test_a_link_is_no_release(series: sf.Series) -> None:
    last = series.releases[2]
    last.rename(series.folder.parent / "elsewhere")
    last.symlink_to(series.folder.parent / "elsewhere")
    assert "the folder holds nothing else: broken; there is 0003; take it away" in broken(series)


def test_recounting_loads_no_algorithm(series: sf.Series) -> None:
    program = (
        "import sys, sfumato as sf; assert sf.Series.open(sys.argv[1]).verify().ok; "
        "print([name for name in sys.modules if name.startswith('sfumato.anonymizers.')])"
    )
    source = str(Path(sf.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", program, str(series.folder)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=100,
    )
    # What every policy names: how an algorithm is called, and what it may say.
    seam = {"sfumato.anonymizers.protocol", "sfumato.anonymizers.feasibility"}
    assert {*ast.literal_eval(done.stdout)} <= seam
    assert not done.stderr


def test_a_release_that_cannot_be_read(series: sf.Series) -> None:
    (series.releases[1] / "release.json").write_text("{")
    found = broken(series)
    assert "release 2: release 2 can be read: broken; release.json: is damaged" in found
    assert "release 3: release 3 fits those before it: not verifiable from the release; a release before it" in found


def test_a_way_that_nobody_knows(series: sf.Series) -> None:
    mark = series.releases[2] / "release.json"
    content = json.loads(mark.read_text())
    content["series"]["way"] = "shrink"
    mark.write_text(json.dumps(content))
    assert "release 3: way: not verifiable from the release; release.json: is of a way that this" in broken(series)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"kind": "series"}', '{"kind": "series", "format": 9}'])
def test_a_damaged_series_json(text: str, series: sf.Series) -> None:
    (series.folder / "series.json").write_text(text)
    with pytest.raises(sf.VerificationError, match=r"series\.json"):
        series.verify()


def test_no_folder_and_no_series(tmp_path: Path) -> None:
    with pytest.raises(sf.InputError, match="no such folder"):
        sf.Series.open(tmp_path / "nowhere")
    with pytest.raises(sf.InputError, match="it is not a series"):
        sf.Series.open(tmp_path)


def test_a_head_that_was_noted_tells_a_fork(tmp_path: Path) -> None:
    tables = [write_csv(tmp_path / f"{n}.csv", people(20, first=100 * n, seed=n)) for n in range(4)]
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3))
    heads = [series.head]
    assert heads[0] == hashlib.sha256((series.folder / "series.json").read_bytes()).hexdigest()
    for table in tables[:2]:
        step = series.append(table)
        heads.append(series.head)
        assert step.folder is not None
        assert heads[-1] == hashlib.sha256((step.folder / "release.json").read_bytes()).hexdigest()
    for place in ("s", "s.ledger"):
        shutil.copytree(tmp_path / place, tmp_path / "old" / place)
    series.append(tables[2])
    heads.append(series.head)
    # Folder and ledger are rolled back together: they agree, and the other branch goes on unseen by itself.
    fork = sf.Series.open(tmp_path / "old" / "s", ledger=tmp_path / "old" / "s.ledger")
    rolled_back = fork.verify(ledger=True)
    assert rolled_back.ok
    fork.append(tables[3])
    for branch, ledger in ((series, True), (series, False), (fork, True), (fork, False)):
        assert branch.verify(ledger=ledger).ok
        assert [_stands(branch, head, ledger=ledger) for head in heads[:3]] == [
            ("before", 0, 1, True),
            ("before", 1, 2, True),
            ("before", 2, 3, True),
        ]
    assert _stands(series, heads[3]) == ("last", 3, None, True)
    assert _stands(fork, heads[3]) == ("nowhere", None, None, False)
    assert _stands(series, fork.head) == ("nowhere", None, None, False)
    found = fork.verify(head=heads[3])
    with pytest.raises(sf.VerificationError, match="the head is not in this series"):
        found.raise_unless_ok()
    assert str(found).endswith("the head is not in this series: it was cut off, changed or forked")
    assert str(series.verify(head=heads[3])).endswith("the head, that of release 3, is the last")
    assert str(series.verify(head=heads[1])).endswith("the head, that of release 1, stands before release 2")
    # As it is printed, too; anything else is a mistake, and not a fork.
    assert _stands(series, f" SHA256 {heads[3].upper()}\n") == ("last", 3, None, True)
    for wrong in ("", heads[3][:12], "g" * 64):
        with pytest.raises(sf.PolicyError, match="64 hexadecimal digits"):
            series.verify(head=wrong)


def _stands(series: sf.Series, head: str, *, ledger: bool = False) -> tuple[object, ...]:
    found = series.verify(ledger=ledger, head=head)
    told = found.to_dict()["head"]
    assert found.to_dict()["ok"] == found.ok
    return told["stands"], told["release"], told["before"], found.ok
