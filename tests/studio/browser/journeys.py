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


SHOWS = """([name, role]) => {
  const place = document.querySelector(`select[aria-label='role of ${CSS.escape(name)}']`);
  return place?.value === role;
}"""


def go(page: Any, step: str) -> None:
    """Follow a link of the steps."""
    page.get_by_role("navigation").get_by_role("link", name=step).click()
    page.wait_for_load_state("networkidle")


def give_roles(page: Any, roles: dict[str, str] = ROLES) -> None:
    """Say what each column is."""
    go(page, "Columns")
    for column, role in roles.items():
        choice = page.get_by_label(f"role of {column}", exact=True)
        with page.expect_response(lambda answer: answer.request.method == "POST"):
            choice.select_option(role)
        page.wait_for_function(SHOWS, arg=[column, role])
        page.wait_for_load_state("networkidle")


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
