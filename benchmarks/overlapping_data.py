"""Four tables of real people, with the attributes that are sliced and the diversity that each allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import sfumato as sf
from benchmarks.adult import QUASI_IDENTIFYING, read_adult
from benchmarks.results import SkippedJob
from benchmarks.settings import Settings
from sfumato.randomness import permutation

MOST_RECORDS = 6_000
"""Records drawn from a table, anew for every seed."""

_CHAPTERS = (
    ("circulatory", 390, 460),
    ("respiratory", 460, 520),
    ("digestive", 520, 580),
    ("diabetes", 250, 251),
    ("injury", 800, 1000),
    ("musculoskeletal", 710, 740),
    ("genitourinary", 580, 630),
    ("neoplasms", 140, 240),
)
"""ICD-9 codes from the first number up to the second."""

_SYMPTOMS = {785: "circulatory", 786: "respiratory", 787: "digestive", 788: "genitourinary"}
"""Codes of symptoms that belong to these chapters."""


@dataclass(frozen=True)
class Example:
    """A table whose sensitive values are all known, with the diversity that it is sliced for.

    Attributes
    ----------
    name : str
    records : polars.DataFrame
        The quasi-identifying attributes and the sensitive one.
    sensitive : str
    target : str
        The quasi-identifying attribute that classifiers are to predict.
    diversity : float
        The l it is sliced for first: 1/l is not far above the share of the most frequent sensitive value.
    """

    name: str
    records: pl.DataFrame
    sensitive: str
    target: str
    diversity: float

    def drawn(self, seed: int) -> sf.Table:
        """Return at most 6 000 records, without replacement."""
        quasi = [name for name in self.records.columns if name != self.sensitive]
        rows = permutation(self.records.height, seed)[:MOST_RECORDS]
        return sf.read_table(self.records[rows], sf.Schema(quasi_identifying=quasi, sensitive=[self.sensitive]))


def examples(settings: Settings) -> Iterator[Example]:
    """Read the four tables, one after the other."""
    if settings.data is None:
        raise SkippedJob("the real tables are not here; set SFUMATO_DATA to the folder that holds them")
    yield adult(settings.adult_file())
    yield _read(settings.data / "SD2011" / "SD2011.csv", social_diagnosis)
    yield _read(settings.data / "nhanes" / "NHANESraw.csv.gz", nhanes)
    yield _read(settings.data / "diabetes130" / "diabetic_data.csv.gz", diabetes)


def adult(path: Path) -> Example:
    """Adult's complete records; the occupation is sensitive."""
    names = [*(name for name in QUASI_IDENTIFYING if name != "occupation"), "relationship", "occupation"]
    return Example("Adult", read_adult(path).select(names), "occupation", "marital-status", 5)


def social_diagnosis(frame: pl.DataFrame) -> Example:
    """SD2011: a score of depression is sensitive; -8 is no weight or height."""
    numbers = ("height", "weight", "depress")
    frame = frame.with_columns(pl.when(pl.col(name) >= 0).then(pl.col(name)).alias(name) for name in numbers)
    quasi = ("sex", "age", "placesize", "region", "edu", "socprof", "marital", "height", "weight")
    return Example("SD2011", frame.select(*quasi, "depress").drop_nulls("depress"), "depress", "marital", 4)


def nhanes(frame: pl.DataFrame) -> Example:
    """Adults of NHANES; the income of the household is sensitive."""
    quasi = ("Gender", "Age", "Race1", "Education", "MaritalStatus", "Weight", "Height", "HomeOwn", "Work")
    grown = frame.filter(pl.col("Age") >= 20).select(*quasi, "HHIncome").drop_nulls("HHIncome")
    return Example("nhanes", grown, "HHIncome", "MaritalStatus", 5)


def diabetes(frame: pl.DataFrame) -> Example:
    """First stays of diabetes130's patients; the group of the main diagnosis is sensitive."""
    coded = ("admission_type_id", "discharge_disposition_id", "admission_source_id")
    quasi = ("race", "gender", "age", *coded, "medical_specialty", "time_in_hospital")
    frame = frame.unique("patient_nbr", keep="first", maintain_order=True)
    frame = frame.with_columns(pl.col(coded).cast(pl.String)).select(
        pl.col(quasi), diagnosis=pl.col("diag_1").map_elements(diagnosis_group, pl.String)
    )
    frame = frame.with_columns(pl.when(pl.col(pl.String) != "?").then(pl.col(pl.String)))
    return Example("diabetes130", frame.drop_nulls("diagnosis"), "diagnosis", "admission_source_id", 3)


def diagnosis_group(code: str) -> str:
    """Return the group of an ICD-9 code, as those who published diabetes130 made them; "?" for no code."""
    try:
        number = float(code)
    except ValueError:
        return "?" if code == "?" else "other"
    found = (name for name, first, end in _CHAPTERS if first <= number < end)
    return _SYMPTOMS.get(int(number)) or next(found, "other")


def _read(path: Path, example: Callable[[pl.DataFrame], Example]) -> Example:
    if not path.is_file():
        raise SkippedJob(f"{path.parent.name}/{path.name} is not in the folder that SFUMATO_DATA names; put it there")
    return example(pl.read_csv(path, null_values=["NA"], infer_schema_length=None))
