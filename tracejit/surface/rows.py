"""Rows of the table: functions that only run an op, with their documentation."""

from __future__ import annotations

import re
from typing import NamedTuple


class Row(NamedTuple):
    """A function that only runs an op: its names, its documentation, and what it runs."""

    #: The function's own name, and further names of it.
    names: str
    meaning: str
    #: A call, without the namespace, and the result that it shows.
    example: str
    shows: str
    #: The op, or function of `ir/special`, where it has another name.
    op: str = ""
    #: Parameters as they are declared. Those of elementwise functions are the op's operands.
    parameters: str = "x"
    #: Methods of Tensor that are this function; those that end with one underscore work in place.
    methods: str = ""
    #: The errors that it raises, as a sentence.
    raises: str = ""
    #: The function whose semantics this one has, where it is not NumPy's or SciPy's of the same name.
    source: str = ""
    #: The end of the sentence about the source, and further ones.
    notes: str = "."

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.names.partition(" ")[0]

    @property
    def runs(self) -> str:
        """The name of what the function runs."""
        return self.op or self.name

    @property
    def arguments(self) -> list[str]:
        """The names of the parameters."""
        return re.findall(r"(?:^|, )(\w+)", self.parameters)

    @property
    def declared(self) -> str:
        """The parameters with annotations: what has no default is anything."""
        return ", ".join(
            parameter if ":" in parameter or parameter == "*" else f"{name}: Any{value and ' = '}{value}"
            for parameter in self.parameters.split(", ")
            for name, _, value in [parameter.partition("=")]
        )

    def docstring(self, namespace: str, details: str, library: str) -> str:
        """The docstring of the function as one of `namespace`; `details` follow the meaning."""
        shown = self.shows.replace("\n", "\n        ")
        source = self.source or f"``{library}.{self.name}``"
        text = f"""{self.meaning}

{details}Example:
    >>> import tracejit as tj
    >>> {namespace}.{self.example}
    {shown}

{self.raises}Semantics: {source}{self.notes}
"""
        return text.replace("\n", "\n    ").replace("\n    \n", "\n\n")
