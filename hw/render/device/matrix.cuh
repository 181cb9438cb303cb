// Matrices of 8 rows of 16 bytes, one register of each a lane. Lane i names row i % 8 of matrix
// i / 8; with _trans each matrix moves as its transpose.
DEV void ldmatrix_x1(u32* r, u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(r[0]) : "r"(at) : "memory");
}
DEV void ldmatrix_x1_trans(u32* r, u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(r[0]) : "r"(at) : "memory");
}
DEV void ldmatrix_x2(u32* r, u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(at) : "memory");
}
DEV void ldmatrix_x2_trans(u32* r, u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(at) : "memory");
}
DEV void ldmatrix_x4(u32* r, u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
DEV void ldmatrix_x4_trans(u32* r, u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
#if __CUDA_ARCH__ >= 900
DEV void stmatrix_x1(u32 at, const u32* r) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
               :: "r"(at), "r"(r[0]) : "memory");
}
DEV void stmatrix_x1_trans(u32 at, const u32* r) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
               :: "r"(at), "r"(r[0]) : "memory");
}
DEV void stmatrix_x2(u32 at, const u32* r) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
               :: "r"(at), "r"(r[0]), "r"(r[1]) : "memory");
}
DEV void stmatrix_x2_trans(u32 at, const u32* r) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
               :: "r"(at), "r"(r[0]), "r"(r[1]) : "memory");
}
DEV void stmatrix_x4(u32 at, const u32* r) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :: "r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
DEV void stmatrix_x4_trans(u32 at, const u32* r) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
               :: "r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
#endif
