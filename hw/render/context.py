"""What the op renderers share: the schedule, the text so far, names, and addresses."""

from __future__ import annotations

from dataclasses import dataclass, field

from asyncsim.errors import ScheduleError
from asyncsim.hw.render.expr import c_text, known_multiple
from asyncsim.hw.render.in_flight import AtWait
from asyncsim.hw.render.model import Variant
from asyncsim.hw.render.swizzle import swizzled_text
from asyncsim.ir.decl import Fragment, FragmentLayout, GlobalTensor, SmemTile, Swizzle
from asyncsim.ir.dtype import DType
from asyncsim.ir.expr import Const, Expr, binary
from asyncsim.ir.op import FragmentRef, GlobalView, MbarrierRef, OpBase, SmemView
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.swizzle import REPEAT_BYTES

C_TYPES = {
    DType.I8: "signed char",
    DType.U8: "unsigned char",
    DType.I32: "int",
    DType.U32: "u32",
    DType.F16: "f16",
    DType.BF16: "bf16",
    DType.F32: "float",
    DType.TF32: "float",
    DType.E4M3: "unsigned char",
    DType.E5M2: "unsigned char",
}


@dataclass(slots=True)
class Context:
    """State of one rendering.

    ``live``: variables that something reads. ``role_lines``: which lines are those of roles.
    ``way_out``: label behind the elected region that is open, "" outside one. ``loops``: loop
    variables, outermost first. ``waits``: mbarrier waits in the common part and the open role (with
    none, nothing can give up). ``functions``: device functions that the kernel needs beside the
    fixed ones, by name. ``matrices``: registers of wgmma in the open scope; ``at_waits``: which of
    them are pinned at a wait, by its id. ``tmem_loaded``: fragments of the open scope that
    tcgen05.ld writes; ``tmem_words``: words with addresses of tensor memory that it has in
    registers. ``ahead``: names of the global and the shared address of copies, by op id, where they
    are computed before a wait. ``common_registers``: declared before the roles. ``roles_leave``:
    nothing follows the roles; a warp leaves the kernel at the end of its own.
    """

    schedule: Schedule
    variant: Variant
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    live: frozenset[str] = frozenset()
    role_lines: list[range] = field(default_factory=list)
    way_out: str = ""
    used_labels: set[str] = field(default_factory=set)
    loops: list[str] = field(default_factory=list)
    common_waits: int = 0
    waits: int = 0
    functions: dict[str, str] = field(default_factory=dict)
    matrices: list[str] = field(default_factory=list)
    at_waits: dict[int, AtWait] = field(default_factory=dict)
    tmem_loaded: list[str] = field(default_factory=list)
    tmem_words: tuple[str, ...] = ()
    common_registers: frozenset[str] = frozenset()
    roles_leave: bool = False
    ahead: dict[int, tuple[str, str]] = field(default_factory=dict)

    def put(self, text: str) -> None:
        for line in text.splitlines():
            self.lines.append(f"{'  ' * self.depth}{line}" if line.strip() else "")

    def put_guarded(self, text: str) -> None:
        """A copy or global store: skipped once this thread has given up (the region's entry
        has tested it inside an elected region)."""
        self.put(text if self.way_out or not self.waits else f"if (!guard.aborted) {text}")

    def loop_index(self) -> str:
        return f"v_{self.loops[-1]}" if self.loops else "0"

    # -- addresses -----------------------------------------------------------------------------

    def barrier(self, ref: MbarrierRef) -> str:
        at = from_start(ref.name, binary("*", ref.stage, Const(8)))
        return self.in_cta(f"smem_base + {at}", ref.rank)

    def tmem_word(self, tile: str) -> str:
        """C text of the tensor memory address in a word that tcgen05.alloc has written."""
        if tile in self.tmem_words:
            return f"tmem_{tile}"
        return f"*(const u32*)(smem + {start_name(tile)})"

    def in_cta(self, address: str, rank: Expr | None) -> str:
        """The same shared-memory address in another CTA of the cluster (None: in its own)."""
        return address if rank is None else f"cluster_address({address}, {c_text(rank)})"

    def logical_bytes(self, view: SmemView) -> Expr:
        """Byte offset of the view's first element in the CTA's shared memory, before swizzle."""
        offset = self.schedule.tile(view.tile).offset
        return binary("+", self.bytes_in_tile(view), Const(offset))

    def logical_text(self, view: SmemView) -> str:
        """C text of the same, from where the tile begins by name."""
        return from_start(view.tile, self.bytes_in_tile(view))

    def bytes_in_tile(self, view: SmemView) -> Expr:
        """Byte offset of the view's first element from stage 0 of its tile, before swizzle."""
        tile = self.schedule.tile(view.tile)
        at: Expr = Const(0)
        for start, extent in zip(view.start, tile.shape, strict=True):
            at = binary("+", binary("*", at, Const(extent)), start)
        stage = binary("*", view.stage, Const(tile.stage_stride))
        return binary("+", stage, binary("*", at, Const(tile.dtype.bytes)))

    def physical_bytes(self, view: SmemView) -> str:
        """C text of the byte offset of the view's first element, after swizzle."""
        tile = self.schedule.tile(view.tile)
        if tile.swizzle is Swizzle.NONE:
            return self.logical_text(view)
        aligned = tile.offset % REPEAT_BYTES[tile.swizzle] == 0
        at = self.bytes_in_tile(view)
        return swizzled_text(start_name(view.tile), aligned, at, tile.swizzle)

    def element(
        self, view: GlobalView, offsets: tuple[int, ...] | None = None, *, load: bool = False
    ) -> str:
        """C text of a pointer to the view's first element (plus constant offsets).

        A load from a tensor of less than 2^31 elements counts them in 32 bits: in a loop, 64-bit
        products cost registers that a tiled kernel does not have.
        """
        tensor = self.schedule.tensor(view.tensor)
        extents = zip(tensor.shape, tensor.strides, strict=True)
        narrow = load and sum((n - 1) * s for n, s in extents) < 1 << 31
        wide = "" if narrow else "(long long)"
        fixed: Expr = Const(0)
        products: list[str] = []
        for d, start in enumerate(view.start):
            at = binary("+", start, Const(offsets[d])) if offsets else start
            stride = static_stride(self.schedule, tensor, d)
            if stride is not None:
                fixed = binary("+", fixed, binary("*", at, Const(stride)))
            elif at != Const(0):
                products.append(f"{wide}({c_text(at)}) * {stride_name(tensor.name, d)}")
        inner = c_text(fixed)
        return f"t_{tensor.name} + " + " + ".join(
            [*products, inner] if inner != "0" else products or ["0"]
        )

    def inside(self, view: GlobalView, offsets: tuple[int, ...]) -> str:
        """C text: whether an element of the view lies in its tensor."""
        terms = []
        for d, (start, offset) in enumerate(zip(view.start, offsets, strict=True)):
            at = c_text(binary("+", start, Const(offset)))
            terms.append(f"(u32)({at}) < (u32){extent_name(view.tensor, d)}")
        return " && ".join(terms)

    def shared_element(self, view: SmemView, offsets: tuple[int, ...]) -> str:
        """C text of a pointer to an element of the view, after swizzle."""
        start = tuple(binary("+", s, Const(o)) for s, o in zip(view.start, offsets, strict=True))
        one = SmemView(view.tile, view.stage, start, (1,) * len(start))
        element = C_TYPES[self.schedule.tile(view.tile).dtype]
        own = f"({element}*)(smem + {self.physical_bytes(one)})"
        return own if view.rank is None else f"cluster_pointer({own}, {c_text(view.rank)})"

    def shared_vector_elements(self, view: SmemView) -> int:
        """As for global memory; swizzles permute whole chunks of 16 bytes."""
        tile = self.schedule.tile(view.tile)
        n = 16 // tile.dtype.bytes
        aligned = known_multiple(self.logical_bytes(view))
        row = tile.shape[-1] * tile.dtype.bytes
        while n > 1 and (
            view.shape[-1] % n or aligned % (n * tile.dtype.bytes) or row % (n * tile.dtype.bytes)
        ):
            n //= 2
        return n

    # -- registers -----------------------------------------------------------------------------

    def register(self, ref: FragmentRef, index: int) -> str:
        return f"f_{ref.name}[{ref.first + index}]"

    def fragment_type(self, fragment: Fragment) -> str:
        packed = fragment.layout in (FragmentLayout.OPERAND, FragmentLayout.MATRICES)
        return "u32" if packed else C_TYPES[fragment.dtype]


