"""Functions whose derivatives the user writes.

A `Rule` is what `custom_vjp`, `custom_jvp` and `custom_grad` make of a call. On the tape it becomes one node;
in a trace without a tape it is the op ``custom_rule``, whose regions are forward, backward and the function
itself (`traced`). Higher orders differentiate the rule. See docs/custom_derivatives.md.
"""
