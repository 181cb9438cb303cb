"""``explain``: every rule, its example run here, its twins, as text and as JSON."""

from __future__ import annotations

import json

import pytest

from asyncsim.catalog import builtin_scenarios
from asyncsim.rule_notes import NOTES, PTX_ISA, ptx_sections
from asyncsim.rules import Rule


def test_text_of_a_rule(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("explain", "MISSING_BLOCK_BARRIER")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(
        "MISSING_BLOCK_BARRIER (error): the wait covers the issuer only; other threads\n"
        "    need a barrier\n"
        "\n"
        "the smallest example, after the set-up that --example prints with it:\n"
        "  k.cp_async.copy_tile(ring[0], data, (0, 0), threads=32)\n"
    )
    for part in (
        "\nwhat check says of it:\nerror MISSING_BLOCK_BARRIER: ",
        "\n  example.py:",
        "\nfix: After the wait, cross a barrier",
        f"\n  {PTX_ISA}, 9.7.9.25.3.3 cp.async.wait_group, cp.async.wait_all\n",
        "\n  asyncsim check cp_async_multistage --twin no_barrier\n",
    ):
        assert part in done.out


@pytest.mark.parametrize("rule", Rule, ids=lambda r: r.name)
def test_every_rule_is_explained(cli, rule: Rule) -> None:  # type: ignore[no-untyped-def]
    done = cli("explain", rule.name.lower().replace("_", "-"))
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{rule.name} (")
    assert max(map(len, done.out.splitlines())) <= 80
    assert ("what check says of it:" in done.out) is (rule in NOTES)
    assert ("Nothing reports it yet" in done.out) is (rule not in NOTES)
    for section in ptx_sections(rule):
        assert section.title in " ".join(done.out.split())
    twins = [(s.name, t.name) for s in builtin_scenarios() for t in s.twins if t.rule is rule]
    for scenario, twin in twins:
        assert f"\n  asyncsim check {scenario} --twin {twin}\n" in done.out
    assert ("twins that show it" in done.out) is bool(twins)


def test_sections_are_numbered_and_only_meaning_has_none() -> None:
    assert [r for r in Rule if not ptx_sections(r)] == [Rule.WRONG_TILE]
    numbers = {s.number for r in Rule for s in ptx_sections(r) if s.number}
    assert len(numbers) > 30
    assert all(part.isdigit() for number in numbers for part in number.split("."))


def test_json_of_a_rule(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("explain", "PROXY_WAR", "--json")
    value = json.loads(done.out)
    assert (value["rule"], value["severity"], value["reported"]) == ("PROXY_WAR", "warning", True)
    assert value["meaning"] == Rule.PROXY_WAR.value
    assert value["example"] == NOTES[Rule.PROXY_WAR].example
    assert value["setup"].startswith('k = ScheduleBuilder("example")\n')
    assert value["finding"]["rule"] == "PROXY_WAR" and value["finding"]["repair"]
    assert value["ptx_isa"] == "PTX ISA 9.1"
    assert {"number": "8.6", "title": "Proxies"} in value["sections"]
    commands = [twin["command"] for twin in value["twins"]]
    assert "asyncsim check tma_ring --twin no_proxy_fence" in commands


def test_json_of_a_reserved_rule(cli) -> None:  # type: ignore[no-untyped-def]
    value = json.loads(cli("explain", "PAYLOAD_OVER_LIVE_BARRIER", "--json").out)
    assert (value["example"], value["finding"], value["fix"], value["setup"]) == (
        None,
        None,
        None,
        "",
    )
    assert value["reported"] is False and value["twins"] == []


def test_the_list_has_a_line_for_each_rule(cli) -> None:  # type: ignore[no-untyped-def]
    lines = cli("explain").out.splitlines()
    assert [line.split()[0] for line in lines] == [rule.name for rule in Rule]
    assert lines[0] == f"{'DEADLOCK':<29}  roles wait for each other for ever"
    (war,) = [line for line in lines if line.startswith("PROXY_WAR ")]
    assert war.endswith(" (warning)")
    listed = json.loads(cli("explain", "--json").out)
    assert [r["rule"] for r in listed] == [rule.name for rule in Rule]


def test_the_example_is_a_file_that_check_takes(cli, tmp_path) -> None:  # type: ignore[no-untyped-def]
    for name, code in (("DEADLOCK", 1), ("SMEM_OVER_BUDGET", 1), ("PROXY_WAR", 0)):
        file = tmp_path / "example.py"
        file.write_text(cli("explain", name, "--example").out)
        done = cli("check", file, "--json")
        assert done.code == code
        assert [f["rule"] for f in json.loads(done.out)["findings"]] == [name]


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (
            "explain WAIT_GROUP_TO_LOOSE",
            "unknown rule 'WAIT_GROUP_TO_LOOSE'; did you mean 'WAIT_GROUP_TOO_LOOSE'? "
            "`asyncsim explain` lists them all",
        ),
        ("explain qqqq", "unknown rule 'qqqq'; `asyncsim explain` lists them all"),
        ("explain --example", "--example needs a RULE; `asyncsim explain` lists them all"),
        ("explain DEADLOCK --example --json", "--example prints a Python file; leave --json out"),
        (
            "explain PAYLOAD_OVER_LIVE_BARRIER --example",
            "PAYLOAD_OVER_LIVE_BARRIER has no example: nothing reports it yet",
        ),
    ],
)
def test_usage(cli, argv: str, text: str) -> None:  # type: ignore[no-untyped-def]
    done = cli(*argv.split())
    assert (done.code, done.out, done.err) == (2, "", f"asyncsim: {text}\n")
