"""The compile cache: machine code on disk and in this process, and its keys."""
