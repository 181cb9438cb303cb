extern "C" __global__ void __launch_bounds__(128, 2) asyncsim_mma_gemm(
    const bf16* __restrict__ t_a,
    int stride_a_0,
    const bf16* __restrict__ t_b,
    int stride_b_0,
    float* __restrict__ t_d,
    int stride_d_0,
    int extent_d_0,
    int extent_d_1,
    int a_steps,
    u32* report,
    Clocks* clocks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  constexpr int at_a_tile = 0;                // 2 x bf16 128 x 64, swizzled by 128
  constexpr int at_b_tile = 32768;            // 2 x bf16 128 x 64, swizzled by 128
  const int block_x = blockIdx.x;
  const int block_y = blockIdx.y;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  const int warp_in_role = warp;
  const int thread_in_role = threadIdx.x;
  if (warp == 3 && elect_one()) {
    clock_mark(clocks, 4, 0);
  }
  int v_read_stage, v_write_stage;
  float f_acc[128];
  u32 f_a0[16];
  u32 f_b0[16];
  u32 f_a1[16];
  u32 f_b1[16];
  if (a_steps > 0) {
    // #0 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128) * stride_a_0 + (thread_in_role & 7) * 8);
    // #1 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 2048 + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128 + 16) * stride_a_0 + (thread_in_role & 7) * 8);
    // #2 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 4096 + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128 + 32) * stride_a_0 + (thread_in_role & 7) * 8);
    // #3 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 6144 + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128 + 48) * stride_a_0 + (thread_in_role & 7) * 8);
    // #4 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 8192 + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128 + 64) * stride_a_0 + (thread_in_role & 7) * 8);
    // #5 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 10240 + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128 + 80) * stride_a_0 + (thread_in_role & 7) * 8);
    // #6 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 12288 + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128 + 96) * stride_a_0 + (thread_in_role & 7) * 8);
    // #7 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 14336 + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128 + 112) * stride_a_0 + (thread_in_role & 7) * 8);
  }
  if (a_steps > 0) {
    // #8 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3)) * stride_b_0 + (thread_in_role & 7) * 8, (((block_y * 128 + (thread_in_role >> 3)) < 1000) * (((thread_in_role & 7) * 8) < 4096)) * 16);
    // #9 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 2048 + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3) + 16) * stride_b_0 + (thread_in_role & 7) * 8, (((block_y * 128 + (thread_in_role >> 3) + 16) < 1000) * (((thread_in_role & 7) * 8) < 4096)) * 16);
    // #10 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 4096 + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3) + 32) * stride_b_0 + (thread_in_role & 7) * 8, (((block_y * 128 + (thread_in_role >> 3) + 32) < 1000) * (((thread_in_role & 7) * 8) < 4096)) * 16);
    // #11 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 6144 + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3) + 48) * stride_b_0 + (thread_in_role & 7) * 8, (((block_y * 128 + (thread_in_role >> 3) + 48) < 1000) * (((thread_in_role & 7) * 8) < 4096)) * 16);
    // #12 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 8192 + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3) + 64) * stride_b_0 + (thread_in_role & 7) * 8, (((block_y * 128 + (thread_in_role >> 3) + 64) < 1000) * (((thread_in_role & 7) * 8) < 4096)) * 16);
    // #13 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 10240 + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3) + 80) * stride_b_0 + (thread_in_role & 7) * 8, (((block_y * 128 + (thread_in_role >> 3) + 80) < 1000) * (((thread_in_role & 7) * 8) < 4096)) * 16);
    // #14 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 12288 + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3) + 96) * stride_b_0 + (thread_in_role & 7) * 8, (((block_y * 128 + (thread_in_role >> 3) + 96) < 1000) * (((thread_in_role & 7) * 8) < 4096)) * 16);
    // #15 CpAsync (mma_gemm.py)
    cp_async<16>(smem_base + swizzled<112>((thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 14336 + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3) + 112) * stride_b_0 + (thread_in_role & 7) * 8, (((block_y * 128 + (thread_in_role >> 3) + 112) < 1000) * (((thread_in_role & 7) * 8) < 4096)) * 16);
  }
  // #16 CommitGroup (mma_gemm.py)
  cp_async_commit();
  // #17 Compute clear (mma_gemm.py)
  {
    auto& acc = f_acc;
    #pragma unroll
    for (int i = 0; i < 128; ++i) acc[i] = 0.0f;
  }
  v_read_stage = 0;
  v_write_stage = 1;
  // #18 WaitGroup (mma_gemm.py)
  cp_async_wait<0>();
  // #19 BarSync (mma_gemm.py)
  __syncthreads();
  // #20 LdMatrix (mma_gemm.py)
  ldmatrix_x4(f_a0, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) + at_a_tile);
  // #21 LdMatrix (mma_gemm.py)
  ldmatrix_x4(f_a0 + 4, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) + 2048 + at_a_tile);
  // #22 LdMatrix (mma_gemm.py)
  ldmatrix_x4(f_a0 + 8, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) + 4096 + at_a_tile);
  // #23 LdMatrix (mma_gemm.py)
  ldmatrix_x4(f_a0 + 12, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) + 6144 + at_a_tile);
  // #24 LdMatrix (mma_gemm.py)
  ldmatrix_x4(f_b0, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) + at_b_tile);
  // #25 LdMatrix (mma_gemm.py)
  ldmatrix_x4(f_b0 + 4, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) + 2048 + at_b_tile);
  // #26 LdMatrix (mma_gemm.py)
  ldmatrix_x4(f_b0 + 8, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) + 4096 + at_b_tile);
  // #27 LdMatrix (mma_gemm.py)
  ldmatrix_x4(f_b0 + 12, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) + 6144 + at_b_tile);
  #pragma unroll 1
  for (int v_t = 0, n_t = a_steps; v_t < n_t; ++v_t) {
    // #28 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_a1, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) ^ 32) + at_a_tile);
    // #29 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_a1 + 4, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) ^ 32) + 2048 + at_a_tile);
    // #30 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_a1 + 8, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) ^ 32) + 4096 + at_a_tile);
    // #31 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_a1 + 12, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) ^ 32) + 6144 + at_a_tile);
    // #32 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_b1, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) ^ 32) + at_b_tile);
    // #33 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_b1 + 4, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) ^ 32) + 2048 + at_b_tile);
    // #34 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_b1 + 8, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) ^ 32) + 4096 + at_b_tile);
    // #35 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_b1 + 12, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) ^ 32) + 6144 + at_b_tile);
    if ((v_t + 1) < a_steps) {
      // #36 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128) * stride_a_0 + (thread_in_role & 7) * 8 + v_t * 64 + 64);
      // #37 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 2048 + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128 + 16) * stride_a_0 + (thread_in_role & 7) * 8 + v_t * 64 + 64);
      // #38 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 4096 + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128 + 32) * stride_a_0 + (thread_in_role & 7) * 8 + v_t * 64 + 64);
      // #39 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 6144 + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128 + 48) * stride_a_0 + (thread_in_role & 7) * 8 + v_t * 64 + 64);
      // #40 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 8192 + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128 + 64) * stride_a_0 + (thread_in_role & 7) * 8 + v_t * 64 + 64);
      // #41 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 10240 + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128 + 80) * stride_a_0 + (thread_in_role & 7) * 8 + v_t * 64 + 64);
      // #42 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 12288 + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128 + 96) * stride_a_0 + (thread_in_role & 7) * 8 + v_t * 64 + 64);
      // #43 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 14336 + at_a_tile, t_a + ((thread_in_role >> 3) + block_x * 128 + 112) * stride_a_0 + (thread_in_role & 7) * 8 + v_t * 64 + 64);
    }
    if ((v_t + 1) < a_steps) {
      // #44 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3)) * stride_b_0 + v_t * 64 + (thread_in_role & 7) * 8 + 64, (((block_y * 128 + (thread_in_role >> 3)) < 1000) * ((v_t * 64 + (thread_in_role & 7) * 8 + 64) < 4096)) * 16);
      // #45 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 2048 + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3) + 16) * stride_b_0 + v_t * 64 + (thread_in_role & 7) * 8 + 64, (((block_y * 128 + (thread_in_role >> 3) + 16) < 1000) * ((v_t * 64 + (thread_in_role & 7) * 8 + 64) < 4096)) * 16);
      // #46 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 4096 + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3) + 32) * stride_b_0 + v_t * 64 + (thread_in_role & 7) * 8 + 64, (((block_y * 128 + (thread_in_role >> 3) + 32) < 1000) * ((v_t * 64 + (thread_in_role & 7) * 8 + 64) < 4096)) * 16);
      // #47 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 6144 + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3) + 48) * stride_b_0 + v_t * 64 + (thread_in_role & 7) * 8 + 64, (((block_y * 128 + (thread_in_role >> 3) + 48) < 1000) * ((v_t * 64 + (thread_in_role & 7) * 8 + 64) < 4096)) * 16);
      // #48 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 8192 + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3) + 64) * stride_b_0 + v_t * 64 + (thread_in_role & 7) * 8 + 64, (((block_y * 128 + (thread_in_role >> 3) + 64) < 1000) * ((v_t * 64 + (thread_in_role & 7) * 8 + 64) < 4096)) * 16);
      // #49 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 10240 + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3) + 80) * stride_b_0 + v_t * 64 + (thread_in_role & 7) * 8 + 64, (((block_y * 128 + (thread_in_role >> 3) + 80) < 1000) * ((v_t * 64 + (thread_in_role & 7) * 8 + 64) < 4096)) * 16);
      // #50 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 12288 + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3) + 96) * stride_b_0 + v_t * 64 + (thread_in_role & 7) * 8 + 64, (((block_y * 128 + (thread_in_role >> 3) + 96) < 1000) * ((v_t * 64 + (thread_in_role & 7) * 8 + 64) < 4096)) * 16);
      // #51 CpAsync (mma_gemm.py)
      cp_async<16>(smem_base + swizzled<112>(v_write_stage * 16384 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16) + 14336 + at_b_tile, t_b + (block_y * 128 + (thread_in_role >> 3) + 112) * stride_b_0 + v_t * 64 + (thread_in_role & 7) * 8 + 64, (((block_y * 128 + (thread_in_role >> 3) + 112) < 1000) * ((v_t * 64 + (thread_in_role & 7) * 8 + 64) < 4096)) * 16);
    }
    // #52 CommitGroup (mma_gemm.py)
    cp_async_commit();
    v_write_stage = v_write_stage + 1;
    if (v_write_stage == 2) {
      v_write_stage = 0;
    }
    // #53 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc, f_a0, f_b0, f_acc);
    // #54 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 4, f_a0, f_b0 + 2, f_acc + 4);
    // #55 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 8, f_a0, f_b0 + 4, f_acc + 8);
    // #56 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 12, f_a0, f_b0 + 6, f_acc + 12);
    // #57 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 16, f_a0, f_b0 + 8, f_acc + 16);
    // #58 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 20, f_a0, f_b0 + 10, f_acc + 20);
    // #59 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 24, f_a0, f_b0 + 12, f_acc + 24);
    // #60 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 28, f_a0, f_b0 + 14, f_acc + 28);
    // #61 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 60, f_a0 + 4, f_b0 + 14, f_acc + 60);
    // #62 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 56, f_a0 + 4, f_b0 + 12, f_acc + 56);
    // #63 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 52, f_a0 + 4, f_b0 + 10, f_acc + 52);
    // #64 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 48, f_a0 + 4, f_b0 + 8, f_acc + 48);
    // #65 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 44, f_a0 + 4, f_b0 + 6, f_acc + 44);
    // #66 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 40, f_a0 + 4, f_b0 + 4, f_acc + 40);
    // #67 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 36, f_a0 + 4, f_b0 + 2, f_acc + 36);
    // #68 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 32, f_a0 + 4, f_b0, f_acc + 32);
    // #69 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 64, f_a0 + 8, f_b0, f_acc + 64);
    // #70 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 68, f_a0 + 8, f_b0 + 2, f_acc + 68);
    // #71 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 72, f_a0 + 8, f_b0 + 4, f_acc + 72);
    // #72 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 76, f_a0 + 8, f_b0 + 6, f_acc + 76);
    // #73 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 80, f_a0 + 8, f_b0 + 8, f_acc + 80);
    // #74 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 84, f_a0 + 8, f_b0 + 10, f_acc + 84);
    // #75 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 88, f_a0 + 8, f_b0 + 12, f_acc + 88);
    // #76 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 92, f_a0 + 8, f_b0 + 14, f_acc + 92);
    // #77 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 124, f_a0 + 12, f_b0 + 14, f_acc + 124);
    // #78 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 120, f_a0 + 12, f_b0 + 12, f_acc + 120);
    // #79 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 116, f_a0 + 12, f_b0 + 10, f_acc + 116);
    // #80 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 112, f_a0 + 12, f_b0 + 8, f_acc + 112);
    // #81 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 108, f_a0 + 12, f_b0 + 6, f_acc + 108);
    // #82 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 104, f_a0 + 12, f_b0 + 4, f_acc + 104);
    // #83 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 100, f_a0 + 12, f_b0 + 2, f_acc + 100);
    // #84 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 96, f_a0 + 12, f_b0, f_acc + 96);
    // #85 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_a0, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) ^ 64) + at_a_tile);
    // #86 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_a0 + 4, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) ^ 64) + 2048 + at_a_tile);
    // #87 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_a0 + 8, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) ^ 64) + 4096 + at_a_tile);
    // #88 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_a0 + 12, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) ^ 64) + 6144 + at_a_tile);
    // #89 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_b0, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) ^ 64) + at_b_tile);
    // #90 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_b0 + 4, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) ^ 64) + 2048 + at_b_tile);
    // #91 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_b0 + 8, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) ^ 64) + 4096 + at_b_tile);
    // #92 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_b0 + 12, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) ^ 64) + 6144 + at_b_tile);
    // #93 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc, f_a1, f_b1, f_acc);
    // #94 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 4, f_a1, f_b1 + 2, f_acc + 4);
    // #95 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 8, f_a1, f_b1 + 4, f_acc + 8);
    // #96 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 12, f_a1, f_b1 + 6, f_acc + 12);
    // #97 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 16, f_a1, f_b1 + 8, f_acc + 16);
    // #98 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 20, f_a1, f_b1 + 10, f_acc + 20);
    // #99 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 24, f_a1, f_b1 + 12, f_acc + 24);
    // #100 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 28, f_a1, f_b1 + 14, f_acc + 28);
    // #101 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 60, f_a1 + 4, f_b1 + 14, f_acc + 60);
    // #102 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 56, f_a1 + 4, f_b1 + 12, f_acc + 56);
    // #103 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 52, f_a1 + 4, f_b1 + 10, f_acc + 52);
    // #104 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 48, f_a1 + 4, f_b1 + 8, f_acc + 48);
    // #105 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 44, f_a1 + 4, f_b1 + 6, f_acc + 44);
    // #106 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 40, f_a1 + 4, f_b1 + 4, f_acc + 40);
    // #107 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 36, f_a1 + 4, f_b1 + 2, f_acc + 36);
    // #108 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 32, f_a1 + 4, f_b1, f_acc + 32);
    // #109 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 64, f_a1 + 8, f_b1, f_acc + 64);
    // #110 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 68, f_a1 + 8, f_b1 + 2, f_acc + 68);
    // #111 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 72, f_a1 + 8, f_b1 + 4, f_acc + 72);
    // #112 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 76, f_a1 + 8, f_b1 + 6, f_acc + 76);
    // #113 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 80, f_a1 + 8, f_b1 + 8, f_acc + 80);
    // #114 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 84, f_a1 + 8, f_b1 + 10, f_acc + 84);
    // #115 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 88, f_a1 + 8, f_b1 + 12, f_acc + 88);
    // #116 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 92, f_a1 + 8, f_b1 + 14, f_acc + 92);
    // #117 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 124, f_a1 + 12, f_b1 + 14, f_acc + 124);
    // #118 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 120, f_a1 + 12, f_b1 + 12, f_acc + 120);
    // #119 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 116, f_a1 + 12, f_b1 + 10, f_acc + 116);
    // #120 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 112, f_a1 + 12, f_b1 + 8, f_acc + 112);
    // #121 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 108, f_a1 + 12, f_b1 + 6, f_acc + 108);
    // #122 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 104, f_a1 + 12, f_b1 + 4, f_acc + 104);
    // #123 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 100, f_a1 + 12, f_b1 + 2, f_acc + 100);
    // #124 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 96, f_a1 + 12, f_b1, f_acc + 96);
    // #125 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_a1, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) ^ 96) + at_a_tile);
    // #126 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_a1 + 4, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) ^ 96) + 2048 + at_a_tile);
    // #127 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_a1 + 8, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) ^ 96) + 4096 + at_a_tile);
    // #128 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_a1 + 12, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) ^ 96) + 6144 + at_a_tile);
    // #129 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_b1, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) ^ 96) + at_b_tile);
    // #130 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_b1 + 4, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) ^ 96) + 2048 + at_b_tile);
    // #131 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_b1 + 8, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) ^ 96) + 4096 + at_b_tile);
    // #132 LdMatrix (mma_gemm.py)
    ldmatrix_x4(f_b1 + 12, smem_base + (swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) ^ 96) + 6144 + at_b_tile);
    // #133 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc, f_a0, f_b0, f_acc);
    // #134 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 4, f_a0, f_b0 + 2, f_acc + 4);
    // #135 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 8, f_a0, f_b0 + 4, f_acc + 8);
    // #136 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 12, f_a0, f_b0 + 6, f_acc + 12);
    // #137 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 16, f_a0, f_b0 + 8, f_acc + 16);
    // #138 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 20, f_a0, f_b0 + 10, f_acc + 20);
    // #139 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 24, f_a0, f_b0 + 12, f_acc + 24);
    // #140 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 28, f_a0, f_b0 + 14, f_acc + 28);
    // #141 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 60, f_a0 + 4, f_b0 + 14, f_acc + 60);
    // #142 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 56, f_a0 + 4, f_b0 + 12, f_acc + 56);
    // #143 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 52, f_a0 + 4, f_b0 + 10, f_acc + 52);
    // #144 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 48, f_a0 + 4, f_b0 + 8, f_acc + 48);
    // #145 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 44, f_a0 + 4, f_b0 + 6, f_acc + 44);
    // #146 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 40, f_a0 + 4, f_b0 + 4, f_acc + 40);
    // #147 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 36, f_a0 + 4, f_b0 + 2, f_acc + 36);
    // #148 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 32, f_a0 + 4, f_b0, f_acc + 32);
    // #149 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 64, f_a0 + 8, f_b0, f_acc + 64);
    // #150 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 68, f_a0 + 8, f_b0 + 2, f_acc + 68);
    // #151 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 72, f_a0 + 8, f_b0 + 4, f_acc + 72);
    // #152 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 76, f_a0 + 8, f_b0 + 6, f_acc + 76);
    // #153 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 80, f_a0 + 8, f_b0 + 8, f_acc + 80);
    // #154 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 84, f_a0 + 8, f_b0 + 10, f_acc + 84);
    // #155 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 88, f_a0 + 8, f_b0 + 12, f_acc + 88);
    // #156 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 92, f_a0 + 8, f_b0 + 14, f_acc + 92);
    // #157 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 124, f_a0 + 12, f_b0 + 14, f_acc + 124);
    // #158 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 120, f_a0 + 12, f_b0 + 12, f_acc + 120);
    // #159 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 116, f_a0 + 12, f_b0 + 10, f_acc + 116);
    // #160 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 112, f_a0 + 12, f_b0 + 8, f_acc + 112);
    // #161 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 108, f_a0 + 12, f_b0 + 6, f_acc + 108);
    // #162 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 104, f_a0 + 12, f_b0 + 4, f_acc + 104);
    // #163 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 100, f_a0 + 12, f_b0 + 2, f_acc + 100);
    // #164 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 96, f_a0 + 12, f_b0, f_acc + 96);
    v_read_stage = v_read_stage + 1;
    if (v_read_stage == 2) {
      v_read_stage = 0;
    }
    if ((v_t + 1) < a_steps) {
      // #165 WaitGroup (mma_gemm.py)
      cp_async_wait<0>();
      // #166 BarSync (mma_gemm.py)
      __syncthreads();
      // #167 LdMatrix (mma_gemm.py)
      ldmatrix_x4(f_a0, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) + at_a_tile);
      // #168 LdMatrix (mma_gemm.py)
      ldmatrix_x4(f_a0 + 4, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) + 2048 + at_a_tile);
      // #169 LdMatrix (mma_gemm.py)
      ldmatrix_x4(f_a0 + 8, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) + 4096 + at_a_tile);
      // #170 LdMatrix (mma_gemm.py)
      ldmatrix_x4(f_a0 + 12, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role & 1) * 8192 + (lane & 15) * 128 + (lane >> 4) * 16) + 6144 + at_a_tile);
      // #171 LdMatrix (mma_gemm.py)
      ldmatrix_x4(f_b0, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) + at_b_tile);
      // #172 LdMatrix (mma_gemm.py)
      ldmatrix_x4(f_b0 + 4, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) + 2048 + at_b_tile);
      // #173 LdMatrix (mma_gemm.py)
      ldmatrix_x4(f_b0 + 8, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) + 4096 + at_b_tile);
      // #174 LdMatrix (mma_gemm.py)
      ldmatrix_x4(f_b0 + 12, smem_base + swizzled<112>(v_read_stage * 16384 + (warp_in_role >> 1) * 8192 + (lane >> 4) * 1024 + (lane & 7) * 128 + ((lane >> 3) & 1) * 16) + 6144 + at_b_tile);
    }
    // #175 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc, f_a1, f_b1, f_acc);
    // #176 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 4, f_a1, f_b1 + 2, f_acc + 4);
    // #177 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 8, f_a1, f_b1 + 4, f_acc + 8);
    // #178 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 12, f_a1, f_b1 + 6, f_acc + 12);
    // #179 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 16, f_a1, f_b1 + 8, f_acc + 16);
    // #180 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 20, f_a1, f_b1 + 10, f_acc + 20);
    // #181 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 24, f_a1, f_b1 + 12, f_acc + 24);
    // #182 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 28, f_a1, f_b1 + 14, f_acc + 28);
    // #183 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 60, f_a1 + 4, f_b1 + 14, f_acc + 60);
    // #184 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 56, f_a1 + 4, f_b1 + 12, f_acc + 56);
    // #185 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 52, f_a1 + 4, f_b1 + 10, f_acc + 52);
    // #186 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 48, f_a1 + 4, f_b1 + 8, f_acc + 48);
    // #187 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 44, f_a1 + 4, f_b1 + 6, f_acc + 44);
    // #188 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 40, f_a1 + 4, f_b1 + 4, f_acc + 40);
    // #189 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 36, f_a1 + 4, f_b1 + 2, f_acc + 36);
    // #190 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 32, f_a1 + 4, f_b1, f_acc + 32);
    // #191 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 64, f_a1 + 8, f_b1, f_acc + 64);
    // #192 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 68, f_a1 + 8, f_b1 + 2, f_acc + 68);
    // #193 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 72, f_a1 + 8, f_b1 + 4, f_acc + 72);
    // #194 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 76, f_a1 + 8, f_b1 + 6, f_acc + 76);
    // #195 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 80, f_a1 + 8, f_b1 + 8, f_acc + 80);
    // #196 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 84, f_a1 + 8, f_b1 + 10, f_acc + 84);
    // #197 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 88, f_a1 + 8, f_b1 + 12, f_acc + 88);
    // #198 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 92, f_a1 + 8, f_b1 + 14, f_acc + 92);
    // #199 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 124, f_a1 + 12, f_b1 + 14, f_acc + 124);
    // #200 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 120, f_a1 + 12, f_b1 + 12, f_acc + 120);
    // #201 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 116, f_a1 + 12, f_b1 + 10, f_acc + 116);
    // #202 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 112, f_a1 + 12, f_b1 + 8, f_acc + 112);
    // #203 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 108, f_a1 + 12, f_b1 + 6, f_acc + 108);
    // #204 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 104, f_a1 + 12, f_b1 + 4, f_acc + 104);
    // #205 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 100, f_a1 + 12, f_b1 + 2, f_acc + 100);
    // #206 MmaSync (mma_gemm.py)
    mma_m16n8k16_f32_bf16_bf16(f_acc + 96, f_a1 + 12, f_b1, f_acc + 96);
  }
  // #207 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2, f_acc[0], f_acc[1]);
  // #208 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2, f_acc[2], f_acc[3]);
  // #209 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8, f_acc[4], f_acc[5]);
  // #210 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8, f_acc[6], f_acc[7]);
  // #211 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16, f_acc[8], f_acc[9]);
  // #212 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16, f_acc[10], f_acc[11]);
  // #213 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24, f_acc[12], f_acc[13]);
  // #214 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24, f_acc[14], f_acc[15]);
  // #215 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32, f_acc[16], f_acc[17]);
  // #216 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32, f_acc[18], f_acc[19]);
  // #217 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40, f_acc[20], f_acc[21]);
  // #218 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40, f_acc[22], f_acc[23]);
  // #219 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48, f_acc[24], f_acc[25]);
  // #220 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48, f_acc[26], f_acc[27]);
  // #221 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2)) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56, f_acc[28], f_acc[29]);
  // #222 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 8) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56, f_acc[30], f_acc[31]);
  // #223 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2, f_acc[32], f_acc[33]);
  // #224 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2, f_acc[34], f_acc[35]);
  // #225 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8, f_acc[36], f_acc[37]);
  // #226 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8, f_acc[38], f_acc[39]);
  // #227 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16, f_acc[40], f_acc[41]);
  // #228 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16, f_acc[42], f_acc[43]);
  // #229 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24, f_acc[44], f_acc[45]);
  // #230 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24, f_acc[46], f_acc[47]);
  // #231 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32, f_acc[48], f_acc[49]);
  // #232 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32, f_acc[50], f_acc[51]);
  // #233 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40, f_acc[52], f_acc[53]);
  // #234 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40, f_acc[54], f_acc[55]);
  // #235 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48, f_acc[56], f_acc[57]);
  // #236 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48, f_acc[58], f_acc[59]);
  // #237 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 16) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56, f_acc[60], f_acc[61]);
  // #238 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 24) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56, f_acc[62], f_acc[63]);
  // #239 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2, f_acc[64], f_acc[65]);
  // #240 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2, f_acc[66], f_acc[67]);
  // #241 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8, f_acc[68], f_acc[69]);
  // #242 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8, f_acc[70], f_acc[71]);
  // #243 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16, f_acc[72], f_acc[73]);
  // #244 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16, f_acc[74], f_acc[75]);
  // #245 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24, f_acc[76], f_acc[77]);
  // #246 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24, f_acc[78], f_acc[79]);
  // #247 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32, f_acc[80], f_acc[81]);
  // #248 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32, f_acc[82], f_acc[83]);
  // #249 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40, f_acc[84], f_acc[85]);
  // #250 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40, f_acc[86], f_acc[87]);
  // #251 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48, f_acc[88], f_acc[89]);
  // #252 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48, f_acc[90], f_acc[91]);
  // #253 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 32) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56, f_acc[92], f_acc[93]);
  // #254 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 40) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56, f_acc[94], f_acc[95]);
  // #255 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2, f_acc[96], f_acc[97]);
  // #256 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2, f_acc[98], f_acc[99]);
  // #257 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8, f_acc[100], f_acc[101]);
  // #258 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 8, f_acc[102], f_acc[103]);
  // #259 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16, f_acc[104], f_acc[105]);
  // #260 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 16, f_acc[106], f_acc[107]);
  // #261 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24, f_acc[108], f_acc[109]);
  // #262 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 24, f_acc[110], f_acc[111]);
  // #263 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32, f_acc[112], f_acc[113]);
  // #264 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 32, f_acc[114], f_acc[115]);
  // #265 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40, f_acc[116], f_acc[117]);
  // #266 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 40, f_acc[118], f_acc[119]);
  // #267 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48, f_acc[120], f_acc[121]);
  // #268 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 48, f_acc[122], f_acc[123]);
  // #269 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 48) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56, f_acc[124], f_acc[125]);
  // #270 StGlobal (mma_gemm.py)
  if ((u32)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) < (u32)extent_d_0 && (u32)(block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56) < (u32)extent_d_1) store_vector(t_d + (long long)(block_x * 128 + (warp_in_role & 1) * 64 + (lane >> 2) + 56) * stride_d_0 + block_y * 128 + (warp_in_role >> 1) * 64 + (lane & 3) * 2 + 56, f_acc[126], f_acc[127]);
  if (elect_one()) clock_mark(clocks, 4, 1 + warp);
}
