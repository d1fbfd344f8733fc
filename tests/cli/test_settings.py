"""``--set``: paths, values and where they go; and the page that lists them."""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Mapping

import pytest

from docs.pages import DOCS
from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.cli.options import PATHS
from sfumato.cli.settings import OF_POLICY, Setting, fitting, settings_of, with_settings
from sfumato.policy.policy import Policy

PAGE = runpy.run_path(str(DOCS / "site" / "settings.py"))


def one(text: str) -> Setting:
    problems: list[str] = []
    (found,) = settings_of([text], problems)
    assert problems == []
    return found


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("split_rule=median", ("anonymizer", "split-rule"), "median"),
        ("source.decimal=,", ("source", "decimal"), ","),
        ("source.separator=tab", ("source", "separator"), "\t"),
        ("policy.threads = 2", ("threads",), 2),
        ("suppression_limit=0.2", ("suppression-limit",), 0.2),
        ("refine=3", ("anonymizer", "refine"), 3),
        ("column.age.weight=2.5", ("columns", "", "age", "weight"), 2.5),
        ('column."a.b=c".unit=€', ("columns", "", "a.b=c", "unit"), "€"),
        ("column.date of birth.dates=dd.mm.yyyy", ("columns", "", "date of birth", "dates"), "dd.mm.yyyy"),
        ("models[1].k=4", ("models", 1, "k"), 4),
        ("source.header=false", ("source", "header"), False),
        ("a.b=x=y", ("a", "b"), "x=y"),
    ],
)
def test_a_path_and_a_value_are_read(text: str, path: tuple[str | int, ...], value: object) -> None:
    assert (one(text).path, one(text).value) == (path, value)


@pytest.mark.parametrize("names", [ANONYMIZERS, PUBLISHERS])
def test_no_anonymizer_has_an_option_of_the_policys_own_name(names: Mapping[str, type]) -> None:
    options = {each.replace("_", "-") for name in names for each in inspect.signature(names[name]).parameters}
    assert options.isdisjoint(OF_POLICY)


@pytest.mark.parametrize("text", ["source.decimal", "=x", ".a=1", "a..b=1", "a[x]=1", 'a."b=1'])
def test_what_is_no_path_is_said(text: str) -> None:
    problems: list[str] = []
    assert settings_of([text], problems) == []
    assert problems == ["--set: write settings as path=value, e.g. source.separator=;"]


def test_settings_go_to_their_places_and_change_nothing_else() -> None:
    given = {
        "models": [{"name": "k-anonymity", "k": 3}],
        "columns": {"sensitive": ["ill"]},
        "source": {"encoding": "x"},
    }
    problems: list[str] = []
    texts = [
        "models[0].k=5",
        "column.ill.weight=2",
        "source.decimal=,",
        "column.no.weight=2",
        "models[3].k=1",
        "models.k=2",
    ]
    found, names = with_settings(given, settings_of(texts, problems), problems)
    assert found["models"] == [{"name": "k-anonymity", "k": 5}]
    assert found["columns"] == {"sensitive": {"ill": {"weight": 2}}}
    assert found["source"] == {"encoding": "x", "decimal": ","}
    assert given["models"] == [{"name": "k-anonymity", "k": 3}]
    assert names[("models", 0, "k")] == "--set models[0].k"
    assert problems == [
        "--set column.no.weight: 'no' is not a quasi-identifying or sensitive column; give it a role",
        "--set models[3].k: stands below what is no table or list, or has fewer entries",
        "--set models.k: stands below what is no table or list, or has fewer entries",
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("columns.publish=zip,phone", ["zip", "phone"]),
        ("source.sheet=2024", "2024"),
        ("source.codes=1,2", ["1", "2"]),
        ("source.dates=dd.mm.yyyy", "dd.mm.yyyy"),
        ("policy.threads=2", 2),
        ("policy.suppression-limit=1", 1),
        ("column.age.weight=2", 2),
        ("strata=town", ["town"]),
        ('column.age.domain=["a"]', ["a"]),
    ],
)
def test_text_and_lists_of_names_need_no_quotes(text: str, value: object) -> None:
    assert fitting(Policy, {"anonymizer": {"name": "mdav"}}, one(text)).value == value


def test_the_page_of_settings_is_made_from_the_schema_of_policies() -> None:
    assert (DOCS / "reference" / "settings.md").read_text(encoding="utf-8") == PAGE["page"]()


def test_tables_of_options_are_made_from_docstrings() -> None:
    pages = dict(PAGE["pages"]())
    assert len(pages) >= 45
    differing = [path.name for path, text in pages.items() if path.read_text(encoding="utf-8") != text]
    assert differing == [], "run: python docs/site/settings.py"


def test_help_lists_every_path() -> None:
    listed = [f"{group}.{key}" for group, keys in PATHS.items() for key in keys.split(", ")]
    assert sorted(listed) == sorted(PAGE["paths"](Policy.json_schema()))
