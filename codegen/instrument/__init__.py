"""Instruments: variants of a module that do more than run, such as checks and clocks.

`variants` says what is added around instructions; `probes` adds clocks, for profiles; `access_checks` checks
bounds and alignment of every load and store under ``TRACEJIT_CHECK=1``; `debug_locations` tells which ops a
line of text is for. `verifier` says what a function has to be; `addresses` knows where its accesses go,
and `listing` prints it as loops and accesses.
"""
