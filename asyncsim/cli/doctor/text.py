"""The diagnosis as text for 80 columns and as JSON."""

from __future__ import annotations

from typing import Any

from asyncsim.cli.doctor.item import Group, Item, pip_command, works
from asyncsim.cli.output import wrap

CAN = {
    "check": Group.MODEL,
    "predict": Group.MODEL,
    "render": Group.MODEL,
    "compile": Group.COMPILE,
    "run": Group.RUN,
}


def abilities(items: list[Item]) -> dict[str, bool]:
    """What works here; a run needs the compiler too."""
    can = {name: works(items, group) for name, group in CAN.items()}
    can["compile"] &= can["render"]
    can["run"] &= can["compile"]
    return can


def fixes(items: list[Item]) -> list[str]:
    """What to do, one command or sentence each; packages in one pip command."""
    wanted = [item.requirement for item in items if item.requirement]
    said = [
        f"{item.name}: {item.fix}"
        for item in items
        if item.fix and not item.requirement and not (wanted and item.fix.startswith("pip "))
    ]
    return ([pip_command(wanted)] if wanted else []) + said


def diagnosis_text(items: list[Item]) -> str:
    """A block for each group, then what works and what to do."""
    width = max(len(item.name) for item in items)
    parts = []
    for group in Group:
        lines = [group.value]
        for item in items:
            if item.group is group:
                mark = "ok" if item.ok else "--"
                lines.append(wrap(item.found, first=f"  {mark}  {item.name:<{width}}  "))
        parts.append("\n".join(lines))
    said = ", ".join(f"{name} {'yes' if ok else 'no'}" for name, ok in abilities(items).items())
    parts.append(f"works here: {said}")
    todo = fixes(items)
    if todo:
        parts.append("to get the rest:\n" + "\n".join(f"  {line}" for line in todo))
    return "\n\n".join(parts)


def diagnosis_json(items: list[Item]) -> dict[str, Any]:
    """``works``: what can be done here; ``items``: what was looked at; ``fixes``: what to do."""
    return {
        "works": abilities(items),
        "items": [
            {
                "group": item.group.value,
                "name": item.name,
                "ok": item.ok,
                "found": item.found,
                "fix": pip_command([item.requirement]) if item.requirement else item.fix,
            }
            for item in items
        ],
        "fixes": fixes(items),
    }
