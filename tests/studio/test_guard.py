"""Every line of the studio's security, tried from outside."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from sfumato.studio.guard import AT_ONCE, IDLE, MOST, PATIENCE, POLICY, Guard
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


def let_in_again(guard, client, *, port=PORT):
    """Begin another studio on a session that was kept, and ask it as the page of before does."""
    again = Guard(PlainTextResponse("in"), port, kept=guard)
    asking = TestClient(again, base_url=f"http://127.0.0.1:{port}", cookies=dict(client.cookies))
    return asking.get("/").status_code


def test_a_page_goes_on_after_a_kill_for_as_long_as_an_idle_one_does(tmp_path):
    with opened(tmp_path, people(tmp_path / "people.csv"), kept=tmp_path / "session") as studio:
        studio.enter()
        kept, client = tmp_path / "session", studio.client
        assert kept.stat().st_mode & 0o777 == 0o600
        assert all(cookie not in kept.read_text() for cookie in client.cookies.values())
        assert let_in_again(kept, client) == 200
        assert let_in_again(kept, client, port=PORT + 1) == 401
        assert let_in_again(kept, studio.client.__class__(studio.app)) == 401
        written = kept.read_text()
        for content in ("", "x y", f"{PORT} ", f"{PORT} {'0' * 64}", f"{PORT + 1} {written.split()[1]}"):
            kept.write_text(content)
            assert let_in_again(kept, client) == 401, content
        kept.write_text(written)
        os.utime(kept, (0, 0))
        assert let_in_again(kept, client) == 401
        studio.app.forget()
        assert not kept.exists()
        assert let_in_again(kept, client) == 401


def test_who_only_watches_is_told_what_stands_and_does_not_keep_the_studio_open(tmp_path):
    now = [0.0]
    with opened(tmp_path, people(tmp_path / "people.csv"), clock=lambda: now[0]) as studio:
        studio.enter()
        assert studio.get("/events").json() == {"entry": 1, "jobs": 0}
        studio.post("/setup/column", column="age", what="role", value="sensitive")
        assert studio.get("/events").json()["entry"] == 2
        now[0] = IDLE - 1
        assert studio.get("/events").status_code == 200
        now[0] = IDLE + 1
        assert "locked" in studio.get("/events").text


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
from contextlib import suppress
from pathlib import Path
from studio.desks import opened
folder = Path(sys.argv[1])
with opened(folder, folder / "people.csv") as studio:
    inside = studio.enter()
    assert inside.get("/").status_code == inside.get("/grid?start=0&count=9").status_code == 200
    heavy = {"sfumato.models", "sfumato.anonymizers", "sfumato.evaluation.attacks", "sfumato.evidence"}
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

    from sfumato.studio import project

    def full(path, content, mode):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    before = inside.desk.draft
    monkeypatch.setattr(project, "write_whole", full)
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


class Serving:
    """A studio as it is started, with a browser that only notes what it was started with."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder, self.noted = folder, folder / "noted"
        browser = folder / "browser.py"
        browser.write_text(
            f"#!{sys.executable}\n"
            "import os, pathlib, stat, sys, urllib.parse\n"
            "path = pathlib.Path(urllib.parse.urlsplit(sys.argv[1]).path)\n"
            "there = path if path.exists() else pathlib.Path(__file__)\n"
            "modes = [oct(stat.S_IMODE(each.stat().st_mode)) for each in (there, there.parent)]\n"
            "lines = [sys.argv[1], *modes, there.read_text()]\n"
            f"part = pathlib.Path({str(self.noted)!r} + '.part')\n"
            "part.write_text('\\n'.join(lines))\n"
            f"part.rename({str(self.noted)!r})\n"
        )
        browser.chmod(0o700)
        # As many open files as systems allow by default.
        limited = "import resource, runpy; resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024)); "
        code = limited + "runpy.run_module('sfumato.cli', run_name='__main__')"
        env = {**os.environ, "TMPDIR": str(folder), "BROWSER": f"{browser} %s"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "studio", str(people(folder / "people.csv", rows=30)), *words],
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        assert self.process.stderr is not None
        [self.address] = re.findall(r"http://\S+", self.process.stderr.readline())
        self.port = int(re.findall(r":(\d+)/", self.address)[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=30)


def test_no_program_is_started_with_the_token(tmp_path):
    import httpx

    with Serving(tmp_path) as studio:
        token = studio.address.partition("token=")[2]
        while not studio.noted.exists():
            assert studio.process.poll() is None
        argument, mode, of_folder, content = studio.noted.read_text().split("\n", 3)
        assert token not in argument
        assert (mode, of_folder) == ("0o600", "0o700")
        assert studio.address in content
        # As a browser asks that a file sends on: what comes back makes it begin anew, so that the cookie goes along.
        answer = httpx.get(studio.address, headers={"Sec-Fetch-Site": "cross-site"})
        assert (answer.status_code, answer.headers["refresh"]) == (200, "0; url=/")
        assert "samesite=strict" in answer.headers["set-cookie"].lower()
        assert not list(tmp_path.glob("sfumato-open-*"))
    with Serving(tmp_path):
        pass
    assert not list(tmp_path.glob("sfumato-*"))


def test_a_thousand_half_open_connections_keep_nobody_out(tmp_path):
    import resource

    import httpx

    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, allowed[1]), allowed[1]))
    others = []
    try:
        with Serving(tmp_path, "--no-browser") as studio, httpx.Client(timeout=10) as client:
            root = f"http://127.0.0.1:{studio.port}"
            assert client.get(studio.address).status_code == 303
            for number in range(1100):
                others.append(socket.create_connection(("127.0.0.1", studio.port), timeout=10))
                # Some say nothing, some begin and go no further.
                others[-1].sendall(b"" if number % 2 else b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            # By its own connection, and by a new one.
            assert client.get(f"{root}/").status_code == 200
            assert httpx.get(f"{root}/", timeout=10).status_code == 401
            files = len(os.listdir(f"/proc/{studio.process.pid}/fd")) if sys.platform == "linux" else 0
            assert files < AT_ONCE + 50
            # Whoever stays is dropped in the end.
            for other in others:
                other.settimeout(PATIENCE * 3)
                with suppress(ConnectionResetError):
                    assert other.recv(1) == b""
            assert client.get(f"{root}/").status_code == 200
    finally:
        for other in others:
            other.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, allowed)


def test_a_head_that_comes_drop_by_drop_is_not_waited_for(monkeypatch):
    import asyncio

    import uvicorn

    from sfumato.studio import guard

    monkeypatch.setattr(guard, "PATIENCE", 0.2)

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def served():
        with listening_socket(0) as listening:
            server = uvicorn.Server(uvicorn.Config(app, http=guard.Connection, lifespan="off", log_level="critical"))
            task = asyncio.create_task(server.serve(sockets=[listening]))
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"204" in await reader.readuntil(b"\r\n\r\n")
            # A second head on the same connection, without an end.
            writer.write(b"GET / HTTP/1.1\r\n")
            dripped = 0
            try:
                while not reader.at_eof():
                    writer.write(b"X: y\r\n")
                    await writer.drain()
                    await asyncio.sleep(0.01)
                    dripped += 1
                    assert dripped < 1000
            except ConnectionError:
                pass
            writer.close()
            server.should_exit = True
            await task

    asyncio.run(served())
