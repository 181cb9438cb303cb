"""A run spec for tests that need any."""

from __future__ import annotations

import pytest

from asyncsim.hw.launch.protocol import MapSpec, RunSpec, TensorSpec


@pytest.fixture
def a_spec() -> RunSpec:
    return RunSpec(
        cubin="/nowhere",
        kernel="k",
        arch="sm_90a",
        grid=(2, 3, 1),
        threads=64,
        smem_bytes=1024,
        parameters=(("tensor", "c", 0, 8), ("arg", "n", 5, 4)),
        tensors={"c": TensorSpec(elements=6, element_bytes=4)},
        maps={
            "m": MapSpec(
                tensor="c",
                shape=(2, 3),
                strides=(3, 1),
                box=(1, 3),
                dtype="f32",
                swizzle_bytes=0,
                nan_fill=False,
                l2_promotion_bytes=128,
            )
        },
        launches=3,
        warmups=0,
        l2="warm",
    )
