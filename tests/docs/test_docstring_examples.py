"""Examples in docstrings run and print what they say, and calls in running text could be made."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sfumato
from docs.pages import ROOT

SOURCES = sorted((ROOT / "src" / "sfumato").rglob("*.py"))
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
_CALL = re.compile(r"(?<![\w.`])(?:`+)?((?:sf\.)?[A-Za-z]\w*\()")


def _module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if ">>> " in path.read_text(encoding="utf-8")], ids=lambda path: _module_of(path)
)
def test_examples_print_what_they_say(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = doctest.testmod(importlib.import_module(_module_of(path)))
    assert run.attempted > 0
    assert run.failed == 0


def calls(text: str) -> Iterator[ast.Call]:
    """Find calls of public names, with a dot before the name or within backticks."""
    for match in _CALL.finditer(text):
        call = _parsed(text[match.start(1) :])
        marked = match[0].startswith("`") or match[1].startswith("sf.")
        if call and marked and _called(call) in sfumato.__all__:
            yield call


def _parsed(text: str) -> ast.Call | None:
    """Parse up to the parenthesis that ends the call."""
    for end in (match.end() for match in re.finditer(r"\)", text[:2000])):
        try:
            found = ast.parse(text[:end], mode="eval").body
        except SyntaxError:
            continue
        return found if isinstance(found, ast.Call) else None
    return None


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id  # type: ignore[attr-defined]


def fault_of(call: ast.Call) -> str | None:
    """Say what is wrong with a call: an argument that is not taken, or a value that is refused."""
    called = getattr(sfumato, _called(call))
    named = [argument.arg for argument in call.keywords if argument.arg]
    try:
        # No page and no docstring shows keywords of the last version.
        parameters = [one for one in inspect.signature(called).parameters.values() if one.name != "former"]
        inspect.Signature(parameters).bind_partial(*call.args, **dict.fromkeys(named))
        if inspect.isclass(called) and _is_plain(call):
            eval(ast.unparse(call), {"sf": sfumato} | {name: getattr(sfumato, name) for name in sfumato.__all__})
    except (TypeError, ValueError, sfumato.SfumatoError) as error:
        return f"{ast.unparse(call)}: {error}"
    return None


def _is_plain(call: ast.Call) -> bool:
    """Tell whether a call names nothing but public names, so that it can be made as it stands."""
    names = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    written = [node for node in ast.walk(call) if isinstance(node, ast.Constant) and node.value is Ellipsis]
    return not written and names <= {"sf", *sfumato.__all__}


def _docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, _DOCUMENTED):
            yield ast.get_docstring(node) or ""


def test_calls_in_docstrings_could_be_made() -> None:
    found = [(_module_of(path), call) for path in SOURCES for text in _docstrings(path) for call in calls(text)]
    assert len(found) > 20
    assert [f"{module}: {fault}" for module, call in found if (fault := fault_of(call))] == []


@pytest.mark.parametrize(
    "text",
    [
        'as in ``sf.Mondrian(cut="relaxed")``',
        '``{"a": sf.KAnonymity(2, 3)}``',
        "``KAnonymity(0)``",
        'say `EntropyLDiversity(l="three")`',
        "    sf.read_table('patients.csv', scheme=schema)",
    ],
)
def test_calls_that_could_not_be_made_are_found(text: str) -> None:
    assert [fault_of(call) for call in calls(text)] != [None]
    assert len(list(calls(text))) == 1
