"""Files that check themselves: what their host part fills in and accepts; that nvcc builds them.

Only a GPU can launch them; here the runtime behind the host part is a stub.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncsim import Fill, ScheduleBuilder, ScheduleError
from asyncsim.catalog import builtin_scenarios, find_scenario
from asyncsim.evaluate import make_inputs
from asyncsim.hw.launch.prepare import elements_of, laid_out
from asyncsim.hw.launch.verify import Expected, expected_of
from asyncsim.hw.small import CLEAN
from asyncsim.hw.standalone import program, standalone
from asyncsim.hw.standalone.expected import MOST_RUNS, MOST_SAMPLES, comparisons
from asyncsim.scenarios.tma_copy import tma_copy
from tests.hw import map_scenarios
from tests.hw.program_scenarios import pair

nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
HERE = Path(__file__).parent
LITTLE = {"m": 256, "n": 256, "k": 256, "ctas": 2, "seq": 256, "heads": 1}
TYPES = ("i8", "u8", "i32", "u32", "f16", "bf16", "f32", "tf32", "e4m3", "e5m2")


def build(source: str, into: Path, *options: str) -> subprocess.CompletedProcess[str]:
    file = into / "file.cu"
    file.write_text(source)
    command = ["nvcc", *options, "-o", str(into / "program"), str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# -- the host part, with a stub of the runtime ---------------------------------------------------


def tensors() -> Any:
    k = ScheduleBuilder("inputs")
    for name in TYPES:
        k.global_tensor(f"x_{name}", (5, 7), name)
    k.global_tensor("gaps", (3, 4), "bf16", strides=(6, 1))
    k.global_tensor("iota", (3, 4), "f32", fill=Fill.IOTA)
    k.global_tensor("zero", (3, 4), "f32", fill=Fill.ZERO)
    k.global_tensor("small", (300,), "u32", fill=Fill.SMALL)
    k.global_tensor("exact", (40, 50), "bf16", output=True)
    k.global_tensor("near", (2000,), "f32", output=True, tolerance=0.01)
    return k.finish()


def outputs() -> dict[str, Any]:
    exact = np.arange(2000, dtype=np.float32).reshape(40, 50)
    near = np.linspace(-8, 8, 2000, dtype=np.float32)
    near[:4] = np.nan  # of four neighbours one is a sample
    bf16 = (exact.view(np.uint32) >> 16).astype(np.uint16)  # cut off is as good as rounded
    import ml_dtypes

    return {"exact": bf16.view(ml_dtypes.bfloat16), "near": near}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that fills the inputs, writes them beside it, and compares what lies there."""
    folder = tmp_path_factory.mktemp("host")
    s = tensors()
    known = np.zeros((40, 50), bool)
    known[:30, 5:45] = True
    expected = Expected(
        values=outputs(),
        masks={"exact": known, "near": np.ones(2000, bool)},
        near={"near": 0.01},
        ctas=1,
        of_ctas=1,
    )
    compared = comparisons((s.tensor("exact"), s.tensor("near")), expected)
    lines = []
    for name in make_inputs(s):
        lines += [program._tensor(s.tensor(name)), program._input(s.tensor(name))]
        lines.append(f'write_out("{name}", t_{name});')
    lines.append("bool ok = true;")
    for c in compared:
        name = c.tensor.name
        lines += [program._tensor(c.tensor), f'read_in("{name}", t_{name});']
        lines.append(f"ok &= {program._comparison(c)};")
    source = "\n".join(
        [
            f'#include "{HERE / "stub_cuda.h"}"',
            (Path(program.__file__).parent / "host.cuh").read_text(),
            "static void write_out(const char* name, Tensor& t) {",
            '  std::FILE* f = std::fopen(name, "wb");',
            "  std::fwrite(t.host.data(), 1, t.host.size(), f); std::fclose(f);",
            "}",
            "static void read_in(const char* name, Tensor& t) {",
            '  std::FILE* f = std::fopen(name, "rb");',
            "  if (std::fread(t.device, 1, t.host.size(), f) != t.host.size()) std::exit(2);",
            "  std::fclose(f);",
            "}",
            *(program._tables(c) for c in compared),
            "int main() {",
            *lines,
            "  return ok ? 0 : 1;",
            "}",
        ]
    )
    built = build(source, folder, "-Xcompiler", "-Wall")
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    return folder


