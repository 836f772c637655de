"""The tape: how eager results remember what computed them, and the pass that goes back over it.

`nodes` is the graph, `recording` adds to it, `plans` says what it saves of an op and calls the op's gradient
rules, `backward` walks it, `engine` is how that walk represents cotangents, `hooks` what users attach to it,
`saved` how they can store saved values elsewhere.
"""
