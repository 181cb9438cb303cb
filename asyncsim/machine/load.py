"""Read a machine file and check it whole.

The schema is the annotations of `model.py`; there is no second list of keys.  Imports the standard
library only.  See docs/machine.md.
"""

__all__ = ["known_machines", "load_machine", "parse_machine"]

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from importlib import resources
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

from asyncsim.machine.errors import Fault, MachineError
from asyncsim.machine.lacking import lacking
from asyncsim.machine.model import Machine
from asyncsim.machine.power import Power
from asyncsim.machine.quantity import Curve, Provenance, Unit
from asyncsim.machine.tensor import Wgmma

SCHEMA = 1
MAX_FILE_BYTES = 1 << 18
MAX_MAGNITUDE = Fraction(2) ** 50
MAX_LIST = 1000
MAX_UNKNOWN = 20  # of one table; the rest is counted
UNITS = (
    *("cycles", "bytes_per_cycle", "bytes", "count", "mhz"),
    *("watts", "picojoules", "share"),
)
ABOUT = ("how", "source", "uncertainty", "residual", "conflicts")
HOWS = ("measured", "inferred", "published", "assumed")
TEXTS = ("name", "title", "architecture", "date")
ORIGIN = ("driver", "cuda", "nvrtc")  # of measurements


def known_machines() -> tuple[str, ...]:
    """Names of the machines that come with asyncsim."""
    names = [entry.name for entry in resources.files("asyncsim.machine").iterdir()]
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def load_machine(name_or_path: str | Path) -> Machine:
    """Load a machine by name (`h200`) or from a TOML file.

    A string with a path separator or the suffix `.toml` is a path.  Raises MachineError for an
    unknown name, an unreadable file, or a file with faults.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or "/" in text or "\\" in text or text.endswith(".toml"):
        return parse_machine(_read(Path(name_or_path)), text)
    known = known_machines()
    if text not in known:
        close = get_close_matches(text, known, n=1, cutoff=0.4)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise MachineError(
            f"unknown machine {_short(text)}: {hint}known machines: {', '.join(known)}; "
            "or give the path of a .toml file"
        )
    entry = resources.files("asyncsim.machine") / f"{text}.toml"
    return parse_machine(entry.read_text(encoding="utf-8"), f"{text}.toml")


def parse_machine(text: str, source: str = "machine file") -> Machine:
    """Build a Machine from TOML text; MachineError lists every fault."""
    try:
        document = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise MachineError(f"{source} is not valid TOML: {error}") from None
    except (RecursionError, ValueError) as error:
        detail = "nested too deeply" if isinstance(error, RecursionError) else _short(str(error))
        raise MachineError(f"{source} is not valid TOML: {detail}") from None
    reader = _Reader()
    machine = reader.machine(document)
    if machine is None:
        count = len(reader.faults)
        plural = "" if count == 1 else "s"
        raise MachineError(f"{source} has {count} fault{plural}:", tuple(reader.faults))
    return machine


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise MachineError(f"{path} is larger than {MAX_FILE_BYTES} bytes: no machine file")
        return data.decode("utf-8")
    except OSError as error:
        raise MachineError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise MachineError(f"{path} is not UTF-8 text: no machine file") from None


class _Reader:
    """One pass over a document; collects faults instead of stopping at the first."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.provenance: dict[str, Provenance] = {}
        self.architecture = ""
        self.lacks: Mapping[str, str] = {}

    def fault(self, key: str, problem: str, fix: str) -> None:
        self.faults.append(Fault(key, problem, fix))

    def machine(self, document: dict[str, Any]) -> Machine | None:
        groups = {
            name: kind for name, hint in get_type_hints(Machine).items() if (kind := _group(hint))
        }
        self.unknown("", document, ["schema", "machine", *groups])
        if document.get("schema") != SCHEMA or isinstance(document.get("schema"), bool):
            self.fault("schema", f"must be {SCHEMA}", f"write `schema = {SCHEMA}` at the top")
        head = self.head(document.get("machine"), measured=_any_measured(document, groups))
        self.architecture = str(head.get("architecture"))
        self.lacks = lacking(self.architecture)
        values = {name: self.group(name, kind, document.get(name)) for name, kind in groups.items()}
        if not self.faults:
            self.consistent(values["gpu"])
        if self.faults:
            return None
        return Machine(**head, **values, provenance=MappingProxyType(self.provenance))

    def head(self, table: object, *, measured: bool) -> dict[str, Any]:
        if not isinstance(table, dict):
            self.fault("machine", "missing table", "add a [machine] table with the file's origin")
            return {}
        self.unknown("machine.", table, [*TEXTS, *ORIGIN, "boards"])
        head: dict[str, Any] = {}
        for key in (*TEXTS, *ORIGIN):
            value = table.get(key)
            if value is None and key in ORIGIN and not measured:
                head[key] = ""
                continue
            if not isinstance(value, str) or not value.strip():
                what = "missing" if value is None else f"must be text, not {_short(value)}"
                self.fault(f"machine.{key}", what, f'write {key} = "..."')
            head[key] = value
        boards = table.get("boards", None if measured else [])
        if not isinstance(boards, list) or not all(isinstance(b, str) and b for b in boards):
            what = "missing" if boards is None else f"must be a list of text, not {_short(boards)}"
            self.fault("machine.boards", what, 'write boards = ["..."], one text for each board')
            boards = []
        head["boards"] = tuple(boards)
        return head

    def absent(self, key: str, entry: object) -> bool:
        """Whether the architecture lacks the unit or instruction; a fault if it is there."""
        what = self.lacks.get(key)
        if what is not None and entry is not None:
            self.fault(key, f"{self.architecture} has no {what}", "remove it")
        return what is not None

    def group(self, name: str, kind: Any, table: object) -> Any:
        if self.absent(name, table):
            return None
        if not isinstance(table, dict):
            what = "missing table" if table is None else f"must be a table, not {_short(table)}"
            self.fault(name, what, f"add a [{name}] table")
            return None
        units: dict[str, Unit] = {
            field: hint.__metadata__[0]
            for field, hint in get_type_hints(kind, include_extras=True).items()
        }
        keys = {field: field.removesuffix(f"_{units[field].name}") for field in units}
        self.unknown(f"{name}.", table, list(keys.values()))
        values: dict[str, Any] = {}
        for field in (entry.name for entry in fields(kind)):
            key, unit = keys[field], units[field]
            lacks = self.absent(f"{name}.{key}", table.get(key))
            values[field] = None if lacks else self.number(f"{name}.{key}", unit, table.get(key))
        return None if self.faults else kind(**values)

    def number(self, key: str, unit: Unit, entry: object) -> Any:
        example = f'write {{ {unit.name} = ..., how = "measured", source = "..." }}'
        if not isinstance(entry, dict):
            what = "missing" if entry is None else f"must be a table, not {_short(entry)}"
            self.fault(key, what, example)
            return None
        self.unknown(f"{key}.", entry, [unit.name, *ABOUT], UNITS)
        how, source = entry.get("how"), entry.get("source")
        if how not in HOWS:
            what = "missing" if how is None else f"{_short(how)} is not a kind of origin"
            self.fault(f"{key}.how", what, f"write one of {', '.join(HOWS)}")
        if not isinstance(source, str) or not source.strip():
            what = "missing" if source is None else f"must be text, not {_short(source)}"
            self.fault(f"{key}.source", what, "name the benchmark or the citation")
        uncertainty, residual = (
            self.fraction(f"{key}.{name}", entry[name]) if name in entry else None
            for name in ("uncertainty", "residual")
        )
        conflicts = self.conflicts(f"{key}.conflicts", entry.get("conflicts", []))
        if unit.name not in entry:
            if not any(other in entry for other in UNITS):
                self.fault(key, f"has no value in {unit.name}", example)
            return None
        if isinstance(how, str) and isinstance(source, str):
            origin = Provenance(how, source, uncertainty, conflicts, residual)  # type: ignore[arg-type]
            self.provenance[key] = origin
        return self.value(f"{key}.{unit.name}", unit, entry[unit.name])

    def conflicts(self, key: str, raw: object) -> tuple[str, ...]:
        if not isinstance(raw, list) or not all(isinstance(c, str) and c.strip() for c in raw):
            what = f"must be a list of text, not {_short(raw)}"
            self.fault(key, what, 'write conflicts = ["VALUE: SOURCE", ...]')
            return ()
        return tuple(raw)

    def value(self, key: str, unit: Unit, raw: object) -> Any:
        if unit.shape == "fraction":
            value = self.fraction(key, raw)
            if value == 0 and unit.name in ("bytes_per_cycle", "mhz", "watts"):
                self.fault(key, "is 0", "a rate must be above 0")
            return value
        if unit.shape == "integer":
            return self.integer(key, raw)
        if not isinstance(raw, list) or not raw:
            form = "[[x, value], ...]" if unit.shape == "curve" else "[count, ...]"
            self.fault(key, f"must be a list, not {_short(raw)}", f"write {form}")
            return None
        if len(raw) > MAX_LIST:
            self.fault(key, f"has {len(raw)} items", f"at most {MAX_LIST} are allowed")
            return None
        if unit.shape == "integers":
            return tuple(self.integer(f"{key}[{i}]", item) for i, item in enumerate(raw))
        return self.curve(key, raw)

    def curve(self, key: str, raw: list[object]) -> Curve | None:
        points: list[tuple[int, Fraction]] = []
        for index, pair in enumerate(raw):
            if not isinstance(pair, list) or len(pair) != 2:
                self.fault(f"{key}[{index}]", f"must be a pair, not {_short(pair)}", "write [x, y]")
                return None
            x = self.integer(f"{key}[{index}][0]", pair[0])
            y = self.fraction(f"{key}[{index}][1]", pair[1])
            if x is None or y is None:
                return None
            points.append((x, y))
        if any(later[0] <= earlier[0] for earlier, later in pairwise(points)):
            self.fault(key, "x values do not rise", "sort the points by x, each x once")
        return Curve(tuple(points))

    def fraction(self, key: str, raw: object) -> Fraction | None:
        if isinstance(raw, bool) or not isinstance(raw, int | Decimal):
            self.fault(key, f"must be a number, not {_short(raw)}", "write a number without quotes")
            return None
        if isinstance(raw, Decimal) and not raw.is_finite():
            self.fault(key, f"is {raw}, not finite", "write a finite number")
            return None
        if raw < 0:
            self.fault(key, f"is negative ({_short(raw)})", "write a number of 0 or more")
            return None
        if raw > MAX_MAGNITUDE or (isinstance(raw, Decimal) and _too_long(raw)):
            self.fault(key, f"is out of range ({_short(raw)})", "write a number below 2^50")
            return None
        return Fraction(raw)

    def integer(self, key: str, raw: object) -> int | None:
        if isinstance(raw, Decimal) and raw.is_finite():
            self.fault(key, f"must be a whole number, not {_short(raw)}", "write an integer")
            return None
        value = self.fraction(key, raw)
        if value is None:
            return None
        if value == 0:
            self.fault(key, "is 0", "write an integer of 1 or more")
        return value.numerator

    def unknown(
        self, prefix: str, table: dict[str, Any], known: list[str], units: tuple[str, ...] = ()
    ) -> None:
        strange = [key for key in table if key not in known]
        if len(strange) > MAX_UNKNOWN:
            more = f"{len(strange) - MAX_UNKNOWN} more unknown keys"
            self.fault(prefix.rstrip(".") or "file", more, "is this a machine file?")
        for key in strange[:MAX_UNKNOWN]:
            name = f"{prefix}{_name(key)}"
            if key in units:
                self.fault(name, "is the wrong unit", f"this number is in {known[0]}")
                continue
            close = get_close_matches(key[:100], known, n=1)
            advice = f"did you mean {close[0]!r}?" if close else "remove it"
            self.fault(name, "unknown key", advice)

    def consistent(self, gpu: Any) -> None:
        if sum(gpu.gpc_sms) != gpu.sms:
            self.fault(
                "gpu.gpc_sms.count",
                f"sums to {sum(gpu.gpc_sms)}, but gpu.sms is {gpu.sms}",
                "list the SMs of every GPC",
            )
        if gpu.smem_per_cta_bytes + gpu.smem_reserved_per_cta_bytes > gpu.smem_per_sm_bytes:
            self.fault(
                "gpu.smem_per_cta.bytes",
                "with the reserved part does not fit into gpu.smem_per_sm",
                "check the three sizes",
            )


_GROUPS = (Machine.__module__, Wgmma.__module__, Power.__module__)


def _group(hint: Any) -> Any:
    """The class of a group's numbers, also of a group that some GPUs lack; None for the rest."""
    kinds = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type)]
    return next((kind for kind in kinds if kind.__module__ in _GROUPS), None)


def _any_measured(document: dict[str, Any], groups: dict[str, Any]) -> bool:
    tables = [table for name in groups if isinstance(table := document.get(name), dict)]
    entries = [entry for table in tables for entry in table.values() if isinstance(entry, dict)]
    return any(entry.get("how") in ("measured", "inferred") for entry in entries)


def _too_long(raw: Decimal) -> bool:
    digits, exponent = raw.as_tuple().digits, raw.as_tuple().exponent
    return len(digits) > 40 or (isinstance(exponent, int) and abs(exponent) > 40)


def _name(key: str) -> str:
    return key if len(key) <= 60 else f"{key[:60]}..."


def _short(value: object) -> str:
    text = str(value) if isinstance(value, Decimal | int) else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
