"""The text of the file: kernels, what is expected of them, and a main program around them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from asyncsim.errors import ScheduleError
from asyncsim.evaluate.inputs import key_of, make_inputs, verify_values
from asyncsim.hw.launch.prepare import start_byte
from asyncsim.hw.launch.verify import Expected, expected_of
from asyncsim.hw.render import joined, kernel_text, render
from asyncsim.hw.standalone.expected import Comparison, comparisons
from asyncsim.hw.standalone.launches import Kernel, type_name
from asyncsim.ir.decl import Fill, GlobalTensor, TensorMap
from asyncsim.ir.program import Program
from asyncsim.ir.schedule import Schedule

if TYPE_CHECKING:
    from asyncsim.evaluate.arrays import Array

MOST_CTAS = 8
LAUNCHES = 20
_HERE = Path(__file__).parent
_HEADERS = ("algorithm", "cmath", "cstdio", "cstdlib", "cstring", "tuple", "vector")
_CUDA_HEADERS = ("cuda.h", "cuda_fp16.h", "cuda_fp8.h")


def standalone(subject: Schedule | Program, arch: str = "sm_90a") -> str:
    """CUDA C++ of the kernel, or of both kernels of a program, with a main program that checks
    them. Raises ScheduleError as ``render``, and as ``evaluate`` of a schedule that hangs."""
    kernels = subject.kernels if isinstance(subject, Program) else (subject,)
    rendered = [render(kernel, arch) for kernel in kernels]
    inputs = make_inputs(subject)
    expected = expected_of(subject, inputs, MOST_CTAS)
    tensors = {t.name: t for k in reversed(kernels) for t in k.of_kind(GlobalTensor)}
    outputs = tuple(t for t in tensors.values() if t.name in expected.masks)
    compared = comparisons(outputs, expected)
    if not compared:
        raise ScheduleError(
            f"{subject.name} writes no output: there is nothing to check",
            fix="give the tensor that it writes output=True",
        )
    launched = [
        Kernel(schedule=k, rendered=r, number=i if len(kernels) > 1 else None)
        for i, (k, r) in enumerate(zip(kernels, rendered, strict=True))
    ]
    maps = any(k.of_kind(TensorMap) for k in kernels)
    parts = [
        _head(subject, arch),
        _includes(),
        joined(rendered, (_for_arch(kernel_text(r), r.arch) for r in rendered)),
        (_HERE / "host.cuh").read_text(encoding="utf-8"),
        (_HERE / "maps.cuh").read_text(encoding="utf-8") if maps else "",
        *(_tables(c) for c in compared),
        _main(subject, launched, tensors, inputs, expected, compared),
    ]
    return "\n".join(part for part in parts if part)


def _for_arch(kernel: str, arch: str) -> str:
    """nvcc's ``-arch=sm_90a`` goes through the text for plain sm_90 as well, where what the kernel
    is made of does not exist: there its body is empty."""
    if not arch.endswith("a"):
        return kernel
    head, _, body = kernel.partition(") {\n")
    feature = f"__CUDA_ARCH_FEAT_SM{arch[3:-1]}_ALL"
    return f"{head}) {{\n#ifdef {feature}\n{body.rstrip().removesuffix('}')}#endif\n}}\n"


def _head(subject: Schedule | Program, arch: str) -> str:
    what = f"{subject.name}, a kernel" if isinstance(subject, Schedule) else subject.name
    return (
        f"// {what} for {arch} that checks itself: exit code 0 if its results are as expected.\n"
        f"//   nvcc -arch={arch} FILE.cu -lcuda && ./a.out"
    )


def _includes() -> str:
    lines = [f"#include <{h}>" for h in (*_HEADERS, *_CUDA_HEADERS)]
    return "\n".join([*lines, ""])


def _tables(c: Comparison) -> str:
    name = c.tensor.name
    samples = [f"{{{i}, {bits:#x}}}" for i, bits in c.samples]
    lines = [f"// {name} as evaluated: row-major index and bits of elements."]
    lines += [f"static const std::vector<Sample> samples_{name} = {{", *_rows(samples), "};"]
    if not c.tensor.tolerance:
        runs = [f"{{{first}, {count}}}" for first, count in c.runs]
        lines += ["// Elements that the checksum is over: from which one on how many."]
        lines += [f"static const std::vector<Run> runs_{name} = {{", *_rows(runs), "};"]
    return "\n".join([*lines, ""])


def _rows(cells: list[str]) -> list[str]:
    return [f"  {', '.join(cells[i : i + 6])}," for i in range(0, len(cells), 6)]


def _main(
    subject: Schedule | Program,
    kernels: list[Kernel],
    tensors: dict[str, GlobalTensor],
    inputs: dict[str, Array],
    expected: Expected,
    compared: tuple[Comparison, ...],
) -> str:
    outputs = [name for name in tensors if name not in inputs]
    scope = f"{expected.ctas} of {expected.of_ctas} CTAs"
    body = [
        *_device(kernels[0].rendered.arch),
        "",
        *(_tensor(t) for t in tensors.values()),
        *(_input(tensors[name]) for name in inputs),
        *(line for k in kernels for line in (*k.maps(), *k.set_up())),
        "",
        "const auto prepare = [&] {",
        *(f"  t_{name}.start_as({_start(kernels, name):#04x});" for name in outputs),
        *(f"  {line}" for k in kernels for line in k.prepare()),
        "};",
        "const auto launch = [&] {",
        *(f"  {line}" for k in kernels for line in k.launch()),
        "};",
        "prepare();",
        "launch();",
        "CUDA_OK(cudaDeviceSynchronize());",
        *(f"if (!{k.ended()}) return 1;" for k in kernels),
        "",
        f'std::printf("{subject.name} on %s: what {scope} write\\n", gpu.name);',
        "bool ok = true;",
        *(f"ok &= {_comparison(c)};" for c in compared),
        f"const double us = median_us({LAUNCHES}, prepare, launch);",
        f'std::printf("time %.2f us: median of {LAUNCHES} launches, by events\\n", us);',
        'std::printf("%s\\n", ok ? "ok" : "FAILED");',
        "return ok ? 0 : 1;",
    ]
    return "\n".join(["int main() {", *(f"  {line}" if line else "" for line in body), "}", ""])


def _start(kernels: list[Kernel], tensor: str) -> int:
    return min(start_byte(k.schedule, tensor) for k in kernels)


def _device(arch: str) -> list[str]:
    digits = re.sub(r"\D", "", arch)
    major, minor = digits[:-1], digits[-1]
    return [
        "cudaDeviceProp gpu;",
        "CUDA_OK(cudaGetDeviceProperties(&gpu, 0));",
        f"if (gpu.major != {major} || gpu.minor != {minor}) {{",
        f'  std::fprintf(stderr, "{arch} needs a GPU of compute capability {major}.{minor}, '
        '%s has %d.%d\\n", gpu.name, gpu.major, gpu.minor);',
        "  return 1;",
        "}",
    ]


def _tensor(t: GlobalTensor) -> str:
    shape, strides = (", ".join(map(str, v)) for v in (t.shape, t.strides))
    return f'Tensor t_{t.name}("{t.name}", {type_name(t)}, {{{{{shape}}}, {{{strides}}}}});'


def _input(t: GlobalTensor) -> str:
    if t.fill is Fill.ZERO:
        return f"t_{t.name}.start_as(0);"
    if t.fill is Fill.IOTA:
        if type_name(t) not in ("Type::i32", "Type::u32", "Type::f32"):
            raise ScheduleError(
                f"tensor {t.name!r} counts up in {t.dtype.value}",
                fix="a standalone file knows Fill.IOTA of 32-bit types; give it u32",
                loc=t.loc,
            )
        return f"fill_iota(t_{t.name});"
    key, values = key_of(t, 0), verify_values(t)
    if len(values) > 256:
        return f"fill_wide(t_{t.name}, {key:#x});"
    bits = values.view(f"u{values.itemsize}")
    numbers = " ".join(f"{v:g}" for v in values.astype("f4"))
    table = ", ".join(f"{b:#x}" for b in bits)
    return f"fill(t_{t.name}, {key:#x}, {{{table}}});  // {numbers}"


def _comparison(c: Comparison) -> str:
    name, near = c.tensor.name, c.tensor.tolerance
    runs = f"runs_{name}, {c.checksum:#x}" if not near else "{}, 0"
    return f"as_expected(t_{name}, {near:g}, samples_{name}, {runs})"
