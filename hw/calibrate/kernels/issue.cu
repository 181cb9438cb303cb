// Issue cost of one operation: R of them unrolled between two clock reads, OP chosen at compile time.
// out[i] = cycles of the run; the host takes the slope between two values of R.
#ifndef OP
#define OP 0
#define R 16
#endif
extern "C" __global__ void issue(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bars = saddr(smem), dst = saddr(smem) + 2048;
  init_barriers(bars, 64, 0xfffff);
  u32 full = bars + 8 * 64;
  if (threadIdx.x == 0) { mbar_init(full, 1); mbar_fence_init(); }
  __syncthreads();
  u32 phase = 0, sink = 0;
  float f = p3;
  for (int i = 0; i < p2; ++i) {
    u64 t0 = 0, t1 = 0;
#if OP == 0 || OP == 1 || OP == 2 || OP == 3  // loads; 0,2 elected; 1,3 chosen by threadIdx
    if (threadIdx.x == 0) mbar_expect(full, R * 1024);
    __syncwarp();
#if OP == 0 || OP == 2
    if (elect()) {
#else
    if (threadIdx.x == 0) {
#endif
      t0 = clk();
#pragma unroll
      for (int k = 0; k < R; ++k) {
#if OP < 2
        tensor_load(dst, &m, 0, 8 * k, full);
#else
        bulk_load(dst, data + 1024 * k, 1024, full);
#endif
      }
      t1 = clk();
      out[i] = t1 - t0;
    }
    __syncwarp();
    wait(full, phase, deadline, abort_word);
    phase ^= 1;
#else
    t0 = clk();
#pragma unroll
    for (int k = 0; k < R; ++k) {
      u32 bar = bars + 8 * (k & 15);
#if OP == 4
      mbar_arrive(bar);
#elif OP == 5
      mbar_expect(bar, 0);
#elif OP == 6
      sink += try_wait(bar, 1);
#elif OP == 7
      wait(bar, 1, deadline, abort_word);
#elif OP == 8
      fence_async_smem();
#elif OP == 9
      asm volatile("fence.proxy.async;" ::: "memory");
#elif OP == 10
      mbar_fence_init();
#elif OP == 11
      __syncwarp();
#elif OP == 12
      sink += elect();
#elif OP == 13
      mbar_init(bars + 8 * (66 + k), 1);
#elif OP == 14
      cp_commit();
#elif OP == 15
      cp_commit(); cp_wait<0>();
#elif OP == 16
      bulk_commit();
#elif OP == 17
      bulk_wait();
#elif OP == 18
      asm volatile("fence.acq_rel.cta;" ::: "memory");
#elif OP == 19
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
#elif OP == 20
      asm volatile("st.shared.u32 [%0], %1;" :: "r"(dst + 128 * k + 4 * threadIdx.x), "r"(p3) : "memory");
#elif OP == 21
      if (elect()) mbar_arrive(bar);
      __syncwarp();
#elif OP == 22
      if (threadIdx.x % 32 == 0) mbar_arrive(bar);
      __syncwarp();
#elif OP == 23
      asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 0;" :: "r"(bar) : "memory");
#elif OP == 24
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#elif OP == 26
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#elif OP == 27
      asm volatile("bar.sync 0;" ::: "memory");
#elif OP == 28
      asm volatile("bar.sync %0, %1;" :: "r"(p1), "r"(blockDim.x) : "memory");
#elif OP == 29
      asm volatile("bar.sync 1, 128;" ::: "memory");
#elif OP == 30
      asm volatile("wgmma.fence.sync.aligned;\nwgmma.commit_group.sync.aligned;\n"
                   "wgmma.wait_group.sync.aligned 0;" ::: "memory");
#elif OP == 31
      sink += clk();
#elif OP == 32
      wait_counted(bar, 1, abort_word);
#elif OP == 33
      cp_wait<0>();
#elif OP == 34  // the wait of a release at cluster scope, on a phase that is over
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 1;"
                   " selp.u32 %0, 1, 0, p; }" : "=r"(sink) : "r"(bar) : "memory");
#elif OP == 35
      mbar_arrive_far(bar);
#endif
    }
    t1 = clk();
    if (threadIdx.x == 0) out[i] = t1 - t0;
    __syncwarp();
#if OP == 20
    sink += lds(dst + 4 * threadIdx.x);
#endif
#endif
  }
  if (sink == 0x12345678u) out[p2] = sink + (u32)f;
}
