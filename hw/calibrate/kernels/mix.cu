// What shares an SM with a stream of wgmma.  wgmma.cu stands in front of this.

// Warps 0..3: p2 groups of D wgmma (MMA 1), or p2 * 1000 cycles of nothing.  Warp 4: COPY 1 tensor
// loads of 16 KB, four in flight, 2 tensor stores of 16 KB, 3 bulk reductions of 16 KB, 4 both a
// load and a store a turn, 5 loads as 1, while warp 5 stores as 2.  Warps 5..8: LSU 1 ld.shared.v4, 2 st.shared.v4, 3 ldmatrix.x4, 4
// stmatrix.x4.  Both go on until the first is done.  out[0] = cycles of warpgroup 0; out[2], out[3]
// = bytes and cycles of warp 4; out[2 w], out[2 w + 1] of warp w = 5..8.
#define SLOTS (saddr(smem) + 65536)
#define SCRATCH (saddr(smem) + 65536 + 4 * 16384)
DEV u32 stopped() { return *(volatile u32*)(smem + 512); }
#define LSU_OPS (LSU == 1 || LSU == 3 ? 4 : 16)  // loads of one place are made once by the compiler
DEV u32 lsu_ops(u32 a) {  // what is loaded is used: loads into nothing are not what kernels do
  u32 sum = 0;
#pragma unroll
  for (int i = 0; i < LSU_OPS; ++i) {
    u32 v = i, w = i, x = i, y = i, at = a + 512 * (i & 3);
#if LSU == 1
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "r"(at) : "memory");
#elif LSU == 2
    asm volatile("st.shared.v4.u32 [%4], {%0, %1, %2, %3};" :: "r"(v), "r"(w), "r"(x), "r"(y), "r"(at) : "memory");
#elif LSU == 3
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "r"(at) : "memory");
#elif LSU == 4
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%4], {%0, %1, %2, %3};" :: "r"(v), "r"(w), "r"(x), "r"(y), "r"(at) : "memory");
#endif
    sum ^= v ^ w ^ x ^ y;
  }
  return sum;
}
DEV void copies(u64* out, u32* abort_word, char* data, const tmap* m) {
  u64 deadline = clk() + DEADLINE_CYCLES, bytes = 0;
  u32 bars = saddr(smem), slot = 0, phase = 0;
  for (int s = 0; s < 4 && (COPY != 2 && COPY != 3); ++s)
    if (elect()) { mbar_expect(bars + 8 * s, 16384); tensor_load(SLOTS + s * 16384, m, 0, s * 128, bars + 8 * s); }
  u64 t0 = clk();
#pragma unroll 1
  while (!stopped() && clk() < deadline) {
#if COPY != 2 && COPY != 3
    wait(bars + 8 * slot, phase, deadline, abort_word);
#endif
#if COPY == 4
    if (elect()) {
      tensor_store(m, 0, 65536 + slot * 128, SLOTS + slot * 16384);
      bulk_commit();
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncwarp();
    bytes += 16384;
#endif
#if COPY != 2 && COPY != 3
    if (elect()) { mbar_expect(bars + 8 * slot, 16384); tensor_load(SLOTS + slot * 16384, m, 0, slot * 128, bars + 8 * slot); }
#elif COPY == 2 || COPY == 3
    if (elect()) {
#if COPY == 2
      tensor_store(m, 0, 65536 + slot * 128, SLOTS + slot * 16384);
#else
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 16384;"
                   :: "l"(data + (8u << 20) + slot * 16384), "r"(SLOTS + slot * 16384) : "memory");
#endif
      bulk_commit();
      asm volatile("cp.async.bulk.wait_group.read 2;" ::: "memory");
    }
    __syncwarp();
#endif
    bytes += 16384;
    if (++slot == 4) { slot = 0; phase ^= 1; }
  }
  u64 t1 = clk();
  for (int s = 0; s < 4 && (COPY != 2 && COPY != 3); ++s) {
    wait(bars + 8 * slot, phase, deadline, abort_word);
    if (++slot == 4) { slot = 0; phase ^= 1; }
  }
  if (elect()) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  if (threadIdx.x % 32 == 0) { out[2] = bytes; out[3] = t1 - t0; }
}
DEV void stores(u64* out, const tmap* m) {
  u64 deadline = clk() + DEADLINE_CYCLES, bytes = 0, t0 = clk();
#pragma unroll 1
  while (!stopped() && clk() < deadline) {
    if (elect()) {
      tensor_store(m, 0, 65536, SCRATCH);
      bulk_commit();
      asm volatile("cp.async.bulk.wait_group.read 2;" ::: "memory");
    }
    __syncwarp();
    bytes += 16384;
  }
  u64 t1 = clk();
  if (elect()) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  if (threadIdx.x % 32 == 0) { out[10] = bytes; out[11] = t1 - t0; }
}
extern "C" __global__ void __launch_bounds__(288, 1) mix(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 warp = uniform_warp();
  for (int i = threadIdx.x; i < 4608; i += blockDim.x) ((uint4*)(smem + 65536))[i] = make_uint4(0, 0, 0, 0);
  init_barriers(saddr(smem), 4, 1);
  if (threadIdx.x == 0) *(volatile u32*)(smem + 512) = 0;
  OPERANDS;
  fill_operands();
  if (warp < 4) {
    u64 t0 = clk();
#if MMA
#pragma unroll 1
    for (int g = 0; g < p2; ++g) {
      wg_fence();
#pragma unroll
      for (int k = 0; k < D; ++k) wgmma(d, SLICE(k), b + 2 * (k & 3));
      wg_commit();
      wg_wait<WAIT>();
    }
    wg_wait<0>();
    hold(d);
#else
    while (clk() - t0 < (u64)p2 * 1000) {}
#endif
    u64 t1 = clk();
    asm volatile("bar.sync 1, 128;" ::: "memory");
    if (threadIdx.x == 0) { *(volatile u32*)(smem + 512) = 1; out[0] = t1 - t0; }
    KEEP;
  } else if (warp == 4) {
#if COPY
    copies(out, abort_word, data, &m);
#endif
#if COPY == 5
  } else if (warp == 5) {
    stores(out, &m);
#endif
  } else {
#if LSU
    u64 t0 = clk(), bytes = 0;
    u32 sum = 0;
    u32 a = SCRATCH + (warp - 5) * 2048 + (threadIdx.x % 32) * 16;
#pragma unroll 1
    while (!stopped() && clk() < deadline) { sum ^= lsu_ops(a); bytes += LSU_OPS * 512; }
    u64 t1 = clk();
    if (sum == 0x12345678u) out[999] = sum;
    if (threadIdx.x % 32 == 0) { out[2 * warp] = bytes; out[2 * warp + 1] = t1 - t0; }
#endif
  }
}
