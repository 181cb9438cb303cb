// Two launches in a row, the second allowed to start early.  p3 = 0: work of p0 cycles, launch_dependents
// before it (p1 0), behind it (1) or not at all (2); p3 = 1: the dependent one, with a prologue of p2
// cycles before griddepcontrol.wait.  By globaltimer: out[4 b + 1000 p3 ..] = start, after the wait, end.
extern "C" __global__ void pdl(KERNEL_ARGS) {
  u64 g0 = gtime(), g1 = g0, t0 = clk();
  if (p3) {
    while (clk() - t0 < (u64)p2) {}
    asm volatile("griddepcontrol.wait;" ::: "memory");
    g1 = gtime();
  } else {
    if (p1 == 0) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    while (clk() - t0 < (u64)p0) {}
    if (p1 == 1) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  }
  if (threadIdx.x == 0) {
    u64* row = out + 1000 * p3 + 4 * blockIdx.x;
    row[0] = g0; row[1] = g1; row[2] = gtime(); row[3] = smid();
  }
}
