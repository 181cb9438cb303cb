"""Registers of a compiled loop of FFMA, chosen by the benchmark instead of by the compiler.

What an FFMA costs depends on where its operands lie: a sub-partition reads registers from two banks
(even and odd numbers), and an operand that was marked for reuse need not be read again.  ptxas
decides both; a benchmark of one pattern overwrites its choice in the cubin.  The results are
meaningless, the timing is not.  See docs/machine.md.
"""

__all__ = ["PATTERNS", "Pattern", "rewrite"]

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_FFMA = 0x223  # low 12 bits of the encoding with three registers
_FACTOR = 8  # the register that every FFMA of a pattern with reuse names
_A, _B, _ANY = 1 << 58, 1 << 59, 7 << 58  # operands marked for reuse


@dataclass(frozen=True, slots=True)
class Pattern:
    """The three sources of the i-th FFMA, and which of them are marked for reuse."""

    name: str
    sources: Callable[[int], tuple[int, int, int]]
    reuse: int = _A


def _of(bank: int, i: int) -> int:
    """The i-th of 16 registers of a bank, in turn."""
    return 12 + 2 * (i % 16) + bank


def _pair(bank: int, i: int) -> tuple[int, int, int]:
    return _FACTOR, _of(bank, i), _of(bank, i + 5)


PATTERNS = (
    Pattern("one of each bank", lambda i: (_FACTOR, _of(0, i), _of(1, i + 5))),
    Pattern("two of a bank in turn", lambda i: _pair(i % 2, i)),
    Pattern("two of the even bank", lambda i: _pair(0, i)),
    Pattern("two of a bank, four in a row", lambda i: _pair(i // 4 % 2, i)),
    Pattern("three, two in turn", lambda i: (_of(0, i + 3), _of(1, i), _of(i % 2, i + 7)), 0),
    Pattern("three of the even bank", lambda i: (_of(0, i + 3), _of(0, i), _of(0, i + 7)), 0),
    Pattern("no reuse marked", lambda i: (_FACTOR, _of(0, i), _of(1, i + 5)), 0),
    Pattern("two of every fourth", lambda i: (_FACTOR, 12 + 4 * (i % 8), 14 + 4 * (i % 7))),
    Pattern("one", lambda i: (_FACTOR, _FACTOR + 1, _of(1, i + 5)), _A | _B),
    Pattern("three, two of the even bank", lambda i: (_of(0, i + 3), _of(1, i), _of(0, i + 7)), 0),
)


def rewrite(cubin: bytes, pattern: Pattern) -> bytes:
    """The cubin with the sources of its FFMAs, in order, as the pattern says."""
    code = bytearray(cubin)
    for i, at in enumerate(_ffmas(code)):
        low, high = struct.unpack_from("<QQ", code, at)
        a, b, c = pattern.sources(i)
        low = low & ~(0xFFFF << 24) | a << 24 | b << 32
        high = high & ~0xFF & ~_ANY | c | pattern.reuse
        struct.pack_into("<QQ", code, at, low, high)
    return bytes(code)


def _ffmas(code: bytearray) -> Iterator[int]:
    """Offsets of the FFMAs on registers in the kernels' sections of an ELF file."""
    table, size, count, names = struct.unpack_from("<Q10xHHH", code, 0x28)
    (strings,) = struct.unpack_from("<Q", code, table + names * size + 24)
    for section in range(count):
        name, _, _, _, start, length = struct.unpack_from("<IIQQQQ", code, table + section * size)
        if code[strings + name : strings + name + 6] != b".text.":
            continue
        for at in range(start, start + length, 16):
            if struct.unpack_from("<H", code, at)[0] & 0xFFF == _FFMA:
                yield at
