"""Cases: mma.sync, ldmatrix and stmatrix.  See docs/machine.md."""

__all__ = ["matrix_cases"]

from collections.abc import Iterator

import numpy as np

from .case import Case, Context, Reduce, Samples, Words
from .sources import Variant

KINDS = ("bf16", "tf32", "i8")  # ptxas makes f16 products of 8-bit floats on sm_90a
TURNS = 64


def matrix_cases() -> Iterator[Case]:
    for kind, name in enumerate(KINDS):
        for chains, warps in ((1, 1), (4, 1), (8, 1), (8, 4), (8, 8), (8, 16)):
            yield _case(
                "mma_sync",
                {"kind": name, "chains": chains},
                warps,
                "products",
                (("KIND", kind), ("CHAINS", chains)),
                TURNS * chains,
            )
    for num in (1, 2, 4):
        defines = (("NUM", num), ("STORES", 0))
        yield _case("ldmatrix_chased", {"num": num}, 1, "chased", defines, TURNS)
        for warps in (1, 2, 4, 8, 16):
            yield _case("ldmatrix_rate", {"num": num}, warps, "moves", defines, TURNS)
            stores = (("NUM", num), ("STORES", 1))
            yield _case("stmatrix_rate", {"num": num}, warps, "moves", stores, TURNS)


def _case(
    bench: str,
    params: dict[str, int | str],
    warps: int,
    kernel: str,
    defines: tuple[tuple[str, int], ...],
    count: int,
) -> Case:
    return Case(
        bench,
        params | {"warps": warps},
        Variant("matrix.cu", defines),
        kernel,
        _each(warps, count),
        block=32 * warps,
        args=(3, 5, 0, 1),
        words=1024,
        repeat=20,
    )


def _each(warps: int, count: int) -> Reduce:
    """Cycles of one instruction of a warp, of the slowest one."""

    def reduce(words: Words, context: Context) -> Samples:
        return {"cycles": np.array([words[:warps].max() / count])}

    return reduce
