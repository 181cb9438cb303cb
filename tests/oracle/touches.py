"""Which elements the lanes of an observer touch in one op, and which data they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np

from asyncsim.ir import op as ops
from asyncsim.ir.decl import AccessMode
from asyncsim.ir.expr import Arg, Builtin, BuiltinRef, Expr, Var, is_lane_varying, python_source
from asyncsim.ir.matrix import addressing_lanes
from asyncsim.ir.op import GlobalView, OpBase, SmemView
from asyncsim.ir.schedule import Schedule
from tests.oracle.footprints import FILLED, OUTSIDE, Buffer, Touch, box_elements
from tests.stream.interpreter import Env, value_of

Compiled = Callable[[Env], int]
TENSOR = 1 << 40  # elements of tensor t are t * TENSOR + flat index


class Touches:
    """Of one schedule. Tensors that nobody writes are left out: they cannot race; nor do those that
    nothing but reductions of one operator touches."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.trouble: set[str] = set()
        stores = (o for o in schedule.ops() if isinstance(o, ops.StGlobal | ops.StoreOp))
        self.written = {o.dst.tensor for o in stores} - _reduced(schedule)
        self.numbers: dict[str, int] = {}
        self._compiled: dict[int, tuple[Expr, Compiled]] = {}
        self._varying: dict[int, tuple[object, bool]] = {}

    def tile_bytes(self, view: SmemView) -> int:
        return prod(view.shape) * self.schedule.tile(view.tile).dtype.bytes

    def of(
        self, op: OpBase, env: Env, lanes: tuple[int, ...], receiver: int | None = None
    ) -> tuple[Touch, ...]:
        """The touches of an op by some lanes of a warp; ``receiver``: of a multicast."""
        found: list[Touch | None] = []
        self._stay_inside(op, env, lanes)
        match op:
            case ops.TmaLoad(dst=dst) if op.offsets:  # of a tensor that stays as it is
                found.append(self._smem(dst, env, lanes, True, True, receiver=receiver))
            case ops.TmaLoad(dst=dst, src=src) | ops.BulkLoad(dst=dst, src=src):
                found += [
                    self._global(src, env, lanes, False, True),
                    self._smem(dst, env, lanes, True, True, src, receiver=receiver),
                ]
            case ops.CpAsync(dst=dst, src=src):
                found += [
                    self._global(src, env, lanes, False, False),
                    self._smem(dst, env, lanes, True, False, src, op),
                ]
            case ops.BulkSend(dst=dst, src=view):
                found += [
                    self._smem(view, env, lanes, False, True),
                    self._smem(dst, env, lanes, True, True),
                ]
            case ops.TmaStore(dst=box, src=view) | ops.BulkStore(dst=box, src=view):
                found += [
                    self._smem(view, env, lanes, False, True),
                    self._global(box, env, lanes, True, True),
                ]
            case ops.WgmmaMmaAsync(a=a, b=b):
                views = [v for v in (a, b) if isinstance(v, SmemView)]
                found += [self._smem(v, env, lanes, False, True) for v in views]
            case ops.LdGlobal(src=box):
                found.append(self._global(box, env, lanes, False, False))
            case ops.StGlobal(dst=box):
                found.append(self._global(box, env, lanes, True, False))
            case ops.LdShared(src=view):
                found.append(self._smem(view, env, lanes, False, False))
            case ops.LdMatrix(src=view):
                rows = self._smem(view, env, tuple(range(addressing_lanes(op))), False, False)
                found.append(rows and replace(rows, lane=None))  # each lane has a part of all rows
            case ops.StShared(dst=view) | ops.StAsync(dst=view):
                found.append(self._smem(view, env, lanes, True, False))
            case ops.Compute(defn=defn, operands=operands):
                for formal, actual in zip(defn.operands, operands, strict=True):
                    if not isinstance(actual, SmemView):
                        continue
                    if formal.mode is not AccessMode.WRITE:
                        found.append(self._smem(actual, env, lanes, False, False))
                    if formal.mode is not AccessMode.READ:
                        found.append(self._smem(actual, env, lanes, True, False))
            case _:
                pass
        return tuple(t for t in found if t is not None)

    def _stay_inside(self, op: OpBase, env: Env, lanes: tuple[int, ...]) -> None:
        """Plain accesses lie inside their tensor; tensor maps and clipped stores need not."""
        match op:
            case ops.CpAsync(src=box, src_bytes=kept) if kept is None or self._value(kept)(env):
                pass
            case (
                ops.LdGlobal(src=box)
                | ops.StGlobal(dst=box, clip=False)
                | ops.BulkLoad(src=box)
                | ops.BulkStore(dst=box)
            ):
                pass
            case _:
                return
        for e in self._envs(env, lanes, box):
            if OUTSIDE in self._elements(box, e):
                self.trouble.add("out of bounds")
                return

    def _envs(self, env: Env, lanes: tuple[int, ...], *views: object) -> list[Env]:
        """One environment a lane, or one in all if the views are the same in all lanes."""
        if not any(map(self._varies, views)):
            lanes = lanes[:1]
        first = 32 * env[Builtin.WARP_IN_ROLE.value]
        return [
            env | {Builtin.LANE.value: i, Builtin.THREAD_IN_ROLE.value: first + i} for i in lanes
        ]

    def _varies(self, view: object) -> bool:
        known = self._varying.get(id(view))
        if known is None:
            starts = view.start if isinstance(view, GlobalView | SmemView) else ()
            known = self._varying[id(view)] = view, any(map(is_lane_varying, starts))
        return known[1]

    def _values(self, exprs: tuple[Expr, ...], env: Env) -> tuple[int, ...]:
        return tuple([self._value(e)(env) for e in exprs])

    def _value(self, expr: Expr) -> Compiled:
        found = self._compiled.get(id(expr))
        if found is None:
            text = python_source(expr, lambda leaf: f"env[{_name(leaf)!r}]")
            found = self._compiled[id(expr)] = expr, eval(f"lambda env: {text}")
        return found[1]

    def _global(
        self, box: GlobalView, env: Env, lanes: tuple[int, ...], write: bool, is_async: bool
    ) -> Touch | None:
        if box.tensor not in self.written:
            return None
        elements = [self._elements(box, e) for e in self._envs(env, lanes, box)]
        flat = np.concatenate(elements)
        lane = np.repeat(np.arange(len(elements)), [len(e) for e in elements])
        inside = flat != OUTSIDE
        return Touch(
            Buffer(box.tensor),
            flat[inside],
            write,
            is_async,
            lane=self._lane(lane[inside], elements),
        )

    def _elements(self, box: GlobalView, env: Env) -> np.ndarray:
        shape = self.schedule.tensor(box.tensor).shape
        return box_elements(shape, self._values(box.start, env), box.shape)

    def _smem(
        self,
        view: SmemView,
        env: Env,
        lanes: tuple[int, ...],
        write: bool,
        is_async: bool,
        source: GlobalView | None = None,
        copy: ops.CpAsync | None = None,
        receiver: int | None = None,
    ) -> Touch | None:
        tile, means = self.schedule.tile(view.tile), source or view.expects
        stage = value_of(view.stage, env)
        if receiver is None:
            receiver = value_of(view.rank, env) if view.rank else env[Builtin.CTA_RANK.value]
        parts: list[np.ndarray] = []
        data: list[np.ndarray] = []
        varying = (view, means)
        envs = self._envs(env, lanes, *varying)
        if copy is not None and copy.src_bytes is not None and is_lane_varying(copy.src_bytes):
            raise NotImplementedError("src_bytes that differ from lane to lane")
        for e in envs:
            start = self._values(view.start, e)
            flat = box_elements(tile.shape, start, view.shape)
            if OUTSIDE in flat or not 0 <= stage < tile.stages:
                self.trouble.add("out of bounds")
                return None
            parts.append(flat)
            if means is not None:
                data.append(self._data(means, e, copy))
        lane = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
        return Touch(
            Buffer(view.tile, stage, receiver),
            np.concatenate(parts),
            write,
            is_async,
            np.concatenate(data) if data else None,
            self._lane(lane, parts),
        )

    def _data(self, means: GlobalView, env: Env, copy: ops.CpAsync | None) -> np.ndarray:
        number = self.numbers.setdefault(means.tensor, len(self.numbers))
        flat = self._elements(means, env)
        data = np.where(flat == OUTSIDE, OUTSIDE, flat + number * TENSOR)
        if copy is not None and copy.src_bytes is not None:
            size = self.schedule.tensor(means.tensor).dtype.bytes
            kept = value_of(copy.src_bytes, env) // size
            tail = data[kept:]
            tail[tail != OUTSIDE] = FILLED
        return data

    def _lane(self, lane: np.ndarray, parts: list[np.ndarray]) -> np.ndarray | None:
        return lane if len(parts) > 1 else None


def _reduced(schedule: Schedule) -> set[str]:
    """Tensors with one use: reductions of one operator."""
    uses: dict[str, set[object]] = {}
    for op in schedule.ops():
        match op:
            case ops.TmaStore(dst=box) | ops.BulkStore(dst=box):
                uses.setdefault(box.tensor, set()).add(op.reduce)
            case ops.StGlobal(dst=box) | ops.LdGlobal(src=box) | ops.CpAsync(src=box):
                uses.setdefault(box.tensor, set()).add(None)
            case ops.TmaLoad(src=box) | ops.BulkLoad(src=box):
                uses.setdefault(box.tensor, set()).add(None)
            case _:
                pass
    return {name for name, found in uses.items() if len(found) == 1 and None not in found}


def _name(leaf: Expr) -> str:
    match leaf:
        case Var(name) | Arg(name):
            return name
        case BuiltinRef(builtin):
            return builtin.value
        case _:
            raise AssertionError(leaf)
