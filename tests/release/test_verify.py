"""Verifying a folder that somebody changed: every change is noticed, no change ends in anything but a verdict."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from examples import examples
from sfumato.cli.app import app
from sfumato.models.protocol import Achieved
from sfumato.published.checks.generalized import Check, Outcome, Verification, verify_table
from sfumato.table.schema import Attribute, Kind

GROUPS = sf.groups({"lungs": ["flu", "cold"], "joints": ["gout"]})


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = pl.DataFrame(
        {
            "age": [20 + i % 5 for i in range(60)],
            "zip": [str(12345 + i % 3) for i in range(60)],
            "disease": ["flu", "cold", "gout", "flu"] * 15,
        }
    )
    schema = sf.Schema(quasi_identifying={"age": None, "zip": sf.prefixes(3)}, sensitive={"disease": GROUPS})
    models = [sf.KAnonymity(4), sf.DistinctLDiversity(2), sf.TCloseness(0.6)]
    release = sf.anonymize(sf.read_table(frame, schema), models, seed=1)
    return release.save(tmp_path_factory.mktemp("release") / "out")


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "out"))


def lines_of(folder: Path) -> list[str]:
    return (folder / "data.csv").read_text().splitlines()


def rewrite(folder: Path, lines: list[str]) -> None:
    (folder / "data.csv").write_text("\n".join(lines) + "\n")


def describe(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads((folder / "release.json").read_text())
    change(content)
    (folder / "release.json").write_text(json.dumps(content))


def rehash(folder: Path) -> None:
    """What a careful forger does as well."""
    digest = hashlib.sha256((folder / "data.csv").read_bytes()).hexdigest()
    rows = len(lines_of(folder)) - 1
    describe(folder, lambda content: content["tables"]["data"].update(sha256=digest, rows=rows))


def outcomes(folder: Path) -> dict[str, Outcome]:
    return {check.promise: check.outcome for check in sf.verify(folder).checks}


def test_an_untouched_release_holds(folder):
    verification = sf.verify(folder)
    assert verification.ok
    assert verification.records == 60
    assert [str(check.outcome) for check in verification.checks[:-1]] == ["holds"] * 7
    assert verification.checks[-1].outcome is Outcome.UNDECIDABLE
    assert "holds: k-anonymity (k=4) (achieved k=" in str(verification)


def test_a_string_path_and_the_release_itself_are_verified_too(folder):
    assert sf.verify(str(folder)).ok


@pytest.mark.parametrize("row", [1, 30, 60])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_single_changed_cell_is_noticed(folder, row, column):
    lines = lines_of(folder)
    cells = lines[row].split(",")
    replaced = ["20", "12*", "gout"][column]
    cells[column] = replaced if cells[column] != replaced else ["21", "*", "flu"][column]
    rewrite(folder, [*lines[:row], ",".join(cells), *lines[row + 1 :]])
    assert not sf.verify(folder).ok
    rehash(folder)
    # With the hash forged, what is promised still has to hold.
    found = outcomes(folder)
    if column < 2:
        assert found["k-anonymity (k=4)"] is Outcome.BROKEN


def test_a_removed_a_doubled_and_a_moved_row_are_noticed(folder):
    lines = lines_of(folder)
    for changed in (lines[:-1], [*lines, lines[-1]], [lines[0], *lines[2:], lines[1]]):
        rewrite(folder, changed)
        assert outcomes(folder)["data.csv is the file that was written"] is Outcome.BROKEN


def test_swapped_columns_are_noticed(folder):
    rows = [line.split(",") for line in lines_of(folder)]
    rewrite(folder, [",".join([zipped, age, disease]) for age, zipped, disease in rows])
    assert not sf.verify(folder).ok
    rewrite(folder, [",".join(rows[0]), *(",".join([age, zipped, age]) for age, zipped, _ in rows[1:])])
    with pytest.raises(sf.VerificationError):
        sf.verify(folder)


def test_a_reordered_class_is_found_by_recounting_when_the_hash_is_forged(folder):
    lines = lines_of(folder)
    worst = [line for line in lines[1:] if line.endswith("gout")]
    rewrite(folder, [lines[0], *worst])
    rehash(folder)
    found = outcomes(folder)
    assert found["distinct-l-diversity (l=2)"] is Outcome.BROKEN


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"age,zip,disease\n",
        b"age,zip\n1,2\n",
        b"\x00\xff\xfe",
        b"age,age,disease\n1,2,flu\n",
        b'"age,zip,disease\n',
        b"age,zip,disease\n1,2\n",
        b"age,zip,disease\n1,2,flu,4\n",
        b"age,zip,disease\n1,2,unheard of\n",
        b"PAR1age,zip",
        b"PK\x03\x04",
        b"\x1f\x8b\x00",
        b"1,2,flu\n1,2,flu\n",
    ],
)
def test_a_damaged_data_file_is_a_broken_promise(folder, data):
    (folder / "data.csv").write_bytes(data)
    with pytest.raises(sf.VerificationError) as caught:
        sf.verify(folder)
    assert caught.value.__suppress_context__
    assert CliRunner().invoke(app, ["verify", str(folder)]).exit_code == 1


def test_files_that_are_missing_or_folders(folder, tmp_path):
    (folder / "data.csv").unlink()
    with pytest.raises(sf.VerificationError, match="missing"):
        sf.verify(folder)
    (folder / "data.csv").mkdir()
    with pytest.raises(sf.VerificationError, match="missing"):
        sf.verify(folder)
    (folder / "release.json").unlink()
    for path in (folder, tmp_path / "nowhere", folder / "report.txt"):
        with pytest.raises(sf.VerificationError, match=r"not a release|no such release folder"):
            sf.verify(path)


def test_a_file_that_may_not_be_read(folder, monkeypatch):
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(sf.VerificationError, match="Permission denied"):
        sf.verify(folder)


@pytest.mark.parametrize(
    "text",
    ["", "[", "[]", "null", "5", '"x"', "{}", "[" * 100_000, '{"format":1}', '{"format":NaN}', "\ufffd\0"],
)
def test_a_release_json_that_is_none(folder, text):
    (folder / "release.json").write_text(text)
    with pytest.raises(sf.VerificationError, match=r"release\.json"):
        sf.verify(folder)


ODD: list[Any] = [None, 5, "a", [], {}, [5], {"a": 5}, [None], [[]], True, -1, 10**400, 1e999]


def damage() -> Iterator[Any]:
    for key in ("format", "kind", "tables", "structure", "sensitive", "models", "suppression_limit"):
        yield pytest.param(lambda content, key=key: content.pop(key), id=f"no {key}")
        for value in ODD:
            if (key, value) in (("suppression_limit", True), ("format", True)):
                continue  # True is 1
            yield pytest.param(
                lambda content, key=key, value=value: content.update({key: value}), id=f"{key} {value!s:.9}"
            )
    for key in ("quasi_identifying", "sensitive"):
        yield pytest.param(lambda content, key=key: content["structure"].pop(key), id=f"no {key}")
        for value in ODD:
            yield pytest.param(
                lambda content, key=key, value=value: content["structure"].update({key: value}),
                id=f"{key} {value!s:.9}",
            )
    for key in ("file", "sha256", "rows", "columns"):
        yield pytest.param(lambda content, key=key: content["tables"]["data"].pop(key), id=f"no {key}")
    for value in (None, 5, [], True):
        yield pytest.param(
            lambda content, value=value: content["tables"]["data"].update(sha256=value), id=f"sha256 {value}"
        )
    for value in (None, -1, 1.5, "60", True):
        yield pytest.param(
            lambda content, value=value: content["tables"]["data"].update(rows=value), id=f"rows {value}"
        )
    for value in (None, [], "age", [5]):
        yield pytest.param(
            lambda content, value=value: content["tables"]["data"].update(columns=value), id=f"columns {value}"
        )
    yield pytest.param(lambda content: content["tables"].update(more=content["tables"]["data"]), id="a table twice")
    for kind in ("numeric", "date", "boolean", "no kind", None, 5):
        yield pytest.param(
            lambda content, kind=kind: content["sensitive"].update(disease={"kind": kind}), id=f"kind {kind}"
        )
    yield pytest.param(
        lambda content: content["structure"].update(quasi_identifying=["height"]), id="column that is not there"
    )
    yield pytest.param(
        lambda content: content["structure"].update(quasi_identifying=["age", "disease"]), id="two roles"
    )
    yield pytest.param(lambda content: content["structure"].update(quasi_identifying=["age", "age"]), id="named twice")
    yield pytest.param(lambda content: content["sensitive"].update(height={"kind": "numeric"}), id="no such sensitive")
    for kind in ("sliced-table", "bucketized-tables", "marginal-tables", "randomized-table"):
        yield pytest.param(lambda content, kind=kind: content.update(kind=kind), id=f"taken for a {kind}")


@pytest.mark.parametrize("change", list(damage()))
def test_a_damaged_release_json_is_never_taken_for_a_release(folder, change):
    describe(folder, change)
    with pytest.raises(sf.VerificationError):
        sf.verify(folder)


@pytest.mark.parametrize(
    "name",
    [
        "../out/data.csv",
        "/etc/passwd",
        "..",
        ".",
        "",
        "sub/data.csv",
        "data.csv\0",
        "x" * 5000,
        "..\\data.csv",
        5,
        None,
    ],
)
def test_the_data_file_is_a_name_in_the_folder_never_a_path(folder, name):
    describe(folder, lambda content: content["tables"]["data"].update(file=name))
    with pytest.raises(sf.VerificationError):
        sf.verify(folder)


@pytest.mark.parametrize(
    "hierarchy",
    [
        {"kind": "file", "path": "/etc/passwd"},
        {"kind": "file", "path": "tree.csv"},
        {"rows": []},
        {"rows": [["flu"]]},
        {"rows": [["flu", "a", "*"], ["flu", "b", "*"]]},
        {"rows": 5},
        {"rows": {"flu": 1}},
        {"kind": "groups", "members": {"a": ["flu", "cold", "gout"]}},
        [],
        5,
        "x",
    ],
)
def test_a_hierarchy_is_rows_and_opens_no_file(folder, hierarchy, monkeypatch):
    (folder / "tree.csv").write_text("flu;*\ncold;*\ngout;*\n")
    monkeypatch.chdir(folder)
    describe(folder, lambda content: content["sensitive"]["disease"].update(hierarchy=hierarchy))
    with pytest.raises(sf.VerificationError):
        sf.verify(folder)


@pytest.mark.parametrize(
    "model",
    [
        {"name": "k-anonymity", "k": "five"},
        {"name": "k-anonymity", "k": 0},
        {"name": "k-anonymity", "k": 10**400},
        {"name": "distinct-l-diversity", "l": 2, "attribute": "height"},
        {"name": "t-closeness", "t": 0.5, "distance": "ordered"},
        {"name": "t-closeness", "t": 7},
        {"k": 5},
        {"name": 5},
        "k-anonymity",
    ],
)
def test_a_model_that_cannot_be_is_a_damaged_release(folder, model):
    describe(folder, lambda content: content.update(models=[model]))
    with pytest.raises(sf.VerificationError):
        sf.verify(folder)


def test_a_stronger_promise_than_was_kept_is_broken(folder):
    describe(folder, lambda content: content.update(models=[{"name": "k-anonymity", "k": 50}]))
    verification = sf.verify(folder)
    assert not verification.ok
    with pytest.raises(sf.VerificationError, match=r"k-anonymity \(k=50\): broken; \d+ of \d+ classes"):
        verification.raise_if_broken()


@pytest.mark.parametrize("model", [{"name": "of the future", "x": 1}, {"name": "k-anonymity", "k": 4, "new": 1}])
def test_an_unknown_model_is_not_verifiable_and_never_ok_in_words(folder, model):
    describe(folder, lambda content: content["models"].append(model))
    check = next(check for check in sf.verify(folder).checks if check.promise == f"model {model['name']}")
    assert check.outcome is Outcome.UNDECIDABLE
    assert str(check.outcome) == "not verifiable from the release"
    assert not sf.verify(folder).ok


def test_verification_as_values_and_as_text():
    checks = (
        Check("k-anonymity (k=5)", Outcome.HOLDS, (Achieved("k", 7.0),)),
        Check("t-closeness (t=0.1)", Outcome.BROKEN, (Achieved("t", 0.25, "wage"),), "1 of 3 classes"),
        Check("model x", Outcome.UNDECIDABLE),
    )
    verification = Verification(checks, 20, 3)
    assert not verification.ok
    assert verification.to_dict()["checks"][1]["achieved"] == ["t=0.25 on wage"]
    assert json.loads(json.dumps(verification.to_dict()))["ok"] is False
    assert str(verification).splitlines() == [
        "20 records in 3 equivalence classes",
        "  holds: k-anonymity (k=5) (achieved k=7)",
        "  broken: t-closeness (t=0.1) (achieved t=0.25 on wage; 1 of 3 classes)",
        "  not verifiable from the release: model x",
    ]
    with pytest.raises(sf.VerificationError, match=r"t-closeness \(t=0.1\): broken; 1 of 3 classes"):
        verification.raise_if_broken()


def test_a_check_is_one_readable_line():
    achieved = (Achieved("l", 2.9999999999999996, "disease"), Achieved("k", 12345.0))
    check = Check("some-model (l=3)", Outcome.BROKEN, achieved, "1 of 2 classes with 4 records break it")
    said = "achieved l=3 on disease, k=12345; 1 of 2 classes with 4 records break it"
    assert str(check) == f"broken: some-model (l=3) ({said})"
    assert repr(achieved[0]) == "Achieved(parameter='l', value=3, attribute='disease')"
    assert "2.99" not in repr(check)
    assert str(Check("a promise", Outcome.HOLDS)) == "holds: a promise"


def test_a_limit_is_shown_as_it_is(tmp_path):
    table = sf.read_table(pl.DataFrame({"age": [1, 1]}), sf.Schema(quasi_identifying=["age"]))
    release = sf.anonymize(table, sf.KAnonymity(2), suppression_limit=0.00001)
    assert "record suppression limit (0.001%)" in str(sf.verify(release))


def test_quasi_identifying_values_are_compared_as_they_are_written():
    data = pl.DataFrame({"q": ["[1..2]", "[1..2]", "[1..2)", "[1..2)", None, None], "s": list("ababab")})
    verification = verify_table(data, ["q"], {"s": sf.Attribute()}, [sf.KAnonymity(2), sf.DistinctLDiversity(2)])
    assert verification.ok
    assert verification.classes == 3
    assert not verify_table(data, ["q"], {"s": sf.Attribute()}, [sf.KAnonymity(3)]).ok


CELLS = st.sampled_from([None, "", " ", "a", " a", "*", "[1..2]", "7"])


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12))
@examples(60)
def test_text_counts_the_same_however_a_frame_holds_it(rows: list[tuple[str | None, ...]]) -> None:
    texts = pl.DataFrame(rows, schema=dict.fromkeys(("one", "two", "ill"), pl.String), orient="row")
    sensitive = {"ill": Attribute(kind=Kind.CATEGORICAL)}
    models = [sf.KAnonymity(1), sf.DistinctLDiversity(1)]
    expected = verify_table(texts, ("one", "two"), sensitive, models)
    # To the reader a blank text is a missing value.
    plain = [tuple(None if text is None or not text.strip() else text for text in row) for row in rows]
    sizes = Counter(row[:2] for row in plain)

    assert (expected.records, expected.classes) == (len(rows), len(sizes))
    assert expected.checks[0].achieved[0].value == min(sizes.values())
    for dtype in (pl.Categorical(), pl.Enum(sorted({text for row in rows for text in row if text is not None}))):
        assert verify_table(texts.cast(dtype), ("one", "two"), sensitive, models) == expected


def test_the_verifier_reads_no_more_than_the_folder(folder, monkeypatch):
    opened: list[str] = []
    is_file = Path.is_file

    def noted(self: Path) -> bool:
        opened.append(os.path.abspath(self))
        return is_file(self)

    monkeypatch.setattr(Path, "is_file", noted)
    sf.verify(folder)
    assert all(path.startswith(str(folder)) for path in opened)
