"""Every kernel with bounds checked, over generated tables: ``python -m bounds COUNT [FIRST]``.

``SFUMATO_KERNELS=checked`` compiles the kernels with bounds checked; ``interpreted`` runs them guarded
(:mod:`bounds.guarded`). Prints what came of the tables, which kernels did not run, and every fault with the number of
its table; ends with 1 where there is one, or where a kernel did not run over 1,000 interpreted tables or more. Every
other interpreted table runs with lower sizes (``guarded.LOWERED``), so that small ones reach kernels for large ones.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from collections import Counter

ENOUGH = 1000
"""Interpreted tables from which on every kernel must have run."""

PATIENCE = 300
"""Seconds after which a table counts as one that never ends."""


def main(count: int, first: int) -> int:
    from bounds import guarded
    from bounds.doors import knock

    interpreted = os.environ.get("SFUMATO_KERNELS") == "interpreted"
    if interpreted:
        guarded.guard()
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", RuntimeWarning)
    signal.signal(signal.SIGALRM, _late)
    outcomes, faults = Counter[str](), Counter[str]()
    for number in range(first, first + count):
        signal.alarm(PATIENCE)
        if interpreted:
            guarded.lower(number % 2 == 1)
        try:
            outcomes[knock(number)] += 1
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "sfumato" in frame.filename][-1:]
            fault = f"{type(error).__name__}: {error} at {[f'{f.filename}:{f.lineno}' for f in (*ours, where)]}"
            faults[fault] += 1
            if faults[fault] == 1:
                print(f"table {number}: {fault}", flush=True)
                if os.environ.get("VERBOSE"):
                    traceback.print_exc()
        signal.alarm(0)
    print(*(f"{times:7} {outcome}" for outcome, times in sorted(outcomes.items())), sep="\n")
    missing: list[str] = []
    if interpreted:
        missing = sorted(set(guarded.kernels()) - guarded.RAN)
        print(f"{len(guarded.RAN)} kernels ran; not these {len(missing)}:", *missing)
    print(f"{count} tables, {sum(faults.values())} faults of {len(faults)} kinds")
    return int(bool(faults) or (bool(missing) and count >= ENOUGH))


def _late(*_: object) -> None:
    raise TimeoutError("no end in sight")


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
