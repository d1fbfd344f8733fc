"""Mondrian's least-expected-loss cut: of all candidate cuts of a range take the one whose classes will lose least.

A candidate puts some items of one attribute left and the others right: a prefix in code order, a prefix by falling
frequency (attributes without order), or one item alone. Its score is the expected loss that it saves, divided by the
entropy of the split to the power 0.7, which favors the removal of what does not belong. Large ranges are judged on
evenly spaced records; the sizes and rules of the cut that is made always come from all of them.

Letters: q attributes, h rows looked at, c candidates.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.bits import EMPTY, ONE, has, single
from sfumato.kernels.cuts import Options, Workspace, count_part, count_range, sides_hold, total_weight
from sfumato.kernels.expected_loss import exact_loss, exact_loss_of_set, expected_loss, spread_table
from sfumato.kernels.items import MOST, Items, find_items, new_items
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.predicates import RuleArrays
from sfumato.kernels.space import NUMERIC, SET, Space

SAMPLE = 1024  # records that a range is judged on
DRAWS = 1.6  # records of the imagined class over the smallest allowed
EVENNESS = 0.7  # exponent of the entropy of the split
STEPS = 1024  # steps in which the entropy is tabulated
SLACK = 1e-9  # a later candidate must be better by this part of the loss


class LossWorkspace(NamedTuple):
    """Buffers of one thread for choosing by expected loss.

    Attributes
    ----------
    items : Items
        What occurs in the range at hand.
    draws : int
        Records of the imagined class.
    table : numpy.ndarray
        float64, see :func:`sfumato.kernels.expected_loss.spread_table`.
    evenness : numpy.ndarray
        float64 (STEPS + 1,): entropy of a split to the power 0.7, by share of the left side.
    base : numpy.ndarray
        float64 (q,): expected loss of the range itself.
    by_loss : numpy.ndarray
        int64 (q,): active attributes by falling base.
    candidate_attribute, candidate_items, candidate_weight : numpy.ndarray
        int64, uint64 and int64 (c,): attribute, items put left, their weight.
    left, right : numpy.ndarray
        int64 (64 q,): weight of each item on the two sides.
    chosen_rows : numpy.ndarray
        int64 (h + 1,): rows on the smaller side.
    packed : numpy.ndarray
        uint64 (q, h): items of all attributes of a row as one set, in as few words as they need.
    word, shift : numpy.ndarray
        int64 (q,): where the items of an attribute stand in `packed`.
    seen_left, seen_right : numpy.ndarray
        uint64 (q,): union of `packed` on the two sides.
    """

    items: Items
    draws: int
    table: NDArray[np.float64]
    evenness: NDArray[np.float64]
    base: NDArray[np.float64]
    by_loss: NDArray[np.int64]
    candidate_attribute: NDArray[np.int64]
    candidate_items: NDArray[np.uint64]
    candidate_weight: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    chosen_rows: NDArray[np.int64]
    packed: NDArray[np.uint64]
    word: NDArray[np.int64]
    shift: NDArray[np.int64]
    seen_left: NDArray[np.uint64]
    seen_right: NDArray[np.uint64]


@kernel
def new_loss_workspace(space: Space, options: Options, rows: int) -> LossWorkspace:
    """Allocate for ranges that are judged on up to `rows` rows."""
    q = len(space.kinds)
    draws = max(2, int(DRAWS * options.smallest + 0.5))
    return LossWorkspace(
        new_items(space, rows), draws, spread_table(draws), _tabulate_evenness(), np.zeros(q), np.zeros(q, np.int64),
        np.zeros(3 * MOST * q, np.int64), np.zeros(3 * MOST * q, np.uint64), np.zeros(3 * MOST * q, np.int64),
        np.zeros(MOST * q, np.int64), np.zeros(MOST * q, np.int64), np.zeros(rows + 1, np.int64),
        np.zeros((q, min(rows, SAMPLE)), np.uint64), np.zeros(q, np.int64), np.zeros(q, np.int64),
        np.zeros(q, np.uint64), np.zeros(q, np.uint64),
    )  # fmt: skip


@kernel
def _tabulate_evenness() -> Any:
    table = np.zeros(STEPS + 1)
    for step in range(1, STEPS):
        share = step / STEPS
        entropy = -(share * math.log2(share) + (1.0 - share) * math.log2(1.0 - share))
        table[step] = entropy**EVENNESS
    return table


@kernel
def least_loss_cut(
    codes: Any, weights: Any, low: int, high: int, space: Space, rules: RuleArrays, options: Options, work: Workspace,
    loss: LossWorkspace,
) -> tuple[int, int]:  # fmt: skip
    """Choose the cut of records ``low .. high-1`` that saves most expected loss; (−1, 0) when none is allowable.

    codes : unsigned (m, w); weights : int32 (m,). ``work.part_of`` then gives the part of every code that occurs.
    Ties go to the earlier attribute, then to code order, falling frequency, one item alone, then to the earlier place.
    """
    size = total_weight(weights, low, high)
    if size < 2 * options.smallest:
        return -1, 0
    if options.ruled:
        count_range(codes, weights, low, high, rules, work, work.whole)
    step = (high - low + SAMPLE - 1) // SAMPLE
    attribute = _choose(codes, weights, low, high, step, size, space, rules, options, work, loss)
    if attribute < 0 and step > 1:
        every_row = new_loss_workspace(space, options, high - low)
        attribute = _choose(codes, weights, low, high, 1, size, space, rules, options, work, every_row)
    return attribute, 0 if attribute < 0 else 2


@kernel
def _choose(
    codes: Any, weights: Any, low: int, high: int, step: int, size: int, space: Space, rules: RuleArrays,
    options: Options, work: Workspace, loss: LossWorkspace,
) -> int:  # fmt: skip
    rows = (high - low + step - 1) // step
    active, total = find_items(codes, weights, low, rows, step, space, loss.items)
    if active == 0:
        return -1
    base = _rate_range(active, total, space, loss)
    smallest = options.smallest * (total / size)
    attribute = -1
    # Where the middle places fail, others may still do: rules can refuse a place, trees have no order of frequency.
    for everywhere in range(1 if options.everywhere else 0, 2):
        count = _propose(active, total, smallest, everywhere == 1, space, loss)
        attribute, chosen = _best(
            codes, weights, low, high, step, size, active, total, smallest, base, count, space, rules, options,
            work, loss,
        )  # fmt: skip
        if attribute >= 0:
            _fill_parts(codes, low, high, step, attribute, chosen, space, work, loss.items)
            break
    if attribute >= 0 and step > 1 and not _sizes_hold(codes, weights, low, high, attribute, size, options, work):
        return -1
    return attribute


@inlined
def _rate_range(active: int, total: int, space: Space, loss: LossWorkspace) -> float:
    """Find the expected loss of the whole range and order the attributes by their part of it."""
    base = 0.0
    for number in range(active):
        attribute = loss.items.active[number]
        kind = space.kinds[attribute]
        rate = expected_loss(attribute, loss.items.weight, total, kind, loss.draws, loss.table, loss.items)
        loss.base[attribute] = rate
        base += rate
        place = number
        while place > 0 and loss.base[loss.by_loss[place - 1]] < rate:
            loss.by_loss[place] = loss.by_loss[place - 1]
            place -= 1
        loss.by_loss[place] = attribute
    return base * total


@inlined
def _propose(active: int, total: int, smallest: float, everywhere: bool, space: Space, loss: LossWorkspace) -> int:
    """List the candidates in order; return how many there are."""
    count = 0
    for number in range(active):
        attribute = loss.items.active[number]
        several = loss.items.count[attribute] > 2
        orders = 2 if space.kinds[attribute] == SET and several else 1
        first = count
        for order in range(orders):
            count = _propose_prefixes(attribute, order == 1, total, smallest, everywhere, first, count, loss)
        if everywhere and several and space.kinds[attribute] != NUMERIC:
            count = _propose_single_items(attribute, total, smallest, count, loss)
    return count


@inlined
def _propose_prefixes(
    attribute: int, by_frequency: bool, total: int, smallest: float, everywhere: bool, first: int, count: int,
    loss: LossWorkspace,
) -> int:  # fmt: skip
    """Propose the allowable prefixes of one order, or the one nearest to half (which is next to half, or none is)."""
    start = MOST * attribute
    items = loss.items.count[attribute]
    chosen = EMPTY
    weight = 0
    for place in range(items - 1):
        before = chosen
        before_weight = weight
        item = _heaviest(start, items, chosen, loss.items.weight) if by_frequency else place
        chosen |= single(item)
        weight += loss.items.weight[start + item]
        if everywhere:
            if total - weight < smallest:
                break
            if weight >= smallest:
                count = _add(attribute, chosen, weight, count, loss)
        elif 2 * weight >= total or place == items - 2:
            fits = weight >= smallest and total - weight >= smallest
            fits_before = before_weight >= smallest and total - before_weight >= smallest
            if fits_before and (not fits or total - 2 * before_weight <= abs(2 * weight - total)):
                chosen, weight = before, before_weight
            if (fits or fits_before) and not _same_cut(chosen, items, first, count, loss):
                count = _add(attribute, chosen, weight, count, loss)
            break
    return count


@inlined
def _heaviest(start: int, items: int, taken: Any, weight: Any) -> int:
    heaviest = -1
    most = np.int64(-1)
    for item in range(items):
        if weight[start + item] > most and not has(taken, item):
            most = weight[start + item]
            heaviest = item
    return heaviest


@inlined
def _same_cut(chosen: Any, items: int, first: int, count: int, loss: LossWorkspace) -> bool:
    everything = (single(items - 1) << ONE) - ONE
    return count > first and (
        loss.candidate_items[first] == chosen or loss.candidate_items[first] == everything & ~chosen
    )


@inlined
def _propose_single_items(attribute: int, total: int, smallest: float, count: int, loss: LossWorkspace) -> int:
    # The first and the last item alone are prefixes in code order already.
    for item in range(1, loss.items.count[attribute] - 1):
        weight = loss.items.weight[MOST * attribute + item]
        if weight >= smallest and total - weight >= smallest:
            count = _add(attribute, single(item), weight, count, loss)
    return count


@inlined
def _add(attribute: int, chosen: Any, weight: int, count: int, loss: LossWorkspace) -> int:
    loss.candidate_attribute[count] = attribute
    loss.candidate_items[count] = chosen
    loss.candidate_weight[count] = weight
    return count + 1


@kernel
def _best(
    codes: Any, weights: Any, low: int, high: int, step: int, size: int, active: int, total: int, smallest: float,
    base: float, count: int, space: Space, rules: RuleArrays, options: Options, work: Workspace, loss: LossWorkspace,
) -> Any:  # fmt: skip
    """Score the first `count` candidates; return the attribute of the best allowable one (−1) and its left items."""
    rows = (high - low + step - 1) // step
    words = _pack(rows, active, loss) if total < 3 * smallest and step == 1 else 0
    best = -np.inf
    best_attribute = -1
    best_items = EMPTY
    for number in range(count):
        attribute = loss.candidate_attribute[number]
        chosen = loss.candidate_items[number]
        weight = loss.candidate_weight[number]
        evenness = loss.evenness[min(STEPS - 1, max(1, int(STEPS * (weight / total) + 0.5)))]
        # Whatever costs more than this cannot become the best.
        limit = base - best * evenness if best > 0 else base - best
        if words > 0:
            cost = _cost_of_sets(attribute, chosen, weight, total, rows, words, active, limit, space, loss)
        else:
            cost = _cost_of_counts(attribute, chosen, weight, total, rows, smallest, active, limit, space, loss)
        score = base - cost
        if score > 0:
            score /= evenness
        if score <= best + SLACK * base:
            continue
        if options.ruled:
            _fill_parts(codes, low, high, step, attribute, chosen, space, work, loss.items)
            if not _rules_hold(codes, weights, low, high, attribute, size, rules, options, work):
                continue
        best = score
        best_attribute = attribute
        best_items = chosen
    return best_attribute, best_items


@inlined
def _pack(rows: int, active: int, loss: LossWorkspace) -> int:
    """Write the items of every row as sets; return the number of words, 0 when items stand for several codes."""
    word = 0
    shift = 0
    for number in range(active):
        attribute = loss.items.active[number]
        if loss.items.grouped[attribute]:
            return 0
        if shift + loss.items.count[attribute] > 64:
            word += 1
            shift = 0
        loss.word[attribute] = word
        loss.shift[attribute] = shift
        into = loss.packed[word]
        item = loss.items.item[attribute]
        for row in range(rows):
            bit = single(shift + np.int64(item[row]))
            into[row] = bit if shift == 0 else into[row] | bit
        shift += loss.items.count[attribute]
    return word + 1


@inlined
def _cost_of_sets(
    attribute: int, chosen: Any, weight: int, total: int, rows: int, words: int, active: int, limit: float,
    space: Space, loss: LossWorkspace,
) -> float:  # fmt: skip
    """Loss of the two sides as final classes, from the unions of their rows' sets."""
    mask = chosen << np.uint64(loss.shift[attribute])
    own = loss.packed[loss.word[attribute]]
    for word in range(words):
        other = loss.packed[word]
        left = EMPTY
        right = EMPTY
        for row in range(rows):
            if own[row] & mask != EMPTY:
                left |= other[row]
            else:
                right |= other[row]
        loss.seen_left[word] = left
        loss.seen_right[word] = right
    cost = 0.0
    for number in range(active):
        other_attribute = loss.by_loss[number]
        kind = space.kinds[other_attribute]
        word = loss.word[other_attribute]
        shift = np.uint64(loss.shift[other_attribute])
        inside = (single(loss.items.count[other_attribute] - 1) << ONE) - ONE
        left = (loss.seen_left[word] >> shift) & inside
        right = (loss.seen_right[word] >> shift) & inside
        cost += weight * exact_loss_of_set(other_attribute, left, kind, loss.items)
        cost += (total - weight) * exact_loss_of_set(other_attribute, right, kind, loss.items)
        if cost >= limit:
            break
    return cost


