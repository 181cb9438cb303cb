extern "C" __global__ void __launch_bounds__(256, 2) asyncsim_sgemm_cp_async(
    const float* __restrict__ t_a,
    int stride_a_0,
    const float* __restrict__ t_b,
    int stride_b_0,
    const float* __restrict__ t_c,
    int stride_c_0,
    float* __restrict__ t_d,
    int stride_d_0,
    int a_steps,
    int a_alpha,
    int a_beta,
    u32* report,
    Clocks* clocks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  constexpr int at_a_tile = 0;                // 2 x f32 128 x 8
  constexpr int at_b_tile = 8192;             // 2 x f32 8 x 128
  const int block_x = blockIdx.x;
  const int block_y = blockIdx.y;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  const int warp_in_role = warp;
  const int thread_in_role = threadIdx.x;
  if (warp == 7 && elect_one()) {
    clock_mark(clocks, 8, 0);
  }
  int v_read_stage, v_write_stage;
  float f_acc[64];
  float f_old[16];
  if (a_steps > 0) {
    // #0 CpAsync (sgemm_cp_async.py)
    cp_async<16>(smem_base + (thread_in_role >> 1) * 32 + (thread_in_role & 1) * 16 + at_a_tile, t_a + ((thread_in_role >> 1) + block_x * 128) * stride_a_0 + (thread_in_role & 1) * 4);
    // #1 CpAsync (sgemm_cp_async.py)
    cp_async<16>(smem_base + (thread_in_role >> 5) * 512 + (thread_in_role & 31) * 16 + at_b_tile, t_b + ((thread_in_role >> 5)) * stride_b_0 + (thread_in_role & 31) * 4 + block_y * 128);
  }
  // #2 CommitGroup (sgemm_cp_async.py)
  cp_async_commit();
  // #3 Compute clear (sgemm_cp_async.py)
  {
    auto& acc = f_acc;
    #pragma unroll
    for (int i = 0; i < 64; ++i) acc[i] = 0.0f;
  }
  v_read_stage = 0;
  v_write_stage = 1;
  #pragma unroll 1
  for (int v_t = 0, n_t = a_steps; v_t < n_t; ++v_t) {
    // #4 WaitGroup (sgemm_cp_async.py)
    cp_async_wait<0>();
    // #5 BarSync (sgemm_cp_async.py)
    __syncthreads();
    if ((v_t + 1) < a_steps) {
      // #6 CpAsync (sgemm_cp_async.py)
      cp_async<16>(smem_base + v_write_stage * 4096 + (thread_in_role >> 1) * 32 + (thread_in_role & 1) * 16 + at_a_tile, t_a + ((thread_in_role >> 1) + block_x * 128) * stride_a_0 + (thread_in_role & 1) * 4 + v_t * 8 + 8);
      // #7 CpAsync (sgemm_cp_async.py)
      cp_async<16>(smem_base + v_write_stage * 4096 + (thread_in_role >> 5) * 512 + (thread_in_role & 31) * 16 + at_b_tile, t_b + ((thread_in_role >> 5) + v_t * 8 + 8) * stride_b_0 + (thread_in_role & 31) * 4 + block_y * 128);
    }
    // #8 CommitGroup (sgemm_cp_async.py)
    cp_async_commit();
    // #9 Compute outer_products (sgemm_cp_async.py)
    {
      auto& acc = f_acc;
      const int a_base = v_read_stage * 4096 + at_a_tile;
      auto a = [&](int i0, int i1) -> float& {
        return *(float*)(smem + a_base + ((i0) * 8 + i1) * 4);
      };
      const int b_base = v_read_stage * 4096 + at_b_tile;
      auto b = [&](int i0, int i1) -> float& {
        return *(float*)(smem + b_base + ((i0) * 128 + i1) * 4);
      };
      const int row = thread_in_role / 64 * 32 + lane / 16 * 2 + lane % 2;
      const int col = thread_in_role / 32 % 2 * 64 + lane / 2 % 8 * 4;
      #pragma unroll
      for (int k4 = 0; k4 < 8; k4 += 4) {
        float4 rows[8];
        #pragma unroll
        for (int i = 0; i < 8; ++i) rows[i] = *(const float4*)&a(row + 4 * i, k4);
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
          const float4 left = *(const float4*)&b(k4 + j, col);
          const float4 right = *(const float4*)&b(k4 + j, col + 32);
          #pragma unroll
          for (int i = 0; i < 8; ++i) {
            const float4 r = rows[i];
            const float x = j == 0 ? r.x : j == 1 ? r.y : j == 2 ? r.z : r.w;
            acc[8 * i + 0] = __fmaf_rn(x, left.x, acc[8 * i + 0]);
            acc[8 * i + 1] = __fmaf_rn(x, left.y, acc[8 * i + 1]);
            acc[8 * i + 2] = __fmaf_rn(x, left.z, acc[8 * i + 2]);
            acc[8 * i + 3] = __fmaf_rn(x, left.w, acc[8 * i + 3]);
            acc[8 * i + 4] = __fmaf_rn(x, right.x, acc[8 * i + 4]);
            acc[8 * i + 5] = __fmaf_rn(x, right.y, acc[8 * i + 5]);
            acc[8 * i + 6] = __fmaf_rn(x, right.z, acc[8 * i + 6]);
            acc[8 * i + 7] = __fmaf_rn(x, right.w, acc[8 * i + 7]);
          }
        }
      }
    }
    v_read_stage = v_read_stage + 1;
    if (v_read_stage == 2) {
      v_read_stage = 0;
    }
    v_write_stage = v_write_stage + 1;
    if (v_write_stage == 2) {
      v_write_stage = 0;
    }
  }
  // #10 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1)) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_old[0], f_old[1], f_old[2], f_old[3]);
  // #11 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1)) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_old[4], f_old[5], f_old[6], f_old[7]);
  // #12 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 4) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_old[8], f_old[9], f_old[10], f_old[11]);
  // #13 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 4) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_old[12], f_old[13], f_old[14], f_old[15]);
  // #14 Compute scale_and_add (sgemm_cp_async.py)
  {
    float acc[16] = {f_acc[0], f_acc[1], f_acc[2], f_acc[3], f_acc[4], f_acc[5], f_acc[6], f_acc[7], f_acc[8], f_acc[9], f_acc[10], f_acc[11], f_acc[12], f_acc[13], f_acc[14], f_acc[15]};
    auto& old = f_old;
    const int alpha = a_alpha;
    const int beta = a_beta;
    #pragma unroll
    for (int i = 0; i < 16; ++i) acc[i] = (float)alpha * acc[i] + (float)beta * old[i];
    f_acc[0] = acc[0];
    f_acc[1] = acc[1];
    f_acc[2] = acc[2];
    f_acc[3] = acc[3];
    f_acc[4] = acc[4];
    f_acc[5] = acc[5];
    f_acc[6] = acc[6];
    f_acc[7] = acc[7];
    f_acc[8] = acc[8];
    f_acc[9] = acc[9];
    f_acc[10] = acc[10];
    f_acc[11] = acc[11];
    f_acc[12] = acc[12];
    f_acc[13] = acc[13];
    f_acc[14] = acc[14];
    f_acc[15] = acc[15];
  }
  // #15 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1)) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_acc[0], f_acc[1], f_acc[2], f_acc[3]);
  // #16 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1)) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_acc[4], f_acc[5], f_acc[6], f_acc[7]);
  // #17 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 4) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_acc[8], f_acc[9], f_acc[10], f_acc[11]);
  // #18 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 4) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_acc[12], f_acc[13], f_acc[14], f_acc[15]);
  // #19 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 8) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_old[0], f_old[1], f_old[2], f_old[3]);
  // #20 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 8) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_old[4], f_old[5], f_old[6], f_old[7]);
  // #21 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 12) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_old[8], f_old[9], f_old[10], f_old[11]);
  // #22 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 12) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_old[12], f_old[13], f_old[14], f_old[15]);
  // #23 Compute scale_and_add (sgemm_cp_async.py)
  {
    float acc[16] = {f_acc[16], f_acc[17], f_acc[18], f_acc[19], f_acc[20], f_acc[21], f_acc[22], f_acc[23], f_acc[24], f_acc[25], f_acc[26], f_acc[27], f_acc[28], f_acc[29], f_acc[30], f_acc[31]};
    auto& old = f_old;
    const int alpha = a_alpha;
    const int beta = a_beta;
    #pragma unroll
    for (int i = 0; i < 16; ++i) acc[i] = (float)alpha * acc[i] + (float)beta * old[i];
    f_acc[16] = acc[0];
    f_acc[17] = acc[1];
    f_acc[18] = acc[2];
    f_acc[19] = acc[3];
    f_acc[20] = acc[4];
    f_acc[21] = acc[5];
    f_acc[22] = acc[6];
    f_acc[23] = acc[7];
    f_acc[24] = acc[8];
    f_acc[25] = acc[9];
    f_acc[26] = acc[10];
    f_acc[27] = acc[11];
    f_acc[28] = acc[12];
    f_acc[29] = acc[13];
    f_acc[30] = acc[14];
    f_acc[31] = acc[15];
  }
  // #24 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 8) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_acc[16], f_acc[17], f_acc[18], f_acc[19]);
  // #25 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 8) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_acc[20], f_acc[21], f_acc[22], f_acc[23]);
  // #26 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 12) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_acc[24], f_acc[25], f_acc[26], f_acc[27]);
  // #27 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 12) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_acc[28], f_acc[29], f_acc[30], f_acc[31]);
  // #28 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 16) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_old[0], f_old[1], f_old[2], f_old[3]);
  // #29 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 16) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_old[4], f_old[5], f_old[6], f_old[7]);
  // #30 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 20) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_old[8], f_old[9], f_old[10], f_old[11]);
  // #31 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 20) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_old[12], f_old[13], f_old[14], f_old[15]);
  // #32 Compute scale_and_add (sgemm_cp_async.py)
  {
    float acc[16] = {f_acc[32], f_acc[33], f_acc[34], f_acc[35], f_acc[36], f_acc[37], f_acc[38], f_acc[39], f_acc[40], f_acc[41], f_acc[42], f_acc[43], f_acc[44], f_acc[45], f_acc[46], f_acc[47]};
    auto& old = f_old;
    const int alpha = a_alpha;
    const int beta = a_beta;
    #pragma unroll
    for (int i = 0; i < 16; ++i) acc[i] = (float)alpha * acc[i] + (float)beta * old[i];
    f_acc[32] = acc[0];
    f_acc[33] = acc[1];
    f_acc[34] = acc[2];
    f_acc[35] = acc[3];
    f_acc[36] = acc[4];
    f_acc[37] = acc[5];
    f_acc[38] = acc[6];
    f_acc[39] = acc[7];
    f_acc[40] = acc[8];
    f_acc[41] = acc[9];
    f_acc[42] = acc[10];
    f_acc[43] = acc[11];
    f_acc[44] = acc[12];
    f_acc[45] = acc[13];
    f_acc[46] = acc[14];
    f_acc[47] = acc[15];
  }
  // #33 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 16) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_acc[32], f_acc[33], f_acc[34], f_acc[35]);
  // #34 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 16) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_acc[36], f_acc[37], f_acc[38], f_acc[39]);
  // #35 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 20) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_acc[40], f_acc[41], f_acc[42], f_acc[43]);
  // #36 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 20) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_acc[44], f_acc[45], f_acc[46], f_acc[47]);
  // #37 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 24) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_old[0], f_old[1], f_old[2], f_old[3]);
  // #38 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 24) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_old[4], f_old[5], f_old[6], f_old[7]);
  // #39 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 28) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_old[8], f_old[9], f_old[10], f_old[11]);
  // #40 LdGlobal (sgemm_cp_async.py)
  load_vector(t_c + (block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 28) * stride_c_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_old[12], f_old[13], f_old[14], f_old[15]);
  // #41 Compute scale_and_add (sgemm_cp_async.py)
  {
    float acc[16] = {f_acc[48], f_acc[49], f_acc[50], f_acc[51], f_acc[52], f_acc[53], f_acc[54], f_acc[55], f_acc[56], f_acc[57], f_acc[58], f_acc[59], f_acc[60], f_acc[61], f_acc[62], f_acc[63]};
    auto& old = f_old;
    const int alpha = a_alpha;
    const int beta = a_beta;
    #pragma unroll
    for (int i = 0; i < 16; ++i) acc[i] = (float)alpha * acc[i] + (float)beta * old[i];
    f_acc[48] = acc[0];
    f_acc[49] = acc[1];
    f_acc[50] = acc[2];
    f_acc[51] = acc[3];
    f_acc[52] = acc[4];
    f_acc[53] = acc[5];
    f_acc[54] = acc[6];
    f_acc[55] = acc[7];
    f_acc[56] = acc[8];
    f_acc[57] = acc[9];
    f_acc[58] = acc[10];
    f_acc[59] = acc[11];
    f_acc[60] = acc[12];
    f_acc[61] = acc[13];
    f_acc[62] = acc[14];
    f_acc[63] = acc[15];
  }
  // #42 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 24) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_acc[48], f_acc[49], f_acc[50], f_acc[51]);
  // #43 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 24) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_acc[52], f_acc[53], f_acc[54], f_acc[55]);
  // #44 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 28) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4, f_acc[56], f_acc[57], f_acc[58], f_acc[59]);
  // #45 StGlobal (sgemm_cp_async.py)
  store_vector(t_d + (long long)(block_x * 128 + (warp_in_role >> 1) * 32 + (lane >> 4) * 2 + (lane & 1) + 28) * stride_d_0 + block_y * 128 + (warp_in_role & 1) * 64 + ((lane >> 1) & 7) * 4 + 32, f_acc[60], f_acc[61], f_acc[62], f_acc[63]);
  if (elect_one()) clock_mark(clocks, 8, 1 + warp);
}
