"""Replay: what the page sets up is, to the byte, what the command line writes, and makes the same release."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.cli.app import app
from sfumato.studio.jobs import release_order
from studio.desks import opened

SEED = "7"


@dataclass(frozen=True)
class Sort:
    """A sort of table: how it is written, and what is said of it on either side."""

    suffix: str = ".csv"
    separator: str = ","
    source: dict[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    names: tuple[str, ...] = ("who", "age", "sex", "place", "sick")
    kinds: tuple[tuple[str, str], ...] = ()
    age: str = "{}"
    place: tuple[str, ...] = ("north", "south", "east")
    header: bool = True

    def write(self, folder: Path) -> Path:
        """Write a table of this sort."""
        draw, path = random.Random(3), folder / f"table{self.suffix}"
        rows = [
            (f"Person{row}", self.age.format(draw.randrange(20, 29)), draw.choice("fm"), draw.choice(self.place), sick)
            for row, sick in enumerate(["flu", "cold", "ulcer", "cough"] * 15)
        ]
        if self.suffix == ".parquet":
            frame = pl.DataFrame(rows, schema=list(self.names), orient="row")
            frame.with_columns(pl.col(self.names[1]).cast(pl.Int16)).write_parquet(path)
            return path
        lines = [self.names] * self.header + rows
        quoted = [self.separator.join(f'"{cell}"' if self.separator in cell else cell for cell in row) for row in lines]
        path.write_bytes(("\n".join(quoted) + "\n").encode(self.source.get("encoding", "utf-8")))
        return path


SORTS = {
    "plain": Sort(),
    "semicolons and decimal commas": Sort(
        separator=";",
        age="{},5",
        source={"separator": ";", "decimal": ","},
        words=("--set", "source.separator=;", "--set", "source.decimal=,"),
    ),
    "question marks": Sort(
        place=("north", "?", "east"), source={"missing": ["?"]}, words=("--set", "source.missing=?")
    ),
    "dates": Sort(age="2020-03-{}"),
    "Latin letters": Sort(
        place=("Köln", "Münster", "Aachen"), source={"encoding": "cp1252"}, words=("--set", "source.encoding=cp1252")
    ),
    "Parquet": Sort(suffix=".parquet"),
    "strange names": Sort(names=("ü b e r", "a=b", "<i>", "é", "s'k"), place=("<b>x</b>", "=1+1", "n,s")),
    "no header": Sort(
        header=False,
        source={"header": False, "columns": ["who", "age", "sex", "place", "sick"]},
        words=("--set", "source.header=false", "--set", "source.columns=who,age,sex,place,sick"),
    ),
}
PROMISING = {"bucketization", "slicing", "overlapping-slicing", "marginals"}
METHODS = [*ANONYMIZERS, *PUBLISHERS]
QUICK = [("plain", "mondrian"), ("strange names", "slicing"), ("semicolons and decimal commas", "pram")]
CASES = [
    pytest.param(sort, method, id=f"{sort}: {method}", marks=[] if (sort, method) in QUICK else [pytest.mark.slow])
    for sort in SORTS
    for method in METHODS
]


def words_of(sort: Sort, path: Path, method: str) -> list[str]:
    """Return the command that somebody types who wants the same."""
    who, age, sex, place, sick = sort.names
    said = [str(path), "--identifying", who, "--quasi", f"{age},{sex},{place}", "--sensitive", sick, *sort.words]
    promised = ["-k", "3"] if method in ANONYMIZERS else ["--model", "probabilistic-l-diversity:l=1.5"]
    asked = promised if method in ANONYMIZERS or method in PROMISING else []
    return ["anonymize", *said, *asked, "--anonymizer", method, "--others", "error"]


def set_up(studio: Any, sort: Sort, method: str) -> None:
    """Do the same on the pages."""
    who, age, sex, place, sick = sort.names
    roles = {who: "identifying", **dict.fromkeys((age, sex, place), "quasi-identifying"), sick: "sensitive"}
    for column, role in roles.items():
        assert studio.post("/setup/column", column=column, what="role", value=role).status_code == 200
    model = "k-anonymity" if method in ANONYMIZERS else "probabilistic-l-diversity"
    if method in ANONYMIZERS or method in PROMISING:
        studio.post("/setup/promises", what="add", name=model)
        option = {"option.k": "3"} if method in ANONYMIZERS else {"option.l": "1.5"}
        assert studio.post("/setup/promises", what="model", place="0", **option).status_code == 200
    assert studio.post("/setup/promises", what="method", name=method).status_code == 200


def ran(words: list[str]) -> tuple[int, str]:
    found = CliRunner().invoke(app, words)
    return found.exit_code, found.output


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())} if folder.is_dir() else {}


@pytest.mark.parametrize(("sort", "method"), CASES)
def test_the_page_is_the_command_line(tmp_path, sort, method):
    sort = SORTS[sort]
    path = sort.write(tmp_path)
    words = words_of(sort, path, method)
    saved = tmp_path / "saved.toml"
    with opened(tmp_path, path, source=sort.source) as studio:
        set_up(studio.enter(), sort, method)
        code, said = ran([*words, "--save-policy", str(saved)])
        assert code == 0, said
        assert studio.get("/policy.toml").content == saved.read_bytes()
        (tmp_path / "job").mkdir()
        job = release_order(studio.desk.project, studio.desk.head, method)(1, tmp_path / "job")
    ended = [ran([*job.words, "--seed", SEED])[0], ran([*words, "--out", str(tmp_path / "typed"), "--seed", SEED])[0]]
    assert ended in ([0, 0], [1, 1])
    assert files(tmp_path / "job" / "release") == files(tmp_path / "typed")
    if ended == [0, 0]:
        assert files(tmp_path / "typed")
