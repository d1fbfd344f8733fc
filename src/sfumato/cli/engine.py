"""Where the work of ``sfumato anonymize`` is done, and the line that says so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sfumato.cli.outcome import complain
from sfumato.errors import InputError, PolicyError, SfumatoError

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy


@dataclass(frozen=True)
class EngineChoice:
    """What was asked for: an engine, and a bound on the memory."""

    engine: Literal["auto", "memory", "disk", "spark", "spark-workers"]
    memory: str | None
    to_database: bool = False


def brought_here(policy: Policy, *, to_database: bool, bound: bool) -> str | None:
    """Say why a release needs the records of a table on Spark in memory; None where their counts do."""
    from sfumato.release.on_spark import not_on_spark

    reasons = [problem.removeprefix("engine: ").partition(";")[0] for problem in not_on_spark(policy)]
    reasons += ["--bound compares all records with each other"] if bound else []
    reasons += ["it goes into a database"] if to_database else []
    return reasons[0] if reasons else None


def goes_to_disk(choice: EngineChoice, source: str | Path, policy: Policy, *, bound: bool, quiet: bool) -> bool:
    """Tell whether the disk engine makes the release, and why if nobody asked.

    Raises ``PolicyError`` when options contradict. Raises ``InputError`` when it can be made in memory alone, which is
    too small.
    """
    if choice.memory is not None:
        from sfumato.table.large.memory import watch_memory

        watch_memory()
    if choice.engine == "memory":
        if choice.memory is not None:
            raise PolicyError("--memory: bounds the disk engine; leave it out, or leave --engine memory out")
        return False
    if choice.engine == "disk":
        if bound:
            raise PolicyError("--bound: compares all records with each other; leave it out, or use --engine memory")
        if choice.to_database:
            raise PolicyError("--out: the disk engine writes folders; name one, or use --engine memory")
        return True
    from sfumato.table.large.memory import SHARE, free_memory, gigabytes, memory_size

    free = free_memory()
    most = memory_size(choice.memory) if choice.memory is not None else None if free is None else int(SHARE * free)
    if most is None or (need := _need(source, policy)) is None or need <= most:
        return False
    told = f"in memory this table takes about {gigabytes(need)}, and {gigabytes(most)} may be used"
    reasons = _reasons(source, policy, bound=bound)
    reasons += ["it goes into a database"] if choice.to_database else []
    why = reasons[0].removeprefix("engine: ").partition(";")[0] if reasons else ""
    if reasons and (choice.memory is not None or need > most / SHARE):
        cure = "change that, free or give more memory, or try it all the same (--engine memory, without --memory)"
        raise InputError(f"{told}; it cannot be done on disk: {why}; {cure}")
    if not quiet:
        complain([f"{told}; {f'it is done in memory anyway: {why}' if reasons else 'it is done on disk'}"])
    return not reasons


def memory_taken(allowed: str | None) -> dict[str, Any]:
    """Complain if this program took more memory than it was given; return both for JSON, or nothing if none was given.

    It speaks of the whole program until now, and says nothing where the system keeps no count.
    """
    if allowed is None:
        return {}
    from sfumato.table.large.memory import memory_size, peak_memory

    most, peak = memory_size(allowed), peak_memory()
    if peak is not None and peak > most:
        complain(
            [
                f"the run took {peak / 1e6:,.0f} MB of memory at its peak, more than the {most / 1e6:,.0f} MB of "
                "--memory; where that is too much, leave columns out"
            ]
        )
    return {"memory": {"allowed": most, "peak": peak}}


def _need(source: str | Path, policy: Policy) -> int | None:
    """Return the bytes that a table takes in memory, about; None where that cannot be told."""
    from sfumato.table.databases.address import is_database
    from sfumato.table.large.memory import estimated_need, need_of_cells

    if is_database(source):
        from sfumato.table.databases.protocol import database_source
        from sfumato.table.sources.protocol import Reading

        place = Reading(**policy.reading()).place()
        try:
            found = database_source(str(source), table=place.table, query=place.query)
            return need_of_cells(found.rows() * len({*found.names} & policy.to_schema().roles.keys()))
        except SfumatoError:
            return None  # whoever reads it says why
    from sfumato.table.sources.folders import files_of

    files = [path for path in files_of(Path(source)) if path.is_file()]
    return estimated_need(files) if files else None


def _reasons(table: str | Path, policy: Policy, *, bound: bool) -> list[str]:
    """Say why the disk engine cannot make this release, if it cannot."""
    from sfumato.release.on_disk import not_on_disk
    from sfumato.table.large.batches import opened_file

    reasons = ["--bound compares all records with each other"] if bound else []
    reasons += not_on_disk(policy)
    try:
        opened_file(table, policy)
    except SfumatoError as error:
        reasons += error.problems
    return reasons
