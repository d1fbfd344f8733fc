"""Tables inside of sheets of Excel workbooks."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.numbers import counted
from sfumato.table.announcing import announce
from sfumato.table.distinct import as_categories_where_few
from sfumato.table.sources.cell_ranges import CellRange, cell_name, column_letters
from sfumato.table.sources.extras import library
from sfumato.table.sources.protocol import Given, TableSource
from sfumato.table.sources.workbook_parts import DAMAGED, Row, Sheet, Workbook, open_workbook
from sfumato.table.sources.workbook_signs import Signs, find_signs, find_truths
from sfumato.table.sources.workbook_values import column_problems, read_column

_BYTES_A_SECOND = 30_000_000
"""Of a sheet's text, as measured on two cores."""
_LONG = 3
"""Seconds of reading that are told beforehand."""
_MOST_BELOW = 5
"""Rows below an empty one that may be sums and notes."""
_ROWS_LOOKED_AT = 10
"""At the top of a table, to see where it begins."""


@dataclass(frozen=True, eq=False, repr=False)
class WorkbookSource:
    """A table inside of a sheet, and how to read it.

    Attributes
    ----------
    book : Workbook
    sheet : Sheet
    cells : CellRange
        Of the records, without the names; the last column and row may be open.
    columns : dict of str to int
        Where each named column stands in the sheet.
    names : tuple of str
    """

    book: Workbook
    sheet: Sheet
    cells: CellRange
    columns: dict[str, int]
    names: tuple[str, ...]

    is_text = True
    """Numbers may be stored as text."""

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Read columns: numbers, dates and truths as such, texts as text, rows without any value left out.

        Raises
        ------
        InputError
            When the workbook is damaged, or cells hold what would be passed over in silence: merged ones, errors,
            formulas that were never calculated, numbers beside dates.
        """
        seconds = self.book.size(self.sheet) / _BYTES_A_SECOND
        if seconds > _LONG:
            announce(f"reading sheet {self.sheet.name!r} takes about {seconds:.0f} seconds")
        with ThreadPoolExecutor(1, thread_name_prefix="sfumato") as pool:
            looking = pool.submit(find_signs, self.book, self.sheet, self._with_names())
            frame = self._load()
            signs = looking.result()
        raise_all(InputError, self._merged(signs))
        raise_all(InputError, self._nameless(frame))
        empty = pl.Series([], dtype=pl.Null).extend_constant(None, max(map(len, frame.values()), default=0))
        chosen = [(name, self.columns[name], frame.get(self.columns[name], empty)) for name in names]
        problems = [
            problem for name, place, column in chosen for problem in column_problems(name, column, place, signs)
        ]
        raise_all(InputError, [*problems, *self._truths_beside_numbers(chosen, signs, frame)])
        return as_categories_where_few(
            [read_column(column, place, signs).alias(name) for name, place, column in chosen]
        )

    def _with_names(self) -> CellRange:
        top = max(0, (self.cells.top or 0) - 1)
        return replace(self.cells, top=top, right=max(self.columns.values()) if self.columns else self.cells.right)

    def _load(self) -> dict[int, pl.Series]:
        """Return the columns by their place in the sheet, without rows in which nothing stands."""
        reader = library("fastexcel", extra="excel", what="Excel workbooks")
        logging.getLogger("fastexcel.types.dtype").setLevel(logging.ERROR)
        top, bottom = self.cells.top or 0, self.cells.bottom
        rows = None if bottom is None else bottom - top + 1
        try:
            sheet = reader.read_excel(self.book.path).load_sheet(
                self.sheet.name, header_row=top - 1 if top else None, n_rows=rows, schema_sample_rows=None
            )
            frame, places = sheet.to_polars(), [column.absolute_index for column in sheet.selected_columns]
        except reader.FastExcelError:
            raise InputError(DAMAGED) from None
        frame.columns = [str(place) for place in places]
        kept = frame.select(name for name in frame.columns if self.cells.has(int(name), top))
        if kept.width:
            filled = kept.select(pl.sum_horizontal(pl.all().is_not_null())).to_series()
            if bottom is None:
                raise_all(InputError, _below(filled, kept.width, top))
            kept = kept.filter(filled > 0)
        return {int(column.name): column for column in kept}

    def _merged(self, signs: Signs) -> list[str]:
        if not signs.merged:
            return []
        more = len(signs.merged) - 1
        others = f" and {counted(more, 'other group')} of cells are" if more else " are"
        return [
            f"{signs.merged[0]}{others} merged, so that only the first cell of each holds a value; unmerge them and "
            "fill every cell, or say with range where the table lies"
        ]

    def _truths_beside_numbers(
        self, chosen: Sequence[tuple[str, int, pl.Series]], signs: Signs, frame: dict[int, pl.Series]
    ) -> Iterator[str]:
        """Find cells with TRUE and FALSE that were taken for 1 and 0."""
        pure = sum(len(column) - column.null_count() for column in frame.values() if column.dtype == pl.Boolean)
        numbers = {place: name for name, place, column in chosen if column.dtype.is_float()}
        found = {} if signs.truths == pure or not numbers else find_truths(self.book, self.sheet, self.cells)
        for place in sorted(numbers.keys() & found.keys()):
            count, row = found[place]
            yield (
                f"column {numbers[place]!r}: {counted(count, 'cell')} with TRUE or FALSE beside numbers, first in row "
                f"{row + 1} of the sheet; give all cells of the column one type"
            )

    def _nameless(self, frame: dict[int, pl.Series]) -> list[str]:
        known = {*self.columns.values()}
        strange = [place for place, column in frame.items() if place not in known and column.null_count() < len(column)]
        if not strange:
            return []
        letters = ", ".join(map(column_letters, strange[:9]))
        return [
            f"column(s) {letters} of the sheet hold values but have no name; name them, or say with range where the "
            "table lies"
        ]


def _below(filled: pl.Series, width: int, top: int) -> Iterator[str]:
    """Find what stands below an empty row at the end of a table, and fills few cells: sums and notes, no records."""
    empty = filled.eq(0).arg_true()
    last = int(empty[-1]) + 1 if len(empty) else len(filled)
    rest = filled[last:]
    if 0 < len(rest) <= _MOST_BELOW and 2 * int(rest.max() or 0) < width and last > 1:  # type: ignore[arg-type]
        end = top + int(filled[: last - 1].gt(0).arg_true().max() or 0) + 1  # type: ignore[arg-type]
        yield (
            f"row {top + last + 1} stands below an empty row and fills few of {width} cells; if it is a sum or a note, "
            f"leave it out with a range that ends in row {end}"
        )


def open_sheet(given: Given) -> TableSource:
    """Open the sheet that is meant, and find the names of its columns.

    Raises
    ------
    InputError
        When there is no such sheet, when it is not said which, or when no row of names can be told.
    """
    book = open_workbook(given.file)
    sheet = _meant(book, given.place.sheet)
    said = CellRange() if given.place.range is None else CellRange.of(given.place.range)
    rows = [
        Row(row.number, {column: text for column, text in row.cells.items() if said.has(column, row.number)})
        for row in book.first_rows(sheet, said.top or 0, _ROWS_LOOKED_AT)
    ]
    rows = [row for row in rows if row.cells]
    if not rows:
        raise InputError("there is nothing in the sheet, or in its range; name another with sheet and range")
    if not given.layout.header:
        return _without_names(book, sheet, said, rows, given.layout.columns or ())
    first = rows[0] if said.top in (None, rows[0].number) else Row(said.top, {})
    _refuse_title(book, sheet, said, first, rows)
    columns = {column: name for column, name in sorted(first.cells.items()) if name}
    places = {name: column for column, name in columns.items()}
    cells = replace(said, top=first.number + 1)
    return WorkbookSource(book, sheet, cells, places, tuple(columns.values()))


def _meant(book: Workbook, name: str | None) -> Sheet:
    listed = ", ".join(repr(sheet.name) for sheet in book.sheets)
    if name is not None:
        found = [sheet for sheet in book.sheets if sheet.name == name]
        if not found:
            raise InputError(f"sheet: there is no sheet of that name; the workbook has {listed or 'none'}")
        return found[0]
    visible = [sheet for sheet in book.sheets if not sheet.is_hidden]
    filled = visible if len(visible) < 2 else [sheet for sheet in visible if book.first_rows(sheet, 0, 1)]
    if len(filled) != 1:
        what = "hides all its sheets" if book.sheets and not visible else f"has {len(filled)} sheets with values"
        raise InputError(f"the workbook {what}; say which is meant with sheet (--sheet): {listed}")
    return filled[0]


def _without_names(
    book: Workbook, sheet: Sheet, said: CellRange, rows: Sequence[Row], names: Sequence[str]
) -> WorkbookSource:
    places = sorted({column for row in rows for column in row.cells})
    left = said.left if said.top is not None else places[0]
    right = places[-1] if said.right is None else said.right
    if len(names) != right - left + 1:
        raise InputError(
            f"{len(names)} column names were given, but the table has {right - left + 1} columns; give one name per "
            "column, or say with range where the table lies"
        )
    top = rows[0].number if said.top is None else said.top
    cells = replace(said, left=left, top=top, right=right)
    return WorkbookSource(book, sheet, cells, dict(zip(names, range(left, right + 1), strict=True)), tuple(names))


def _refuse_title(book: Workbook, sheet: Sheet, said: CellRange, first: Row, rows: Sequence[Row]) -> None:
    """Refuse a first row that does not name the columns of the rows below."""
    fullest = max(rows, key=lambda row: len(row.cells))
    filled, named = {column for row in rows for column in row.cells}, first.cells.keys()
    if 2 * len(named) < len(fullest.cells) or (len(named) < len(fullest.cells) and _merged(book, sheet, said)):
        proposed = f"{cell_name(min(filled), fullest.number)}:{column_letters(max(filled))}"
        why = " and has merged cells" if _merged(book, sheet, said) else ""
        raise InputError(
            f"row {first.number + 1} names {counted(len(named), 'column')}{why}, but row {fullest.number + 1} fills "
            f"{len(fullest.cells)} cells; say where the names and the records stand, for example with range = "
            f"{proposed!r} (--range {proposed})"
        )
    nameless = sorted(filled - named)
    if nameless:
        listed = ", ".join(cell_name(column, first.number) for column in nameless[:9])
        raise InputError(
            f"{listed}: no name stands here, but there are values below; name the column(s), or leave them out with "
            "range (--range)"
        )


def _merged(book: Workbook, sheet: Sheet, said: CellRange) -> bool:
    return bool(find_signs(book, sheet, said).merged)
