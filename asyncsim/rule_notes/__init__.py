"""For each rule that is reported: the smallest schedule that breaks it, and the repair.

docs/rules.md and ``asyncsim explain`` are made from the notes; a test checks that each example is
reported by its rule. Rules without a note are names for later hardware features.
"""

from __future__ import annotations

from asyncsim.rule_notes.barriers import BARRIERS
from asyncsim.rule_notes.cluster import CLUSTER
from asyncsim.rule_notes.data import DATA
from asyncsim.rule_notes.limits import LIMITS
from asyncsim.rule_notes.note import PREAMBLE, RuleNote
from asyncsim.rule_notes.sections import PTX_ISA, Section, ptx_sections
from asyncsim.rule_notes.tcgen05 import TCGEN05
from asyncsim.rule_notes.wgmma import WGMMA
from asyncsim.rules import Rule

_ALL = {**BARRIERS, **CLUSTER, **DATA, **LIMITS, **WGMMA, **TCGEN05}

NOTES: dict[Rule, RuleNote] = {rule: _ALL[rule] for rule in Rule if rule in _ALL}
"""In the order of the rules."""

__all__ = ["NOTES", "PREAMBLE", "PTX_ISA", "RuleNote", "Section", "ptx_sections"]
