"""read_table(): every kind of source, and everything that can be wrong with one."""

from __future__ import annotations

import gzip
import os
from datetime import date, datetime
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from examples import examples
from sfumato.errors import InputError, SchemaError, SfumatoError
from sfumato.table.encoding import encode
from sfumato.table.reading import read_table
from sfumato.table.schema import Attribute, Kind, Schema

ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "salary",
]
AB = Schema(quasi_identifying=["a"], sensitive=["b"])
AB_TEXT = Schema(
    quasi_identifying={"a": Attribute(kind=Kind.CATEGORICAL)}, sensitive={"b": Attribute(kind=Kind.CATEGORICAL)}
)


@pytest.fixture
def write(tmp_path):
    def written(content, name="people.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def rows(source, schema=AB, **settings):
    return read_table(source, schema, **settings).frame.rows()


def problems(source, schema=AB, error=SfumatoError, **settings):
    """Problems of a source that cannot be read; no marked value may be in any of them, nor in what caused them."""
    with pytest.raises(error) as caught:
        read_table(source, schema, **settings)
    found: BaseException | None = caught.value
    while found is not None:
        assert "SECRET" not in str(found)
        assert "777" not in str(found)
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
    return caught.value.problems


def only_problem(*arguments, **settings):
    (problem,) = problems(*arguments, **settings)
    return problem


class TestLayouts:
    """Files that are right, in every layout."""

    @pytest.mark.parametrize(
        "text",
        [
            "a,b\n1,x\n2,y\n",
            "a,b\n1,x\n2,y",
            "a,b\r\n1,x\r\n2,y\r\n",
            "a,b\r1,x\r2,y\r",
            "\n\na,b\n\n1,x\n2,y\n\n\n",
            "a,b\n1,x\n2,y\n" + "\n" * 300_000,
            '"a","b"\n"1","x"\n2,y\n',
            " a , b \n 1 , x\n2, y \n",
            'a,b\n1, "x"\n"2","y"\n',
            "\ufeffa,b\n1,x\n2,y\n",
        ],
    )
    def test_line_ends_blank_lines_quotes_and_blanks(self, write, text):
        assert rows(write(text)) == [(1, "x"), (2, "y")]

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "UTF-32"])
    def test_encodings(self, write, encoding):
        path = write("a,b\n1,Zoë\n2,ï\n".encode(encoding))
        assert rows(path, encoding=encoding) == [(1, "Zoë"), (2, "ï")]

    def test_gzip(self, write):
        assert rows(write(gzip.compress(b"a,b\n1,x\n"), "people.csv.gz")) == [(1, "x")]

    def test_separator_and_quote(self, write):
        assert rows(write("a;b\n1;'x;y'\n"), separator=";", quote="'") == [(1, "x;y")]
        assert rows(write('a,b\n1,"x\n'), quote=None) == [(1, '"x')]
        assert rows(write("a\tb\n1\tx y\n"), separator="\t") == [(1, "x y")]

    def test_quoted_separators_line_ends_and_quotes(self, write):
        path = write('a,b\n1,"x,y"\n2,"x\ny"\n3,"x ""y"" z"\n4,""\n')
        assert rows(path) == [(1, "x,y"), (2, "x\ny"), (3, 'x "y" z'), (4, None)]

    def test_a_quote_inside_a_value_is_text(self, write):
        assert rows(write('a,b\n1,5" pipe\n2,6" pipe\n')) == [(1, '5" pipe'), (2, '6" pipe')]

    def test_without_header(self, write):
        assert rows(write("1,x\n2,y\n"), header=False, columns=["a", "b"]) == [(1, "x"), (2, "y")]

    def test_blanks_may_be_dropped_in_some_columns_alone(self, write):
        path = write("a,b,c\n x, 1 , y\n x , 2, z\n")
        table = read_table(path, Schema(quasi_identifying=["a"], sensitive=["b"], insensitive=["c"]), strip=["b"])
        assert table.frame["a"].to_list() == [" x", " x "]
        assert table.frame["b"].to_list() == [1, 2]
        assert table.frame["c"].to_list() == [" y", " z"]

    def test_blanks_may_be_kept(self, write):
        assert rows(write("a,b\n1, x \n2,\n"), strip=False) == [(1, " x "), (2, None)]

    @pytest.mark.parametrize("missing", ["?", ("?",), ("", "?", "NA")])
    def test_missing_tokens(self, write, missing):
        assert rows(write("a,b\n1,x\n ?,\n3,?\n"), missing=missing) == [(1, "x"), (None, None), (3, None)]

    def test_a_single_column_may_have_missing_values_on_blank_lines(self, write):
        assert rows(write("a\n1\n\n3\n\n"), Schema(quasi_identifying=["a"])) == [(1,), (None,), (3,)]

    def test_hostile_text_is_carried_as_text(self, write):
        huge = "y" * 10_000_000
        texts = ["=cmd|' /C calc'!A0", "@SUM(1)", "\x00\x01\x1b[31m", huge, "</script>"]
        path = write("a,b\n" + "".join(f"{row},{text}\n" for row, text in enumerate(texts)))
        assert rows(path) == list(enumerate(texts))

    @pytest.mark.parametrize("quote", ['"', None])
    @examples(60)
    @given(
        data=st.data(),
        blank=st.sampled_from(["\n", "\r\n"]),
    )
    def test_what_is_written_is_read(self, tmp_path_factory, quote, data, blank):
        alphabet = "ab ,\n\r\"'é=0" if quote else "ab 'é=0"
        cells = data.draw(st.lists(st.tuples(*[st.text(alphabet, max_size=4)] * 2), min_size=1, max_size=8))
        path = tmp_path_factory.mktemp("written") / "people.csv"

        def cell(text):
            return f"{quote}{text.replace(quote, quote * 2)}{quote}" if quote else text

        lines = ["a,b", *(",".join(map(cell, row)) for row in cells)]
        path.write_bytes(blank.join(lines).encode())
        expected = [tuple(text if text.strip() else None for text in row) for row in cells]
        assert rows(path, AB_TEXT, quote=quote, strip=False) == expected

    def test_many_records_in_many_blocks(self, write):
        lines = [f'{row},"{"x" * (row % 90)},""{row % 7}"""' for row in range(30_000)]
        table = read_table(write("a,b\n" + "\n".join(lines)), AB)
        assert table.frame["a"].to_list() == list(range(30_000))
        assert table.frame["b"].cast(pl.String)[29_999] == "x" * (29_999 % 90) + f',"{29_999 % 7}"'


