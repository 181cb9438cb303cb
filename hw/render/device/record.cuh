// Build variants: a delay before an op, and the clock after each of a warp's first ops.
DEV void delay(const u32* delays, u32 entry) {
  u32 cycles = __ldg(delays + entry);
  if (cycles == 0) return;
  if (cycles > 10000000u) cycles = 10000000u;
  u64 begin = clock_cycles();
  while (clock_cycles() - begin < cycles) {}
}
// One clock read for each stamped op: the end of an op is the begin of the next.
struct Recorder {
  uint2* next;  // op id + 1, low word of the clock
  u32 left;
};
DEV Recorder recorder(uint2* stamps, u32 ctas, u32 warps, u32 capacity) {
  u32 cta = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  u32 row = cta * warps + (threadIdx.x >> 5);
  bool mine = elect_one() && cta < ctas;
  return Recorder{stamps + (u64)row * capacity, mine ? capacity : 0u};
}
DEV void stamp(Recorder& r, u32 word) {
  u32 now = (u32)clock_cycles();
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p st.global.v2.u32 [%0], {%1, %2}; }"
               :: "l"(r.next), "r"(word), "r"(now), "r"(r.left) : "memory");
  if (r.left) { r.next += 1; r.left -= 1; }
}
