// clusterlaunchcontrol: the work of a cluster that has not been launched.
DEV void clc_try_cancel(u32 response, u32 bar) {
  asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128"
               " [%0], [%1];" :: "r"(response), "r"(bar) : "memory");
}
DEV void clc_try_cancel_multicast(u32 response, u32 bar) {
  asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
               ".multicast::cluster::all.b128 [%0], [%1];" :: "r"(response), "r"(bar) : "memory");
}
// The index of the cancelled cluster, of CTAS CTAs along x; 0xffffffff if none was left.
template <int CTAS> DEV u32 clc_query_cancel(u32 response) {
  u32 x;
  asm volatile("{ .reg .b128 r; .reg .pred p;\n"
               "ld.shared.b128 r, [%1];\n"
               "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r;\n"
               "mov.b32 %0, 0xffffffff;\n"
               "@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %0, r; }"
               : "=r"(x) : "r"(response) : "memory");
  return x == 0xffffffffu ? x : x / CTAS;
}
