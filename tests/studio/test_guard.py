"""Every line of the studio's security, tried from outside."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.studio.guard import IDLE, MOST, POLICY
from sfumato.studio.serve import listening_socket
from studio.desks import OURS, PORT, opened, people

HOST = f"127.0.0.1:{PORT}"
PAGES = ["/", "/columns", "/hierarchies", "/promises", "/runs", "/look", "/compare", "/attack", "/sign", "/history"]
WRITES = [
    "/setup/column",
    "/setup/promises",
    "/setup/hierarchy",
    "/setup/policy",
    "/runs/start",
    "/runs/cancel",
    "/quit",
]


@pytest.fixture
def studio(tmp_path):
    with opened(tmp_path, people(tmp_path / "people.csv")) as one:
        yield one


@pytest.fixture
def inside(studio):
    return studio.enter()


def test_nobody_gets_in_without_the_cookie(studio):
    for path in [*PAGES, "/grid", "/policy.toml", "/static/studio.css", "/runs/1/events", "/nowhere"]:
        assert studio.get(path).status_code == 401, path
    for path in WRITES:
        assert studio.post(path).status_code == 401, path


def test_the_token_is_long_works_once_and_leaves_the_address(studio):
    token = str(studio.app.token)
    assert len(token) * 6 >= 144
    assert studio.get("/open?token=wrong").status_code == 401
    assert studio.get("/open").status_code == 401
    answer = studio.get(f"/open?token={token}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert f"sfumato-{PORT}=" in cookie
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert studio.get("/").status_code == 200
    assert studio.get(f"/open?token={token}").status_code == 401
    assert token not in studio.get("/").text


def test_a_cookie_of_somebody_else_does_not_help(studio):
    studio.enter()
    studio.client.cookies.clear()
    studio.client.cookies.set(f"sfumato-{PORT}", "guessed")
    assert studio.get("/").status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "", f"localhost:{PORT}.evil"]
)
def test_another_host_is_refused(inside, host):
    assert inside.get("/", host=host).status_code == 421
    assert inside.get(f"/open?token={inside.app.token}", host=host).status_code == 421


@pytest.mark.parametrize("host", [f"localhost:{PORT}", f"[::1]:{PORT}"])
def test_this_computer_has_three_names(studio, host):
    assert studio.get("/", host=host).status_code == 401


@pytest.mark.parametrize("origin", ["null", "http://evil.example", f"https://{HOST}", "http://127.0.0.1:1", ""])
def test_another_origin_is_refused(inside, origin):
    assert inside.get("/", origin=origin).status_code == 403
    answer = inside.client.post("/quit", headers={**OURS, "Origin": origin})
    assert answer.status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_is_refused(inside, site):
    assert inside.get("/", **{"Sec-Fetch-Site": site}).status_code == 403
    assert inside.get("/grid", **{"Sec-Fetch-Site": site}).status_code == 403
    for own in ("same-origin", "none"):
        assert inside.get("/", **{"Sec-Fetch-Site": own}).status_code == 200


@pytest.mark.parametrize("path", WRITES)
def test_a_write_needs_our_header(inside, path):
    assert inside.client.post(path, data={"entry": "1"}).status_code == 403
    assert inside.client.post(path, data={"entry": "1"}, headers={"X-Sfumato": "0"}).status_code == 403


def test_reading_never_writes(inside):
    for path in [*WRITES, "/values", "/history/go", "/runs/relax", "/sign/report", "/sign/hand-over", "/compare/take"]:
        assert inside.get(path).status_code in (404, 405), path
    assert len(inside.desk.project.history.entries) == 1
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        assert inside.client.request(method, "/").status_code == 405


def test_every_answer_has_the_headers(inside):
    for path in [*PAGES, "/grid", "/static/live.js", "/nowhere"]:
        headers = inside.get(path).headers
        assert headers["content-security-policy"] == POLICY, path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers
    assert "content-security-policy" in inside.get("/", host="evil").headers
    assert "unsafe" not in POLICY
    assert "frame-ancestors 'none'" in POLICY


def test_pages_have_no_script_style_or_request_of_their_own(inside):
    inside.set_up()
    for path in [*PAGES, "/sizes", "/sizes/more"]:
        text = inside.get(path).text
        assert not re.search(r"<script(?![^>]* src=\"/static/)|<style|\sstyle=|\son\w+=|javascript:", text), path
        assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", text), path
        assert len(text) < 120_000


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/files/1/../../studio.toml",
        "/files/1/%2e%2e%2fstudio.toml",
        "/files/1/job.json",
        "/files/99/report.html",
        "/files/../etc/passwd",
    ],
)
def test_no_path_leads_out(inside, path):
    assert inside.get(path).status_code == 404


def test_long_bodies_are_refused(inside):
    many = {"entry": "1", "policy": "x" * (MOST + 1)}
    assert inside.client.post("/setup/policy", data=many, headers=OURS).status_code == 413
    assert (
        inside.client.post("/setup/policy", content=b"x", headers={**OURS, "Content-Length": "-1"}).status_code == 413
    )


def test_the_studio_locks_itself_and_the_terminal_opens_it_again(tmp_path):
    now = [0.0]
    with opened(tmp_path, people(tmp_path / "people.csv"), clock=lambda: now[0]) as studio:
        studio.enter()
        now[0] = IDLE - 1
        assert studio.get("/").status_code == 200
        now[0] += IDLE + 1
        assert studio.get("/").status_code == 401
        assert studio.get("/").status_code == 401
        assert len(studio.said) == 1
        assert str(studio.app.token) in studio.said[0]
        assert studio.client.get(studio.app.address).status_code == 303
        assert studio.get("/").status_code == 200


def test_a_page_that_watches_a_job_is_not_somebody_at_the_keyboard(tmp_path):
    now = [0.0]
    with opened(tmp_path, people(tmp_path / "people.csv"), clock=lambda: now[0]) as studio:
        studio.enter()
        for _ in range(4):
            now[0] += IDLE / 3
            studio.get("/runs/1/events")
        assert studio.get("/").status_code == 401


def test_nothing_but_this_computer_is_listened_to():
    with listening_socket(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_websockets_are_refused(inside):
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), inside.client.websocket_connect("/"):
        pass


def test_the_help_of_the_command_line_loads_no_server():
    looked = "import sys; from sfumato.cli.app import app_of, COMMANDS; app_of(COMMANDS); "
    found = subprocess.run(
        [sys.executable, "-c", looked + "print([m for m in ('starlette', 'uvicorn', 'jinja2') if m in sys.modules])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "[]"


def test_answers_leave_at_once():
    # Of asyncio: it turns the waiting of TCP off for sockets that say what they are, and for no others.
    with listening_socket(0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
        client = socket.create_connection(listening.getsockname())
        answering, _ = listening.accept()
        assert answering.proto == socket.IPPROTO_TCP
        client.close()
        answering.close()


def test_the_first_page_loads_no_model_anonymizer_or_attack(tmp_path):
    people(tmp_path / "people.csv")
    code = """
