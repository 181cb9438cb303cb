"""Small kernels whose tiles are handed out while they run: by a counter, and by cluster launch
control. Each tile is a row that is loaded by TMA and stored with its number added."""

from __future__ import annotations

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, Work
from asyncsim.ir.op import FragmentRef
from asyncsim.ir.schedule import Schedule

ROW = (1, 32)

NUMBERED = ComputeDef(
    name="numbered",
    operands=(
        ComputeOperand(name="x", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="tile", kind="int"),
    ),
    work=lambda tile: Work(alu=1),
    cuda="x[0] += tile;",
    numpy=lambda x, tile, **_: x.__iadd__(x.dtype.type(tile)),
)


def counted(
    tiles: int, clusters: int = 2, *, slots: int = 2, wait: bool = True, shift: int = 0
) -> Schedule:
    """``wait``: each warp waits for its ticket; ``shift``: the store's warp begins so many slots
    further on."""
    k = ScheduleBuilder("counted")
    k.grid(clusters)
    number = k.arg("tiles", tiles)
    counter = k.global_tensor("counter", (1,), "u32", output=True)
    slot = k.smem_tile("slot", (1, 1), "u32", stages=slots)
    told = k.mbarriers("told", count=1, stages=slots)
    read = k.mbarriers("read", count=2, stages=slots)
    work = k.fragment("work", registers=1, dtype="u32")
    parts = _Row(k, tiles)
    with k.elect_thread():
        k.mbarrier.init_all(told, read, parts.full, parts.empty)
        k.fence.mbarrier_init()
    k.bar.sync()

    def hear(state, waits: bool = True) -> None:  # type: ignore[no-untyped-def]
        if waits:
            k.mbarrier.wait(told[state.stage], state.phase)
        k.mem.ld_shared(work.all, slot[(state.stage + shift * (not waits)) % slots])
        k.bar.warp_sync()
        with k.elect():
            k.mbarrier.arrive(read[state.stage])
        state.advance()

    with k.specialize():
        with k.role("scheduler", warps=1), k.elect():
            state = k.pipeline_state(slots, producer=True)
            with k.loop(number, ticket=work.all):
                k.mbarrier.wait(read[state.stage], state.phase)
                k.mem.atom_add(work.all, counter.box((0,), (1,)))
                k.mem.st_shared(slot[state.stage], work.all)
                k.mbarrier.arrive(told[state.stage])
                state.advance()
        with k.role("loads", warps=1):
            heard = k.pipeline_state(slots)
            parts.loads(number, work.all, lambda: hear(heard))
        with k.role("stores", warps=1):
            heard = k.pipeline_state(slots)
            parts.stores(number, work.all, lambda: hear(heard, wait))
    return k.finish()


def cancelled(tiles: int, *, peers: int = 1, slots: int = 2) -> Schedule:
    """``peers``: CTAs of a cluster, which share a tile: each has its own rows."""
    k = ScheduleBuilder("cancelled", archs=("sm_100a",))
    k.grid(tiles * peers)
    k.cluster(peers)
    number = k.arg("tiles", tiles)
    response = k.smem_tile("response", (1, 4), "u32", stages=slots)
    full = k.mbarriers("response_full", count=1, stages=slots)
    empty = k.mbarriers("response_empty", count=3 * peers, stages=slots)
    work = k.fragment("work", registers=1, dtype="u32")
    parts = _Row(k, tiles, peers)
    several = peers > 1
    with k.elect_thread():
        k.mbarrier.init_all(full, empty, parts.full, parts.empty)
        k.fence.mbarrier_init()
    (k.cluster_barrier if several else k.bar).sync()

    def hear(state) -> None:  # type: ignore[no-untyped-def]
        k.mbarrier.wait(full[state.stage], state.phase)
        k.clc.query_cancel(work.all, response[state.stage])
        k.fence.proxy_async("all" if several else "shared")
        k.bar.warp_sync()
        with k.elect():
            free = k.mbarrier.at(empty[state.stage], 0) if several else empty[state.stage]
            k.mbarrier.arrive(free, scope="cluster" if several else "cta")
        state.advance()

    def leave() -> None:
        if several:
            k.cluster_barrier.sync()

    with k.specialize():
        with k.role("scheduler", warps=1):
            state = k.pipeline_state(slots, producer=True)
            heard = k.pipeline_state(slots, name="heard")
            with k.loop(number, ticket=work.all):
                with k.elect():
                    with k.when(k.cta_rank == 0):
                        k.mbarrier.wait(empty[state.stage], state.phase, scope="cluster")
                    k.mbarrier.arrive_expect_tx(full[state.stage], 16)
                    with k.when(k.cta_rank == 0):
                        k.clc.try_cancel(
                            response[state.stage], full[state.stage], multicast=several
                        )
                state.advance()
                hear(heard)
            leave()
        with k.role("loads", warps=1):
            heard = k.pipeline_state(slots)
            parts.loads(number, work.all, lambda: hear(heard))
            leave()
        with k.role("stores", warps=1):
            heard = k.pipeline_state(slots)
            parts.stores(number, work.all, lambda: hear(heard))
            leave()
    return k.finish()


class _Row:
    """The work on a tile: a row of ``source`` to shared memory, and from there to ``out``."""

    def __init__(self, k: ScheduleBuilder, tiles: int, peers: int = 1) -> None:
        self.k, self.peers = k, peers
        self.source = k.global_tensor("source", (tiles * peers, 32), "u32")
        self.out = k.global_tensor("out", (tiles * peers, 32), "u32", output=True)
        self.map = k.tensor_map("source_map", self.source, box=ROW)
        self.data = k.smem_tile("data", ROW, "u32", stages=2)
        self.full = k.mbarriers("full", count=1, stages=2)
        self.empty = k.mbarriers("empty", count=1, stages=2)
        self.x = k.fragment("x", registers=1, dtype="u32")

    def loads(self, number, work: FragmentRef, hear) -> None:  # type: ignore[no-untyped-def]
        k, state = self.k, self.k.pipeline_state(2, producer=True)
        with k.loop(number, name="tile", ticket=work) as tile:
            with k.elect():
                k.mbarrier.wait(self.empty[state.stage], state.phase)
                k.mbarrier.arrive_expect_tx(self.full[state.stage], 128)
                where, row = self.data[state.stage], tile * self.peers + k.cta_rank
                k.tma.load(where, self.map, (row, 0), self.full[state.stage])
            state.advance()
            hear()

    def stores(self, number, work: FragmentRef, hear) -> None:  # type: ignore[no-untyped-def]
        k, state, x = self.k, self.k.pipeline_state(2), self.x
        with k.loop(number, name="tile", ticket=work) as tile:
            k.mbarrier.wait(self.full[state.stage], state.phase)
            row = tile * self.peers + k.cta_rank
            data = self.data[state.stage].expecting(self.source.box((row, 0), ROW))
            k.mem.ld_shared(x.all, data.box((0, k.lane), (1, 1)))
            k.fence.proxy_async("shared")
            k.bar.warp_sync()
            with k.elect():
                k.mbarrier.arrive(self.empty[state.stage])
            k.mem.compute(NUMBERED, x.all, tile)
            k.mem.st_global(self.out.box((row, k.lane), (1, 1)), x.all)
            state.advance()
            hear()
