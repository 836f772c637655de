"""What exporting has written."""

from __future__ import annotations

from pathlib import Path

from ..ir.records import record
from .prototypes import CPrototype


@record(eq=False)
class Exported:
    """What ``f.export`` wrote.

    Attributes:
        code: the object file, library or text.
        header: the header file.
        manifest: the file that describes both, in JSON.
        functions: the prototypes, that of the function itself first.
        messages: by status, from 0 on.
        undefined: the functions that the code calls and does not have, such as memcpy.
    """

    code: Path
    header: Path
    manifest: Path
    functions: tuple[CPrototype, ...]
    messages: tuple[str, ...]
    undefined: tuple[str, ...]

    def __str__(self) -> str:
        """The files and prototypes, for people."""
        files = ", ".join(str(path) for path in (self.code, self.header, self.manifest))
        return "\n".join([files, *[f"{prototype.declaration};" for prototype in self.functions]])
