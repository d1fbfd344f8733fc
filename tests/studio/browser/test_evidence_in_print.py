"""The evidence in print: nothing lies beyond the edge of the paper."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf

pytestmark = pytest.mark.browser

WIDTH = 673
"""Pixels of a line on A4 between its margins; a line on Letter is longer."""


@pytest.fixture(scope="module")
def report() -> sf.ReleaseReport:
    """Report on a release with long names, which a table of many columns has to fit in."""
    stated = {"owner": "The data office of the institute", "source": "the contract of 2026"}
    described = {
        "columns": {
            "quasi-identifying": ["years_since_the_first_visit", "place_of_the_last_visit"],
            "sensitive": ["illness_by_international_code"],
            "insensitive": ["number_of_medicines_taken"],
        },
        "models": [{"name": "k-anonymity", "k": 5}],
        "anonymizer": {"name": "mondrian"},
        "context": {
            "recipient": "the institute",
            "purpose": "a study of coughs",
            "other-data": "a register",
            "controls": dict.fromkeys(("access", "contract", "training", "audit"), "none"),
            **{way: {"probability": 0.1, **stated} for way in ("attempt", "recognition", "breach")},
        },
    }
    rows = [(i % 47, f"place{i % 7}", "abcde"[i * i % 5], i % 11) for i in range(300)]
    names = [*described["columns"]["quasi-identifying"], "illness_by_international_code", "number_of_medicines_taken"]
    policy = sf.Policy.from_mapping(described)
    table = sf.read_table(pl.DataFrame(rows, schema=names, orient="row"), policy)
    return sf.report(sf.anonymize(table, policy, seed=1), table, policy=policy, seed=1)


@pytest.mark.parametrize("made", [sf.ReleaseReport.html, sf.ReleaseReport.short_html])
def test_nothing_lies_beyond_the_edge(browser, report, made):
    page = browser.new_page(viewport={"width": WIDTH, "height": 1000})
    page.emulate_media(media="print")
    page.set_content(made(report))
    found = page.evaluate(
        "width => [...document.querySelectorAll('table, svg, pre, p, li')]"
        ".filter(one => one.getBoundingClientRect().right > width + 0.5 || one.scrollWidth > one.clientWidth + 1)"
        ".map(one => one.tagName + ' ' + one.textContent.trim().slice(0, 60))",
        WIDTH,
    )
    hidden = page.evaluate("[...document.querySelectorAll('.scroll')].map(one => getComputedStyle(one).overflowX)")
    page.close()
    assert found == []
    assert {*hidden} == {"visible"}