@inlined
def _cost_of_counts(
    attribute: int, chosen: Any, weight: int, total: int, rows: int, smallest: float, active: int, limit: float,
    space: Space, loss: LossWorkspace,
) -> float:  # fmt: skip
    """Loss of the two sides, from the weight of each item on them; counts the smaller side, the other is the rest."""
    left_is_small = 2 * weight <= total
    small = weight if left_is_small else total - weight
    large = total - small
    picked = _pick_rows(loss.items.item[attribute], chosen if left_is_small else ~chosen, rows, loss.chosen_rows)
    cost = 0.0
    for number in range(active):
        other = loss.by_loss[number]
        kind = space.kinds[other]
        _count_sides(other, picked, loss)
        cost += small * _side_loss(other, loss.left, small, small < 2 * smallest, kind, loss)
        cost += large * _side_loss(other, loss.right, large, large < 2 * smallest, kind, loss)
        if cost >= limit:
            break
    return cost


@inlined
def _pick_rows(item: Any, chosen: Any, rows: int, chosen_rows: Any) -> int:
    picked = 0
    for row in range(rows):
        chosen_rows[picked] = row
        picked += np.int64((chosen >> np.uint64(item[row])) & ONE)
    return picked


@inlined
def _count_sides(attribute: int, picked: int, loss: LossWorkspace) -> None:
    start = MOST * attribute
    stop = start + loss.items.count[attribute]
    item = loss.items.item[attribute]
    loss.left[start:stop] = 0
    for number in range(picked):
        row = loss.chosen_rows[number]
        loss.left[start + np.int64(item[row])] += loss.items.row_weight[row]
    for place in range(start, stop):
        loss.right[place] = loss.items.weight[place] - loss.left[place]


