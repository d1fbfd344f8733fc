"""A page as a Word file, for offices that sign and file these; the words are those of the page."""

from __future__ import annotations

import io
import zipfile
from datetime import datetime
from html.parser import HTMLParser
from importlib import import_module
from typing import Any

from sfumato.errors import PolicyError

_HEADINGS = {"h1": 0, "h2": 1, "h3": 2}
_UNSHOWN = ("head", "style", "title", "svg")
_NARROW, _WIDTH = 7, 182
"""Points of the letters of tables, and millimetres of their width."""
_DAY = (1980, 1, 1, 0, 0, 0)
"""The time of every entry, so that the same page is the same file."""


def word_of(page: str, made: str) -> bytes:
    """Return a page of the evidence as a Word file: the same bytes for the same page.

    Parameters
    ----------
    page
        The HTML of the short report. Its drawings are left out.
    made
        The day that it was made on, ``YYYY-MM-DD``.

    Raises
    ------
    PolicyError
        When python-docx is not installed.
    """
    try:
        docx = import_module("docx")
    except ImportError:
        raise PolicyError(
            "report: python-docx is not installed; install what Word files need with: pip install 'sfumato[word]'"
        ) from None
    document = docx.Document()
    _lay_out(document, docx)
    writer = _Writer(document)
    writer.feed(page)
    writer.close()
    properties, day = document.core_properties, datetime.fromisoformat(made)
    properties.author, properties.comments, properties.title = "", "", writer.heading
    properties.created, properties.modified = day, day
    written = io.BytesIO()
    document.save(written)
    return _dated(written.getvalue())


def _lay_out(document: Any, docx: Any) -> None:
    """Set A4, margins, and the look of letters."""
    points, millimetres = docx.shared.Pt, docx.shared.Mm
    (section,) = document.sections
    section.page_width, section.page_height = millimetres(210), millimetres(297)
    section.left_margin = section.right_margin = millimetres(14)
    section.top_margin = section.bottom_margin = millimetres(10)
    for name, size in (("Normal", 8), ("Title", 16), ("Heading 1", 12), ("Heading 2", 9.5), ("List Bullet", 8)):
        style = document.styles[name]
        style.font.size, style.font.color.rgb = points(size), docx.shared.RGBColor(0x1C, 0x1C, 0x1C)
        style.paragraph_format.space_before = points(4 if name.startswith("Heading") else 0)
        style.paragraph_format.space_after = points(0)
        style.paragraph_format.line_spacing = 1.0
        # A heading's letters are named by theme; the name of a font is not enough.
        fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
        for key in [key for key in fonts.attrib if "Theme" in key]:
            del fonts.attrib[key]
        for key in ("w:ascii", "w:hAnsi", "w:cs", "w:eastAsia"):
            fonts.set(docx.oxml.ns.qn(key), "Liberation Serif")


class _Writer(HTMLParser):
    """Writes what stands on a page: headings, paragraphs, lists, tables, and the lines to sign."""

    def __init__(self, document: Any) -> None:
        super().__init__(convert_charrefs=True)
        self.heading = ""
        self._document = document
        self._docx = import_module("docx")
        self._skipped = 0
        self._open: list[str] = []
        self._place: Any = None  # the paragraph that text goes into
        self._rows: list[list[tuple[list[tuple[str, bool]], bool]]] = []
        self._cell: list[tuple[str, bool]] | None = None
        self._is_heading = self._is_number = self._breaks = self._signed = False
        self._signs: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        look = dict(attrs).get("class") or ""
        if tag in _UNSHOWN or self._skipped:
            self._skipped += tag in _UNSHOWN
            return
        self._open.append(tag)
        if tag in _HEADINGS:
            self._place = self._document.add_heading("", _HEADINGS[tag])
            self._place.paragraph_format.page_break_before = self._breaks
            self._breaks = False
        elif tag == "p" and self._cell is None:
            self._place = self._document.add_paragraph()
        elif tag == "li":
            self._place = self._document.add_paragraph(style="List Bullet")
        elif tag == "section":
            # The page that is signed stands alone; what follows runs on.
            self._breaks, self._signed = not self._signed, True
        elif tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._cell, self._is_number = [], "n" in look.split()
        elif tag == "br":
            self._open.pop()
            self._write("\n")
        elif tag == "div":
            if "sign" in look.split():
                self._signs = []
            elif self._signs is not None:
                self._signs.append("")

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        if self._skipped:
            self._skipped -= tag in _UNSHOWN
            return
        if tag not in self._open:
            return
        while self._open.pop() != tag:
            pass
        if tag in ("td", "th"):
            self._rows[-1].append((self._cell or [], self._is_number))
            self._cell = None
        elif tag == "table":
            self._add_table()
        elif tag in ("p", "li", *_HEADINGS):
            self._place = None
        elif tag == "div" and self._signs is not None and "div" not in self._open:
            self._add_signs(self._signs)
            self._signs = None

    def handle_data(self, data: str) -> None:
        """Write text."""
        if not self._skipped:
            if "h1" in self._open:
                self.heading += data
            self._write(data if data == "\n" else " ".join(f"·{data}·".split())[1:-1])

    def _write(self, text: str) -> None:
        is_bold = any(tag in self._open for tag in ("strong", "th"))
        if self._cell is not None:
            self._cell.append((text, is_bold))
        elif self._place is not None:
            self._place.add_run(text).bold = is_bold or None
        elif self._signs and text.strip():
            self._signs[-1] += text

    def _add_table(self) -> None:
        rows = [row for row in self._rows if row]
        if not rows:
            return
        table = self._document.add_table(len(rows), max(map(len, rows)), style="Table Grid")
        # A column of long texts is wider, and no word of a short one breaks.
        texts = [["".join(text for text, _ in one[0]) for one in row] for row in rows]
        columns = [[row[place] for row in texts if place < len(row)] for place in range(max(map(len, rows)))]
        needs = [max(15, min(40, max(map(len, column)))) for column in columns]
        for column, need in zip(table.columns, needs, strict=True):
            column.width = self._docx.shared.Mm(_WIDTH * need / sum(needs))
            for cell in column.cells:
                cell.width = column.width
        for cells, row in zip(table.rows, rows, strict=True):
            for cell, (parts, is_number) in zip(cells.cells, row, strict=False):
                (paragraph,) = cell.paragraphs
                paragraph.paragraph_format.space_after = self._docx.shared.Pt(0)
                if is_number:
                    paragraph.alignment = self._docx.enum.text.WD_ALIGN_PARAGRAPH.RIGHT
                for text, is_bold in parts:
                    run = paragraph.add_run(text)
                    run.bold, run.font.size = is_bold or None, self._docx.shared.Pt(_NARROW)

    def _add_signs(self, labels: list[str]) -> None:
        """Add lines to sign on, all abreast."""
        for cell, label in zip(self._document.add_table(1, len(labels)).rows[0].cells, labels, strict=True):
            cell.text = f"\n______________________\n{label}"


def _dated(content: bytes) -> bytes:
    """Return a ZIP file with one time for all entries."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as found, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as made:
        for name in found.namelist():
            made.writestr(zipfile.ZipInfo(name, _DAY), found.read(name), zipfile.ZIP_DEFLATED)
    return written.getvalue()
