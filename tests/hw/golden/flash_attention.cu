extern "C" __global__ void __maxnreg__(168) asyncsim_flash_attention(
    const __grid_constant__ TensorMap m_q_map,
    const __grid_constant__ TensorMap m_o_map,
    const __grid_constant__ TensorMap m_k_map,
    const __grid_constant__ TensorMap m_v_map,
    int a_seq,
    int a_last_tile,
    u32* report,
    Clocks* clocks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  const u32 smem_desc = smem_base >> 4;
  constexpr int at_q_tile = 0;                // bf16 1 x 1 x 128 x 64, swizzled by 128
  constexpr int at_k_tile = 16384;            // 2 x bf16 1 x 1 x 16 x 64, swizzled by 128
  constexpr int at_v_tile = 20480;            // 2 x bf16 1 x 1 x 16 x 64, swizzled by 128
  constexpr int at_q_full = 24576;            // mbarrier
  constexpr int at_k_full = 24584;            // 2 x mbarrier
  constexpr int at_k_empty = 24600;           // 2 x mbarrier
  constexpr int at_v_full = 24616;            // 2 x mbarrier
  constexpr int at_v_empty = 24632;           // 2 x mbarrier
  const int block_x = blockIdx.x;
  const int block_y = blockIdx.y;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  Guard guard{report, false};
  const int warp_in_role = warp;
  if (warp == 11 && elect_one()) {
    clock_mark(clocks, 12, 0);
    tma_prefetch_map(m_q_map);
    tma_prefetch_map(m_o_map);
    tma_prefetch_map(m_k_map);
    tma_prefetch_map(m_v_map);
  }
  if (warp_in_role == 0 && elect_one()) {
    // #0 MbarrierInit (flash_attention.py)
    mbar_init(smem_base + at_q_full, 1);
    // #1 MbarrierInit (flash_attention.py)
    mbar_init(smem_base + at_k_full, 1);
    // #2 MbarrierInit (flash_attention.py)
    mbar_init(smem_base + 8 + at_k_full, 1);
    // #3 MbarrierInit (flash_attention.py)
    mbar_init(smem_base + at_k_empty, 2);
    // #4 MbarrierInit (flash_attention.py)
    mbar_init(smem_base + 8 + at_k_empty, 2);
    // #5 MbarrierInit (flash_attention.py)
    mbar_init(smem_base + at_v_full, 1);
    // #6 MbarrierInit (flash_attention.py)
    mbar_init(smem_base + 8 + at_v_full, 1);
    // #7 MbarrierInit (flash_attention.py)
    mbar_init(smem_base + at_v_empty, 2);
    // #8 MbarrierInit (flash_attention.py)
    mbar_init(smem_base + 8 + at_v_empty, 2);
    // #9 FenceMbarrierInit (flash_attention.py)
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  // #10 BarSync (flash_attention.py)
  __syncthreads();
  if (warp < 8) {  // role consumer
    const int warp_in_role = warp;
    int v_k_stage, v_k_phase, v_v_stage, v_v_phase;
    float f_s[8] = {};
    float f_top[2];
    float f_total[2];
    float f_fade[2];
    u32 f_p[4] = {};
    float f_sums[32] = {};
    bf16 f_out[32];
    // #11 SetMaxNReg (flash_attention.py)
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;" ::: "memory");
    v_k_stage = 0;
    v_k_phase = 0;
    v_v_stage = 0;
    v_v_phase = 0;
    // #12 MbarrierWait (flash_attention.py)
    mbar_wait(guard, smem_base + at_q_full, 0, 12, 0);
    // #13 MbarrierWait (flash_attention.py)
    mbar_wait(guard, smem_base + v_k_stage * 8 + at_k_full, v_k_phase, 13, 0);
    // #14 WgmmaFence (flash_attention.py)
    wgmma_fence();
    // #15 WgmmaMmaAsync (flash_attention.py)
    wgmma_m64n16k16_f32_bf16_bf16(f_s, wgmma_desc(smem_desc + (warp_in_role >> 2) * 512 + 65536 + at_q_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_k_stage * 128 + 65536 + at_k_tile / 16, 0x40000040), 0);
    // #16 WgmmaMmaAsync (flash_attention.py)
    wgmma_m64n16k16_f32_bf16_bf16(f_s, wgmma_desc(smem_desc + (warp_in_role >> 2) * 512 + 65538 + at_q_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_k_stage * 128 + 65538 + at_k_tile / 16, 0x40000040), 1);
    // #17 WgmmaMmaAsync (flash_attention.py)
    wgmma_m64n16k16_f32_bf16_bf16(f_s, wgmma_desc(smem_desc + (warp_in_role >> 2) * 512 + 65540 + at_q_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_k_stage * 128 + 65540 + at_k_tile / 16, 0x40000040), 1);
    // #18 WgmmaMmaAsync (flash_attention.py)
    wgmma_m64n16k16_f32_bf16_bf16(f_s, wgmma_desc(smem_desc + (warp_in_role >> 2) * 512 + 65542 + at_q_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_k_stage * 128 + 65542 + at_k_tile / 16, 0x40000040), 1);
    // #19 CommitGroup (flash_attention.py)
    wgmma_commit();
    // #20 WaitGroup (flash_attention.py)
    wgmma_wait<0>();
    pin(f_s);
    pin(f_p);
    pin(f_sums);
    if ((warp_in_role & 3) == 0) {
      if (elect_one() && !guard.aborted) {
        // #21 MbarrierArrive (flash_attention.py)
        mbar_arrive(smem_base + v_k_stage * 8 + at_k_empty);
      }
    }
    v_k_stage = v_k_stage + 1;
    if (v_k_stage == 2) {
      v_k_stage = 0;
      v_k_phase = (v_k_phase ^ 1);
    }
    // #22 Compute mask_scores (flash_attention.py)
    {
      auto& s = f_s;
      const int row = a_last_tile * 128 - block_x * 128 + (warp_in_role >> 2) * 64 + (warp_in_role & 3) * 16;
      const int column = min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) * 16 - 16;
      const int keys = a_seq;
      #pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int at = column + 8 * (i / 4) + i % 2 + 2 * (lane % 4);
        if (at >= keys || at > row + lane / 4 + 8 * (i / 2 % 2)) s[i] = __int_as_float(0xff800000);
      }
    }
    // #23 Compute first_softmax (flash_attention.py)
    {
      auto& s = f_s;
      auto& top = f_top;
      auto& total = f_total;
      auto& fade = f_fade;
      const float scale = 0.18033688f;
      auto exp2_approx = [](float x) {
        float y;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
        return y;
      };
      #pragma unroll
      for (int half = 0; half < 2; ++half) {

        float most = __int_as_float(0xff800000);
        #pragma unroll
        for (int i = 0; i < 4; ++i)
          most = fmaxf(most, s[4 * (i / 2) + 2 * half + i % 2]);
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
        const float base = most == __int_as_float(0xff800000) ? 0.f : most * scale;
        float sum = 0.f;
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& x = s[4 * (i / 2) + 2 * half + i % 2];
          x = exp2_approx(x * scale - base);
          sum += x;
        }
        top[half] = most;
        fade[half] = 0.f;
        total[half] = sum;
      }
    }
    // #24 Compute round_weights (flash_attention.py)
    {
      auto& p = f_p;
      auto& s = f_s;
      #pragma unroll
      for (int i = 0; i < 4; ++i)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
            : "=r"(p[i]) : "f"(s[2 * i + 1]), "f"(s[2 * i]));
    }
    #pragma unroll 1
    for (int v_crossed = 0, n_crossed = min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) - min(min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8), a_last_tile * 8 - block_x * 8) - 1; v_crossed < n_crossed; ++v_crossed) {
      // #25 MbarrierWait (flash_attention.py)
      mbar_wait(guard, smem_base + v_k_stage * 8 + at_k_full, v_k_phase, 25, v_crossed);
      if (((warp_in_role >> 2) == 0) & ((v_crossed * 2 + (warp_in_role >> 2)) > 0)) {
        // #26 BarSync (flash_attention.py)
        asm volatile("bar.sync 1, 256;" ::: "memory");
      }
      if (((warp_in_role >> 2) == 1) & ((v_crossed * 2 + (warp_in_role >> 2)) > 0)) {
        // #27 BarSync (flash_attention.py)
        asm volatile("bar.sync 2, 256;" ::: "memory");
      }
      // #28 WgmmaFence (flash_attention.py)
      wgmma_fence();
      // #29 WgmmaMmaAsync (flash_attention.py)
      wgmma_m64n16k16_f32_bf16_bf16(f_s, wgmma_desc(smem_desc + (warp_in_role >> 2) * 512 + 65536 + at_q_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_k_stage * 128 + 65536 + at_k_tile / 16, 0x40000040), 0);
      // #30 WgmmaMmaAsync (flash_attention.py)
      wgmma_m64n16k16_f32_bf16_bf16(f_s, wgmma_desc(smem_desc + (warp_in_role >> 2) * 512 + 65538 + at_q_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_k_stage * 128 + 65538 + at_k_tile / 16, 0x40000040), 1);
      // #31 WgmmaMmaAsync (flash_attention.py)
      wgmma_m64n16k16_f32_bf16_bf16(f_s, wgmma_desc(smem_desc + (warp_in_role >> 2) * 512 + 65540 + at_q_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_k_stage * 128 + 65540 + at_k_tile / 16, 0x40000040), 1);
      // #32 WgmmaMmaAsync (flash_attention.py)
      wgmma_m64n16k16_f32_bf16_bf16(f_s, wgmma_desc(smem_desc + (warp_in_role >> 2) * 512 + 65542 + at_q_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_k_stage * 128 + 65542 + at_k_tile / 16, 0x40000040), 1);
      // #33 CommitGroup (flash_attention.py)
      wgmma_commit();
      // #34 MbarrierWait (flash_attention.py)
      mbar_wait(guard, smem_base + v_v_stage * 8 + at_v_full, v_v_phase, 34, v_crossed);
      // #35 WgmmaFence (flash_attention.py)
      wgmma_fence();
      // #36 WgmmaMmaAsync (flash_attention.py)
      wgmma_m64n64k16_f32_bf16_bf16_rt(f_sums, f_p[0], f_p[1], f_p[2], f_p[3], wgmma_desc(smem_desc + v_v_stage * 128 + 8388608 + at_v_tile / 16, 0x40000040), (v_crossed > 0));
      // #37 CommitGroup (flash_attention.py)
      wgmma_commit();
      if (((warp_in_role >> 2) == 0) & ((v_crossed * 2 + (warp_in_role >> 2)) < (min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) * 2 - 3))) {
        // #38 BarArrive (flash_attention.py)
        asm volatile("bar.arrive 2, 256;" ::: "memory");
      }
      if (((warp_in_role >> 2) == 1) & ((v_crossed * 2 + (warp_in_role >> 2)) < (min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) * 2 - 3))) {
        // #39 BarArrive (flash_attention.py)
        asm volatile("bar.arrive 1, 256;" ::: "memory");
      }
      // #40 WaitGroup (flash_attention.py)
      wgmma_wait<1>();
      pin(f_s);
      // #41 Compute mask_scores (flash_attention.py)
      {
        auto& s = f_s;
        const int row = a_last_tile * 128 - block_x * 128 + (warp_in_role >> 2) * 64 + (warp_in_role & 3) * 16;
        const int column = min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) * 16 - v_crossed * 16 - 32;
        const int keys = a_seq;
        #pragma unroll
        for (int i = 0; i < 8; ++i) {
          const int at = column + 8 * (i / 4) + i % 2 + 2 * (lane % 4);
          if (at >= keys || at > row + lane / 4 + 8 * (i / 2 % 2)) s[i] = __int_as_float(0xff800000);
        }
      }
      // #42 Compute online_softmax (flash_attention.py)
      {
        auto& s = f_s;
        auto& top = f_top;
        auto& total = f_total;
        auto& fade = f_fade;
        const float scale = 0.18033688f;
        auto exp2_approx = [](float x) {
          float y;
          asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
          return y;
        };
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float before = top[half];
          float most = top[half];
          #pragma unroll
          for (int i = 0; i < 4; ++i)
            most = fmaxf(most, s[4 * (i / 2) + 2 * half + i % 2]);
          most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
          most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
          const float base = most == __int_as_float(0xff800000) ? 0.f : most * scale;
          float sum = 0.f;
          #pragma unroll
          for (int i = 0; i < 4; ++i) {
            float& x = s[4 * (i / 2) + 2 * half + i % 2];
            x = exp2_approx(x * scale - base);
            sum += x;
          }
          top[half] = most;
          fade[half] = exp2_approx(before * scale - base);
          total[half] = total[half] * fade[half] + sum;
        }
      }
      if ((warp_in_role & 3) == 0) {
        if (elect_one() && !guard.aborted) {
          // #43 MbarrierArrive (flash_attention.py)
          mbar_arrive(smem_base + v_k_stage * 8 + at_k_empty);
        }
      }
      v_k_stage = v_k_stage + 1;
      if (v_k_stage == 2) {
        v_k_stage = 0;
        v_k_phase = (v_k_phase ^ 1);
      }
      // #44 WaitGroup (flash_attention.py)
      pin(f_s);
      wgmma_wait<0>();
      pin(f_s);
      pin(f_p);
      pin(f_sums);
      if ((warp_in_role & 3) == 0) {
        if (elect_one() && !guard.aborted) {
          // #45 MbarrierArrive (flash_attention.py)
          mbar_arrive(smem_base + v_v_stage * 8 + at_v_empty);
        }
      }
      v_v_stage = v_v_stage + 1;
      if (v_v_stage == 2) {
        v_v_stage = 0;
        v_v_phase = (v_v_phase ^ 1);
      }
      // #46 Compute fade_sums (flash_attention.py)
      {
        auto& o = f_sums;
        auto& fade = f_fade;
        #pragma unroll
        for (int i = 0; i < 32; ++i) o[i] *= fade[i / 2 % 2];
      }
      // #47 Compute round_weights (flash_attention.py)
      {
        auto& p = f_p;
        auto& s = f_s;
        #pragma unroll
        for (int i = 0; i < 4; ++i)
          asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
              : "=r"(p[i]) : "f"(s[2 * i + 1]), "f"(s[2 * i]));
      }
    }
    #pragma unroll 1
    for (int v_whole = 0, n_whole = min(min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8), a_last_tile * 8 - block_x * 8); v_whole < n_whole; ++v_whole) {
      // #48 MbarrierWait (flash_attention.py)
      mbar_wait(guard, smem_base + v_k_stage * 8 + at_k_full, v_k_phase, 48, v_whole);
      if (((warp_in_role >> 2) == 0) & ((v_whole * 2 + min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) * 2 - min(min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8), a_last_tile * 8 - block_x * 8) * 2 + (warp_in_role >> 2) - 2) > 0)) {
        // #49 BarSync (flash_attention.py)
        asm volatile("bar.sync 1, 256;" ::: "memory");
      }
      if (((warp_in_role >> 2) == 1) & ((v_whole * 2 + min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) * 2 - min(min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8), a_last_tile * 8 - block_x * 8) * 2 + (warp_in_role >> 2) - 2) > 0)) {
        // #50 BarSync (flash_attention.py)
        asm volatile("bar.sync 2, 256;" ::: "memory");
      }
      // #51 WgmmaFence (flash_attention.py)
      wgmma_fence();
      // #52 WgmmaMmaAsync (flash_attention.py)
      wgmma_m64n16k16_f32_bf16_bf16(f_s, wgmma_desc(smem_desc + (warp_in_role >> 2) * 512 + 65536 + at_q_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_k_stage * 128 + 65536 + at_k_tile / 16, 0x40000040), 0);
      // #53 WgmmaMmaAsync (flash_attention.py)
      wgmma_m64n16k16_f32_bf16_bf16(f_s, wgmma_desc(smem_desc + (warp_in_role >> 2) * 512 + 65538 + at_q_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_k_stage * 128 + 65538 + at_k_tile / 16, 0x40000040), 1);
      // #54 WgmmaMmaAsync (flash_attention.py)
      wgmma_m64n16k16_f32_bf16_bf16(f_s, wgmma_desc(smem_desc + (warp_in_role >> 2) * 512 + 65540 + at_q_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_k_stage * 128 + 65540 + at_k_tile / 16, 0x40000040), 1);
      // #55 WgmmaMmaAsync (flash_attention.py)
      wgmma_m64n16k16_f32_bf16_bf16(f_s, wgmma_desc(smem_desc + (warp_in_role >> 2) * 512 + 65542 + at_q_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_k_stage * 128 + 65542 + at_k_tile / 16, 0x40000040), 1);
      // #56 CommitGroup (flash_attention.py)
      wgmma_commit();
      // #57 MbarrierWait (flash_attention.py)
      mbar_wait(guard, smem_base + v_v_stage * 8 + at_v_full, v_v_phase, 57, v_whole);
      // #58 WgmmaFence (flash_attention.py)
      wgmma_fence();
      // #59 WgmmaMmaAsync (flash_attention.py)
      wgmma_m64n64k16_f32_bf16_bf16_rt(f_sums, f_p[0], f_p[1], f_p[2], f_p[3], wgmma_desc(smem_desc + v_v_stage * 128 + 8388608 + at_v_tile / 16, 0x40000040), ((v_whole + min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) - min(min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8), a_last_tile * 8 - block_x * 8) - 1) > 0));
      // #60 CommitGroup (flash_attention.py)
      wgmma_commit();
      if (((warp_in_role >> 2) == 0) & ((v_whole * 2 + min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) * 2 - min(min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8), a_last_tile * 8 - block_x * 8) * 2 + (warp_in_role >> 2) - 2) < (min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) * 2 - 3))) {
        // #61 BarArrive (flash_attention.py)
        asm volatile("bar.arrive 2, 256;" ::: "memory");
      }
      if (((warp_in_role >> 2) == 1) & ((v_whole * 2 + min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) * 2 - min(min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8), a_last_tile * 8 - block_x * 8) * 2 + (warp_in_role >> 2) - 2) < (min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) * 2 - 3))) {
        // #62 BarArrive (flash_attention.py)
        asm volatile("bar.arrive 1, 256;" ::: "memory");
      }
      // #63 WaitGroup (flash_attention.py)
      wgmma_wait<1>();
      pin(f_s);
      // #64 Compute online_softmax (flash_attention.py)
      {
        auto& s = f_s;
        auto& top = f_top;
        auto& total = f_total;
        auto& fade = f_fade;
        const float scale = 0.18033688f;
        auto exp2_approx = [](float x) {
          float y;
          asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
          return y;
        };
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float before = top[half];
          float most = top[half];
          #pragma unroll
          for (int i = 0; i < 4; ++i)
            most = fmaxf(most, s[4 * (i / 2) + 2 * half + i % 2]);
          most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
          most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
          const float base = most == __int_as_float(0xff800000) ? 0.f : most * scale;
          float sum = 0.f;
          #pragma unroll
          for (int i = 0; i < 4; ++i) {
            float& x = s[4 * (i / 2) + 2 * half + i % 2];
            x = exp2_approx(x * scale - base);
            sum += x;
          }
          top[half] = most;
          fade[half] = exp2_approx(before * scale - base);
          total[half] = total[half] * fade[half] + sum;
        }
      }
      if ((warp_in_role & 3) == 0) {
        if (elect_one() && !guard.aborted) {
          // #65 MbarrierArrive (flash_attention.py)
          mbar_arrive(smem_base + v_k_stage * 8 + at_k_empty);
        }
      }
      v_k_stage = v_k_stage + 1;
      if (v_k_stage == 2) {
        v_k_stage = 0;
        v_k_phase = (v_k_phase ^ 1);
      }
      // #66 WaitGroup (flash_attention.py)
      pin(f_s);
      wgmma_wait<0>();
      pin(f_s);
      pin(f_p);
      pin(f_sums);
      if ((warp_in_role & 3) == 0) {
        if (elect_one() && !guard.aborted) {
          // #67 MbarrierArrive (flash_attention.py)
          mbar_arrive(smem_base + v_v_stage * 8 + at_v_empty);
        }
      }
      v_v_stage = v_v_stage + 1;
      if (v_v_stage == 2) {
        v_v_stage = 0;
        v_v_phase = (v_v_phase ^ 1);
      }
      // #68 Compute fade_sums (flash_attention.py)
      {
        auto& o = f_sums;
        auto& fade = f_fade;
        #pragma unroll
        for (int i = 0; i < 32; ++i) o[i] *= fade[i / 2 % 2];
      }
      // #69 Compute round_weights (flash_attention.py)
      {
        auto& p = f_p;
        auto& s = f_s;
        #pragma unroll
        for (int i = 0; i < 4; ++i)
          asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
              : "=r"(p[i]) : "f"(s[2 * i + 1]), "f"(s[2 * i]));
      }
    }
    // #70 MbarrierWait (flash_attention.py)
    mbar_wait(guard, smem_base + v_v_stage * 8 + at_v_full, v_v_phase, 70, 0);
    // #71 WgmmaFence (flash_attention.py)
    wgmma_fence();
    // #72 WgmmaMmaAsync (flash_attention.py)
    wgmma_m64n64k16_f32_bf16_bf16_rt(f_sums, f_p[0], f_p[1], f_p[2], f_p[3], wgmma_desc(smem_desc + v_v_stage * 128 + 8388608 + at_v_tile / 16, 0x40000040), ((min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) - 1) > 0));
    // #73 CommitGroup (flash_attention.py)
    wgmma_commit();
    // #74 WaitGroup (flash_attention.py)
    wgmma_wait<0>();
    pin(f_s);
    pin(f_p);
    pin(f_sums);
    if ((warp_in_role & 3) == 0) {
      if (elect_one() && !guard.aborted) {
        // #75 MbarrierArrive (flash_attention.py)
        mbar_arrive(smem_base + v_v_stage * 8 + at_v_empty);
      }
    }
    v_v_stage = v_v_stage + 1;
    if (v_v_stage == 2) {
      v_v_stage = 0;
      v_v_phase = (v_v_phase ^ 1);
    }
    // #76 Compute divide_by_total (flash_attention.py)
    {
      auto& out = f_out;
      auto& o = f_sums;
      auto& total = f_total;
      float share[2];
      #pragma unroll
      for (int half = 0; half < 2; ++half) {
        float sum = total[half] + __shfl_xor_sync(0xffffffffu, total[half], 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        share[half] = __fdividef(1.f, sum);
      }
      #pragma unroll
      for (int i = 0; i < 32; ++i) out[i] = o[i] * share[i / 2 % 2];
    }
    // #77 StShared (flash_attention.py)
    store_vector((bf16*)(smem + swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) + at_q_tile), f_out[0], f_out[1]);
    // #78 StShared (flash_attention.py)
    store_vector((bf16*)(smem + swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) + 1024 + at_q_tile), f_out[2], f_out[3]);
    // #79 StShared (flash_attention.py)
    store_vector((bf16*)(smem + (swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) ^ 16) + at_q_tile), f_out[4], f_out[5]);
    // #80 StShared (flash_attention.py)
    store_vector((bf16*)(smem + (swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) ^ 16) + 1024 + at_q_tile), f_out[6], f_out[7]);
    // #81 StShared (flash_attention.py)
    store_vector((bf16*)(smem + (swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) ^ 32) + at_q_tile), f_out[8], f_out[9]);
    // #82 StShared (flash_attention.py)
    store_vector((bf16*)(smem + (swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) ^ 32) + 1024 + at_q_tile), f_out[10], f_out[11]);
    // #83 StShared (flash_attention.py)
    store_vector((bf16*)(smem + (swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) ^ 48) + at_q_tile), f_out[12], f_out[13]);
    // #84 StShared (flash_attention.py)
    store_vector((bf16*)(smem + (swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) ^ 48) + 1024 + at_q_tile), f_out[14], f_out[15]);
    // #85 StShared (flash_attention.py)
    store_vector((bf16*)(smem + (swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) ^ 64) + at_q_tile), f_out[16], f_out[17]);
    // #86 StShared (flash_attention.py)
    store_vector((bf16*)(smem + (swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) ^ 64) + 1024 + at_q_tile), f_out[18], f_out[19]);
    // #87 StShared (flash_attention.py)
    store_vector((bf16*)(smem + (swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) ^ 80) + at_q_tile), f_out[20], f_out[21]);
    // #88 StShared (flash_attention.py)
    store_vector((bf16*)(smem + (swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) ^ 80) + 1024 + at_q_tile), f_out[22], f_out[23]);
    // #89 StShared (flash_attention.py)
    store_vector((bf16*)(smem + (swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) ^ 96) + at_q_tile), f_out[24], f_out[25]);
    // #90 StShared (flash_attention.py)
    store_vector((bf16*)(smem + (swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) ^ 96) + 1024 + at_q_tile), f_out[26], f_out[27]);
    // #91 StShared (flash_attention.py)
    store_vector((bf16*)(smem + (swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) ^ 112) + at_q_tile), f_out[28], f_out[29]);
    // #92 StShared (flash_attention.py)
    store_vector((bf16*)(smem + (swizzled<112>((warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + (lane >> 2) * 128 + (lane & 3) * 4) ^ 112) + 1024 + at_q_tile), f_out[30], f_out[31]);
    // #93 FenceProxyAsync (flash_attention.py)
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    // #94 BarWarpSync (flash_attention.py)
    __syncwarp();
    if (elect_one()) {
      if (guard.aborted) goto abandoned_95;
      // #95 TmaStore (flash_attention.py)
      tma_store(m_o_map, smem_base + (warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + at_q_tile, 0, a_last_tile * 128 - block_x * 128 + (warp_in_role >> 2) * 64 + (warp_in_role & 3) * 16, 0, block_y);
      // #96 CommitGroup (flash_attention.py)
      bulk_commit();
      // #97 WaitGroup (flash_attention.py)
      bulk_wait<0>();
    abandoned_95:;
      if (guard.aborted) drain();
      clock_mark(clocks, 12, 1 + warp);
    }
  } else if (warp < 12) {  // role producer
    const int warp_in_role = warp - 8;
    int v_k_stage, v_k_phase, v_v_stage, v_v_phase;
    // #98 SetMaxNReg (flash_attention.py)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;" ::: "memory");
    if (warp_in_role == 0 && elect_one()) {
      v_k_stage = 0;
      v_k_phase = 1;
      v_v_stage = 0;
      v_v_phase = 1;
      // #99 MbarrierArriveExpectTx (flash_attention.py)
      mbar_arrive_expect_tx(smem_base + at_q_full, 16384);
      // #100 TmaLoad (flash_attention.py)
      tma_load(smem_base + at_q_tile, m_q_map, smem_base + at_q_full, 0, a_last_tile * 128 - block_x * 128, 0, block_y);
      // #101 MbarrierWait (flash_attention.py)
      if (!mbar_wait(guard, smem_base + v_k_stage * 8 + at_k_empty, v_k_phase, 101, 0)) goto abandoned_99;
      // #102 MbarrierArriveExpectTx (flash_attention.py)
      mbar_arrive_expect_tx(smem_base + v_k_stage * 8 + at_k_full, 2048);
      // #103 TmaLoad (flash_attention.py)
      tma_load(smem_base + v_k_stage * 2048 + at_k_tile, m_k_map, smem_base + v_k_stage * 8 + at_k_full, 0, min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) * 16 - 16, 0, block_y);
      v_k_stage = v_k_stage + 1;
      if (v_k_stage == 2) {
        v_k_stage = 0;
        v_k_phase = (v_k_phase ^ 1);
      }
      #pragma unroll 1
      for (int v_i = 0, n_i = min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) - 1; v_i < n_i; ++v_i) {
        // #104 MbarrierWait (flash_attention.py)
        if (!mbar_wait(guard, smem_base + v_k_stage * 8 + at_k_empty, v_k_phase, 104, v_i)) goto abandoned_99;
        // #105 MbarrierArriveExpectTx (flash_attention.py)
        mbar_arrive_expect_tx(smem_base + v_k_stage * 8 + at_k_full, 2048);
        // #106 TmaLoad (flash_attention.py)
        tma_load(smem_base + v_k_stage * 2048 + at_k_tile, m_k_map, smem_base + v_k_stage * 8 + at_k_full, 0, min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) * 16 - v_i * 16 - 32, 0, block_y);
        v_k_stage = v_k_stage + 1;
        if (v_k_stage == 2) {
          v_k_stage = 0;
          v_k_phase = (v_k_phase ^ 1);
        }
        // #107 MbarrierWait (flash_attention.py)
        if (!mbar_wait(guard, smem_base + v_v_stage * 8 + at_v_empty, v_v_phase, 107, v_i)) goto abandoned_99;
        // #108 MbarrierArriveExpectTx (flash_attention.py)
        mbar_arrive_expect_tx(smem_base + v_v_stage * 8 + at_v_full, 2048);
        // #109 TmaLoad (flash_attention.py)
        tma_load(smem_base + v_v_stage * 2048 + at_v_tile, m_v_map, smem_base + v_v_stage * 8 + at_v_full, 0, min(((a_seq + 15) >> 4), a_last_tile * 8 - block_x * 8 + 8) * 16 - v_i * 16 - 16, 0, block_y);
        v_v_stage = v_v_stage + 1;
        if (v_v_stage == 2) {
          v_v_stage = 0;
          v_v_phase = (v_v_phase ^ 1);
        }
      }
      // #110 MbarrierWait (flash_attention.py)
      if (!mbar_wait(guard, smem_base + v_v_stage * 8 + at_v_empty, v_v_phase, 110, 0)) goto abandoned_99;
      // #111 MbarrierArriveExpectTx (flash_attention.py)
      mbar_arrive_expect_tx(smem_base + v_v_stage * 8 + at_v_full, 2048);
      // #112 TmaLoad (flash_attention.py)
      tma_load(smem_base + v_v_stage * 2048 + at_v_tile, m_v_map, smem_base + v_v_stage * 8 + at_v_full, 0, 0, 0, block_y);
      v_v_stage = v_v_stage + 1;
      if (v_v_stage == 2) {
        v_v_stage = 0;
        v_v_phase = (v_v_phase ^ 1);
      }
    abandoned_99:;
      if (guard.aborted) drain();
      clock_mark(clocks, 12, 1 + warp);
    } else if (warp_in_role != 0) {
      if (guard.aborted) drain();
      if (elect_one()) clock_mark(clocks, 12, 1 + warp);
    }
  }
}
