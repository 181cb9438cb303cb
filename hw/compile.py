"""NVRTC through cuda.core: CUDA text to cubin, cached on disk. Needs no GPU.

ptxas advisories (C75xx: serialised wgmma, ignored setmaxnreg) stand in NVRTC's log as info lines;
they and local memory are errors here. See docs/hardware.md.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from asyncsim.errors import EnvironmentError_
from asyncsim.hw.render import Rendered, Variant, render
from asyncsim.ir.op import SetMaxNReg
from asyncsim.ir.schedule import Schedule

_ADVISORY = re.compile(r"\((C75\d\d)\)")
_IGNORED = "C7508"
_ERROR = re.compile(r"(?:\((\d+)\): |ptxas .*?)(error\b)")
_OP_COMMENT = re.compile(r"// #\d+ [\w ]+ \((.*)\)")
_OPTIONS = ("-std=c++17", "-v")
_NO_PACKAGES = (
    "the CUDA packages are not installed: no compile, no run; fix: pip install 'asyncsim[hw]'"
)

_ONE_AT_A_TIME = threading.Lock()  # concurrent compilations lose parts of their logs


class CompileError(Exception):
    """NVRTC or ptxas refused the kernel, or made code that a schedule must not have. One line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What ptxas reports of a kernel: registers a thread; bytes of stack and spills; barriers."""

    registers: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    advisories: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A cubin on disk. ``sha256`` is the cubin's; ``nvrtc`` the compiler's version."""

    rendered: Rendered
    path: Path
    sha256: str
    nvrtc: str
    resources: Resources
    cached: bool

    @property
    def cubin(self) -> bytes:
        return self.path.read_bytes()


def compile_schedule(
    schedule: Schedule,
    arch: str = "sm_90a",
    variant: Variant | None = None,
    *,
    allow_advisories: bool = False,
) -> Compiled:
    """Render and compile. Raises ScheduleError, CompileError, EnvironmentError_ (no packages).

    ``allow_advisories`` is for broken twins: ptxas repairs some of them and says so.
    """
    rendered = render(schedule, arch, variant or Variant())
    compiled = compile_rendered(rendered, allow_advisories=allow_advisories)
    at_launch = compiled.resources.registers
    if any(isinstance(o, SetMaxNReg) for o in schedule.ops()) and at_launch != schedule.maxnreg:
        raise CompileError(
            f"{rendered.kernel_name} for {arch}: ptxas launches {at_launch} registers a thread, "
            f"the schedule declares {schedule.maxnreg}: the pool of setmaxnreg would be another; "
            "fix: declare what ptxas gives, or let some role inc above it"
        )
    return compiled


def compile_rendered(rendered: Rendered, *, allow_advisories: bool = False) -> Compiled:
    """Compile CUDA text, or take the cubin from the cache."""
    version = nvrtc_version()
    key = "\0".join([rendered.source, rendered.arch, *_OPTIONS, version])
    name = f"{rendered.kernel_name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}"
    path, facts = cache_folder() / f"{name}.cubin", cache_folder() / f"{name}.json"
    # NVRTC compiles one program at a time, and says nothing of one that it has just compiled: the
    # look-up is part of the turn, so that equal programs of several threads are compiled once.
    with _ONE_AT_A_TIME:
        cached = path.exists() and facts.exists()
        if not cached:
            code, fresh = compile_anew(rendered)
            _write_whole(path, code)
            _write_whole(facts, json.dumps(asdict(fresh)).encode())
    stored = json.loads(facts.read_text(encoding="utf-8"))
    stored["advisories"] = tuple(stored["advisories"])
    resources = Resources(**stored)
    _refuse(rendered, resources, allow_advisories)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Compiled(
        rendered=rendered,
        path=path,
        sha256=digest,
        nvrtc=version,
        resources=resources,
        cached=cached,
    )


def compile_anew(rendered: Rendered) -> tuple[bytes, Resources]:
    """The cubin and what ptxas reports, past the cache. Raises CompileError, EnvironmentError_."""
    code, log = _nvrtc(rendered)
    resources = parse_log(log)
    if resources.registers == 0:
        raise CompileError(f"{rendered.kernel_name}: ptxas reported no resources; log: {log[:200]}")
    return code, resources


