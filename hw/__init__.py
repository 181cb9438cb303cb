"""Hardware backend: render to CUDA, compile, guarded launch, measure, store, compare.

The only part that uses the CUDA packages, each imported when first needed. See docs/hardware.md.
"""
