"""flash_attention: O = softmax(Q K^T / sqrt(d)) V, the forward pass of FlashAttention-3.

A CTA takes ``64 * consumers`` queries of one head. A producer warpgroup, of which one thread
issues, loads them once and then K and V block by block, the last block first, through two rings. A
consumer warpgroup takes 64 queries: scores S = Q K^T, online softmax in registers, weights P as the
A of O += P V. O goes through the shared memory of the queries, and out by TMA.

``overlap`` 1: the product Q K^T of the next block and P V of this one are issued together, and the
softmax of the next runs under P V. ``pingpong`` 1: the warpgroups issue their products in turns, by
named barriers, so that the softmax of one runs under the products of the others.

Causal: blocks of keys that lie after every query are not visited; how many are depends on the CTA.
"""

from __future__ import annotations

from collections.abc import Callable

from asyncsim import ScheduleBuilder
from asyncsim.build.handles import TileView
from asyncsim.build.pipeline import PipelineState
from asyncsim.build.value import Index, Value, minimum
from asyncsim.ir.op import GlobalView, MbarrierRef
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Flag, Stages, Switch, Warpgroups, scenario
from asyncsim.scenarios.attention_shape import (
    PANEL,
    REGISTERS,
    ROWS,
    Ring,
    Shape,
    check_shape,
    head_tensor,
)
from asyncsim.scenarios.flash_twins import TWINS
from asyncsim.scenarios.softmax import (
    divide_by_total,
    fade_sums,
    mask_scores,
    online_softmax,
    round_weights,
)


@scenario(
    summary="attention, forward: TMA rings of K and V, online softmax under wgmma, ping-pong",
    archs=("sm_90a",),
    twins=TWINS,
)
def flash_attention(
    *,
    seq: int = 4096,
    heads: int = 64,
    hdim: int = 128,
    causal: Flag = 0,
    block_n: int = 0,
    stages: Stages = 2,
    consumers: Warpgroups = 2,
    overlap: Switch = 1,
    pingpong: Switch = 1,
    f16: Flag = 0,
    setmaxnreg: Flag = 1,
    twin: str = "",
) -> Schedule:
    block_n = block_n or (64 if hdim == 256 else 128)
    shape = Shape(
        seq=seq,
        heads=heads,
        hdim=hdim,
        causal=bool(causal),
        block_n=block_n,
        stages=stages,
        consumers=consumers,
        overlap=bool(overlap),
        pingpong=bool(pingpong) and consumers > 1,
        dtype="f16" if f16 else "bf16",
        setmaxnreg=bool(setmaxnreg),
    )
    check_shape(shape)
    return Kernel(shape, twin).trace()


