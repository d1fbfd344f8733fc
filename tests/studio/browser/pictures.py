"""Make the pictures of the tutorial: ``PYTHONPATH=src:tests python -m studio.browser.pictures``.

They show invented people, so that they can be made anew whenever a page changes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from studio.browser.conftest import Server, browser_path
from studio.browser.journeys import give_roles, go, promise_k, run

HERE = Path(__file__).resolve().parents[3]
PICTURES = HERE / "docs" / "tutorials" / "studio"
ROLES = {
    "name": "identifying",
    "age": "quasi-identifying",
    "sex": "quasi-identifying",
    "zip": "quasi-identifying",
    "disease": "sensitive",
    "visit_count": "insensitive",
}


def taken(page: Any, name: str) -> None:
    """Take a picture of what is on the screen."""
    page.wait_for_timeout(500)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=str(PICTURES / f"{name}.png"))


def journey(page: Any) -> None:
    """Publish the tutorial's table, and stop for pictures."""
    go(page, "Columns")
    page.get_by_label("role of age", exact=True).select_option("quasi-identifying")
    page.get_by_label("role of sex", exact=True).select_option("quasi-identifying")
    page.get_by_text("Without this column").wait_for()
    taken(page, "columns")
    give_roles(page, ROLES)
    go(page, "Hierarchies")
    page.get_by_role("link", name="zip").click()
    page.locator("#draft").click()
    page.get_by_role("tree").wait_for()
    taken(page, "hierarchy")
    promise_k(page, 5)
    page.get_by_label("Add a promise").select_option("entropy-l-diversity")
    page.get_by_role("button", name="Add", exact=True).click()
    page.locator("#model-2-l").wait_for()
    taken(page, "promises")
    run(page)
    page.get_by_text("✓ verified").wait_for(timeout=120_000)
    taken(page, "run")
    go(page, "Look")
    page.get_by_label("Row").fill("17")
    page.get_by_role("button", name="Find this person").click()
    page.get_by_text("fits in the release").wait_for()
    taken(page, "look")
    go(page, "Sign")
    page.locator("#make-report").click()
    report = page.frame_locator("iframe")
    report.get_by_text("Every promise holds").wait_for(timeout=240_000)
    taken(page, "sign")


def main() -> None:
    """Make all pictures."""
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        subprocess.run([sys.executable, str(HERE / "docs" / "make_patients.py")], cwd=folder, check=True)
        server = Server([f"{folder}/patients.csv", "--project", f"{folder}/project"], Path(folder)).start()
        made = driver.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        try:
            page = made.new_page(viewport={"width": 1200, "height": 860})
            page.goto(server.address)
            journey(page)
        finally:
            made.close()
            server.stop()


if __name__ == "__main__":
    main()
