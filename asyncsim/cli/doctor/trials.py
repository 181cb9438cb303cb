"""Trials: a proof and a prediction, a compilation, the GPU and its machine file."""

from __future__ import annotations

import os
import time
from pathlib import Path

from asyncsim.cli.doctor.item import Group, Item
from asyncsim.errors import EnvironmentError_
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import Machine, known_machines, load_machine

REINSTALL = "reinstall asyncsim; if that does not help, report it with this line"


def probe_schedule(arch: str) -> Schedule:
    """A warp copies a tile by cp.async and stores it: the ops that every architecture has."""
    from asyncsim.build import ScheduleBuilder

    k = ScheduleBuilder("doctor", archs=(arch,))
    source = k.global_tensor("source", (8, 32), "f32")
    result = k.global_tensor("result", (8, 32), "f32", output=True)
    tile = k.smem_tile("tile", (8, 32), "f32")
    r = k.fragment("r", registers=1)
    k.cp_async.copy_tile(tile[0], source, (0, 0), threads=32)
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    k.bar.sync()
    k.mem.ld_shared(r.all, tile[0].box((0, k.lane), (1, 1)))
    k.mem.st_global(result.box((0, k.lane), (1, 1)), r.all)
    return k.finish()


def prove_and_predict(machine: Machine) -> Item:
    """Check and predict a small schedule, really."""
    begin = time.monotonic()
    try:
        from asyncsim.predict import Verdict, predict

        result, prediction = predict(probe_schedule(machine.architecture), machine)
        ok = result.verdict is Verdict.CLEAN and prediction is not None
        found = f"a small schedule: {result.verdict.value}"
        if prediction is not None:
            found += f", {prediction.cycles:,.0f} cycles on {machine.name}"
    except ModuleNotFoundError as error:  # the line of the package says how to get it
        return Item(group=Group.MODEL, name="trial", ok=False, found=str(error))
    except Exception as error:
        ok, found = False, f"{type(error).__name__}: {error}"
    if ok:
        found += f" ({time.monotonic() - begin:.1f} s)"
    return Item(group=Group.MODEL, name="trial", ok=ok, found=found, fix="" if ok else REINSTALL)


def compiler(machine: Machine) -> list[Item]:
    """NVRTC beside the one of the stored measurements, a cubin made anew, the cache."""
    items = [_nvrtc()]
    if items[0].ok:
        items.append(_compile(machine.architecture))
    return [*items, _cache()]


def gpu(machine: Machine) -> list[Item]:
    """The GPU that runs would use, its driver, and whether the machine file is made for it."""
    from asyncsim.hw.probe import what_is_missing

    missing = what_is_missing()
    if missing:
        what, _, fix = missing.partition("; fix: ")
        return [Item(group=Group.RUN, name="GPU", ok=False, found=what, fix=fix), _stored(machine)]
    from asyncsim.hw.inventory import CUDA_NEEDED, Device, devices, installed_driver

    present = devices()
    first: Device = present[0]
    driver = installed_driver()
    major, minor = first.capability
    more = f" (the first of {len(present)})" if len(present) > 1 else ""
    cuda = f"CUDA {driver.cuda[0]}.{driver.cuda[1]}"
    recent = driver.cuda[0] >= CUDA_NEEDED
    return [
        Item(
            group=Group.RUN,
            name="GPU",
            ok=True,
            found=f"{first.name}{more}, compute capability {major}.{minor}, {first.sms} SMs, "
            f"{first.memory_bytes / 2**30:.0f} GiB",
        ),
        Item(
            group=Group.RUN,
            name="driver",
            ok=recent,
            found=f"{driver.version}, {cuda}".removeprefix(", "),
            fix="" if recent else f"install an NVIDIA driver for CUDA {CUDA_NEEDED}: 580 or newer",
        ),
        _fit(machine, first.name, first.capability, first.sms),
    ]


