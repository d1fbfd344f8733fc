"""Excel workbooks: what is read, and what is refused because a reader of values would misread it in silence."""

from __future__ import annotations

import datetime
import re
import zipfile

import openpyxl
import polars as pl
import pytest

import sfumato as sf
from sfumato.table import announcing, workbooks
from sfumato.table.schema import Kind
from sfumato.table.sources import other_files
from sfumato.table.workbooks import CellRange, cell_name, column_letters, column_number

NAMES = ("age", "born", "zip", "disease")
ROWS = (
    (31, datetime.date(2000, 1, 2), "04711", "flu"),
    (45, datetime.date(1999, 5, 6), "04712", "cold"),
    (None, datetime.date(1999, 5, 6), "14712", None),
)
SCHEMA = sf.Schema(quasi_identifying=["age", "born", "zip"], sensitive=["disease"])


@pytest.fixture
def workbook(tmp_path):
    """Write cells into a sheet, from a cell on; `change` may do more to the workbook."""

    def write(rows, *, at=(1, 1), change=lambda book, sheet: None, name="visits.xlsx"):
        book = openpyxl.Workbook()
        sheet = book.active
        sheet.title = "Visits"
        for down, row in enumerate(rows):
            for right, value in enumerate(row):
                if value is not None:
                    sheet.cell(at[0] + down, at[1] + right, value)
        change(book, sheet)
        path = tmp_path / name
        book.save(path)
        return path

    return write


def problem(path, schema=SCHEMA, **settings):
    with pytest.raises(sf.SfumatoError) as caught:
        sf.read_table(path, schema, **settings)
    (only,) = caught.value.problems
    return only.removeprefix(f"{path.name}: ")


def one(workbook, *values, name="age", change=lambda book, sheet: None, **attribute):
    """Read a single column."""
    path = workbook([(name,), *((value,) for value in values)], change=change)
    schema = sf.Schema(quasi_identifying={name: sf.Attribute(**attribute)})
    return sf.read_table(path, schema)


def one_problem(workbook, *values, change=lambda book, sheet: None):
    path = workbook([("age",), *((value,) for value in values)], change=change)
    return problem(path, sf.Schema(quasi_identifying=["age"]))


