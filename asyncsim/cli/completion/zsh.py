"""The script for zsh, with descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from asyncsim.cli.completion.vocabulary import Kind, Option, Vocabulary, option_of

TEMPLATE = """\
#compdef asyncsim
# zsh completion of asyncsim, made by `asyncsim completion zsh`

_asyncsim() {{
    local prev=$words[CURRENT-1] cur=$words[CURRENT] command=$words[2] scenario="" word
    local -a found
    for word in ${{words[3,CURRENT-1]}}; do
        case $word in {scenarios}) scenario=$word ;; esac
    done
    if (( CURRENT == 2 )); then
        found=({commands})
        _describe command found
        return
    fi
    case $prev in
        {files}) _files; return ;;
        {others}) return ;;
{values}
        -p) case $scenario in
{pairs}
            esac
            compadd -S "" -a found; return ;;
        --twin) case $scenario in
{twins}
            esac
            _describe twin found; return ;;
    esac
    if [[ $cur == -* ]]; then
        case $command in
{options}
        esac
        case $command in {parametric}) case $scenario in
{parameters}
            esac ;;
        esac
        _describe option found
        return
    fi
    [[ -n $scenario || $prev == --* ]] && return
    case $command in
{positional}
    esac
    (( $#found )) && _describe argument found
    case $command in {file_commands}) _files -g "*.py(-.)" ;; esac
}}

if [[ ${{funcstack[1]}} == _asyncsim ]]; then
    _asyncsim "$@"
else
    compdef _asyncsim asyncsim
fi
"""


def zsh_script(v: Vocabulary) -> str:
    """To be sourced after compinit, or saved as ``_asyncsim`` in a folder of fpath."""
    twins = {s.name: {t.name: t.summary for t in s.twins} for s in v.scenarios}
    every = {name: summary for found in twins.values() for name, summary in found.items()}
    options = {c.name: {n: o.summary for o in c.options for n in o.names} for c in v.commands}
    parameters = {
        s.name: {option_of(p): f"default {d}" for p, d in s.params.items()} for s in v.scenarios
    }
    positional = {c.name: _described(v, c.positional) for c in v.commands if c.positional}
    takes_files = [
        c.name
        for c in v.commands
        if c.positional and c.positional.kind in (Kind.SCENARIO, Kind.FILE)
    ]
    return TEMPLATE.format(
        scenarios="|".join(s.name for s in v.scenarios),
        commands=_list({c.name: c.summary for c in v.commands}),
        files="|".join(v.options_of(Kind.FILE)),
        others="|".join(v.options_of(Kind.OTHER)),
        values="\n".join(_values(v)),
        pairs=_cases({s.name: dict.fromkeys((f"{p}=" for p in s.params), "") for s in v.scenarios}),
        twins=_cases(twins, otherwise=every),
        options=_cases(options, indent=8),
        parametric="|".join(c.name for c in v.commands if c.parameters),
        parameters=_cases(parameters, add=True),
        positional=_cases(positional, indent=8),
        file_commands="|".join(takes_files),
    )


def _described(v: Vocabulary, option: Option) -> dict[str, str]:
    if option.kind is Kind.SCENARIO:
        return {s.name: s.summary for s in v.scenarios}
    return dict.fromkeys(v.words(option), "")


def _values(v: Vocabulary) -> Iterable[str]:
    yield f"        --machine) compadd {' '.join(v.machines)}; _files -g '*.toml(-.)'; return ;;"
    yield f"        --scenario) compadd {' '.join(s.name for s in v.scenarios)}; return ;;"
    for option, choices in v.choices().items():
        yield f"        {option}) compadd {' '.join(choices)}; return ;;"


def _cases(
    words: Mapping[str, Mapping[str, str]],
    *,
    otherwise: Mapping[str, str] | None = None,
    add: bool = False,
    indent: int = 12,
) -> str:
    sign = "+=" if add else "="
    space = " " * indent
    lines = [f"{space}{name}) found{sign}({_list(found)}) ;;" for name, found in words.items()]
    if otherwise is not None:
        lines.append(f"{space}*) found{sign}({_list(otherwise)}) ;;")
    return "\n".join(lines)


def _list(words: Mapping[str, str]) -> str:
    """Quoted words of ``_describe``: name:description."""
    return " ".join(_quoted(name, summary) for name, summary in words.items())


def _quoted(name: str, summary: str) -> str:
    word = name.replace(":", r"\:") + (f":{summary}" if summary else "")
    return "'" + word.replace("'", r"'\''") + "'"
