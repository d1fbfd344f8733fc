"""In which order the runs of a comparison begin."""

from __future__ import annotations

import pytest

from sfumato.comparison.compare import Agenda
from sfumato.comparison.plan import Run

SECONDS = {"slow": 9.0, "middle": 3.0, "fast": 1.0}


def runs(repetitions: int = 1) -> list[Run]:
    return [Run(name, k, again) for again in range(repetitions) for k in (2, 5, 10) for name in SECONDS]


def test_each_anonymizer_is_tried_first_then_long_and_short_runs_go_on_beside_each_other():
    agenda = Agenda(runs())
    tried = [agenda.begin() for _ in SECONDS]
    assert tried == [Run(name, 2, 0) for name in SECONDS]
    for run in tried:
        agenda.end(run, SECONDS[run.anonymizer])
    assert [agenda.begin(), agenda.begin()] == [Run("slow", 5, 0), Run("fast", 5, 0)]
    agenda.end(Run("fast", 5, 0), 1.0)
    assert agenda.begin() == Run("fast", 10, 0)
    agenda.end(Run("slow", 5, 0), 9.0)
    assert agenda.begin() == Run("slow", 10, 0)
    agenda.end(Run("fast", 10, 0), 1.0)
    assert [agenda.begin(), agenda.begin()] == [Run("middle", 5, 0), Run("middle", 10, 0)]
    assert agenda.begin() is None


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_every_run_begins_once_and_repetitions_one_after_the_other(at_once):
    agenda = Agenda(runs(3))
    begun: list[Run] = []
    going: list[Run] = []
    for _ in runs(3):
        if len(going) == at_once:
            ended = going.pop(0)
            agenda.end(ended, SECONDS[ended.anonymizer])
        going.append(agenda.begin())
        begun.append(going[-1])
    assert sorted(begun, key=repr) == sorted(runs(3), key=repr)
    assert [run.repetition for run in begun] == sorted(run.repetition for run in begun)
