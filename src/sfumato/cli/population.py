"""Reading the population of a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import InputError, SfumatoError

if TYPE_CHECKING:
    from sfumato.cli.words import Words
    from sfumato.table.table import Table


def original_people(release: Path, population: Path, policy: Path | None, words: Words | None = None) -> Table:
    """Read a population of original values by the policy that made a release, or by the release's own."""
    from sfumato.cli.words import Words, policy_of
    from sfumato.release.folder import no_release
    from sfumato.table.population import population_problems
    from sfumato.table.reading import read_table

    if problem := no_release(release):
        raise InputError(problem)
    said = words or Words()
    meant = policy_of(Words(policy=policy or release / "policy.toml", hierarchies=said.hierarchies, source=said.source))
    try:
        return read_table(population, meant.without_sensitive())
    except SfumatoError as error:
        raise population_problems(error) from None