def start_name(name: str) -> str:
    """The constant that says where a tile, or an array of mbarriers, begins in shared memory."""
    return f"at_{name}"


def from_start(name: str, offset: Expr) -> str:
    """C text of ``offset`` bytes from where a tile or an array of mbarriers begins."""
    text = c_text(offset)
    return start_name(name) if text == "0" else f"{text} + {start_name(name)}"


def extent_name(tensor: str, dim: int) -> str:
    return f"extent_{tensor}_{dim}"


def stride_name(tensor: str, dim: int) -> str:
    return f"stride_{tensor}_{dim}"


def static_stride(schedule: Schedule, tensor: GlobalTensor, dim: int) -> int | None:
    """The stride if it is part of the kernel's shape, None if it is a run-time parameter.

    The innermost stride always is; the others are if a shared tile spans whole rows of the tensor
    (then its extent is a tile shape, not a problem size).
    """
    if dim == len(tensor.shape) - 1:
        return tensor.strides[dim]
    spans = any(
        t.shape[1:] == tensor.shape[1:] and len(t.shape) == len(tensor.shape)
        for t in schedule.of_kind(SmemTile)
    )
    return tensor.strides[dim] if spans else None


def asm(instruction: str) -> str:
    return f'asm volatile("{instruction};" ::: "memory");'


def place_of(op: OpBase) -> str:
    return str(op.loc) if op.loc else "?"


def cannot_render(op: OpBase, what: str, fix: str) -> ScheduleError:
    return ScheduleError(f"{type(op).__name__}: {what}", loc=op.loc, fix=fix)
