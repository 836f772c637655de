"""The list of operations that a function is written to."""

from __future__ import annotations

from .control_operations import Branch, Label, Return
from .declarations import Declarations
from .function import ENTRY, FunctionCode
from .operations import Arrange, Compute, Convert, FunctionCall, Operation
from .registers import Reg, llvm_type


class OperationWriter:
    """Appends operations to those of one LLVM function, and names what they define."""

    #: The block that is being written.
    block = ENTRY

    def __init__(self, declarations: Declarations | None = None) -> None:
        #: Stack slots, at the top of the entry block, and what follows them.
        self.slots: list[Operation] = []
        self.operations: list[Operation] = []
        self._counter = 0
        #: Declarations of intrinsics and externals, shared by the functions of a module.
        self.declarations = Declarations() if declarations is None else declarations
        #: Whether the machine has what `maths.wide` writes.
        self.wide_tables = self.declarations.wide_tables

    def fresh(self, prefix: str = "v") -> str:
        """A new name."""
        self._counter += 1
        return f"%{prefix}{self._counter}"

    # -- values -----------------------------------------------------------------------------------

    def compute(self, code: str, dtype: str, lanes: int, *arguments: Reg) -> Reg:
        """Append ``code`` on arguments of one type, with a result of `dtype` x `lanes`."""
        self._counter += 1
        result = Compute(f"%v{self._counter}", dtype, lanes, code, arguments)
        self.operations.append(result)
        return result

    def convert(self, code: str, x: Reg, dtype: str) -> Reg:
        """Append a conversion to `dtype`."""
        result = Convert(self.fresh(), dtype, x.lanes, code, x)
        self.operations.append(result)
        return result

    def arrange(self, code: str, dtype: str, lanes: int, *arguments: Reg, tail: str = "") -> Reg:
        """Append a choice among arguments, or a move of lanes, with a result of `dtype` x `lanes`."""
        result = Arrange(self.fresh(), dtype, lanes, code, arguments, tail)
        self.operations.append(result)
        return result

    # -- blocks -----------------------------------------------------------------------------------

    def start(self, label: str) -> None:
        """Begin the block `label`; the previous one must have been ended."""
        self.operations.append(Label(label))
        self.block = label

    def branch(self, label: str) -> None:
        """End the block: go on at `label`."""
        self.operations.append(Branch("", label))

    def branch_if(self, condition: Reg, then: str, otherwise: str) -> None:
        """End the block: go on at one of two labels."""
        self.operations.append(Branch(condition.text, then, otherwise))

    def ret(self, value: Reg | None = None) -> None:
        """Leave the function, with `value`."""
        self.operations.append(Return(value))

    # -- functions --------------------------------------------------------------------------------

    def declare(self, name: str, signature: str) -> None:
        """Declare an external function or an intrinsic, unless it is declared."""
        self.declarations.setdefault(name, f"declare {signature}")

    def run(self, callee: str, *arguments: Reg) -> None:
        """Call a function of this module, or one that is declared, without a result."""
        self.operations.append(FunctionCall(f"@{callee}", arguments))

    def result_of(self, callee: str, dtype: str, lanes: int, *arguments: Reg) -> Reg:
        """Call a function of this module, or one that is declared, for a result of `dtype` x `lanes`."""
        result = FunctionCall(f"@{callee}", arguments, self.fresh(), dtype, lanes)
        self.operations.append(result)
        return result

    def call(self, name: str, dtype: str, lanes: int, *args: Reg) -> Reg:
        """Call the external or intrinsic `name`, declaring it, for a result of `dtype` x `lanes`."""
        if name not in self.declarations:
            self.declare(name, f"{llvm_type(dtype, lanes)} @{name}({', '.join([arg.type for arg in args])})")
        return self.result_of(name, dtype, lanes, *args)

    def function(self, signature: str, attributes: str = "") -> FunctionCode:
        """The finished function: ``define <signature> { ... }``."""
        return FunctionCode(signature, attributes, [*self.slots, *self.operations])
