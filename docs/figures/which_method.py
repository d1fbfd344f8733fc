"""Compares methods on nine real tables; ``python docs/figures/which_method.py`` writes what the guide shows.

Three questions, each asked of five random samples of at most 1,000 records with fixed seeds: k-anonymity without
hierarchies, k-anonymity with them, and l-diversity by different kinds of release. Every release of a sample answers the
same random counts. ``which-method-*.csv`` keep the figures; drawings and tables of the guide are made from it alone:
``python docs/figures/which_method.py --draw``. The tables are looked for in the folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

import sfumato as sf
from sfumato.drawing import canvas, style_of, svg_of

HERE = Path(__file__).parent
RECORDS, QUERIES, SEEDS = 1_000, 200, (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Source:
    """A real table: where it lies, who could be recognized by what, and how to coarsen that."""

    file: str
    quasi: Sequence[str]
    sensitive: str | None = None
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    separator: str = ","
    names: Sequence[str] = ()

    def table(self, data: Path, *, coarser: bool = False, seed: int = 1) -> sf.Table:
        """Read a sample, with hierarchies or without."""
        columns = [*self.quasi, *([self.sensitive] if self.sensitive else [])]
        frame = pl.read_csv(
            data / self.file,
            separator=self.separator,
            infer_schema_length=None,
            null_values=["NA"],
            has_header=not self.names,
            new_columns=list(self.names) or None,
        ).select(columns)
        frame = frame.with_columns(pl.col(pl.String).str.strip_chars())
        sample = frame.sample(min(RECORDS, frame.height), seed=seed)
        ways = {name: self.hierarchies.get(name) if coarser else None for name in self.quasi}
        # Codes of diagnoses are texts, though most of them look like numbers.
        text = sf.Attribute(kind="categorical")
        sensitive = {name: text if sample.schema[name] == pl.String else None for name in columns[len(self.quasi) :]}
        return sf.read_table(sample, sf.Schema(quasi_identifying=ways, sensitive=sensitive))


AGE = sf.intervals(5, 10, 20, 40)
SOURCES = {
    "Adult": Source(
        "adult/arx_adult.csv",
        ("age", "sex", "race", "marital-status", "education", "native-country", "workclass"),
        "occupation",
        {"age": AGE},
        separator=";",
    ),
    "NHANES": Source(
        "nhanes/NHANESraw.csv.gz",
        ("Age", "Gender", "Race1", "Education", "MaritalStatus", "Weight", "Height"),
        "HHIncome",
        {"Age": AGE, "Weight": sf.intervals(5, 20, 60), "Height": sf.intervals(5, 20, 60)},
    ),
    "Diabetes": Source(
        "diabetes130/diabetic_data.csv.gz",
        ("age", "gender", "race", "admission_type_id", "discharge_disposition_id", "time_in_hospital"),
        "diag_1",
        {"time_in_hospital": sf.intervals(2, 6, 12), "discharge_disposition_id": sf.intervals(5, 15)},
    ),
    "Poland": Source(
        "SD2011/SD2011.csv",
        ("age", "sex", "placesize", "region", "edu", "marital", "height", "weight"),
        "socprof",
        {"age": AGE, "height": sf.intervals(5, 20, 60), "weight": sf.intervals(5, 20, 60)},
    ),
    "Bank": Source(
        "bank_marketing/bank-full.csv.gz",
        ("age", "marital", "education", "housing", "loan", "day", "month"),
        "job",
        {"age": AGE, "day": sf.intervals(5, 10, 20)},
        separator=";",
    ),
    "Credit": Source(
        "german_credit/german.csv",
        ("age", "personal_status", "employment", "housing", "skill_level", "residence_since"),
        "purpose",
        {"age": AGE, "residence_since": sf.intervals(2, 4)},
    ),
    "Students": Source(
        "student_por/student-por.csv",
        ("age", "sex", "school", "address", "famsize", "Medu", "Fedu", "Mjob", "Fjob"),
        "G3",
        {"age": sf.intervals(2, 4), "Medu": sf.intervals(2, 4), "Fedu": sf.intervals(2, 4)},
    ),
    "Motor": Source(
        "beMTPL97/beMTPL97.csv.gz",
        ("ageph", "sex", "fuel", "use", "power", "agec", "postcode"),
        "bm",
        {
            "ageph": AGE,
            "power": sf.intervals(10, 40, 120),
            "agec": sf.intervals(2, 6, 12),
            "postcode": sf.intervals(100, 1000, 4000),
        },
    ),
    "Income": Source(
        "casc_census/Census.csv",
        ("AGI", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC", "WSALVAL"),
    ),
}


@dataclass(frozen=True)
class Question:
    """What is compared, on which tables, at which values of one parameter."""

    ways: Mapping[str, Any]
    vary: str
    values: Sequence[int]
    models: Sequence[Any] = ()
    hierarchies: bool = False
    suppression: float = 0.0

    def tables(self) -> list[str]:
        """Name the tables that it can be asked of."""
        if self.hierarchies:
            return [name for name, source in SOURCES.items() if source.hierarchies]
        return [name for name, source in SOURCES.items() if self.vary != "l" or source.sensitive]


K = (2, 5, 10, 20)
QUESTIONS = {
    "free": Question(
        {
            "mondrian": sf.Mondrian(),
            "k-member": sf.KMember(),
            "mdav": sf.MDAV(),
            "sbc": sf.SBC(),
            "global-mondrian": sf.GlobalMondrian(),
            "value-generalization": sf.ValueGeneralization(),
        },
        "k",
        K,
    ),
    "hierarchies": Question(
        {
            "mondrian": sf.Mondrian(),
            "k-member": sf.KMember(),
            "optimal": sf.Optimal(),
            "optimal, local": sf.Optimal(local_recoding=True),
            "datafly": sf.Datafly(),
        },
        "k",
        K,
        hierarchies=True,
        suppression=0.02,
    ),
    "diversity": Question(
        {
            "mondrian": sf.Mondrian(),
            "bucketization": sf.Bucketization(),
            "bucketization, random": sf.Bucketization(members="random"),
            "slicing": sf.Slicing(),
        },
        "l",
        (2, 3, 4, 5),
        [sf.ProbabilisticLDiversity(2)],
    ),
}


def measure(data: Path, asked: str) -> pl.DataFrame:
    """Make every release of one question and measure it."""
    question = QUESTIONS[asked]
    parts = []
    for name, seed in product(question.tables(), SEEDS):
        found = sf.compare(
            table := SOURCES[name].table(data, coarser=question.hierarchies, seed=seed),
            sf.Policy.of(table.schema, question.models, sf.Mondrian(), sf.Recoding(), question.suppression),
            anonymizers=question.ways,
            vary={question.vary: question.values},
            figures=sf.Figures(QUERIES),
            seed=seed,
        ).frame
        parts.append(_kept(found, name, question.vary, seed))
        pl.concat(parts, how="diagonal").write_csv(_results(asked))
        print(f"{asked}: {name}, seed {seed}", file=sys.stderr, flush=True)
    return pl.concat(parts, how="diagonal")


def _results(asked: str) -> Path:
    return HERE / f"which-method-{asked}.csv"


def _kept(found: pl.DataFrame, name: str, vary: str, seed: int) -> pl.DataFrame:
    """Keep what the guide shows; how long it took depends on the machine, so seconds stay as one digit."""
    figures = [column for column in ("loss", "count_error", "cpu_seconds") if column in found.columns]
    return found.select(
        pl.lit(name).alias("table"),
        pl.lit(seed).alias("seed"),
        "anonymizer",
        pl.col(vary).alias("value"),
        "status",
        *(pl.col(figure).round_sig_figs(1 if figure == "cpu_seconds" else 4) for figure in figures),
    )


def page_table(results: pl.DataFrame, asked: str, figure: str, value: int) -> str:
    """Write medians and ranges of one figure at one value: a row for each table, the best way (and equals) in bold."""
    question = QUESTIONS[asked]
    rows = results.filter(value=value)
    lines = [f"| | {' | '.join(question.ways)} |", f"|---|{'---|' * len(question.ways)}"]
    for name in question.tables():
        found = {way: rows.filter(table=name, anonymizer=way)[figure].drop_nulls() for way in question.ways}
        best = min((f"{one.median():.1%}" for one in found.values() if len(one)), key=_share, default=None)
        lines.append(f"| {name} | {' | '.join(_cell(found[way], best) for way in question.ways)} |")
    return "\n".join(lines)


def _cell(found: pl.Series, best: str | None) -> str:
    if found.is_empty():
        return "–"
    middle = f"{found.median():.1%}"
    low, high = (f"{100 * figure:.1f}" for figure in (found.min(), found.max()))
    return f"{f'**{middle}**' if middle == best else middle} ({low} to {high})"


def _share(percent: str) -> float:
    return float(percent.removesuffix("%"))


def times_the_best(results: pl.DataFrame, figure: str = "count_error") -> pl.DataFrame:
    """Average how many times the best way's figure each way has: geometric mean over the samples that all reached."""
    place = ["table", "seed", "value"]
    complete = pl.col(figure).is_not_null().all().over(place) & (pl.col(figure).min().over(place) > 0)
    ratio = (pl.col(figure) / pl.col(figure).min().over(place)).log()
    return (
        results.filter(complete)
        .with_columns(ratio.alias("times"))
        .group_by("anonymizer", "value", maintain_order=True)
        .agg(pl.col("times").mean().exp(), pl.len().alias("samples"))
    )


