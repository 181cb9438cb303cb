"""What expressions keep of themselves is theirs alone: equality, copies and pickles ignore it."""

from __future__ import annotations

import pickle
import subprocess
import sys

from hypothesis import given

from asyncsim.ir.expr import Arg, Binary, Builtin, BuiltinRef, Const, Unary, Var, leaves, walk
from tests.ir.test_text import EXPRESSIONS

LANE = BuiltinRef(Builtin.LANE)
SUM = Binary("+", Binary("*", Var("i"), Const(4)), Unary("-", Binary("+", LANE, Var("i"))))


@given(EXPRESSIONS)
def test_leaves_are_those_of_the_walk_once_each(expr):
    found = [n for n in walk(expr) if isinstance(n, Var | Arg | BuiltinRef)]
    assert leaves(expr) == tuple(dict.fromkeys(found))


def test_a_hash_that_is_kept_does_not_travel():
    """Hashes of texts differ from process to process: a kept one would lose the expression."""
    hash(SUM)
    leaves(SUM)
    again = pickle.loads(pickle.dumps(SUM))
    assert again == SUM
    assert not hasattr(again, "_hash")
    code = (
        "import pickle, sys; e = pickle.loads(sys.stdin.buffer.read());"
        "from tests.ir.test_expr import SUM; print({SUM: 1}[e])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(SUM), capture_output=True, check=True
    )
    assert done.stdout.split() == [b"1"]


def test_leaves_from_left_to_right():
    assert leaves(SUM) == (Var("i"), LANE)
    assert leaves(Const(3)) == ()
    assert leaves(LANE) == (LANE,)
