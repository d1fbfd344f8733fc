"""What a steward does on the pages, step by step."""

from __future__ import annotations

from typing import Any

ROLES = {
    "name": "identifying",
    "age": "quasi-identifying",
    "sex": "quasi-identifying",
    "zip": "quasi-identifying",
    "ward": "insensitive",
    "sick": "sensitive",
}


def go(page: Any, step: str) -> None:
    """Follow a link of the steps."""
    page.get_by_role("navigation").get_by_role("link", name=step).click()
    page.wait_for_load_state("networkidle")


def give_roles(page: Any, roles: dict[str, str] = ROLES) -> None:
    """Say what each column is."""
    go(page, "Columns")
    # As fast as somebody can who knows the keyboard: no change may be lost.
    for column, role in roles.items():
        page.get_by_label(f"role of {column}", exact=True).select_option(role)
    page.get_by_text("every column has a role").wait_for()
    if "zip" in roles:
        code = page.get_by_role("button", name="treat it as a category")
        code.click()
        code.wait_for(state="detached")


def promise_k(page: Any, k: int) -> None:
    """Promise k-anonymity."""
    go(page, "Promises")
    page.get_by_label("Add a promise").select_option("k-anonymity")
    page.get_by_role("button", name="Add", exact=True).click()
    number = page.locator("#model-1-k")
    number.wait_for()
    number.fill(str(k))
    page.locator("#model-1-save").click()
    page.get_by_text(f"looks like at least {k} people").wait_for()


def run(page: Any) -> None:
    """Start a run; it ends on its own page."""
    go(page, "Run")
    page.locator("#run").click()
