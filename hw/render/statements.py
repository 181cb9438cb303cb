"""CUDA text of statements: loops stay loops, elections become elect.sync branches."""

from __future__ import annotations

from asyncsim.hw.render.ahead import settle_addresses
from asyncsim.hw.render.bulk import render_bulk
from asyncsim.hw.render.cluster import render_cluster
from asyncsim.hw.render.context import Context, place_of
from asyncsim.hw.render.copy import render_copy
from asyncsim.hw.render.expr import c_text, condition
from asyncsim.hw.render.hooks import END_WORD, is_delayed
from asyncsim.hw.render.matrix import render_matrix
from asyncsim.hw.render.mbarrier import render_mbarrier
from asyncsim.hw.render.memory import render_memory
from asyncsim.hw.render.order import render_order
from asyncsim.hw.render.sync import render_sync
from asyncsim.hw.render.tcgen05 import render_tcgen05
from asyncsim.hw.render.tensor import render_tensor
from asyncsim.hw.render.tiles import loop_head, render_tile
from asyncsim.hw.render.tmem_words import settled_words, words_of
from asyncsim.hw.render.used import used_only
from asyncsim.ir import op as ops
from asyncsim.ir.dtype import DType
from asyncsim.ir.op import FragmentRef, Op, OpBase
from asyncsim.ir.schedule import statements
from asyncsim.ir.stamped import is_stamped
from asyncsim.ir.stmt import Elect, For, Role, Set, Specialize, Stmt, When


def render_body(c: Context, body: tuple[Stmt, ...]) -> None:
    for i, s in enumerate(body):
        if isinstance(s, ops.MbarrierWaitOp):
            settle_addresses(c, body[i + 1 :])
        _statement(c, s)


def _statement(c: Context, s: Stmt) -> None:
    match s:
        case For(var=var, trip_count=count, body=body, unroll=unroll):
            head = (
                f"for (int v_{var} = 0, n_{var} = {c_text(count)}; v_{var} < n_{var}; ++v_{var}) {{"
            )
            c.put(f"#pragma unroll {unroll}")
            c.put(loop_head(c, s) if s.assigned else head)
            c.loops.append(var)
            _nested(c, body)
            c.loops.pop()
            c.put("}")
        case When(condition=test, body=body, orelse=orelse):
            c.put(f"if {condition(test)} {{")
            _nested(c, body)
            if orelse:
                c.put("} else {")
                _nested(c, orelse)
            c.put("}")
        case Set(var=var, value=value):
            if var in c.live:
                c.put(f"v_{var} = {c_text(value)};")
        case Elect():
            _elect(c, s, last_of_role=False)
        case Specialize(roles=roles):
            _specialize(c, roles)
        case _:
            _op(c, s)


def _nested(c: Context, body: tuple[Stmt, ...]) -> None:
    c.depth += 1
    render_body(c, body)
    c.depth -= 1


def _elect(c: Context, s: Elect, *, last_of_role: bool) -> None:
    """One lane runs the body, unless it has given up before; the others are the other branch. At
    the end of a role the elected lane also leaves the kernel here, so that the others need not stay
    parked; so do its other warps."""
    first = next((o for o in statements(s.body) if isinstance(o, OpBase)), None)
    label = f"abandoned_{first.id if first is not None else len(c.lines)}"
    elected = "warp_in_role == 0 && elect_one()" if s.of_role else "elect_one()"
    may_have_given_up = bool(c.waits and (c.loops or _waits(s.body) < c.waits))
    skipped = may_have_given_up and not (_waits(s.body) or s.others or last_of_role)
    c.put(f"if ({elected} && !guard.aborted) {{" if skipped else f"if ({elected}) {{")
    c.way_out = label
    c.depth += 1
    if may_have_given_up and not skipped:
        c.used_labels.add(label)
        c.put(f"if (guard.aborted) goto {label};")
    render_body(c, s.body)
    c.depth -= 1
    if label in c.used_labels:
        c.put(f"{label}:;")
    c.way_out = ""
    if last_of_role:
        c.depth += 1
        leave(c, elected=True)
        if s.of_role:
            c.depth -= 1
            c.put("} else if (warp_in_role != 0) {")
            c.depth += 1
            leave(c)
        c.depth -= 1
    if s.others:
        c.put("} else {")
        _nested(c, s.others)
    c.put("}")


