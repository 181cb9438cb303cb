"""From a schedule to header-free CUDA C++ with inline PTX. Keeps the loops.

One ``match`` for each PTX family (mbarrier, copy, sync, tensor, memory), each ending in
``assert_never``. Needs no CUDA package. See docs/hardware.md.
"""

from asyncsim.hw.render.kernel import joined, kernel_text, render
from asyncsim.hw.render.model import Parameter, ParameterKind, Rendered, Variant

__all__ = ["Parameter", "ParameterKind", "Rendered", "Variant", "joined", "kernel_text", "render"]
