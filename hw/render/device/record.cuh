// Build variants: a delay before an op, and stamps (issue, return) of the first ops of a warp.
DEV void delay(const u32* delays, u32 entry) {
  u32 cycles = __ldg(delays + entry);
  if (cycles == 0) return;
  if (cycles > 10000000u) cycles = 10000000u;
  u64 begin = clock_cycles();
  while (clock_cycles() - begin < cycles) {}
}
struct Recorder {
  uint4* next;   // op id, low words of the clocks at issue and return
  u32 left;
  u32 issued;
};
DEV Recorder recorder(uint4* stamps, u32 ctas, u32 warps, u32 capacity) {
  u32 cta = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  u32 row = cta * warps + (threadIdx.x >> 5);
  bool mine = elect_one() && cta < ctas;
  return Recorder{stamps + (u64)row * capacity, mine ? capacity : 0u, 0u};
}
DEV void stamp_issue(Recorder& r) { r.issued = (u32)clock_cycles(); }
DEV void stamp_return(Recorder& r, u32 op) {
  u32 now = (u32)clock_cycles();
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p st.global.v4.u32 [%0], {%1, %2, %3, %4}; }"
               :: "l"(r.next), "r"(op + 1), "r"(r.issued), "r"(now), "r"(0u), "r"(r.left) : "memory");
  if (r.left) { r.next += 1; r.left -= 1; }
}
