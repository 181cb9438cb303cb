"""``asyncsim completion``: a completion script for a shell."""

from __future__ import annotations

from argparse import Namespace

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.options import CommandParser
from asyncsim.cli.output import emit

SHELLS = ("bash", "zsh", "fish")
EPILOG = """\
bash: eval "$(asyncsim completion bash)"           in ~/.bashrc
zsh:  source <(asyncsim completion zsh)            in ~/.zshrc, after compinit
fish: asyncsim completion fish > ~/.config/fish/completions/asyncsim.fish"""


def add_arguments(parser: CommandParser) -> None:
    """SHELL."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.epilog = EPILOG


def run(args: Namespace) -> ExitCode:
    """Print the script."""
    from asyncsim.cli.completion import SCRIPTS, vocabulary

    emit(SCRIPTS[args.shell](vocabulary()))
    return ExitCode.CLEAN
