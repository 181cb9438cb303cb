// cp.async.bulk.tensor; coordinates innermost first.
#define TMA_LOAD "cp.async.bulk.tensor."
#define TMA_LOAD_TAIL ".shared::cluster.global.tile.mbarrier::complete_tx::bytes "
#define TMA_STORE_TAIL ".global.shared::cta.tile.bulk_group "
DEV void tma_load(u32 dst, const TensorMap& m, u32 bar, int x) {
  asm volatile(TMA_LOAD "1d" TMA_LOAD_TAIL "[%0], [%1, {%3}], [%2];"
               :: "r"(dst), "l"(&m), "r"(bar), "r"(x) : "memory");
}
DEV void tma_load(u32 dst, const TensorMap& m, u32 bar, int x, int y) {
  asm volatile(TMA_LOAD "2d" TMA_LOAD_TAIL "[%0], [%1, {%3, %4}], [%2];"
               :: "r"(dst), "l"(&m), "r"(bar), "r"(x), "r"(y) : "memory");
}
DEV void tma_load(u32 dst, const TensorMap& m, u32 bar, int x, int y, int z) {
  asm volatile(TMA_LOAD "3d" TMA_LOAD_TAIL "[%0], [%1, {%3, %4, %5}], [%2];"
               :: "r"(dst), "l"(&m), "r"(bar), "r"(x), "r"(y), "r"(z) : "memory");
}
DEV void tma_load(u32 dst, const TensorMap& m, u32 bar, int x, int y, int z, int w) {
  asm volatile(TMA_LOAD "4d" TMA_LOAD_TAIL "[%0], [%1, {%3, %4, %5, %6}], [%2];"
               :: "r"(dst), "l"(&m), "r"(bar), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
DEV void tma_load(u32 dst, const TensorMap& m, u32 bar, int x, int y, int z, int w, int v) {
  asm volatile(TMA_LOAD "5d" TMA_LOAD_TAIL "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
               :: "r"(dst), "l"(&m), "r"(bar), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v) : "memory");
}
DEV void tma_store(const TensorMap& m, u32 src, int x) {
  asm volatile(TMA_LOAD "1d" TMA_STORE_TAIL "[%0, {%2}], [%1];"
               :: "l"(&m), "r"(src), "r"(x) : "memory");
}
DEV void tma_store(const TensorMap& m, u32 src, int x, int y) {
  asm volatile(TMA_LOAD "2d" TMA_STORE_TAIL "[%0, {%2, %3}], [%1];"
               :: "l"(&m), "r"(src), "r"(x), "r"(y) : "memory");
}
DEV void tma_store(const TensorMap& m, u32 src, int x, int y, int z) {
  asm volatile(TMA_LOAD "3d" TMA_STORE_TAIL "[%0, {%2, %3, %4}], [%1];"
               :: "l"(&m), "r"(src), "r"(x), "r"(y), "r"(z) : "memory");
}
DEV void tma_store(const TensorMap& m, u32 src, int x, int y, int z, int w) {
  asm volatile(TMA_LOAD "4d" TMA_STORE_TAIL "[%0, {%2, %3, %4, %5}], [%1];"
               :: "l"(&m), "r"(src), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
DEV void tma_store(const TensorMap& m, u32 src, int x, int y, int z, int w, int v) {
  asm volatile(TMA_LOAD "5d" TMA_STORE_TAIL "[%0, {%2, %3, %4, %5, %6}], [%1];"
               :: "l"(&m), "r"(src), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v) : "memory");
}
DEV void tma_prefetch_map(const TensorMap& m) {
  asm volatile("prefetch.tensormap [%0];" :: "l"(&m) : "memory");
}
template <int N> DEV void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" :: "n"(N) : "memory");
}
template <int N> DEV void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(N) : "memory");
}
DEV void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// A map in global memory that the kernel changes.
DEV void tensormap_replace_address(TensorMap& m, const void* to) {
  asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;"
               :: "l"(&m), "l"(to) : "memory");
}
template <int D> DEV void tensormap_replace_dim(TensorMap& m, u32 extent) {
  asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], %1, %2;"
               :: "l"(&m), "n"(D), "r"(extent) : "memory");
}
DEV void tensormap_acquire(const TensorMap& m) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(&m) : "memory");
}
