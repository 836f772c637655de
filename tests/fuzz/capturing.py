"""Steps that read from outside the program: globals, closures, attributes, items, defaults, helpers."""

from __future__ import annotations

from .choices import Choices, Unfit
from .known import gated
from .program import Capture

#: Place: how its name must be declared to rebind it, its set-up, how the program reads it, and its rebinding;
#: {n} is the name, {v} the value.
PLACES = {
    "global": ("global", "{n} = {v}", "{n}", "{n} = {v}"),
    "closure": ("nonlocal", "{n} = {v}", "{n}", "{n} = {v}"),
    "attribute": ("", "{n} = Holder()\n{n}.value = {v}", "{n}.value", "{n}.value = {v}"),
    "slot": ("", "{n} = Slotted()\n{n}.value = {v}", "{n}.value", "{n}.value = {v}"),
    "nested attribute": (
        "", "{n} = Holder()\n{n}.inner = Holder()\n{n}.inner.value = {v}", "{n}.inner.value",
        "{n}.inner.value = {v}",
    ),
    "class attribute": ("", "class {n}:\n    value = {v}", "{n}.value", "{n}.value = {v}"),
    "inherited attribute": (
        "", "class {n}Base:\n    value = {v}\nclass {n}(Holder, {n}Base):\n    pass\n{n} = {n}()",
        "{n}.value",
        "{n}.value = {v}",
    ),
    "dict item": ("", "{n} = {{'key': {v}}}", "{n}['key']", "{n}['key'] = {v}"),
    "list item": ("", "{n} = [{v}, 1.0]", "{n}[0]", "{n}[0] = {v}"),
    "tuple item": ("nonlocal", "{n} = (1.0, {v})", "{n}[1]", "{n} = (1.0, {v})"),
    "deque": ("", "{n} = collections.deque([{v}])", "{n}[0]", "{n}[0] = {v}"),
    "nested items": ("", "{n} = {{'a': [{{'b': {v}}}]}}", "{n}['a'][0]['b']", "{n}['a'][0]['b'] = {v}"),
    "module": ("", "{n} = types.ModuleType('settings')\n{n}.value = {v}", "{n}.value", "{n}.value = {v}"),
    "module item": (
        "", "{n} = types.ModuleType('settings')\n{n}.items = {{'w': {v}}}", "{n}.items['w']",
        "{n}.items['w'] = {v}",
    ),
    "default": ("", "def {n}(value={v}):\n    return value", "{n}()", "{n}.__defaults__ = ({v},)"),
    "helper": ("nonlocal", "{n} = lambda: {v}", "{n}()", "{n} = lambda: {v}"),
    "helper's global": (
        "global", "{n} = {v}\ndef read_{n}():\n    return {n}", "read_{n}()", "{n} = {v}",
    ),
    "helper's attribute": (
        "", "{n} = Holder()\n{n}.value = {v}\ndef read_{n}():\n    return {n}.value", "read_{n}()",
        "{n}.value = {v}",
    ),
    "partial": (
        "nonlocal", "{n} = functools.partial(dict.get, {{'k': {v}}}, 'k')", "{n}()",
        "{n} = functools.partial(dict.get, {{'k': {v}}}, 'k')",
    ),
    "partial keyword": (
        "nonlocal",
        "def read_{n}(*, value):\n    return value\n{n} = functools.partial(read_{n}, value={v})", "{n}()",
        "{n} = functools.partial(read_{n}, value={v})",
    ),
    "property": (
        "", "{n} = Holder()\n{n}.hidden = {v}\ntype({n}).reading_{n} = property(lambda self: self.hidden)",
        "{n}.reading_{n}", "{n}.hidden = {v}",
    ),
    "method": (
        "", "{n} = Holder()\n{n}.value = {v}\ntype({n}).read_{n} = lambda self: self.value", "{n}.read_{n}()",
        "{n}.value = {v}",
    ),
}  # fmt: skip
CONTENTS = ("float", "int", "bool", "string", "none", "tensor", "ndarray")


class Capturing(Choices):
    """Choices of captured values, which a trace must not keep."""

    def capture(self) -> None:
        """Read something from outside, which `rebind` changes."""
        if len(self.captures) >= 3:
            raise Unfit
        x = self.find("fc", nonempty=True)
        place, content = self.choose(tuple(PLACES)), self.choose(CONTENTS)
        if any(gated(f) for f in (f"capture {place}", f"capture {content}", f"capture {place} {content}")):
            raise Unfit
        value, new, form = self.content(content, x)
        scope, setup, expression, rebinding = PLACES[place]
        name = f"outer{len(self.captures)}"
        capture = Capture(
            place=place, content=content, scope=scope, name=name, setup=setup.format(n=name, v=value),
            expression=expression.format(n=name), rebinding=rebinding.format(n=name, v=new),
        )  # fmt: skip
        for world in self.worlds:
            exec(capture.setup, world.names)
        self.captures.append(capture)
        try:
            self.define(form.format(x=x, e=capture.expression), f"capture {place} {content}")
        except Unfit:
            self.captures.pop()
            raise

    def content(self, content: str, x: str) -> tuple[str, str, str]:
        """A value, what replaces it, and the text of what is computed with it."""
        data = self.array(x)
        if content == "float":
            pair = (
                (2.0, 3.0) if self.exact else self.choose(((0.1, 0.12), (0.5, -0.5), (1.0, 2.0), (0.0, 0.25)))
            )
            return (
                str(pair[0]),
                str(pair[1]),
                self.choose(("{x} * {e}", "{x} - {e}", "{e} * {x}", "xp.maximum({x}, {e})")),
            )
        if content == "int":
            return "2", "3", self.choose(("{x} * {e}", "{x} + {e}", "xp.stack([{x}] * {e})"))
        if content == "bool":
            same = "conj" if data.dtype.kind == "c" else "abs"  # of the dtype that x has
            return "True", "False", f"xp.{same}({{x}}) if {{e}} else {{x}} * 2"
        if content == "string":
            return "'double'", "'shift'", "{x} * 2 if {e} == 'double' else {x} + 1"
        if content == "none":
            return "None", "2.0", "{x} if {e} is None else {x} * {e}"
        shape = data.shape[self.integer(0, data.ndim) :]
        first, second = (self.fresh(shape, data.dtype.name) for _ in range(2))
        if content == "tensor":
            first, second = f"xp.asarray({first})", f"xp.asarray({second})"
        else:
            first, second = f"np.asarray({first})", f"np.asarray({second})"
        forms = ["{x} + {e}", "{x} * {e}"]
        if content == "ndarray":
            forms += ["{x} - xp.asarray({e})", "xp.maximum({x}, {e})"]
        return first, second, self.choose(forms)