class TestKinds:
    """Which kind a column is."""

    @pytest.mark.parametrize(
        ("cells", "kind", "values"),
        [
            (["1", "-2", "+3", ""], Kind.NUMERIC, [1, -2, 3, None]),
            (["1", "2.5", ".5", "3.", "1e3"], Kind.NUMERIC, [1.0, 2.5, 0.5, 3.0, 1000.0]),
            (["1.5", "NaN"], Kind.NUMERIC, [1.5, None]),
            (["0", "0.5"], Kind.NUMERIC, [0.0, 0.5]),
            (["01234", "99999"], Kind.CATEGORICAL, ["01234", "99999"]),
            (["99999999999999999999", "1"], Kind.CATEGORICAL, ["99999999999999999999", "1"]),
            (["1", "two"], Kind.CATEGORICAL, ["1", "two"]),
            (["nan", "inf"], Kind.CATEGORICAL, ["nan", "inf"]),
            (["1,5", "2.5"], Kind.CATEGORICAL, ["1,5", "2.5"]),
            (["٣", "1"], Kind.NUMERIC, [3, 1]),
            (["true", "False", ""], Kind.BOOLEAN, [True, False, None]),
            (["false", "", "false"], Kind.BOOLEAN, [False, None, False]),
            (["yes", "no"], Kind.CATEGORICAL, ["yes", "no"]),
            (["2024-02-29", ""], Kind.DATE, [date(2024, 2, 29), None]),
            (["2024-02-29", "2023-02-29"], Kind.CATEGORICAL, ["2024-02-29", "2023-02-29"]),
            (["", ""], Kind.CATEGORICAL, [None, None]),
        ],
    )
    @pytest.mark.parametrize("repeats", [1, 6000])
    def test_kinds_are_read_off_all_values(self, write, cells, kind, values, repeats):
        path = write("a;b\n" + "".join(f"{cell};x\n" for cell in cells * repeats))
        table = read_table(path, AB, separator=";")
        assert table.kinds == {"a": kind, "b": Kind.CATEGORICAL}
        assert pl.Series(table.frame["a"].to_list()).equals(pl.Series(values * repeats))

    def test_columns_of_thousands_of_different_values(self, write):
        path = write("a,b,c\n" + "".join(f" {row / 7},p{row},0{row}\n" for row in range(25_000)))
        table = read_table(path, Schema(quasi_identifying=["a"], sensitive=["b"], insensitive=["c"]))
        assert table.frame["a"].to_list() == [row / 7 for row in range(25_000)]
        assert table.frame["b"].cast(pl.String).to_list() == [f"p{row}" for row in range(25_000)]
        assert table.frame["c"].cast(pl.String).to_list() == [f"0{row}" for row in range(25_000)]

    @pytest.mark.parametrize(
        ("kind", "cells", "values"),
        [
            ("numeric", ["007", "1.5"], [7.0, 1.5]),
            ("categorical", ["1", "2"], ["1", "2"]),
            ("boolean", ["1", "No"], [True, False]),
            ("date", ["2024-01-02", ""], [date(2024, 1, 2), None]),
            ("date", ["", ""], [None, None]),
            ("numeric", ["", ""], [None, None]),
        ],
    )
    def test_a_declared_kind_wins(self, write, kind, cells, values):
        schema = Schema(quasi_identifying={"a": Attribute(kind=kind)}, sensitive=["b"])
        table = read_table(write("a,b\n" + "".join(f"{cell},x\n" for cell in cells)), schema)
        assert table.kinds["a"] == kind
        assert table.frame["a"].to_list() == values

    @pytest.mark.parametrize(
        ("kind", "cells"),
        [
            ("numeric", ["1", "", "SECRET1", "2", "SECRET2"]),
            ("numeric", ["1", "", "0x777", "2", "1_777"]),
            ("boolean", ["true", "", "SECRET1", "false", "777"]),
            ("date", ["2024-01-01", "", "SECRET1", "2024-01-01", "2024-77-71"]),
        ],
    )
    @pytest.mark.parametrize("repeats", [0, 20_000])
    def test_values_of_another_kind_are_counted(self, write, kind, cells, repeats):
        schema = Schema(quasi_identifying={"a": Attribute(kind=kind)}, sensitive=["b"])
        cells = [*cells, *cells[:1] * repeats]
        problem = only_problem(write("a,b\n" + "".join(f"{cell},x\n" for cell in cells)), schema, error=InputError)
        assert problem.startswith(f"people.csv: column 'a' is declared {kind}, but 2 record(s)")
        assert "first in row 3" in problem

    def test_insensitive_columns_keep_their_text(self, write):
        path = write("a,b,c\n1,x,1.50\n2,y,?\n3,z, 01 \n4,z,\n")
        table = read_table(path, Schema(quasi_identifying=["a"], insensitive=["b", "c"]), missing="?")
        assert table.frame["c"].cast(pl.String).to_list() == ["1.50", "?", "01", None]