def drawing(results: pl.DataFrame, asked: str) -> str:
    """Draw how many times the best way's error of counts each way has."""
    question = QUESTIONS[asked]
    means = times_the_best(results)
    figure, axes = canvas(question.vary, "error of counts, times the lowest (mean over tables)")
    for way in question.ways:
        rows = means.filter(anonymizer=way).sort("value")
        axes.plot(rows["value"], rows["times"], label=way, **style_of(way))
    axes.set_yscale("log")
    axes.set_xticks(question.values, [str(value) for value in question.values])
    axes.minorticks_off()
    heights = [height for height in (1, 1.5, 2, 3, 5, 10, 20) if height <= means["times"].max() * 1.2]
    axes.set_yticks(heights, [f"{height:g}" for height in heights])
    axes.legend(frameon=False, fontsize="small")
    return svg_of(figure, f"which-method-{asked}")


SHOWN = (
    ("free", "count_error", 10),
    ("free", "loss", 10),
    ("hierarchies", "count_error", 10),
    ("diversity", "count_error", 3),
)
"""Question, figure and value of each table of the guide."""
DRAWN = ("free", "diversity")


def write_page_parts(asked: str) -> None:
    """Draw what is kept for a question, and print its tables of the guide."""
    results = pl.read_csv(_results(asked))
    if asked in DRAWN:
        (HERE / f"which-method-{asked}.svg").write_text(drawing(results, asked), encoding="utf-8")
    for _, figure, value in (shown for shown in SHOWN if shown[0] == asked):
        print(f"{figure} at {QUESTIONS[asked].vary} = {value}\n\n{page_table(results, asked, figure, value)}\n")
    print(times_the_best(results).pivot("value", index="anonymizer", values="times"))


if __name__ == "__main__":
    chosen = [word for word in sys.argv[1:] if word in QUESTIONS] or list(QUESTIONS)
    for each in chosen:
        if "--draw" not in sys.argv:
            measure(Path(os.environ["SFUMATO_DATA"]), each)
        write_page_parts(each)
