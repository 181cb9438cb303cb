// Tensor maps, encoded by the driver; box, element strides and corners outermost dimension first.
template <class Encode> inline Encode driver_function(const char* name, unsigned version = 12000) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  CUDA_OK(cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) {
    std::fprintf(stderr, "the driver has no %s\n", name);
    std::exit(1);
  }
  return (Encode)function;
}
inline TensorMap as_map(const CUtensorMap& encoded, CUresult status, const Tensor& t) {
  if (status != CUDA_SUCCESS) {
    std::fprintf(stderr, "the driver refuses a tensor map of %s: error %d\n", t.name, (int)status);
    std::exit(1);
  }
  TensorMap map;
  static_assert(sizeof map == sizeof encoded, "a tensor map has 128 bytes");
  std::memcpy(&map, &encoded, sizeof map);
  return map;
}
template <class T, class From> inline std::vector<T> innermost_first(const std::vector<From>& of) {
  return std::vector<T>(of.rbegin(), of.rend());
}
inline std::vector<cuuint64_t> byte_strides(const Form& form, Type type) {  // the innermost is 1
  std::vector<cuuint64_t> out;
  for (size_t d = form.strides.size() - 1; d-- > 0;) out.push_back(form.strides[d] * bytes_of(type));
  return out;
}
// ``box``: the arguments between the strides and the element strides.
template <class Encode, class... Box, class... Enums>
TensorMap encoded(Encode encode, const Tensor& t, const Form& form, CUtensorMapDataType type,
                  const std::vector<u32>& steps, std::tuple<Box...> box, Enums... enums) {
  CUtensorMap map;
  const auto shape = innermost_first<cuuint64_t>(form.shape);
  const auto strides = byte_strides(form, t.type);
  const auto element_strides = innermost_first<cuuint32_t>(steps);
  const CUresult status = std::apply([&](auto... b) {
    return encode(&map, type, (cuuint32_t)shape.size(), t.device, shape.data(), strides.data(), b...,
                  element_strides.data(), enums...);
  }, box);
  return as_map(map, status, t);
}
template <class... Enums>
TensorMap tiled_map(const Tensor& t, const Form& form, CUtensorMapDataType type, std::vector<u32> box,
                    std::vector<u32> steps, Enums... enums) {
  static const auto encode =
      driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  box = innermost_first<u32>(box);
  return encoded(encode, t, form, type, steps, std::make_tuple(box.data()), enums...);
}
template <class... Enums>
TensorMap im2col_map(const Tensor& t, const Form& form, CUtensorMapDataType type, std::vector<int> lower,
                     std::vector<int> upper, u32 channels, u32 pixels, std::vector<u32> steps,
                     Enums... enums) {
  static const auto encode =
      driver_function<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
  lower = innermost_first<int>(lower);
  upper = innermost_first<int>(upper);
  const auto box = std::make_tuple(lower.data(), upper.data(), channels, pixels);
  return encoded(encode, t, form, type, steps, box, enums...);
}
template <class... Enums>
TensorMap im2col_wide_map(const Tensor& t, const Form& form, CUtensorMapDataType type, int lower,
                          int upper, u32 channels, u32 pixels, std::vector<u32> steps, Enums... enums) {
  static const auto encode =
      driver_function<decltype(&cuTensorMapEncodeIm2colWide)>("cuTensorMapEncodeIm2colWide", 12080);
  const auto box = std::make_tuple(lower, upper, channels, pixels);
  return encoded(encode, t, form, type, steps, box, enums...);
}
