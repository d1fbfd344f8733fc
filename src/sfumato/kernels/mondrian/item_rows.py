"""Names of the rows of the arrays in ``items.Items``: arrays of one shape are rows of one array.

A call pays for every array that it passes, and a range of twenty records is soon done.
"""

# Rows of Items.attributes, int64 (6, q).
ACTIVE = 0  # the active attributes in declared order
BY_LOSS = 1  # the active attributes by falling loss
PRESENT = 2  # items of the attribute
START = 3  # its first item
GROUPED = 4  # 1 when items stand for several codes
BRANCHES = 5  # branchings of its tree below the topmost
# Rows of Items.numbers, int64 (6, 64 q).
WEIGHT = 0  # original records of the item
LEFT = 1  # the same on the left side of a cut
RIGHT = 2
FIRST = 3  # smallest code
LAST = 4
DISTINCT = 5  # codes
# Rows of Items.places, float64 (4, 64 q), in units of weighted loss.
LOW = 0  # place of the first code on the axis
HIGH = 1  # place of the last code
GAP = 2  # distance to the next item, or loss of the ancestor common with it
OWN = 3  # loss of the common ancestor of the item's codes
# Rows of Items.rates, float64 (3, q).
UNIT = 0  # loss of one value of a set, of one step on an axis, of the whole tree
TOP = 1  # loss of the common ancestor of all codes that occur
BASE = 2  # expected loss of the range
# Rows of Items.branches, float64 (3, 128 q): items FROM .. TO − 1 lie under a branching; it loses DROP less than above.
FROM = 0
TO = 1
DROP = 2
