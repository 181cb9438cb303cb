"""Constants behind the swizzle: the address is the same, and neighbours share what is computed."""

from __future__ import annotations

import random
import re

import pytest

from asyncsim.hw.render.expr import c_text
from asyncsim.hw.render.swizzle import MASK, possible_bits, swizzled_text
from asyncsim.ir.decl import Swizzle
from asyncsim.ir.expr import Binary, Builtin, BuiltinRef, Const, Expr, Var, binary
from asyncsim.memory.swizzle import REPEAT_BYTES, swizzled

LANE, STAGE, ROW = BuiltinRef(Builtin.LANE), Var("stage"), Var("row")


def value(text: str, **names: int) -> int:
    """C text of an address as Python reads it: the operators of both bind alike."""
    python = re.sub(r"swizzled<(\d+)>", r"swizzled_\1", text)
    functions = {f"swizzled_{m}": lambda x, m=m: x ^ ((x >> 3) & m) for m in MASK.values()}
    return int(eval(python, {**functions, **names}))


def some_offset(rng: random.Random) -> Expr:
    """What tiles are indexed with: a stage, rows and chunks of lanes, constants."""
    parts: list[Expr] = [
        Binary("*", STAGE, Const(rng.choice((512, 1024, 16384)))),
        Binary("*", Binary("%", LANE, Const(rng.choice((8, 16)))), Const(rng.choice((64, 128)))),
        Binary("*", Binary("//", LANE, Const(rng.choice((4, 8, 16)))), Const(rng.choice((16, 48)))),
        Binary("*", Binary("^", Binary("%", LANE, Const(4)), Const(2)), Const(4)),
        Binary("*", ROW, Const(rng.choice((4, 128, 3072)))),
    ]
    out: Expr = Const(rng.choice((0, 4, 16, 32, 96, 128, 1040, 2048, 6176, -1024, -16)))
    for part in rng.sample(parts, rng.randint(1, 4)):
        out = binary("+", out, part)
    return out


@pytest.mark.parametrize("mode", [m for m in Swizzle if m is not Swizzle.NONE], ids=str)
def test_the_address_is_the_same(mode: Swizzle) -> None:
    rng, split = random.Random(mode.value), 0
    for _ in range(400):
        offset = some_offset(rng)
        start = REPEAT_BYTES[mode] * rng.randrange(9) + rng.choice((0, 0, 128))
        text = swizzled_text("at_x", start % REPEAT_BYTES[mode] == 0, offset, mode)
        split += "^" in text
        for _ in range(20):
            names = {
                "lane": rng.randrange(32),
                "v_stage": rng.randrange(5),
                "v_row": rng.randrange(64),
            }
            plain = value(c_text(offset), **names)
            assert value(text, at_x=start, **names) == swizzled(plain + start, mode), text
    assert split > 40


def test_possible_bits() -> None:
    row = Binary("*", Binary("%", LANE, Const(16)), Const(128))
    chunk = Binary("*", Binary("//", LANE, Const(16)), Const(16))
    assert possible_bits(Binary("+", row, chunk)) == 0x790
    assert possible_bits(Binary("*", STAGE, Const(16384))) == -16384
    assert possible_bits(Binary("+", row, row)) == -128  # carries
    assert possible_bits(Binary("*", LANE, Const(48))) == -16
    assert possible_bits(Binary("%", ROW, Const(6))) == 7
    assert possible_bits(Binary("-", LANE, Const(1))) == -1


def test_text() -> None:
    row = Binary("*", Binary("%", LANE, Const(16)), Const(128))
    at = binary("+", row, Const(2048 + 32))
    base = "swizzled<112>((lane & 15) * 128)"
    assert swizzled_text("at_x", True, at, Swizzle.B128) == f"({base} ^ 32) + 2048 + at_x"
    assert swizzled_text("at_x", True, row, Swizzle.B128) == f"{base} + at_x"
    over = binary("+", row, Const(128))  # may carry into the next row
    text = "swizzled<112>((lane & 15) * 128 + 128) + at_x"
    assert swizzled_text("at_x", True, over, Swizzle.B128) == text
    unaligned = "swizzled<112>((lane & 15) * 128 + 2080 + at_x)"
    assert swizzled_text("at_x", False, at, Swizzle.B128) == unaligned
