"""Folders of other kinds that somebody changed: every change ends in a verdict, none in a crash, none outside."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from examples import examples
from sfumato.cli.app import app
from sfumato.published import BucketizedTables
from sfumato.published.checks.generalized import Outcome, Verification
from sfumato.published.checks.recount import recount
from sfumato.table.schema import Attribute

QUASI, COUNTS = "quasi_identifying", "sensitive"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = pl.DataFrame(
        {
            "age": [20 + i % 5 for i in range(40)],
            "zip": [str(12345 + i % 3) for i in range(40)],
            "wage": [10 * (i % 4) for i in range(40)],
        }
    )
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "zip"], sensitive=["wage"]))
    models = [sf.ProbabilisticLDiversity(2), sf.TCloseness(0.9)]
    release = sf.anonymize(table, models, anonymizer=sf.Bucketization(members="random"), seed=1)
    return release.save(tmp_path_factory.mktemp("release") / "out")


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "out"))


def describe(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    content = json.loads((folder / "release.json").read_text())
    change(content)
    (folder / "release.json").write_text(json.dumps(content))


def lines_of(folder: Path, name: str) -> list[str]:
    return (folder / f"{name}.csv").read_text().splitlines()


def rewrite(folder: Path, name: str, lines: list[str], *, forged: bool = False) -> None:
    """Change a table; a careful forger brings release.json into line."""
    path = folder / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n")
    if forged:
        told = {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "rows": len(lines) - 1,
            "columns": lines[0].split(","),
        }
        describe(folder, lambda content: content["tables"][name].update(told))


def assert_refused(folder: Path) -> None:
    try:
        assert not sf.verify(folder).ok
    except sf.VerificationError as error:
        assert error.problems  # noqa: PT017 - either way will do
    assert CliRunner().invoke(app, ["verify", str(folder)]).exit_code == 1


def outcomes(folder: Path) -> dict[str, Outcome]:
    return {check.promise: check.outcome for check in sf.verify(folder).checks}


def test_an_untouched_release_holds(folder):
    assert list(outcomes(folder).values()) == [Outcome.HOLDS] * 7 + [Outcome.UNDECIDABLE]
    assert sf.verify(folder).ok


@pytest.mark.parametrize("name", [QUASI, COUNTS])
@pytest.mark.parametrize("row", [1, 7, -1])
@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("value", ["", "5", "-1", "1.5", "x", "99999999999999999999", "nan"])
def test_a_changed_cell_is_noticed(folder, name, row, column, value):
    lines = lines_of(folder, name)
    cells = lines[row].split(",")
    if cells[column] == value:
        return
    cells[column] = value
    lines[row] = ",".join(cells)
    rewrite(folder, name, lines)
    assert_refused(folder)


@pytest.mark.parametrize("name", [QUASI, COUNTS])
def test_removed_doubled_and_moved_rows_are_noticed(folder, name):
    lines = lines_of(folder, name)
    for changed in (lines[:-1], [*lines, lines[-1]], [lines[0], *lines[2:], lines[1]], lines[:1], [*lines, ""]):
        rewrite(folder, name, changed)
        assert_refused(folder)


@pytest.mark.parametrize("name", [QUASI, COUNTS])
@pytest.mark.parametrize("forged", [False, True])
def test_another_number_of_records_in_a_bucket_is_noticed_whatever_the_hash(folder, name, forged):
    lines = lines_of(folder, name)
    for changed in (lines[:-1], [*lines, lines[-1]]):
        rewrite(folder, name, changed, forged=forged)
        assert_refused(folder)


def test_a_bucket_that_breaks_the_promise_is_found_by_recounting(folder):
    header, first, second, *others = lines_of(folder, COUNTS)
    bucket, value, _ = first.split(",")
    assert second.split(",")[0] == bucket
    rewrite(folder, COUNTS, [header, f"{bucket},{value},2", *others], forged=True)
    found = outcomes(folder)
    assert found["probabilistic-l-diversity (l=2)"] is Outcome.BROKEN
    rewrite(folder, COUNTS, [header, f"{bucket},{value},1", f"{bucket},{value},1", *others], forged=True)
    assert outcomes(folder)["probabilistic-l-diversity (l=2)"] is Outcome.BROKEN


def test_a_rows_bucket_may_not_be_changed_even_with_a_forged_hash(folder):
    header, first, *others = lines_of(folder, QUASI)
    age, zipped, bucket = first.split(",")
    rewrite(folder, QUASI, [header, f"{age},{zipped},{int(bucket) + 1}", *others], forged=True)
    assert_refused(folder)


def with_column(lines: list[str], name: str, cell: str) -> list[str]:
    return [f"{lines[0]},{name}", *(f"{line},{cell}" for line in lines[1:])]


@pytest.mark.parametrize("name", [QUASI, COUNTS])
@pytest.mark.parametrize("column", ["wage", "age", "more", "bucket", "wage (2)"])
@pytest.mark.parametrize("forged", [False, True])
def test_a_column_too_many_is_refused(folder, name, column, forged):
    """The sensitive value beside every row would make everything else worthless."""
    rewrite(folder, name, with_column(lines_of(folder, name), column, "10"), forged=forged)
    assert_refused(folder)


@pytest.mark.parametrize("name", [QUASI, COUNTS])
@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("forged", [False, True])
def test_a_column_too_few_is_refused(folder, name, column, forged):
    lines = [",".join(line.split(",")[:column] + line.split(",")[column + 1 :]) for line in lines_of(folder, name)]
    rewrite(folder, name, lines, forged=forged)
    assert_refused(folder)


def test_columns_in_another_order_are_noticed(folder):
    lines = [",".join(line.split(",")[::-1]) for line in lines_of(folder, QUASI)]
    rewrite(folder, QUASI, lines)
    assert outcomes(folder)["quasi_identifying.csv is the file that was written"] is Outcome.BROKEN


def test_swapped_files_are_noticed(folder):
    (folder / f"{QUASI}.csv").rename(folder / "x")
    (folder / f"{COUNTS}.csv").rename(folder / f"{QUASI}.csv")
    (folder / "x").rename(folder / f"{COUNTS}.csv")
    assert_refused(folder)


def test_swapped_entries_are_noticed(folder):
    describe(folder, lambda content: content.update(tables=dict(zip([COUNTS, QUASI], content["tables"].values()))))  # noqa: B905
    assert_refused(folder)


def test_files_of_another_release_are_noticed(folder, original, tmp_path):
    frame = pl.DataFrame({"age": [1, 2], "zip": ["a", "b"], "wage": [1, 2]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "zip"], sensitive=["wage"]))
    other = sf.anonymize(table, sf.ProbabilisticLDiversity(2), anonymizer=sf.Bucketization()).save(tmp_path / "other")
    for name in (QUASI, COUNTS):
        shutil.copy(other / f"{name}.csv", folder / f"{name}.csv")
        assert_refused(folder)
        shutil.copy(original / f"{name}.csv", folder / f"{name}.csv")
    assert sf.verify(folder).ok


@pytest.mark.parametrize("name", [QUASI, COUNTS])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.99])
def test_truncated_files(folder, name, share):
    path = folder / f"{name}.csv"
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    assert_refused(folder)


@pytest.mark.parametrize("name", [QUASI, COUNTS])
@pytest.mark.parametrize(
    "data", [b"\x00\xff\xfe", b"PAR1", b"PK\x03\x04", b"\x1f\x8b\x00", b'"', b"\n\n\n", b",,,\n,,,\n"]
)
def test_files_that_are_no_tables(folder, name, data):
    (folder / f"{name}.csv").write_bytes(data)
    assert_refused(folder)


@pytest.mark.parametrize("name", [QUASI, COUNTS])
def test_a_file_that_is_missing_or_a_folder(folder, name):
    (folder / f"{name}.csv").unlink()
    with pytest.raises(sf.VerificationError, match="missing"):
        sf.verify(folder)
    (folder / f"{name}.csv").mkdir()
    with pytest.raises(sf.VerificationError, match="missing"):
        sf.verify(folder)


@pytest.mark.parametrize("name", [QUASI, COUNTS])
@pytest.mark.parametrize(
    "file", ["../out/sensitive.csv", "/etc/passwd", "..", ".", "", "a/b", "a\\b", "a\0b", "x" * 300, 5, None, ["a"]]
)
def test_a_file_is_a_name_in_the_folder_never_a_path(folder, name, file):
    describe(folder, lambda content: content["tables"][name].update(file=file))
    with pytest.raises(sf.VerificationError):
        sf.verify(folder)


def test_nothing_outside_the_folder_is_opened(folder, monkeypatch):
    opened: list[str] = []
    is_file = Path.is_file

    def noted(self: Path) -> bool:
        opened.append(os.path.abspath(self))
        return is_file(self)

    monkeypatch.setattr(Path, "is_file", noted)
    sf.verify(folder)
    assert len(opened) >= 3
    assert all(path.startswith(str(folder)) for path in opened)


ODD: list[Any] = [None, 5, "a", [], {}, [5], {"a": 5}, [None], [[]], True, -1, 1e999, "wage", ["age"], ["age", "wage"]]


def damage() -> Iterator[Any]:
    for path in (
        ("structure",),
        ("structure", "quasi_identifying"),
        ("structure", "sensitive"),
        ("tables",),
        ("tables", QUASI),
        ("tables", COUNTS, "rows"),
        ("tables", COUNTS, "columns"),
        ("tables", COUNTS, "sha256"),
        ("sensitive",),
        ("sensitive", "wage"),
        ("sensitive", "wage", "kind"),
        ("models",),
    ):
        for value in ODD:
            if path == ("structure", "sensitive") and value == "wage":
                continue  # as it was
            yield pytest.param(path, value, id=f"{'.'.join(path)} {value!s:.14}")


@pytest.mark.parametrize(("path", "value"), list(damage()))
def test_a_damaged_release_json_is_never_taken_for_a_release(folder, path, value):
    def change(content: dict[str, Any]) -> None:
        *above, last = path
        for key in above:
            content = content[key]
        content[last] = value

    describe(folder, change)
    assert_refused(folder)


@pytest.mark.parametrize("key", ["format", "kind", "tables", "structure", "sensitive", "models", "suppression_limit"])
def test_a_part_that_is_missing(folder, key):
    describe(folder, lambda content: content.pop(key))
    with pytest.raises(sf.VerificationError):
        sf.verify(folder)


@pytest.mark.parametrize("kind", ["generalized-table", "sliced-table", "marginal-tables", "randomized-table", "new"])
def test_it_is_not_taken_for_another_kind(folder, kind):
    describe(folder, lambda content: content.update(kind=kind))
    with pytest.raises(sf.VerificationError):
        sf.verify(folder)


def test_a_table_too_many(folder):
    shutil.copy(folder / f"{QUASI}.csv", folder / "more.csv")
    describe(
        folder,
        lambda content: content["tables"].update(more={**content["tables"][QUASI], "file": "more.csv"}),
    )
    with pytest.raises(sf.VerificationError, match="no place"):
        sf.verify(folder)


@pytest.mark.parametrize(
    ("model", "outcome"),
    [
        ({"name": "probabilistic-l-diversity", "l": 4}, Outcome.BROKEN),
        ({"name": "k-anonymity", "k": 1}, Outcome.UNDECIDABLE),
        ({"name": "alpha-k-anonymity", "k": 1, "alpha": 1}, Outcome.UNDECIDABLE),
        ({"name": "of the future", "x": 1}, Outcome.UNDECIDABLE),
    ],
)
def test_a_promise_that_was_not_made_is_never_held(folder, model, outcome):
    describe(folder, lambda content: content.update(models=[model]))
    verification = sf.verify(folder)
    assert verification.checks[2].outcome is outcome
    assert not verification.ok


def test_a_lie_about_the_kind_of_values_is_no_way_out(folder):
    describe(folder, lambda content: content["sensitive"]["wage"].update(kind="date"))
    with pytest.raises(sf.VerificationError):
        sf.verify(folder)


def nodes(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, inner in items:
        yield from nodes(inner, (*path, key))


@given(st.data())
@examples(150, HealthCheck.function_scoped_fixture)
def test_whatever_release_json_says_there_is_a_verdict(folder, original, data):
    content = json.loads((original / "release.json").read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from([path for path in nodes(content) if path]))
        above = content
        for key in path[:-1]:
            above = above[key]
        if data.draw(st.booleans()):
            above[path[-1]] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
        else:
            del above[path[-1]]
    (folder / "release.json").write_text(json.dumps(content))
    with contextlib.suppress(sf.VerificationError):
        assert isinstance(sf.verify(folder), Verification)


@given(st.sampled_from([QUASI, COUNTS]), st.integers(0, 10**6), st.binary(min_size=1, max_size=4), st.booleans())
@examples(100, HealthCheck.function_scoped_fixture)
def test_whatever_bytes_a_table_has_there_is_a_verdict(folder, original, name, place, data, forged):
    before = (original / f"{name}.csv").read_bytes()
    place %= len(before)
    changed = before[:place] + data + before[place + len(data) :]
    path = folder / f"{name}.csv"
    path.write_bytes(changed)
    described = json.loads((original / "release.json").read_text())
    if forged:
        described["tables"][name]["sha256"] = hashlib.sha256(changed).hexdigest()
    (folder / "release.json").write_text(json.dumps(described))
    with contextlib.suppress(sf.VerificationError):
        assert sf.verify(folder).ok <= (forged or changed == before)
    path.write_bytes(before)


def test_tables_in_memory_are_recounted_with_the_right_kind_of_values():
    tables = {
        "quasi_identifying": pl.DataFrame({"age": [1, 2], "bucket": [0, 0]}),
        "sensitive": pl.DataFrame({"bucket": [0, 0], "ill": ["a", "b"], "count": [1, 1]}),
    }
    published = BucketizedTables.assemble(tables, {"quasi_identifying": ["age"], "sensitive": "ill"})
    verification = recount(published, [sf.DistinctLDiversity(2)], {"ill": Attribute()})
    assert verification.ok
    assert (verification.records, verification.classes, verification.unit) == (2, 1, "bucket")
