"""Releases of the excerpts of the American Community Survey beside published kinds of methods.

``SDNIST=/env/bin/python python -m benchmarks.board OUT.csv`` makes every release that is not in the file yet, and lets
the public report's own measures judge it (:mod:`benchmarks.board_report`); with ``--all`` releases of all features of
three regions. The folder ``acs_excerpts_2019`` is looked for where ``SFUMATO_DATA`` says.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.recoding.parsing import written_ends
from sfumato.table.schema import Kind

DEMOGRAPHIC = ("AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE")
"""Features of the benchmark's own subset of that name, on which most methods were published."""

NUMBERS = {"AGEP": (0, 99), "EDU": (0, 12), "PINCP_DECILE": (-1, 9)}
"""Columns that are ranges in a release, and their declared ends; the lowest of the last two means N."""

MISSING = {"EDU": 0, "PINCP_DECILE": -1}

REGIONS = ("national", "ma", "tx")
OPEN_NUMBERS = ("AGEP", "NOC", "NPF", "PINCP", "POVPIP", "PWGTP", "WGTP")
"""Columns of all features that are ranges in a release; N is a missing value there."""
FOLLOWING = {"DENSITY": "PUMA", "INDP_CAT": "INDP"}
"""Features that another one decides: public lists say how."""


def original() -> pl.DataFrame:
    """Read the national table as texts, but for columns of numbers that a release may make ranges of."""
    path = Path(os.environ["SFUMATO_DATA"]) / "acs_excerpts_2019" / "national2019.csv.gz"
    frame = pl.read_csv(path, infer_schema_length=0)
    return frame.with_columns(
        pl.when(pl.col(name) == "N").then(pl.lit(str(MISSING.get(name)))).otherwise(name).cast(pl.Int64).alias(name)
        for name in NUMBERS
    )


def of_all_features(region: str, k: int) -> pl.DataFrame:
    """Draw one value from each cell of classes of k people, all features quasi-identifying, as texts."""
    path = Path(os.environ["SFUMATO_DATA"]) / "acs_excerpts_2019" / f"{region}2019.csv.gz"
    whole = pl.read_csv(path, infer_schema_length=0)
    shown = whole.drop(FOLLOWING).with_columns(pl.col(*OPEN_NUMBERS).replace("N", None).cast(pl.Float64).cast(pl.Int64))
    kinds = {name: sf.Attribute("numeric" if name in OPEN_NUMBERS else "categorical") for name in shown.columns}
    table = sf.read_table(shown, sf.Schema(quasi_identifying=kinds))
    made = sf.anonymize(table, [sf.KAnonymity(k)], seed=1).draw(seed=1).data
    made = made.with_columns(pl.col(*OPEN_NUMBERS).cast(pl.Int64)).select(pl.all().cast(pl.String).fill_null("N"))
    for name, decided in FOLLOWING.items():
        made = made.join(whole.select(decided, name).unique(decided), on=decided, how="left", maintain_order="left")
    return made.select(whole.columns)


def in_domain(frame: pl.DataFrame) -> pl.DataFrame:
    """Write a release's values as the original has them: within declared ends, and N where it stands for them."""
    return frame.select(
        pl.when(pl.col(name) <= MISSING[name]).then(pl.lit("N")).otherwise(_within(name)).alias(name)
        if name in MISSING and name in NUMBERS
        else _within(name) if name in NUMBERS else pl.col(name).cast(pl.String)
        for name in frame.columns
    )  # fmt: skip


def _within(name: str) -> pl.Expr:
    return pl.col(name).clip(*NUMBERS[name]).cast(pl.Int64).cast(pl.String)


def table_of(names: tuple[str, ...], sensitive: tuple[str, ...] = ()) -> sf.Table:
    """Return the table with all columns quasi-identifying, but for sensitive ones."""
    kinds = {name: sf.Attribute("numeric" if name in NUMBERS else "categorical") for name in names}
    quasi = {name: kind for name, kind in kinds.items() if name not in sensitive}
    schema = sf.Schema(quasi_identifying=quasi, sensitive={name: kinds[name] for name in sensitive})
    return sf.read_table(original().select(names), schema)


def drawn(k: int, anonymizer: sf.Anonymizer | None = None, names: tuple[str, ...] = DEMOGRAPHIC) -> pl.DataFrame:
    """Draw one value from each cell of classes of k people."""
    models = [sf.KAnonymity(k)]
    given = {} if anonymizer is None else {"anonymizer": anonymizer}
    return sf.anonymize(table_of(names), models, seed=1, **given).draw(seed=1).data


