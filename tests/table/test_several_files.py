"""Folders, patterns and lists of files, Arrow streams and files, zstd, JSON lines, and files that are no table."""

from __future__ import annotations

import datetime
import gzip
import sqlite3
from pathlib import Path

import duckdb
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.table.schema import Kind

PEOPLE = pl.DataFrame({"age": [31, 45, 52], "sex": ["m", "f", "m"], "ill": ["flu", "cold", None]})
SCHEMA = sf.Schema(quasi_identifying=["age", "sex"], sensitive=["ill"])
BY_WARD = sf.Schema(quasi_identifying=["age", "sex", "ward"], sensitive=["ill"])


def rows(source, schema=SCHEMA, **settings):
    return sf.read_table(source, schema, **settings).frame.rows()


def problem(source, schema=SCHEMA, **settings):
    with pytest.raises(sf.SfumatoError) as caught:
        sf.read_table(source, schema, **settings)
    (only,) = caught.value.problems
    return only.partition(": ")[2]


def excel(frame, path):
    book = openpyxl.Workbook()
    for row in (frame.columns, *frame.rows()):
        book.active.append(row)
    book.save(path)


WRITERS = {
    "parquet": lambda frame, path: frame.write_parquet(path),
    "csv": lambda frame, path: frame.write_csv(path),
    "arrow": lambda frame, path: frame.write_ipc(path),
    "jsonl": lambda frame, path: frame.write_ndjson(path),
    "xlsx": excel,
}


@pytest.fixture
def parts(tmp_path):
    """Write frames as parts of a folder."""

    def write(frames, format="parquet"):
        folder = tmp_path / "visits"
        for name, frame in frames.items():
            path = folder / f"{name}.{format}"
            path.parent.mkdir(parents=True, exist_ok=True)
            WRITERS[format](frame, path)
        return folder

    return write


@pytest.mark.parametrize("format", WRITERS)
class TestPartsOfEveryFormat:
    def test_a_folder_a_pattern_and_a_list(self, parts, format):
        folder = parts({"a": PEOPLE[:1], "b/c": PEOPLE[1:]}, format)
        (folder / "_SUCCESS").touch()
        (folder / ".a.crc").write_bytes(b"3")
        files = [folder / f"a.{format}", folder / "b" / f"c.{format}"]
        for source in (folder, str(folder), f"{folder}/**/*.{format}", files):
            assert rows(source) == PEOPLE.rows()
        assert rows(f"{folder}/b/?.{format}") == PEOPLE[1:].rows()

    def test_columns_may_be_in_another_order(self, parts, format):
        assert rows(parts({"a": PEOPLE[:1], "b": PEOPLE[1:].select("ill", "sex", "age")}, format)) == PEOPLE.rows()

    def test_other_columns(self, parts, format):
        folder = parts({"a": PEOPLE, "b": PEOPLE.drop("ill")}, format)
        assert problem(folder) == f"b.{format} has other columns than a.{format}; all parts must have the same"

    def test_a_part_without_a_value_in_a_column(self, parts, format):
        empty = PEOPLE.with_columns(ill=pl.lit(None, dtype=pl.String))
        if format == "parquet":
            empty = empty.with_columns(ill=pl.lit(None))
        assert [row[2] for row in rows(parts({"a": empty, "b": PEOPLE}, format))] == [None] * 3 + ["flu", "cold", None]


