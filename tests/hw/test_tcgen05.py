"""tcgen05 as CUDA text and as machine code of sm_100a: assembled here, never run."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from asyncsim.check import check
from asyncsim.hw.compile import Compiled, compile_schedule
from asyncsim.hw.render import kernel_text, render
from asyncsim.hw.render.tcgen05 import instruction_descriptor
from asyncsim.ir import op as ops
from asyncsim.ir.dtype import DType
from asyncsim.ir.op import Tcgen05Mma
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from asyncsim.scenarios.bw_block_scaled import bw_block_scaled
from asyncsim.scenarios.bw_gemm import bw_gemm
from asyncsim.scenarios.bw_gemm_2cta import bw_gemm_2cta
from asyncsim.scenarios.bw_persistent_clc import bw_persistent_clc
from tests.check.tcgen05_schedules import gemm, pair
from tests.evaluate.tcgen05_schedules import block_scaled, moves, product, through_registers

ARCH = "sm_100a"


def disassembler() -> str | None:
    """nvdisasm: on the path, or of the package nvidia-nvdisasm."""
    found = shutil.which("nvdisasm")
    package = find_spec("nvidia")
    places = list(package.submodule_search_locations or ()) if package else []
    inside = [p for place in places for p in Path(place).glob("*/bin/nvdisasm")]
    return found or (str(inside[0]) if inside else None)


def opcodes(compiled: Compiled) -> set[str]:
    """The instructions of a cubin, without their modifiers."""
    command = [disassembler(), "-c", str(compiled.path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+ )?(\w+)", text, re.MULTILINE))


@pytest.fixture
def assembled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))

    def run(schedule: Schedule) -> set[str]:
        compiled = compile_schedule(schedule, ARCH)
        assert compiled.resources.advisories == ()
        return opcodes(compiled)

    return run


hw = pytest.mark.hw
needs_tools = pytest.mark.skipif(
    find_spec("cuda") is None or disassembler() is None, reason="needs the hw extra and nvdisasm"
)

OPCODES = {  # of the ops that have one of their own
    ops.Tcgen05Alloc: "UTCATOMSWS",
    ops.Tcgen05Dealloc: "UTCATOMSWS",
    ops.Tcgen05Commit: "UTCBAR",
    ops.Tcgen05Cp: "UTCCP",
    ops.Tcgen05Shift: "UTCSHIFT",
    ops.Tcgen05Ld: "LDTM",
    ops.Tcgen05St: "STTM",
    ops.TmaLoad: "UTMALDG",
    ops.TmaStore: "UTMASTG",
}


@hw
@needs_tools
@pytest.mark.parametrize(
    ("schedule", "mma"),
    [
        (bw_gemm.build(), "UTCHMMA"),
        (bw_gemm_2cta.build(), "UTCHMMA"),
        (bw_persistent_clc.build(), "UTCHMMA"),
        (bw_block_scaled.build({"kind": 0}), "UTCQMMA"),
        (bw_block_scaled.build({"kind": 1}), "UTCOMMA"),
        (bw_block_scaled.build({"kind": 2}), "UTCOMMA"),
        (gemm(), "UTCHMMA"),
        (pair(), "UTCHMMA"),
        (product(a="tf32"), "UTCHMMA"),
        (product(a="f16", m=64), "UTCHMMA"),
        (product(a="e4m3", b="e5m2"), "UTCQMMA"),
        (product(a="i8", b="u8"), "UTCIMMA"),
        (product(from_tensor_memory=True), "UTCHMMA"),
        (block_scaled("mxf8f6f4", 1, elements="e4m3", first=3), "UTCQMMA"),
        (block_scaled("mxf4", 2), "UTCOMMA"),
        (block_scaled("mxf4nvf4", 4), "UTCOMMA"),
    ],
)
def test_machine_code(assembled, schedule: Schedule, mma: str) -> None:  # type: ignore[no-untyped-def]
    found = assembled(schedule)
    meant = {OPCODES[type(op)] for op in schedule.ops() if type(op) in OPCODES}
    assert {"UTCATOMSWS", "UTCBAR", "LDTM", "UTMALDG"} <= meant
    assert {*meant, mma} <= found
    others = {"UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA"} - {mma}
    assert not others & found
    assert not {"LDL", "STL"} & found, "nothing is spilled"


@hw
@needs_tools
@pytest.mark.parametrize(
    "shape", ["128x256b", "128x128b", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23"]
)
def test_copies_and_shift_assemble(assembled, shape: str) -> None:  # type: ignore[no-untyped-def]
    rows, wide = int(shape.split("x")[0]), "256b" in shape
    found = assembled(moves(shape, rows, 32 if wide else 16, shift=wide))
    assert "UTCCP" in found and ("UTCSHIFT" in found) == wide


@hw
@needs_tools
def test_stores_assemble(assembled) -> None:  # type: ignore[no-untyped-def]
    assert {"STTM", "LDTM", "UTCATOMSWS"} <= assembled(through_registers())


def only_mma(schedule: Schedule) -> Tcgen05Mma:
    return next(op for op in schedule.ops() if isinstance(op, Tcgen05Mma))


@pytest.mark.parametrize(
    ("schedule", "a", "b", "fields"),
    [  # (first bit, value) of each field that is not 0: PTX ISA, tables 42 to 44
        (
            product(n=32),
            DType.BF16,
            DType.BF16,
            [(4, 1), (7, 1), (10, 1), (17, 32 // 8), (24, 128 // 16)],
        ),
        (product(a="f16", m=64), DType.F16, DType.F16, [(4, 1), (17, 4), (24, 64 // 16)]),
        (product(a="tf32"), DType.TF32, DType.TF32, [(4, 1), (7, 2), (10, 2), (17, 4), (24, 8)]),
        (
            product(a="e4m3", b="e5m2", m=256, group=2),
            DType.E4M3,
            DType.E5M2,
            [(4, 1), (10, 1), (17, 4), (24, 256 // 16)],
        ),
        (product(a="i8", b="u8"), DType.I8, DType.U8, [(4, 2), (7, 1), (17, 4), (24, 8)]),
        (
            block_scaled("mxf8f6f4", 1, elements="e5m2", first=3),
            DType.E5M2,
            DType.E5M2,
            [(4, 3), (7, 1), (10, 1), (17, 128 // 8), (23, 1), (27, 1), (29, 3)],
        ),
        (
            block_scaled("mxf4", 2, first=2),
            DType.U8,
            DType.U8,
            [(4, 2), (7, 1), (10, 1), (17, 16), (23, 1), (27, 1), (29, 2)],
        ),
        (
            block_scaled("mxf4nvf4", 4),
            DType.U8,
            DType.U8,
            [(7, 1), (10, 1), (17, 16), (27, 1)],
        ),
    ],
)
def test_instruction_descriptors(
    schedule: Schedule, a: DType, b: DType, fields: list[tuple[int, int]]
) -> None:
    want = sum(value << first for first, value in fields)
    assert instruction_descriptor(only_mma(schedule), a, b) == want


@pytest.mark.parametrize(
    ("schedule", "high"),
    [  # stride of 8 rows in units of 16 bytes, 1 in bit 46, swizzle in bits 61 to 63
        (gemm(), 1024 // 16 | 1 << 14 | 2 << 29),
        (product(), 256 // 16 | 1 << 14 | 6 << 29),
        (moves("32x128b.warpx4", 32, 16), 128 // 16 | 1 << 14),
    ],
)
def test_shared_memory_descriptors(schedule: Schedule, high: int) -> None:
    assert f", {high:#x})" in kernel_text(render(schedule, ARCH))


def test_addresses_of_tensor_memory() -> None:
    """Read once by a role if they stand when it begins; lanes in the high half."""
    text = kernel_text(render(gemm(), ARCH))
    assert text.count("*(const u32*)") == 2, "of the epilogue and of the mma role"
    assert "tcgen05_ld_x64_f32(tmem_word + v_stage * 64 + warp_in_role * 2097152, f_r + 0);" in text
    assert re.search(r"tcgen05_wait_ld\(\);\n +tcgen05_landed\(f_r\);", text)
    assert "tcgen05_dealloc<1>(tmem_word, 128);" in text
    early = kernel_text(render(gemm(bug="no_barrier_after_alloc"), ARCH))
    assert "tmem_word" not in early, "no barrier stands between alloc and the roles"


def test_pairs() -> None:
    text = kernel_text(render(pair(), ARCH))
    assert "tcgen05_commit<2>(smem_base + v_stage * 8 + at_empty, 3);" in text
    assert re.search(r"tma_load_pair_2d\(.*cluster_address\(smem_base \+ v_stage", text)
    source = render(pair(), ARCH).source
    assert "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile.mbarrier" in source
    assert "tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p;" in source


@pytest.mark.parametrize(
    "schedule",
    [
        product(m=256, group=2),
        product(from_tensor_memory=True),
        moves("32x128b.warpx4", 32, 16),
        through_registers(),
        block_scaled("mxf4nvf4", 4),
    ],
)
def test_what_is_assembled_is_clean(schedule: Schedule) -> None:
    assert check(schedule).verdict is Verdict.CLEAN
