"""Rows that are no records, encodings told by letters, and numbers beside several marks."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.table.columns import proposals
from sfumato.table.sources.encodings import certain_encoding

BODY = "".join(f"Bern,{50 + row % 40},{150 + row % 30}\n" for row in range(40))
NAMES = "place,weight,height\n"


def opened(folder: Path, text: str | bytes, **reading: object) -> sf.Table:
    path = folder / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    names = sf.open_table(path, reading=sf.Reading(**reading)).names
    return sf.read_table(path, sf.Schema(quasi_identifying=names), reading=sf.Reading(**reading))


@pytest.mark.parametrize("row", [",kg,cm", "string,int,int", "-,(kg),(cm)", "text,numeric,numeric"])
def test_units_and_types_below_the_names_are_left_out(row: str, tmp_path: Path) -> None:
    table = opened(tmp_path, f"{NAMES}{row}\n{BODY}")
    assert (table.height, table.frame["weight"].dtype) == (40, pl.Int64)
    assert any("row of units or types was left out" in remark for remark in table.remarks)
    assert opened(tmp_path, f"{NAMES}{row}\n{BODY}", label_lines=1).height == 40


def test_labels_below_the_names_are_asked_about_and_left_out_on_the_word_of_the_steward(tmp_path: Path) -> None:
    text = f'{NAMES}Place of residence,"Weight,\nin kg",Height in cm\n"{{a}}","{{b}}","{{c}}"\n{BODY}'
    with pytest.raises(sf.InputError, match=r"2 rows seem to hold labels.*label-lines=2.*label-lines=0"):
        opened(tmp_path, text)
    assert opened(tmp_path, text, label_lines=2).height == 40
    # Row by row, too, as a file with rows of separators is read.
    assert opened(tmp_path, f"{text},,\n", label_lines=2).height == 40


@pytest.mark.parametrize("first", ["Bern,unknown,151", "Bern,n/a,n/a", "Bern,55,151", "Zug,,160"])
def test_a_record_is_no_row_of_labels(first: str, tmp_path: Path) -> None:
    assert opened(tmp_path, f"{NAMES}{first}\n{BODY}").height == 41


@pytest.mark.parametrize(
    ("end", "rows"),
    [
        ("Source: Federal Office,,\n", 1),
        ("* provisional figures,,\n", 1),
        ("Total,2780,6580\nSource: Federal Office\n", 2),
        ("Total,2780,6580\n", 1),
    ],
)
def test_notes_and_sums_at_the_end_are_asked_about_together(end: str, rows: int, tmp_path: Path) -> None:
    with pytest.raises(sf.InputError, match=f"--set source.footer-lines={rows}, or"):
        opened(tmp_path, f"{NAMES}{BODY}{end}")
    assert opened(tmp_path, f"{NAMES}{BODY}{end}", footer_lines=rows).height == 40
    assert opened(tmp_path, f"{NAMES}{BODY}Basel,,\n").height == 41


WORDS = {
    "cp1254": "İstanbul Şanlıurfa Muğla Çankırı Ağrı Kırşehir Kadın",
    "cp1250": "Łódź Kraków Gdańsk Wrocław Częstochowa Białystok",
    "cp1251": "Москва Казань Омск Самара Уфа Пермь",
    "koi8-r": "Москва Казань Омск Самара Уфа Пермь",
    "cp1253": "Αθήνα Θεσσαλονίκη Πάτρα Λάρισα Βόλος",
    "cp1256": "القاهرة الجيزة طنطا أسوان الإسكندرية",
    "cp1257": "Šiauliai Panevėžys Kėdainiai Telšiai Mažeikiai",
    "cp1252": "Zürich Köln München Görlitz Gießen",
    "mac-roman": "Orléans Besançon Nîmes Évreux Périgueux",
    "cp932": "東京 大阪 とうきょう なごや",
    "euc-jp": "東京 大阪 とうきょう なごや",
}


@pytest.mark.parametrize("encoding", WORDS)
def test_letters_tell_the_encoding_and_the_remarks_name_it(encoding: str, tmp_path: Path) -> None:
    places = WORDS[encoding].split() * 8
    text = "place,n\n" + "".join(f"{place},{row}\n" for row, place in enumerate(places))
    table = opened(tmp_path, text.encode(encoding))
    assert table.frame["place"].cast(pl.String).to_list() == places
    assert any(f"source.encoding={encoding}" in remark for remark in table.remarks)


@pytest.mark.parametrize(
    "content",
    [b"a\nK\xf6ln\n", b"a\n" + b"\xff\xfe\xfd\xfc\xfb\xfa\n" * 9, "Köln\n".encode() * 9 + b"K\xf6ln\n" * 9],
)
def test_few_letters_signs_alone_and_two_encodings_tell_none(content: bytes) -> None:
    assert certain_encoding(content) is None


@pytest.mark.parametrize(
    ("texts", "unit", "sure", "first"),
    [
        (["12.50 CR", "3 DR", "4.00 CR"], "cr/dr", False, 12.5),
        (["12 H", "3 S"], "h/s", False, 12),
        (["~5", "ca. 9", "7"], "ca./~", False, 5),
        (["3.4*", "2.1", "2.0 a)"], "*/†", False, 3.4),
        (["12k", "1.5M", "800"], "k/m", True, 12_000),
        (["$12", "15 USD"], "$/usd", True, 12),
    ],
)
def test_marks_that_mean_one_unit_are_read(texts: list[str], unit: str, sure: bool, first: float) -> None:
    (found,) = proposals(pl.Series(texts * 5))
    assert (found.form.unit, found.sure) == (unit, sure)
    values = found.way.read(pl.Series(texts)).to_list()
    assert values[0] == first
    assert (values[1] < 0) is (unit in ("cr/dr", "h/s"))


@pytest.mark.parametrize("texts", [["5 m", "3"], ["12 kg", "15 lb"], ["A1", "B2"], ["5 CR", "3 XX"]])
def test_other_marks_are_no_unit(texts: list[str]) -> None:
    assert not [one for one in proposals(pl.Series(texts * 5)) if one.form.unit and "/" in one.form.unit]


def test_names_in_two_rows_are_put_together(tmp_path: Path) -> None:
    records = "".join(f"P{row:03},{50 + row},{120 + row},{49 + row},{118 + row}\n" for row in range(20))
    table = opened(tmp_path, f",first,,second,\nid,kg,bp,kg,bp\n{records}")
    assert (table.frame.columns, table.height) == (["id", "first kg", "first bp", "second kg", "second bp"], 20)
    assert "The names of the columns stand in two rows, and were put together." in table.remarks


def test_names_of_several_columns_are_numbered_unless_they_may_be_a_record(tmp_path: Path) -> None:
    records = "".join(f"P{row:03},{50 + row},{120 + row}\n" for row in range(20))
    assert opened(tmp_path, f"id,value,value\n{records}").frame.columns == ["id", "value", "value 2"]
    with pytest.raises(sf.InputError, match="several columns have the same name"):
        opened(tmp_path, f"P999,50,50\n{records}")
    with pytest.raises(sf.InputError, match="several columns have the same name"):
        opened(tmp_path, "north,flu,flu\n" + "south,gout,flu\n" * 20)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("id¦age¦place", "parted by '¦'"),
        ("id     age    place", "parted by blanks"),
        ("name: Ada", "a name and a value"),
    ],
)
def test_what_is_no_table_with_a_separator_is_called_what_it_is(line: str, says: str, tmp_path: Path) -> None:
    other = {"id¦age¦place": "7¦31¦Bern", "name: Ada": "age: 31\nplace: Bern\nname: Ben"}.get(
        line, "7      31     Bern"
    )
    with pytest.raises(sf.InputError, match=says):
        opened(tmp_path, f"{line}\n" + f"{other}\n" * 12)
    plain = "note\n" + "came late. Went home\n" * 12
    assert opened(tmp_path, plain).height == 12


def test_numbers_named_as_codes_are_codes_with_a_remark(tmp_path: Path) -> None:
    text = "zip,pay\n" + "".join(f"{8000 + row},{3000 + row}\n" for row in range(40))
    table = opened(tmp_path, text)
    assert {name: str(kind) for name, kind in table.kinds.items()} == {"zip": "categorical", "pay": "numeric"}
    assert any("read as codes" in remark and "kind=numeric" in remark for remark in table.remarks)