def fitting_machines(name: str, capability: tuple[int, int], sms: int) -> list[str]:
    """The machine files made for a GPU: equal architecture and SMs, and the name if one has it."""
    alike = [m for m in map(load_machine, known_machines()) if _alike(m, capability, sms)]
    named = [m.name for m in alike if m.name.upper() in name.upper()]
    return named or [m.name for m in alike]


def _alike(machine: Machine, capability: tuple[int, int], sms: int) -> bool:
    digits = machine.architecture.removeprefix("sm_").rstrip("af")
    return digits == f"{capability[0]}{capability[1]}" and machine.gpu.sms == sms


def _fit(machine: Machine, name: str, capability: tuple[int, int], sms: int) -> Item:
    fitting = fitting_machines(name, capability, sms)
    own = machine.name not in known_machines()  # a file of the user's
    ok = machine.name in fitting or (own and _alike(machine, capability, sms))
    fix = ""
    if not ok and fitting:
        fix = f"use --machine {fitting[0]}"
    elif not ok:
        fix = "write a machine file for this GPU: docs/machine.md"
    said = "is made for this GPU" if ok else "is not made for this GPU"
    return Item(
        group=Group.RUN,
        name="machine",
        ok=ok,
        found=f"{_describe(machine)}: {said}",
        fix=fix,
        essential=False,
    )


def _stored(machine: Machine) -> Item:
    return Item(group=Group.RUN, name="machine", ok=True, found=_describe(machine), essential=False)


def _describe(machine: Machine) -> str:
    counts = machine.count_by_how()
    numbers = ", ".join(f"{n} {how}" for how, n in counts.items() if n)
    return (
        f"{machine.name} ({machine.title}, {machine.architecture}, {machine.gpu.sms} SMs; "
        f"numbers: {numbers})"
    )


def _nvrtc() -> Item:
    from asyncsim.hw.compile import nvrtc_version
    from asyncsim.hw.store import load_all

    stored = sorted({m.provenance["nvrtc"] for m in load_all()})
    try:
        version = nvrtc_version()
    except EnvironmentError_ as error:
        what, _, fix = str(error).partition("; fix: ")
        return Item(group=Group.COMPILE, name="NVRTC", ok=False, found=what, fix=fix)
    same = version in stored
    found = f"{version}; stored measurements used {', '.join(stored) or 'none'}"
    fix = "" if same else "measured cycles can differ; install the version of the hw extra"
    return Item(group=Group.COMPILE, name="NVRTC", ok=True, found=found, fix=fix)


def _compile(arch: str) -> Item:
    from asyncsim.hw.compile import CompileError, compile_anew
    from asyncsim.hw.render import render

    begin = time.monotonic()
    try:
        code, _ = compile_anew(render(probe_schedule(arch), arch))
    except (CompileError, EnvironmentError_) as error:
        return Item(group=Group.COMPILE, name="trial", ok=False, found=str(error), fix=REINSTALL)
    seconds = time.monotonic() - begin
    found = f"a small kernel for {arch}: cubin of {len(code):,} bytes ({seconds:.1f} s)"
    return Item(group=Group.COMPILE, name="trial", ok=True, found=found)


def _cache() -> Item:
    from asyncsim.hw.compile import cache_folder

    folder = cache_folder()
    shown = _with_tilde(folder)
    first = next((p for p in (folder, *folder.parents) if p.exists()), folder)
    if not os.access(first, os.W_OK):
        return Item(
            group=Group.COMPILE,
            name="cache",
            ok=False,
            found=f"{shown} cannot be written",
            fix="set ASYNCSIM_CACHE to a folder that can",
        )
    sizes = [p.stat().st_size for p in folder.glob("*.cubin")] if folder.exists() else []
    found = f"{shown}: {len(sizes)} cubins, {sum(sizes) / 2**20:.1f} MiB"
    return Item(group=Group.COMPILE, name="cache", ok=True, found=found)


def _with_tilde(path: Path) -> str:
    try:
        return "~/" + path.relative_to(Path.home()).as_posix()
    except ValueError:
        return str(path)
