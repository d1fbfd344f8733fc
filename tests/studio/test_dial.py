"""The dial of k: what each k would cost, from comparisons that were made of the setup."""

from __future__ import annotations

import pytest

from studio.desks import opened, people, waited


@pytest.fixture
def studio(tmp_path):
    with opened(tmp_path, people(tmp_path / "people.csv")) as one:
        yield one.enter()


def told(studio) -> dict[int, str]:
    from sfumato.studio.dial import stops

    return {stop.k: stop.said for stop in stops(studio.desk)}


def test_nothing_is_told_of_a_setup_that_cannot_run(studio):
    assert told(studio) == {}
    assert "There is a dial once the setup is complete" in studio.get("/promises").text
    assert studio.post("/dial/fill").status_code == 422
    assert studio.post("/dial/take", k="7").status_code == 422


def test_what_is_not_known_is_found_out_and_stays_while_k_alone_changes(studio):
    studio.set_up(k="4")
    assert set(told(studio)) == {2, 3, 4, 5, 8, 10, 15, 20, 30, 50}
    assert set(told(studio).values()) == {"not known yet"}
    assert "Find out about the other 10" in studio.get("/promises").text
    assert studio.post("/dial/fill").status_code == 200
    done = waited(studio.desk.jobs, 1, 120)
    assert done.state == "done", done.problems
    assert done.kind == "dial"
    known = told(studio)
    assert all(said.startswith("loss ") and "average risk" in said for said in known.values())
    page = studio.get("/promises").text
    assert "Find out about" not in page
    assert page.count("data-known") == 10
    # Each is what a release with this k loses.
    assert studio.post("/dial/take", k="10").status_code == 200
    assert studio.desk.draft.rest["models"][0]["k"] == 10
    assert told(studio) == {k: said for k, said in known.items() if k != 4}
    assert studio.post("/runs/start", what="release").status_code == 200
    released = waited(studio.desk.jobs, 2, 120).result
    assert f"loss {100 * released['losses']['normalized_ncp']:.3g}%" in known[10].replace(" %", "%")
    # It is no comparison that somebody asked for.
    assert "Runs of the comparison" not in studio.get("/compare").text
    # Another role is another setup.
    studio.post("/setup/column", column="sex", what="role", value="insensitive")
    assert set(told(studio).values()) == {"not known yet"}


def test_comparisons_of_the_method_fill_it_in(studio):
    studio.set_up(k="5")
    studio.post("/setup/promises", what="method", name="mondrian")
    assert studio.post("/compare/start", methods=["mondrian", "mdav"], values="5, 10, 100000").status_code == 200
    assert waited(studio.desk.jobs, 1, 120).state == "done"
    known = {k for k, said in told(studio).items() if said != "not known yet"}
    assert known == {5, 10}
    of_mondrian = told(studio)[5]
    studio.post("/setup/promises", what="method", name="mdav")
    assert told(studio)[5] != of_mondrian
    assert told(studio)[5] != "not known yet"
    studio.post("/setup/promises", what="method", name="k-member")
    assert set(told(studio).values()) == {"not known yet"}


def test_a_k_that_cannot_be_met_is_said(studio):
    studio.set_up(k="500")
    assert studio.post("/dial/fill").status_code == 200
    assert waited(studio.desk.jobs, 1, 120).state == "done"
    assert [k for k, said in told(studio).items() if said == "cannot be met"] == [500]


def test_what_fills_it_in_ends_when_the_setup_goes_on(tmp_path):
    with opened(tmp_path, people(tmp_path / "people.csv", rows=20_000)) as studio:
        studio.enter().set_up()
        studio.post("/setup/promises", what="method", name="k-member")
        assert studio.post("/dial/fill").status_code == 200
        assert studio.post("/dial/fill").status_code == 200
        assert len(studio.desk.jobs.all) == 1
        assert studio.post("/dial/take", k="8").status_code == 200
        assert not studio.desk.jobs.get(1).has_ended
        studio.post("/setup/column", column="ward", what="role", value="identifying")
        assert studio.desk.jobs.get(1).state == "cancelled"


@pytest.mark.parametrize(
    "change",
    [
        {"what": "top", "refine": "10"},
        {"what": "options", "option.blind": "yes"},
    ],
)
def test_no_dial_stands_for_what_comparisons_do_not_make(studio, change):
    studio.set_up()
    assert told(studio)
    assert studio.post("/setup/promises", **change).status_code == 200
    assert told(studio) == {}
    assert "with their usual options" in studio.get("/promises").text
