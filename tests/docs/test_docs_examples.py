"""Every example of README and docs runs and prints what the page says.

After a change that is meant to change outputs: ``python tests/docs/pages.py`` writes them down anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

import matrices
import sfumato
from docs.pages import DOCS, PAGES, ROOT, Namespace, agrees, example_folder, examples, run
from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.evaluation.attacks import ATTACKS
from sfumato.hierarchy import HIERARCHY_KINDS
from sfumato.metrics import METRICS
from sfumato.models import MODELS
from sfumato.policy.policy import Policy

EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))

LONG = ("minimality.md", "how-far-from-the-best.md", "mondrian.md")
"""Pages whose examples take long; their links are looked at in every run."""


def _is_long(page: Path) -> bool:
    """Tell whether the examples of a page are left to the long tests, as three quarters of the reference are."""
    name = str(page.relative_to(ROOT))
    return page.name in LONG or ("reference" in page.parts and matrices.USUAL not in matrices.quarters_of(name, {}))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if _is_long(page) else (), id=str(page.relative_to(ROOT)))
        for page in PAGES
    ],
)
def test_examples_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    shared = Namespace()
    differing = []
    text = page.read_text(encoding="utf-8")
    if "import SparkConnectServer" in text:
        pytest.importorskip("pysail", reason="Sail is not installed; pip install pysail pyspark-client")
    if "publish_privately(" in text or "--kind private-marginals --quasi" in text or "private_sample(" in text:
        pytest.importorskip("opendp", reason="OpenDP is not installed; pip install 'sfumato[dp]'")
    with example_folder(tmp_path):
        for example in examples(text):
            printed = run(example, shared)
            if example.expected is not None and not agrees(example.expected, printed):
                differing.append(f"line {example.line} prints\n{printed}")
    assert not differing, "\n".join(differing)


@EVERY_PAGE
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in links if not _leads_somewhere(page, link)] == []


@pytest.mark.parametrize("page", [page for page in PAGES if DOCS in page.parents and page.name != "index.md"])
def test_every_page_is_in_the_index(page: Path) -> None:
    assert f"({page.relative_to(DOCS)})" in (DOCS / "index.md").read_text(encoding="utf-8")


def _leads_somewhere(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (page.parent / name) if name else page
    if not target.exists():
        return False
    return not anchor or anchor in _anchors(target.read_text(encoding="utf-8"))


def _anchors(text: str) -> list[str]:
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


def _page_of(folder: str) -> Callable[[str], str]:
    return lambda name: (DOCS / "reference" / folder / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_its_page(name: str) -> None:
    text = _page_of("models")(name)
    assert MODELS[name].__name__ in text
    names = {field.name: {f"`{field.name}`", f"`{field.name.replace('_', '-')}`"} for field in fields(MODELS[name])}
    assert [option for option, written in names.items() if not any(map(text.__contains__, written))] == []


@pytest.mark.parametrize("name", [*ANONYMIZERS, *PUBLISHERS])
def test_every_anonymizer_has_its_page(name: str) -> None:
    described = {**ANONYMIZERS, **PUBLISHERS}[name]
    text = _section_of(name, "randomization") if getattr(described, "promises", True) is None else _page_of("")(name)
    options = [field.name.replace("_", "-") for field in fields(described)]
    assert [option for option in options if f"`{option}`" not in text] == []


def _section_of(name: str, page: str) -> str:
    """The part of a page whose title ends with a name."""
    sections = re.split(r"^## ", _page_of("")(page), flags=re.MULTILINE)
    (found,) = [section for section in sections if section.splitlines()[0].endswith(f"`{name}`")]
    return found


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_has_its_page(name: str) -> None:
    text = _page_of("attacks")(name)
    assert [field.name for field in fields(ATTACKS[name]) if f"`{field.name}`" not in text] == []


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_on_the_page_of_metrics(name: str) -> None:
    assert f"`{name}`" in _page_of("")("metrics")


@pytest.mark.parametrize("kind", HIERARCHY_KINDS)
def test_every_kind_of_hierarchy_is_shown(kind: str) -> None:
    assert f'kind = "{kind}"' in (DOCS / "how-to/hierarchies.md").read_text(encoding="utf-8")


def test_every_public_name_is_listed() -> None:
    text = _page_of("")("python")
    assert [name for name in sfumato.__all__ if f"`{name}" not in text] == []


def test_every_key_of_a_policy_is_explained() -> None:
    text = (DOCS / "how-to/policy-files.md").read_text(encoding="utf-8")
    schema = Policy.json_schema()
    parts = [schema, *(schema["$defs"][name] for name in ("Source", "Columns", "Column", "Recoding", "TableOutput"))]
    keys = [key for part in parts for key in part["properties"]]
    assert [key for key in keys if f"`{key}`" not in text and f"`[{key}]`" not in text] == []


def test_every_option_of_the_command_line_is_listed() -> None:
    from typer.main import get_command

    from sfumato.cli.app import app

    text = _page_of("")("command-line")
    options = {
        option
        for command in get_command(app).commands.values()  # type: ignore[attr-defined]
        for parameter in command.params
        for option in parameter.opts
        if not getattr(parameter, "hidden", False) and option.startswith("-") and option not in ("--help", "-h")
    }
    assert sorted(option for option in options if f"`{option}`" not in text) == []
