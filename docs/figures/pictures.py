"""Draws what runs of the library do to small tables: before and after, classes, losses, trees, a lattice.

``python docs/figures/pictures.py`` writes the SVG files; a test holds each against a new run.
"""

from __future__ import annotations

import contextlib
import html
import io
import random
import re
import runpy
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf

DOCS = Path(__file__).resolve().parents[1]
COLORS = ("#1b6ca8", "#c8553d", "#3a7d44", "#8e5aa8", "#b8860b", "#4a4e69")
INK, SOFT, LINE = "#222222", "#666666", "#cccccc"
FAMILY = "system-ui, sans-serif"

# Parts of drawings.


def page(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    """Return an SVG text on white paper, readable beside dark pages, too."""
    box = f'<rect width="{width:g}" height="{height:g}" rx="6" fill="white"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img">'
    return "\n".join([head, f"<title>{html.escape(title)}</title>", box, *parts, "</svg>", ""])


def text(
    x: float, y: float, words: object, *, size: float = 13, color: str = INK, at: str = "start", bold: bool = False
) -> str:
    """Write words; `at`: which end of them x is."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-family="{FAMILY}" font-size="{size:g}" fill="{color}" '
        f'text-anchor="{at}"{weight}>{html.escape(str(words))}</text>'
    )


def bar(x: float, y: float, width: float, height: float, color: str, *, opacity: float = 1.0) -> str:
    """Draw a filled box."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{color}" '
        f'fill-opacity="{opacity:g}"/>'
    )


def line(x: float, y: float, to_x: float, to_y: float, color: str = LINE, *, width: float = 1.0) -> str:
    """Draw a line."""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{color}" stroke-width="{width:g}"/>'
    )


def dot(x: float, y: float, color: str, *, radius: float = 4) -> str:
    """Draw a dot."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{color}"/>'


def tables(title: str, sides: Sequence[tuple[str, pl.DataFrame, Sequence[int]]]) -> str:
    """Draw tables beside each other; rows of one number have one colour."""
    parts, x, most = list[str](), 16.0, max(frame.height for _, frame, _ in sides)
    for number, (name, frame, classes) in enumerate(sides):
        cells = [frame.columns, *([_shown(cell) for cell in row] for row in frame.iter_rows())]
        widths = [max(len(row[place]) for row in cells) * 7.2 + 16 for place in range(frame.width)]
        whole = sum(widths)
        parts += [text(x, 24, name, bold=True)]
        for place, row in enumerate(cells):
            y, left = 34 + 22.0 * place, x
            if place:
                parts.append(bar(x, y, whole, 21, COLORS[classes[place - 1] % len(COLORS)], opacity=0.16))
            for column, cell in enumerate(row):
                color = SOFT if place == 0 else INK
                parts.append(text(left + 8, y + 15, cell, size=12, color=color))
                left += widths[column]
        x += whole
        if number + 1 < len(sides):
            parts.append(text(x + 22, 34 + 11 * (most + 1), "→", size=22, color=SOFT, at="middle"))
            x += 44
    return page(title, x + 16, 34 + 22 * (most + 1) + 12, parts)


def _shown(cell: object) -> str:
    return "" if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell)


def curves(
    title: str, across: str, ticks: Sequence[object], lines: Sequence[tuple[str, Sequence[float]]], *, top: float
) -> str:
    """Draw lines over places that lie evenly; heights are shares up to `top`, in per cent."""
    left, right, high, low = 56.0, 430.0, 20.0, 210.0
    places = np.linspace(left + 16, right - 16, len(ticks)).tolist()
    parts = list[str]()
    for share in np.linspace(0, top, 5).tolist():
        y = low - (low - high) * share / top
        parts += [line(left, y, right, y), text(left - 8, y + 4, f"{share:.0%}", size=12, color=SOFT, at="end")]
    parts += [text(x, low + 18, tick, size=12, color=SOFT, at="middle") for x, tick in zip(places, ticks, strict=True)]
    parts.append(text((left + right) / 2, low + 38, across, size=12, color=SOFT, at="middle"))
    for number, (name, shares) in enumerate(lines):
        heights = [low - (low - high) * min(share, top) / top for share in shares]
        points = list(zip(places, heights, strict=True))
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{COLORS[number]}" stroke-width="2"/>')
        parts += [dot(x, y, COLORS[number]) for x, y in points]
        parts.append(text(right + 8, heights[-1] + 4, name, size=12, color=COLORS[number]))
    return page(title, 640, low + 52, parts)


def bars(title: str, rows: Sequence[tuple[str, float, str]], *, top: float) -> str:
    """Draw a bar for each row: name, length of at most `top`, and what stands behind it."""
    parts = list[str]()
    for place, (name, length, words) in enumerate(rows):
        y, width = 16 + 30.0 * place, 300 * length / top
        parts += [text(190, y + 15, name, size=12, at="end"), bar(200, y, width, 20, COLORS[0])]
        parts.append(text(208 + width, y + 15, words, size=12, color=SOFT))
    return page(title, 640, 26 + 30 * len(rows), parts)


# Tables of the pages, and what runs make of them.


@cache
def patients() -> pl.DataFrame:
    """Return the invented patients, as make_patients.py writes them."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        runpy.run_path(str(DOCS / "make_patients.py"))
        return pl.read_csv("patients.csv").drop("name", "visit_count").with_columns(pl.col("zip").cast(pl.String))