class TestRoles:
    """Columns against the schema."""

    def test_identifying_and_dropped_columns_are_gone(self, write):
        schema = Schema(identifying=["n"], quasi_identifying=["a"], others="drop")
        table = read_table(write("n,b,a\nSECRET,x,1\n"), schema)
        assert table.frame.columns == ["a"]

    def test_kept_columns_become_insensitive_in_the_order_of_the_source(self, write):
        schema = Schema(identifying=["n"], quasi_identifying=["a"], others="keep")
        table = read_table(write("n,c,a,b\nSECRET,x,1,2\n"), schema)
        assert table.frame.columns == ["c", "a", "b"]
        assert table.schema.insensitive == ("c", "b")

    def test_missing_and_unassigned_columns_come_at_once_with_wrong_values(self, write):
        schema = Schema(
            identifying=["gone"],
            quasi_identifying={"a": Attribute(kind=Kind.NUMERIC)},
            sensitive=["lost"],
            insensitive=["d", "e"],
        )
        found = problems(write("a,b,c,d,e\nSECRET,SECRET,SECRET,1,2\n"), schema, InputError)
        assert found[0] == "people.csv: missing column(s): 'gone', 'lost'; available are 'a', 'b', 'c', 'd', 'e'"
        assert found[1].startswith("people.csv: column(s) without a role: 'b', 'c'; give each a role")
        assert "others='drop'" in found[1]
        assert "column 'a' is declared numeric" in found[2]

    def test_role_problems_alone_are_schema_errors(self, write):
        assert "without a role: 'c'" in only_problem(write("a,b,c\n1,2,3\n"), error=SchemaError)

    def test_a_record_in_place_of_a_header_is_not_shown(self, write):
        assert "no column of the schema" in only_problem(write("SECRET,777\nSECRET,777\n"), error=SchemaError)

    @pytest.mark.parametrize("others", ["error", "drop", "keep"])
    @pytest.mark.parametrize(
        "record",
        [
            "SECRETx,SECRETy,SECRETy",
            "SECRETx,^SECRET$,7",
            "SECRETx,,7",
            'SECRETx," SECRET",7',
            "SECRETx,SECRET\x007,7",
            # One cell is by chance the name of a column of the schema, twice in the last one.
            "a,SECRETy,SECRETx",
            "a,SECRETy,SECRETy",
            "a,^SECRET$,7",
            "a,,SECRET",
            'a,"SECRET\nx",7',
            "a,a,SECRET",
        ],
    )
    @pytest.mark.parametrize("schema", [{"sensitive": ["b"]}, {"sensitive": ["b"], "identifying": ["n"]}])
    def test_no_record_in_place_of_a_header_is_shown(self, write, schema, record, others):
        schema = Schema(quasi_identifying=["a"], **schema, others=others)
        problems(write(f"{record}\n1,2,SECRET\n"), schema)
        frame = pl.read_csv(write(f"{record}\n1,2,3\n".replace("\0", "")))
        problems(frame, schema)

    def test_a_record_that_has_the_only_name_of_the_schema_is_not_shown(self, write):
        found = only_problem(write("34,a,SECRET\n777,b,SECRET\n"), Schema(quasi_identifying=["a"]), SchemaError)
        assert found.startswith("people.csv: column(s) without a role: column 1, column 3 (named by number")

    def test_columns_that_are_not_named_in_messages_are_numbered(self, write):
        (missing, left) = problems(write("a,SECRET,777\n1,2,3\n"), error=SchemaError)
        assert "missing column(s): 'b'; available are 'a', column 2, column 3 (named by number" in missing
        assert "without a role: column 2, column 3" in left
        assert "same name: column 1, column 3 (" in only_problem(write("SECRET,a,SECRET\n1,2,3\n"), error=InputError)

    @pytest.mark.parametrize("written", ["Agee", "AGE", " a-g_e", "agee"])
    def test_a_name_that_is_written_otherwise_is_suggested_among_all(self, write, written):
        file = write("age,sex,ill\n1,2,SECRET\n")
        meant = f"{written!r} (did you mean 'age'?); available are 'age', 'sex', 'ill'"
        one = only_problem(file, Schema(quasi_identifying=[written], others="drop"), SchemaError)
        # A name with other letters is offered only beside names that are certain: it may be a cell of a record.
        is_shown = written.lower() != "agee"
        assert (one == f"people.csv: no column of the schema is in the table: {meant}") is is_shown
        assert is_shown or "'age'" not in one
        several = Schema(quasi_identifying=[written, "sex"], sensitive=["ill"])
        assert problems(file, several, SchemaError)[0] == f"people.csv: missing column(s): {meant}"

    def test_all_names_in_another_case_are_suggested(self, write):
        schema = Schema(quasi_identifying=["Age", "SEX"], sensitive=["Ill"])
        found = only_problem(write("age,sex,ill\n1,2,SECRET\n"), schema, SchemaError)
        assert found.startswith(
            "people.csv: no column of the schema is in the table: 'Age' (did you mean 'age'?), 'SEX'"
        )

    @pytest.mark.parametrize("record", ["SECRET,777,ages", "SECRET,,agee", "SECRETx,SECRETy,SECRETz"])
    def test_of_a_record_nothing_is_listed_beside_what_resembles_a_name(self, write, record):
        found = only_problem(write(f"{record}\n1,2,3\n"), Schema(quasi_identifying=["age"]), SchemaError)
        assert "SECRET" not in found
        assert "777" not in found
        assert "separator" not in found

    @pytest.mark.parametrize(("sign", "called"), [(";", "';'"), ("\t", "tab"), ("|", "'|'")])
    def test_the_separator_is_found(self, write, sign, called):
        file = write(sign.join(["age", "sex"]) + "\n" + sign.join(["1", "SECRET"]) + "\n")
        table = read_table(file, Schema(quasi_identifying=["age"], others="drop"))
        assert table.frame["age"].to_list() == [1]
        assert table.remarks[0] == f"The file is separated by {called} (--set source.separator={called})."

    def test_names_that_the_caller_gave_are_shown(self, write):
        found = problems(write("1,2,3\n"), header=False, columns=["a", "x", "y"])
        assert found[0] == "people.csv: missing column(s): 'b'; available are 'a', 'x', 'y'"

    def test_an_arrow_table_with_repeated_names_is_told_by_numbers(self):
        column = pa.array([1])
        repeated = pa.table([column, column, column], names=["a", "SECRET", "SECRET"])
        assert "same name: column 2, column 3" in only_problem(repeated, error=InputError)

    @pytest.mark.parametrize("control", ["\0", "\x07", "\x1b[31m", "\x85y", "\u2028y"])
    def test_control_characters_in_a_name(self, write, control):
        name = f"x{control}z"
        frame = pl.DataFrame({"a": [1], "b": [2], name: [3]})
        schema = Schema(quasi_identifying=["a"], sensitive=["b"], insensitive=[name], others="keep")
        expected = "column name(s) with control characters or line ends: column 3"
        assert expected in only_problem(frame, schema, InputError)
        assert expected in only_problem(write(f'a,b,"{name}"\n1,2,3\n'), schema, InputError)

    @pytest.mark.parametrize("name", ["a", "b"])
    def test_duplicate_names(self, write, name):
        assert f"same name: '{name}'" in only_problem(write(f"a,b,{name}\n1,2,3\n"), error=InputError)

    def test_a_million_columns(self, write):
        header = ",".join(f"c{index}" for index in range(1_000_000))
        assert "there are 1000000 columns" in only_problem(write(header + "\n"), error=InputError)


