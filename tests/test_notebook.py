"""What notebooks show: whole HTML, nothing that a name could smuggle in, and no value of a record."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html import unescape
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato import notebook
from sfumato.progress import shown

HOSTILE = "<script>alert(1)</script>\"'&amp;"
VOID = {"br", "circle", "rect", "path", "polyline"}


class Elements(HTMLParser):
    """The elements of a text, which must be closed in the order in which they were opened."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@cache
def values() -> dict[str, Any]:
    """One of each that a notebook shows; every value of a record says so."""
    rows = 60
    frame = pl.DataFrame(
        {
            HOSTILE: [f"SECRET{row % 3}" for row in range(rows)],
            "age": [654321000 + row % 12 for row in range(rows)],
            "ill": [f"SECRET{row % 4}" for row in range(rows)],
        }
    )
    told = sf.Attribute(
        hierarchy=sf.groups({"SECRETS": [f"SECRET{each}" for each in range(3)]}),
        domain=tuple(f"SECRET{each}" for each in range(3)),
        weight=2,
    )
    schema = sf.Schema(quasi_identifying={HOSTILE: told, "age": None}, sensitive=["ill"])
    table = sf.read_table(frame, schema)
    models = [sf.KAnonymity(5), sf.DistinctLDiversity(2)]
    policy = sf.Policy.of(schema, models, sf.Mondrian(), sf.Recoding(), 0.0)
    policy = sf.Policy.from_mapping({**policy.to_mapping(), "purpose": HOSTILE})
    release = sf.anonymize(table, policy, seed=1)
    buckets = sf.anonymize(table, sf.DistinctLDiversity(2), anonymizer=sf.Bucketization(), seed=1)
    attacks = sf.attack(release, table, attacks=["linkage", "homogeneity"], seed=1)
    return {
        "Table": table,
        "Schema": schema,
        "Policy": policy,
        "Release": release,
        "BucketRelease": buckets,
        "Report": release.report,
        "KindReport": buckets.report,
        "Losses": release.report.losses,
        "RiskReport": sf.risk(table),
        "Attacks": attacks,
        "Comparison": sf.compare(table, models, anonymizers=["mondrian", "datafly"], values=[2, 5, 70], seed=1),
        "Verification": sf.verify(release),
        "OpenRelease": sf.open_release(release),
        "Figure": sf.open_release(release).mean("age"),
        "Correlation": sf.correlation(table),
        "Hierarchy": told.hierarchy.build(frame[HOSTILE], name="x"),
        "LatticeSearch": sf.search_lattice(
            frame, sf.KAnonymity(5), schema=sf.Schema(quasi_identifying={HOSTILE: told}, others="drop")
        ),
    }


NAMES = [
    "Table",
    "Schema",
    "Policy",
    "Release",
    "BucketRelease",
    "Report",
    "KindReport",
    "Losses",
    "RiskReport",
    "Attacks",
    "Comparison",
    "Verification",
    "OpenRelease",
    "Figure",
    "Correlation",
    "Hierarchy",
    "LatticeSearch",
]


@pytest.mark.parametrize("name", NAMES)
def test_html_is_whole_and_shows_no_value(name: str) -> None:
    html = values()[name]._repr_html_()
    elements = Elements(html)
    assert not elements.open
    assert "script" not in elements.seen
    assert "SECRET" not in html
    assert "654321" not in "".join(elements.words)
    assert len(html) < 25_000


@pytest.mark.parametrize("name", ["Table", "Schema", "Policy", "Release", "Losses", "RiskReport"])
def test_names_are_shown_as_they_are(name: str) -> None:
    assert any(HOSTILE in word for word in Elements(values()[name]._repr_html_()).words)


def cells(html: str) -> list[str]:
    return [unescape(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", html)]


def test_figures_are_those_of_the_report() -> None:
    release = values()["Release"]
    found = cells(release._repr_html_())
    for name, text in release.report.losses.rows(release.report.digits):
        if not name.startswith("  "):
            assert found[found.index(name) + 1] == text
    for name, share in release.report.losses.attribute_ncp.items():
        assert f"{100 * share:.3g}%" == found[-found[::-1].index(name)]  # the purpose has one of the names
    for check in release.report.verification.checks:
        assert found[found.index(check.promise) - 1] == check.outcome
    risk = values()["RiskReport"]
    alike = [cell for cell in cells(risk._repr_html_()) if re.fullmatch(r"[\d,]+ \([\d.]+%\)", cell)]
    total, records = 0, len(risk.keys.class_of)
    for cell in alike:
        total += int(cell.split()[0])
        if total == records:
            break
    assert total == records


def test_a_broken_promise_looks_so() -> None:
    release = values()["Release"]
    broken = replace(release.published, data=release.data.head(7))
    verification = sf.verify(release)
    assert ">verified<" in verification._repr_html_()
    recounted = sf.verify(replace(release, published=broken))
    assert not recounted.ok
    assert ">not verified<" in recounted._repr_html_()
    assert ">broken<" in recounted._repr_html_()


def test_failed_runs_are_told() -> None:
    html = values()["Comparison"]._repr_html_()
    assert "k = 70: " in unescape(html)
    assert "–" in cells(html)
    assert html.count("<polyline") == 2


def test_long_tables_are_cut() -> None:
    many = notebook.notebook_table(("a",), [(str(row),) for row in range(100)]).html
    assert len(cells(many)) == notebook.MOST_ROWS
    assert "and 70 more" in many
    assert notebook.notebook_table(("a",), []).html == ""


def test_a_tree_covers_every_level() -> None:
    html = notebook.tree([(0, 1, 2, 3, 4), (0, 1, 4), (0, 4)]).html
    boxes = [
        (float(y), float(width))
        for width, y in re.findall(r'y="([\d.]+)" width="([\d.]+)"', html)
        for width, y in [(y, width)]
    ]
    assert len(boxes) == 7
    for level, count in zip(sorted({y for y, _ in boxes}), (1, 2, 4), strict=True):
        widths = [width for y, width in boxes if y == level]
        assert len(widths) == count
        assert sum(widths) == pytest.approx(560 - count)


class Shell:
    """As much of IPython's shell as a bar needs."""

    kernel = object()

    def __init__(self) -> None:
        self.hooks: list[Any] = []
        self.events = SimpleNamespace(
            register=lambda name, hook: self.hooks.append(hook), unregister=lambda name, hook: self.hooks.remove(hook)
        )

    def end_of_cell(self) -> None:
        for hook in list(self.hooks):
            hook(None)


def test_a_bar_comes_late_and_goes_with_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    clock = iter([0.0, 0.5, 2.0, 2.1, 3.0, 10.0, 10.2])
    monkeypatch.setattr(notebook.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(notebook.CellBar, "_put", lambda self, html: (drawn.append(html), setattr(self, "_handle", 1)))
    shell = Shell()
    bar = notebook.CellBar(shell)
    for what in ("early", "early", f"half {HOSTILE}", "too soon", "later"):
        bar.show(what, 1, 2)
    assert [("half" in html, "later" in html, "width:50%" in html) for html in drawn] == [
        (True, False, True),
        (False, True, True),
    ]
    assert "<script" not in drawn[0]
    shell.end_of_cell()
    assert drawn[2:] == [""]
    assert shell.hooks == []
    for _ in range(2):
        bar.show("the next cell is quick", 1, 2)
    shell.end_of_cell()
    assert len(drawn) == 3


def test_nothing_is_drawn_outside_of_a_kernel(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setitem(__import__("sys").modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    shown("x", 1, 2)
    assert capsys.readouterr() == ("", "")
