"""Bundles of options: spread out where they stand, and gathered again."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import pytest

from sfumato.cli import anonymize, compare, risk
from sfumato.cli.options import Original, RoleOptions, spread


def test_a_bundle_is_spread_out_and_gathered_again():
    seen: list[Any] = []

    def command(table: Original, roles: RoleOptions = RoleOptions(), last: int = 3) -> None:  # noqa: B008
        seen.append((table, roles, last))

    run = spread(command)
    parameters = inspect.signature(run).parameters
    assert [*parameters] == ["table", *shown(), "last"]
    given = {name: parameter.default for name, parameter in parameters.items()}
    run(**{**given, "table": "t.csv", "quasi": ["age"]})
    assert seen == [("t.csv", RoleOptions(quasi=["age"]), 3)]


@pytest.mark.parametrize("command", [anonymize.anonymize, compare.compare, risk.risk])
def test_commands_share_their_options(command):
    names = [*inspect.signature(spread(command)).parameters]
    own = shown()
    assert names[names.index(own[0]) :][: len(own)] == own


def shown() -> list[str]:
    """The options that stand on a command line; others are settings of a policy."""
    return [field.name for field in fields(RoleOptions) if not field.metadata.get("by path")]
