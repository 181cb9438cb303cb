"""FFMA on a register tile: registers rewritten in a cubin, and what the stored rows say."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from asyncsim.hw.calibrate import derive
from asyncsim.hw.calibrate.operands import PATTERNS, rewrite
from asyncsim.hw.calibrate.rows import Rows

DATA = Path(__file__).parents[2] / "hw/calibrate/data"
BOARDS = ("53ff3c88", "aa43dfa8")
READS = {  # registers of the even and of the odd bank that two FFMA in a row read
    "one of each bank": (2, 2),
    "two of a bank in turn": (2, 2),
    "two of the even bank": (4, 0),
    "three, two in turn": (3, 3),
    "three of the even bank": (6, 0),
    "no reuse marked": (4, 2),
    "two of every fourth": (4, 0),
    "one": (0, 2),
    "three, two of the even bank": (4, 2),
}
FFMA = (0x0000001C144D7223, 0x040FE2000000004D)  # FFMA R77, R20.reuse, R28, R77
OTHER = (0x000000010A0A7810, 0x000FE20007FFE0FF)  # IADD3 R10, R10, 0x1, RZ


def elf(section: bytes, *instructions: tuple[int, int]) -> bytes:
    """An ELF file with one section of code; its header, names, code, then the section table."""
    names = b"\0" + section + b"\0"
    code = b"".join(struct.pack("<QQ", *words) for words in instructions)
    at_code = 0x40 + len(names)
    table = at_code + len(code)
    header = bytearray(0x40)
    struct.pack_into("<Q10xHHH", header, 0x28, table, 64, 2, 0)
    strings = struct.pack("<IIQQQQ24x", 0, 3, 0, 0, 0x40, len(names))
    text = struct.pack("<IIQQQQ24x", 1, 1, 6, 0, at_code, len(code))
    return bytes(header) + names + code + strings + text


def test_rewriting_changes_the_sources_of_ffma_only() -> None:
    before = elf(b".text.outer", FFMA, OTHER, FFMA)
    after = rewrite(before, PATTERNS[0])
    second = (0x0000000E084D7223, 0x040FE20000000019)  # FFMA R77, R8.reuse, R14, R25
    first = (0x0000000C084D7223, 0x040FE20000000017)  # FFMA R77, R8.reuse, R12, R23
    assert after == elf(b".text.outer", first, OTHER, second)
    assert rewrite(before, PATTERNS[6]) == elf(
        b".text.outer",
        (first[0], first[1] & ~(7 << 58)),
        OTHER,
        (second[0], second[1] & ~(7 << 58)),
    )


def test_other_sections_stay_as_they_are() -> None:
    data = elf(b".nv.constant0", FFMA)
    assert rewrite(data, PATTERNS[0]) == data


@pytest.fixture(scope="module", params=BOARDS)
def rows(request: pytest.FixtureRequest) -> Rows:
    text = (DATA / f"2026-11-30-{request.param}.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return Rows(document["rows"])


@pytest.mark.parametrize("warps", [8, 16])
@pytest.mark.parametrize("name", sorted(READS))
def test_a_bank_is_read_once_a_cycle(rows: Rows, name: str, warps: int) -> None:
    """Two FFMA take the reads of the bank that has more, at least two cycles."""
    each = rows.median("ffma_registers", pattern=name, warps=warps) / (warps / 4) / 512
    assert each == pytest.approx(max(1, *(n / 2 for n in READS[name])), rel=0.06)


def test_two_reads_of_a_bank_even_out_over_two_instructions(rows: Rows) -> None:
    """Four in a row do not: 7 cycles for 4 of them, of 8 without any overlap."""
    each = rows.median("ffma_registers", pattern="two of a bank, four in a row", warps=16) / 4
    assert each / 512 == pytest.approx(7 / 4, rel=0.03)


def test_lanes_that_share_addresses_halve_the_wavefronts(rows: Rows) -> None:
    """Pairs i, i^1 or i, i^2 do; i, i^4 do not."""
    each = {
        share: rows.median("lds_rate", width=16, warps=8, share=share) / 8
        for share in ("none", "i, i^1", "i, i^2", "i, i^4", "four places", "all")
    }
    for share, cycles in each.items():
        assert cycles == pytest.approx(4 if share in ("none", "i, i^4") else 2, rel=0.09), share


def test_rules_of_outer_products_give_the_numbers_that_went_in() -> None:
    def turn(step: float, warps: int, depth: int) -> float:
        return (step * depth + 40) * warps / 4

    made = [
        {
            "bench": "outer",
            "metric": "cycles",
            "params": {"factors": "row", "tile": "8x8", "depth": depth, "warps": warps},
            "median": turn(64 * 1.5 + 4, warps, depth),
        }
        for depth in (4, 16)
        for warps in (8, 16)
    ]
    made += [{**row, "params": {**row["params"], "factors": "step"}} for row in made]  # type: ignore[dict-item]
    made.append(
        {
            "bench": "loop",
            "metric": "cycles",
            "params": {"body": 128, "warps": 1},
            "median": 522.0,
        }
    )
    assert derive.outer_ffma(Rows(made), "row") == 1.5
    assert derive.outer_turns(Rows(made)) == [30.0] * 4
