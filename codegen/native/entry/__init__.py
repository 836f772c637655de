"""The native entry of compiled functions.

One entry serves all signatures. It reads a table (`table`) of what the arguments must look like, down through
containers, and of where captures and guards are; `matching` checks objects against it, `code` calls the
machine code and makes what is returned. So a signature costs a table and no machine code,
and code holds no addresses. An entry that does not fit calls the next one, the last one Python.
"""