class TestWrongSettings:
    """Arguments of wrong types."""

    @pytest.mark.parametrize("schema", [None, {"a": "SECRET"}, ["a"], 5, Schema])
    def test_no_schema(self, write, schema):
        assert only_problem(write("a,b\n1,2\n"), schema, SchemaError).startswith("people.csv: schema is not a Schema")

    @pytest.mark.parametrize("missing", [None, 5, [1], ["?", None], b"?"])
    def test_missing_that_is_no_text(self, write, missing):
        expected = "people.csv: missing must be a text or a list of texts"
        assert only_problem(write("a,b\n1,2\n"), error=InputError, missing=missing).startswith(expected)

    @pytest.mark.parametrize("columns", [5, [1, 2], [None], b"ab"])
    def test_columns_that_are_no_names(self, write, columns):
        found = only_problem(write("a,b\n1,2\n"), error=InputError, header=False, columns=columns)
        assert found == "people.csv: columns must be a list of column names"

    @pytest.mark.parametrize(
        "setting",
        [
            {"encoding": "a\0"},
            {"encoding": None},
            {"encoding": "\udcff"},
            {"separator": 5},
            {"quote": 5},
            {"header": "SECRET"},
            {"strip": None},
        ],
    )
    def test_layouts_of_wrong_types(self, write, setting):
        (name,) = setting
        assert f"people.csv: {name} must be" in only_problem(write("a,b\n1,2\n"), error=InputError, **setting)


