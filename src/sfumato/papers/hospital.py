"""A synthetic hospital and a synthetic public register of the same town. Nobody in them exists.

Ages, places, occupations and diseases follow invented but lifelike distributions and depend on each other, so that the
tables behave like real ones under attack: most people are unique in their combination of ordinary facts. Names are
ordinary first names, and surnames made of syllables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Progress, silent
from sfumato.errors import InputError
from sfumato.evaluation.attacks.linking_attack import LinkageResult, fitting_records, linking_attack
from sfumato.hierarchy import groups, prefixes
from sfumato.models import EntropyLDiversity, KAnonymity
from sfumato.models.protocol import PrivacyModel
from sfumato.policy.policy import Policy
from sfumato.recoding.choice import Recoding
from sfumato.release.anonymize import anonymize
from sfumato.release.release import Release
from sfumato.table.reading import read_table
from sfumato.table.schema import Attribute, Kind, Schema

_IN_REGISTER = 0.6
"""Share of the patients who are also in the public register; children never are."""

_OTHERS = 0.4
"""People in the register who are not patients, per patient."""

VOTING_AGE = 18
_OLDEST = 98

_SEXES = ("female", "male")
MARITAL = ("single", "married", "separated", "divorced", "widowed")
OCCUPATIONS = {
    "health and schools": ("nurse", "physician", "researcher", "teacher"),
    "crafts and transport": ("builder", "driver", "electrician", "farmer", "mechanic"),
    "office and sales": ("accountant", "clerk", "engineer", "sales assistant"),
    "not in paid work": ("child", "homemaker", "retired", "student", "unemployed"),
}

HOSPITAL_SCHEMA = Schema(
    identifying=["name"],
    quasi_identifying={
        "age": Attribute(kind=Kind.NUMERIC),
        "sex": Attribute(kind=Kind.CATEGORICAL),
        "zip": Attribute(kind=Kind.CATEGORICAL, hierarchy=prefixes(4, 3, 2, 0)),
        "marital_status": Attribute(
            kind=Kind.CATEGORICAL,
            hierarchy=groups(
                {"living alone": ("single", "separated", "divorced", "widowed"), "living as a couple": ("married",)}
            ),
        ),
        "occupation": Attribute(kind=Kind.CATEGORICAL, hierarchy=groups(OCCUPATIONS)),
    },
    sensitive={"disease": Attribute(kind=Kind.CATEGORICAL)},
    insensitive=["visit_count"],
)
"""Roles and hierarchies for the hospital."""

# Disease, frequency at its peak, age of the peak, spread in years, frequency among women ÷ among men.
_DISEASES = (
    ("hypertension", 9.0, 68, 18, 0.95),
    ("back pain", 7.0, 50, 20, 1.05),
    ("bronchitis", 6.0, 30, 45, 1.0),
    ("diabetes", 6.0, 64, 16, 0.8),
    ("gastritis", 5.5, 42, 20, 1.1),
    ("asthma", 5.0, 14, 22, 0.9),
    ("depression", 5.0, 38, 18, 1.8),
    ("heart failure", 5.0, 80, 11, 0.85),
    ("fracture", 4.5, 40, 60, 0.9),
    ("cancer", 4.0, 70, 15, 0.95),
    ("arthritis", 4.0, 72, 14, 1.7),
    ("appendicitis", 3.0, 18, 14, 0.8),
    ("migraine", 3.0, 36, 14, 2.6),
    ("stroke", 2.5, 78, 11, 0.9),
    ("hepatitis", 1.2, 40, 16, 0.7),
    ("HIV", 0.6, 37, 11, 0.35),
)
DISEASES = tuple(name for name, *_ in _DISEASES)

_DISTRICTS = ("003", "004", "006", "010", "014", "019", "021", "027")
_ENDINGS = ("01", "02", "03", "07", "11", "12", "14", "18", "20", "25", "33", "46")
_WORK = tuple(work for group in list(OCCUPATIONS.values())[:-1] for work in group)
_HOME = {name: len(_WORK) + place for place, name in enumerate(OCCUPATIONS["not in paid work"])}
_ALL_WORK = (*_WORK, *_HOME)


class Hospital(NamedTuple):
    """The two synthetic tables; nobody in them exists."""

    # the hospital's table: name, age (years), sex, zip (five digits as text), marital_status, occupation, disease,
    # visit_count
    patients: pl.DataFrame
    register: pl.DataFrame  # the public register: name, age, sex, zip, marital_status, occupation of the town's voters


def hospital(patients: int = 20_000, *, seed: int | None = None) -> Hospital:
    """Make a synthetic hospital table and a public register that overlaps it.

    Six in ten patients are in the register, with the same values; so are people who never were patients. The register
    has as many rows as the hospital table (a few less if many patients are children, who are in no register). Names are
    invented and unique. Rows are in random order. `patients`: rows of the hospital table, 1 or more. `seed`: the same
    seed gives the same tables; None gives new ones each time. Returns: the named pair (patients, register). Raises
    ``InputError`` when `patients` is not a whole number for which there are enough names. Cost O(patients · diseases).
    """
    others = _others(patients)
    generator = np.random.default_rng(seed)
    town = _people(patients, others, generator)
    treated = town.head(patients).with_columns(
        pl.Series("disease", _diseases(town.head(patients), generator)),
        pl.Series("visit_count", 1 + generator.poisson(0.4 + town["age"].head(patients).to_numpy() / 40)),
    )
    return Hospital(treated, _register(town, patients, generator))


def _others(patients: int) -> int:
    largest = int(_LARGEST_TOWN / (1 + _OTHERS))
    if not isinstance(patients, int) or isinstance(patients, bool) or not 1 <= patients <= largest:
        raise InputError(f"patients: must be a whole number from 1 to {largest}")
    return round(_OTHERS * patients)


def _people(patients: int, others: int, generator: np.random.Generator) -> pl.DataFrame:
    """Make patients first, then voters who are not patients."""
    count = patients + others
    sex = (generator.random(count) < np.repeat([0.47, 0.49], [patients, others])).astype(np.int64)
    age = np.concatenate([_patient_ages(patients, generator), _voter_ages(others, generator)])
    return pl.DataFrame(
        {
            "name": _synthetic_names(sex, generator),
            "age": age,
            "sex": pl.Series(_SEXES).gather(sex),
            "zip": _places(age, generator),
            "marital_status": pl.Series(MARITAL).gather(_marital(age, generator)),
            "occupation": pl.Series(_ALL_WORK).gather(_occupations(age, sex, generator)),
        }
    )


def _register(town: pl.DataFrame, patients: int, generator: np.random.Generator) -> pl.DataFrame:
    adults = np.flatnonzero(town["age"].head(patients).to_numpy() >= VOTING_AGE)
    known = generator.permutation(adults)[: round(_IN_REGISTER * patients)]
    rows = generator.permutation(np.concatenate([known, np.arange(patients, town.height)]))
    return town[rows]


def _patient_ages(count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw ages: few children, many people past middle age."""
    stage = generator.choice(4, size=count, p=[0.09, 0.29, 0.3, 0.32])
    middle = np.array([4.0, 33.0, 55.0, 74.0])[stage]
    spread = np.array([6.0, 9.0, 8.0, 9.0])[stage]
    return np.clip(np.abs(generator.normal(middle, spread)), 0, _OLDEST).astype(np.int64)