class Kernel:
    """One tracing of the kernel; ``twin`` says which bug is in it."""

    def __init__(self, shape: Shape, twin: str) -> None:
        x = self.x = shape
        self.twin = twin
        b = self.b = ScheduleBuilder("flash_attention", archs=("sm_90a",))
        tiles = -(-x.seq // x.block_m)
        b.grid(tiles, x.heads)
        self.seq, last = b.arg("seq", x.seq), b.arg("last_tile", tiles - 1)
        place = last - b.block_idx if x.causal else b.block_idx  # the longest first
        self.head, self.row0 = b.block_idx_y, place * x.block_m
        self.blocks = (self.seq + (x.block_n - 1)) // x.block_n
        self.visited = self.blocks
        if x.causal:
            reach = self.row0 + (x.block_m + x.block_n - 1)
            self.visited = minimum(self.blocks, reach // x.block_n)

        query_box = (1, x.panels, x.block_m, PANEL)
        self.q, self.o = head_tensor(b, x, "q"), head_tensor(b, x, "o", output=True)
        self.q_map = b.tensor_map("q_map", self.q, box=query_box, swizzle=128)
        self.o_map = b.tensor_map("o_map", self.o, box=(1, 1, 16, PANEL), swizzle=128)
        self.q_tile = b.smem_tile("q_tile", query_box, x.dtype, swizzle=128)
        self.q_full = b.mbarriers("q_full", count=1)
        released_by = 1 if twin == "one_group_releases" else x.consumers
        self.k, self.v = (Ring(b, x, name, released_by) for name in ("k", "v"))
        if x.pingpong:
            pair = 2 * 128  # who has waited for the turn, and who passes it on
            groups = range(x.consumers)
            self.turns = [b.named_barrier(f"turn{g}", id=1 + g, threads=pair) for g in groups]

    def trace(self) -> Schedule:
        b = self.b
        trades = self.x.setmaxnreg
        launch, given, taken = REGISTERS[self.x.consumers]
        if trades:
            b.launch_bounds(1, maxnreg=launch)
        with b.elect_thread():
            b.mbarrier.init_all(self.q_full, self.k.full, self.k.empty, self.v.full, self.v.empty)
            b.fence.mbarrier_init()
        b.bar.sync()
        with b.specialize():
            with b.role("consumer", warps=4 * self.x.consumers):
                if trades:
                    b.setmaxnreg.inc(taken)
                Consumer(self).trace()
            with b.role("producer", warps=4 if trades else 1):
                if trades:
                    b.setmaxnreg.dec(given)
                with b.elect_thread():
                    self._produce()
        return b.finish()

    def block_of(self, ring: Ring, j: Index) -> GlobalView:
        """The j-th block that is visited: from the last one down."""
        x = self.x
        start = (self.head, 0, (self.visited - 1 - j) * x.block_n, 0)
        return ring.tensor.box(start, (1, x.panels, x.block_n, PANEL))

    def _produce(self) -> None:
        b, x = self.b, self.x
        k_state = b.pipeline_state(x.stages, producer=True, name="k")
        v_state = b.pipeline_state(x.stages, producer=True, name="v")
        b.mbarrier.arrive_expect_tx(self.q_full[0], self.q_tile.decl.stage_bytes)
        b.tma.load(self.q_tile[0], self.q_map, (self.head, 0, self.row0, 0), self.q_full[0])
        if x.overlap:  # as the products of two blocks are issued
            self._load(self.k, k_state, 0)
            with b.loop(self.visited - 1) as i:
                self._load(self.k, k_state, i + 1)
                self._load(self.v, v_state, i)
            self._load(self.v, v_state, self.visited - 1)
        else:
            with b.loop(self.visited) as i:
                self._load(self.k, k_state, i)
                self._load(self.v, v_state, i)

    def _load(self, ring: Ring, state: PipelineState, j: Index) -> None:
        b, x, stage = self.b, self.x, state.stage
        full = ring.full
        if ring is self.v and self.twin == "v_on_k_barrier":
            full = self.k.full
        block: Index = self.visited - 1 - j
        if ring is self.v and self.twin == "from_the_end":
            block = self.blocks - 1 - j
        elif ring is self.v and self.twin == "ascending_v":
            block = j
        b.mbarrier.wait(ring.empty[stage], state.phase)
        b.mbarrier.arrive_expect_tx(ring.full[stage], ring.bytes)
        b.tma.load(ring.tile[stage], ring.map, (self.head, 0, block * x.block_n, 0), full[stage])
        state.advance()


class Consumer:
    """What a consumer warpgroup does; ``group`` is its place among them."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.x, self.twin, self.b = kernel, kernel.x, kernel.twin, kernel.b
        b, x = self.b, self.x
        self.group = b.warp_in_role // 4
        self.s, self.o = b.accumulator("s", n=x.block_n), b.accumulator("sums", n=x.hdim)
        self.p = b.operand("p", k=x.block_n, dtype=x.dtype)
        self.top, self.total, self.fade = (
            b.fragment(name, registers=2) for name in ("top", "total", "fade")
        )
        self.k_state = b.pipeline_state(x.stages, name="k")
        self.v_state = b.pipeline_state(x.stages, name="v")

    def trace(self) -> None:
        if self.twin != "late_query_wait":
            self.b.mbarrier.wait(self.kernel.q_full[0], 0)
        if self.x.overlap:
            self._scores(0)
            if self.twin == "late_query_wait":
                self.b.mbarrier.wait(self.kernel.q_full[0], 0)
            self.b.wgmma.wait_group(0)
            self._release_k()
            self._softmax(0, masked=True)
            self._round()
            self._rest(self._two_products)
            self._sums(self.kernel.visited - 1)
            self._finish_sums(loose=self.twin == "no_final_wait")
        else:
            self._take_turn(0)
            self._one_block(0, masked=True)
            self._rest(self._one_block)
            self._pass_turn(self.kernel.visited)
        self._store()

    def _rest(self, step: Callable[..., None]) -> None:
        """All blocks but the first: those that the diagonal crosses, then the whole ones."""
        b, x, visited = self.b, self.x, self.kernel.visited
        crossed: Index = 1
        if x.causal and x.block_n % x.block_m:
            crossed = visited - minimum(visited, (self.kernel.row0 + 1) // x.block_n)
            with b.loop(crossed - 1, name="crossed") as i:
                step(i + 1, masked=True)
        with b.loop(visited - crossed, name="whole") as i:
            step(i + crossed, masked=False)

    # -- one block after the other, or the products of two at once --------------------------------

    def _one_block(self, j: Index, *, masked: bool) -> None:
        self._scores(j)
        self._pass_turn(j)
        self.b.wgmma.wait_group(0)
        self._release_k()
        self._softmax(j, masked=masked)
        if not _is_first(j):
            self.b.mem.compute(fade_sums(self.x.hdim), self.o.all, self.fade.all)
        self._round()
        self._sums(j, turn=j + 1)
        self._finish_sums(loose=self.twin == "no_final_wait")

    def _two_products(self, j: Value, *, masked: bool) -> None:
        """Scores of block j with the sums of the block before; then the softmax under the sums."""
        self._scores(j, turn=j - 1)
        self._sums(j - 1)
        self._pass_turn(j - 1)
        self.b.wgmma.wait_group(1)
        self._softmax(j, masked=masked)
        if self.twin == "weights_in_flight":
            self._round()
        self._release_k()  # here, its branch keeps ptxas from moving the next wait up
        self._finish_sums()
        self.b.mem.compute(fade_sums(self.x.hdim), self.o.all, self.fade.all)
        if self.twin != "weights_in_flight":
            self._round()

    # -- products ---------------------------------------------------------------------------------

    def _scores(self, j: Index, turn: Index | None = None) -> None:
        """S = Q K^T of block j, in a group of its own."""
        b, x, ring, state = self.b, self.x, self.kernel.k, self.k_state
        b.mbarrier.wait(ring.full[state.stage], state.phase)
        if turn is not None:
            self._take_turn(turn)
        b.wgmma.fence()
        keys = ring.tile[state.stage].expecting(self.kernel.block_of(ring, j))
        first = ROWS * self.group
        box = (1, x.panels, ROWS, PANEL)
        rows = self.kernel.q_tile[0].box((0, 0, first, 0), box)
        meant = (self.kernel.head, 0, self.kernel.row0 + first, 0)
        queries = rows.expecting(self.kernel.q.box(meant, box))
        for panel in range(x.panels):
            for k0 in range(0, PANEL, 16):
                b.wgmma.mma(
                    self.s,
                    queries.box((0, panel, 0, k0), (1, 1, ROWS, 16)),
                    keys.box((0, panel, 0, k0), (1, 1, x.block_n, 16)),
                    accumulate=int(panel + k0 > 0),
                )
        b.wgmma.commit_group()
        if self.twin == "k_released_early":
            self._release(ring.empty[state.stage])

    def _release_k(self) -> None:
        if self.twin != "k_released_early":
            self._release(self.kernel.k.empty[self.k_state.stage])
        self.k_state.advance()

    def _sums(self, j: Index, turn: Index | None = None) -> None:
        """O += P V of block j, in a group of its own."""
        b, x, ring, state = self.b, self.x, self.kernel.v, self.v_state
        b.mbarrier.wait(ring.full[state.stage], state.phase)
        if turn is not None:
            self._take_turn(turn)
        if self.twin != "no_wgmma_fence":
            b.wgmma.fence()
        values = ring.tile[state.stage].expecting(self.kernel.block_of(ring, j))
        for i in range(x.block_n // 16):
            b.wgmma.mma(
                self.o,
                self.p.part(8 * i, 8),
                values.box((0, 0, 16 * i, 0), (1, x.panels, 16, PANEL)),
                accumulate=1 if i else _more(j),
                trans_b=True,
            )
        b.wgmma.commit_group()

    def _finish_sums(self, *, loose: bool = False) -> None:
        self.b.wgmma.wait_group(1 if loose else 0)
        self._release(self.kernel.v.empty[self.v_state.stage])
        self.v_state.advance()

    def _release(self, empty: MbarrierRef) -> None:
        b = self.b
        leads = b.warp_in_role % 4 == 0
        if self.twin == "one_group_releases":
            leads = b.warp_in_role == 0
        with b.when(leads), b.elect():
            b.mbarrier.arrive(empty)

    # -- softmax ----------------------------------------------------------------------------------

    def _softmax(self, j: Index, *, masked: bool) -> None:
        b, x, kernel = self.b, self.x, self.kernel
        if masked and (x.causal or x.seq % x.block_n):
            row = kernel.row0 + ROWS * self.group + 16 * (b.warp_in_role % 4)
            column = (kernel.visited - 1 - j) * x.block_n
            mask = mask_scores(x.block_n, causal=x.causal)
            b.mem.compute(mask, self.s.all, row, column, kernel.seq)
        softmax = online_softmax(x.block_n, x.hdim, first=_is_first(j))
        b.mem.compute(softmax, self.s.all, self.top.all, self.total.all, self.fade.all)

    def _round(self) -> None:
        weights = round_weights(self.x.block_n, self.x.dtype)
        self.b.mem.compute(weights, self.p.all, self.s.all)

    # -- turns ------------------------------------------------------------------------------------

    def _take_turn(self, i: Index) -> None:
        """Wait until the warpgroup before has issued its products; nobody is before the first."""
        if not self.x.pingpong or self.twin == "no_turn":
            return
        b = self.b
        passed_on = i * self.x.consumers + self.group > 0
        if self.twin == "first_waits_for_turn":
            passed_on = self.group >= 0
        for g, barrier in enumerate(self.kernel.turns):
            with b.when((self.group == g) & passed_on):
                b.bar.sync(barrier)

    def _pass_turn(self, i: Index) -> None:
        """The next warpgroup may issue; nobody is after the last one's last turn."""
        if not self.x.pingpong:
            return
        b, n = self.b, self.x.consumers
        last = (self.kernel.visited - 1 if self.x.overlap else self.kernel.visited + 1) * n - 1
        for g in range(n):
            with b.when((self.group == g) & (i * n + self.group < last)):
                b.bar.arrive(self.kernel.turns[(g + 1) % n])

    # -- the result -------------------------------------------------------------------------------

    def _store(self) -> None:
        """Each warp stores its 16 rows, by way of the rows of its queries."""
        b, x, kernel = self.b, self.x, self.kernel
        first = ROWS * self.group + 16 * (b.warp_in_role % 4)
        out = b.fragment("out", registers=PANEL // 2, dtype=x.dtype)
        row, column = first + b.lane // 4, 2 * (b.lane % 4)
        tile: TileView = kernel.q_tile[0]
        for panel in range(x.panels):
            columns = self.o.part(PANEL // 2 * panel, PANEL // 2)
            b.mem.compute(divide_by_total(PANEL), out.all, columns, self.total.all)
            for r in range(0, PANEL // 2, 2):
                at = (0, panel, row + r // 2 % 2 * 8, column + r // 4 * 8)
                b.mem.st_shared(tile.box(at, (1, 1, 1, 2)), out.part(r, 2))
        if self.twin != "no_store_fence":
            b.fence.proxy_async("shared")
        b.bar.warp_sync()
        with b.elect():
            for panel in range(x.panels):
                rows = tile.box((0, panel, first, 0), (1, 1, 16, PANEL))
                b.tma.store(kernel.o_map, (kernel.head, panel, kernel.row0 + first, 0), rows)
            b.bulk.commit_group()
            b.bulk.wait_group(0)


def _is_first(j: Index) -> bool:
    """Whether it is known here that no block comes before."""
    return isinstance(j, int) and j == 0


def _more(j: Index) -> Index:
    """1 if sums of blocks before are there."""
    return int(j > 0) if isinstance(j, int) else j > 0
