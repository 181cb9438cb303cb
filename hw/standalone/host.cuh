// The host: inputs that are the same on every machine, tensor maps, and the comparison.
inline void cuda_ok(cudaError_t status, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(status));
  std::exit(1);
}
#define CUDA_OK(call) cuda_ok(call, __LINE__)

enum class Type { i8, u8, e4m3, e5m2, f16, bf16, i32, u32, f32 };
inline size_t bytes_of(Type type) { return type < Type::f16 ? 1 : type < Type::i32 ? 2 : 4; }

// Extents and strides in elements, outermost dimension first.
struct Form { std::vector<u64> shape, strides; };

// A tensor in both memories.
struct Tensor {
  const char* name;
  Type type;
  Form form;
  std::vector<unsigned char> host;
  void* device = nullptr;

  Tensor(const char* name, Type type, Form f) : name(name), type(type), form(f) {
    u64 last = 0;
    for (size_t d = 0; d < f.shape.size(); ++d) last += (f.shape[d] - 1) * f.strides[d];
    host.resize((last + 1) * bytes_of(type));
    CUDA_OK(cudaMalloc(&device, host.size() < 16 ? 16 : host.size()));
  }
  template <class T> T* as() const { return (T*)device; }
  u64 elements() const {
    u64 n = 1;
    for (u64 extent : form.shape) n *= extent;
    return n;
  }
  unsigned char* at(u64 index) {  // of an element, counted row by row
    u64 offset = 0;
    for (size_t d = form.shape.size(); d-- > 0; index /= form.shape[d]) {
      offset += index % form.shape[d] * form.strides[d];
    }
    return host.data() + offset * bytes_of(type);
  }
  u32 bits(u64 index) {
    u32 out = 0;
    std::memcpy(&out, at(index), bytes_of(type));
    return out;
  }
  void set_bits(u64 index, u32 bits) { std::memcpy(at(index), &bits, bytes_of(type)); }
  void upload() { CUDA_OK(cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice)); }
  void download() { CUDA_OK(cudaMemcpy(host.data(), device, host.size(), cudaMemcpyDeviceToHost)); }
  void start_as(int byte) { CUDA_OK(cudaMemset(device, byte, host.size())); }
};

inline float float_of(u32 bits) { float x; std::memcpy(&x, &bits, 4); return x; }
inline u32 bits_of(float x) { u32 bits; std::memcpy(&bits, &x, 4); return bits; }
inline double number(Type type, u32 bits) {
  const __nv_fp8_interpretation_t fp8 = type == Type::e4m3 ? __NV_E4M3 : __NV_E5M2;
  switch (type) {
    case Type::i8: return (signed char)bits;
    case Type::i32: return (int)bits;
    case Type::u8: case Type::u32: return bits;
    case Type::bf16: return float_of(bits << 16);
    case Type::f32: return float_of(bits);
    case Type::f16: return __half2float(__ushort_as_half((unsigned short)bits));
    default: return __half2float(__half(__nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)bits, fp8)));
  }
}

// A hash of 32 bits. An element of an input is one of a few values that are exact in its type, the
// hash of its index says which; of a wide type it is the hash modulo 65,536.
inline u32 hashed(u32 x, u32 key) {
  x = x * 0x9e3779b1u ^ key;
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}
inline void fill(Tensor& t, u32 key, std::vector<u32> bits) {
  for (u64 i = 0, n = t.elements(); i < n; ++i) t.set_bits(i, bits[hashed((u32)i, key) % bits.size()]);
  t.upload();
}
inline void fill_wide(Tensor& t, u32 key) {
  for (u64 i = 0, n = t.elements(); i < n; ++i) {
    const u32 value = hashed((u32)i, key) & 0xffff;
    t.set_bits(i, t.type == Type::f32 ? bits_of((float)value) : value);
  }
  t.upload();
}
inline void fill_iota(Tensor& t) {
  for (u64 i = 0, n = t.elements(); i < n; ++i) {
    t.set_bits(i, t.type == Type::f32 ? bits_of((float)i) : (u32)i);
  }
  t.upload();
}

// What a kernel says beside its outputs: which wait reached its limit, and clocks of its warps.
struct Notes {
  u32* report;
  Clocks* clocks;
  explicit Notes(size_t clock_count) {
    CUDA_OK(cudaMalloc(&report, 64));
    CUDA_OK(cudaMemset(report, 0, 64));
    CUDA_OK(cudaMalloc(&clocks, clock_count * sizeof(Clocks)));
  }
};
inline bool ended(const char* kernel, const Notes& notes) {
  u32 word[9];
  CUDA_OK(cudaMemcpy(word, notes.report, sizeof word, cudaMemcpyDeviceToHost));
  if (word[0] == 0) return true;
  std::printf("%s: wait #%u of warp %u in CTA %u, round %u, reached its limit: no phase of parity %u "
              "ended at the mbarrier at %u\n", kernel, word[1], word[6], word[5], word[4], word[3], word[2]);
  return false;
}

// The comparison: element by element where the evaluation left samples, and by a checksum over the
// runs of elements that it knows. Any NaN equals any other.
struct Sample { u64 index; u32 bits; };
struct Run { u64 first, count; };
inline u32 comparable(Type type, u32 bits) {
  const double x = number(type, bits);
  return x == x ? bits : 0xffffffffu;
}
inline bool as_expected(Tensor& t, double tolerance, const std::vector<Sample>& samples,
                        const std::vector<Run>& runs, u64 checksum) {
  t.download();
  u64 wrong = 0;
  double worst = 0;
  for (const Sample& s : samples) {
    const u32 bits = comparable(t.type, t.bits(s.index));
    if (bits == s.bits) continue;
    const double have = number(t.type, bits), want = number(t.type, s.bits);
    const double error = std::fabs(have - want);
    if (error > worst || error != error) worst = error;
    if (tolerance > 0 && error <= tolerance * std::fmax(1, std::fabs(want))) continue;
    if (wrong++ == 0) {
      std::printf("%s: element %llu is %g, expected %g\n", t.name, s.index, have, want);
    }
  }
  std::printf("%s: max error %g in %zu samples", t.name, worst, samples.size());
  if (tolerance > 0) {
    std::printf(" (tolerance %g), %llu wrong\n", tolerance, wrong);
    return wrong == 0;
  }
  u64 sum = 0, count = 0;
  for (const Run& run : runs) {
    for (u64 i = run.first; i < run.first + run.count; ++i, ++count) {
      sum += hashed(comparable(t.type, t.bits(i)), 0) ^ hashed((u32)i, 0);
    }
  }
  std::printf(", %llu wrong; checksum of %llu elements %s\n", wrong, count,
              sum == checksum ? "equal" : "DIFFERS");
  return wrong == 0 && sum == checksum;
}

template <class Prepare, class Launch> inline double median_us(int launches, Prepare prepare, Launch launch) {
  cudaEvent_t begin, end;
  CUDA_OK(cudaEventCreate(&begin));
  CUDA_OK(cudaEventCreate(&end));
  std::vector<float> times(launches);
  for (float& ms : times) {
    prepare();
    CUDA_OK(cudaEventRecord(begin));
    launch();
    CUDA_OK(cudaEventRecord(end));
    CUDA_OK(cudaEventSynchronize(end));
    CUDA_OK(cudaEventElapsedTime(&ms, begin, end));
  }
  std::sort(times.begin(), times.end());
  return 1000.0 * times[launches / 2];
}
