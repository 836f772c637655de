"""Namespaces of other libraries: programs written for them run with their imports changed.

`autograd` has the names of HIPS autograd. A namespace loads where it is imported.
"""
