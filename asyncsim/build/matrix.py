"""ldmatrix, stmatrix and mma.sync: executed by the 32 lanes of a warp together."""

from __future__ import annotations

from asyncsim.build.families import Family
from asyncsim.build.handles import TileView
from asyncsim.build.where import caller
from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.matrix import LANE_BYTES, MMA_K_BYTES
from asyncsim.ir.op import FragmentRef, Scope


class MatrixFamily(Family):
    """Matrices of 8 rows of 16 bytes; ``k.mma.sync`` multiplies them."""

    def ldmatrix(self, dst: FragmentRef, src: TileView, *, trans: bool = False) -> None:
        """ldmatrix.xN of as many matrices as ``dst`` has: lane i names row i % 8 of matrix i / 8,
        a view of 16 bytes. ``trans``: of 16-bit elements, each matrix as its transpose."""
        num = self._num("ldmatrix", dst, src)
        self._k.emit(
            ops.LdMatrix, scope=Scope.WARP, dst=dst, src=src.view, num=num, trans=bool(trans)
        )

    def stmatrix(self, dst: TileView, src: FragmentRef, *, trans: bool = False) -> None:
        """stmatrix.xN: the matrices in ``src`` to the rows that the lanes name."""
        num = self._num("stmatrix", src, dst)
        self._k.emit(
            ops.StMatrix, scope=Scope.WARP, dst=dst.view, src=src, num=num, trans=bool(trans)
        )

    def sync(
        self, d: FragmentRef, a: FragmentRef, b: FragmentRef, c: FragmentRef | None = None
    ) -> None:
        """mma.sync: d (16, 8) = a (16, K) times b (8, K) transposed, plus ``c`` (d itself if None).

        K is 32 bytes: 16 of bf16 or f16, 8 of tf32, 32 of 8 bits. ``a`` is four matrices, ``b``
        two; ``d`` and ``c`` are 4 registers of f32, or of i32.
        """
        k = MMA_K_BYTES // self._k.dtype_of(a.name).bytes
        self._k.emit(ops.MmaSync, scope=Scope.WARP, d=d, a=a, b=b, c=c or d, k=k)

    def _num(self, name: str, registers: FragmentRef, view: TileView) -> int:
        size = registers.count * self._k.dtype_of(registers.name).bytes
        num, rest = divmod(size, LANE_BYTES)
        if rest or num not in (1, 2, 4):
            raise ScheduleError(
                f"{name} of {registers.name}[{registers.first}:+{registers.count}], {size} bytes "
                "of a lane",
                fix="pass 1, 2 or 4 matrices: of a fragment of k.matrices, matrices(first, count)",
                loc=caller(),
            )
        return num
