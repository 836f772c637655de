"""pyproject.toml against what is on disk."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import tracejit as tj

_ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text())
SOURCES = {
    "tracejit": "tracejit",
    "base": "tracejit.base",
    "ir": "tracejit.ir",
    "codegen": "tracejit.codegen",
    "runtime": "tracejit.runtime",
}


def _on_disk():
    names = set()
    for folder, package in SOURCES.items():
        for file in (_ROOT / folder).rglob("*.py"):
            inside = file.parent.relative_to(_ROOT / folder)
            # the links tracejit/ir and so on are the same files again
            if folder == "tracejit" and inside.parts and inside.parts[0] in SOURCES:
                continue
            names.add(".".join([package, *inside.parts]))
    return names


def test_every_package_on_disk_is_listed():
    listed = PROJECT["tool"]["setuptools"]["packages"]
    assert len(listed) == len(set(listed))
    assert set(listed) == _on_disk()


def test_every_listed_package_has_an_init():
    places = PROJECT["tool"]["setuptools"]["package-dir"]
    assert places == {package: folder for folder, package in SOURCES.items()}
    for package in PROJECT["tool"]["setuptools"]["packages"]:
        root = max(
            (place for place in places if package == place or package.startswith(place + ".")), key=len
        )
        inside = package[len(root) :].strip(".").split(".")
        assert (_ROOT.joinpath(places[root], *filter(None, inside)) / "__init__.py").is_file(), package


def test_links_for_type_checkers():
    for folder in ("base", "ir", "codegen", "runtime"):
        link = _ROOT / "tracejit" / folder
        assert link.is_symlink()
        assert link.readlink() == Path("..") / folder


def test_data_files():
    data = PROJECT["tool"]["setuptools"]["package-data"]
    assert data["tracejit"] == ["py.typed", "*.pyi"]
    assert (_ROOT / "tracejit" / "py.typed").is_file()
    expected = {"tracejit": {".typed", ".pyi"}, "tracejit.tools.demo": {".npz"}}
    expected |= {package: {".pyi"} for package, patterns in data.items() if patterns == ["*.pyi"]}
    expected["tracejit.tools.viewer.page"] = {".html", ".css", ".js"}
    for package in ("tracejit.ir.special", "tracejit.codegen.maths"):
        assert data[package] == ["data/*.txt"]
        expected[f"{package}.data"] = {".txt"}
    for folder, package in SOURCES.items():
        for file in (_ROOT / folder).rglob("*"):
            inside = file.parent.relative_to(_ROOT / folder)
            if not file.is_file() or file.suffix in (".py", ".pyc"):
                continue
            if folder == "tracejit" and inside.parts and inside.parts[0] in SOURCES:
                continue
            assert file.suffix in expected.get(".".join([package, *inside.parts]), set()), file


@pytest.mark.slow
def test_the_wheel_holds_what_is_imported(tmp_path):
    """The wheel is built of a copy, since a build leaves files behind."""
    source = tmp_path / "source"
    for folder in SOURCES:
        shutil.copytree(
            _ROOT / folder, source / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    for file in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(_ROOT / file, source)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, source]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("tracejit-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    modules = {name for name in names if name.endswith(".py")}
    assert modules == {
        package.replace(".", "/") + path.removeprefix(str(_ROOT / folder))
        for folder, package in SOURCES.items()
        for path in map(str, (_ROOT / folder).rglob("*.py"))
        if not (folder == "tracejit" and Path(path).relative_to(_ROOT / folder).parts[0] in SOURCES)
    }
    assert {"tracejit/py.typed", "tracejit/tools/demo/digits.npz"} < set(names)
    tables = {f"tracejit/{path.relative_to(_ROOT)}" for path in _ROOT.glob("[ic]*/*/data/*.txt")}
    assert len(tables) == 10
    assert tables < set(names)


def test_versions_agree():
    assert PROJECT["project"]["version"] == tj.__version__


def test_dependencies_are_numpy_and_llvmlite_with_lower_bounds():
    dependencies = PROJECT["project"]["dependencies"]
    assert [re.match(r"[a-z]+", dependency)[0] for dependency in dependencies] == ["numpy", "llvmlite"]
    assert all(">=" in dependency for dependency in dependencies)
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert "Apache License" in (_ROOT / "LICENSE").read_text()


def test_files_the_issue_names():
    for name in (
        "ARCHITECTURE.md",
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/ir.md",
        "docs/adding-an-op.md",
        ".ci/run",
    ):
        assert (_ROOT / name).is_file(), name
    for folder in ("tracejit", "base", "ir", "codegen", "runtime", "tests", "examples", "benchmarks", "docs"):
        assert (_ROOT / folder).is_dir(), folder


def test_the_command_is_there():
    assert PROJECT["project"]["scripts"] == {"tracejit": "tracejit.tools.cli:main"}


def test_the_readme_has_the_two_commands():
    text = (_ROOT / "README.md").read_text()
    assert "pip install . && tracejit demo" in text
    assert "pip install '.[test]' && pytest" in text


def test_the_description_for_package_indexes_has_no_relative_links():
    described = runpy.run_path(str(_ROOT / "setup.py"), run_name="setup")["described"]
    text = described((_ROOT / "README.md").read_text())
    assert "`docs/numpy.md` lists every name" in text
    assert re.findall(r"\]\((?!https?:)", text) == []
    assert described("[a](b.md#c), [d/e.md](d/e.md), [x](https://y.z)\n\n![p](q.svg)\n\nr") == (
        "a (`b.md`), `d/e.md`, [x](https://y.z)\n\nr"
    )


def test_all_is_there_and_nothing_twice():
    assert len(tj.__all__) == len(set(tj.__all__))
    assert [name for name in tj.__all__ if not hasattr(tj, name)] == []


def test_a_build_that_knows_the_repository_has_absolute_links_and_urls():
    names = runpy.run_path(str(_ROOT / "setup.py"), run_name="setup")
    repository = "https://host/owner/tracejit"
    text = names["described"]((_ROOT / "README.md").read_text(), repository)
    assert f"]({repository}/blob/main/docs/numpy.md)" in text
    for link in re.findall(r"\]\(([^)]*)\)", text):
        path = re.sub(f"^{repository}/(blob|raw)/main/", "", link).split("#")[0]
        assert link.startswith("#") or (link.startswith("https://") and (_ROOT / path).exists()), link
    assert names["addresses"](repository)["Changelog"] == f"{repository}/blob/main/CHANGELOG.md"
    assert names["addresses"]("") == {}
