"""The machine loader: exact values, and exact error texts for broken files."""

import time
from fractions import Fraction
from importlib import resources
from pathlib import Path

import pytest

from asyncsim.machine import Curve, MachineError, load_machine, parse_machine, ticks

H200 = (resources.files("asyncsim.machine") / "h200.toml").read_text(encoding="utf-8")


def message(text: str) -> str:
    with pytest.raises(MachineError) as caught:
        parse_machine(text, "m.toml")
    return str(caught.value)


def replaced(*pairs: tuple[str, str]) -> str:
    """The H200's file with the line of each key changed."""
    lines = H200.splitlines()
    for key, line in pairs:
        index = next(i for i, text in enumerate(lines) if text.startswith(f"{key} = "))
        lines[index] = line
    return "\n".join(lines)


def test_numbers_are_exact() -> None:
    machine = parse_machine(replaced(("min_copy", MEASURED.format("min_copy", "cycles = 6.6"))))
    assert machine.tma.min_copy_cycles == Fraction(33, 5)
    assert isinstance(machine.gpu.sms, int)


MEASURED = '{} = {{ {}, how = "measured", source = "test" }}'


def test_name_and_path_give_the_same_machine(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(H200, encoding="utf-8")
    assert load_machine(path) == load_machine(str(path)) == load_machine("h200")


def test_unknown_name() -> None:
    with pytest.raises(MachineError) as caught:
        load_machine("h20")
    assert str(caught.value) == (
        "unknown machine 'h20': did you mean 'h200'? known machines: a100, b200, h100, h200; "
        "or give the path of a .toml file"
    )
    with pytest.raises(ValueError, match=r"^unknown machine 'xyzzy': known machines: a100, b200, "):
        load_machine("xyzzy")


def test_missing_path(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"cannot read .*none\.toml: No such file or directory"):
        load_machine(tmp_path / "none.toml")


def test_all_faults_are_listed() -> None:
    text = replaced(
        ("issue_lane_loop", MEASURED.format("issue_lane_loop", "cycles = -3")),
        ("min_copy", MEASURED.format("min_copy", "bytes = 4")),
        ("queue_depth", MEASURED.format("queue_depth", "count = 8.5")),
        ("fill", MEASURED.format("fill", "bytes_per_cycle = inf")),
        ("timeout", 'tiemout = { cycles = 7792, how = "measured", source = "test" }'),
        ("poll", 'poll = { cycles = 93, how = "guessed" }'),
        ("handoff", "handoff = 39.8"),
        ("wake_by_warps", MEASURED.format("wake_by_warps", "cycles = [[4, 79], [1, 73]]")),
        ("device", MEASURED.format("device", "bytes_per_cycle = 0")),
        ("boost", MEASURED.format("boost", 'mhz = "fast"')),
        ("driver", "driver = 580"),
    )
    assert message(text) == "\n".join(
        [
            "m.toml has 13 faults:",
            '  machine.driver: must be text, not 580; write driver = "..."',
            "  tma.issue_lane_loop.cycles: is negative (-3); write a number of 0 or more",
            "  tma.min_copy.bytes: is the wrong unit; this number is in cycles",
            "  tma.queue_depth.count: must be a whole number, not 8.5; write an integer",
            "  tma.fill.bytes_per_cycle: is Infinity, not finite; write a finite number",
            "  mbarrier.tiemout: unknown key; did you mean 'timeout'?",
            "  mbarrier.wake_by_warps.cycles: x values do not rise; "
            "sort the points by x, each x once",
            "  mbarrier.poll.how: 'guessed' is not a kind of origin; "
            "write one of measured, inferred, published, assumed",
            "  mbarrier.poll.source: missing; name the benchmark or the citation",
            '  mbarrier.timeout: missing; write { cycles = ..., how = "measured", source = "..." }',
            "  barrier.handoff: must be a table, not 39.8; "
            'write { cycles = ..., how = "measured", source = "..." }',
            "  l2.device.bytes_per_cycle: is 0; a rate must be above 0",
            "  clock.boost.mhz: must be a number, not 'fast'; write a number without quotes",
        ]
    )


def test_missing_table_and_strange_table() -> None:
    text = H200.replace("[fence]", "[fences]")
    assert message(text) == "\n".join(
        [
            "m.toml has 2 faults:",
            "  fences: unknown key; did you mean 'fence'?",
            "  fence: missing table; add a [fence] table",
        ]
    )


def test_one_fault_is_singular() -> None:
    assert message(H200.replace("schema = 1", "schema = 2")) == (
        "m.toml has 1 fault:\n  schema: must be 1; write `schema = 1` at the top"
    )


def test_sizes_must_agree() -> None:
    text = replaced(
        ("gpc_sms", MEASURED.format("gpc_sms", "count = [66, 65]")),
        ("smem_per_cta", MEASURED.format("smem_per_cta", "bytes = 233000")),
    )
    assert message(text) == "\n".join(
        [
            "m.toml has 2 faults:",
            "  gpu.gpc_sms.count: sums to 131, but gpu.sms is 132; list the SMs of every GPC",
            "  gpu.smem_per_cta.bytes: with the reserved part does not fit into gpu.smem_per_sm; "
            "check the three sizes",
        ]
    )


def test_syntax_error_names_the_place() -> None:
    assert message("schema = \n").startswith("m.toml is not valid TOML: Invalid value (at line 1")


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 50_000,
        "a = " + "9" * 6000,
        "\n".join(f"k{i} = {i}" for i in range(20_000)),
        H200.replace("cycles = 13,", "cycles = 1e400,"),
        H200.replace("cycles = 13,", "cycles = nan,"),
        H200.replace("cycles = 13,", "cycles = 1e999999999,"),
        H200.replace("cycles = 13,", "cycles = 1e-999999999,"),
        H200.replace("cycles = 13,", "cycles = true,"),
        H200.replace("cycles = [[1, 73],", "cycles = [[1],"),
        "",
    ],
)
def test_hostile_files_fail_fast(text: str) -> None:
    begin = time.monotonic()
    assert "m.toml" in message(text)
    assert time.monotonic() - begin < 5


def test_huge_and_binary_files(tmp_path: Path) -> None:
    huge = tmp_path / "huge.toml"
    huge.write_bytes(b"#" * (1 << 20))
    with pytest.raises(MachineError, match="is larger than 262144 bytes: no machine file"):
        load_machine(huge)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MachineError, match="is not UTF-8 text: no machine file"):
        load_machine(binary)


def test_ticks_round_to_the_grid() -> None:
    assert [ticks(Fraction(n, 128)) for n in (0, 1, 2, 3, 127)] == [0, 1, 1, 2, 64]
    assert ticks(313) == 313 * 64


def test_curve() -> None:
    curve = Curve(((1, Fraction(73)), (4, Fraction(79)), (8, Fraction(88))))
    assert [curve.at(x) for x in (0, 1, 2, 4, 8)] == [73, 73, 75, 79, 88]
    assert curve.at(12) == 97
    falling = Curve(((1, Fraction(9)), (2, Fraction(5))))
    assert falling.at(10) == 5
    assert Curve(((3, Fraction(7)),)).at(100) == 7