def rewrite(path, part, old, new):
    """Replace bytes in a part of a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old in parts[part]
    parts[part] = parts[part].replace(old, new)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_numbers_dates_and_texts_are_read_as_such(workbook):
    table = sf.read_table(workbook([NAMES, *ROWS]), SCHEMA)
    assert table.frame.rows() == list(ROWS)
    kinds = (Kind.NUMERIC, Kind.DATE, Kind.CATEGORICAL, Kind.CATEGORICAL)
    assert table.kinds == dict(zip(NAMES, kinds, strict=True))


def test_rows_without_a_value_are_none_and_others_stay(workbook):
    table = sf.read_table(workbook([NAMES, ROWS[0], (), (None, " "), ROWS[1], (None, "b", "c", 1)]), SCHEMA)
    assert table.frame["age"].to_list() == [31, 45, None]


class TestWhereTheTableLies:
    def test_it_may_begin_anywhere(self, workbook):
        assert sf.read_table(workbook([NAMES, *ROWS], at=(4, 3)), SCHEMA).frame.rows() == list(ROWS)

    @pytest.mark.parametrize("cells", ["C4:F7", "c4:f", "C4", "$C$4:$F$7", "C:F"])
    def test_ranges(self, workbook, cells):
        path = workbook([NAMES, *ROWS], at=(4, 3), change=lambda book, sheet: sheet.cell(4, 9, "a note"))
        if cells == "C4":
            assert "no name" not in problem(path, sf.Schema(quasi_identifying=list(NAMES)), range="C4")
        else:
            assert sf.read_table(path, SCHEMA, range=cells).frame.rows() == list(ROWS)

    def test_a_range_ends_where_it_says(self, workbook):
        path = workbook([("Visits of 2024",), (), NAMES, *ROWS, (), ("sum", None, 3)], at=(1, 2))
        assert sf.read_table(path, SCHEMA, range="B3:E6").frame.rows() == list(ROWS)

    def test_a_title_above_the_names(self, workbook):
        assert sf.read_table(workbook([("Visits of 2024",), (), NAMES, *ROWS]), SCHEMA).frame.rows() == list(ROWS)
        found = problem(workbook([("Visits",), (), NAMES, *([tuple(map(str, "abcd"))] * 3)]))
        assert found.startswith("row 1 names 1 column, but row 3 fills 4 cells")
        assert "--set source.range=A3:D" in found

    def test_merged_names(self, workbook):
        rows = [("person", None, "visit", None), NAMES, *ROWS]
        path = workbook(rows, change=lambda book, sheet: [sheet.merge_cells("A1:B1"), sheet.merge_cells("C1:D1")])
        assert "and has merged cells, but row 2 fills 4 cells" in problem(path)
        assert sf.read_table(path, SCHEMA, range="A2:D").frame.rows() == list(ROWS)

    def test_merged_records(self, workbook):
        rows = [NAMES, ROWS[0], (None, None, *ROWS[0][2:])]
        found = problem(workbook(rows, change=lambda book, sheet: sheet.merge_cells("A2:B3")))
        assert found.startswith("A2:B3 are merged")

    def test_the_value_of_merged_records_of_a_column_is_that_of_each(self, workbook):
        rows = [NAMES, ROWS[0], (None, *ROWS[1][1:]), ROWS[2]]
        path = workbook(rows, change=lambda book, sheet: sheet.merge_cells("A2:A3"))
        table = sf.read_table(path, SCHEMA)
        assert table.frame[NAMES[0]].cast(pl.String).to_list() == ["31", "31", None]
        assert table.remarks == ("The value of cells that are merged stands in each of their rows.",)

    def test_a_column_without_a_name(self, workbook):
        rows = [(None, *NAMES), *((number, *row) for number, row in enumerate(ROWS))]
        assert sf.read_table(workbook(rows), SCHEMA).height == 3
        nameless = [(NAMES[0], None, *NAMES[1:]), *((row[0], 7, *row[1:]) for row in ROWS)]
        assert problem(workbook(nameless)).startswith("B1: no name stands here, but there are values below")
        assert sf.read_table(workbook(rows), SCHEMA, range="B1").height == 3

    def test_values_without_a_name_far_below(self, workbook):
        rows = [NAMES, *[ROWS[0]] * 30, (*ROWS[0], "note")]
        assert "column(s) E of the sheet hold values but have no name" in problem(workbook(rows))

    def test_two_columns_of_one_name(self, workbook):
        assert "several columns have the same name: 'age'" in problem(workbook([(*NAMES, "age"), (*ROWS[0], 3)]))

    def test_line_ends_inside_of_names_are_blanks(self, workbook):
        table = sf.read_table(workbook([("age at\nvisit ",), (3,)]), sf.Schema(quasi_identifying=["age at visit"]))
        assert table.height == 1

    def test_no_names_at_all(self, workbook):
        assert "no column of the schema" in problem(workbook(ROWS[:2]))
        table = sf.read_table(workbook(ROWS[:2], at=(3, 2)), SCHEMA, header=False, columns=NAMES)
        assert table.frame.rows() == list(ROWS[:2])
        assert "2 column names were given, but the table has 4" in problem(
            workbook(ROWS[:2]), header=False, columns=["age", "born"]
        )

    @pytest.mark.parametrize(
        ("cells", "told"), [("visits", "is no range"), ("D4:B9", "ends before"), ("B9:D4", "ends before")]
    )
    def test_no_range(self, workbook, cells, told):
        assert told in problem(workbook([NAMES, *ROWS]), range=cells)

    def test_an_empty_sheet(self, workbook):
        assert "there is nothing in the sheet" in problem(workbook([]))
        assert "there is nothing in the sheet" in problem(workbook([NAMES, *ROWS]), range="H1:K9")

    def test_names_alone(self, workbook):
        assert problem(workbook([NAMES])) == "the table has no records"


class TestSheets:
    def test_the_only_one_with_values_is_meant(self, workbook):
        path = workbook([NAMES, *ROWS], change=lambda book, sheet: book.create_sheet("Empty", 0))
        assert sf.read_table(path, SCHEMA).height == 3

    def test_several(self, workbook):
        def change(book, sheet):
            book.create_sheet("Codes").append(["a", "b"])

        path = workbook([NAMES, *ROWS], change=change)
        assert "say which is meant with sheet: --set source.sheet=Visits or --set source.sheet=Codes" in problem(path)
        assert sf.read_table(path, SCHEMA, sheet="Visits").height == 3
        assert "there is no sheet of that name; the workbook has 'Visits', 'Codes'" in problem(path, sheet="visits")

    def test_hidden_ones_are_read_only_by_name(self, workbook):
        def change(book, sheet):
            hidden = book.create_sheet("Old")
            hidden.append(NAMES)
            hidden.append(ROWS[0])
            hidden.sheet_state = "hidden"

        path = workbook([NAMES, *ROWS], change=change)
        assert sf.read_table(path, SCHEMA).height == 3
        assert sf.read_table(path, SCHEMA, sheet="Old").height == 1


class TestValues:
    def test_whole_numbers_are_whole(self, workbook):
        assert one(workbook, 31.0, 2, None).frame["age"].to_list() == [31, 2, None][:2]
        assert one(workbook, 31.5, 2).frame["age"].to_list() == [31.5, 2.0]

    def test_numbers_stored_as_text(self, workbook):
        table = one(workbook, "31", "2", " 7 ")
        assert (table.frame["age"].to_list(), table.kinds["age"]) == ([31, 2, 7], Kind.NUMERIC)

    def test_codes_stored_as_text(self, workbook):
        assert one(workbook, "031", "111").kinds["age"] == Kind.CATEGORICAL

    def test_codes_that_only_their_format_shows(self, workbook):
        def zeros(book, sheet):
            for row in (2, 3):
                sheet.cell(row, 1).number_format = "00000"

        assert one(workbook, 4711, 14712, change=zeros).frame["age"].to_list() == ["04711", "14712"]
        assert "2 cells of 3 with leading zeros that only their format shows" in one_problem(
            workbook, 4711, 4712, 4713, change=zeros
        )

    def test_mixed_numbers_and_text_are_text(self, workbook):
        table = one(workbook, 1, "one", 2.5, 31.0, kind="categorical")
        assert table.frame["age"].to_list() == ["1", "one", "2.5", "31"]

    def test_dates_with_times(self, workbook):
        path = workbook([("age",), (datetime.datetime(2000, 1, 1, 5),)])
        assert sf.read_table(path, sf.Schema(quasi_identifying=["age"])).frame["age"].to_list() == [
            datetime.date(2000, 1, 1)
        ]

    def test_times_of_day(self, workbook):
        assert "holds times of day beside dates" in one_problem(workbook, datetime.time(5), datetime.date(2000, 1, 2))
        path = workbook([("at",), (datetime.time(5),), (datetime.time(0, 1),)])
        assert sf.read_table(path, sf.Schema(quasi_identifying=["at"])).frame["at"].to_list() == [18_000, 60]

    @pytest.mark.parametrize("other", [36526, "06.08.2000"])
    def test_dates_beside_what_excel_did_not_take_for_one(self, workbook, other):
        found = one_problem(workbook, datetime.date(2000, 1, 2), other)
        assert "1 cell with a date beside 1 with a number or a text that has digits" in found
        assert "08" not in found

    def test_dates_beside_a_word_for_missing(self, workbook):
        path = workbook([("age",), (datetime.date(2000, 1, 2),), ("unknown",)])
        table = sf.read_table(path, sf.Schema(quasi_identifying=["age"]), missing="unknown")
        assert table.frame["age"].to_list() == [datetime.date(2000, 1, 2), None]

    def test_days_since_1904(self, workbook):
        def change(book, sheet):
            book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904

        path = workbook([("age",), (datetime.date(2000, 1, 2),)], change=change)
        assert sf.read_table(path, sf.Schema(quasi_identifying=["age"])).frame["age"][0] == datetime.date(2000, 1, 2)

    def test_truths_beside_numbers(self, workbook):
        assert "1 cell with TRUE or FALSE beside numbers, first in row 3" in one_problem(workbook, 1, True, 5)
        assert one(workbook, True, False).kinds["age"] == Kind.BOOLEAN

    def test_numbers_that_excel_has_rounded(self, workbook):
        assert "sixteen digits or more" in one_problem(workbook, 1234567890123456789)

    def test_errors(self, workbook):
        path = workbook([("age", "zip"), (1, "a"), ("#N/A", "b"), ("#DIV/0!", "c"), (4, "d")])
        table = sf.read_table(path, sf.Schema(quasi_identifying=["age", "zip"]))
        assert table.frame["age"].to_list() == [1, None, None, 4]
        assert "Column 'age': 2 cells with an error such as #N/A, and without a value." in table.remarks

    def test_formulas_without_a_result(self, workbook):
        assert "1 cell with a formula that was never calculated, first in row 3" in one_problem(workbook, 1, "=A2*2")

    def test_formulas_that_cells_share(self, workbook):
        path = workbook([("age",), (3,), ("=A2",), ("=A3",)])
        part = "xl/worksheets/sheet1.xml"
        # Where lxml is installed, empty elements are written in another way.
        with zipfile.ZipFile(path) as archive:
            empty = b"<v />" if b"<v />" in archive.read(part) else b"<v></v>"
        rewrite(path, part, b"<f>A2</f>" + empty, b'<f t="shared" ref="A3:A4" si="0">A2</f><v>3</v>')
        rewrite(path, part, b"<f>A3</f>" + empty, b'<f t="shared" si="0"/>')
        assert "1 cell with a formula that was never calculated, first in row 4" in problem(
            path, sf.Schema(quasi_identifying=["age"])
        )

    def test_sheets_whose_tags_have_a_prefix(self, workbook):
        path = workbook([("age",), (3,), ("=A2",), ("#N/A",)])
        with zipfile.ZipFile(path) as archive:
            text = archive.read("xl/worksheets/sheet1.xml")
        prefixed = re.sub(rb"<(/?)([a-z])", rb"<\1x:\2", text).replace(b"xmlns=", b"xmlns:x=")
        rewrite(path, "xl/worksheets/sheet1.xml", text, prefixed)
        with pytest.raises(sf.InputError) as caught:
            sf.read_table(path, sf.Schema(quasi_identifying=["age"]))
        assert "1 cell with a formula that was never calculated, first in row 3" in str(caught.value)

    def test_formulas_with_their_results(self, tmp_path):
        xlsxwriter = pytest.importorskip("xlsxwriter")
        with xlsxwriter.Workbook(tmp_path / "f.xlsx") as book:
            sheet = book.add_worksheet()
            sheet.write_column(0, 0, ["age", 3])
            sheet.write_formula(2, 0, "=A2*2", None, 6)
            sheet.write(0, 1, "note")
            sheet.write_formula(1, 1, '=""', None, "empty")
        rewrite(tmp_path / "f.xlsx", "xl/worksheets/sheet1.xml", b"<v>empty</v>", b"<v></v>")
        table = sf.read_table(tmp_path / "f.xlsx", sf.Schema(quasi_identifying=["age", "note"]))
        assert table.frame.rows() == [(3, None), (6, None)]

    def test_what_is_not_read_may_be_wrong(self, workbook):
        path = workbook([("age", "other"), (3, "=A2"), (4, "#N/A")])
        assert sf.read_table(path, sf.Schema(quasi_identifying=["age"], others="drop")).height == 2


class TestOtherFiles:
    def test_an_encrypted_workbook(self, tmp_path):
        path = tmp_path / "secret.xlsx"
        path.write_bytes(other_files._OLE + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le") + b"\0" * 99)
        assert "the workbook is encrypted" in problem(path)

    def test_an_old_workbook(self, tmp_path):
        path = tmp_path / "old.xls"
        path.write_bytes(other_files._OLE + b"\0" * 600)
        assert "save the table as .xlsx" in problem(path)

    @pytest.mark.parametrize(
        ("files", "told"),
        [
            ({"people.csv": b"age\n3\n", "x.csv": b""}, "this is a zip archive of 2 files"),
            ({"xl/workbook.bin": b""}, "binary workbook"),
            ({"mimetype": b"application/vnd.oasis.opendocument.spreadsheet"}, "OpenDocument"),
            ({"xl/workbook.xml": b"<workbook", "xl/_rels/workbook.xml.rels": b""}, "damaged"),
        ],
    )
    def test_other_archives(self, tmp_path, files, told):
        path = tmp_path / "visits.xlsx"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        assert told in problem(path)

    @pytest.mark.parametrize("share", [0.3, 0.8])
    def test_a_workbook_that_is_cut_off(self, workbook, share):
        path = workbook([NAMES, *ROWS])
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * share)])
        assert "damaged or cut off" in problem(path)

    def test_settings_that_mean_nothing(self, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text("age\n3\n")
        assert problem(path, sheet="Visits") == "sheet is only for Excel workbooks; leave it out"

    def test_all_of_them_at_once_and_what_text_files_alone_have(self, tmp_path):
        path = tmp_path / "people.parquet"
        pl.DataFrame({"age": [3]}).write_parquet(path)
        settings = {"table": "people", "sheet": "Visits", "codes": ["age"], "separator": ";", "encoding": "cp1252"}
        with pytest.raises(sf.InputError) as caught:
            sf.read_table(path, SCHEMA, **settings)
        assert [problem.split()[1] for problem in caught.value.problems] == sorted(settings)
        policy = sf.Policy.from_mapping(
            {
                "source": {"query": "q.sql", "separator": ";"},
                "columns": {"quasi-identifying": ["age"]},
                "models": [{"name": "k-anonymity", "k": 2}],
            }
        )
        with pytest.raises(sf.InputError, match=r"(?s)query is only for databases.*separator is only for CSV files"):
            sf.read_table(path, policy)
        assert sf.read_table(path, policy.beside(path)).height == 1
        assert sf.read_table(pl.DataFrame({"age": [3]}), policy.beside(pl.DataFrame({"age": [3]}))).height == 1

    def test_an_absent_library(self, workbook, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "fastexcel", None)
        assert "pip install 'sfumato[excel]'" in problem(workbook([NAMES, *ROWS]))


def test_how_long_it_takes_is_said_before(workbook, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(announcing, "listeners", [said.append])
    monkeypatch.setattr(workbooks, "_BYTES_A_SECOND", 10)
    sf.read_table(workbook([NAMES, *ROWS]), SCHEMA)
    assert len(said) == 1
    assert said[0].startswith("reading sheet 'Visits' takes about ")


def test_columns_by_letter():
    assert [column_number(letters) for letters in ("A", "Z", "AA", "XFD")] == [0, 25, 26, 16383]
    assert all(column_number(column_letters(number)) == number for number in range(2000))
    assert cell_name(27, 4) == "AB5"


def test_ranges_that_meet():
    table = CellRange.of("B3:D9")
    cells = [(column, row) for column in range(6) for row in range(12)]
    for first in cells:
        for last in cells:
            if last >= first and last[1] >= first[1]:
                group = CellRange(first[0], first[1], last[0], last[1])
                assert table.meets(group) == any(table.has(*cell) and group.has(*cell) for cell in cells)
