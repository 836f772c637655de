"""The CPU that code is generated for: its vector width, and LLVM's description of it."""

from __future__ import annotations

import functools
import os
from typing import Any, Final

from ...base.machine import machine
from ...base.records import record
from .loading import library, llvm_binding
from .registers import BITS

#: Intel's servers, whose cores and last caches are a mesh, by LLVM's names.
_MESHES: Final = frozenset(
    ["skylake-avx512", "cascadelake", "cooperlake", "icelake-server", "sapphirerapids", "emeraldrapids",
     "graniterapids", "graniterapids-d"]
)  # fmt: skip

#: The features of x86 that others need, by LLVM's names, each behind what it needs. To LLVM a feature that is
#: on brings along all that it needs, and float16's conversions are a part of AVX-512.
_NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "ssse3": ("sse3",), "sse4a": ("sse3",), "sse4.1": ("ssse3",), "sse4.2": ("sse4.1",), "avx": ("sse4.2",),
    **dict.fromkeys(["avx2", "f16c", "fma", "fma4", "xop"], ("avx",)),
    **dict.fromkeys(
        ["vaes", "vpclmulqdq", "avxvnni", "avxifma", "avxneconvert", "avxvnniint8", "avxvnniint16", "sha512",
         "sm3", "sm4"],
        ("avx2",),
    ),
    "avx512f": ("avx2", "f16c", "fma"), "avx10.1": ("avx512f",), "avx10.2": ("avx10.1",),
}  # fmt: skip


@record
class Target:
    """A CPU as codegen sees it."""

    triple: str
    cpu: str
    features: str
    #: Bits of one vector register.
    vector_bits: int

    def lanes(self, dtype: str) -> int:
        """Number of elements of `dtype` in one vector."""
        return max(1, self.vector_bits // max(BITS[dtype], 8))

    @property
    def address_bits(self) -> int:
        """Bits of an address."""
        return 64 if "64" in self.triple.partition("-")[0] else 32

    @property
    def fast_masks(self) -> bool:
        """Whether masked loads and stores are single instructions for every element size."""
        return "+avx512bw" in self.features and "+avx512vl" in self.features

    @property
    def wide_tables(self) -> bool:
        """Whether maths functions may look up tables in registers (`maths.wide`), which takes avx512dq."""
        # one who has avx512bw has avx512dq, whether it is named or not
        named = "+avx512dq" in self.features or "+avx512bw" in self.features
        return self.vector_bits >= 512 and named and "-avx512dq" not in self.features

    @property
    def packs_lanes(self) -> bool:
        """Whether one instruction moves some lanes of 32 or 64 bits behind each other."""
        return "+avx512f" in self.features

    @property
    def asks_for_lines(self) -> bool:
        """Whether lines of large arrays are asked for ahead, and none is stored past the cache;
        see `nest.streaming`."""
        return self.cpu in _MESHES and "+prfchw" in self.features

    @property
    def has_avx(self) -> bool:
        """Whether instructions of x86 have a third operand for their result."""
        return "+avx" in self.features.split(",")

    @property
    def half_conversions(self) -> bool:
        """Whether one instruction converts between float16 and float32."""
        return "+f16c" in self.features or self.triple.startswith(("aarch64", "arm64"))

    @property
    def indefinite_integers(self) -> bool:
        """Whether the instruction for scalars gives the most negative integer for floats that do not fit:
        the "integer indefinite" of x86."""
        return self.triple.startswith("x86_64")


def host() -> Target:
    """The CPU this process runs on, with the features that the current machine leaves it.

    ``TRACEJIT_CPU_FEATURES`` (such as ``-avx512f``) switches features off for a whole process.
    """
    return _host(machine().features)


@functools.lru_cache(maxsize=16)
def _host(changes: str) -> Target:
    llvm = library()
    flags = llvm.host_cpu_features()
    for change in filter(None, f"{os.environ.get('TRACEJIT_CPU_FEATURES', '')},{changes}".split(",")):
        flags[change[1:]] = change[0] == "+"
    for name, needed in _NEEDS.items() if "sse2" in flags else ():
        if name in flags and not all(flags.get(other, False) for other in needed):
            flags[name] = False
    if not flags.get("avx512f", False):
        flags = {name: on and not name.startswith("avx512") for name, on in flags.items()}
    features = ",".join(("+" if on else "-") + name for name, on in sorted(flags.items()))
    return Target(llvm.process_triple(), llvm.host_cpu_name(), features, _vector_bits(flags))


def _vector_bits(flags: dict[str, bool]) -> int:
    if flags.get("avx512f"):
        return 512
    return 256 if flags.get("avx2") else 128


def target_machine(target: Target, *, opt: int = 2) -> Any:
    """A new llvmlite TargetMachine for `target`."""
    binding = llvm_binding()
    return binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=opt, reloc="pic", codemodel="small"
    )
