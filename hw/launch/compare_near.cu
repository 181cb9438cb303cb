// Sets `*differ` if an element that `mask` selects is further from the wanted one than `tolerance`,
// times its size beyond 1. NaN is near NaN alone. `kind`: 0 float, 1 half, 2 bfloat16.
__device__ float value(const unsigned char* bytes, unsigned long long i, unsigned kind) {
  if (kind == 0) return ((const float*)bytes)[i];
  unsigned short bits = ((const unsigned short*)bytes)[i];
  float x = __int_as_float((int)bits << 16);
  if (kind == 1) asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}

extern "C" __global__ void compare_near(const unsigned char* have, const unsigned char* want,
                                        const unsigned char* mask, unsigned long long elements,
                                        unsigned kind, float tolerance, unsigned int* differ) {
  const unsigned bytes = kind ? 2 : 4;
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < elements;
       i += gridDim.x * blockDim.x) {
    if (!mask[i * bytes]) continue;
    const float a = value(have, i, kind), b = value(want, i, kind);
    const bool both_nan = a != a && b != b;
    if (!both_nan && !(fabsf(a - b) <= tolerance * fmaxf(1.f, fabsf(b)))) *differ = 1u;
  }
}
