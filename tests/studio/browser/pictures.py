"""Make the pictures of the tutorial: ``PYTHONPATH=src:tests python -m studio.browser.pictures``.

They show invented people, so that they can be made anew whenever a page changes. With ``arx`` behind it, those of the
page that names ARX's views.
"""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

from studio.browser.conftest import Server, browser_path
from studio.browser.journeys import give_roles, go, promise_k, run

HERE = Path(__file__).resolve().parents[3]
PICTURES = HERE / "docs" / "tutorials" / "studio"
VIEWS = HERE / "docs" / "reference" / "arx-views"
MINUTES = 240_000
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
    report.get_by_role("heading", name="Report on a release").wait_for(timeout=240_000)
    taken(page, "sign")


def cut(place: Any, name: str) -> None:
    """Keep a picture of a part of a page, as small as it can be read."""
    place.page.wait_for_timeout(400)
    picture = Image.open(BytesIO(place.screenshot()))
    tall = min(picture.height, picture.width * 4 // 3)
    picture.crop((0, 0, picture.width, tall)).save(VIEWS / f"{name}.webp", quality=55, method=6)


def views(page: Any) -> None:
    """Show in the studio what each view of ARX shows."""
    root = page.url.rstrip("/")

    def at(path: str) -> None:
        page.goto(root + path)
        page.wait_for_load_state("networkidle")

    at("/layout")
    cut(page.locator("main"), "import")
    give_roles(page, {**ROLES, "visit_count": "quasi-identifying"})
    at("/columns")
    page.get_by_text("Without this column").wait_for()
    cut(page.get_by_role("complementary", name="Class sizes"), "quasi-identifiers")
    at("/hierarchies?column=2")
    page.locator("#steps").fill("10, 20, 40")
    page.locator("#trial table").wait_for()
    cut(page.locator("main"), "hierarchy-wizard")
    page.locator("#use-rule").click()
    page.get_by_role("tree").wait_for()
    at("/hierarchies?column=4")
    page.locator("#draft").click()
    page.get_by_role("tree").wait_for()
    promise_k(page, 5)
    run(page)
    page.get_by_text("✓ verified").wait_for(timeout=MINUTES)
    at("/look?by=class")
    cut(page.locator("main > .halves").first, "input-and-output")
    page.get_by_text("Show them, before and after").click()
    page.get_by_text("Three attackers").wait_for()
    shown = page.locator("[data-later], #classes-more")
    cut(shown.get_by_role("heading", name="Class sizes").locator(".."), "class-sizes")
    cut(shown.get_by_role("table", name="Records whose risk"), "risk-distribution")
    cut(shown.get_by_role("table", name="Three attackers"), "re-identification-risk")
    page.locator("#estimate").click()
    page.get_by_text("An estimate promises nothing").wait_for()
    cut(page.locator("section", has=page.locator("#population")), "population-risk")
    page.locator("#one").select_option("age")
    page.locator("form[data-into=seen] button").click()
    page.get_by_text("standard deviation").wait_for()
    for name in ("sex", "disease"):
        page.locator(f'#regressed ~ form input[value="{name}"]').check()
    page.locator("#regress").click()
    page.get_by_text("least squares").wait_for(timeout=MINUTES)
    cut(page.locator("section", has=page.locator("#seen")), "utility-statistics")
    cut(page.locator("section", has=page.locator("#regression")), "regression")
    page.locator("#one").select_option("sex")
    page.locator("#two").select_option("disease")
    page.locator("form[data-into=seen] button").click()
    page.locator(".cross").wait_for()
    cut(page.locator("section", has=page.locator("#seen")), "contingency")
    at("/compare")
    page.locator("#lattice").click()
    page.locator("#walk").wait_for(timeout=MINUTES)
    page.locator(".lattice .chosen").click()
    page.locator("#node table").wait_for()
    cut(page.locator("section", has=page.locator("#node")), "explore")


def main() -> None:
    """Make all pictures."""
    from playwright.sync_api import sync_playwright

    journeys = {"tutorial": journey, "arx": views}
    way = journeys[(sys.argv[1:] or ["tutorial"])[0]]
    for folder_of in (PICTURES, VIEWS):
        folder_of.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        subprocess.run([sys.executable, str(HERE / "docs" / "make_patients.py")], cwd=folder, check=True)
        server = Server([f"{folder}/patients.csv", "--project", f"{folder}/project"], Path(folder)).start()
        made = driver.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        try:
            page = made.new_page(viewport={"width": 1200 if way is journey else 1000, "height": 860})
            page.set_default_timeout(MINUTES)
            page.goto(server.address)
            way(page)
        finally:
            made.close()
            server.stop()


if __name__ == "__main__":
    main()
