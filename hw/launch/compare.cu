// Sets `*differ` if a byte that `mask` selects is not as wanted.
extern "C" __global__ void compare(const unsigned char* have, const unsigned char* want,
                                   const unsigned char* mask, unsigned long long bytes,
                                   unsigned int* differ) {
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes;
       i += gridDim.x * blockDim.x) {
    if ((have[i] ^ want[i]) & mask[i]) *differ = 1u;
  }
}