@inlined
def _side_loss(attribute: int, counts: Any, total: int, final: bool, kind: int, loss: LossWorkspace) -> float:
    if final:
        return exact_loss(attribute, counts, kind, loss.items)
    return expected_loss(attribute, counts, total, kind, loss.draws, loss.table, loss.items)


@kernel
def _fill_parts(
    codes: Any, low: int, high: int, step: int, attribute: int, chosen: Any, space: Space, work: Workspace, items: Items
) -> None:
    """Set ``work.part_of`` for every code of the attribute in the range."""
    if step == 1:
        for row in range(high - low):
            part = 0 if has(chosen, items.item[attribute, row]) else 1
            work.part_of[codes[low + row, attribute]] = part
        return
    cardinality = space.offsets[attribute + 1] - space.offsets[attribute]
    if cardinality <= high - low:
        for code in range(cardinality):
            work.part_of[code] = _part(code, attribute, chosen, items)
    else:
        for record in range(low, high):
            code = np.int64(codes[record, attribute])
            work.part_of[code] = _part(code, attribute, chosen, items)


@inlined
def _part(code: int, attribute: int, chosen: Any, items: Items) -> int:
    """Side of a code that the sample may have missed: by the threshold in code order, else with the rest."""
    start = MOST * attribute
    low = start
    high = start + items.count[attribute]
    while high - low > 1:
        middle = (low + high) // 2
        if items.first[middle] <= code:
            low = middle
        else:
            high = middle
    is_prefix = chosen & (chosen + ONE) == EMPTY
    known = is_prefix or (items.first[low] <= code and code <= items.last[low])
    return 0 if known and has(chosen, low - start) else 1


@kernel
def _left_size(codes: Any, weights: Any, low: int, high: int, attribute: int, work: Workspace) -> int:
    left = 0
    for record in range(low, high):
        if work.part_of[codes[record, attribute]] == 0:
            left += weights[record]
    return left


@inlined
def _sizes_hold(
    codes: Any, weights: Any, low: int, high: int, attribute: int, size: int, options: Options, work: Workspace
) -> bool:
    left = _left_size(codes, weights, low, high, attribute, work)
    return left >= options.smallest and size - left >= options.smallest


@kernel
def _rules_hold(
    codes: Any, weights: Any, low: int, high: int, attribute: int, size: int, rules: RuleArrays, options: Options,
    work: Workspace,
) -> bool:  # fmt: skip
    """Decide on all records whether both sides are large enough and satisfy every rule."""
    left = _left_size(codes, weights, low, high, attribute, work)
    if left < options.smallest or size - left < options.smallest:
        return False
    count_part(codes, weights, low, high, attribute, 0, rules, work, work.left)
    return sides_hold(left, size, rules, work)
