"""Tools for those who look inside: the command line, viewer, profiler, reproduction of failures."""
