"""The linking study: the same attack on a table with only the names removed, and on its release."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Progress, silent
from sfumato.evaluation.attacks.linking_attack import LinkageResult, fitting_records, linking_attack
from sfumato.models import EntropyLDiversity, KAnonymity
from sfumato.models.protocol import PrivacyModel
from sfumato.papers.hospital import HOSPITAL_SCHEMA, Hospital
from sfumato.policy.policy import Policy
from sfumato.recoding.choice import Recoding
from sfumato.release.anonymize import anonymize
from sfumato.release.release import Release
from sfumato.table.reading import read_table

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
    """Attack a synthetic hospital, publish it with k = 5 and entropy 3-diversity, and attack the release.

    `town`: from :func:`~sfumato.papers.hospital.hospital`. `seed`: for repeatable studies; None draws from the
    operating system. `progress`: called with (what, done, total) while the release is made. Raises
    ``UnsatisfiableError`` when there are too few patients.
    """
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