class TestBrokenFiles:
    """Files that are wrong: named precisely, no value shown."""

    @pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
    def test_empty_file(self, write, text):
        assert "the file is empty" in only_problem(write(text), error=InputError)

    @pytest.mark.parametrize("text", ["a,b", "a,b\n", '"a","b"\r\n\r\n'])
    def test_header_only(self, write, text):
        assert only_problem(write(text), error=InputError) == "people.csv: the table has no records"

    @pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
    def test_ragged_rows(self, write, ends):
        lines = ["a,b", "1,x", "SECRET", "2,y", "3,SECRET,777", "SECRET"]
        found = problems(write(ends.join(lines)), error=InputError)
        assert len(found) == 2
        assert "2 row(s) have fewer than 2 fields, first row 2" in found[0]
        assert "1 row(s) have more than 2 fields, first row 4" in found[1]

    @pytest.mark.parametrize("row", ["1", "1,x,,", "1,x,SECRET,SECRET", "1,x,"])
    @pytest.mark.parametrize("schema", [AB, Schema(quasi_identifying=["a"], others="drop")])
    def test_one_ragged_row_among_many(self, write, row, schema):
        lines = ["1,x"] * 40_000
        lines[31_233] = row
        assert "1 row(s) have" in (problem := only_problem(write("a,b\n" + "\n".join(lines)), schema, error=InputError))
        assert "first row 31234" in problem

    @pytest.mark.parametrize("opening", ['"SECRET,x\n', '1,"SECRET\n', '1,x\n2,"', '1,x\n3,"SECRET""\n'])
    def test_a_quote_that_is_never_closed(self, write, opening):
        problem = only_problem(write("a,b\n9,z\n" + opening), error=InputError)
        assert "1 row(s) open a quote that is never closed" in problem
        assert f"first row {2 + opening.startswith('1,x')}" in problem

    def test_an_open_quote_in_the_header(self, write):
        assert "first row opens a quote" in only_problem(write('a,"b\nSECRET,SECRET\n'), error=InputError)

    @pytest.mark.parametrize("others", ["1,x\n", ""])
    def test_bytes_of_another_encoding(self, write, others):
        content = f"a,b\n{others}".encode() + b"2,SECRET\xff\n3,\xe9SECRET\n"
        problem = only_problem(write(content), error=InputError)
        assert "2 row(s) have bytes that are not in the file's encoding" in problem
        assert f"first row {2 if others else 1}" in problem

    def test_unreadable_bytes_outside_the_needed_columns_do_no_harm(self, write):
        schema = Schema(identifying=["n"], quasi_identifying=["a"])
        assert rows(write(b"n,a\n\xff\xfe,1\n"), schema) == [(1,)]

    def test_bytes_that_a_named_encoding_does_not_know(self, write):
        problem = only_problem(write(b"a,b\n1,x\n2,SECRET\x81\n"), encoding="cp1252", error=InputError)
        assert "line 3" in problem

    def test_damaged_gzip(self, write):
        packed = gzip.compress(b"a,b\n1,SECRET\n" * 99)
        assert "gzip file is damaged" in only_problem(write(packed[:-9]), error=InputError)

    def test_a_missing_file_a_folder_and_an_archive(self, write, tmp_path):
        assert "no such file" in only_problem(tmp_path / "none.csv", error=InputError)
        (tmp_path / "empty").mkdir()
        assert "no file of a table" in only_problem(tmp_path / "empty", error=InputError)
        assert "workbook" in only_problem(write(b"PK\x03\x04SECRET"), error=InputError)
        assert "no such file" in only_problem("a\0b", error=InputError)

    @pytest.mark.parametrize(
        "settings",
        [
            {"separator": ""},
            {"separator": ",,"},
            {"separator": "é"},
            {"quote": ","},
            {"encoding": "klingon"},
            {"encoding": "hex"},
            {"columns": ["a"]},
            {"header": False},
            {"header": False, "columns": ["a"]},
            {"header": False, "columns": ["a", "a"]},
        ],
    )
    def test_settings_that_cannot_be(self, write, settings):
        assert only_problem(write("a,b\n1,SECRET\n"), error=InputError, **settings)

    def test_several_wrong_settings_come_at_once(self, write):
        assert len(problems(write("a,b\n1,x\n"), separator="", quote="", encoding="klingon")) == 3


