"""Headers in C of exported functions."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from .prototypes import CParameter, CPrototype

_CONVENTIONS = """\
Every function takes pointers to arguments, then to results, then to a workspace. It returns 0, or a status
whose message {name}_status_message gives; results are not to be read then.

Arrays are contiguous, in row-major order (C order), aligned to their elements. Numbers are arrays of one
element. A result may overlap neither an argument nor another result nor the workspace.

A function with a workspace size of 0 takes NULL. A workspace may begin at any address, and need not be
cleared; each call has one of its own while it runs. Functions begin no threads, write nowhere else{memory},
and may be called by several threads at a time.
"""


def header_text(
    name: str, origin: str, prototypes: Sequence[CPrototype], messages: Sequence[str], *, keeps_memory: bool
) -> str:
    """The text of ``name.h``; `origin` says by whom and from what it was written."""
    guard = f"{name.upper()}_H"
    memory = (
        ",\nbut for a block of memory that is kept between calls until {name}_release" if keeps_memory else ""
    )
    conventions = _CONVENTIONS.format(name=name, memory=memory.format(name=name))
    parts = [_comment(f"{name}.h: {origin}\n\n{conventions}".strip())]
    parts.append(
        f"#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif'
    )
    parts += [_declaration_of(prototype) for prototype in prototypes]
    listed = "\n".join(f"{status}: {message}" for status, message in enumerate(messages))
    parts.append(
        f"{_comment(f'The message of a status, which lives as long as the code.{chr(10)}{listed}')}\n"
        f"const char *{name}_status_message(int status);"
    )
    if keeps_memory:
        what = _comment("Gives back the memory that is kept between calls, while no call runs.")
        parts.append(f"{what}\nvoid {name}_release(void);")
    parts.append(f"#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {guard} */\n")
    return "\n\n".join(parts)


def _declaration_of(prototype: CPrototype) -> str:
    lines = [f"Computes {prototype.summary}.", ""]
    lines += [_described(parameter, "in ") for parameter in prototype.arguments]
    lines += [_described(parameter, "out") for parameter in prototype.results]
    macro = f"{prototype.name.upper()}_WORKSPACE_SIZE"
    lines.append(f"workspace: {macro} bytes")
    declaration = textwrap.fill(
        f"{prototype.declaration};",
        100,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return (
        f"{_comment(chr(10).join(lines))}\n{declaration}\n\n"
        f"#define {macro} {prototype.workspace_bytes}\nsize_t {prototype.name}_workspace_size(void);"
    )


def _described(parameter: CParameter, direction: str) -> str:
    note = f", {parameter.note}" if parameter.note else ""
    return f"{direction} {parameter.name}: {parameter.described}{note}"


def _comment(text: str) -> str:
    """`text` as a comment of C."""
    lines = text.replace("*/", "* /").replace("/*", "/ *").splitlines()
    body = "\n".join(f" * {line}".rstrip() for line in lines[1:])
    return f"/* {lines[0]}\n{body}\n */" if body else f"/* {lines[0]} */"
