"""The kernel around the statements: parameters, set-up, device code that it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from asyncsim.errors import ScheduleError
from asyncsim.hw.render.context import (
    C_TYPES,
    Context,
    extent_name,
    start_name,
    static_stride,
    stride_name,
)
from asyncsim.hw.render.in_flight import at_waits
from asyncsim.hw.render.mbarrier import is_ordered
from asyncsim.hw.render.model import Parameter, ParameterKind, Rendered, Variant
from asyncsim.hw.render.statements import (
    declare,
    leave,
    register_names,
    render_body,
    render_scope,
)
from asyncsim.hw.render.tiles import cluster_constants
from asyncsim.hw.render.used import live_variables, used_only
from asyncsim.ir import op as ops
from asyncsim.ir.decl import GlobalTensor, Mbarrier, SmemTile, Swizzle, TensorMap
from asyncsim.ir.op import GlobalView
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Specialize
from asyncsim.ir.unheard import refuse_unheard

_DEVICE = Path(__file__).parent / "device"
PLAIN = Variant()
_TMA = {ops.TmaLoad, ops.TmaStore, ops.BulkLoad, ops.BulkStore}  # and the bulk groups of stores


def render(schedule: Schedule, arch: str = "sm_90a", variant: Variant = PLAIN) -> Rendered:
    """CUDA C++ of ``schedule``. Raises ScheduleError for an arch that it does not declare."""
    if arch not in schedule.archs:
        raise ScheduleError(
            f"{schedule.name} is not written for {arch}",
            fix=f"it declares {', '.join(schedule.archs)}",
        )
    refuse_unheard(schedule, "render")
    c = Context(
        schedule=schedule,
        variant=variant,
        at_waits=at_waits(schedule),
        live=live_variables(schedule),
    )
    parameters = _parameters(schedule, variant)
    name = "asyncsim_" + re.sub(r"\W", "_", schedule.name)
    _kernel_body(c, parameters)
    bound = (  # CUDA takes one of the two
        f"__maxnreg__({schedule.maxnreg})"
        if schedule.maxnreg
        else f"__launch_bounds__({schedule.threads}, {schedule.ctas_per_sm})"
    )
    if schedule.cluster_ctas > 1:
        bound = f"__cluster_dims__{schedule.cluster} {bound}"
    head = ",\n    ".join(_parameter_text(schedule, p) for p in parameters)
    kernel = [
        f'extern "C" __global__ void {bound} {name}(\n    {head}) {{',
        *c.lines,
        "}",
    ]
    device = _device_files(schedule, variant)
    text = [device_code(device), *c.functions.values(), "", *kernel, ""]
    return Rendered(
        source="\n".join(text),
        device=device,
        functions=tuple(c.functions.values()),
        kernel_name=name,
        arch=arch,
        parameters=parameters,
        variant=variant,
        op_count=1 + max((o.id for o in schedule.ops()), default=-1),
        warps=schedule.warps,
    )


def joined(rendered: Sequence[Rendered], kernels: Iterable[str] | None = None) -> str:
    """Several kernels in one text: the device code of all of them once, then the kernels, or
    ``kernels`` in their place. Raises ScheduleError if two have one name."""
    names = [r.kernel_name for r in rendered]
    if len(set(names)) < len(names):
        raise ScheduleError(
            f"both kernels are called {names[0]}", fix="give the two schedules two names"
        )
    files = dict.fromkeys(f for r in rendered for f in r.device)
    functions = dict.fromkeys(f for r in rendered for f in r.functions)
    texts = [kernel_text(r) for r in rendered] if kernels is None else kernels
    return "\n".join([device_code(files), *functions, "", *texts])


def kernel_text(rendered: Rendered) -> str:
    """The kernel without the device code in front of it."""
    return rendered.source[rendered.source.index('extern "C" __global__') :]


def device_code(files: Iterable[str]) -> str:
    """The text of these files of device code."""
    return "\n".join((_DEVICE / f"{f}.cuh").read_text(encoding="utf-8") for f in files)


def _device_files(schedule: Schedule, variant: Variant) -> tuple[str, ...]:
    used = {type(op) for op in schedule.ops()}
    files = ["base", "memory"]
    if any(issubclass(t, ops.MbarrierOp) for t in used):
        files.append("mbarrier")
    if used & _TMA or schedule.of_kind(TensorMap):
        files.append("tma")
    if any(issubclass(t, ops.BulkOp) for t in used):
        files.append("bulk")
    if used & {ops.CpAsync, ops.CpAsyncMbarrierArrive} or any(
        isinstance(o, ops.CommitGroup | ops.WaitGroup) and o.kind is ops.GroupKind.CP_ASYNC
        for o in schedule.ops()
    ):
        files.append("cp_async")
    if used & {ops.WgmmaMmaAsync, ops.WgmmaFence}:
        files.append("wgmma")
    if used & {ops.LdMatrix, ops.StMatrix}:
        files.append("matrix")
    if any(issubclass(t, ops.Tcgen05Op) for t in used):
        files.append("tcgen05")
    if any(issubclass(t, ops.ClcOp) for t in used):
        files.append("clc")
    if schedule.cluster_ctas > 1 or any(
        isinstance(o, ops.ClusterOp | ops.BulkSend | ops.RedAsync)
        or (isinstance(o, ops.MbarrierArriveOp | ops.MbarrierWaitOp) and is_ordered(o))
        for o in schedule.ops()
    ):
        files.append("cluster")
    if variant.delays or variant.stamps:
        files.append("record")
    return tuple(files)


def _parameters(schedule: Schedule, variant: Variant) -> tuple[Parameter, ...]:
    plain = [t for t in schedule.of_kind(GlobalTensor) if t.name in _plain_tensors(schedule)]
    kinds = {False: ParameterKind.TENSOR_MAP, True: ParameterKind.TENSOR_MAPS}
    out = [Parameter(kinds[m.in_global], m.name) for m in schedule.of_kind(TensorMap)]
    clipped = {o.dst.tensor for o in schedule.ops() if isinstance(o, ops.StGlobal) and o.clip}
    for tensor in plain:
        out.append(Parameter(ParameterKind.TENSOR, tensor.name))
        for d in range(len(tensor.shape)):
            if static_stride(schedule, tensor, d) is None:
                out.append(Parameter(ParameterKind.STRIDE, tensor.name, d))
        if tensor.name in clipped:
            out += [
                Parameter(ParameterKind.EXTENT, tensor.name, d) for d in range(len(tensor.shape))
            ]
    out += [Parameter(ParameterKind.ARG, name) for name, _ in schedule.args]
    out += [Parameter(ParameterKind.REPORT), Parameter(ParameterKind.CLOCKS)]
    if variant.delays:
        out.append(Parameter(ParameterKind.DELAYS))
    if variant.stamps:
        out += [
            Parameter(ParameterKind.STAMPS),
            Parameter(ParameterKind.STAMP_CTAS),
            Parameter(ParameterKind.STAMP_CAPACITY),
        ]
    return tuple(out)


def _plain_tensors(schedule: Schedule) -> set[str]:
    """Tensors that ordinary instructions address (the others go through a tensor map)."""
    out: set[str] = set()
    for op in schedule.ops():
        match op:
            case (
                ops.CpAsync(src=GlobalView(tensor, _, _))
                | ops.LdGlobal(src=GlobalView(tensor, _, _))
                | ops.BulkLoad(src=GlobalView(tensor, _, _))
                | ops.BulkPrefetch(src=GlobalView(tensor, _, _))
                | ops.AtomAdd(counter=GlobalView(tensor, _, _))
            ):
                out.add(tensor)
            case ops.TensormapReplace(tensor_map=name, field="global_address"):
                out.add(schedule.tensor_map(name).tensor)
            case (
                ops.StGlobal(dst=GlobalView(tensor, _, _))
                | ops.BulkStore(dst=GlobalView(tensor, _, _))
            ):
                out.add(tensor)
            case _:
                pass
    return out


def _parameter_text(schedule: Schedule, p: Parameter) -> str:
    match p.kind:
        case ParameterKind.TENSOR:
            tensor = schedule.tensor(p.name)
            if any(isinstance(o, ops.GriddepcontrolWait) for o in schedule.ops()):
                # The kernel before may still write it: no load may move ahead of the wait.
                return f"{C_TYPES[tensor.dtype]}* t_{p.name}"
            const = "" if tensor.output else "const "
            return f"{const}{C_TYPES[tensor.dtype]}* __restrict__ t_{p.name}"
        case ParameterKind.STRIDE:
            return f"int {stride_name(p.name, p.dim)}"
        case ParameterKind.EXTENT:
            return f"int {extent_name(p.name, p.dim)}"
        case ParameterKind.TENSOR_MAP:
            return f"const __grid_constant__ TensorMap m_{p.name}"
        case ParameterKind.TENSOR_MAPS:
            return f"TensorMap* maps_{p.name}"
        case ParameterKind.ARG:
            return f"int a_{p.name}"
        case ParameterKind.REPORT:
            return "u32* report"
        case ParameterKind.CLOCKS:
            return "Clocks* clocks"
        case ParameterKind.DELAYS:
            return "const u32* delays"
        case ParameterKind.STAMPS:
            return "uint2* stamp_buffer"
        case ParameterKind.STAMP_CTAS:
            return "u32 stamp_ctas"
        case ParameterKind.STAMP_CAPACITY:
            return "u32 stamp_capacity"


def _kernel_body(c: Context, parameters: tuple[Parameter, ...]) -> None:
    s = c.schedule
    for p in parameters:
        if p.kind is ParameterKind.TENSOR_MAPS:
            block = "block_x + gridDim.x * (block_y + gridDim.y * block_z)"
            c.put(f"TensorMap& m_{p.name} = maps_{p.name}[{block}];")
    _begin(c, [p.name for p in parameters if p.kind is ParameterKind.TENSOR_MAP])
    if c.variant.stamps:
        c.put(f"Recorder stamps = recorder(stamp_buffer, stamp_ctas, {s.warps}, stamp_capacity);")
    c.roles_leave = bool(s.body) and isinstance(s.body[-1], Specialize)
    if any(isinstance(statement, Specialize) for statement in s.body):
        declare(c, s.body)
        c.common_waits, c.common_registers = c.waits, register_names(s.body)
        render_body(c, s.body)
        if not c.roles_leave:
            leave(c)
    else:
        render_scope(c, s.body, leaves=True)
    inside = {i for lines in c.role_lines for i in lines}
    common = (line for i, line in enumerate(c.lines) if i not in inside)
    places = used_only(_PLACES_IN_BLOCK, common)
    names = used_only(_names(s), [*places, *c.lines])
    c.lines[:0] = [f"  {line}" for line in (*names, *places)]


def _begin(c: Context, maps: list[str]) -> None:
    """One lane notes when the CTA starts, and fetches the descriptors."""
    warps = c.schedule.warps
    c.put(f"if (warp == {warps - 1} && elect_one()) {{")
    c.put(f"  clock_mark(clocks, {warps}, 0);")
    for name in maps:
        c.put(f"  tma_prefetch_map(m_{name});")
    c.put("}")


_PLACES_IN_BLOCK = (
    ("warp_in_role", "const int warp_in_role = warp;"),
    ("thread_in_role", "const int thread_in_role = threadIdx.x;"),
)


def _names(s: Schedule) -> list[tuple[str, str]]:
    """What a kernel may name, each after what it needs."""
    rank = "cluster_rank()" if s.cluster_ctas > 1 else "0"
    shared = [d for d in s.decls if isinstance(d, SmemTile | Mbarrier)]
    return [
        ("smem", "extern __shared__ __align__(1024) unsigned char smem[];"),
        ("smem_base", "const u32 smem_base = (u32)__cvta_generic_to_shared(smem);"),
        ("smem_desc", "const u32 smem_desc = smem_base >> 4;"),
        *((start_name(d.name), _start(d)) for d in sorted(shared, key=lambda d: d.offset)),
        ("block_x", "const int block_x = blockIdx.x;"),
        ("block_y", "const int block_y = blockIdx.y;"),
        ("block_z", "const int block_z = blockIdx.z;"),
        *((name, f"const int {name} = {value};") for name, value in cluster_constants(s).items()),
        ("cta_rank", f"const int cta_rank = {rank};"),
        ("lane", "const int lane = threadIdx.x & 31;"),
        ("warp", "const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);"),
        ("guard", "Guard guard{report, false};"),
    ]


def _start(d: SmemTile | Mbarrier) -> str:
    """Where a declaration begins in shared memory, and what it is."""
    many = f"{d.stages} x " if d.stages > 1 else ""
    if isinstance(d, Mbarrier):
        what = f"{many}mbarrier"
    else:
        what = f"{many}{d.dtype.value} {' x '.join(map(str, d.shape))}"
        if d.swizzle is not Swizzle.NONE:
            what += f", swizzled by {d.swizzle.value}"
    return f"{f'constexpr int {start_name(d.name)} = {d.offset};':<44}// {what}"
