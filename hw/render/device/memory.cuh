// Plain accesses: vectors of up to 16 bytes, and the shared-memory swizzle (on byte offsets: the
// dynamic block starts at a multiple of 1024).
template <int MASK> DEV int swizzled(int offset) { return offset ^ ((offset >> 3) & MASK); }
template <class T, int N> struct __align__(sizeof(T) * N) Vector { T v[N]; };
template <class T, class... R> DEV void load_vector(const T* from, R&... to) {
  constexpr int n = sizeof...(R);
  Vector<T, n> x = *(const Vector<T, n>*)from;
  int i = 0;
  ((to = x.v[i++]), ...);
}
template <class T, class... R> DEV void store_vector(T* to, R... from) {
  constexpr int n = sizeof...(R);
  Vector<T, n> x{{(T)from...}};
  *(Vector<T, n>*)to = x;
}
