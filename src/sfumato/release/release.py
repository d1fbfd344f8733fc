"""A verified release: published tables, report, and the folder that holds them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from sfumato.errors import PolicyError, raise_all
from sfumato.published import Published
from sfumato.recoding.notation import CELLS, MISSING_MEMBER, STAR
from sfumato.registry import loaded
from sfumato.release.audit import Audit, audit_written, folder_with_audit
from sfumato.release.description import Description, TableFacts
from sfumato.release.formulas import Formulas, formula_problems, without_formulas
from sfumato.release.reports import KindReport, Report
from sfumato.release.table_files import write_tables, write_texts
from sfumato.release.transaction import AUDIT
from sfumato.table.databases.address import is_database
from sfumato.table.schema import Kind
from sfumato.table.writing import FORMATS, NO_FORMAT, Format

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.drawing import Drawing
    from sfumato.recoding.cells import Domain
    from sfumato.recoding.notation import Cells
    from sfumato.release.stored import Content


# Published tables as frames of other libraries, with the order of categories that the original declares.


_MEMBERS = re.compile(r"((?:\\.|[^|\\])*)(?:\||$)")


def in_declared_order(frame: pl.DataFrame, orders: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Return a frame whose categories are listed as `orders` declares, those that do not occur left out.

    `frame`: published; categories are Enums that list what is published, and nothing else. `orders`: column → the
    original values, lowest first. A set stands by its lowest member, then by its highest; labels of which no member is
    known (``*``, an inner node of a hierarchy) come last. Cost O(n + p log p) for p published labels.
    """
    return pl.DataFrame([_ordered(column, orders.get(column.name)) for column in frame])


def as_pandas(frame: pl.DataFrame, orders: Mapping[str, Sequence[str]]) -> Any:
    """Return a frame as pandas has it, categories ordered where the order is declared; PolicyError without pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise PolicyError("to_pandas: pandas is not installed; pip install pandas") from None
    made = frame.to_pandas()
    for column in frame:
        if isinstance(column.dtype, pl.Enum):
            categories, is_ordered = column.dtype.categories.to_list(), _is_ordered(column, orders)
            made[column.name] = pd.Categorical(column.to_list(), categories=categories, ordered=is_ordered)
    return made


def as_arrow(frame: pl.DataFrame, orders: Mapping[str, Sequence[str]]) -> pa.Table:
    """Return a frame as an Arrow table; dictionaries are ordered where :func:`as_pandas` orders categories."""
    import pyarrow as pa

    made = frame.to_arrow()
    for place, column in enumerate(frame):
        if isinstance(column.dtype, pl.Enum) and not _is_ordered(column, orders):
            chunks = [pa.DictionaryArray.from_arrays(each.indices, each.dictionary) for each in made[place].chunks]
            made = made.set_column(place, column.name, pa.chunked_array(chunks))
    return made


def _is_ordered(column: pl.Series, orders: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether all that a column of categories publishes are original values of a declared order."""
    return isinstance(column.dtype, pl.Enum) and set(column.dtype.categories) <= set(orders.get(column.name, ()))


def _ordered(column: pl.Series, order: Sequence[str] | None) -> pl.Series:
    if order is None or not isinstance(column.dtype, pl.Enum):
        return column
    rank = {value: place for place, value in enumerate(order)}
    labels: list[str] = column.dtype.categories.to_list()
    return column.cast(pl.String).cast(pl.Enum(sorted(labels, key=lambda label: _place(label, rank))))


def _place(label: str, rank: Mapping[str, int]) -> tuple[int, int, str]:
    """Return what a label is sorted by: the places of its lowest and its highest member, and its text."""
    nowhere = len(rank)
    if label in rank:
        return rank[label], rank[label], label
    places = [rank.get(member, nowhere) for member in _members(label)]
    return min(places, default=nowhere), max(places, default=nowhere), label


def _members(label: str) -> list[str]:
    """Return the values of a published set, or nothing if it is none; see :mod:`sfumato.recoding.notation`."""
    if label == STAR or not (label.startswith("{") and label.endswith("}")):
        return []
    written = [match[1] for match in _MEMBERS.finditer(label[1:-1])]
    return [re.sub(r"\\(.)", r"\1", text) for text in written if text not in ("", MISSING_MEMBER)]


