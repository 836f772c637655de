"""Lists that a loop only appends to: items are stacked, and the list is read from the stack.

Where a condition decides whether a step appends, the stack has a place for each step, and flags say which of
the places are items (`blocks`). How many these are is a traced number, and arrays of them are selections.
"""
