"""Op streams: what each warp executes, lazily, with every expression replaced by its value."""

from asyncsim.stream.dyn import Access, BarrierKey, Dyn, Proxy, Tag
from asyncsim.stream.program import Program, StreamLimit

__all__ = ["Access", "BarrierKey", "Dyn", "Program", "Proxy", "StreamLimit", "Tag"]
