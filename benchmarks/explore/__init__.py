"""Random realistic programs beside peers: ``python -m benchmarks.explore --minutes N --seed S``.

`choices` draws sizes and types, `families` write programs as source, `candidate` makes a workload of one, and
`findings` keeps what was measured, a line for each program, so that a run can be resumed.
"""
