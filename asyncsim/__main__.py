"""``python -m asyncsim`` and the command ``asyncsim``: the command line."""

import sys


def entry() -> int:
    """``main``, interrupted or not while it is still loading."""
    try:
        from asyncsim.cli.main import main
    except KeyboardInterrupt:
        sys.stderr.write("asyncsim: interrupted\n")
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(entry())
