"""The process that touches the GPU: run specs on standard input, replies on standard output.

Started by ``asyncsim.hw.launch``; the parent kills it when a run exceeds its host time limit.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from asyncsim.errors import EnvironmentError_
from asyncsim.hw.launch.protocol import RunReply, decode_spec, encode

if TYPE_CHECKING:
    from asyncsim.hw.launch.gpu import Gpu


def main() -> int:
    """Serve until standard input ends. Exit code 4: no GPU or no packages (one line of reply)."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not land among the answers
    gpu = None
    for line in sys.stdin:
        try:
            if gpu is None:
                gpu = _open()
            reply = gpu.run(decode_spec(line))
        except EnvironmentError_ as error:
            reply = RunReply(error=f"environment: {error}")
        except Exception as error:  # a CUDA error poisons the context: answer, then leave
            text = " ".join(f"{type(error).__name__}: {error}".split())
            done, launched = (gpu.done, gpu.launched) if gpu else (0, False)
            reply = RunReply(error=text[:600], done=done, launched=launched)
            print(encode(reply), file=answers, flush=True)
            return 1
        print(encode(reply), file=answers, flush=True)
    return 0


def _open() -> Gpu:
    try:
        from asyncsim.hw.launch.gpu import Gpu

        return Gpu()
    except ImportError as error:
        raise EnvironmentError_(
            f"the CUDA packages are not installed ({error.name}); fix: pip install 'asyncsim[hw]'"
        ) from None


if __name__ == "__main__":
    sys.exit(main())
