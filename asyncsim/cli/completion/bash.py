"""The script for bash 3.2 or newer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from asyncsim.cli.completion.vocabulary import Command, Kind, Vocabulary, option_of

TEMPLATE = """\
# bash completion of asyncsim, made by `asyncsim completion bash`

_asyncsim_twins() {{
    case $1 in
{twins}
    esac
}}

_asyncsim_parameters() {{
    case $1 in
{parameters}
    esac
}}

_asyncsim_options() {{
    case $1 in
{options}
    esac
}}

_asyncsim_positional() {{
    case $1 in
{positional}
    esac
}}

_asyncsim() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
    local command=${{COMP_WORDS[1]}} scenario="" words="" i
    COMPREPLY=()
    if [[ $cur == "=" ]]; then
        cur=""
    elif [[ $prev == "=" ]]; then
        prev=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${{COMP_WORDS[i]}} in {scenarios}) scenario=${{COMP_WORDS[i]}} ;; esac
    done
    if [[ $COMP_CWORD -eq 1 ]]; then
        words="{commands}"
    else
        case $prev in
            {files}) return ;;
            {others}) return ;;
{values}
            -p) words=$(_asyncsim_parameters "$scenario"); words=${{words//--/}}
                words=${{words//-/_}}; words=${{words// /= }}${{words:+=}}
                compopt -o nospace 2>/dev/null ;;
            --twin) words=$(_asyncsim_twins "$scenario") ;;
            *) case " $(_asyncsim_parameters "$scenario") " in *" $prev "*) return ;; esac
                case $cur in
                -*) words=$(_asyncsim_options "$command")
                    case $command in
                        {parametric}) words="$words $(_asyncsim_parameters "$scenario")" ;;
                    esac ;;
                *) [[ -n $scenario ]] || words=$(_asyncsim_positional "$command") ;;
            esac ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}

complete -o default -F _asyncsim asyncsim
"""


def bash_script(v: Vocabulary) -> str:
    """To be sourced, or saved where bash-completion looks for it."""
    every = [t.name for s in v.scenarios for t in s.twins]
    twins = {s.name: [t.name for t in s.twins] for s in v.scenarios}
    parameters = {s.name: [option_of(p) for p in s.params] for s in v.scenarios}
    return TEMPLATE.format(
        twins=_cases(twins, otherwise=dict.fromkeys(every)),
        parameters=_cases(parameters),
        options=_cases({c.name: [n for o in c.options for n in o.names] for c in v.commands}),
        positional=_cases({c.name: _positional(v, c) for c in v.commands}),
        scenarios="|".join(s.name for s in v.scenarios),
        commands=" ".join([*(c.name for c in v.commands), "--help", "--version"]),
        files="|".join(v.options_of(Kind.FILE)),
        others="|".join(v.options_of(Kind.OTHER)),
        values="\n".join(_values(v)),
        parametric="|".join(c.name for c in v.commands if c.parameters),
    )


def _positional(v: Vocabulary, command: Command) -> tuple[str, ...]:
    return v.words(command.positional) if command.positional else ()


def _values(v: Vocabulary) -> Iterable[str]:
    yield f'            --machine) words="{" ".join(v.machines)}" ;;'
    yield f'            --scenario) words="{" ".join(s.name for s in v.scenarios)}" ;;'
    for option, choices in v.choices().items():
        yield f'            {option}) words="{" ".join(choices)}" ;;'


def _cases(words: Mapping[str, Iterable[str]], *, otherwise: Iterable[str] | None = None) -> str:
    lines = [f'        {name}) echo "{" ".join(found)}" ;;' for name, found in words.items()]
    if otherwise is not None:
        lines.append(f'        *) echo "{" ".join(otherwise)}" ;;')
    return "\n".join(lines)
