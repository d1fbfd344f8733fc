"""Kernels are called with few arguments: what belongs together is one tuple of arrays."""

from kernels.test_divisions import kernels

MOST = 12
REASON = "# parameters: "
"""A comment on the definition that says what fewer would cost, as measured."""


def excused(lines, function):
    return any(REASON in line for line in lines[function.lineno - 2 : function.body[0].lineno])


def test_no_kernel_has_many_parameters():
    every = [(path, lines, function) for path, lines, function in kernels()]
    assert len(every) > 300
    found = [
        f"{path}: {function.name} has {len(function.args.args)}"
        for path, lines, function in every
        if len(function.args.args) > MOST and not excused(lines, function)
    ]
    assert not found, "\n".join(found)