def sliced(diverse: int) -> pl.DataFrame:
    """Take rows of slices as records: in each bucket every column of attributes is permuted by itself."""
    table = table_of(DEMOGRAPHIC, ("PINCP_DECILE",))
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(diverse), anonymizer=sf.Slicing(), seed=1)
    return release.published.data.select(DEMOGRAPHIC)


def sampled(epsilon: float) -> pl.DataFrame:
    """Publish a private sample, and draw one value from each of its cells by what is declared."""
    frame = original().select(DEMOGRAPHIC)
    words = json.loads((Path(os.environ["SFUMATO_DATA"]) / "acs_excerpts_2019" / "data_dictionary.json").read_text())
    domains = {name: list(words[name]["values"]) for name in DEMOGRAPHIC if name not in NUMBERS}
    widths = {"AGEP": (5, 10, 50), "EDU": (3, 6), "PINCP_DECILE": (2, 4)}
    quasi = {
        name: sf.Attribute("numeric", hierarchy=sf.intervals(*widths[name]), domain=NUMBERS[name])
        if name in NUMBERS
        else sf.Attribute("categorical", domain=tuple(domains[name]))
        for name in DEMOGRAPHIC
    }
    model = sf.noisy_counts.DifferentialPrivacy(epsilon=epsilon, delta=1e-5)
    release = sf.private_sample.publish_private_sample(sf.read_table(frame, sf.Schema(quasi_identifying=quasi)), model)
    rng = np.random.default_rng(1)
    shown = release.published.data.with_columns(pl.all().cast(pl.String))
    return pl.DataFrame([_numbers(shown[name], rng) if name in NUMBERS else _members(shown[name], domains[name], rng)
                         for name in quasi])  # fmt: skip


def _numbers(labels: pl.Series, rng: np.random.Generator) -> pl.Series:
    """Draw a whole number of each range of a private sample, within the declared ends."""
    first, last = NUMBERS[labels.name]
    low, high, half_open = written_ends(labels, Kind.NUMERIC)
    ends = np.where(np.isnan(low), first, low), np.where(np.isnan(high), last, high - half_open)
    drawn_ones = rng.integers(np.maximum(ends[0], first).astype(int), np.minimum(ends[1], last).astype(int) + 1)
    return pl.Series(labels.name, drawn_ones)


def _members(labels: pl.Series, values: list[str], rng: np.random.Generator) -> pl.Series:
    return labels.replace_strict({"*": None}, default=labels).fill_null(pl.Series(rng.choice(values, len(labels))))


RELEASES: dict[str, Callable[[], pl.DataFrame]] = {
    "drawn inside classes, k = 6, Mondrian": lambda: drawn(6, sf.Mondrian()),
    "drawn inside classes, k = 6, default": lambda: drawn(6),
    "drawn inside classes, k = 20, default": lambda: drawn(20),
    "slices, l = 2": lambda: sliced(2),
    "private sample, epsilon 1": lambda: sampled(1.0),
    "private sample, epsilon 10": lambda: sampled(10.0),
}


ALL_FEATURES: dict[str, Callable[[], pl.DataFrame]] = {
    f"{region}, drawn inside classes, k = {k}": lambda region=region, k=k: of_all_features(region, k)
    for region in REGIONS
    for k in (2, 6)
}


def main() -> None:
    """Make and judge what the file does not have yet, one after the other."""
    out, source = Path(sys.argv[1]), Path(os.environ["SFUMATO_DATA"]) / "acs_excerpts_2019"
    everything = "--all" in sys.argv
    rows = pl.read_csv(out).to_dicts() if out.exists() else []
    for name, make in (ALL_FEATURES if everything else RELEASES).items():
        if name in {row["release"] for row in rows}:
            continue
        start = time.process_time()
        made = make() if everything else in_domain(make())
        seconds = time.process_time() - start
        region = name.partition(",")[0] if everything else "national"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "release.csv"
            made.write_csv(path)
            script = [os.environ["SDNIST"], str(Path(__file__).with_name("board_report.py"))]
            said = subprocess.run([*script, path, source, Path(folder) / "root", region], capture_output=True)
        if said.returncode:
            raise SystemExit(said.stderr.decode())
        found = json.loads(said.stdout.decode().splitlines()[-1])
        rows.append({"release": name, "seconds": round(seconds, 1), **found, "dropped": " ".join(found["dropped"])})
        pl.DataFrame(rows).write_csv(out)
        print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
