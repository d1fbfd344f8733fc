"""Bundles of options: spread out where they stand, and gathered again."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import pytest

from sfumato.cli import anonymize, compare, risk
from sfumato.cli.options import Original, Reading, RoleOptions, spread


def test_a_bundle_is_spread_out_and_gathered_again():
    seen: list[Any] = []

    def command(table: Original, reading: Reading = Reading(), last: int = 3) -> None:  # noqa: B008
        seen.append((table, reading, last))

    run = spread(command)
    parameters = inspect.signature(run).parameters
    assert [*parameters] == ["table", *(field.name for field in fields(Reading)), "last"]
    assert parameters["no_header"].default is False
    said = {name: parameter.default for name, parameter in parameters.items()}
    run(**{**said, "table": "t.csv", "separator": "tab", "no_header": True})
    assert seen == [("t.csv", Reading(separator="tab", no_header=True), 3)]
    assert seen[0][1].source == {"separator": "\t", "header": False}


@pytest.mark.parametrize("command", [anonymize.anonymize, compare.compare, risk.risk])
def test_commands_share_their_options(command):
    names = [*inspect.signature(spread(command)).parameters]
    own = [field.name for field in fields(RoleOptions)]
    assert names[names.index(own[0]) :][: len(own)] == own
