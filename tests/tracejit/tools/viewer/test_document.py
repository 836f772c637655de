"""The document: every stage, the outcome of each op, the passes, and the kernels with reasons."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import TracejitError
from tracejit.ir.types import TensorType
from tracejit.tools.viewer import document, view, view_function

from .conftest import LINE, score

NAME, FILE, OP_LINE, GRADIENT, REMOVED = range(5)


@pytest.fixture(scope="module")
def doc(shown):
    return shown.document


def ops_of_line(doc, line, gradient=0):
    return {number for number, op in enumerate(doc["ops"]) if (op[OP_LINE], op[GRADIENT]) == (line, gradient)}


def lines_about(doc, stage, ops):
    """The lines of a stage that are about some of `ops`, and those about nothing else."""
    (chosen,) = [entry for entry in doc["stages"] if entry["id"] == stage]
    sets = [set(doc["groups"][group]) for group in chosen["groups"]]
    some = [line for line, group in zip(chosen["lines"], sets, strict=True) if group & ops]
    alone = [line for line, group in zip(chosen["lines"], sets, strict=True) if group and group <= ops]
    return some, alone


def test_it_is_json_and_its_references_hold(doc):
    assert json.loads(json.dumps(doc, allow_nan=False)) == doc
    for stage in doc["stages"]:
        assert len(stage["lines"]) == len(stage["groups"])
        assert all(0 <= group < len(doc["groups"]) for group in stage["groups"])
    assert all(0 <= op < len(doc["ops"]) for group in doc["groups"] for op in group)
    names = [kernel["name"] for kernel in doc["kernels"]]
    assert len(set(names)) == len(names)


def test_the_source_is_there(doc):
    (file,) = [file for file in doc["files"] if file["name"] == "conftest.py"]
    assert file["lines"][LINE["tanh"] - file["first"]].strip() == "hidden = tj.tanh(x @ w)"


@pytest.mark.parametrize("stage", ["trace", "optimized", "fused", "loops", "llvm", "asm"])
@pytest.mark.parametrize("what", ["tanh", "exp", "div", "sum"])
def test_every_line_of_the_source_is_found_at_every_stage(doc, stage, what):
    some, alone = lines_about(doc, stage, ops_of_line(doc, LINE[what]))
    assert some
    assert alone, "only as a part of something larger"


def test_code_is_of_the_op_that_it_computes(doc):
    """A quotient's division is its own, and the exponential's is not."""
    by_line = {
        what: {n for g in (0, 1) for n in ops_of_line(doc, LINE[what], gradient=g)} for what in ("div", "exp")
    }
    divides, raises = (
        [line.split(" = ")[-1] for line in lines_about(doc, "llvm", by_line[what])[1]]
        for what in ("div", "exp")
    )
    assert any(line.startswith("fdiv ") for line in divides)
    assert len([line for line in raises if line.startswith(("fmul ", "fadd "))]) > 3
    assert not any(line.startswith("fdiv ") for line in raises)


def test_gradients_are_told_apart_and_lead_to_their_line(doc):
    gradient = ops_of_line(doc, LINE["tanh"], gradient=1)
    assert {"matmul", "transpose"} <= {doc["ops"][n][NAME] for n in gradient}


def test_merged_ops_are_one_line_and_removed_ops_say_where_they_went(doc):
    exps = {n for n in ops_of_line(doc, LINE["exp"]) if doc["ops"][n][NAME] == "exp"}
    assert len(exps) == 2
    optimized, _ = lines_about(doc, "optimized", exps)
    assert len([line for line in optimized if "exp(" in line]) == 1
    assert {doc["ops"][n][REMOVED] for n in exps} == {None}
    (sine,) = ops_of_line(doc, LINE["sin"])
    assert doc["ops"][sine][REMOVED] == "dce"
    assert lines_about(doc, "optimized", {sine}) == ([], [])


def test_passes_say_what_they_changed_and_how_long_it_took(doc):
    by_name = {entry["name"]: entry for entry in doc["passes"]}
    assert [entry["name"] for entry in doc["passes"]][-2:] == ["fuse", "tile-transforms"]
    assert all(entry["milliseconds"] > 0 for entry in doc["passes"])
    assert by_name["licm"]["changes"] == []
    (gone,) = [text for sign, text, _ in by_name["cse"]["changes"] if sign == "-" and "exp(" in text]
    assert not any(sign == "+" and gone == text for sign, text, _ in by_name["cse"]["changes"])
    removed = [
        row for entry in doc["passes"] for row in entry["changes"] if row[0] == "-" and "sin(" in row[1]
    ]
    assert len(removed) == 1


def test_names_are_the_same_at_every_stage(doc):
    def name_of(stage, op):
        (chosen,) = [entry for entry in doc["stages"] if entry["id"] == stage]
        return [line.split(":")[0].strip() for line in chosen["lines"] if f"= {op}(" in line]

    assert name_of("trace", "tanh") == name_of("optimized", "tanh") == name_of("fused", "tanh")
    loops = next(stage for stage in doc["stages"] if stage["id"] == "loops")["lines"]
    tanh = name_of("trace", "tanh")[0]
    assert any(re.search(rf"(each {tanh}|{tanh}: f\d\d) = tanh\(", line) for line in loops)


def test_kernels_have_work_times_and_reasons(doc):
    assert doc["timing"]["problem"] == ""
    assert doc["timing"]["made_up"] == 0
    by_kind = {}
    for kernel in doc["kernels"]:
        by_kind.setdefault(kernel["kind"], []).append(kernel)
        assert kernel["seconds"] > 0
        assert kernel["estimate"] > 0
        assert kernel["floor"] > 0
        assert kernel["limit"] in ("memory", "arithmetic")
    product = by_kind["matmul"][0]
    assert product["flops"] == 2 * 40**3
    assert product["bytes"] == 3 * 40 * 40 * 8
    assert product["intensity"] == pytest.approx(product["flops"] / product["bytes"])
    assert product["fused"] == [{"why": "matmul is a kernel of its own"}]
    readers = [
        reason
        for kernel in doc["kernels"]
        for reason in kernel["fused"]
        if reason.get("with") == product["name"]
    ]
    assert readers
    assert all(reason["why"] == "matmul is a kernel of its own" for reason in readers)


def test_strided_reads_and_single_threads_have_reasons(doc):
    strided = [kernel for kernel in doc["kernels"] if "40 elements apart" in kernel["vectorised"]]
    assert strided
    small = [kernel for kernel in doc["kernels"] if "are little work" in kernel["threaded"]]
    assert small


def test_types_stand_for_arguments_and_are_timed_on_made_up_values():
    document = view(score, *[TensorType(np.dtype("f8"), (8, 8))] * 2).document
    assert document["timing"]["made_up"] == 2
    assert document["timing"]["seconds"] > 0


def test_made_up_indices_are_valid():
    def pick(table, which):
        return table[which].sum()

    types = TensorType(np.dtype("f8"), (3, 4)), TensorType(np.dtype("i8"), (100,))
    assert view(pick, *types).document["timing"]["problem"] == ""


def test_what_raises_is_said_and_the_rest_is_there():
    def fails(x):
        raise RuntimeError("not today")

    document = view(lambda x: tj.pure_callback(fails, x, x) + 1, tj.ones(3)).document
    assert document["timing"]["problem"] == "the function raised RuntimeError: not today"
    assert document["hints"] == []
    assert [kernel["kind"] for kernel in document["kernels"]] == ["host call", "map nest"]


RATE = 0.5
WEIGHTS = tj.ones((100, 100))


def test_loops_are_listed_with_what_is_in_them():
    def total(x):
        return tj.fori_loop(0, 500, lambda i, s: tj.tanh(WEIGHTS @ s) + x[i], tj.zeros(100))

    document = view(total, tj.ones(500)).document
    (loop,) = [kernel for kernel in document["kernels"] if kernel["kind"] == "loop"]
    inner = [kernel for kernel in document["kernels"] if kernel["parent"] == loop["name"]]
    assert inner
    assert all(operation["runs"] == 500 for operation in inner)
    (hint,) = [hint for hint in document["hints"] if "loop" in hint["title"]]
    assert "500 steps" in hint["title"]
    assert hint["line"] == total.__code__.co_firstlineno + 1


def test_control_flow_in_registers_and_empty_arrays():
    document = view(lambda x: tj.fori_loop(0, 9, lambda i, s: s * 2 + 1, x), 1.0).document
    assert [kernel["kind"] for kernel in document["kernels"]] == ["scan in registers"]
    assert view(lambda x: tj.exp(x) + 1, tj.zeros((0, 3))).document["kernels"][0]["bytes"] == 0
    assert view(lambda x: x, tj.ones(3)).document["kernels"] == []


def test_equal_kernels_share_code_and_keep_their_own_ops():
    def layers(x, w):
        x = tj.tanh(x @ w)
        x = tj.tanh(x @ w)
        return tj.tanh(x @ w)

    document = view(layers, tj.ones((40, 40)), tj.ones((40, 40))).document
    assert [kernel["kind"] for kernel in document["kernels"]] == ["matmul", "map nest"] * 3
    assert len({kernel["group"] for kernel in document["kernels"]}) == 6
    first = layers.__code__.co_firstlineno + 1
    written = []
    for number in range(3):
        ops = ops_of_line(document, first + number)
        assert len(ops) == 2
        nests, _ = lines_about(document, "loops", ops)
        assert len([line for line in nests if "tanh(" in line]) == 1
        nest = document["kernels"][2 * number + 1]
        names = {stage["id"]: stage["lines"] for stage in document["stages"]}
        assert names["loops"][nest["at"]["loops"]].startswith(f"map nest {nest['name']}:")
        written.append(lines_about(document, "llvm", ops)[0])
        assert any(" fdiv " in line or " fmul " in line for line in written[-1])
    texts = [[line for line in lines if line.startswith("  ")] for lines in written]
    assert texts[0] == texts[1] == texts[2]


def test_without_timing_nothing_runs():
    def fails(x):
        raise AssertionError("it ran")

    function = tj.trace(lambda x: tj.pure_callback(fails, x, x), tj.ones(3))
    document = view_function(function, (), "f", timing=False).document
    assert document["machine"] is None
    assert document["timing"]["problem"] == "timing was switched off"


def test_functions_that_are_too_large_are_refused(monkeypatch):
    monkeypatch.setattr(document, "MAX_OPS", 3)
    with pytest.raises(TracejitError, match=r"score has \d+ ops, and the page can show 3; view a part"):
        view(score, tj.ones((4, 4)), tj.ones((4, 4)))


def test_loops_of_the_source_are_listed_with_what_became_of_them():
    names = ["first", "second"] * 25

    def total(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * x[i]
        for i in range(50):
            s += x[len(names[i])]
        return s

    document = view(tj.jit(total), tj.ones(500)).document
    line = total.__code__.co_firstlineno + 2
    compiled, unrolled = document["loops"]
    steps = "500 steps at once, as arrays"
    assert (compiled["outcome"], compiled["line"], compiled["reason"]) == ("compiled", line, steps)
    assert (unrolled["outcome"], unrolled["line"]) == ("unrolled", line + 2)
    assert "Python integer" in unrolled["reason"]
    (file,) = document["files"]
    assert document["files"][unrolled["file"]] is file
    assert "range(50)" in file["lines"][unrolled["line"] - file["first"]]


def test_numbers_outside_the_function_are_timed_as_they_are():
    assert view(tj.jit(lambda x: x * RATE), tj.ones(10)).document["timing"]["problem"] == ""
