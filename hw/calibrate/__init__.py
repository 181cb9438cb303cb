"""Microbenchmarks that fill a machine file: `python -m hw.calibrate run|fit|compile`.

The run needs a GPU, cuda.core and numpy; the fit needs numpy only.  See docs/machine.md.
"""
