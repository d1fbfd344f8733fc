"""Work on several threads: results in order, exceptions not lost."""

from __future__ import annotations

import threading

import pytest

from sfumato.parallel import both, each


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_stand_in_the_order_of_the_parts(threads):
    assert each(lambda part: part * part, range(20), threads) == [part * part for part in range(20)]
    assert both(lambda: "one", lambda: 2, threads) == ("one", 2)


def test_two_functions_run_at_the_same_time():
    met = threading.Barrier(2, timeout=60)
    assert sorted(both(met.wait, met.wait, 2)) == [0, 1]


def failing(error: Exception):
    def fail():
        raise error

    return fail


@pytest.mark.parametrize("threads", [1, 2])
def test_no_exception_is_lost(threads):
    with pytest.raises(KeyError):
        both(failing(KeyError()), lambda: 1, threads)
    with pytest.raises(IndexError):
        both(lambda: 1, failing(IndexError()), threads)
    with pytest.raises(KeyError):
        both(failing(KeyError()), failing(IndexError()), threads)
    with pytest.raises(KeyError):
        each(lambda part: failing(KeyError())(), [1, 2], threads)