def leave(c: Context, *, elected: bool = False) -> None:
    """The end of a warp: copies drained if it gave up, its last stamp, its end mark."""
    if c.waits:
        c.put("if (guard.aborted) drain();")
    if c.variant.stamps:
        c.put(f"stamp(stamps, {END_WORD:#x}u);")
    mark = f"clock_mark(clocks, {c.schedule.warps}, 1 + warp);"
    c.put(mark if elected else f"if (elect_one()) {mark}")


def _waits(body: tuple[Stmt, ...]) -> int:
    return sum(isinstance(s, ops.MbarrierWaitOp) for s in _own_statements(body))


def _specialize(c: Context, roles: tuple[Role, ...]) -> None:
    for i, role in enumerate(roles):
        lead = "if" if i == 0 else "} else if"
        c.put(f"{lead} (warp < {role.first_warp + role.warps}) {{  // role {role.name}")
        c.depth += 1
        start = len(c.lines)
        render_scope(c, role.body, leaves=c.roles_leave, in_role=True)
        places = used_only(_places(role), c.lines[start:])
        c.lines[start:start] = [f"{'  ' * c.depth}{line}" for line in places]
        c.role_lines.append(range(start, len(c.lines)))
        c.depth -= 1
    c.put("}")
    c.tmem_words = ()
    c.waits = c.common_waits + sum(_waits(role.body) for role in roles)


def _places(role: Role) -> list[tuple[str, str]]:
    """Where a warp and a thread are in their role."""
    first = f" - {role.first_warp}" if role.first_warp else ""
    return [
        ("warp_in_role", f"const int warp_in_role = warp{first};"),
        ("thread_in_role", "const int thread_in_role = warp_in_role * 32 + lane;"),
    ]


def render_scope(
    c: Context, body: tuple[Stmt, ...], *, leaves: bool, in_role: bool = False
) -> None:
    """The vars and fragments of a body, its statements, then leaving if it ends a warp's work."""
    declare(c, body)
    if in_role:
        _load_tmem_words(c, body)
    last = body[-1] if body else None
    if isinstance(last, Elect) and not last.others and _worth_leaving(last, in_role):
        render_body(c, body[:-1])
        _elect(c, last, last_of_role=leaves)
        return
    render_body(c, body)
    if leaves:
        leave(c)


def _worth_leaving(s: Elect, in_role: bool) -> bool:
    """Lanes that stay parked cost each turn of a loop 120 cycles (``dispatch`` on an H200)."""
    return in_role or not s.of_role or any(isinstance(i, For) for i in statements(s.body))


def declare(c: Context, body: tuple[Stmt, ...]) -> None:
    """Vars and registers that the statements use, outside roles or inside one."""
    own = list(_own_statements(body))
    c.waits = c.common_waits + _waits(body)
    declared = (s.var for s in own if isinstance(s, Set) and s.declare)
    names = dict.fromkeys(name for name in declared if name in c.live)
    if names:
        c.put("int " + ", ".join(f"v_{name}" for name in names) + ";")
    c.matrices = []
    for name in dict.fromkeys(r.name for s in own if isinstance(s, OpBase) for r in _fragments(s)):
        fragment = c.schedule.fragment(name)
        text = f"{c.fragment_type(fragment)} f_{name}[{fragment.words}]"
        if fragment.by_warpgroup:
            c.matrices.append(name)
            text += " = {}"
        if name not in c.common_registers:
            c.put(text + ";")
            if fragment.by_warpgroup and fragment.dtype is DType.I32:
                c.put(f"pin(f_{name});")  # else ptxas zeroes it behind wgmma.fence (C7519)
    c.tmem_loaded = list(dict.fromkeys(s.dst.name for s in own if isinstance(s, ops.Tcgen05Ld)))
    for name in dict.fromkeys(n for s in own if isinstance(s, OpBase) for n in _states(s)):
        if name not in c.common_registers:
            c.put(f"u64 s_{name} = 0;")
    for name in dict.fromkeys(n for s in own if isinstance(s, OpBase) for n in _tokens(s)):
        if name not in c.common_registers:
            c.put(f"u32 p_{name} = 0;")


