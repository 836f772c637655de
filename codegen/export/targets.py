"""Machines that code is exported for: their targets and the size of their addresses."""

from __future__ import annotations

from typing import Final

from ...base.process.forking import LLVM_LOCK
from ..llvm.loading import all_targets
from ..llvm.target import Target, target_machine
from ..llvm.targets import ARCHITECTURES, named_target

#: Architectures whose addresses have 32 bits, and a CPU of each.
_SMALL: Final = {"wasm32": "generic", "thumbv7em": "cortex-m7", "thumbv8m.main": "cortex-m33"}
#: Triples and features of architectures whose name alone stands for no machine with Linux, or for more than
#: the least one of its kind.
_WHOLE: Final = {
    "riscv64": "riscv64,+m,+a,+f,+d,+c",
    "wasm32": "wasm32-unknown-unknown",
    "thumbv7em": "thumbv7em-none-eabihf",
    "thumbv8m.main": "thumbv8m.main-none-eabihf",
}


def export_target(name: str) -> Target:
    """The machine called `name`, see `llvm.targets.named_target`. Raises TracejitError.

    Example:
        >>> export_target("wasm32").triple
        'wasm32-unknown-unknown'
    """
    head, *features = name.split(",")
    architecture, colon, cpu = head.partition(":")
    whole = _WHOLE.get(architecture, head) if not cpu else head
    if cpu and architecture in _SMALL:
        whole = f"{_WHOLE[architecture]}{colon}{cpu}"
    return named_target(",".join([whole, *features]), {**ARCHITECTURES, **_SMALL})


def size_type(target: Target) -> str:
    """The LLVM type of a size in bytes."""
    with LLVM_LOCK:
        all_targets()
        return "i32" if "-p:32:32" in str(target_machine(target).target_data) else "i64"
