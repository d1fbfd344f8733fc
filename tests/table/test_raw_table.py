from __future__ import annotations

from itertools import product

import polars as pl
import pytest

import sfumato as sf

ROLES = ("identifying", "quasi_identifying", "sensitive", "insensitive")
TEXT = """name,age,zip,when,sick
 A ,30,01234,2026-01-02,yes
B,31.50,01235,,no
C,?,99999,2026-03-04,
A,31.5,01234,2026-01-02,no
"""


def schemas(names: list[str]) -> list[sf.Schema]:
    """Every way to give the columns of a table roles, with one that others can be told from at least."""
    found = []
    for roles in product(ROLES, repeat=len(names)):
        given = {role: [name for name, its in zip(names, roles, strict=True) if its == role] for role in ROLES}
        if given["quasi_identifying"]:
            found.append(sf.Schema(**given))  # type: ignore[arg-type]
    return found


def same(one: sf.Table, other: sf.Table) -> bool:
    people = one.people is None if other.people is None else bool((one.people == other.people).all())
    repeated = (one.repeated and one.repeated.name) == (other.repeated and other.repeated.name)
    # Categories of text are numbered for each reading alone.
    frames = [table.frame.with_columns(pl.col(pl.Categorical).cast(pl.String)) for table in (one, other)]
    kinds = (one.kinds, one.schema, one.source, one.from_text) == (
        other.kinds,
        other.schema,
        other.source,
        other.from_text,
    )
    return kinds and frames[0].equals(frames[1]) and frames[0].schema == frames[1].schema and people and repeated


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_roles_given_later_make_the_table_that_is_read_with_them(file):
    raw = sf.open_table(file, missing=["", "?"])
    for schema in schemas(["name", "age", "zip", "when", "sick"])[::11]:
        assert same(raw.with_schema(schema), sf.read_table(file, schema, missing=["", "?"])), schema


def test_the_same_of_frames_and_parquet_files(file, tmp_path):
    frame = pl.read_csv(file)
    frame.write_parquet(tmp_path / "people.parquet")
    for source in (frame, tmp_path / "people.parquet"):
        raw = sf.open_table(source)
        for schema in schemas(["name", "age", "zip", "when", "sick"])[::61]:
            assert same(raw.with_schema(schema), sf.read_table(source, schema)), schema


@pytest.mark.parametrize(
    "schema",
    [
        sf.Schema(quasi_identifying=["age"], others="drop"),
        sf.Schema(quasi_identifying=["age"], person="name", others="keep"),
        sf.Schema(quasi_identifying={"zip": sf.Attribute(kind="categorical", hierarchy=sf.prefixes(3))}, others="drop"),
        sf.Schema(quasi_identifying={"when": sf.dates()}, sensitive=["sick"], others="drop"),
    ],
)
def test_settings_of_columns_work_as_in_reading(file, schema):
    assert same(sf.open_table(file, missing="?").with_schema(schema), sf.read_table(file, schema, missing="?"))


def test_texts_stay_as_the_file_has_them(file):
    raw = sf.open_table(file)
    assert raw.texts("age").to_list() == ["30", "31.50", "?", "31.5"]
    assert raw.texts("name").to_list() == ["A", "B", "C", "A"]
    assert sf.open_table(file, strip=False).texts("name")[0] == " A "
    assert raw.height == 4
    assert raw.is_text


def test_nothing_is_read_twice_and_a_file_that_changes_does_not_matter(file):
    raw = sf.open_table(file)
    raw.read(raw.names)
    file.unlink()
    assert raw.with_schema(sf.Schema(quasi_identifying=["zip"], others="drop")).height == 4


def test_a_wrong_role_is_told_with_the_name_of_the_file(file):
    with pytest.raises(sf.SchemaError, match=r"^people\.csv: "):
        sf.open_table(file).with_schema(sf.Schema(quasi_identifying=["height"], others="drop"))
    with pytest.raises(sf.SchemaError, match="schema is not a Schema"):
        sf.open_table(file).with_schema(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "is empty"), ("a,a\n1,2\n", "same name"), ("a\x1b,b\n", "control")],
)
def test_a_file_that_is_no_table_is_refused_when_it_is_opened(tmp_path, text, message):
    path = tmp_path / "odd.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(sf.InputError, match=message):
        sf.open_table(path)


def test_no_value_is_shown(file):
    raw = sf.open_table(file)
    assert repr(raw) == "RawTable('people.csv', 5 columns)"
    with pytest.raises(sf.InputError) as caught:
        raw.typed("name", "numeric")  # type: ignore[arg-type]
    assert "B" not in str(caught.value)
    with pytest.raises(sf.InputError, match="not in the table"):
        raw.texts("height")


def test_values_without_a_name_are_refused_when_they_are_read(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("a,\n1,2\n", encoding="utf-8")
    with pytest.raises(sf.InputError, match="column 2 has no name, but holds values"):
        _ = sf.open_table(path).height


def test_a_table_that_is_held_is_the_same_table(file, tmp_path):
    pl.read_csv(file, infer_schema=False).write_parquet(tmp_path / "people.parquet")
    for source in (file, tmp_path / "people.parquet"):
        plain, held = sf.open_table(source, missing=["", "?"]), sf.open_table(source, missing=["", "?"])
        held.hold()
        for name in plain.names:
            assert held.texts(name).to_list() == plain.texts(name).to_list()
            assert held.texts(name).dtype.base_type() == plain.texts(name).dtype.base_type()
            assert held.some(name, 1, 2).to_list() == plain.texts(name).to_list()[1:3]
        for schema in schemas(["name", "age", "zip", "when", "sick"])[::101]:
            assert same(held.with_schema(schema), sf.read_table(source, schema, missing=["", "?"])), schema


def test_a_file_that_changes_between_two_columns_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "people.parquet"
    pl.DataFrame({"age": [1, 2, 3], "sex": ["f", "m", "f"]}).write_parquet(path)
    raw = sf.open_table(path)
    raw.read(["age"])
    pl.DataFrame({"age": [1, 2], "sex": ["f", "m"]}).write_parquet(path)
    with pytest.raises(sf.SfumatoError, match="has changed while it was read"):
        raw.hold()
