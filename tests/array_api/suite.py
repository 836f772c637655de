"""The suite data-apis/array-api-tests: how it is fetched and run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

#: The version of the standard that is tested.
VERSION: Final = "2024.12"
#: The environment variable that names a clone of the suite, with its submodule.
FOLDER: Final = "TRACEJIT_ARRAY_API_TESTS"
_ROOT: Final = Path(__file__).resolve().parents[2]
_REPOSITORIES: Final = {
    ".": ("https://github.com/data-apis/array-api-tests", "55fcc60179efa2680ddd6cd926ddf17b83530e2b"),
    "array-api": ("https://github.com/data-apis/array-api", "8884c406ff8a3b81ab836cefcacb08bc4a92ae18"),
}
_FETCH_SECONDS: Final = 60.0
_RUN_SECONDS: Final = 3600.0


@dataclass(frozen=True)
class Outcome:
    """Result of a run: the count of passed tests, the messages of failed ones by name, pytest's output."""

    passed: int
    failed: dict[str, str]
    output: str


def fetch(folder: Path) -> Path | str:
    """The suite in `folder`; else why it cannot be had."""
    local = os.environ.get(FOLDER)
    if local is not None:
        if not (Path(local) / "array_api_tests").is_dir():
            return f"{FOLDER} is {local}, which has no folder array_api_tests"
        shutil.copytree(local, folder, ignore=shutil.ignore_patterns(".git", "__pycache__"))
    else:
        for part, (address, commit) in _REPOSITORIES.items():
            failure = _clone(folder / part, address, commit)
            if failure:
                return failure
    return folder


def _clone(folder: Path, address: str, commit: str) -> str:
    """Check out `commit` in `folder`; what git said where it could not."""
    git = shutil.which("git")
    if git is None:
        return "there is no git"
    folder.mkdir(exist_ok=True)
    steps = (
        ("init", "--quiet"),
        ("fetch", "--quiet", "--depth=1", address, commit),
        ("checkout", "--quiet", "FETCH_HEAD"),
    )
    for step in steps:
        try:
            command = [git, "-C", str(folder), *step]
            environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
            process = subprocess.run(
                command, capture_output=True, text=True, timeout=_FETCH_SECONDS, env=environment
            )
        except subprocess.TimeoutExpired:
            return f"git {step[0]} took more than {_FETCH_SECONDS:.0f} seconds"
        if process.returncode:
            return process.stderr.strip()
    return ""


def run(suite: Path, library: ModuleType, *, examples: int, short: bool) -> Outcome:
    """The outcome of the `suite` for `library`, with as many random `examples` for each test.

    A `short` run has the same examples each time, and shows failures as they are met."""
    assert library.__file__ is not None
    report = suite / "report.xml"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(library.__file__).resolve().parents[1]), str(_ROOT)]),
        "ARRAY_API_TESTS_MODULE": library.__name__,
        "ARRAY_API_TESTS_VERSION": VERSION,
    }
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-n", "auto", "array_api_tests", f"--junitxml={report}"),
        *("--disable-deadline", f"--max-examples={examples}", "-p", "no:cacheprovider", "--tb=short"),
        *(("--derandomize", "-p", "tests.array_api.without_shrinking") if short else ()),
    ]
    process = subprocess.run(
        command, cwd=suite, env=environment, capture_output=True, text=True, timeout=_RUN_SECONDS
    )
    if not report.exists():
        return Outcome(0, {}, process.stdout + process.stderr)
    return _read(report, process.stdout)


def _read(report: Path, output: str) -> Outcome:
    passed, failed = 0, {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        problem = next((child for child in case if child.tag in ("failure", "error")), None)
        if problem is not None:
            failed[name] = (problem.text or problem.get("message") or "")[-2000:]
        elif not len(case) or case[0].tag != "skipped":
            passed += 1
    return Outcome(passed, failed, output)
