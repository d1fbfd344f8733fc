"""Reading the population of a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import SfumatoError

if TYPE_CHECKING:
    from sfumato.cli.words import Words
    from sfumato.table.table import Table


def original_people(release: str, population: Path | str, policy: Path | None, words: Words | None = None) -> Table:
    """Read a population of original values by the policy that made a release, or by the release's own."""
    from sfumato.cli.released import policy_file
    from sfumato.cli.words import Words, policy_of
    from sfumato.table.population import population_problems
    from sfumato.table.reading import read_table

    said, file = words or Words(), policy_file(release, policy)
    meant = policy_of(Words(policy=file, hierarchies=said.hierarchies, source=said.source, written=said.written))
    try:
        return read_table(population, meant.without_sensitive())
    except SfumatoError as error:
        raise population_problems(error) from None
