"""Bad input: one line with what, where and how to fix; the right exit code; no traceback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asyncsim.catalog import builtin_scenarios, find_scenario
from asyncsim.cli.main import COMMANDS
from asyncsim.machine import known_machines

SCENARIOS = ", ".join(s.name for s in builtin_scenarios())
MACHINES = ", ".join(known_machines())
RING = ", ".join(find_scenario("tma_ring").params)
TWINS = ", ".join(t.name for t in find_scenario("ws_gemm").twins)


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (
            "chek tma_ring",
            f"unknown command 'chek'; did you mean 'check'? commands: {', '.join(COMMANDS)}",
        ),
        (
            "check tma_rings",
            "unknown scenario 'tma_rings'; did you mean 'tma_ring'? "
            f"known: {SCENARIOS}; "
            "or give the path of a .py file",
        ),
        (
            "check tma_ring --tile-bites 16",
            "scenario 'tma_ring' has no parameter 'tile_bites'; did you mean 'tile_bytes'? "
            f"it has {RING}",
        ),
        (
            "check tma_ring -p depth=4",
            f"scenario 'tma_ring' has no parameter 'depth'; it has {RING}",
        ),
        (
            "check ws_gemm --twin release_inflight",
            "scenario 'ws_gemm' has no twin 'release_inflight'; did you mean 'release_in_flight'? "
            f"it has {TWINS}",
        ),
        (
            "predict tma_ring --machine h20",
            "unknown machine 'h20': did you mean 'h200'? "
            f"known machines: {MACHINES}; "
            "or give the path of a .toml file",
        ),
        ("check tma_ring -p stages", "-p stages: write -p NAME=VALUE, for example -p stages=4"),
        ("check tma_ring -p =4", "-p =4: write -p NAME=VALUE, for example -p stages=4"),
        (
            "check tma_ring -p stages=4.5",
            "parameter stages = '4.5' is not an integer; write stages=4",
        ),
        (
            "check tma_ring --stages four",
            "parameter stages = 'four' is not an integer; write stages=4",
        ),
        (
            "predict tma_ring --jsn",
            "unknown option --jsn; did you mean '--json'? a parameter takes a value: --jsn 4",
        ),
        (
            "predict --trce out.pftrace tma_ring",
            "unknown option --trce; did you mean '--trace'? a parameter takes a value: --trce 4",
        ),
        (
            "check tma_ring --stages",
            "--stages has no value; a parameter takes one: --stages 4",
        ),
        (
            "check tma_ring --stages --json",
            "--stages has no value; a parameter takes one: --stages 4",
        ),
        ("explain --stages 4", "unknown option --stages; see `asyncsim explain --help`"),
        (
            "doctor --requires-gpu",
            "unknown option --requires-gpu; did you mean '--require-gpu'? "
            "see `asyncsim doctor --help`",
        ),
        (
            "predict",
            "the following arguments are required: SCENARIO; see `asyncsim predict --help`",
        ),
        (
            "predict tma_ring --l2 hot",
            "argument --l2: invalid choice: 'hot' (choose from 'cold', 'warm'); "
            "see `asyncsim predict --help`",
        ),
        (
            "render ws_gemm --arch sm_100a",
            "ws_gemm is written for sm_90a, not for sm_100a; choose another --arch",
        ),
    ],
)
def test_usage(cli, argv: str, text: str) -> None:  # type: ignore[no-untyped-def]
    done = cli(*argv.split())
    assert (done.code, done.out, done.err) == (2, "", f"asyncsim: {text}\n")


@pytest.mark.parametrize(
    "words",
    [
        ("advise", "tma_ring", "--scheduler"),
        ("advise", "tma_ring", "-o"),
        ("calibrate", "--from"),
        ("check", "tma_ring", "--out"),
        ("predict", "tma_ring", "--trace"),
        ("render", "tma_ring", "-o"),
    ],
    ids=str,
)
def test_an_option_without_letters_is_not_left_out(cli, words: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    """As of ``--out "$FILE"``: nothing would be written."""
    said = f"asyncsim: {words[-1]} is empty; give it a value, or leave it out\n"
    for done in (cli(*words, ""), cli(*words[:-1], f"{words[-1]}=")):
        assert (done.code, done.out, done.err) == (2, "", said)


@pytest.mark.parametrize("command", ["show", "check", "predict", "render"])
@pytest.mark.parametrize(
    ("argv", "text"),
    [
        ("tma_ring --stages 0", "stages = 0; a ring has at least 1 stage"),
        (
            "tma_ring --tile-bytes 100",
            "tile_bytes = 100; a bulk copy moves a multiple of 16 bytes, at least 16",
        ),
        ("tma_ring --tiles -1", "tiles = -1; give 0 or more"),
        (
            "tma_ring --tile-bytes 160000000000000000",
            "tile_bytes = 160000000000000000; a CTA has 232448 bytes of shared memory",
        ),
        ("tma_ring --ctas 0", "ctas = 0; a grid has at least 1 CTA"),
        ("tma_ring --consumers 40", "41 warps are 1312 threads; a block has 1 to 32 warps"),
        ("ws_gemm --m 0", "m = 0; give at least 1"),
        ("flash_attention --hdim 96", "hdim = 96; use 64, 128 or 256"),
        ("flash_attention --block-n 40", "block_n = 40; use a multiple of 16 up to 256"),
        ("flash_attention --causal 2", "causal = 2; use 0 or 1"),
        ("flash_attention --f16 -1", "f16 = -1; use 0 or 1"),
        ("flash_attention --overlap 2", "overlap = 2; use 0 or 1"),
        ("ws_gemm --lag 2", "lag = 2; use 0 or 1"),
        (
            "flash_attention --consumers 3",
            "consumers = 3 with hdim = 128; use 1 or 2 consumer warpgroups; 3 have registers for "
            "hdim = 64 alone",
        ),
        (
            "cp_async_multistage --stages 1",
            "stages = 1; wait_group(stages - 2) needs at least 2 stages; 1 stage works with "
            "distance = 1",
        ),
        (
            "sgemm_cp_async --stages 4 --distance 5",
            "distance = 5 with 4 stages; copy 1 to 4 tiles ahead; 0 stands for 3",
        ),
        (
            "cp_async_multistage --stages 1 --distance 2",
            "distance = 2 with 1 stage; copy 1 tile ahead",
        ),
        (
            "tma_ring --distance -1",
            "distance = -1 with 4 stages; let the producer run 1 to 4 tiles ahead; 0 stands for 4",
        ),
        (
            "ws_gemm --stages 1 --lag 0 --distance 2",
            "distance = 2 with 1 stage; let the producer run 1 tile ahead; 0 stands for 1",
        ),
        (
            "ws_gemm --distance 1",
            "lag = 1 with loads 1 step ahead; use 0 or 1, below the stages and the distance",
        ),
    ],
)
def test_parameters_that_make_no_schedule(cli, command: str, argv: str, text: str) -> None:  # type: ignore[no-untyped-def]
    done = cli(command, *argv.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f": {text}\n") and done.err.count("\n") == 1
    files = f"({argv.split()[0]}|distance|attention_shape).py"
    assert re.match(rf"asyncsim: {files}:\d+: ", done.err), "the line that refused it"


BROKEN_MACHINES = [
    ("schema = [", "MACHINE is not valid TOML: "),
    ("schema = 1\n", "MACHINE has # faults:\n  machine: missing table; "),
]


@pytest.mark.parametrize("command", ["check", "predict", "render", "run"])
@pytest.mark.parametrize(("text", "error"), BROKEN_MACHINES)
def test_broken_machine_files(cli, tmp_path, command: str, text: str, error: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "broken.toml"
    path.write_text(text)
    done = cli(command, "tma_ring", "--machine", path)
    assert (done.code, done.out) == (2, "")
    said = re.sub(r"has \d+ faults", "has # faults", done.err)
    assert said.startswith(f"asyncsim: {error.replace('MACHINE', str(path))}")
    assert "Traceback" not in done.err


def test_every_fault_of_a_machine_file_is_listed(cli, sm_100a_machine: str) -> None:  # type: ignore[no-untyped-def]
    path = Path(sm_100a_machine)
    text = path.read_text()
    text = text.replace("issue = { cycles = ", "isue = { cycles = ").replace(
        "count = 132", "count = -1"
    )
    path.write_text(text)
    done = cli("check", "tma_ring", "--machine", path)
    assert done.code == 2
    assert "gpu.sms.count: is negative (-1)" in done.err
    assert "tma.isue: unknown key; did you mean 'issue'?" in done.err
