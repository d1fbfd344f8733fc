"""Reports and receipts as self-contained HTML pages: no script, no network."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module, resources
from typing import Any

from sfumato.errors import PolicyError
from sfumato.numbers import figure, percent


def render(content: Mapping[str, Any], drawings: Mapping[str, str], page: str = "page.html") -> str:
    """Fill in a page; everything but drawings is escaped.

    Raises
    ------
    PolicyError
        When Jinja is not installed.
    """
    jinja = _jinja()
    environment = jinja.Environment(
        loader=jinja.FunctionLoader(_template),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja.StrictUndefined,
    )
    environment.filters.update(percent=_percent, figure=_figure, count=_count, told=_told)
    safe = {name: import_module("markupsafe").Markup(svg) for name, svg in drawings.items()}
    return str(environment.get_template(page).render(**content, drawings=safe))


def _template(name: str) -> str:
    return resources.files("sfumato.dossier").joinpath(name).read_text(encoding="utf-8")


def _told(value: float | str | None) -> str:
    return value if isinstance(value, str) else _figure(value)


def _percent(share: float | None) -> str:
    return "–" if share is None else percent(share, 3)


def _figure(value: float | None) -> str:
    return "–" if value is None else figure(value, 4)


def _count(number: object) -> str:
    return f"{number:,}" if isinstance(number, int) else "–" if number is None else str(number)


def _jinja() -> Any:
    try:
        return import_module("jinja2")
    except ImportError:
        raise PolicyError(
            "report: Jinja is not installed; install what reports need with: pip install 'sfumato[report]'"
        ) from None
