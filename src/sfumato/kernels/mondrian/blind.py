"""Deciding classes that were cut without a look at who has which sensitive value.

Letters: m distinct records, w codes a record.
"""

from __future__ import annotations

from sfumato.kernels.jit import kernel
from sfumato.kernels.mondrian.cuts import Options, count_range, new_workspace, total_weight
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.space import Space
from sfumato.kernels.types import Codes, Flags, Int32s


@kernel
def classes_hold(
    codes: Codes, weights: Int32s, starts: Flags, space: Space, rules: RuleArrays, options: Options
) -> bool:
    """Tell whether every class satisfies every rule with the sensitive values that its records have.

    codes : unsigned (m, w); weights : int32 (m,); starts : bool (m,), set at the first record of every class.
    """
    work = new_workspace(space, rules, options)
    low = 0
    for high in range(1, len(weights) + 1):
        if high < len(weights) and not starts[high]:
            continue
        count_range(codes, weights, low, high, rules, work, work.whole)
        if not holds(total_weight(weights, low, high), work.whole, rules, work.scratch):
            return False
        low = high
    return True
