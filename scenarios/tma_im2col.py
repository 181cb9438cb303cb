"""tma_im2col: a convolution as a matrix product whose left operand TMA gathers from the image.

The image is (batch, height, width, channels), the filters (filters, taps * channels); stride 1, and
the image padded so that each pixel has one result. A tile of 128 pixels by 64 channels comes by one
im2col load: the pixels follow each other through rows and images, each read as far from its place
as the tap of the filter is, with zeros outside. The rest is the ring of a warp-specialised GEMM.
"""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Stages, TileN, Twin, scenario

PIXELS, CHANNELS = 128, 64
SWIZZLE = 2 * CHANNELS

TWINS = (
    Twin(
        name="no_full_wait",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="the matrix products do not wait for the pixels and filters",
    ),
    Twin(
        name="expect_pixels",
        rule=Rule.TX_BYTES_MISMATCH,
        summary="the producer announces the pixels alone",
    ),
    Twin(
        name="no_wgmma_wait",
        rule=Rule.OPERAND_IN_FLIGHT,
        summary="a stage is released while the matrix products that read it are in flight",
    ),
    Twin(
        name="no_wgmma_fence",
        rule=Rule.MISSING_WGMMA_FENCE,
        summary="no wgmma.fence before the accumulators are used",
    ),
    Twin(
        name="unclipped_store",
        rule=Rule.OUT_OF_BOUNDS,
        summary="results of pixels behind the last image are stored, too",
        params={"batch": 1, "height": 13, "width": 9},
        launch=False,
    ),
)


@scenario(
    summary="convolution: im2col loads by TMA, wgmma, direct store",
    archs=("sm_90a",),
    twins=TWINS,
)
def tma_im2col(
    *,
    batch: int = 32,
    height: int = 56,
    width: int = 56,
    channels: int = 128,
    filters: int = 128,
    size: int = 3,
    block_n: TileN = 128,
    stages: Stages = 4,
    twin: str = "",
) -> Schedule:
    """``size``: rows and columns of a filter, odd; ``channels``: a multiple of 64."""
    _check(batch, height, width, channels, filters, size, block_n, stages)
    k = ScheduleBuilder("tma_im2col", archs=("sm_90a",))
    pad, chunks = size // 2, channels // CHANNELS
    steps = k.arg("steps", size * size * chunks)
    pixels = batch * height * width
    image = k.global_tensor("image", (batch, height, width, channels), "bf16")
    weights = k.global_tensor("weights", (filters, size * size * channels), "bf16")
    result = k.global_tensor("result", (pixels, filters), "f32", output=True)
    image_map = k.im2col_map(
        "image_map",
        image,
        pixels=PIXELS,
        channels=CHANNELS,
        lower=(-pad, -pad),
        upper=(pad - (size - 1),) * 2,
        swizzle=SWIZZLE,
    )
    weight_map = k.tensor_map("weight_map", weights, box=(block_n, CHANNELS), swizzle=SWIZZLE)
    a = k.smem_tile("a", (PIXELS, CHANNELS), "bf16", stages=stages, swizzle=SWIZZLE)
    b = k.smem_tile("b", (block_n, CHANNELS), "bf16", stages=stages, swizzle=SWIZZLE)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    acc = [k.accumulator(f"acc{half}", n=block_n) for half in range(2)]
    k.grid(-(-pixels // PIXELS), -(-filters // block_n))
    first, column = k.block_idx * PIXELS, k.block_idx_y * block_n
    clip = bool(pixels % PIXELS or filters % block_n) and twin != "unclipped_store"
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("consumer", warps=4):
            state = k.pipeline_state(stages)
            with k.loop(steps) as i:
                if twin != "no_full_wait":
                    k.mbarrier.wait(full[state.stage], state.phase)
                if twin != "no_wgmma_fence":
                    k.wgmma.fence()
                meant = weights.box((column, i * CHANNELS), (block_n, CHANNELS))
                right = b[state.stage].expecting(meant)
                for half in range(2):
                    left = a[state.stage].box((64 * half, 0), (64, CHANNELS))
                    for k0 in range(0, CHANNELS, 16):
                        k.wgmma.mma(
                            acc[half],
                            left.box((0, k0), (64, 16)),
                            right.box((0, k0), (block_n, 16)),
                            accumulate=1 if k0 else i != 0,
                        )
                k.wgmma.commit_group()
                if twin != "no_wgmma_wait":
                    k.wgmma.wait_group(0)
                with k.when(k.warp_in_role == 0), k.elect():
                    k.mbarrier.arrive(empty[state.stage])
                state.advance()
            k.wgmma.wait_group(0)
            for half in range(2):
                corner = (first + 64 * half, column)
                k.mem.store_accumulator(result, corner, acc[half], clip=clip)
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=True)
            start = (first // (height * width), first // width % height - pad, first % width - pad)
            with k.loop(steps) as i:
                tap, chunk = i // chunks, i % chunks * CHANNELS
                k.mbarrier.wait(empty[state.stage], state.phase)
                both = a.decl.stage_bytes + (twin != "expect_pixels") * b.decl.stage_bytes
                k.mbarrier.arrive_expect_tx(full[state.stage], both)
                k.tma.load_im2col(
                    a[state.stage],
                    image_map,
                    (*start, chunk),
                    (tap // size, tap % size),
                    full[state.stage],
                )
                k.tma.load(b[state.stage], weight_map, (column, i * CHANNELS), full[state.stage])
                state.advance()
    return k.finish()


def _check(
    batch: int,
    height: int,
    width: int,
    channels: int,
    filters: int,
    size: int,
    block_n: int,
    stages: int,
) -> None:
    for name, value in (("batch", batch), ("height", height), ("width", width)):
        if value < 1:
            raise ScheduleError(f"{name} = {value}", fix="give at least 1")
    if channels < CHANNELS or channels % CHANNELS:
        raise ScheduleError(f"channels = {channels}", fix=f"give a multiple of {CHANNELS}")
    if filters < 1:
        raise ScheduleError(f"filters = {filters}", fix="give at least 1")
    if size < 1 or size % 2 == 0:
        raise ScheduleError(f"size = {size}", fix="a filter has an odd number of rows and columns")
    if block_n % 8 or not 8 <= block_n <= 128:
        raise ScheduleError(f"block_n = {block_n}", fix="a multiple of 8 up to 128")
    if stages < 1:
        raise ScheduleError(f"stages = {stages}", fix="give at least 1")