def of_page(name: str, file: str) -> pl.DataFrame:
    """Read the table that stands on a how-to page."""
    page = (DOCS / "how-to" / f"{name}.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- file: {re.escape(file)} -->\n+```\w+\n(.*?)```", page, re.DOTALL)
    assert found, f"{name}.md holds no {file}"
    return pl.read_csv(io.StringIO(found[1]), null_values=["?"])


def release_of(frame: pl.DataFrame, k: int, quasi: Any, sensitive: Sequence[str], **options: Any) -> sf.Release:
    """Publish a table with the numbers of its rows, so that before and after can stand side by side."""
    numbered = frame.with_row_index("row")
    schema = sf.Schema(quasi_identifying=quasi, sensitive=list(sensitive), insensitive=["row"], others="drop")
    options = {"anonymizer": sf.Mondrian(), "seed": 1, **options}
    return sf.anonymize(numbered, sf.KAnonymity(k), schema=schema, **options)


def before_and_after(title: str, frame: pl.DataFrame, release: sf.Release, quasi: Sequence[str], rows: int = 12) -> str:
    """Draw the rows of the first classes as they were and as they are published, a colour for each class."""
    shown = release.data.with_columns(pl.col("row").cast(pl.Int64)).sort("row")
    classes = shown.select(pl.struct(quasi).rank("dense").alias("class"), "row").sort("class", "row")
    order = classes["row"].to_list()[:rows]
    colours = (classes["class"].to_list()[:rows], classes["class"].to_list()[:rows])
    kept = [name for name in frame.columns if name in shown.columns]
    after = shown.select(kept).cast(pl.String)[order]
    return tables(title, [("before", frame[order], colours[0]), ("published", after, colours[1])])


def missing_values() -> str:
    """Draw what becomes of missing values."""
    frame = of_page("missing-values", "visits.csv")
    release = release_of(frame, 2, ["age", "sex", "zip"], ["disease"])
    return before_and_after(
        "Eight visits before and after: an age is missing alone, or beside others",
        frame,
        release,
        ["age", "sex", "zip"],
    )


def own_k() -> str:
    """Draw the class of whoever wishes for five beside classes of two."""
    frame = of_page("a-k-of-ones-own", "staff.csv")
    numbered = frame.with_row_index("row")
    schema = sf.Schema(
        quasi_identifying=["age", "sex", "unit"], sensitive=["salary"], insensitive=["row"], wished_k="own_k"
    )
    release = sf.anonymize(numbered, sf.KAnonymity(2), schema=schema, anonymizer=sf.Mondrian(), seed=1)
    return before_and_after(
        "Twelve people before and after: whoever wishes for 5 shares a class of five",
        frame,
        release,
        ["age", "sex", "unit"],
    )


