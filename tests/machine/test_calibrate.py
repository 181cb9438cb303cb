"""The microbenchmarks: every kernel compiles for sm_90a without a GPU and without advisories."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib.metadata import version

import pytest

from asyncsim.hw.calibrate.lab import OUT_WORDS
from asyncsim.hw.calibrate.run import all_cases
from asyncsim.hw.calibrate.sources import ARCHITECTURE, Variant, compile_variant, source_of

CASES = list(all_cases())


def test_cases_are_distinct_and_small() -> None:
    names = [(case.bench, tuple(case.params.items())) for case in CASES]
    assert len(names) == len(set(names))
    assert all(case.words <= OUT_WORDS and case.smem <= 232448 for case in CASES)


def test_no_wait_spins_without_a_bound() -> None:
    """`try_wait` stands in the three bounded waits and in the measurements of tries only."""
    for variant in {case.variant for case in CASES}:
        lines = source_of(variant).splitlines()
        for use in (line for line in lines if re.search(r"\btry_wait\(bar", line)):
            assert use.startswith(
                ("DEV u32 try_wait", "  while (!try_wait", "  for (u32 tries", "  if (try_wait")
            ) or (variant.file, use.strip()) in (
                ("issue.cu", "sink += try_wait(bar, 1);"),
                ("poll.cu", "return try_wait(bar, 0);"),  # p2 of them
            ), use


def test_import_needs_no_cuda_package() -> None:
    code = (
        "import sys, asyncsim.hw.calibrate.run, asyncsim.hw.calibrate.fit\n"
        "assert not [m for m in sys.modules if m.startswith(('cuda', 'simpy', 'torch'))]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.hw
def test_kernels_of_every_form_compile_without_advisories(pytestconfig: pytest.Config) -> None:
    """Of the variants of a file with the same parameters the first, the middle and the last one; a
    calibration compiles all. What this compiler has compiled without a word before is not
    compiled again."""
    pytest.importorskip("cuda.core")
    assert pytestconfig.cache is not None
    key = f"calibrate/{ARCHITECTURE}-{version('nvidia-cuda-nvrtc')}-{version('cuda-core')}"
    known = set(pytestconfig.cache.get(key, []))
    digests = {variant: digest(variant) for variant in some_of_each_form()}
    variants = [variant for variant, own in digests.items() if own not in known]

    def build(variant: Variant) -> tuple[Variant, str]:
        code, log = compile_variant(variant)
        assert len(code.code) > 1000
        return variant, log

    assert ARCHITECTURE == "sm_90a"
    with ThreadPoolExecutor(4) as pool:
        logs = [(variant, log) for variant, log in pool.map(build, variants) if log]
    assert logs == []
    pytestconfig.cache.set(key, sorted(digests.values()))


def some_of_each_form() -> set[Variant]:
    forms: dict[object, list[Variant]] = {}
    for variant in dict.fromkeys(case.variant for case in CASES):
        names = tuple(name for name, _ in variant.defines)
        forms.setdefault((variant.file, names), []).append(variant)
    return {of[i] for of in forms.values() for i in (0, len(of) // 2, -1)}


def digest(variant: Variant) -> str:
    return sha256(source_of(variant).encode()).hexdigest()
