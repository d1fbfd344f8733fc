"""Work on several threads: results in order, exceptions not lost, what all share found once."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import pytest

from sfumato.parallel import Once, OnceForEach, as_done, both, each


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_stand_in_the_order_of_the_parts(threads):
    assert each(lambda part: part * part, range(20), threads) == [part * part for part in range(20)]
    assert both(lambda: "one", lambda: 2, threads) == ("one", 2)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_with_the_place_of_their_part(threads):
    assert sorted(as_done(lambda part: part * part, range(20), threads)) == [(part, part * part) for part in range(20)]


def test_results_come_as_they_are_done():
    taken, places = threading.Event(), []

    def wait_for_the_other(part: int) -> None:
        # The first part ends only after the result of the second was taken.
        assert part == 1 or taken.wait(60)

    for place, _ in as_done(wait_for_the_other, [0, 1], 2):
        places.append(place)
        taken.set()
    assert places == [1, 0]


@pytest.mark.parametrize("threads", [1, 2])
def test_nothing_new_is_started_when_nobody_asks_for_more(threads):
    begun = []
    for _ in as_done(lambda part: (begun.append(part), time.sleep(0.01)), range(500), threads):
        break
    assert len(begun) < 100


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
    with pytest.raises(KeyError):
        list(as_done(lambda part: failing(KeyError())(), [1, 2], threads))


def test_whoever_asks_first_finds_it_and_the_others_get_the_same():
    once: Once[str, object] = Once()
    begun: list[str] = []
    together = threading.Barrier(4, timeout=60)

    def found(key: str) -> object:
        together.wait()
        return once.of(key, lambda: begun.append(key) or object())

    keys = ["a", "b", "a", "b"]
    results = each(found, keys, 4)
    assert sorted(begun) == ["a", "b"]
    assert results[0] is results[2]
    assert results[1] is results[3]
    assert results[0] is not results[1]


def test_what_failed_is_tried_again_and_what_is_forgotten_is_found_again():
    once: Once[int, int] = Once()

    with pytest.raises(KeyError):
        once.of(1, failing(KeyError()))
    assert once.of(1, lambda: 5) == 5
    assert once.of(1, lambda: 6) == 5
    once.forget(1)
    once.forget(2)
    assert once.of(1, lambda: 6) == 6


def test_what_is_found_of_an_object_is_kept_as_long_as_the_object():
    class Some:
        pass

    found: OnceForEach[Some, str, Some] = OnceForEach()
    table, other = Some(), Some()
    first = found.of(table, "a", Some)
    assert found.of(table, "a", Some) is first
    assert found.of(table, "b", Some) is not first
    assert found.of(other, "a", Some) is not first

    kept = weakref.ref(first)
    del table, first
    gc.collect()
    assert kept() is None