class TestParts:
    def test_other_types(self, parts):
        other = PEOPLE.with_columns(age=pl.Series(["SECRET"] * 3))
        told = problem(parts({"a": PEOPLE, "b": PEOPLE, "c": other}))
        assert told == "column 'age' is of another type in c.parquet than in a.parquet; write all parts with one schema"

    def test_widths_of_numbers_may_differ(self, parts):
        folder = parts({"a": PEOPLE.with_columns(pl.col("age").cast(pl.Int16)), "b": PEOPLE})
        assert [row[0] for row in rows(folder)] == [31, 45, 52] * 2

    def test_a_corrupt_part(self, parts):
        folder = parts({"a": PEOPLE, "b": PEOPLE})
        content = (folder / "b.parquet").read_bytes()
        (folder / "b.parquet").write_bytes(content[:-30])
        assert problem(folder) == "b.parquet: the Parquet file is damaged or cut off; get a whole copy"
        (folder / "b.parquet").write_bytes(content[:10] + bytes(40) + content[50:])
        assert problem(folder) == "b.parquet: the Parquet file is damaged or cut off; get a whole copy"

    def test_a_foreign_part(self, parts):
        folder = parts({"a": PEOPLE})
        PEOPLE.write_csv(folder / "b.csv")
        assert problem(folder) == "b.csv is of another format than a.parquet; all parts must be of one"

    def test_a_doubled_part(self, parts):
        folder = parts({"a": PEOPLE})
        (folder / "b.parquet").symlink_to(folder / "a.parquet")
        assert problem(folder) == "a file is named twice; every part must be there once"

    def test_no_part(self, tmp_path):
        assert "there is no file of a table here" in problem(tmp_path)
        assert "there is no file of a table here" in problem(f"{tmp_path}/*.parquet")

    def test_a_missing_part(self, parts):
        folder = parts({"a": PEOPLE})
        with pytest.raises(sf.InputError, match=r"none\.parquet: there is no such file"):
            sf.read_table([folder / "a.parquet", folder / "none.parquet"], SCHEMA)

    def test_a_file_whose_name_looks_like_a_pattern(self, tmp_path):
        PEOPLE.write_csv(tmp_path / "visits[1].csv")
        assert rows(tmp_path / "visits[1].csv") == PEOPLE.rows()

    def test_the_folder_of_a_release(self, parts):
        folder = parts({"data": PEOPLE})
        (folder / "release.json").write_text("{}")
        assert "this is the folder of a release" in problem(folder)


class TestNamesOfFolders:
    def test_they_hold_values(self, parts):
        frames = {"ward=a%2Fb/0": PEOPLE[:1], "ward=__HIVE_DEFAULT_PARTITION__/0": PEOPLE[1:2], "ward=c/0": PEOPLE[2:]}
        folder = parts(frames)
        found = sf.read_table(folder, BY_WARD).frame
        assert set(found.rows()) == {(45, "f", "cold", None), (31, "m", "flu", "a/b"), (52, "m", None, "c")}
        assert set(rows(f"{folder}/*/*.parquet", BY_WARD)) == set(found.rows())

    @pytest.mark.parametrize(
        ("values", "kind"),
        [(("2023", "2024"), Kind.NUMERIC), (("01", "02"), Kind.CATEGORICAL), (("2024-01-31", "2024-02-01"), Kind.DATE)],
    )
    def test_their_kind(self, parts, values, kind):
        table = sf.read_table(parts({f"ward={value}/0": PEOPLE for value in values}), BY_WARD)
        assert table.kinds["ward"] == kind
        assert table.frame["ward"].n_unique() == 2

    def test_a_column_of_the_files_counts_more(self, parts):
        folder = parts({"ward=a/0": PEOPLE.with_columns(ward=pl.lit("b"))})
        assert {row[3] for row in rows(folder, BY_WARD)} == {"b"}

    def test_nothing_but_names_of_folders(self, parts):
        folder = parts({"ward=a/0": PEOPLE, "ward=b/0": PEOPLE[:2]})
        table = sf.read_table(folder, sf.Schema(quasi_identifying=["ward"], others="drop"))
        assert table.frame["ward"].to_list() == ["a"] * 3 + ["b"] * 2

    def test_some_folders_without(self, parts):
        folder = parts({"ward=a/0": PEOPLE, "z/0": PEOPLE})
        assert "z/0.parquet has other columns than ward=a/0.parquet" in problem(folder, BY_WARD)