def _voter_ages(count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    ages = VOTING_AGE + generator.triangular(0, 22, _OLDEST - VOTING_AGE, size=count)
    return ages.astype(np.int64)


def _places(age: NDArray[np.int64], generator: np.random.Generator) -> pl.Series:
    """Draw zip codes of very unequal size: the young are more often in the first districts, the old in the last."""
    crowd = 1.0 / np.arange(1.0, len(_DISTRICTS) + 1) ** 0.7
    lean = np.linspace(-1.0, 1.0, len(_DISTRICTS))
    district = _drawn(crowd * np.exp(np.outer((age - 45.0) / 60.0, lean)), generator)
    size = 1.0 / np.arange(1.0, len(_ENDINGS) + 1) ** 0.8
    ending = generator.choice(len(_ENDINGS), size=len(age), p=size / size.sum())
    return pl.select(
        pl.concat_str(pl.Series(_DISTRICTS).gather(district), pl.Series(_ENDINGS).gather(ending))
    ).to_series()


def _marital(age: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    grown = (age >= VOTING_AGE).astype(float)
    single = np.where(age < VOTING_AGE, 1.0, 0.1 + np.exp(-(age - VOTING_AGE) / 9.0))
    married = grown * 0.75 * (1 - np.exp(-(age - VOTING_AGE).clip(0) / 10.0))
    widowed = grown * 0.9 / (1 + np.exp(-(age - 80.0) / 7.0))
    return _drawn(np.column_stack([single, married, 0.04 * married, 0.17 * married, widowed]), generator)


def _occupations(age: NDArray[np.int64], sex: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw occupations: paid work for most between 18 and 66, by sex; school before, retirement after."""
    common = np.array([9, 2, 2, 7, 8, 7, 4, 2, 6, 4, 10, 6, 9], dtype=float)
    lean = np.array([0.8, 0, 0, 0.6, -1.2, -0.9, -1.2, -0.4, -1.2, 0.1, 0.5, -0.6, 0.5])
    work = _drawn(common * np.exp(np.outer(0.5 - sex, lean)), generator)
    chance = generator.random(len(age))
    work[chance < 0.06] = _HOME["unemployed"]
    work[(chance > 0.86) & (sex == 0) | (chance > 0.98)] = _HOME["homemaker"]
    work[(age < 26) & (chance < 0.6)] = _HOME["student"]
    work[(age >= 60) & (chance < (age - 58) / 9.0)] = _HOME["retired"]
    work[age < VOTING_AGE] = _HOME["student"]
    work[age < 6] = _HOME["child"]
    return work


def _diseases(people: pl.DataFrame, generator: np.random.Generator) -> pl.Series:
    age = people["age"].to_numpy()[:, None]
    women = (people["sex"] == _SEXES[0]).to_numpy()[:, None]
    _, common, peak, spread, ratio = (np.array(column) for column in zip(*_DISEASES, strict=True))
    weight = common * (0.03 + np.exp(-0.5 * ((age - peak) / spread) ** 2))
    return pl.Series(DISEASES).gather(_drawn(weight * np.where(women, np.sqrt(ratio), 1 / np.sqrt(ratio)), generator))


def _drawn(weights: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw a column for every row, with chances in proportion to the row's weights."""
    steps = np.cumsum(weights, axis=1)
    mark = generator.random(len(weights)) * steps[:, -1]
    drawn: NDArray[np.int64] = (steps <= mark[:, None]).sum(axis=1)
    return drawn.clip(max=weights.shape[1] - 1)


_FIRST = (
    "Ada Alma Amira Anna Beth Carla Celia Dora Edith Elena Emma Esther Fiona Freya Greta Hana Helen Ida Ines Iris "
    "Jana Judith Karin Laila Lena Lucia Maria Marta Mina Nadia Nora Olga Paula Petra Rosa Ruth Sara Selma Sofia Vera",
    "Adam Albert Anton Arthur Ben Boris Carl Daniel David Emil Eric Felix Frank Georg Hamid Hans Henry Hugo Ivan Jakob "
    "Jan Jonas Karim Leo Louis Lucas Marco Martin Max Milan Noah Omar Oscar Otto Paul Peter Ralph Samir Simon Victor",
)
_STARTS = "Bal Bren Cal Cor Dan Del Dor Ebb El Fal Fen Gar Gil Hal Hol Ist Jor Kal Kel Lan Lor Mal Mer Nor Oll Pal Pel "
_STARTS += "Quin Ral Ros Sal Sel Tal Tor Ulm Val Ven Wal Wen Yar"
_MIDDLES = (
    "a ab al am an ar ad eb ed el em en er et i ib id il im in ir is it ob od ol om on or ot u ub ud ul um un ur "
)
_MIDDLES += "us ut y"
_ENDS = "bach berg bourne brook by dahl den field ford gate ham hart horn ing land ley lund man mere mond moor ner "
_ENDS += "quist rick son stad stone ton well wood"

_SYLLABLES = tuple(tuple(part.split()) for part in (_STARTS, _MIDDLES, _ENDS))
_INITIALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_LARGEST_TOWN = len(_INITIALS) * int(np.prod([len(part) for part in _SYLLABLES]))
"""Most people who can have a name of their own."""


def _synthetic_names(sexes: NDArray[np.integer], generator: np.random.Generator) -> pl.Series:
    """Give everybody a name that nobody else has; `sexes`: integer (n,), 0 women, 1 men; n ≤ `LARGEST_TOWN`."""
    first = generator.integers(0, len(_FIRST[0].split()), size=len(sexes))
    keys = generator.choice(_LARGEST_TOWN, size=len(sexes), replace=False)
    keys, initial = np.divmod(keys, len(_INITIALS))
    women, men = (pl.Series(names.split()).gather(first) for names in _FIRST)
    surname = []
    for part in _SYLLABLES:
        keys, place = np.divmod(keys, len(part))
        surname.append(pl.Series(part).gather(place))
    return pl.select(
        pl.concat_str(
            pl.when(pl.Series(sexes == 0)).then(women).otherwise(men),
            pl.lit(" "),
            pl.Series(list(_INITIALS)).gather(initial),
            pl.lit(". "),
            *surname,
        ).alias("name")
    ).to_series()


MODELS: tuple[PrivacyModel, ...] = (KAnonymity(5), EntropyLDiversity(3))
"""At least five equal records, whose diseases are as uncertain as three equally frequent ones."""

_ANONYMIZER = Mondrian()
"""The defaults, as a new user would run it."""


@dataclass(frozen=True, eq=False, repr=False)
class LinkingStudy:
    """A hospital's table, attacked before and after publishing."""

    town: Hospital
    policy: Policy  # the policy that `release` was made with
    release: Release
    # `before`, `after`: the attack on the patients without their names, and on the release
    before: LinkageResult
    after: LinkageResult
    person: pl.DataFrame  # one row of the register: somebody whose disease is disclosed before
    # `records_before`, `records_after`: records that fit this person
    records_before: pl.DataFrame
    records_after: pl.DataFrame


def linking_study(town: Hospital, *, seed: int | None = None, progress: Progress = silent) -> LinkingStudy:
    """Attack a synthetic hospital, publish it with k = 5 and entropy 3-diversity, and attack the release."""
    nameless = town.patients.drop(HOSPITAL_SCHEMA.identifying)
    table = read_table(town.patients, HOSPITAL_SCHEMA)
    policy = Policy.of(HOSPITAL_SCHEMA, MODELS, _ANONYMIZER, Recoding(), suppression_limit=0.0)
    release = anonymize(table, policy, seed=seed, progress=progress)
    before, after = (
        linking_attack(published, town.register, HOSPITAL_SCHEMA, truth=town.patients)
        for published in (nameless, release.data)
    )
    person = _given_away(town)
    records = [fitting_records(published, person, HOSPITAL_SCHEMA) for published in (nameless, release.data)]
    return LinkingStudy(town, policy, release, before, after, person, *records)


def _given_away(town: Hospital) -> pl.DataFrame:
    """Take the first patient of the register whose values no other patient has, or the first of all."""
    known = list(HOSPITAL_SCHEMA.quasi_identifying)
    alone = town.patients.filter(~pl.struct(known).is_duplicated()).select(HOSPITAL_SCHEMA.identifying)
    found = town.register.join(alone, on=HOSPITAL_SCHEMA.identifying, how="semi", maintain_order="left")
    return (found if found.height else town.register).head(1)