import sys
from pathlib import Path
from studio.desks import opened
folder = Path(sys.argv[1])
with opened(folder, folder / "people.csv") as studio:
    inside = studio.enter()
    assert inside.get("/").status_code == inside.get("/grid?start=0&count=9").status_code == 200
    heavy = {"sfumato.models", "sfumato.anonymizers", "sfumato.evaluation.attacks", "sfumato.dossier"}
    assert not heavy & set(sys.modules), heavy & set(sys.modules)
    assert inside.get("/promises").status_code == inside.get("/attack").status_code == 200
    assert inside.get("/nowhere").status_code == 404
"""
    tests = Path(__file__).parents[1]
    env = {**os.environ, "PYTHONPATH": str(tests)}
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_real_server_says_nothing_of_itself_and_logs_no_request(tmp_path):
    import httpx

    table = people(tmp_path / "people.csv", rows=30)
    words = [sys.executable, "-m", "sfumato.cli", "studio", str(table), "--no-browser"]
    with subprocess.Popen(
        words, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}
    ) as server:
        assert server.stderr is not None
        first = server.stderr.readline()
        [address] = re.findall(r"http://\S+", first)
        root = address.partition("/open")[0]
        with httpx.Client(base_url=root) as client:
            assert client.get(address).status_code == 303
            answers = [client.get(path) for path in ("/", "/grid?start=0&count=5", "/nowhere", "/look/Person0001")]
            assert [answer.status_code for answer in answers] == [200, 200, 404, 404]
            for answer in answers:
                assert not {"server", "date", "x-powered-by"} & set(answer.headers)
                assert answer.headers["cache-control"] == "no-store"
            assert httpx.get(address).status_code == 401
            assert client.post("/quit", headers=OURS).status_code == 200
        told = first + server.stderr.read()
    assert server.returncode == 0
    # Two lines, and none of what was asked.
    assert len(told.splitlines()) == 2
    assert "Person" not in told
    # Without a project of its own, and without a release, nothing stays.
    assert not list(tmp_path.glob("sfumato-studio-*"))


def test_a_full_disk_is_said_and_loses_nothing(inside, monkeypatch):
    import errno

    from sfumato.studio import history

    def full(path, content, mode):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    before = inside.desk.draft
    monkeypatch.setattr(history, "write_whole", full)
    answer = inside.post("/setup/column", column="age", what="role", value="quasi-identifying")
    assert answer.status_code == 422
    [problem] = answer.json()["problems"]
    assert "the disk is full" in problem
    assert "fault in this program" not in problem
    assert inside.desk.draft == before
    monkeypatch.undo()
    assert inside.post("/setup/column", column="age", what="role", value="quasi-identifying").status_code == 200
    assert inside.desk.draft.roles["age"] == "quasi-identifying"


@pytest.mark.parametrize("before", ["", "dirty_decay_ms:900"])
def test_the_allocator_of_the_server_is_nobody_elses(before):
    code = (
        "import os; from sfumato.studio.serve import load_polars; load_polars(); "
        "import sys; print('polars' in sys.modules, os.environ['_RJEM_MALLOC_CONF'])"
    )
    surroundings = {**os.environ, "_RJEM_MALLOC_CONF": before}
    ran = subprocess.run([sys.executable, "-c", code], env=surroundings, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True", *before.split()]