class TestStreams:
    def test_a_relation_of_duckdb(self):
        people = PEOPLE  # noqa: F841 - named in the query
        relation = duckdb.connect().sql("select age::decimal(5, 0) as age, sex, ill from people")
        assert rows(relation) == PEOPLE.rows()

    def test_a_reader(self):
        reader = pa.RecordBatchReader.from_batches(PEOPLE.to_arrow().schema, PEOPLE.to_arrow().to_batches(2))
        assert rows(reader) == PEOPLE.rows()

    def test_a_reader_that_was_read(self):
        reader = pa.RecordBatchReader.from_batches(PEOPLE.to_arrow().schema, PEOPLE.to_arrow().to_batches())
        reader.read_all()
        with pytest.raises(sf.InputError, match="no records"):
            sf.read_table(reader, SCHEMA)

    def test_frames_are_no_streams(self):
        for frame in (PEOPLE, PEOPLE.to_pandas(), PEOPLE.to_arrow()):
            assert rows(frame) == PEOPLE.rows()

    def test_a_stream_that_breaks_off(self):
        def batches():
            yield from PEOPLE.to_arrow().to_batches()
            raise RuntimeError("SECRET")

        reader = pa.RecordBatchReader.from_batches(PEOPLE.to_arrow().schema, batches())
        assert problem(reader) == "the stream broke off with an error of its source; run its query by itself"

    def test_what_streams_no_table(self):
        assert "streams no table" in problem(pa.chunked_array([[1, 2]]))

    def test_spans_of_time(self):
        relation = duckdb.connect().sql("select interval 1 day as age, 'm' as sex, 'flu' as ill")
        assert problem(relation) == "column 'age' holds spans of time; convert it to numbers"

    def test_names_that_repeat(self):
        batch = pa.record_batch([pa.array([1]), pa.array([2])], names=["age", "age"])
        assert "several columns have the same name" in problem(pa.RecordBatchReader.from_batches(batch.schema, [batch]))

    def test_no_library_is_asked_what_it_is(self):
        class Stream:
            def __arrow_c_stream__(self, requested_schema=None):
                return PEOPLE.__arrow_c_stream__(requested_schema)

        assert rows(Stream()) == PEOPLE.rows()


