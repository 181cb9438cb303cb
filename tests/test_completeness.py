"""Every reader handles every op: forgetting one in a reader fails here.

A reader is one or several modules; each ``match`` over ops ends in ``assert_never``, and together
their cases name every class of the union ``Op``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from asyncsim.ir.op import Op

ROOT = Path(__file__).parent.parent
OPS = frozenset(op.__name__ for op in get_args(Op))

READERS = {
    "text": ["asyncsim/ir/op_text.py"],
    "architectures": ["asyncsim/ir/validate/arch.py"],
    "resolve": [
        "asyncsim/stream/resolve.py",
        "asyncsim/stream/tcgen05.py",
        "asyncsim/stream/bulk.py",
        "asyncsim/stream/matrix.py",
    ],
    "evaluate": ["asyncsim/evaluate/*_ops.py"],
    "check": ["asyncsim/check/steps.py", "asyncsim/check/tcgen05.py"],
    "check, words": ["asyncsim/check/describe.py"],
    "simulate": ["asyncsim/sim/*.py"],
    "render": ["hw/render/*.py"],
    "mutants": ["tests/mutants/operators.py"],
}


def closed_cases(source: str) -> Iterator[str]:
    """Class names in the cases of every ``match`` whose last case calls ``assert_never``."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Match):
            continue
        last = node.cases[-1]
        closed = any(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "assert_never"
            for statement in last.body
            for n in ast.walk(statement)
        )
        if not closed:
            continue
        for case in node.cases[:-1]:
            if case.guard is None:
                yield from _classes(case.pattern)


def _classes(pattern: ast.pattern) -> Iterator[str]:
    """The classes that a case stands for at its top level; operands inside are no cases."""
    match pattern:
        case ast.MatchOr(patterns=patterns):
            for p in patterns:
                yield from _classes(p)
        case ast.MatchAs(pattern=inner) if inner is not None:
            yield from _classes(inner)
        case ast.MatchClass(cls=ast.Name(id=name) | ast.Attribute(attr=name)):
            yield name


def test_there_are_ops():
    assert len(OPS) == 60
    assert {"MbarrierWait", "TmaLoad", "WgmmaMmaAsync", "Compute"} <= OPS


@pytest.mark.parametrize("reader", READERS)
def test_reader_handles_every_op(reader):
    files = [f for pattern in READERS[reader] for f in sorted(ROOT.glob(pattern))]
    assert files, f"{reader} has no files"
    handled = {name for f in files for name in closed_cases(f.read_text())}
    assert OPS - handled == frozenset()


FORGETS_ONE = """
match op:
    case ops.MbarrierInit(count=count) | ops.MbarrierInval():
        pass
    case ops.WaitGroup(kind=GroupKind.BULK) as group:
        pass
    case TmaLoad() if elected:
        pass
    case _ as unreachable:
        assert_never(unreachable)
match op:
    case ops.TmaStore():
        pass
    case _:
        pass
"""


def test_guarded_cases_and_open_matches_do_not_count():
    assert set(closed_cases(FORGETS_ONE)) == {"MbarrierInit", "MbarrierInval", "WaitGroup"}