class TestFrames:
    """Typed sources."""

    FRAME = pl.DataFrame(
        {
            "a": [1, None, 3],
            "b": ["x", "01", None],
            "d": [date(2020, 1, 1), None, date(2021, 1, 1)],
            "t": [True, None, False],
            "f": [0.5, None, 2.0],
        }
    )
    SCHEMA = Schema(quasi_identifying=["a", "d", "t", "f"], sensitive=["b"])

    def check(self, source):
        table = read_table(source, self.SCHEMA)
        assert_frame_equal(table.frame, self.FRAME, categorical_as_str=True, check_dtypes=False)
        assert list(table.kinds.values()) == ["numeric", "categorical", "date", "boolean", "numeric"]
        assert isinstance(table.frame.schema["b"], pl.Categorical)
        assert encode(table).height == 3

    def test_polars(self):
        self.check(self.FRAME)

    def test_pandas(self):
        frame = self.FRAME.to_pandas()
        frame["d"] = pd.to_datetime(frame["d"])
        frame["a"] = frame["a"].astype("Int64")
        self.check(frame.set_index(pd.Index([7, 7, 1])))

    def test_arrow(self):
        self.check(self.FRAME.to_arrow())

    def test_parquet(self, tmp_path):
        self.FRAME.write_parquet(tmp_path / "people.parquet")
        self.check(tmp_path / "people.parquet")
        assert read_table(str(tmp_path / "people.parquet"), self.SCHEMA).source == "people.parquet"

    @pytest.mark.parametrize(
        ("column", "kind", "values"),
        [
            (pl.Series(["1", "2"]), Kind.CATEGORICAL, ["1", "2"]),
            (pl.Series(["x", "?"], dtype=pl.Enum(["x", "?"])), Kind.CATEGORICAL, ["x", None]),
            (pl.Series(["x", "?"], dtype=pl.Categorical), Kind.CATEGORICAL, ["x", None]),
            (pl.Series([0.1, 2.0], dtype=pl.Float32), Kind.NUMERIC, [0.1, 2.0]),
            (pl.Series([2**63 - 1, 1], dtype=pl.UInt64), Kind.NUMERIC, [2**63 - 1, 1]),
            (pl.Series([2**63, 1], dtype=pl.UInt64), Kind.CATEGORICAL, [str(2**63), "1"]),
            (pl.Series([2**64, None], dtype=pl.Int128), Kind.CATEGORICAL, [str(2**64), None]),
            (pl.Series([str(10**30), "1"]).cast(pl.Decimal(38, 0)), Kind.NUMERIC, [1e30, 1.0]),
            (pl.Series(["1.50", "2"]).cast(pl.Decimal(9, 2)), Kind.NUMERIC, [1.5, 2.0]),
            (pl.Series([datetime(2020, 1, 1)] * 2), Kind.DATE, [date(2020, 1, 1)] * 2),
            (pl.Series([None, None]), Kind.CATEGORICAL, [None, None]),
        ],
    )
    def test_types_become_kinds(self, column, kind, values):
        table = read_table(pl.DataFrame({"a": column}), Schema(quasi_identifying=["a"]), missing="?")
        assert table.kinds["a"] == kind
        assert table.frame["a"].to_list() == values

    @pytest.mark.parametrize(
        ("column", "kind", "values"),
        [
            ([1, 2], Kind.CATEGORICAL, ["1", "2"]),
            ([1.0, 2.5, None], Kind.CATEGORICAL, ["1", "2.5", None]),
            ([True, None], Kind.CATEGORICAL, ["true", None]),
            ([0, 1], Kind.BOOLEAN, [False, True]),
            (["1", "2.5"], Kind.NUMERIC, [1.0, 2.5]),
            (["2020-01-01"], Kind.DATE, [date(2020, 1, 1)]),
            ([date(2020, 1, 1)], Kind.CATEGORICAL, ["2020-01-01"]),
            ([None, None], Kind.NUMERIC, [None, None]),
        ],
    )
    def test_a_declared_kind_wins(self, column, kind, values):
        schema = Schema(quasi_identifying={"a": Attribute(kind=kind)})
        table = read_table(pl.DataFrame({"a": column}), schema)
        assert (table.kinds["a"], table.frame["a"].to_list()) == (kind, values)

    LONG = (
        pl.Series("a", [2**64 - 1 - offset for offset in range(6)], dtype=pl.UInt64),
        pl.Series("a", [2**100 + offset for offset in range(6)], dtype=pl.Int128),
        pl.Series("a", [f"{10**17 + offset}.5" for offset in range(6)]).cast(pl.Decimal(38, 1)),
        pl.Series("a", [str(10**30 + offset) for offset in range(6)]).cast(pl.Decimal(38, 0)),
    )

    @pytest.mark.parametrize("kind", [None, Kind.CATEGORICAL])
    @pytest.mark.parametrize("column", LONG, ids=lambda column: str(column.dtype))
    def test_numbers_too_long_for_64_bits_stay_apart(self, column, kind):
        schema = Schema(quasi_identifying={"a": Attribute(kind=kind)})
        table = read_table(column.to_frame(), schema)
        assert table.kinds["a"] is Kind.CATEGORICAL
        assert table.frame["a"].to_list() == [str(value) for value in column]
        assert encode(table).attributes[0].size == 6

    @pytest.mark.parametrize("column", LONG, ids=lambda column: str(column.dtype))
    def test_numbers_too_long_for_64_bits_cannot_be_numeric(self, column):
        schema = Schema(quasi_identifying={"a": Attribute(kind=Kind.NUMERIC)})
        found = only_problem(column.to_frame(), schema, InputError)
        assert found.startswith("table: column 'a' is declared numeric, but has numbers with more digits")

    def test_a_frame_keeps_the_blanks_and_columns_that_are_insensitive(self):
        frame = pl.DataFrame({"a": [" x "], "b": [" 1 "], "c": [1.5], "d": [datetime(2020, 1, 1, 3)]})
        table = read_table(frame, Schema(quasi_identifying=["a"], insensitive=["b", "c", "d"]), strip=False)
        assert_frame_equal(table.frame, frame, categorical_as_str=True, check_dtypes=False)

    @pytest.mark.parametrize(
        "column",
        [
            pl.Series([["SECRET"]]),
            pl.Series([{"x": "SECRET"}]),
            pl.Series([b"SECRET\xff"]),
            pl.Series(["SECRET"], dtype=pl.Object),
        ],
    )
    def test_types_that_cannot_be_used(self, column):
        frame = pl.DataFrame({"a": column})
        assert "column 'a'" in only_problem(frame, Schema(quasi_identifying=["a"]), error=InputError)

    def test_mixed_types_in_pandas_name_all_columns(self):
        frame = pd.DataFrame({"a": [1, "SECRET"], "b": ["x", "y"], "c": [date(2020, 1, 1), "SECRET"]})
        found = problems(frame, Schema(quasi_identifying=["a", "c"], sensitive=["b"]), InputError)
        assert [problem.split(" has ")[0] for problem in found] == ["table: column 'a'", "table: column 'c'"]

    @pytest.mark.parametrize(
        "source",
        [
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            pa.table([[1], [2]], names=["a", "a"]),
            pd.DataFrame({1: [1]}),
            pl.DataFrame(),
            pl.DataFrame({"a": []}),
            None,
            42,
        ],
    )
    def test_what_is_no_table(self, source):
        assert only_problem(source, Schema(quasi_identifying=["a"]), error=InputError)

    def test_a_damaged_parquet_file(self, write):
        assert "damaged" in only_problem(write(b"PAR1SECRETPAR1", "x.parquet"), error=InputError)


@pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="SFUMATO_DATA does not name the folder of public data")
class TestAdult:
    """The real file: no header, blanks after separators, question marks, a blank line at the end."""

    def read(self):
        path = Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data"
        schema = Schema(quasi_identifying=ADULT[:-1], sensitive=["salary"])
        return read_table(path, schema, header=False, columns=ADULT, missing="?")

    def test_counts_and_kinds(self):
        table = self.read()
        assert table.height == 32_561
        assert table.frame.drop_nulls().height == 30_162
        numeric = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
        assert {name for name, kind in table.kinds.items() if kind is Kind.NUMERIC} == numeric

    def test_codes_give_back_the_values(self):
        table = self.read()
        encoded = encode(table)
        for index, attribute in enumerate(encoded.attributes):
            labels = pl.concat([attribute.labels, pl.Series([None], dtype=pl.String)])
            decoded = labels.gather(pl.Series(encoded.codes[:, index], dtype=pl.UInt32))
            original = table.frame[attribute.name].cast(pl.String)
            assert decoded.equals(original.alias(decoded.name))