class TestArrowFiles:
    def test_the_stream_form(self, tmp_path):
        PEOPLE.write_ipc_stream(tmp_path / "people.arrows")
        assert rows(tmp_path / "people.arrows") == PEOPLE.rows()

    def test_packed_feather_of_pandas(self, tmp_path):
        PEOPLE.to_pandas().to_feather(tmp_path / "people.feather", compression="zstd")
        assert rows(tmp_path / "people.feather") == PEOPLE.rows()

    @pytest.mark.parametrize("form", ["write_ipc", "write_ipc_stream"])
    def test_one_that_is_cut_off(self, tmp_path, form):
        getattr(pl.concat([PEOPLE] * 99), form)(tmp_path / "people.arrow")
        content = (tmp_path / "people.arrow").read_bytes()
        (tmp_path / "people.arrow").write_bytes(content[: len(content) // 2])
        assert problem(tmp_path / "people.arrow") == "the Arrow file is damaged or cut off; get a whole copy"


class TestPackedText:
    def zstd(self, text):
        return pa.compress(text, codec="zstd", asbytes=True)

    def test_zstd(self, tmp_path):
        text = PEOPLE.write_csv().encode()
        (tmp_path / "people.csv.zst").write_bytes(self.zstd(text[:20]) + self.zstd(text[20:]))
        assert rows(tmp_path / "people.csv.zst") == PEOPLE.rows()

    def test_zstd_that_is_cut_off(self, tmp_path):
        (tmp_path / "people.csv.zst").write_bytes(self.zstd(PEOPLE.write_csv().encode())[:-5])
        assert problem(tmp_path / "people.csv.zst") == "the zstd file is damaged or cut off; get a whole copy"

    def test_zstd_that_unpacks_to_more_than_memory_may_hold(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SFUMATO_UNPACK_LIMIT", "1")
        (tmp_path / "people.csv.zst").write_bytes(self.zstd(b"age,sex,ill\n" + b"1,m,flu\n" * 200_000))
        assert "the zstd file unpacks to more than 1 MB" in problem(tmp_path / "people.csv.zst")


class TestJsonLines:
    def write(self, tmp_path, *lines):
        (tmp_path / "people.jsonl").write_text("\n".join(lines) + "\n")
        return tmp_path / "people.jsonl"

    def test_dates_and_absent_keys(self, tmp_path):
        path = self.write(
            tmp_path, '{"age": 31, "sex": "2000-01-31"}', "", '{"sex": "1999-12-31", "ill": "flu", "age": 3}'
        )
        table = sf.read_table(path, SCHEMA)
        assert table.frame.select("age", "sex", "ill").rows() == [
            (31, datetime.date(2000, 1, 31), None),
            (3, datetime.date(1999, 12, 31), "flu"),
        ]

    def test_packed(self, tmp_path):
        (tmp_path / "people.jsonl.gz").write_bytes(gzip.compress(PEOPLE.write_ndjson().encode()))
        assert rows(tmp_path / "people.jsonl.gz") == PEOPLE.rows()

    @pytest.mark.parametrize("line", ['{"age": 3, "sex": "SECRET"', "[1, 2]", "SECRET"])
    def test_a_line_that_is_no_record(self, tmp_path, line):
        path = self.write(tmp_path, '{"age": 31, "sex": "m", "ill": "flu"}', line)
        assert problem(path).startswith("line 2 is no JSON object")

    def test_values_of_several_types(self, tmp_path):
        path = self.write(tmp_path, '{"age": true, "sex": "m", "ill": "flu"}', '{"age": 3, "sex": "m", "ill": "flu"}')
        assert problem(path) == "values of 'age' are of several types; give each key one type"

    def test_an_empty_file(self, tmp_path):
        (tmp_path / "people.ndjson").touch()
        assert "the file is empty" in problem(tmp_path / "people.ndjson")

    def test_a_document(self, tmp_path):
        (tmp_path / "people.json").write_text('["SECRET"]')
        assert "write its records as JSON lines" in problem(tmp_path / "people.json")


class TestWhatIsNoTable:
    @pytest.mark.parametrize(
        ("start", "name", "told"),
        [
            (b"%PDF-1.7", "a.pdf", "this is a PDF"),
            (b"RDX3\nX", "a.rda", "arrow::write_parquet"),
            (gzip.compress(b"X", mtime=0), "a.rds", "arrow::write_parquet"),
            (bytes(8) + b"DUCK", "a.duckdb", "database"),
        ],
    )
    def test_files(self, tmp_path, start, name, told):
        (tmp_path / name).write_bytes(start)
        assert told in problem(tmp_path / name)

    def test_sqlite(self, tmp_path):
        with sqlite3.connect(tmp_path / "a.sqlite") as database:
            database.execute("create table visits (age int, sex text, ill text)")
        database.close()
        assert "the table visits returns no records" in problem(tmp_path / "a.sqlite")

    @pytest.mark.parametrize(
        ("address", "told"),
        [
            ("https://user:SECRET@example.org/a.csv", "nothing is downloaded"),
            ("s3://bucket/a.parquet", "copy the file here"),
            ("mysql://user:SECRET@example.org/clinic", "addresses of mysql are not known"),
            ("mysql://user:SECRET@example.org", "addresses of mysql are not known"),
            (Path("mysql://user:SECRET@example.org"), "addresses of mysql are not known"),
        ],
    )
    def test_addresses(self, address, told):
        with pytest.raises(sf.InputError) as caught:
            sf.read_table(address, SCHEMA)
        assert told in str(caught.value)
        assert "SECRET" not in str(caught.value)


def test_pandas_frames_with_a_column_that_streams_nothing_are_told_as_before():
    frame = pd.DataFrame({"age": [1, "SECRET", 2.5], "sex": ["m"] * 3, "ill": ["flu"] * 3})
    assert "SECRET" not in problem(frame)
