"""A Dask cluster as an executor."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from asyncsim.errors import EnvironmentError_, UsageError

CONNECT_S = 10


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """The executor of a scheduler, ``tcp://host:8786``; its workers need the same asyncsim.

    Raises EnvironmentError_ without Dask, UsageError when nothing answers at that address or the
    cluster has no workers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise EnvironmentError_(
            "--scheduler needs Dask; install it: pip install 'asyncsim[advise]'"
        ) from None
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        said = str(error).partition("\n")[0]
        raise UsageError(f"no Dask scheduler at {address}: {said}; check the address") from None
    with client:
        if not client.ncores():
            raise UsageError(f"the Dask scheduler at {address} has no workers; start some first")
        executor: Executor = client.get_executor()
        yield executor