def households() -> str:
    """Draw households of a small survey."""
    draw = random.Random(7)
    rows = list[tuple[str, int, int, str]]()
    for number in range(9):
        size, eldest = 1 + number % 3, draw.randint(25, 85)
        ages = [eldest, eldest - draw.randint(0, 6), eldest - draw.randint(22, 35)]
        rows += [(f"H{number}", size, max(0, age), draw.choice("mf")) for age in ages[:size]]
    frame = pl.DataFrame(rows, schema=["household", "size", "age", "sex"], orient="row")
    schema = sf.Schema(person="household", quasi_identifying=["size", "age", "sex"], insensitive=["row"])
    release = sf.anonymize(
        frame.with_row_index("row"),
        sf.KAnonymity(3),
        schema=schema,
        people=sf.People(rows="household"),
        anonymizer=sf.Mondrian(),
        seed=1,
    )
    return before_and_after(
        "Households of a small survey before and after, members in classes of their own",
        frame,
        release,
        ["size", "age", "sex"],
        20,
    )


def one_person() -> str:
    """Draw the classes of records and of people, a colour for each person."""
    frame = of_page("one-person-many-records", "visits.csv")
    quasi, parts, y = ["age", "sex", "ward"], list[str](), 16.0
    for name, person in (("records counted: whole classes may be one person", None), ("people counted", "patient")):
        schema = sf.Schema(
            person=person, quasi_identifying=quasi, sensitive=["diagnosis"], insensitive=["row"], others="drop"
        )
        release = sf.anonymize(
            frame.with_row_index("row"), sf.KAnonymity(3), schema=schema, anonymizer=sf.Mondrian(), seed=1
        )
        groups = release.data.group_by(quasi, maintain_order=True).agg(pl.col("row").cast(pl.Int64)).sort(*quasi)
        parts.append(text(16, y + 12, name, bold=True))
        y += 24
        for label_and_rows in groups.iter_rows():
            whom = frame["patient"][label_and_rows[-1]].sort().to_list()
            parts.append(text(16, y + 14, ", ".join(map(str, label_and_rows[:-1])), size=12))
            for place, patient in enumerate(whom):
                colour = COLORS[int(patient[1:]) % len(COLORS)]
                x, top = 170 + 46 * (place % 9), y + 22 * (place // 9)
                parts += [
                    bar(x, top + 1, 43, 18, colour, opacity=0.25),
                    text(x + 21, top + 14, patient, size=11, at="middle"),
                ]
            count = len(set(whom))
            parts.append(
                text(
                    178 + 46 * min(9, len(whom)),
                    y + 14,
                    f"{count} {'person' if count == 1 else 'people'}",
                    size=12,
                    color=SOFT if count > 2 else COLORS[1],
                )
            )
            y += 22 * (1 + (len(whom) - 1) // 9)
        y += 12
    return page("Classes of visits, where records are counted and where people are", 700, y + 4, parts)


def roles() -> str:
    """Draw what becomes of a column in each role."""
    names = ["Ada Abel", "Ben Bruck", "Cleo Corso", "Dan Dorn", "Eva Egger", "Finn Fabri"]
    frame = pl.DataFrame(
        {"name": names, **patients()[:6].drop("zip").to_dict(as_series=False), "visits": [1, 2, 1, 1, 3, 2]}
    )
    schema = sf.Schema(
        identifying=["name"], quasi_identifying=["age", "sex"], sensitive=["disease"], insensitive=["visits", "row"]
    )
    release = sf.anonymize(
        frame.with_row_index("row"), sf.KAnonymity(3), schema=schema, anonymizer=sf.Mondrian(), seed=1
    )
    return before_and_after(
        "Columns by their roles: the name is gone, age and sex are coarser, the others as they were",
        frame,
        release,
        ["age", "sex"],
    )


def identifiers() -> str:
    """Draw a table with a note and an address, and what is published."""
    frame = pl.DataFrame(
        {
            "age": [34, 36, 61, 67],
            "sex": ["f", "f", "m", "m"],
            "ward": ["A", "B", "A", "C"],
            "contact": [f"p{number}@example.org" for number in range(4)],
            "called": ["her daughter called", "asks for Dr. Ott", "moved house", "call again"],
        }
    )
    schema = sf.Schema(identifying=["contact", "called"], quasi_identifying=["age", "sex"], insensitive=["ward", "row"])
    release = sf.anonymize(
        frame.with_row_index("row"), sf.KAnonymity(2), schema=schema, anonymizer=sf.Mondrian(), seed=1
    )
    return before_and_after("Addresses and notes are removed, the ward passes", frame, release, ["age", "sex"])


def baskets() -> str:
    """Draw seven baskets before and after."""
    goods = of_page("sets", "baskets.csv")
    with TemporaryDirectory() as folder:
        page = (DOCS / "how-to" / "sets.md").read_text(encoding="utf-8")
        tree = Path(folder) / "goods.csv"
        tree.write_text(
            page.partition("<!-- file: goods.csv -->")[2].split("```")[1].partition("\n")[2], encoding="utf-8"
        )
        sets = sf.sets.read_sets(goods, hierarchy=sf.read_hierarchy(tree))
    release = sf.sets.anonymize_sets(sets, sf.sets.KmAnonymity(k=2, m=2), seed=1)
    before = goods.group_by("customer", maintain_order=True).agg(pl.col("good").str.join(", ").alias("bought"))
    after = (
        release.to_frame()
        .group_by("record")
        .agg(pl.col("item").cast(pl.String).sort().str.join(", ").alias("published"))
        .sort("published", "record")
    )
    return tables(
        "Seven baskets before, and the published ones, which nobody can tell apart by two goods",
        [
            ("before", before, [0] * before.height),
            ("published, in another order", after, after["published"].rank("dense").cast(int).to_list()),
        ],
    )


def films() -> str:
    """Draw the ratings of four people before and after."""
    frame = of_page("ratings", "films.csv")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "films.csv"
        frame.write_csv(path)
        answers = sf.ratings.read_ratings(path, scale=(0.5, 5, 0.5), sensitive="Casablanca")
    release = sf.ratings.anonymize_ratings(answers, sf.ratings.RatingAnonymity(3, 1), seed=1)

    def wide(long: pl.DataFrame) -> pl.DataFrame:
        who, film, stars = long.columns
        return long.with_columns(pl.col(film).cast(pl.String)).pivot(film, index=who, values=stars)

    return tables(
        "Stars that four people gave, before and after: ratings move or go, the sensitive film stays",
        [("before", wide(frame), [0] * 4), ("published, in another order", wide(release.to_frame()), [1] * 4)],
    )


def hierarchy() -> str:
    """Draw the tree that postal codes are masked by."""
    codes = ["4710", "4711", "4714", "4731", "4733", "4810", "4812", "4815"]
    tree = sf.prefixes(3, 2).build(pl.Series(codes), name="zip")
    levels = [
        [level.labels[tree.node_of[step, leaf]] for leaf in range(len(tree.leaves))]
        for step, level in enumerate(tree.levels)
    ]
    parts, places = list[str](), dict[tuple[int, str], float]()
    for step, labels in enumerate(levels):
        for label in dict.fromkeys(labels):
            members = [place for place, other in enumerate(labels) if other == label]
            places[step, label] = 60 + 76 * sum(members) / len(members)
    for step, labels in enumerate(levels):
        y = 30.0 + 52 * (len(levels) - 1 - step)
        for leaf, label in enumerate(labels):
            if step + 1 < len(levels):
                parts.append(line(places[step, label], y - 8, places[step + 1, levels[step + 1][leaf]], y - 44))
        for label in dict.fromkeys(labels):
            x = places[step, label]
            parts += [
                bar(x - 26, y - 13, 52, 20, COLORS[step % len(COLORS)], opacity=0.16),
                text(x, y + 2, label, at="middle"),
            ]
        parts.append(text(706, y + 2, f"level {step}", size=12, color=SOFT, at="end"))
    return page(
        "The tree of eight postal codes: four digits, three, two, and a star",
        720,
        48 + 52 * (len(levels) - 1),
        dict.fromkeys(parts),
    )


def k_and_loss() -> str:
    """Draw how loss grows with k, and the highest risk falls."""
    ks = (2, 5, 10, 20, 50, 100)
    reports = [
        release_of(patients(), k, {"age": None, "sex": None, "zip": sf.prefixes(3, 2, 1)}, ["disease"]).report
        for k in ks
    ]
    losses, risks = [report.losses.normalized_ncp for report in reports], [report.highest_risk for report in reports]
    return curves(
        "Information loss grows with k, and the highest risk falls",
        "k",
        ks,
        [("information loss", losses), ("highest risk", risks)],
        top=0.6,
    )


def suppression() -> str:
    """Draw what full-domain generalization loses when some records may be left out."""
    quasi, rows = (
        {"age": sf.intervals(5, 10, 20), "sex": None, "zip": sf.prefixes(3, 2)},
        list[tuple[str, float, str]](),
    )
    for limit in (0.0, 0.01, 0.05, 0.1, 0.2):
        report = release_of(
            patients(), 5, quasi, ["disease"], anonymizer=sf.Incognito(selection="loss"), suppression_limit=limit
        ).report
        loss = report.losses.normalized_ncp
        rows.append((f"at most {limit:.0%} left out", loss, f"loss {loss:.3f}, {report.suppressed} left out"))
    return bars("Loss of full-domain generalization by the share that may be left out", rows, top=0.2)


def declared() -> str:
    """Draw the intervals of ages as data make them and as a grid declares them."""
    frame, parts = patients()[:60].select("age"), list[str]()
    for age in range(0, 101, 10):
        parts += [
            line(40 + 6 * age, 14, 40 + 6 * age, 316, "#eeeeee"),
            text(40 + 6 * age, 332, age, size=11, color=SOFT, at="middle"),
        ]
    for side, labels in enumerate(("least", "declared")):
        release = release_of(frame, 5, ["age"], [], recoding=sf.Recoding(labels=labels))
        top = 24 + 155.0 * side
        parts.append(text(16, top, f"labels = {labels}", bold=True))
        for place, label in enumerate(release.data["age"].unique().cast(pl.String).sort().to_list()):
            low, high = map(float, re.findall(r"\d+", label) if ".." in label else [label, label])
            y = top + 14 + 13 * place
            parts += [
                bar(40 + 6 * low, y, max(3.0, 6 * (high - low + 1)), 6, COLORS[side]),
                text(50 + 6 * (high + 1), y + 7, label, size=10, color=SOFT),
            ]
    return page("Intervals of sixty ages: fitted to their members, and on a declared grid", 720, 344, parts)


def lattice() -> str:
    """Draw the lattice of two hierarchies, and which nodes keep k = 5."""
    code = sf.Attribute(kind="categorical", hierarchy=sf.prefixes(3, 2))
    schema = sf.Schema(quasi_identifying={"age": sf.intervals(10, 20), "zip": code}, others="drop")
    found = sf.search_lattice(sf.read_table(patients()[:300], schema), sf.KAnonymity(5))
    kept, parts = set(found.satisfying()), list[str]()
    place = {
        (age, code): (330 + 82.0 * (code - age), 340 - 52.0 * (age + code)) for age in range(4) for code in range(4)
    }
    for (age, code), (x, y) in place.items():
        parts += [line(x, y, *place[above]) for above in ((age + 1, code), (age, code + 1)) if above in place]
    for node, (x, y) in place.items():
        colour = COLORS[2] if node in kept else COLORS[1]
        parts += [
            bar(x - 34, y - 12, 68, 24, "white"),
            bar(x - 34, y - 12, 68, 24, colour, opacity=0.8 if node == found.chosen else 0.25),
        ]
        parts.append(
            text(
                x,
                y + 4,
                f"age {node[0]}, zip {node[1]}",
                size=11,
                at="middle",
                color="white" if node == found.chosen else INK,
            )
        )
    parts += [
        text(16, 30, "green: keeps k = 5", size=12, color=COLORS[2]),
        text(16, 48, "red: does not", size=12, color=COLORS[1]),
    ]
    parts += [text(16, 66, "dark: loses least of those", size=12, color=COLORS[2])]
    return page(
        "The lattice of four levels of age and zip: upwards is coarser, and what keeps k = 5 lies above",
        660,
        364,
        parts,
    )


def shapes() -> str:
    """Draw the classes of three anonymizers on the same points."""
    draw = np.random.default_rng(3)
    points = np.clip(
        np.concatenate([draw.normal((0.3, 0.35), 0.12, (45, 2)), draw.normal((0.7, 0.7), 0.12, (45, 2))]), 0, 0.999
    ).round(3)
    frame = pl.DataFrame({"x": points[:, 0], "y": points[:, 1]})
    grids = {name: sf.intervals(0.125, 0.25, 0.5) for name in "xy"}
    parts = list[str]()
    for place, (name, anonymizer, quasi) in enumerate(
        (
            ("mondrian: cuts", sf.Mondrian(), ["x", "y"]),
            ("k-member: neighbours", sf.KMember(), ["x", "y"]),
            ("optimal: one grid", sf.Optimal(), grids),
        )
    ):
        release = release_of(frame, 5, quasi, [], anonymizer=anonymizer)
        left = 16 + 226.0 * place
        parts += [text(left, 24, name, bold=True), line(left, 246, left + 210, 246), line(left, 36, left, 246)]
        for number, (x, y) in enumerate(
            release.data.select("x", "y").unique(maintain_order=True).cast(pl.String).iter_rows()
        ):
            (x_low, x_high), (y_low, y_high) = _ends(x), _ends(y)
            colour = COLORS[number % len(COLORS)]
            parts.append(
                bar(
                    left + 210 * x_low,
                    246 - 210 * y_high,
                    max(2.0, 210 * (x_high - x_low)),
                    max(2.0, 210 * (y_high - y_low)),
                    colour,
                    opacity=0.3,
                )
            )
        parts += [dot(left + 210 * x, 246 - 210 * y, INK, radius=1.8) for x, y in points.tolist()]
    return page(
        "Classes of ninety points, k = 5: Mondrian's cuts, k-member's neighbours, one grid for all", 710, 260, parts
    )


def _ends(label: str) -> tuple[float, float]:
    """Return the ends of a published cell of numbers from 0 to 1."""
    numbers = [float(number) for number in re.findall(r"[0-9.]*[0-9]", label.replace("..", " "))]
    return (0.0, 1.0) if label == "*" else (min(numbers), max(numbers))


def bounds() -> str:
    """Draw the mean age of each disease as a recipient bounds it, and as it was."""
    frame = patients()
    release = release_of(frame, 5, ["age", "sex", "zip"], ["disease"])
    opened = sf.open_release(release)
    found, parts = opened.mean("age", by="disease"), list[str]()
    true = dict(frame.group_by("disease").agg(pl.col("age").mean()).iter_rows())
    for place, row in enumerate(found.iter_rows(named=True)):
        y, at = 28 + 28.0 * place, lambda age: 130 + 14 * (age - 35)
        parts += [
            text(120, y + 4, row["disease"], size=12, at="end"),
            line(at(row["low"]), y, at(row["high"]), y, COLORS[0], width=6),
        ]
        parts += [
            dot(at(row["estimate"]), y, COLORS[0], radius=5),
            line(at(true[row["disease"]]), y - 9, at(true[row["disease"]]), y + 9, COLORS[1], width=2.5),
        ]
    low = 34 + 28.0 * found.height
    for age in range(35, 71, 5):
        parts.append(text(130 + 14 * (age - 35), low + 8, age, size=11, color=SOFT, at="middle"))
    parts += [
        text(130, low + 30, "bar: ends from the release;  dot: its estimate;", size=12, color=COLORS[0]),
        text(420, low + 30, "line: the original's mean", size=12, color=COLORS[1]),
    ]
    return page(
        "Mean age by disease: ends and estimate from the release, and the mean of the original", 660, low + 44, parts
    )


PICTURES: dict[str, Callable[[], str]] = {
    "missing-values": missing_values,
    "own-k": own_k,
    "households": households,
    "one-person": one_person,
    "roles": roles,
    "identifiers": identifiers,
    "baskets": baskets,
    "films": films,
    "hierarchy": hierarchy,
    "k-and-loss": k_and_loss,
    "suppression": suppression,
    "declared": declared,
    "lattice": lattice,
    "shapes": shapes,
    "bounds": bounds,
}
"""File name without ending → what draws it."""


if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        (Path(__file__).parent / f"{name}.svg").write_text(PICTURES[name](), encoding="utf-8")
