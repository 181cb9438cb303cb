"""Completion scripts for bash, zsh and fish, made from the catalogue: no Python runs on a TAB."""

from __future__ import annotations

from collections.abc import Callable

from asyncsim.cli.completion.bash import bash_script
from asyncsim.cli.completion.fish import fish_script
from asyncsim.cli.completion.vocabulary import Vocabulary, vocabulary
from asyncsim.cli.completion.zsh import zsh_script

SCRIPTS: dict[str, Callable[[Vocabulary], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}

__all__ = ["SCRIPTS", "Vocabulary", "vocabulary"]
