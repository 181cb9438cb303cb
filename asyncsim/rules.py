"""The rules a schedule can break, and what a broken one looks like.

Rule names are stable: they are printed, stored in twins and documented in docs/rules.md.
A finding is a value, never an exception.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from asyncsim.errors import SourceLoc


class Severity(Enum):
    """ERROR decides the verdict; WARNING is shown and decides it only under ``--strict``."""

    ERROR = "error"
    WARNING = "warning"


class Rule(Enum):
    """Stable rule names; the value is a one-line meaning."""

    DEADLOCK = "roles wait for each other for ever"
    LAPPED_WAITER = "a waiter can miss the phase it waits for: the barrier moves on twice"
    VACUOUS_WAIT = "a wait passes on an older phase of the same parity"
    FOREIGN_STATE = "a wait by a state, or a token, of another barrier or phase"
    PARITY_OUT_OF_RANGE = "a wait names a parity other than 0 or 1"
    EARLY_COMPLETION = "a phase can complete before all that belongs to it has been counted"
    ARRIVAL_OVERFLOW = "more arrivals than the barrier expects in a phase"
    ARRIVAL_SHORTFALL = "a phase never gets the arrivals it needs"
    UNCONSUMED_PHASE = "an arrival on a phase whose predecessor nobody observed"
    TX_BYTES_MISMATCH = "bytes expected and bytes copied differ"
    TX_RANGE = "the transaction count leaves its range of +-(2^20-1)"
    READ_BEFORE_ARRIVAL = "data is read before the copy that brings it has landed"
    WRITE_BEFORE_RELEASE = "data is overwritten while somebody may still read it"
    WRITE_WRITE_RACE = "two unordered writes to the same bytes"
    WRONG_TILE = "an ordered read of data other than the schedule means"
    UNCOMMITTED_COPY = "a copy belongs to no committed group"
    WAIT_GROUP_TOO_LOOSE = "wait_group N leaves the group that is needed pending"
    WAIT_BY_NON_ISSUER = "a group wait by a thread that did not issue the copies"
    MISSING_BLOCK_BARRIER = "the wait covers the issuer only; other threads need a barrier"
    MISSING_PROXY_FENCE = "generic write to async access without fence.proxy.async"
    PROXY_WAR = "generic read, then async overwrite without fence.proxy.async"
    MISSING_INIT_FENCE = "mbarrier init is not fenced for the async proxy or other CTAs"
    USE_BEFORE_INIT = "a barrier is used before its init is known, or registers hold nothing yet"
    REINIT_WITHOUT_INVAL = "mbarrier init on a live barrier"
    PAYLOAD_OVER_LIVE_BARRIER = "data over the bytes of a live barrier"
    SMEM_REUSED_BEFORE_STORE_READ = "the source of a bulk store is overwritten before it was read"
    FRAGMENT_IN_FLIGHT = "registers of a wgmma in flight are touched"
    OPERAND_IN_FLIGHT = "shared operands of a wgmma in flight are overwritten"
    MISSING_WGMMA_FENCE = "registers touched before wgmma without wgmma.fence"
    NAMED_BARRIER_COUNT = "thread counts of one bar.sync generation differ, or do not add up"
    NAMED_BARRIER_OVERRUN = "a warp arrives twice in one bar.sync generation"
    OUTSTANDING_AT_EXIT = "the kernel ends with copies in flight"
    SCOPE_TOO_NARROW = "CTA scope where cluster scope is needed"
    PEER_NOT_STARTED = "shared memory of a peer CTA is used before the peer runs"
    PEER_EXITED = "shared memory of a peer CTA is used after it may have exited"
    RECEIVER_NOT_ARMED = "a multicast receiver expects no bytes"
    ROLES_DISAGREE = "warps disagree on what they execute together"
    GLOBAL_WRITE_OVERLAP = "two CTAs write the same global bytes"
    TENSOR_MAP = "the tensor map breaks a constraint of the hardware"
    ALIGNMENT = "an address or size is not aligned as the instruction demands"
    OUT_OF_BOUNDS = "an access outside its tensor or tile"
    SMEM_OVER_BUDGET = "more shared memory than a CTA may have"
    REGISTER_POOL = "setmaxnreg waits for ever, or is used against its rules"
    TMEM_ALLOC = "tensor memory is allocated or used out of order"
    TMEM_DEALLOC = "tensor memory is freed while it is used, or not as it was allocated"
    TMEM_LEAK = "the kernel ends with tensor memory allocated"
    TMEM_CAPACITY = "more columns of tensor memory than there are"
    TMEM_ALLOC_ORDER = "an allocation of tensor memory is larger than one before it"
    TMEM_LANES = "a warp accesses lanes of tensor memory that belong to another warp"
    MISSING_TCGEN05_FENCE = "tcgen05 ops of two threads without tcgen05.fence on both sides"
    CTA_GROUP = "tcgen05 ops of one kernel name different CTA groups"
    DESCRIPTOR_LIFETIME = "a tensor map changes while copies use it"
    PDL_ORDER = "data of the primary grid is read before griddepcontrol.wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One side of a finding: what was executed, by whom, where it stands in the source."""

    what: str
    who: str
    loc: SourceLoc | None
    op_id: int = -1
    indices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessStep:
    """One step of an execution that fails. ``then`` says what became of it: ``the copy lands``."""

    place: Place
    then: str = ""

    @property
    def text(self) -> str:
        """Who, at which loop indices, what; without the place in the source."""
        at = f" [{', '.join(map(str, self.place.indices))}]" if self.place.indices else ""
        return f"{self.place.who}{at}: {self.place.what}"

    def __str__(self) -> str:
        where = f"  ({self.place.loc})" if self.place.loc else ""
        return f"{self.text}{where}" + (f": {self.then}" if self.then else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A broken rule.

    ``where`` are the accesses involved (the later one last), ``missing`` the edge that would
    order them, ``witness`` the steps of an execution that shows the failure, ``repair`` one line
    on what to change.
    """

    rule: Rule
    severity: Severity
    message: str
    where: tuple[Place, ...] = ()
    missing: str = ""
    witness: tuple[WitnessStep, ...] = ()
    repair: str = ""
    condition: str = ""
    detail: tuple[str, ...] = ()
