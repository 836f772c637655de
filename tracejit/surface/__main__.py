"""``python -m tracejit.surface`` writes the stubs of the public packages from the table."""

from __future__ import annotations

from .stubs import write

if __name__ == "__main__":
    write()