NO_AUDIT = "audit: the release itself says who is who, so that no audit file is needed; leave it out"
NO_CELLS = "cells: a database holds labels alone; write a folder"
NO_PLACE = "audit: name the file with which people can be recounted; a database has no place for it"


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """Published tables that were verified, with their report.

    Made by :func:`sfumato.anonymize` alone; there is no other way to one, so every release was verified.

    Attributes
    ----------
    published : Published
        What a recipient holds; which of the kinds depends on the anonymizer.
    report : Report or KindReport
        The latter where the release is no generalized table.
    description : Description
        What a verifier needs to know.
    policy : str
        The policy as TOML, in the edition that may be published.
    audit : Audit or None
        Who is who inside of each class, where people have several records and the table does not say it. It is the
        steward's, and no part of the folder.
    orders : mapping of str to tuple of str
        The order of the categories of those columns for which the original declares one; no part of the folder.
    codes : mapping of str to mapping of str to int
        The code of each label, of those columns whose labels a file of a statistical program had.
    numbers : mapping of str to Kind
        The quasi-identifying columns of numbers and dates without a hierarchy; no part of the folder.
    """

    published: Published
    report: Report | KindReport
    description: Description
    policy: str
    audit: Audit | None = None
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    codes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    numbers: Mapping[str, Kind] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Count the published records and name the promises."""
        promises = ", ".join(check.promise for check in self.report.verification.checks)
        return f"Release({self.report.published} records, {promises})"

    def _repr_html_(self) -> str:
        """Show notebooks columns, promises and losses; for the published values ask for :attr:`data`."""
        from sfumato.notebook import card
        from sfumato.release.report_html import counts, release_parts

        return card("Release", counts(self.report), *release_parts(self))

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Every published table under the name of its file, without ending."""
        return self.published.tables

    @property
    def data(self) -> pl.DataFrame:
        """The published table, in random order.

        Raises
        ------
        PolicyError
            When the release has several.
        """
        return self._table("data", None)

    @property
    def classes(self) -> pl.DataFrame:
        """Every class of records that publish the same quasi-identifying values, the smallest first.

        Returns
        -------
        polars.DataFrame
            The published values; ``records``; and ``distinct NAME``, how many values of each sensitive column.

        Raises
        ------
        PolicyError
            When the release is of a kind that has no such classes.
        """
        from sfumato.published import PublishedTable

        if not isinstance(self.published, PublishedTable):
            raise PolicyError(f"classes: a release of the kind {self.published.kind} has none; look at its .tables")
        names = list(self.published.quasi_identifying)
        distinct = [pl.col(name).n_unique().alias(f"distinct {name}") for name in self.published.sensitive]
        found = self.data.group_by(names).agg(pl.len().alias("records"), *distinct)
        return found.sort("records", *(pl.col(name).cast(pl.String) for name in names))

    def plot(self) -> Drawing:
        """Draw the loss of each column, how many records lie in classes of each size, and how wide ranges are.

        Raises
        ------
        PolicyError
            When the release has no classes, or matplotlib is not installed (``pip install 'sfumato[report]'``).
        """
        drawing: Drawing = loaded("sfumato.release.overview:release_drawing")(self)
        return drawing

    def cite(self) -> str:
        """Name the papers behind the release: those of its anonymizer and of its models."""
        return str(loaded("sfumato.release.overview:papers")(self))

    def draw(self, *, domain: Domain | None = None, seed: int | None = None) -> Release:
        """Draw one value from each published cell, and return them as a release of their own, without labels.

        Parameters
        ----------
        domain
            As for :func:`sfumato.open_release`.
        seed
            For tests and studies; None draws anew each time.

        Returns
        -------
        Release
            A randomized table in an order of its own. It promises nothing, and says so.

        Raises
        ------
        InputError
            When the release is no generalized table.
        PolicyError
            When `domain` does not fit, or the promises are about people.

        Notes
        -----
        Draws read the labels and `domain` alone, so that both together tell nothing that the labels do not.
        """
        drawn: Release = loaded("sfumato.release.cell_file:draw_release")(self, domain, seed)
        return drawn

    def to_polars(self, table: str | None = None, *, cells: Cells = "label", seed: int | None = None) -> pl.DataFrame:
        """Return a published table, in random order, whose ordered categories have the order of the original.

        Parameters
        ----------
        table
            Which one, where the release has several: its name in :attr:`tables`.
        cells, seed
            Form of quasi-identifying cells: ``"label"``, ``"bounds"``, ``"interval"``, ``"midpoint"`` or ``"drawn"``;
            :meth:`sfumato.results.OpenRelease.to_polars` says what each is. All but labels need a generalized table.

        Raises
        ------
        PolicyError
            When there is none of this name, or when there are several and none is named; when the form is unknown.
        InputError
            When cells of this kind of release are no labels.

        Notes
        -----
        A value that is published as it is stands where an Enum, or an ordered categorical of pandas or Arrow, puts it;
        sets of values stand by their members. Categories that are not published are not listed.
        """
        if cells == "label":
            return in_declared_order(self._table("table", table), self.orders)
        from sfumato.release.recipient import open_release

        return open_release(self).to_polars(cells=cells, seed=seed)

    def to_pandas(self, table: str | None = None, *, cells: Cells = "label", seed: int | None = None) -> Any:
        """Return the same as a pandas frame with a plain index; ordered categories are those of :meth:`to_polars`.

        Raises
        ------
        PolicyError
            As :meth:`to_polars`; also where pandas is not installed.
        """
        if cells == "label":
            return as_pandas(self.to_polars(table), self.orders)
        from sfumato.release.recipient import open_release

        return open_release(self).to_pandas(cells=cells, seed=seed)

    def to_arrow(self, table: str | None = None) -> pa.Table:
        """Return the same as an Arrow table; categories are dictionaries, ordered as those of :meth:`to_pandas`.

        Raises
        ------
        PolicyError
            As :meth:`to_polars`.
        """
        return as_arrow(self.to_polars(table), self.orders)

    def _table(self, asked: str, name: str | None) -> pl.DataFrame:
        if name is None and len(self.tables) == 1:
            return next(iter(self.tables.values()))
        if name in self.tables:
            return self.tables[name]
        names = ", ".join(map(repr, self.tables))
        has = "this release has several tables" if name is None else "there is no such table"
        raise PolicyError(f"{asked}: {has}; take them from .tables, which holds {names}")

    @overload
    def save(
        self,
        folder: str | Path,
        *,
        format: Format = "csv",
        overwrite: bool = False,
        audit: str | Path | None = None,
        formulas: Formulas = "keep",
        schema: None = None,
        cells: Cells = "label",
        domain: Domain | None = None,
        seed: int | None = None,
    ) -> Path: ...

    @overload
    def save(
        self,
        folder: str,
        *,
        overwrite: bool = False,
        audit: str | Path | None = None,
        formulas: Formulas = "keep",
        schema: str,
    ) -> str: ...

    def save(
        self,
        folder: str | Path,
        *,
        format: Format = "csv",
        overwrite: bool = False,
        audit: str | Path | None = None,
        formulas: Formulas = "keep",
        schema: str | None = None,
        cells: Cells = "label",
        domain: Domain | None = None,
        seed: int | None = None,
    ) -> Path | str:
        """Write the release folder: its tables, ``release.json``, ``policy.toml``, ``report.json``, ``report.txt``.

        The folder appears whole or not at all: it is written beside its place and moved there in one step. In a
        database a schema appears in one transaction; its table ``description`` holds all but the tables.

        Parameters
        ----------
        folder
            Where to; its parent must exist. Or the URL of a database, as :func:`sfumato.read_table` takes it.
        format
            Of the files that hold the tables: ``"csv"``, ``"parquet"``, ``"xlsx"``, ``"sav"`` (SPSS) or ``"dta"``
            (Stata), the last two with value labels. What a format would change is refused.
        overwrite
            Replace a release that is already there. Anything else is never replaced.
        audit
            Where to write the file with which people can be recounted; keep it private. None: beside the folder, as
            :func:`audit_file` names it. It may not lie in a release folder, and replaces nothing but an audit file.
            Nothing is written where every record is a person of its own, or the table itself says who is who.
        formulas
            Of cells of CSV that begin like a formula (``=``, ``+``, ``-``, ``@``, tab or carriage return, but no
            number), which a spreadsheet may run: ``"keep"`` them as they are, ``"escape"`` them by a ``'`` before, or
            ``"refuse"`` to write.
        schema
            Of a database: where the release shall lie. It must not be there yet, or be empty, or hold a release to
            overwrite and nothing else. SQLite has no schemas; there the names of the tables begin with it. An audit
            file has no place by itself then.
        cells
            Another form of quasi-identifying cells, in a second file beside the labels: that of :meth:`to_polars`, an
            interval as text ``[low, high]``. ``release.json`` names it, and :func:`sfumato.verify` recounts it.
        domain
            As for :func:`sfumato.open_release`; ``release.json`` shows it.
        seed
            Of drawn cells, for tests and studies; None draws anew each time.

        Returns
        -------
        pathlib.Path or str
            The folder, or the URL.

        Raises
        ------
        InputError
            When the folder cannot be written there.
        PolicyError
            When the format or what to do with formulas is unknown, or formulas are refused or cannot be escaped; also
            when an audit file is asked for of a release that itself says who is who, or when cells in this form cannot
            be written there.
        """
        if format not in FORMATS:
            raise PolicyError(NO_FORMAT)
        raise_all(PolicyError, formula_problems(formulas))
        if audit is not None and self.description.people == "published":
            raise PolicyError(NO_AUDIT)
        if cells not in CELLS:
            raise PolicyError(f"cells must be one of {', '.join(CELLS)}")
        if is_database(folder):
            if cells != "label":
                raise PolicyError(NO_CELLS)
            self._save_in_database(str(folder), schema, overwrite, audit, formulas)
            return str(folder)
        if schema is not None:
            raise PolicyError("schema: says where a release lies in a database; leave it out, or give the URL of one")
        target = Path(folder)
        private = audit_file(target) if audit is None else Path(audit)
        published = without_formulas(self.published, formulas) if format == "csv" else self.published
        description = self.description if published is self.published else self.description.escaped()
        kept = None if self.audit is None else private
        with folder_with_audit(target, kept, overwrite=overwrite) as (part, secret):
            facts = write_tables(published, part, format, self.codes, self.numbers)
            policy = self.policy
            if cells != "label":
                write = loaded("sfumato.release.cell_file:write_cells")
                beside = write(self, published, part, format, cells, domain=domain or {}, formulas=formulas, seed=seed)
                policy = loaded("sfumato.release.cell_file:policy_with_cells")(policy, beside.form, beside.domain)
                description = replace(description, cells=beside)
            write_texts(part, description.to_dict(tables=facts), self.report.for_release(), policy)
            if self.audit is not None:
                file = facts["data"]
                secret.write_text(self.audit.text(file.file, file.sha256), encoding="utf-8")
        return target

    def _save_in_database(
        self, url: str, schema: str | None, overwrite: bool, audit: str | Path | None, formulas: Formulas
    ) -> None:
        from sfumato.release.stored import Shelf, save_in_database

        shelf = Shelf.of(url, schema)
        if self.audit is not None and audit is None:
            raise PolicyError(NO_PLACE)
        published = without_formulas(self.published, formulas)
        description = self.description if published is self.published else self.description.escaped()
        written = replace(self, published=published, description=description)
        if self.audit is None or audit is None:
            save_in_database(written, shelf, overwrite=overwrite)
            return
        pseudonyms = self.audit.pseudonyms
        file = None if shelf.file is None else (shelf.address.kind, str(shelf.file))
        with audit_written(Path(audit), file, overwrite=overwrite) as (secret, decide):

            def ready(facts: TableFacts, content: Content, mark: dict[str, Any]) -> None:
                secret.write_text(Audit(pseudonyms[content.order]).text(facts.file, facts.sha256), encoding="utf-8")
                decide(mark)

            save_in_database(written, shelf, overwrite=overwrite, ready=ready)


def audit_file(folder: Path) -> Path:
    """Return where the audit file of a release folder lies unless it is said otherwise: beside it."""
    return folder.parent / f"{folder.name}{AUDIT}"
