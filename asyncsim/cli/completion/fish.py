"""The script for fish, with descriptions."""

from __future__ import annotations

from collections.abc import Iterable

from asyncsim.cli.completion.vocabulary import Command, Kind, Option, Vocabulary, option_of

HEAD = """\
# fish completion of asyncsim, made by `asyncsim completion fish`
complete -c asyncsim -e
complete -c asyncsim -f
complete -c asyncsim -n __fish_use_subcommand -l help -d 'show the commands'
complete -c asyncsim -n __fish_use_subcommand -l version -d 'show the version'
"""


def fish_script(v: Vocabulary) -> str:
    """To be sourced, or saved as ``completions/asyncsim.fish``."""
    lines = [
        f"complete -c asyncsim -n __fish_use_subcommand -a {c.name} -d {_quoted(c.summary)}"
        for c in v.commands
    ]
    for command in v.commands:
        lines += _positional(v, command)
        lines += [_option(v, command, o) for o in command.options if o.kind is not Kind.TWIN]
    lines += _of_scenarios(v)
    return HEAD + "\n".join(lines) + "\n"


def _positional(v: Vocabulary, command: Command) -> Iterable[str]:
    option = command.positional
    if option is None:
        return
    unless = " ".join(v.words(option))
    seen = f"__fish_seen_subcommand_from {command.name}"
    if unless:
        seen += f"; and not __fish_seen_subcommand_from {unless}"
    start = f"complete -c asyncsim -n {_quoted(seen)}"
    if option.kind is Kind.SCENARIO:
        for s in v.scenarios:
            yield f"{start} -a {s.name} -d {_quoted(s.summary)}"
    elif unless:
        yield f"{start} -a {_quoted(unless)}"
    if option.kind in (Kind.SCENARIO, Kind.FILE):
        yield f"{start} -k -a '(__fish_complete_suffix .py)'"


def _option(v: Vocabulary, command: Command, option: Option) -> str:
    start = f"complete -c asyncsim -n '__fish_seen_subcommand_from {command.name}'"
    return f"{start} {_spelled(option)}{_value(v, option)} -d {_quoted(option.summary)}"


def _spelled(option: Option) -> str:
    words = [f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names]
    return " ".join(words)


def _value(v: Vocabulary, option: Option) -> str:
    if option.kind is Kind.NOTHING:
        return ""
    if option.kind is Kind.FILE:
        return " -r -F"
    words = v.words(option)
    return f" -x -a {_quoted(' '.join(words))}" if words else " -x"


def _of_scenarios(v: Vocabulary) -> Iterable[str]:
    """Parameters and twins, when the scenario stands in the line."""
    parametric = " ".join(c.name for c in v.commands if c.parameters)
    with_twins = " ".join(c.name for c in v.commands if any(o.kind is Kind.TWIN for o in c.options))
    for s in v.scenarios:
        named = f"__fish_seen_subcommand_from {s.name}"
        when = _quoted(f"{named}; and __fish_seen_subcommand_from {parametric}")
        for name, default in s.params.items():
            option = option_of(name)[2:]
            yield f"complete -c asyncsim -n {when} -l {option} -x -d 'default {default}'"
            pair = f"complete -c asyncsim -n {when} -s p -x"
            yield f"{pair} -a '{name}=' -d 'default {default}'"
        when = _quoted(f"{named}; and __fish_seen_subcommand_from {with_twins}")
        for twin in s.twins:
            start = f"complete -c asyncsim -n {when} -l twin -x"
            yield f"{start} -a {twin.name} -d {_quoted(twin.summary)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
