"""Garbage is looked for as usual once the program is loaded: cycles of large tables must not pile up."""

from __future__ import annotations

import subprocess
import sys

LOOKED_FOR = """
import gc, weakref
from sfumato.cli import LOADED, collect_after_loading

class Node: pass

def cycle():
    node = Node()
    node.itself = node
    return weakref.ref(node)

usual = gc.get_threshold()
collect_after_loading()
lost = cycle()
assert gc.get_threshold() == (LOADED, *usual[1:])
kept = [Node() for _ in range(LOADED)]
assert lost() is None
assert gc.get_threshold() == usual
assert gc.callbacks == []
lost = cycle()
more = [Node() for _ in range(usual[0])]
assert lost() is None
"""


def test_cycles_are_looked_for_once_the_program_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", LOOKED_FOR], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