def compare(host: Path, **changed: Any) -> tuple[int, str]:
    for name, values in (outputs() | changed).items():
        (host / name).write_bytes(values.tobytes())
    done = subprocess.run([host / "program"], cwd=host, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@nvcc
def test_inputs_are_those_of_make_inputs(host: Path) -> None:
    compare(host)
    s = tensors()
    for name, data in make_inputs(s).items():
        t = s.tensor(name)
        assert (host / name).read_bytes() == laid_out(t, data, elements_of(t)).tobytes(), name


@nvcc
def test_results_as_evaluated_are_accepted(host: Path) -> None:
    assert compare(host) == (
        0,
        "exact: max error 0 in 1024 samples, 0 wrong; checksum of 1200 elements equal\n"
        "near: max error 0 in 1024 samples (tolerance 0.01), 0 wrong\n",
    )


@nvcc
def test_a_wrong_element_fails(host: Path) -> None:
    s = tensors()
    masks = {"exact": np.zeros((40, 50), bool), "near": np.ones(2000, bool)}
    masks["exact"][:30, 5:45] = True
    expected = Expected(values=outputs(), masks=masks, near={}, ctas=1, of_ctas=1)
    (compared,) = comparisons((s.tensor("exact"),), expected)
    sampled = {i for i, _ in compared.samples}
    inside = [i for i in range(2000) if 5 <= i % 50 < 45 and i < 1500]
    seen, unseen = min(sampled), next(i for i in inside if i not in sampled)

    def broken(index: int) -> Any:
        exact = outputs()["exact"].copy()
        exact.reshape(-1)[index] = -1
        return exact

    assert compare(host, exact=broken(seen)) == (
        1,
        f"exact: element {seen} is -1, expected {seen}\n"
        f"exact: max error {seen + 1} in 1024 samples, 1 wrong; "
        "checksum of 1200 elements DIFFERS\n"
        "near: max error 0 in 1024 samples (tolerance 0.01), 0 wrong\n",
    )
    code, said = compare(host, exact=broken(unseen))
    assert code == 1
    assert "max error 0 in 1024 samples, 0 wrong; checksum of 1200 elements DIFFERS" in said
    outside = 50 * 35
    assert compare(host, exact=broken(outside))[0] == 0  # no CTA that was evaluated writes it


@nvcc
def test_a_tolerance_is_kept_and_nan_is_nan(host: Path) -> None:
    near = outputs()["near"]
    assert compare(host, near=near * np.float32(1.009))[0] == 0
    assert compare(host, near=near * np.float32(1.012))[0] == 1
    near[:4] = 1
    assert compare(host, near=near)[0] == 1


# -- what stands in the file ---------------------------------------------------------------------


def test_tables_are_bounded_and_spread() -> None:
    s = tma_copy.build({"m": 2048, "n": 2048})
    (tensor,) = [t for t in s.decls if getattr(t, "output", False)]
    (compared,) = comparisons((tensor,), expected_of(s, make_inputs(s), 8))
    assert len(compared.samples) == MOST_SAMPLES
    assert len(compared.runs) <= MOST_RUNS
    assert len({i % 64 for i, _ in compared.samples}) == 64  # every column of a tile


def test_a_kernel_without_output_has_nothing_to_check() -> None:
    k = ScheduleBuilder("silent")
    k.block(1)
    with pytest.raises(ScheduleError) as error:
        standalone(k.finish())
    assert str(error.value).startswith("silent writes no output: there is nothing to check")


def test_the_file_of_a_program_has_both_kernels() -> None:
    text = standalone(pair(ctas=2, turns=20, after=20, prologue=20))
    assert text.count("// mbarrier.* on shared-memory addresses.") == 1
    assert text.count("asyncsim_first(") == 1
    assert "programmaticStreamSerializationAllowed = 1" in text


def small_problem(name: str) -> dict[str, int]:
    """Parameters of a problem that evaluates in no time."""
    found = [c.params for c in CLEAN if c.scenario == name and name != "flash_attention"]
    if found:
        return dict(found[0])
    params = next(s.params for s in builtin_scenarios() if s.name == name)
    return {n: v for n, v in LITTLE.items() if n in params}


@nvcc
@pytest.mark.parametrize(
    "made, arch",
    [
        (lambda: map_scenarios.slices.build({}), "sm_90a"),
        (lambda: map_scenarios.rows.build({}), "sm_100a"),
        (lambda: map_scenarios.moving.build({}), "sm_90a"),
        (lambda: pair(ctas=2, turns=20, after=20, prologue=20), "sm_90a"),
    ],
    ids=["interleaved", "along_w", "changing", "program"],
)
def test_nvcc_builds_every_form_of_map_and_launch(
    made: Callable[[], Any], arch: str, tmp_path: Path
) -> None:
    built = build(standalone(made(), arch), tmp_path, f"-arch={arch}", "-Xcompiler", "-Wall")
    assert (built.returncode, built.stdout + built.stderr) == (0, "")


BUILT = [
    find_scenario(name)
    for name in (
        *("atomic_gemm", "bw_block_scaled", "bw_gemm_2cta", "bw_persistent_clc", "cluster_sum"),
        *("dispatch", "flash_attention", "mma_gemm", "tma_copy"),
    )
]


def test_kernels_that_nvcc_builds_have_every_op_of_all() -> None:
    """NVRTC compiles all of them elsewhere, from the same text."""

    def kinds(scenarios: Iterable[Any]) -> set[str]:
        made = [s.build(small_problem(s.name)) for s in scenarios]
        return {type(op).__name__ for schedule in made for op in schedule.ops()}

    assert kinds(builtin_scenarios()) - kinds(BUILT) == set()


@nvcc
@pytest.mark.parametrize("scenario", BUILT, ids=lambda s: s.name)
def test_nvcc_builds_every_kind_of_kernel_without_a_word(scenario: Any, tmp_path: Path) -> None:
    """Their host parts have few forms, which the tests above build whole."""
    schedule = scenario.build(small_problem(scenario.name))
    arch = next(a for a in ("sm_90a", "sm_100a") if a in schedule.archs)
    built = build(
        standalone(schedule, arch),
        tmp_path,
        f"-arch={arch}",
        "-cubin",
        "-Xptxas",
        "-v",
    )
    lines = [line for line in (built.stdout + built.stderr).splitlines() if line.strip()]
    said = [
        line
        for line in lines
        if "(C7" in line or not line.startswith(("ptxas info", "    0 bytes stack"))
    ]
    assert (built.returncode, said) == (0, [])  # no warning, no advisory
    clean = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
    assert sum(clean in line for line in lines) >= 1
