"""Targets other than this machine, by name, for looking at their code: ``x86-64-v3``, ``aarch64``.

LLVM itself is asked for the properties of a CPU: a probe is compiled, and the registers it uses say how wide
vectors are. LLVM only warns of a name it does not know, on standard error, so that is read meanwhile.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any, Final

from ...base.errors import TracejitError
from .compiler import assembly
from .loading import all_targets
from .target import Target, host

#: Architectures with 64-bit little-endian memory, which the generated code relies on, and a CPU of each.
ARCHITECTURES: Final = {
    "x86_64": "x86-64",
    "aarch64": "generic",
    "arm64": "generic",
    "riscv64": "generic-rv64",
    "powerpc64le": "ppc64le",
    "loongarch64": "generic-la64",
}

_PROBE = """\
define void @probe(ptr %p, ptr %q) nounwind {{
  %a = load <{count} x {type}>, ptr %p
  %b = load <{count} x {type}>, ptr %q
  %c = {add} <{count} x {type}> %a, %b
  store <{count} x {type}> %c, ptr %p
  ret void
}}
"""
_HALF_PROBE: Final = """\
define void @probe(ptr %p, ptr %q) nounwind {
  %a = load <4 x half>, ptr %p
  %b = fpext <4 x half> %a to <4 x float>
  store <4 x float> %b, ptr %q
  ret void
}
"""


def named_target(name: str, architectures: Mapping[str, str] = ARCHITECTURES) -> Target:
    """The machine called `name`: ``native``; an architecture (``aarch64``); a level or a CPU of x86-64
    (``x86-64-v3``, ``znver4``); a triple (``arm64-apple-darwin``); a triple or architecture and a CPU
    (``aarch64:neoverse-n1``). Features may follow: ``x86-64-v3,+avx512f,-fma``. `architectures` are those
    that there may be, with a CPU of each.

    Raises TracejitError for what LLVM does not know, and for machines that the generated code is not for.

    Example:
        >>> named_target("x86-64-v3").vector_bits
        256
    """
    head, *features = name.split(",")
    if head in ("native", ""):
        return host()
    place, _, cpu = head.partition(":")
    architecture = place.replace("x86-64", "x86_64", 1).split("-")[0]
    if architecture not in architectures or (place.startswith("x86-64") and not cpu):
        place, cpu = "x86_64", cpu or place  # a CPU without its architecture
        if ":" in head:
            raise _unknown(name, f"{head.partition(':')[0]!r} is not one of {', '.join(architectures)}")
        architecture = "x86_64"
    triple = place if "-" in place else f"{architecture}-unknown-linux-gnu"
    for feature in features:
        if feature[:1] not in ("+", "-") or len(feature) < 2:
            raise _unknown(name, f"a feature begins with + or -, got {feature!r}")
    return _examined(name, triple, cpu or architectures[architecture], features, architecture)


def _examined(name: str, triple: str, cpu: str, features: list[str], architecture: str) -> Target:
    is_x86 = architecture == "x86_64"
    binding = all_targets()
    if "+avx512f" in features and binding.llvm_version_info[0] < 21:
        features = [*features, "+evex512"]  # until LLVM 21 its wide registers are a feature of their own
    asked = ",".join([*features, *["+64bit"] * is_x86])  # without which LLVM aborts at an unknown CPU
    try:
        binding.Target.from_triple(triple)
    except RuntimeError as error:
        raise _unknown(name, f"LLVM knows no triple {triple!r}") from error
    plain = Target(triple, cpu, asked, 128)
    floats, warnings = _heard(lambda: _probe(plain, 16, "float", "fadd"))
    if warnings:
        raise _unknown(name, warnings.split(" (")[0])
    if not is_x86:
        return plain
    if "vcvtph2ps" in assembly(_HALF_PROBE, plain):
        asked = f"+f16c,{asked}"
    if "zmm" not in floats:
        return Target(triple, cpu, asked, 256 if "ymm" in floats else 128)
    masks = "+avx512bw,+avx512vl," if "zmm" in _probe(plain, 64, "i8", "add") else ""
    return Target(triple, cpu, f"{masks}{asked}", 512)


def _probe(target: Target, count: int, type: str, add: str) -> str:
    return assembly(_PROBE.format(count=count, type=type, add=add), target)


def _heard(run: Callable[[], Any]) -> tuple[Any, str]:
    """Call `run`; its result, and what native code wrote to standard error meanwhile."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            result = run()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return result, file.read().decode(errors="replace").strip()


def _unknown(name: str, why: str) -> TracejitError:
    return TracejitError(
        f"there is no target {name!r}: {why}. Targets are native, x86-64, x86-64-v3, x86-64-v4, znver4, "
        "aarch64, aarch64:neoverse-n1, arm64-apple-darwin and others; with features x86-64-v3,+avx512f"
    )
