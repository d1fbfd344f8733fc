"""`sfumato verify` of one release in two hundred parts and in one: the CPU time of the recount."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import census
from benchmarks.engines_job import verified
from benchmarks.measuring import median, run_child
from benchmarks.release_job import K, generated
from benchmarks.results import Figure
from benchmarks.settings import Settings

NAME = "parts"
ROWS = 2_000_000
PARTS = 200
BAR = 1.1

_MAKE = """
import sys
import sfumato as sf
from sfumato.engines.disk import dealing
from sfumato.policy.parts import People
source, folder, part, k, *names = sys.argv[1:]
dealing.PART = int(part)
schema = sf.Schema(quasi_identifying=names, others="drop")
policy = sf.Policy.of(schema, [sf.KAnonymity(int(k))], sf.Mondrian(), sf.Recoding(), 0.0, 0, People())
sf.anonymize_on_disk(source, policy, folder)
"""


def run(settings: Settings) -> Iterator[Figure]:
    """Publish the synthetic census both ways, and verify one release and the other in turns."""
    path = generated(
        settings.folder / f"census-{ROWS}.csv",
        lambda target: run_child(["-m", "benchmarks.census", str(ROWS), str(target)]),
    )
    with tempfile.TemporaryDirectory(dir=settings.folder) as name:
        folders = {parts: Path(name).resolve() / str(parts) for parts in (1, PARTS)}
        for parts, folder in folders.items():
            run_child(["-c", _MAKE, str(path), str(folder), str(ROWS // parts), str(K), *census.QUASI_IDENTIFYING])
        runs = [{parts: verified(folder) for parts, folder in folders.items()} for _ in range(settings.repeats)]
    one, many = (median([costs[parts] for costs in runs]) for parts in (1, PARTS))
    cpu, peak = many.cpu / one.cpu, many.peak / one.peak
    what = f"median of {settings.repeats}: {many} in {PARTS} parts, {one} in one"
    yield Figure(NAME, f"CPU time of verifying {PARTS} parts ÷ one", cpu, f"{cpu:.2f} ×", BAR, True, what)
    sizes = f"{many.peak / 2**30:.2f} GiB and {one.peak / 2**30:.2f} GiB"
    yield Figure(NAME, f"peak memory of verifying {PARTS} parts ÷ one", peak, f"{peak:.2f} ×", None, True, sizes)
