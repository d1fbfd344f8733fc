"""Open studios on small tables, for tests: the application behind its guard, and a client that is let in."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from sfumato.studio.app import studio_app
from sfumato.studio.desk import Desk
from sfumato.studio.guard import Guard
from sfumato.studio.jobs import Job, Jobs
from sfumato.studio.project import Project

PORT = 8123
OURS = {"X-Sfumato": "1"}
ROLES = {
    "name": "identifying",
    "age": "quasi-identifying",
    "sex": "quasi-identifying",
    "zip": "quasi-identifying",
    "ward": "insensitive",
    "sick": "sensitive",
}


def people(path: Path, rows: int = 120, seed: int = 1) -> Path:
    """Write a table of invented people."""
    draw = random.Random(seed)
    lines = ["name,age,sex,zip,ward,sick"]
    for row in range(rows):
        sick = draw.choice(["flu", "cold", "ulcer", "cough"])
        lines.append(
            f"Person{row:04},{draw.randrange(20, 80)},{draw.choice('fm')},{draw.randrange(47100, 47120)},"
            f"{draw.choice('abc')},{sick}"
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def waited(jobs: Jobs, number: int, seconds: float = 60.0) -> Job:
    """Wait until a job has ended, and its process with it."""
    for _ in range(int(seconds / 0.02)):
        if jobs.get(number).has_ended and (jobs._running is None or jobs._running[0] != number):
            return jobs.get(number)
        time.sleep(0.02)
    raise TimeoutError


class Studio:
    """A client of one open project, and what stands behind it."""

    def __init__(self, desk: Desk, **guard: Any) -> None:
        self.desk = desk
        self.said: list[str] = []
        self.app: Guard = studio_app(desk, PORT, say=self.said.append, **guard)
        self.client = TestClient(self.app, base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)

    def enter(self) -> Studio:
        """Take the token."""
        assert self.client.get(self.app.address).status_code == 303
        return self

    def get(self, path: str, **headers: str) -> Any:
        """Ask for a page."""
        return self.client.get(path, headers=headers)

    def post(self, path: str, **fields: str | list[str]) -> Any:
        """Write, as the page does."""
        return self.client.post(path, data={"entry": str(self.desk.head.number), **fields}, headers=OURS)

    def set_up(self, roles: Mapping[str, str] = ROLES, k: str = "3") -> None:
        """Give the columns roles, and promise k-anonymity."""
        for column, role in roles.items():
            assert self.post("/setup/column", column=column, what="role", value=role).status_code == 200
        if "zip" in roles:
            # Five digits in every value: somebody has to say that they are a quantity here.
            assert self.post("/setup/column", column="zip", what="kind", value="numeric").status_code == 200
        assert self.post("/setup/promises", what="add", name="k-anonymity").status_code == 200
        fields = {"what": "model", "place": "0", "option.k": k}
        assert self.post("/setup/promises", **fields).status_code == 200


@contextmanager
def opened(folder: Path, table: Path | None = None, **settings: Any) -> Iterator[Studio]:
    """Open a project in a folder, and close it afterwards."""
    source = settings.pop("source", {})
    desk = Desk.of(Project.opened(folder / "project", table, source), spare=settings.pop("spare", False))
    try:
        yield Studio(desk, **settings)
    finally:
        desk.close()
