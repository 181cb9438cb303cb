"""A real Dask cluster on this machine does the work of a sweep."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from asyncsim.advise import advise
from asyncsim.advise.dask import dask_executor
from asyncsim.errors import EnvironmentError_, UsageError
from tests.advise.kernels import behaving

distributed = pytest.importorskip("distributed")
KERNELS = Path(__file__).with_name("kernels.py")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A scheduler and two worker processes."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


def test_a_cluster_gives_the_same_advice(cluster: Any) -> None:
    with dask_executor(cluster.scheduler_address) as executor:
        there = advise(behaving, params={"stages": 2}, executor=executor)
    assert there == advise(behaving, params={"stages": 2}, jobs=1)


def test_the_command_takes_its_address(cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from asyncsim.cli.main import main

    spec = f"{KERNELS}:behaving"
    command = ["advise", spec, "--how", "0", "--scheduler", cluster.scheduler_address]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert "best       stages=3\n" in out and "asyncsim:" not in err
    assert main(["advise", spec, "--how", "0", "--jobs", "1"]) == 0
    assert capsys.readouterr().out == out


def test_no_scheduler_is_an_error_of_one_line() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with (
        mock.patch("asyncsim.advise.dask.CONNECT_S", 1),
        pytest.raises(UsageError) as error,
        dask_executor(address),
    ):
        pass
    text = str(error.value)
    assert text.startswith(f"no Dask scheduler at {address}: ") and text.count("\n") == 0
    assert text.endswith("; check the address")
    with pytest.raises(UsageError, match="^no Dask scheduler at nonsense://x: "):
        dask_executor("nonsense://x").__enter__()


def test_without_dask_it_says_what_to_install() -> None:
    with (
        mock.patch.dict(sys.modules, {"distributed": None}),
        pytest.raises(EnvironmentError_) as error,
        dask_executor("tcp://127.0.0.1:8786"),
    ):
        pass
    assert str(error.value) == "--scheduler needs Dask; install it: pip install 'asyncsim[advise]'"
