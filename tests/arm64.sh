#!/usr/bin/env bash
# Runs tests on arm64, emulated where this machine is another one.
#
#     tests/arm64.sh [smoke | filetests | examples | examples/NAME.py | PATH[::TEST] ...]
#
# Without arguments: the first three. smoke is tests/test_smoke.py and the linkers' tests, examples are tests/examples
# and the scripts in examples/, each of which can be run by its path. Other arguments are tests, as pytest takes them.
#
# A tree of Debian for arm64 with Python, NumPy and llvmlite is made once, in some minutes and about 1.2 GB, at
# TRACEJIT_ARM64_TREE (default: ~/.cache/tracejit-arm64). Delete the folder to have it made anew. This checkout is mounted
# in it, and nothing is written to it.
#
# Needs: Linux and root (chroot, mounts in a namespace of its own); on Debian the packages qemu-user-static, mmdebstrap,
# arch-test and binfmt-support; a Python with pip, to fetch wheels. Emulation takes some thirty times as long as the
# machine, and shows no fault of memory order: see docs/platforms.md.
set -euo pipefail
suite=bookworm
python=3.11
wheels=(numpy llvmlite scipy 'pytest>=8' mpmath 'dask[array]' distributed)
source="$(cd "$(dirname "$0")/.." && pwd)"
tree="${TRACEJIT_ARM64_TREE:-${HOME:-/root}/.cache/tracejit-arm64}"

fail() {
  echo "tests/arm64.sh: $*" >&2
  exit 2
}

[ "$(uname -s)" = Linux ] || fail "needs Linux"
[ "$(id -u)" = 0 ] || fail "needs root, for chroot and mounts"
case "$tree/" in "$source"/*) fail "the tree must lie outside the checkout, TRACEJIT_ARM64_TREE is $tree" ;; esac
if [ "${TRACEJIT_ARM64_NAMESPACE:-}" != own ]; then
  # what is mounted below is gone when this ends
  TRACEJIT_ARM64_NAMESPACE=own exec unshare --mount --propagation private "$0" "$@"
fi

emulate() {
  [ "$(uname -m)" != aarch64 ] || return 0
  command -v qemu-aarch64-static > /dev/null || fail "needs qemu-aarch64-static (package qemu-user-static)"
  local registered=/proc/sys/fs/binfmt_misc
  [ -e "$registered/register" ] || mount -t binfmt_misc binfmt_misc "$registered" || fail "no binfmt_misc in this kernel"
  [ -e "$registered/qemu-aarch64" ] || update-binfmts --enable qemu-aarch64 || true
  [ -e "$registered/qemu-aarch64" ] || fail "qemu-aarch64 is not registered (package binfmt-support)"
}

make_tree() {
  [ ! -e "$tree/.complete" ] || return 0
  command -v mmdebstrap > /dev/null || fail "needs mmdebstrap (and arch-test)"
  [ ! -e "$tree" ] || [ -z "$(ls -A "$tree")" ] || fail "$tree is there and is not complete: delete it"
  echo "== a tree of Debian $suite for arm64 in $tree"
  mkdir -p "$tree"
  mmdebstrap --variant=apt --arch=arm64 --include=python3,libgcc-s1,gcc,libc6-dev "$suite" "$tree"
  mkdir -p "$tree/tracejit"
  touch "$tree/.complete"
}

install_wheels() {
  local installed="$tree/.wheels"
  [ "$(cat "$installed" 2> /dev/null)" != "${wheels[*]}" ] || return 0
  echo "== wheels for arm64"
  python3 -m pip install --quiet --upgrade --target "$tree/usr/local/lib/python$python/dist-packages" --only-binary=:all: \
    --python-version "$python" --implementation cp --platform manylinux_2_28_aarch64 \
    --platform manylinux_2_27_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 "${wheels[@]}"
  echo "${wheels[*]}" > "$installed"
}

inside() {  # a command in the tree, at the checkout
  chroot "$tree" /usr/bin/env -i -C /tracejit HOME=/root PATH=/usr/bin:/bin LANG=C.UTF-8 PYTHONPATH=/tracejit \
    PYTHONDONTWRITEBYTECODE=1 ${TRACEJIT_LINKER:+TRACEJIT_LINKER="$TRACEJIT_LINKER"} \
    ${TRACEJIT_FUZZ_SEED:+TRACEJIT_FUZZ_SEED="$TRACEJIT_FUZZ_SEED"} "$@"
}

tests() {  # as pyproject.toml has them, in one process
  inside python3 -m pytest -p no:cacheprovider -o addopts= -p no:logging --import-mode=importlib -q -m "not slow" "$@"
}

example() {  # a script of examples/: its last line, or all where it fails
  inside TRACEJIT_CACHE=0 timeout 3600 python3 "$1" > "$output" 2>&1 || { cat "$output"; return 1; }
  tail -n 1 "$output"
}

examples() {
  tests tests/examples
  local script
  for script in "$source"/examples/*.py; do
    echo "== examples/${script##*/}"
    example "examples/${script##*/}"
  done
}

emulate
make_tree
install_wheels
mount --bind -o ro "$source" "$tree/tracejit"
mount --bind /proc "$tree/proc"
mount --bind /dev "$tree/dev"
output="$(mktemp)"
trap 'rm -f "$output"' EXIT
inside python3 -c 'import platform, numpy, llvmlite; print(platform.machine(), numpy.__version__, llvmlite.__version__)'

[ $# -gt 0 ] || set -- smoke filetests examples
for part in "$@"; do
  echo "== $part"
  case "$part" in
    smoke) tests tests/test_smoke.py tests/runtime/loading/test_loader.py tests/runtime/test_arm64_objects.py ;;
    filetests) tests tests/test_filetests.py ;;
    examples) examples ;;
    examples/*.py) example "$part" ;;
    *) tests "$part" ;;
  esac
done