def parse_log(log: str) -> Resources:
    """Resources and advisories from NVRTC's log with ``-v``."""

    def number(pattern: str) -> int:
        found = re.search(pattern, log)
        return int(found[1]) if found else 0

    return Resources(
        registers=number(r"Used (\d+) registers"),
        stack_bytes=number(r"(\d+) bytes stack frame"),
        spill_store_bytes=number(r"(\d+) bytes spill stores"),
        spill_load_bytes=number(r"(\d+) bytes spill loads"),
        advisories=tuple(dict.fromkeys(_ADVISORY.findall(log))),
    )


def cache_folder() -> Path:
    """Where cubins are kept: ASYNCSIM_CACHE, else the user's cache directory."""
    own = os.environ.get("ASYNCSIM_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "asyncsim" / "cubin"


def nvrtc_version() -> str:
    """Major.minor of NVRTC. Raises EnvironmentError_ without the CUDA packages."""
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        raise EnvironmentError_(_NO_PACKAGES) from None
    try:
        status, major, minor = nvrtc.nvrtcVersion()
    except RuntimeError as error:  # the bindings are there, the library is not
        raise EnvironmentError_(
            f"NVRTC cannot be loaded ({_one_line(error)}); {_NO_PACKAGES}"
        ) from None
    if int(status):
        raise EnvironmentError_(f"NVRTC does not answer ({status}); fix: reinstall 'asyncsim[hw]'")
    return f"{major}.{minor}"


def _nvrtc(rendered: Rendered) -> tuple[bytes, str]:
    try:
        from cuda.core import Program, ProgramOptions
    except ImportError:
        raise EnvironmentError_(_NO_PACKAGES) from None
    log = io.StringIO()
    # Without no_cache NVRTC keeps cubins of its own, and gives them without the log.
    options = ProgramOptions(arch=rendered.arch, std="c++17", ptxas_options=["-v"], no_cache=True)
    try:
        code = Program(rendered.source, "c++", options).compile("cubin", logs=log)
    except Exception as error:  # NVRTCError; the compiler's text is in the message
        raise CompileError(
            f"{rendered.kernel_name} for {rendered.arch}: {_first_error(error, rendered.source)}"
        ) from error
    data = code.code
    assert isinstance(data, bytes)
    return data, log.getvalue().replace("\0", "").strip()


def _refuse(rendered: Rendered, r: Resources, allow_advisories: bool) -> None:
    where = f"{rendered.kernel_name} for {rendered.arch}"
    if _IGNORED in r.advisories and not allow_advisories:
        raise CompileError(
            f"{where}: ptxas ignores setmaxnreg ({_IGNORED}); fix: give each role one setmaxnreg, "
            "and the launch its registers by k.launch_bounds(..., maxnreg=)"
        )
    if r.advisories and not allow_advisories:
        raise CompileError(
            f"{where}: ptxas advises {', '.join(r.advisories)}: it changed the order that the "
            "schedule means; fix: wait for wgmma before registers are touched"
        )
    local = r.stack_bytes + r.spill_store_bytes + r.spill_load_bytes
    if local:
        raise CompileError(
            f"{where}: {r.stack_bytes} bytes of stack, {r.spill_store_bytes} spilled; "
            "fix: use smaller fragments or fewer CTAs per SM"
        )


def _first_error(error: Exception, source: str) -> str:
    """The compiler's first error, with the schedule's line whose text it is in."""
    lines = [line.strip() for line in str(error).replace("\0", "").splitlines()]
    found = next((line for line in lines if _ERROR.search(line)), lines[-1] if lines else "")
    where = _ERROR.search(found)
    if where is None or not where[1]:
        return found
    before = source.splitlines()[: int(where[1])]
    op = next((m[1] for m in map(_OP_COMMENT.search, reversed(before)) if m), "")
    return found[where.start(2) :] + (f" (at {op})" if op else "")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _write_whole(path: Path, data: bytes) -> None:
    """Write beside, then rename: another process never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(temporary, path)