def _load_tmem_words(c: Context, body: tuple[Stmt, ...]) -> None:
    """Keep the addresses of tensor memory that the role uses, if they stand when it begins."""
    own = [s for s in _own_statements(body) if isinstance(s, OpBase)]
    used = {t for s in own for t in words_of(s, c.schedule)}
    c.tmem_words = ()
    for tile in sorted(used & settled_words(c.schedule)):
        c.put(f"const u32 tmem_{tile} = {c.tmem_word(tile)};")
    c.tmem_words = tuple(sorted(used & settled_words(c.schedule)))


def register_names(body: tuple[Stmt, ...]) -> frozenset[str]:
    """The registers that a body uses, without those that only its roles use."""
    own = [s for s in _own_statements(body) if isinstance(s, OpBase)]
    fragments = frozenset(r.name for s in own for r in _fragments(s))
    return fragments.union(n for s in own for n in (*_states(s), *_tokens(s)))


def _own_statements(body: tuple[Stmt, ...]) -> list[Stmt]:
    """The statements of a body, without those of roles inside it."""
    out: list[Stmt] = []
    for s in body:
        if not isinstance(s, Specialize):
            out.append(s)
            match s:
                case For(body=inner):
                    out += _own_statements(inner)
                case Elect(body=inner, others=other) | When(body=inner, orelse=other):
                    out += _own_statements(inner) + _own_statements(other)
                case _:
                    pass
    return out


def _fragments(op: OpBase) -> list[FragmentRef]:
    match op:
        case ops.WgmmaMmaAsync(d=ref, a=a):
            return [ref, a] if isinstance(a, FragmentRef) else [ref]
        case ops.LdGlobal(dst=ref) | ops.LdShared(dst=ref) | ops.Tcgen05Ld(dst=ref):
            return [ref]
        case ops.LdMatrix(dst=ref) | ops.StMatrix(src=ref):
            return [ref]
        case ops.MmaSync(d=d, a=a, b=b, c=old):
            return [d, a, b, old]
        case ops.AtomAdd(dst=ref) | ops.ClcQueryCancel(dst=ref):
            return [ref]
        case ops.StGlobal(src=ref) | ops.StShared(src=ref) | ops.Tcgen05St(src=ref):
            return [ref]
        case ops.StAsync(src=ref) | ops.RedAsync(src=ref):
            return [ref]
        case ops.Compute(operands=operands):
            return [o for o in operands if isinstance(o, FragmentRef)]
        case _:
            return []


def _states(op: OpBase) -> list[str]:
    match op:
        case ops.MbarrierArrive(state=str(name)) | ops.MbarrierArriveExpectTx(state=str(name)):
            return [name]
        case ops.MbarrierWaitState(state=name):
            return [name]
        case _:
            return []


def _tokens(op: OpBase) -> list[str]:
    match op:
        case ops.MbarrierTestWait(token=name) | ops.MbarrierWait(peek=str(name)):
            return [name]
        case _:
            return []


def _op(c: Context, op: Op) -> None:
    """One op, commented with its id and source line, between the hooks of the build variant."""
    name = f" {op.defn.name}" if isinstance(op, ops.Compute) else ""
    c.put(f"// #{op.id} {type(op).__name__}{name} ({place_of(op)})")
    if c.variant.delays and is_delayed(op):
        c.put(f"delay(delays, {op.id * c.schedule.warps} + warp);")
    _render_op(c, op)
    if c.variant.stamps and is_stamped(op):
        c.put(f"stamp(stamps, {op.id + 1});")


def _render_op(c: Context, op: Op) -> None:
    if isinstance(op, ops.MbarrierOp):
        render_mbarrier(c, op)
    elif isinstance(op, ops.CopyOp):
        render_copy(c, op)
    elif isinstance(op, ops.SyncOp):
        render_sync(c, op)
    elif isinstance(op, ops.TensorOp):
        render_tensor(c, op)
    elif isinstance(op, ops.Tcgen05Op):
        render_tcgen05(c, op)
    elif isinstance(op, ops.MatrixOp):
        render_matrix(c, op)
    elif isinstance(op, ops.ClusterOp):
        render_cluster(c, op)
    elif isinstance(op, ops.BulkOp):
        render_bulk(c, op)
    elif isinstance(op, ops.OrderOp | ops.GridDependencyOp):
        render_order(c, op)
    elif isinstance(op, ops.TileOp):
        render_tile(c, op)
    else:
        render_memory(c, op)
