"""The IR's text form: `print_function` and `parse_function` are inverse. Specified in docs/ir.md.

`lexer` makes tokens, `parser` Functions, `printer` text again, and `formatter` lays a file out anew with its
comments and names.
"""

from __future__ import annotations

from typing import Final

#: The version of the text form, which a file may state in its first line: ``tir 1``. It counts up whenever
#: text that was valid is so no longer, or means something else.
VERSION: Final = 1
