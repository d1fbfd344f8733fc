"""The studio in a browser: whole journeys, and what must hold on every page."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from studio.browser.journeys import ROLES, give_roles, go, promise_k, run
from studio.desks import people

pytestmark = pytest.mark.browser

PAGES = [
    "/",
    "/columns",
    "/hierarchies?column=4",
    "/promises",
    "/runs",
    "/look",
    "/compare",
    "/attack",
    "/sign",
    "/sign/recipient",
    "/history",
]
MINUTE = 60_000


def test_a_steward_publishes_for_the_first_time(serve, watched, table, tmp_path):
    server = serve(str(table), "--project", str(tmp_path / "project"))
    page = watched(server).page
    assert "token" not in page.url
    page.get_by_role("link", name="Go on: say what the columns are").click()
    alone = page.get_by_role("complementary", name="Class sizes")
    assert "Call the columns quasi-identifying" in alone.inner_text()
    give_roles(page)
    table_read = sf.read_table(
        table,
        sf.Schema(quasi_identifying={"age": None, "sex": None, "zip": sf.Attribute(kind="categorical")}, others="drop"),
    )
    uniques = sf.risk(table_read).sample_uniques
    alone.get_by_text(f"{uniques} of 200 records are alone").wait_for()
    page.get_by_text("Without this column").wait_for()
    go(page, "Hierarchies")
    page.get_by_role("link", name="zip").click()
    page.locator("#draft").click()
    page.get_by_role("tree").wait_for()
    promise_k(page, 4)
    run(page)
    page.get_by_text("✓ verified").wait_for(timeout=MINUTE)
    page.get_by_role("link", name="Look", exact=True).last.click()
    page.get_by_label("Row").fill("17")
    page.get_by_role("button", name="Find this person").click()
    page.get_by_text("fits in the release").wait_for()
    go(page, "Sign")
    page.locator("#make-report").click()
    report = page.frame_locator("iframe")
    report.get_by_role("heading", name="Report on a release").wait_for(timeout=2 * MINUTE)
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_label("New folder beside the table").fill("given")
    page.get_by_role("button", name="Copy the release there").click()
    page.get_by_text("The release is in").wait_for()
    assert sf.verify(tmp_path / "given").ok
    page.locator("#quit").click()
    page.get_by_text("The studio has stopped").wait_for()
    server.process.wait(10)


def test_what_is_stated_of_a_recipient_is_in_the_report(serve, watched, table, tmp_path):
    page = watched(serve(str(table), "--project", str(tmp_path / "project"))).page
    give_roles(page)
    promise_k(page, 4)
    run(page)
    page.get_by_text("✓ verified").wait_for(timeout=MINUTE)
    go(page, "Sign")
    page.get_by_role("link", name="Say for whom it is made").click()
    page.get_by_label("Who gets the release", exact=True).fill("the institute")
    page.get_by_label("What for", exact=True).fill("a study of coughs")
    page.get_by_label("What else they may hold").fill("a register of voters")
    page.get_by_label("Everybody may have it").check()
    page.locator("#state").click()
    page.get_by_text("For the institute, a study of coughs.").wait_for()
    page.locator("#make-report").click()
    report = page.frame_locator("iframe")
    report.get_by_text("For the institute, the risk exceeds 9%").first.wait_for(timeout=2 * MINUTE)


def test_what_cannot_be_met_is_relaxed_by_a_button(serve, watched, table, tmp_path):
    page = watched(serve(str(table), "--project", str(tmp_path / "project"))).page
    give_roles(page)
    promise_k(page, 300)
    page.get_by_text("there are only 200 record(s)").wait_for()
    # Whether leaving records out mends it is known only afterwards.
    page.locator("#suppress").fill("1")
    page.locator("form", has=page.locator("#suppress")).get_by_role("button", name="Save").click()
    page.get_by_text("there are only 200 record(s)").wait_for(state="detached")
    run(page)
    page.get_by_text("✕ not made").wait_for(timeout=MINUTE)
    page.locator("#try").click()
    page.get_by_text("would hold").first.wait_for(timeout=MINUTE)
    page.locator("tr", has_text="k-anonymity with k = 100").get_by_role("button", name="Take it").click()
    page.get_by_text("The setup is now: k-anonymity with k = 100.").wait_for()
    from playwright.sync_api import expect

    expect(page.locator("[data-events]")).to_have_count(0, timeout=MINUTE)
    page.locator("#run").click()
    page.get_by_text("✓ verified").wait_for(timeout=MINUTE)


def test_a_choice_of_levels_is_published_by_a_button_or_refused(serve, watched, table, tmp_path):
    one = watched(serve(str(table), "--project", str(tmp_path / "project")))
    page = one.page
    give_roles(page)
    promise_k(page, 2)
    go(page, "Compare")
    page.locator("#lattice").click()
    page.locator("svg.lattice .minimal").first.wait_for(timeout=60_000)
    page.locator("svg.lattice rect").click()
    page.get_by_role("button", name="Publish these levels").wait_for()
    assert one.axe() == []
    page.locator("#publish-levels").click()
    page.wait_for_url("**/runs")
    page.get_by_text("#2 ✓ verified").wait_for(timeout=60_000)
    go(page, "Compare")
    page.locator("#show-node").click()
    page.get_by_text("breaks them").first.wait_for()
    page.locator("#publish-levels").click()
    page.get_by_text("do not hold on the given levels").wait_for(timeout=60_000)
    assert one.axe() == []


def test_a_recipient_recounts(serve, watched, table, tmp_path):
    schema = sf.Schema(quasi_identifying=["age", "sex"], sensitive=["sick"], others="drop")
    sf.anonymize(sf.read_table(table, schema), sf.KAnonymity(3)).save(tmp_path / "release")
    one = watched(serve("--verify", str(tmp_path / "release")))
    one.page.get_by_text("✓ It does").wait_for(timeout=MINUTE)
    assert one.page.get_by_role("region", name="The release, data").get_by_role("row").count() > 10
    assert one.axe() == []


def test_a_run_is_cancelled_and_the_server_killed(serve, watched, tmp_path):
    large = people(tmp_path / "large.csv", rows=30_000)
    words = (str(large), "--project", str(tmp_path / "project"))
    server = serve(*words)
    page = watched(server).page
    give_roles(page)
    promise_k(page, 5)
    page.locator("#method").select_option("k-member")
    page.get_by_role("heading", name="How it is made").wait_for()
    page.wait_for_load_state("networkidle")
    run(page)
    page.locator("[data-what]").get_by_text("reading").or_(page.locator("[data-what]")).first.wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("✕ cancelled").wait_for()
    page.locator("#run").click()
    page.get_by_role("button", name="Cancel").wait_for()
    page.goto("about:blank")
    server.kill()
    back = watched(serve(*words)).page
    go(back, "Run")
    back.get_by_text("✕ interrupted").wait_for()
    back.get_by_text("✕ cancelled").wait_for()
    assert not list(Path(tmp_path / "project").rglob("*.part"))
    go(back, "Columns")
    assert back.get_by_label("role of sick", exact=True).input_value() == "sensitive"


def test_a_killed_server_is_said_and_the_page_goes_on(serve, watched, table, tmp_path):
    words = (str(table), "--project", str(tmp_path / "project"))
    server = serve(*words)
    one = watched(server)
    page = one.page
    go(page, "Columns")
    second = watched(server, context=page.context, path="/columns").page
    second.get_by_label("role of age", exact=True).select_option("quasi-identifying")
    page.get_by_text("changed in another tab").wait_for(timeout=3_000)
    page.get_by_role("button", name="Show what stands").click()
    page.get_by_text("5 undecided").wait_for()
    second.close()
    server.kill()
    page.locator("#link").get_by_text("does not answer").wait_for(timeout=3_000)
    assert one.axe() == []
    assert serve(*words).root == server.root
    page.get_by_text("answers again").wait_for(timeout=10_000)
    page.get_by_label("role of sex", exact=True).select_option("sensitive")
    page.get_by_text("4 undecided").wait_for()
    # The browser itself notes that nobody answered.
    one.lines = [line for line in one.lines if "ERR_CONNECTION_REFUSED" not in line]


def test_a_page_that_is_let_in_no_more_says_so_and_stops_asking(serve, watched, table, tmp_path):
    one = watched(serve(str(table), "--project", str(tmp_path / "project")))
    page, asked = one.page, []
    page.on("request", lambda request: asked.append(request.url))
    go(page, "Columns")
    cookies = page.context.cookies()
    page.context.clear_cookies()
    page.locator("#link").get_by_text("This page waits until you come back").wait_for(timeout=3_000)
    many = len(asked)
    page.wait_for_timeout(4_000)
    assert len(asked) == many
    assert one.axe() == []
    page.context.add_cookies(cookies)
    page.evaluate("dispatchEvent(new Event('focus'))")
    page.get_by_text("answers again").wait_for(timeout=3_000)
    page.get_by_label("role of sex", exact=True).select_option("sensitive")
    page.get_by_text("5 undecided").wait_for()
    # The browser itself notes the one refusal.
    one.lines = [line for line in one.lines if "401" not in line]


def test_a_file_is_chosen_on_the_start_page_and_opened(serve, watched, table, tmp_path):
    for width, scheme in ((1400, "light"), (390, "dark")):
        one = watched(serve(), width=width, scheme=scheme)
        page = one.page
        page.get_by_role("heading", name="Drop a file here").wait_for()
        assert one.axe() == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if width == 390:
            page.locator("#file").set_input_files(table)
        else:
            content = table.read_text(encoding="utf-8")
            code = "text => { const d = new DataTransfer(); d.items.add(new File([text], 'dropped.csv')); return d; }"
            dropped = page.evaluate_handle(code, content)
            page.dispatch_event("#drop", "drop", {"dataTransfer": dropped})
        page.locator("#file-size").get_by_text("kB").wait_for()
        page.locator("#take").click()
        page.get_by_role("region", name="The original table").get_by_text("Person0003").wait_for()
        page.locator("#quit").click()
        page.get_by_text("The studio has stopped").wait_for()
    page = watched(serve()).page
    page.locator("#open-here").click()
    page.get_by_role("region", name="The original table").get_by_text("Person0003").wait_for()
    assert (tmp_path / "people-project" / "studio.toml").is_file()
    page = watched(serve()).page
    page.get_by_text("people-project").wait_for()
    page.locator("#forget").click()
    page.get_by_text("None yet.").wait_for()


def test_a_sheet_of_a_workbook_is_chosen_by_a_button(serve, watched, tmp_path):
    from openpyxl import Workbook

    book = Workbook()
    for sheet in (book.active, book.create_sheet("of 2025")):
        for row in [["age", "sick"], *([20 + number, "flu"] for number in range(30))]:
            sheet.append(row)
    book.save(tmp_path / "book.xlsx")
    for way in ("drop", "here"):
        one = watched(serve())
        page = one.page
        if way == "drop":
            page.locator("#file").set_input_files(tmp_path / "book.xlsx")
        page.locator("#take" if way == "drop" else "#open-here").click()
        page.get_by_text("2 sheets with values").wait_for()
        assert one.axe() == []
        page.get_by_role("button", name="of 2025").click()
        page.get_by_text("30 records").first.wait_for()
        # The browser itself notes the refusal.
        one.lines = [line for line in one.lines if "422" not in line]


def test_many_columns_are_searched_chosen_and_undone_by_keyboard(serve, watched, tmp_path):
    names = ["age", "sick", *(f"lab_{number}" for number in range(20))]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(names), *(",".join([str(row % 9)] * 22) for row in range(40))]) + "\n")
    one = watched(serve(str(path), "--project", str(tmp_path / "project")))
    page = one.page
    go(page, "Columns")
    page.locator("#find").fill("lab_1")
    page.get_by_text("11 of 22 shown").wait_for()
    page.locator("#pick-all").check()
    page.locator("#bulk-role").select_option("insensitive")
    page.locator("#bulk-chosen").click()
    page.get_by_text("insensitive: 11 columns.").wait_for()
    assert page.locator("#find").input_value() == "lab_1"
    page.locator("#find").fill("")
    # What was chosen outlives another change.
    page.get_by_label("choose age").check()
    page.get_by_label("role of sick", exact=True).select_option("sensitive")
    page.get_by_text("10 undecided").wait_for()
    assert page.get_by_label("choose age").is_checked()
    page.locator("#bulk-role").select_option("quasi-identifying")
    page.locator("#bulk-chosen").click()
    page.get_by_text("quasi-identifying: 1 column.").wait_for()
    page.locator("#bulk-others").click()
    page.get_by_text("every column has a role").wait_for()
    assert one.axe() == []
    page.locator("#bulk-role").focus()
    page.keyboard.press("Control+z")
    page.get_by_text("9 undecided").wait_for()
    page.keyboard.press("Control+y")
    page.get_by_text("every column has a role").wait_for()


def test_names_of_any_length_stay_within_the_page(serve, watched, tmp_path):
    names = [
        "age",
        "a" * 80,
        "Average_cost_of_treatment_in_each_quarter_of_the_year",
        "name of the physician in charge",
    ]
    path = tmp_path / "long.csv"
    rows = (f"{20 + row % 9},{'b' * 50}{row % 3},{row % 7},{'flu' if row % 2 else 'cold'}" for row in range(60))
    path.write_text("\n".join([",".join(names), *rows]) + "\n", encoding="utf-8")
    server = serve(str(path), "--project", str(tmp_path / "project"))
    page = watched(server, width=390).page
    give_roles(page, dict(zip(names, ["quasi-identifying"] * 3 + ["sensitive"], strict=True)))
    promise_k(page, 3)
    run(page)
    page.get_by_text("✓ verified").wait_for(timeout=MINUTE)
    for path in PAGES:
        page.goto(server.root + path.replace("4", "2"))
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_two_tabs_lose_nothing(serve, watched, table, tmp_path):
    server = serve(str(table), "--project", str(tmp_path / "project"))
    first = watched(server).page
    go(first, "Columns")
    second = watched(server, context=first.context, path="/columns").page
    first.get_by_label("role of age", exact=True).select_option("quasi-identifying")
    first.wait_for_load_state("networkidle")
    second.get_by_label("role of sex", exact=True).select_option("sensitive")
    second.get_by_text("began a branch").wait_for()
    second.goto(server.root + "/history")
    assert second.get_by_role("listitem").get_by_text("age: quasi-identifying").count() == 1
    assert second.get_by_role("listitem").get_by_text("sex: sensitive").count() == 1


def test_everything_by_keyboard(serve, watched, table, tmp_path):
    page = watched(serve(str(table), "--project", str(tmp_path / "project"))).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    grid = page.get_by_role("region", name="The original table")
    grid.focus()
    page.keyboard.press("Control+End")
    grid.get_by_text("Person0199").wait_for()
    page.keyboard.press("Control+Home")
    grid.get_by_text("Person0000").wait_for()
    go(page, "Columns")
    for column, role in ROLES.items():
        choice = page.get_by_label(f"role of {column}", exact=True)
        choice.focus()
        with page.expect_response(lambda answer: answer.request.method == "GET" and "/columns" in answer.url):
            page.keyboard.type(role[:5])
        page.locator("main:not([aria-busy])").wait_for()
        # The focus stays on what was changed.
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == f"role of {column}"
        assert choice.input_value() == role
    page.goto(page.url.replace("/columns", "/hierarchies?column=2"))
    page.locator("#draft").focus()
    page.keyboard.press("Enter")
    tree = page.get_by_role("tree")
    tree.wait_for()
    page.locator('[role="treeitem"]').first.focus()
    for key in ("ArrowDown", "ArrowDown", " "):
        page.keyboard.press(key)
    assert page.locator("#chosen").inner_text() != "nothing"
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.getAttribute('aria-level')") == "1"


def test_a_hostile_table_is_text(serve, watched, tmp_path):
    script = "<script>document.title='owned'</script>"
    rows = [f'"{script}{row % 3}","<img src=x onerror=alert({row})>",{row % 5}' for row in range(40)]
    path = tmp_path / "hostile.csv"
    path.write_text("\n".join(['"<b onclick=alert(1)>a</b>",b,c', *rows]) + "\n", encoding="utf-8")
    server = serve(str(path), "--project", str(tmp_path / "project"))
    one = watched(server)
    page = one.page
    page.get_by_text(f"{script}0").first.wait_for()
    go(page, "Columns")
    for place in (1, 2, 3):
        page.locator(f"#role-{place}").select_option("quasi-identifying")
    page.get_by_text("every column has a role").wait_for()
    for column in (1, 2):
        page.goto(f"{server.root}/hierarchies?column={column}")
        page.locator("#draft").click()
        page.get_by_role("tree").wait_for()
    promise_k(page, 2)
    run(page)
    page.get_by_text("✓ verified").wait_for(timeout=MINUTE)
    go(page, "Look")
    page.get_by_role("button", name="Find this person").click()
    page.get_by_text("fits in the release").wait_for()
    assert "owned" not in page.title()
    assert page.locator("main script, main img").count() == 0


def test_axe_and_widths_on_every_page(serve, watched, table, tmp_path):
    server = serve(str(table), "--project", str(tmp_path / "project"))
    first = watched(server)
    page = first.page
    give_roles(page)
    page.wait_for_load_state("networkidle")
    page.goto(f"{server.root}/hierarchies?column=4")
    page.locator("#draft").click()
    page.get_by_role("tree").wait_for()
    promise_k(page, 4)
    page.locator("#dial").focus()
    page.keyboard.press("ArrowRight")
    page.locator("#dial-said").get_by_text("k = 5: loss").wait_for(timeout=MINUTE)
    page.locator("#dial-take").click()
    page.get_by_text("looks like at least 5 people").wait_for()
    run(page)
    page.get_by_text("✓ verified").wait_for(timeout=MINUTE)
    go(page, "Compare")
    page.locator("#compare").click()
    page.locator("#lattice").click()
    page.get_by_text("choices of levels of age, sex, zip").wait_for(timeout=2 * MINUTE)
    page.get_by_role("button", name="make it the setup: mdav with k = 20").wait_for()
    go(page, "Attack")
    page.locator("#attack").click()
    page.get_by_role("region", name="attack on release 2: results").wait_for(timeout=4 * MINUTE)
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width in (1400, 900, 390) if scheme == "light" else (1400, 390):
            page.set_viewport_size({"width": width, "height": 900})
            for path in PAGES:
                page.goto(server.root + path)
                page.wait_for_load_state("networkidle")
                if path == "/look":
                    page.get_by_text("Show them, before and after").click()
                    page.get_by_text("Three attackers").wait_for()
                    page.locator("#two").select_option("sick" if width == 900 else "")
                    page.locator("form[data-into=seen] button").click()
                    page.locator("#seen table").first.wait_for()
                    page.locator("#estimate").click()
                    page.get_by_text("An estimate promises nothing").wait_for()
                    page.locator('input[name="on"][value="sex"]').check()
                    page.locator("#regress").click()
                    page.get_by_text("least squares").wait_for()
                if path == "/compare":
                    page.locator("#show-node").click()
                    page.locator("#node table").wait_for()
                if path.startswith("/hierarchies"):
                    page.locator("#kind").select_option("prefixes")
                    page.locator("#steps").fill("3, 2")
                    page.locator("#trial table").wait_for()
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, (path, width, wide)
                # Between wide and narrow the widths alone differ.
                found += [f"{path} {scheme} {width}: {line}" for line in (first.axe() if width != 900 else ())]
    assert found == []


def test_a_file_that_breaks_is_looked_at_and_opened(serve, watched, tmp_path):
    path = tmp_path / "parted.csv"
    # Commas part all rows but the last one, bars part all of them.
    rows = [*(f"Name{row}, M., jr.|{row % 7}|flu" for row in range(49)), "Name49, M.|3|flu"]
    path.write_text("\n".join(["name, first, more|age|sick", *rows]) + "\n", encoding="utf-8")
    one = watched(serve(str(path), "--project", str(tmp_path / "project")))
    page = one.page
    page.get_by_role("heading", name="The row that breaks").wait_for()
    assert one.axe() == []
    page.get_by_role("link", name="Look at it like this").click()
    page.get_by_role("cell", name="Name0, M., jr.").wait_for()
    assert one.axe() == []
    page.locator("#read-so").click()
    page.get_by_role("region", name="The original table").get_by_text("Name3, M., jr.").wait_for()
    give_roles(page, {"name, first, more": "identifying", "age": "quasi-identifying", "sick": "sensitive"})
    page.goto(page.url.replace("/columns", "/"))
    page.get_by_role("link", name="The rows look wrong?").click()
    page.get_by_role("heading", name="How the table is read").wait_for()
    assert one.axe() == []


@pytest.mark.slow
def test_the_grid_reaches_the_last_of_ten_million_rows(serve, watched, tmp_path):
    import polars as pl

    rows = 10_000_000
    number = pl.int_range(rows, dtype=pl.Int32, eager=True)
    pl.DataFrame({"number": number, "age": number % 90, "sex": (number % 2).cast(pl.Boolean)}).write_parquet(
        tmp_path / "large.parquet"
    )
    one = watched(serve(str(tmp_path / "large.parquet"), "--project", str(tmp_path / "project")))
    grid = one.page.get_by_role("region", name="The original table")
    grid.get_by_role("rowheader", name="1", exact=True).wait_for(timeout=MINUTE)
    grid.focus()
    one.page.keyboard.press("Control+End")
    grid.get_by_role("rowheader", name="10,000,000").wait_for()
    grid.get_by_text("9999999", exact=True).wait_for()
    one.page.locator("#row").fill("5000001")
    one.page.get_by_role("button", name="Go", exact=True).click()
    grid.get_by_text("5000000", exact=True).wait_for()
    assert grid.get_by_role("row").count() < 100


def test_states_are_compared_and_the_release_of_last_time_is_played(serve, watched, table, tmp_path):
    server = serve(str(table), "--project", str(tmp_path / "project"))
    one = watched(server)
    page = one.page
    give_roles(page)
    promise_k(page, 4)
    run(page)
    page.get_by_text("✓ verified").wait_for(timeout=MINUTE)
    page.goto(server.root + "/sign")
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_label("New folder beside the table").fill("spring")
    page.get_by_role("button", name="Copy the release there").click()
    page.get_by_text("The release is in").wait_for()
    assert "sfumato verify spring" in (tmp_path / "spring-receipt.html").read_text(encoding="utf-8")
    page.locator("#say-earlier").click()
    page.get_by_text("Its policy fits the table as it is now.").wait_for()
    assert page.get_by_role("button", name="Copy the release there").is_disabled()
    assert one.axe() == []
    page.locator("#play-beside").click()
    page.get_by_text("attacked beside spring").wait_for(timeout=2 * MINUTE)
    assert page.get_by_role("button", name="Copy the release there").is_enabled()
    go(page, "Columns")
    page.goto(server.root + "/history")
    page.locator("#from").select_option("2")
    page.get_by_role("button", name="Say what changed").click()
    page.locator("section[aria-labelledby=changed]").get_by_text("promises: k-anonymity (k 4)").wait_for()
    assert one.axe() == []
    # As the recipient opens it; the studio shows it without any rights, so that nothing can look at it there.
    page.goto("about:blank")
    page.set_content((tmp_path / "spring-receipt.html").read_text(encoding="utf-8"))
    page.get_by_role("heading", name="Receipt for a release").wait_for()
    assert one.axe() == []


def test_a_file_on_the_disk_opens_the_studio_as_the_address_does(serve, browser, watched, table, tmp_path):
    from sfumato.studio.serve import REDIRECT

    server = serve(str(table), "--project", str(tmp_path / "project"))
    file = tmp_path / "open.html"
    file.write_text(REDIRECT.format(server.address), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_url(f"{server.root}/")
    page.get_by_role("link", name="Go on: say what the columns are").wait_for()
    # The cookie goes along with whatever is asked next, in another tab, too.
    again = watched(server, context=context).page
    again.get_by_role("link", name="Go on: say what the columns are").wait_for()
    context.close()


def test_the_language_is_switched_and_stays(serve, watched, table, tmp_path):
    words = (str(table), "--project", str(tmp_path / "project"))
    server = serve(*words)
    one = watched(server, width=390)
    page = one.page
    go(page, "Columns")
    page.get_by_label("Language").select_option("de")
    page.get_by_role("heading", name="Spalten").wait_for()
    assert page.evaluate("document.documentElement.lang") == "de"
    page.get_by_label("Rolle von age", exact=True).select_option("quasi-identifying")
    page.get_by_text("5 unentschieden").wait_for()
    page.locator("#find").fill("a")
    page.get_by_text("3 von 6 gezeigt").wait_for()
    assert one.axe() == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    server.kill()
    page.locator("#link").get_by_text("Das Studio antwortet nicht").wait_for(timeout=3_000)
    serve(*words)
    page.get_by_text("Das Studio antwortet wieder").wait_for(timeout=10_000)
    page.get_by_label("Sprache").select_option("en")
    page.get_by_role("heading", name="Columns").wait_for()
    one.lines = [line for line in one.lines if "ERR_CONNECTION_REFUSED" not in line]


def test_nodes_are_regrouped_by_dragging_and_by_keyboard(serve, watched, table, tmp_path):
    one = watched(
        serve(
            str(table),
            "--project",
            str(tmp_path / "project"),
        )
    )
    page = one.page
    give_roles(page)
    go(page, "Hierarchies")
    page.get_by_role("link", name="sick").click()
    page.locator("#draft").click()
    page.get_by_role("tree").wait_for()
    page.locator("#as-table summary").click()
    page.locator("#as-table textarea").fill("flu;air;*\ncold;air;*\nulcer;gut;*\ncough;gut;*\n")
    page.get_by_role("button", name="Save the table").click()
    tree = page.get_by_role("tree")
    tree.get_by_text("gut").wait_for()

    def held(group: str) -> list[str]:
        item = tree.locator('[role="treeitem"][aria-level="2"]', has_text=group)
        return sorted(text.split()[0] for text in item.locator('[role="treeitem"] > span').all_inner_texts())

    assert held("air") == ["cold", "flu"]
    # Both ends of the way are in sight before the mouse is pressed.
    tree.get_by_text("air").scroll_into_view_if_needed()
    with page.expect_response(lambda answer: answer.request.method == "GET" and "/hierarchies" in answer.url):
        tree.get_by_text("cough").drag_to(tree.get_by_text("air"))
    page.locator("main:not([aria-busy])").wait_for()
    assert held("air") == ["cold", "cough", "flu"]
    # By keyboard: Space chooses, M on a group takes it in.
    item = tree.locator('[role="treeitem"][aria-level="3"]', has_text="flu")
    item.focus()
    page.keyboard.press(" ")
    tree.locator('[role="treeitem"][aria-level="2"]', has_text="gut").focus()
    with page.expect_response(lambda answer: answer.request.method == "GET" and "/hierarchies" in answer.url):
        page.keyboard.press("m")
    page.locator("main:not([aria-busy])").wait_for()
    assert held("gut") == ["flu", "ulcer"]
    assert page.evaluate("document.activeElement.getAttribute('role')") == "treeitem"
    assert one.axe() == []
    page.locator("#undo").click()
    page.locator("main:not([aria-busy])").wait_for()
    tree.locator('[role="treeitem"][aria-level="2"]', has_text="air").get_by_text("flu").wait_for()
