"""Every value carries a mark; whatever goes wrong or right, no mark is seen outside the published table."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import sfumato as sf
from guarantees.combinations import PUBLISHER_SETTINGS, SETTINGS
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.cli.app import app
from sfumato.hierarchy import HierarchyTable

MARKS = ("secret", "98765432", "1917")
"""In every text, every number and every date of the table."""

ROWS = 40
COLUMNS = ("name", "age", "born", "zip", "disease", "wage", "note")


def cells(row: int) -> tuple[str, int, date, str, str, int, str]:
    return (
        f"SECRETname{row}",
        98_765_432_100 + row % 9,
        date(1917, 1 + row % 12, 1 + row % 28),
        f"SECRETzip{row % 5}",
        f"SECRETdisease{row % 3 if row % 2 else 0}",
        98_765_432_500 + row % 7,
        f"SECRETnote{row}",
    )


def frame() -> pl.DataFrame:
    return pl.DataFrame([cells(row) for row in range(ROWS)], schema=COLUMNS, orient="row")


def schema(**changes: Any) -> sf.Schema:
    settings: dict[str, Any] = {
        "identifying": ["name"],
        "quasi_identifying": ["age", "born", "zip"],
        "sensitive": ["disease", "wage"],
        "others": "drop",
    }
    return sf.Schema(**{**settings, **changes})


def quasi(**changes: Any) -> sf.Schema:
    return schema(quasi_identifying={"age": None, "born": None, "zip": None, **changes})


def assert_unmarked(text: str, where: str) -> None:
    # No value has a fraction, and none is a hash: neither a loss of 45.1917 nor a sha256 shows anybody's year of birth.
    whole = re.sub(r"(?<=\d)\.\d+|\b[0-9a-f]{64}\b", "", text.lower())
    found = [mark for mark in MARKS if mark in whole]
    assert not found, f"{where} shows {found}"


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and everything that a traceback would show with it."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def say_nothing(
    work: Callable[[], object], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> bool:
    """Do `work`; look for marks in whatever it says. Returns whether it ended well."""
    caplog.set_level(logging.DEBUG)
    failure = None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            work()
        except sf.SfumatoError as error:
            failure = error
    for error in chain(failure):
        for text in (str(error), repr(error), *map(str, error.args)):
            assert_unmarked(text, type(error).__name__)
        assert isinstance(error, sf.SfumatoError)
        assert_unmarked("".join(traceback.format_exception_only(error)), "the traceback's last line")
    if failure is not None:
        assert failure.problems
        assert all(problem and "\n" not in problem for problem in failure.problems)
    out, err = capfd.readouterr()
    for text, where in ((out, "stdout"), (err, "stderr"), (caplog.text, "the log")):
        assert_unmarked(text, where)
    for each in warned:
        assert_unmarked(str(each.message), "a warning")
    return failure is None


@pytest.mark.parametrize(
    "slip",
    [
        lambda: print("secret5"),
        lambda: print("98765432100", file=sys.stderr),
        lambda: logging.getLogger("sfumato.some.part").debug("1917-01-01"),
        lambda: warnings.warn("SECRET", stacklevel=1),
    ],
)
def test_a_slip_would_be_seen(slip, caplog, capfd):
    with pytest.raises(AssertionError, match="shows"):
        say_nothing(slip, caplog, capfd)


def test_a_slip_in_an_exception_or_behind_it_would_be_seen(caplog, capfd):
    def direct() -> None:
        raise sf.InputError("SECRET")

    def chained() -> None:
        try:
            raise ValueError("SECRET")
        except ValueError:
            raise sf.InputError("fine")  # noqa: B904

    for slip in (direct, chained):
        with pytest.raises(AssertionError):
            say_nothing(slip, caplog, capfd)


def read(source: Any, given: sf.Schema | None = None, **settings: Any) -> sf.Table:
    return sf.read_table(source, given or schema(), **settings)


def csv_text(path: Path, change: Callable[[list[str]], list[str]] = lambda lines: lines) -> Path:
    text = io.StringIO()
    frame().write_csv(text)
    path.write_text("\n".join(change(text.getvalue().splitlines())) + "\n")
    return path


def bytes_at(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


Work = Callable[[Path], object]
LINES = {
    "ragged rows": lambda lines: [*lines, lines[-1] + ",SECRETmore"],
    "short rows": lambda lines: [*lines, "SECRETname,98765432100"],
    "an open quote": lambda lines: [*lines, '"SECRETname'],
    "a quote in a cell": lambda lines: [*lines, 'SEC"RET,98765432100,1917-01-01,a,b,98765432500,c'],
    "no header": lambda lines: lines[1:],
    "columns twice": lambda lines: [lines[0].replace("zip", "age"), *lines[1:]],
    "columns that are not there": lambda lines: [lines[0].replace("zip", "height"), *lines[1:]],
    "a text among numbers": lambda lines: [*lines, "a,SECRETage,1917-01-01,a,b,98765432500,c"],
    "a nothing": lambda lines: lines[:1],
}
BROKEN: dict[str, Work] = {
    **{
        name: lambda folder, change=change: read(
            csv_text(folder / "t.csv", change),
            quasi(age=sf.Attribute(kind="numeric"), born=sf.Attribute(kind="date")),
        )
        for name, change in LINES.items()
    },
    "bytes that are no text": lambda folder: read(
        bytes_at(folder / "t.csv", b"name,age\nSECRET\xff\xfe,98765432100\n"), schema(quasi_identifying=["age"])
    ),
    "another encoding": lambda folder: read(
        bytes_at(folder / "t.csv", "name,age\nSECRET\xe9,98765432100\n".encode("latin1")), encoding="ascii"
    ),
    "a cut gzip": lambda folder: read(bytes_at(folder / "t.csv.gz", b"\x1f\x8bSECRET98765432")),
    "a cut Parquet": lambda folder: read(bytes_at(folder / "t.parquet", b"PAR1SECRET98765432")),
    "text declared numbers": lambda folder: read(frame(), quasi(zip=sf.Attribute(kind="numeric"))),
    "text declared dates": lambda folder: read(frame(), quasi(zip=sf.Attribute(kind="date"))),
    "text declared truths": lambda folder: read(frame(), quasi(zip=sf.Attribute(kind="boolean"))),
    "numbers declared dates": lambda folder: read(frame(), quasi(age=sf.Attribute(kind="date"))),
    "numbers declared truths": lambda folder: read(frame(), quasi(age=sf.Attribute(kind="boolean"))),
    "dates declared numbers": lambda folder: read(frame(), quasi(born=sf.Attribute(kind="numeric"))),
    "mixed objects of pandas": lambda folder: read(
        pd.DataFrame(
            {name: pd.Series([cells(0)[place], 5, "SECRET"], dtype=object) for place, name in enumerate(COLUMNS)}
        )
    ),
    "nested lists": lambda folder: read(frame().with_columns(pl.concat_list("zip", "disease").alias("zip"))),
    "Arrow structures": lambda folder: read(
        pa.table({**{name: ["SECRET"] for name in COLUMNS}, "zip": [{"SECRET": "SECRET98765432"}]})
    ),
    "times of day": lambda folder: read(
        frame().with_columns(pl.col("born").dt.offset_by("3h").cast(pl.Datetime) + pl.duration(hours=3))
    ),
    "a role missing": lambda folder: read(frame(), schema(others="error")),
    "no records": lambda folder: read(frame().head(0)),
    "no frame": lambda folder: read([cells(0)]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_sources_that_cannot_be_read(case, tmp_path, caplog, capfd):
    ended_well = say_nothing(lambda: BROKEN[case](tmp_path), caplog, capfd)
    assert not ended_well or case in ("a quote in a cell", "numbers declared dates", "times of day")


def encoded(given: sf.Schema, source: pl.DataFrame | None = None) -> object:
    return sf.anonymize(read(frame() if source is None else source, given), sf.KAnonymity(2))


def tree_file(folder: Path, text: str) -> Any:
    (folder / "tree.csv").write_text(text)
    return sf.read_hierarchy(folder / "tree.csv")


ZIPS = [f"SECRETzip{i}" for i in range(5)]
UNFIT: dict[str, Work] = {
    "a number outside the domain": lambda _: encoded(quasi(age=sf.Attribute(domain=(98_765_432_100, 98_765_432_101)))),
    "a date outside the domain": lambda _: encoded(
        quasi(born=sf.Attribute(kind="date", domain=("1917-01-01", "1917-02-01")))
    ),
    "a category outside the domain": lambda _: encoded(quasi(zip=sf.Attribute(domain=tuple(ZIPS[:2])))),
    "a domain of the wrong kind": lambda _: encoded(quasi(age=sf.Attribute(domain=("SECRETlow", "SECREThigh")))),
    "a domain upside down": lambda _: encoded(
        quasi(age=sf.Attribute(kind="numeric", domain=(98_765_432_999, 98_765_432_100)))
    ),
    "a domain with values twice": lambda _: encoded(quasi(zip=sf.Attribute(domain=("SECRETzip0", "SECRETzip0")))),
    "an infinite number": lambda _: encoded(
        schema(),
        frame().with_columns(
            pl.col("age") * 1.0 + pl.when(pl.col("zip") == "SECRETzip1").then(float("inf")).otherwise(0)
        ),
    ),
    "groups without a value": lambda _: encoded(quasi(zip=sf.groups({"SECRETgroup": ZIPS[:3]}))),
    "groups with a value twice": lambda _: sf.groups({"SECRETa": ZIPS, "SECRETb": ZIPS[:1]}),
    "groups of nothing": lambda _: sf.groups({"SECRETa": []}),
    "groups of groups of a number": lambda _: sf.groups({"SECRETa": {"SECRETb": 98_765_432_100}}),  # type: ignore[dict-item]
    "borders that leave values out": lambda _: encoded(quasi(age=sf.intervals([98_765_432_100, 98_765_432_102]))),
    "borders that fall": lambda _: sf.intervals([98_765_432_102, 98_765_432_100]),
    "intervals of text": lambda _: encoded(quasi(zip=sf.intervals(10))),
    "units of text": lambda _: encoded(quasi(zip=sf.dates("month"))),
    "a tree without a value": lambda folder: encoded(quasi(zip=tree_file(folder, "SECRETzip0;*\nSECRETzip1;*\n"))),
    "a tree with a value twice": lambda folder: tree_file(folder, "SECRETzip0;SECRETa;*\nSECRETzip0;SECRETb;*\n"),
    "a tree with two parents": lambda folder: tree_file(
        folder, "SECRETzip0;SECRETa;SECRETb;*\nSECRETzip1;SECRETa;SECRETc;*\n"
    ),
    "a ragged tree": lambda folder: tree_file(folder, "SECRETzip0;SECRETa;*\nSECRETzip1;*\n"),
    "a tree with an open quote": lambda folder: tree_file(folder, '"SECRETzip0;SECRETa;*\n'),
    "a tree of odd bytes": lambda folder: sf.read_hierarchy(bytes_at(folder / "t.csv", b"SECRETzip0;\xff\n")),
    "a tree with empty labels": lambda folder: tree_file(folder, "SECRETzip0;;*\nSECRETzip1;SECRETa;*\n"),
    "a table as means": lambda _: sf.anonymize(
        read(frame()), sf.KAnonymity(2), recoding=sf.Recoding(forms={"zip": "mean"})
    ),
}


@pytest.mark.parametrize("case", UNFIT)
def test_domains_and_hierarchies_that_do_not_fit(case, tmp_path, caplog, capfd):
    assert not say_nothing(lambda: UNFIT[case](tmp_path), caplog, capfd)


UNKEPT = [
    sf.KAnonymity(ROWS + 1),
    sf.AlphaKAnonymity(0.01, 2),
    sf.DistinctLDiversity(20),
    sf.ProbabilisticLDiversity(10),
    sf.EntropyLDiversity(10),
    sf.RecursiveLDiversity(0.1, 5),
    sf.DistinctLDiversity(2, attribute="SECRETcolumn".lower().replace("secret", "no ")),
    sf.TCloseness(0.5, "ordered", attribute="disease"),
    sf.TCloseness(0.5, "hierarchical", attribute="disease"),
]


@pytest.mark.parametrize("model", UNKEPT, ids=str)
@pytest.mark.parametrize("limit", [0.0, 0.05])
def test_models_that_cannot_be_kept(model, limit, caplog, capfd):
    assert not say_nothing(
        lambda: sf.anonymize(read(frame()), [model, sf.KAnonymity(2)], suppression_limit=limit), caplog, capfd
    )


COLUMN_TABLE = {"identifying": ["name"], "sensitive": ["disease"], "others": "drop"}
K = [{"name": "k-anonymity", "k": 2}]


def policy(quasi_identifying: Any, **more: Any) -> dict[str, Any]:
    return {"columns": {**COLUMN_TABLE, "quasi-identifying": quasi_identifying}, "models": K, **more}


POLICIES: dict[str, Any] = {
    "groups twice": policy({"zip": {"hierarchy": {"kind": "groups", "members": {"a": ["SECRETx"], "b": ["SECRETx"]}}}}),
    "groups of a number": policy({"zip": {"hierarchy": {"kind": "groups", "members": {"SECRETa": 98_765_432}}}}),
    "a domain of two kinds": policy({"zip": {"domain": ["SECRETx", 98_765_432_100]}}),
    "a domain that falls": policy({"age": {"kind": "numeric", "domain": [98_765_432_101, 98_765_432_100]}}),
    "a domain that is text": policy({"age": {"domain": "SECRETx"}}),
    "rows that are none": policy({"zip": {"hierarchy": {"kind": "table", "rows": ["SECRETx", "SECRETy"]}}}),
    "rows with a value twice": policy(
        {"zip": {"hierarchy": {"kind": "table", "rows": [["SECRETx", "a"], ["SECRETx", "b"]]}}}
    ),
    "borders that fall": policy(
        {"age": {"hierarchy": {"kind": "intervals", "borders": [98_765_432_101, 98_765_432_100]}}}
    ),
    "a missing token that is none": policy(["zip"], source={"missing": 98_765_432}),
    "a weight that is text": policy({"zip": {"weight": "SECRETx"}}),
    "a model with a value": policy(["zip"], models=[{"name": "k-anonymity", "k": "SECRET98765432"}]),
}


@pytest.mark.parametrize("case", POLICIES)
def test_policies_with_values_in_the_wrong_place(case, caplog, capfd):
    assert not say_nothing(lambda: sf.Policy.from_mapping(POLICIES[case]), caplog, capfd)


@pytest.mark.parametrize(
    "text",
    [
        'a = "SECRET\n',
        "SECRET 98765432 = 5\n",
        '[columns]\nidentifying = ["SECRET"\n',
        'x = ["1917-01-01", SECRET]',
        "\x00SECRET",
    ],
)
def test_policy_files_that_are_no_toml(text, tmp_path, caplog, capfd):
    (tmp_path / "policy.toml").write_text(text)
    assert not say_nothing(lambda: sf.Policy.from_file(tmp_path / "policy.toml"), caplog, capfd)


# what a release says of itself


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return sf.anonymize(read(frame()), [sf.KAnonymity(3), sf.DistinctLDiversity(2)], seed=1).save(tmp_path / "out")


def test_a_release_says_nothing_of_values_but_in_its_table(saved, caplog, capfd):
    release = sf.anonymize(read(frame()), [sf.KAnonymity(3), sf.TCloseness(0.9)], suppression_limit=0.1)
    assert say_nothing(lambda: print(release.report, sf.verify(saved), sf.verify(release)), caplog, capfd)
    for path in saved.iterdir():
        text = path.read_text()
        if path.name == "data.csv":
            assert "SECRETname" not in text
            assert "SECRETnote" not in text
        else:
            assert_unmarked(text, path.name)


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_anonymizer_says_a_value(setting, tmp_path, caplog, capfd):
    """Neither in its notes and errors, nor in what its release says of itself."""
    kept: list[sf.Release] = []
    anonymizer = SETTINGS[setting]
    more = {"refine": 0 if getattr(anonymizer, "blind", False) else 5, "bound": True, "seed": 1}

    def work() -> None:
        models = [sf.KAnonymity(3), sf.DistinctLDiversity(2, attribute="disease")]
        kept.append(sf.anonymize(read(frame()), models, anonymizer=anonymizer, suppression_limit=0.1, **more))
        print(kept[0].report, kept[0].report.to_dict(), kept[0])

    assert say_nothing(work, caplog, capfd)
    assert not say_nothing(
        lambda: sf.anonymize(read(frame()), sf.DistinctLDiversity(20), anonymizer=anonymizer), caplog, capfd
    )
    for path in kept[0].save(tmp_path / "out").iterdir():
        text = path.read_text()
        if path.name != "data.csv":
            assert_unmarked(text, path.name)
            # What the steward is told may count what the release hides.
            assert not [note for note in kept[0].report.notes if note in text]


def published(setting: str, *models: Any, **more: Any) -> sf.Release:
    """A release of another kind, with the only sensitive column that all of them take."""
    return sf.anonymize(
        read(frame(), schema(sensitive=["disease"])), models, anonymizer=PUBLISHER_SETTINGS[setting], **more
    )


def light(setting: str) -> list[Any]:
    """A model that the table can keep, for publishers that promise any."""
    promises = PUBLISHER_SETTINGS[setting].promises
    return [sf.ProbabilisticLDiversity(1.3)] if promises in sf.ProbabilisticLDiversity.speaks_of else []


@pytest.mark.parametrize("setting", PUBLISHER_SETTINGS)
def test_no_publisher_says_a_value(setting, tmp_path, caplog, capfd):
    kept: list[sf.Release] = []

    def work() -> None:
        kept.append(published(setting, *light(setting), seed=1))
        print(kept[0].report, kept[0].report.to_dict(), kept[0], kept[0].report.for_release(), sf.verify(kept[0]))

    assert say_nothing(work, caplog, capfd)
    folder = kept[0].save(tmp_path / "out")
    assert say_nothing(lambda: print(sf.verify(folder)), caplog, capfd)
    files = {f"{name}.csv" for name in kept[0].tables}
    for path in folder.iterdir():
        text = path.read_text()
        assert "SECRETname" not in text
        if path.name not in files:
            assert_unmarked(text, path.name)
            assert not [note for note in kept[0].report.notes if note in text]


WRONGLY_ASKED: dict[str, Callable[[str], object]] = {
    "far too much": lambda setting: published(setting, sf.ProbabilisticLDiversity(30)),
    "k-anonymity of too many": lambda setting: published(setting, sf.KAnonymity(ROWS + 1)),
    "an attribute that is not there": lambda setting: published(setting, sf.DistinctLDiversity(2, attribute="no such")),
    "an order that text has not": lambda setting: published(setting, sf.TCloseness(0.5, "ordered")),
    "settings of another kind": lambda setting: published(
        setting, *light(setting), refine=3, bound=True, recoding=sf.Recoding(numeric="mean"), suppression_limit=0.1
    ),
}


@pytest.mark.parametrize("setting", PUBLISHER_SETTINGS)
@pytest.mark.parametrize("case", WRONGLY_ASKED)
def test_no_refusal_of_a_publisher_says_a_value(setting, case, caplog, capfd):
    assert not say_nothing(lambda: WRONGLY_ASKED[case](setting), caplog, capfd)


SPOILED: dict[str, Callable[[str], str]] = {
    "a row too short": lambda text: text + "SECRETx\n",
    "an open quote": lambda text: text + '"SECRETx\n',
    "no header": lambda text: text.split("\n", 1)[1],
    "another header": lambda text: "x" + text,
    "half of it": lambda text: text[: len(text) // 2],
    "nothing": lambda text: "",
    "a line less": lambda text: text.rsplit("\n", 2)[0] + "\n",
    "cells that are text": lambda text: "\n".join(
        [text.split("\n", 1)[0], *("SECRETx," * 9 for _ in text.splitlines()[1:])]
    ),
}


@pytest.mark.parametrize("setting", PUBLISHER_SETTINGS)
@pytest.mark.parametrize("case", SPOILED)
def test_verifying_tables_of_other_kinds_that_were_changed(setting, case, tmp_path, caplog, capfd):
    release = published(setting, *light(setting), seed=1)
    for number, name in enumerate(release.tables):
        folder = spoil(release.save(tmp_path / str(number)), SPOILED[case], f"{name}.csv")

        def work(folder: Path = folder) -> None:
            verification = sf.verify(folder)
            print(verification, verification.to_dict())
            assert not verification.ok
            verification.raise_if_broken()

        assert not say_nothing(work, caplog, capfd)


def test_a_lattice_says_no_value(caplog, capfd):
    for anonymizer in (sf.Incognito(), sf.Datafly(), sf.Optimal()):
        assert say_nothing(
            lambda anonymizer=anonymizer: print(
                found := sf.search_lattice(read(frame()), sf.KAnonymity(3), anonymizer=anonymizer), found.to_frame()
            ),
            caplog,
            capfd,
        )


RISKS: dict[str, Callable[[], object]] = {
    "a table": lambda: sf.risk(read(frame())),
    "a population": lambda: sf.risk(read(frame()), population=read(pl.concat([frame(), frame()]))),
    "a smaller population": lambda: sf.risk(read(frame()), population=read(frame().head(3))),
    "another population": lambda: sf.risk(read(frame()), population=pl.DataFrame({"zip": ["SECRETx"]})),
    "weights that are text": lambda: sf.risk(frame(), quasi_identifying=["age", "zip"], weights="disease"),
    "weights in another unit": lambda: sf.risk(
        frame(), quasi_identifying=["age", "zip"], weights="wage", household="disease"
    ),
    "columns that are not there": lambda: sf.risk(frame(), quasi_identifying=["age", "height"]),
    "a release": lambda: sf.risk(sf.anonymize(read(frame()), sf.KAnonymity(3))),
}


@pytest.mark.parametrize("case", RISKS)
def test_risks_are_told_without_values(case, caplog, capfd):
    def work() -> None:
        report: Any = RISKS[case]()
        print(report, report.to_dict(), report.to_frame(), repr(report))

    ended_well = say_nothing(work, caplog, capfd)
    assert ended_well == (case in ("a table", "a population", "a release"))


def people_and_ratings(**changes: Any) -> pl.DataFrame:
    rows = {"user": [f"SECRET{row // 3}" for row in range(60)], "issue": [f"i{row % 3}" for row in range(60)]}
    return pl.DataFrame({**rows, "rating": [1 + row * 7 % 5 for row in range(60)], **changes})


RATINGS: dict[str, Callable[[], pl.DataFrame]] = {
    "ratings": people_and_ratings,
    "ratings off the scale": lambda: people_and_ratings(rating=[98_765_432] * 60),
    "ratings that are text": lambda: people_and_ratings(rating=["SECRETrating"] * 60),
    "a rating twice": lambda: pl.concat([people_and_ratings()] * 2),
}


@pytest.mark.parametrize("case", RATINGS)
def test_ratings_are_judged_without_telling_them(case, caplog, capfd):
    def work() -> None:
        ratings = sf.read_ratings(RATINGS[case](), scale=sf.Scale(1, 5), sensitive=["i0"])
        found = sf.check_ratings(ratings, sf.RatingAnonymity(3, 1, 0.5))
        print(ratings, repr(ratings), found, repr(found), found.to_dict(), found.witnesses(), found.failures())

    assert say_nothing(work, caplog, capfd) == (case == "ratings")


def people_and_items(**changes: Any) -> pl.DataFrame:
    rows = {"who": [f"SECRET{row // 3}" for row in range(60)]}
    rows |= {"what": [f"SECRETitem{row * 7 % 5}" for row in range(60)]}
    return pl.DataFrame({**rows, "age": [98_765_432_000 + row // 30 for row in range(60)], **changes})


SHELVES = HierarchyTable(tuple((f"SECRETitem{item}", f"SECRETshelf{item // 2}", "*") for item in range(5)))
SETS: dict[str, tuple[Callable[[], pl.DataFrame], dict[str, Any]]] = {
    "sets": (people_and_items, {"hierarchy": SHELVES}),
    "sets beside columns": (people_and_items, {"schema": sf.Schema(quasi_identifying=["age"])}),
    "an item that no shelf has": (lambda: people_and_items(what=["SECRETelse"] * 60), {"hierarchy": SHELVES}),
    "people without a name": (lambda: people_and_items(who=[None, *["SECRETx"] * 59]), {}),
    "people who contradict themselves": (
        lambda: people_and_items(age=[98_765_432_000 + row for row in range(60)]),
        {"schema": sf.Schema(quasi_identifying=["age"])},
    ),
}


@pytest.mark.parametrize("case", SETS)
def test_sets_are_made_anonymous_without_telling_them(case, caplog, capfd):
    def work() -> None:
        table, settings = SETS[case]
        sets = sf.read_sets(table(), **settings)
        release = sf.anonymize_sets(sets, sf.KmAnonymity(3, 2), seed=1)
        check, found = sf.check_sets(sets), sf.attack_sets(sets, release, seed=1)
        print(sets, repr(sets), release, repr(release), release.to_dict(), release.loss, sf.verify(release))
        print(check, check.to_dict(), found, repr(found), found.to_dict())

    assert say_nothing(work, caplog, capfd) == case.startswith("sets")


def test_declared_domains_and_trees_stay_with_the_steward(tmp_path):
    settings = quasi(
        age=sf.Attribute(domain=(98_765_432_000, 98_765_432_999)),
        born=sf.Attribute(kind="date", domain=("1917-01-01", "1917-12-31"), hierarchy=sf.dates()),
        zip=sf.groups({"SECRETgroup": ZIPS, "SECREToutside": ["SECRETelse"]}),
    )
    folder = sf.anonymize(read(frame(), settings), sf.KAnonymity(2)).save(tmp_path / "out")
    for path in folder.iterdir():
        if path.name != "data.csv":
            assert_unmarked(path.read_text(), path.name)
    assert "SECRETelse" not in (folder / "data.csv").read_text()


def spoil(folder: Path, change: Callable[[str], str], name: str = "data.csv") -> Path:
    path = folder / name
    path.write_text(change(path.read_text()))
    return folder


TAMPERED: dict[str, Callable[[Path], object]] = {
    "a cell": lambda folder: spoil(folder, lambda text: text.replace("SECRETzip1", "SECRETzip98765432", 1)),
    "a row too short": lambda folder: spoil(folder, lambda text: text + "SECRETx,1\n"),
    "an open quote": lambda folder: spoil(folder, lambda text: text + '"SECRETx\n'),
    "no header": lambda folder: spoil(folder, lambda text: text.split("\n", 1)[1]),
    "a wage that is text": lambda folder: spoil(folder, lambda text: text.replace(",987654325", ",SECRETwage", 1)),
    "values in release.json": lambda folder: spoil(
        folder,
        lambda text: json.dumps(
            json.loads(text)
            | {"sensitive": {"disease": {"kind": "categorical", "hierarchy": {"rows": [["SECRETdisease0", "*"]]}}}}
        ),
        "release.json",
    ),
    "broken rows in release.json": lambda folder: spoil(
        folder,
        lambda text: json.dumps(
            json.loads(text)
            | {
                "sensitive": {
                    "disease": {"kind": "categorical", "hierarchy": {"rows": [["SECRETa", "b"], ["SECRETa", "c"]]}}
                }
            }
        ),
        "release.json",
    ),
    "no JSON": lambda folder: spoil(folder, lambda text: "SECRET" + text, "release.json"),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_verifying_what_was_changed(case, saved, caplog, capfd):
    TAMPERED[case](saved)

    def work() -> None:
        verification = sf.verify(saved)
        print(verification, verification.to_dict())
        verification.raise_if_broken()

    assert not say_nothing(work, caplog, capfd)


def test_measuring_against_another_original(saved, caplog, capfd):
    other = frame().with_columns(pl.col("zip") + "x", age=pl.col("age") + 10_000)
    assert not say_nothing(lambda: sf.measure(read(other), saved), caplog, capfd)
    assert not say_nothing(lambda: sf.measure(read(frame().head(5)), saved), caplog, capfd)
    assert not say_nothing(lambda: sf.measure(read(frame()), frame().select("zip")), caplog, capfd)


def test_a_save_that_fails_and_the_names_it_uses_on_the_way(saved, monkeypatch, caplog, capfd):
    release = sf.anonymize(read(frame()), sf.KAnonymity(3))
    made: list[str] = []
    mkdir, write_bytes = Path.mkdir, Path.write_bytes

    def noted_mkdir(self: Path, *words: Any, **more: Any) -> None:
        made.append(str(self))
        mkdir(self, *words, **more)

    def full(self: Path, *words: Any, **more: Any) -> int:
        made.append(str(self))
        if self.name == "report.txt":
            raise OSError(28, "No space left on device: SECRET98765432")
        return write_bytes(self, *words, **more)

    monkeypatch.setattr(Path, "mkdir", noted_mkdir)
    monkeypatch.setattr(Path, "write_bytes", full)
    assert not say_nothing(lambda: release.save(saved, overwrite=True), caplog, capfd)
    assert len(made) >= 3
    assert_unmarked("\n".join(path.removeprefix(str(saved.parent.parent)) for path in made), "a file name")


# the command line


ROLES = ["--identifying", "name", "--quasi", "age,born,zip", "--sensitive", "disease,wage", "--others", "drop"]


def command(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words], prog_name="sfumato")
    for error in chain(result.exception if not isinstance(result.exception, SystemExit) else None):
        assert_unmarked(f"{error} {error!r}", "an exception")
    return result.exit_code, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["-k", 2], 0),
        (["-k", 2, "--json"], 0),
        (["-k", ROWS + 1], 1),
        (["-k", 2, "-l", 30], 1),
        (["-k", 2, "-t", 2], 2),
        (["-k", 2, "--set", "source.missing=SECRETzip1"], 0),
        (["-k", 2, "--model", "distinct-l-diversity:l=3,attribute=name"], 2),
        (["-k", 2, "--set", "mode=loose"], 2),
        (["-k", 2, "--set", "source.header-line=3"], 2),
        (["-k", 2, "--set", "source.header=false", "--set", "source.columns=a,b"], 2),
    ],
)
def test_commands(words, code, tmp_path):
    table = csv_text(tmp_path / "t.csv")
    found, said = command("anonymize", table, *ROLES, *words, "--out", tmp_path / "out")
    assert found == code
    assert_unmarked(said, "the command")


@pytest.mark.parametrize("case", LINES)
def test_commands_on_broken_files(case, tmp_path):
    table = csv_text(tmp_path / "t.csv", LINES[case])
    code, said = command("anonymize", table, *ROLES, "-k", 2, "--out", tmp_path / "out")
    assert code in (0, 2)
    assert (code == 0) == (tmp_path / "out").exists()
    assert_unmarked(said, "the command")


@pytest.mark.parametrize("case", TAMPERED)
def test_commands_on_changed_releases(case, saved, tmp_path):
    TAMPERED[case](saved)
    for words in (["verify", saved], ["verify", saved, "--json"]):
        code, said = command(*words)
        assert code == 1
        assert_unmarked(said, "verify")
    code, said = command("measure", csv_text(tmp_path / "t.csv"), saved)
    assert_unmarked(said, "measure")


@pytest.mark.parametrize("debug", ["", "1"])
def test_a_crash_in_the_middle_of_an_anonymizer(debug, tmp_path, monkeypatch):
    def crash(*_: object) -> object:
        value = "SECRET98765432"
        try:
            raise KeyError(value)
        except KeyError:
            raise ValueError(f"unexpected value {value}")  # noqa: B904 - as careless code does

    monkeypatch.setattr(Mondrian, "solve", crash)
    monkeypatch.setenv("SFUMATO_DEBUG", debug)
    code, said = command(
        "anonymize",
        csv_text(tmp_path / "t.csv"),
        *ROLES,
        "-k",
        2,
        "--anonymizer",
        "mondrian",
        "--out",
        tmp_path / "out",
    )
    assert code == 2
    assert "ValueError" in said
    # With the debugging switch, lines of source are shown, but no value.
    assert "SECRET98765432" not in said.replace('value = "SECRET98765432"', "")
    assert os.listdir(tmp_path) == ["t.csv"]


PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from sfumato.anonymizers.mondrian import Mondrian
def crash(*_):
    raise RuntimeError("SECRET" + "98765432")
Mondrian.solve = crash
from sfumato.cli.app import app
app(sys.argv[1:])
"""


@pytest.mark.parametrize("which", ["works", "unsatisfiable", "broken file", "crash"])
def test_the_program_itself(which, tmp_path):
    source = str(Path(sf.__file__).parents[1])
    table = csv_text(
        tmp_path / "t.csv",
        LINES["a text among numbers" if which == "broken file" else "a nothing"]
        if which == "broken file"
        else lambda lines: lines,
    )
    words = ["anonymize", str(table), *ROLES, "-k", str(ROWS + 1 if which == "unsatisfiable" else 2)]
    start = ["-c", PROGRAM, source] if which == "crash" else ["-m", "sfumato.cli"]
    done = subprocess.run(
        [sys.executable, *start, *words, "--out", str(tmp_path / "out")],
        env={**os.environ, "PYTHONPATH": source, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == {"works": 0, "unsatisfiable": 1, "broken file": done.returncode, "crash": 2}[which], (
        done.stderr
    )
    assert_unmarked(done.stdout + done.stderr, "the program")
    assert "Traceback" not in done.stderr
    # Nothing beside the table and the release, not even for a moment's use.
    assert set(os.listdir(tmp_path)) <= {"t.csv", "out"}
