"""``completion``: the scripts know every word, and the shells that are installed complete them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from asyncsim.catalog import builtin_scenarios, find_scenario
from asyncsim.cli.commands.completion import SHELLS
from asyncsim.cli.completion import SCRIPTS, vocabulary
from asyncsim.cli.main import COMMANDS
from asyncsim.machine import known_machines
from asyncsim.rules import Rule

WORDS = vocabulary()
RING = find_scenario("tma_ring")
SCENARIOS = {s.name for s in builtin_scenarios()}
CASES = [
    (["che"], {"check"}),
    (["comp"], {"compare", "completion"}),
    (["check", "tma_r"], {"tma_ring", "tma_reduce"}),
    (["check", ""], SCENARIOS),
    (["check", "tma_ring", "--twin", ""], {t.name for t in RING.twins}),
    (["check", "tma_ring", "--twin", "wrong"], {"wrong_tile"}),
    (["predict", "tma_ring", "--machine", ""], set(known_machines())),
    (["predict", "tma_ring", "--l2", ""], {"cold", "warm"}),
    (["predict", "tma_ring", "--tile"], {"--tiles", "--tile-bytes"}),
    (["predict", "tma_ring", "--tim"], {"--timeline"}),
    (["predict", "tma_ring", "-p", ""], {f"{name}=" for name in RING.params}),
    (["compare", "--scenario", "ws_"], {"ws_gemm"}),
    (["explain", "WAIT_"], {r.name for r in Rule if r.name.startswith("WAIT_")}),
    (["completion", ""], set(SHELLS)),
    (["doctor", "--req"], {"--require-gpu"}),
    (["run", "tma_ring", "--require"], {"--require-gpu"}),
    (["predict", "tma_ring", "--stages", ""], set()),
]


def need(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def script(tmp_path: Path, shell: str) -> Path:
    path = tmp_path / f"completion.{shell}"
    path.write_text(SCRIPTS[shell](WORDS))
    return path


def run(argv: list[str], folder: Path) -> set[str]:
    """The words that a shell prints, started in a folder of its own."""
    empty = folder / "empty"
    empty.mkdir(exist_ok=True)
    done = subprocess.run(argv, capture_output=True, text=True, cwd=empty, timeout=30, check=False)
    assert done.stderr == ""
    return set(done.stdout.split("\n")) - {""}


@pytest.mark.parametrize("shell", SHELLS)
def test_every_word_is_in_every_script(cli, shell: str) -> None:  # type: ignore[no-untyped-def]
    done = cli("completion", shell)
    assert (done.code, done.err) == (0, "")
    words = [*COMMANDS, *known_machines(), *(rule.name for rule in Rule)]
    for s in builtin_scenarios():
        words += [s.name, *(t.name for t in s.twins)]
        words += [p.replace("_", "-") for p in s.params]
    assert [word for word in words if word not in done.out] == []


def test_every_option_is_known() -> None:
    run_options = {n for c in WORDS.commands if c.name == "run" for o in c.options for n in o.names}
    assert {"--machine", "--twin", "-p", "--l2", "--trace", "--stamps", "--json"} <= run_options
    assert WORDS.choices() == {
        "--l2": ("cold", "warm"),
        "--operands": ("random", "zeros"),
        "--format": ("text", "json", "sarif", "github"),
    }


def test_usage(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("completion", "tcsh")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("asyncsim: argument SHELL: invalid choice: 'tcsh'")


def _in_order(words: list[str] | set[str]) -> str:
    return " ".join(sorted(words) if isinstance(words, set) else words) or "none"


@pytest.mark.parametrize(("words", "meant"), CASES, ids=_in_order)
def test_bash(tmp_path: Path, words: list[str], meant: set[str]) -> None:
    need("bash")
    line = " ".join(f"'{word}'" for word in ["asyncsim", *words])
    driver = (
        f"source {script(tmp_path, 'bash')}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; "
        '_asyncsim; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert run(["bash", "--norc", "-c", driver], tmp_path) == meant


def test_bash_takes_an_equals_sign_apart(tmp_path: Path) -> None:
    """As readline does: = is a word of its own."""
    need("bash")
    for words, meant in (
        (["predict", "tma_ring", "--machine", "=", "h2"], {"h200"}),
        (["predict", "tma_ring", "--machine", "="], set(known_machines())),
    ):
        test_bash(tmp_path, words, meant)


@pytest.mark.parametrize(("words", "meant"), CASES, ids=_in_order)
def test_fish(tmp_path: Path, words: list[str], meant: set[str]) -> None:
    need("fish")
    line = " ".join(["asyncsim", *words])
    driver = f"source {script(tmp_path, 'fish')}; complete -C '{line}'"
    found = run(["fish", "--no-config", "-c", driver], tmp_path)
    assert {word.partition("\t")[0] for word in found} == meant


@pytest.mark.parametrize(("words", "meant"), CASES, ids=_in_order)
def test_zsh(tmp_path: Path, words: list[str], meant: set[str]) -> None:
    """The completion system is replaced by functions that print what they are given."""
    need("zsh")
    line = " ".join(f"'{word}'" for word in ["asyncsim", *words])
    driver = (
        "compdef() { }; _files() { }\n"
        '_describe() { print -l -- "${(P@)2}" }\n'
        'compadd() { if [[ $1 == -S ]]; then print -l -- "${(P@)4}"; else print -l -- $@; fi }\n'
        f"source {script(tmp_path, 'zsh')}\nwords=({line}); CURRENT={len(words) + 1}; _asyncsim"
    )
    found = {word.partition(":")[0] for word in run(["zsh", "-f", "-c", driver], tmp_path)}
    assert {word for word in found if word.startswith(words[-1])} == meant
