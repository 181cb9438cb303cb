"""From a clash to the rule that it breaks: the one missing edge that would order the pair."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.check.describe import op_text
from asyncsim.check.model import Flight, Step, Touch
from asyncsim.check.report import Clash, Reason
from asyncsim.ir.op import GroupKind
from asyncsim.rules import Rule, Severity
from asyncsim.stream.dyn import Proxy


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A clash with its name. ``culprit`` is the op to change: findings are one per culprit."""

    rule: Rule
    severity: Severity
    message: str
    missing: str
    repair: str
    culprit: Step
    reader: Step


def name_clash(clash: Clash) -> Named:
    """The rule of a clash."""
    x, y = clash.earlier, clash.later
    reader = y if x.access.write and not y.access.write else x
    if clash.narrow:
        return _narrow(clash, reader)
    if clash.reason is Reason.PROXY:
        return _proxy(clash, reader)
    if x.flight is not None and x.flight.tracked is None and not clash.outdated:
        return _in_flight(clash, x.flight, reader)
    return _plain(clash, reader)


def _proxy(clash: Clash, reader: Touch) -> Named:
    x, y = clash.earlier, clash.later
    write = x.access.write
    space = "shared" if hasattr(x.access.region, "mask") else "global"
    return Named(
        rule=Rule.MISSING_PROXY_FENCE if write else Rule.PROXY_WAR,
        severity=Severity.ERROR if write else Severity.WARNING,
        message=(
            f"{clash.name} is {'written' if write else 'read'} by {op_text(x.step.dyn)} and then "
            f"{'overwritten' if y.access.write else 'read'} through the async proxy by "
            f"{op_text(y.step.dyn)}, ordered but not fenced"
        ),
        missing="fence.proxy.async after the first access, on the path to the second",
        repair=f'add k.fence.proxy_async("{space}") after the access, before it is signalled',
        culprit=x.step,
        reader=reader.step,
    )


def _narrow(clash: Clash, reader: Touch) -> Named:
    """An overwrite after a default arrive of the peer is what production code does: a warning,
    unless something is relaxed."""
    x, y = clash.earlier, clash.later
    harmless = y.access.write and not clash.relaxed
    return Named(
        rule=Rule.SCOPE_TOO_NARROW,
        severity=Severity.WARNING if harmless else Severity.ERROR,
        message=(
            f"{op_text(y.step.dyn)} in CTA {y.step.warp.place.rank} comes after "
            f"{op_text(x.step.dyn)} in CTA {x.step.warp.place.rank}, but nothing between them "
            f"releases {clash.name} at cluster scope"
        ),
        missing="a release and an acquire at cluster scope between the two CTAs",
        repair='signal with k.mbarrier.arrive(..., scope="cluster") and wait with the same scope',
        culprit=y.step,
        reader=reader.step,
    )


def _in_flight(clash: Clash, flight: Flight, reader: Touch) -> Named:
    x, y = clash.earlier, clash.later
    if y.access.write and not x.access.write and _awaited(clash, x, y):
        return _plain(clash, reader)
    kind = flight.kind
    what, user = op_text(x.step.dyn), op_text(y.step.dyn)
    own = x.step.warp is y.step.warp and (x.who & y.who) != 0

    def named(rule: Rule, message: str, missing: str, repair: str, culprit: Step) -> Named:
        return Named(
            rule=rule,
            severity=Severity.ERROR,
            message=message,
            missing=missing,
            repair=repair,
            culprit=culprit,
            reader=reader.step,
        )

    other = y.flight
    together = other is not None and other.kind is kind and not clash.committed
    if together and x.access.write and y.access.write and own:
        return named(
            Rule.WRITE_WRITE_RACE,
            f"{what} and {user} write {clash.name}, and copies of one group land in no order",
            "any edge between the two writes",
            "commit and wait for the first copy before the second, or write disjoint parts",
            y.step,
        )
    never = flight.commit is None or (own and not clash.committed)
    if never and kind is not GroupKind.WGMMA:
        return named(
            Rule.UNCOMMITTED_COPY,
            f"{what} is in no committed group when {user} touches {clash.name}: no wait covers it",
            "a commit_group after the copy",
            "commit the group before the wait",
            x.step,
        )
    if clash.loose is not None:
        n = clash.loose.dyn.value
        repair = (
            f"wait for fewer pending groups than {n}, or commit one group per step (an empty "
            "group counts too)"
        )
        if x.access.write and getattr(clash.loose.dyn.op, "read", False):
            repair = "wait without read=True, which waits for the source to be read and no more"
        return named(
            Rule.WAIT_GROUP_TOO_LOOSE,
            f"{op_text(clash.loose.dyn)} leaves {what} pending, and {user} touches {clash.name}",
            f"a wait that covers the group of {what}",
            repair,
            clash.loose,
        )
    if kind is GroupKind.WGMMA:
        if clash.released or not clash.committed:
            return named(
                Rule.OPERAND_IN_FLIGHT,
                f"{user} overwrites {clash.name} while {what} may still read it; the stage was "
                "released without a wait",
                "a wgmma.wait_group that covers the group, before the release",
                "release the stage of an earlier step, after wgmma.wait_group",
                flight.commit or x.step,
            )
        return _plain(clash, reader)
    wait = flight.retired or (None if x.access.write else flight.source_read)
    # a barrier after a wait that follows the access in their text orders nothing
    if wait is not None and not own and not (clash.released and _comes_later(wait, y.step)):
        return named(
            Rule.MISSING_BLOCK_BARRIER,
            f"{user} touches {clash.name} of {what} by another thread, whose wait covers its own "
            "copies only",
            "a block barrier between the wait and the access",
            "add k.bar.sync() after the group wait",
            y.step,
        )
    if flight.retired is None and (clash.idle is not None or (not own and _waits(y, kind))):
        return named(
            Rule.WAIT_BY_NON_ISSUER,
            f"{what} is waited for by a thread that did not issue it, then {user} touches "
            f"{clash.name}",
            "a group wait by the issuing thread, and a barrier after it",
            "wait in the thread that issues the copy",
            y.step,
        )
    if kind is GroupKind.BULK and not x.access.write:
        return named(
            Rule.SMEM_REUSED_BEFORE_STORE_READ,
            f"{user} overwrites {clash.name} while {what} may still read it",
            "a bulk wait_group.read between them",
            "add k.bulk.wait_group(0, read=True) before the overwrite",
            y.step,
        )
    return _plain(clash, reader)


def _comes_later(step: Step, than: Step) -> bool:
    """Whether both warps run one text, and a step of the one follows in it that of the other."""
    same = step.warp.place.role == than.warp.place.role
    text = [(s.event[1], s.dyn.op.id) for s in (step, than)]
    return same and text[0] > text[1]


def _in_later_round(step: Step, than: Step) -> bool:
    """Whether two roles are in loops of the same depth, and the first in a later round of it."""
    rounds, others = step.event[1], than.event[1]
    return len(rounds) == len(others) and rounds > others


def _waits(y: Touch, kind: GroupKind) -> bool:
    return any(chain.waits.get(kind) for chain in y.step.warp.chains(y.who))


def _plain(clash: Clash, reader: Touch) -> Named:
    x, y = clash.earlier, clash.later
    first, second = op_text(x.step.dyn), op_text(y.step.dyn)
    if clash.acquire is not None:
        what = f"overwrites {clash.name} without being ordered after {first}"
        return _vacuous(clash.acquire, f"{second} {what}", reader)
    if x.access.write and y.access.write:
        return Named(
            rule=Rule.WRITE_WRITE_RACE,
            severity=Severity.ERROR,
            message=f"{first} and {second} write {clash.name} in no order",
            missing="any edge between the two writes",
            repair="put a barrier between them, or write disjoint parts",
            culprit=y.step,
            reader=reader.step,
        )
    writer = x if x.access.write else y
    same_warp = x.step.warp is y.step.warp
    own_copy = writer.access.proxy is Proxy.ASYNC and (x.who & y.who) != 0  # by the lane that reads
    if _awaited(clash, reader, writer):
        if writer.flight is not None and writer.flight.retired is not None and writer is y:
            rule, missing = Rule.MISSING_BLOCK_BARRIER, "a block barrier between wait and read"
            repair = "add k.bar.sync() after the group wait"
        else:
            rule = Rule.READ_BEFORE_ARRIVAL
            missing = "the completion of the write, observed before the read"
            repair = "wait for the barrier (or group) of the copy before reading"
        if same_warp and writer.flight is None and not own_copy:
            missing, repair = "a warp barrier between them", "add k.bar.warp_sync()"
        elif x.step.warp.place.rank != y.step.warp.place.rank:
            missing = "a cluster barrier between the two CTAs"
            repair = "add k.cluster_barrier.sync() after the store"
        elif writer.flight is None and writer.access.proxy is Proxy.GENERIC:
            missing = "a block barrier between the store and the read"
            repair = "add k.bar.sync() after the store"
        message = (
            f"{op_text(reader.step.dyn)} reads {clash.name} without being ordered after "
            f"{op_text(writer.step.dyn)}"
        )
        if clash.vacuous is not None:
            return _vacuous(clash.vacuous, message, reader)
    else:
        rule = Rule.WRITE_BEFORE_RELEASE
        missing = "an edge from the read to the overwrite"
        repair = "release the stage after the last read, and let the writer wait for it"
        message = (
            f"{op_text(writer.step.dyn)} overwrites {clash.name} while "
            f"{op_text(reader.step.dyn)} may still read it"
        )
    return Named(
        rule=rule,
        severity=Severity.ERROR,
        message=message,
        missing=missing,
        repair=repair,
        culprit=reader.step,
        reader=reader.step,
    )


def _vacuous(wait: Step, then: str, reader: Touch) -> Named:
    return Named(
        rule=Rule.VACUOUS_WAIT,
        severity=Severity.ERROR,
        message=f"{op_text(wait.dyn)} passes on a phase that was waited for before, so that {then}",
        missing="a wait on the phase that comes next",
        repair="carry the phase over: flip it on every wrap, and do not reset it per tile",
        culprit=wait,
        reader=reader.step,
    )


def _awaited(clash: Clash, reader: Touch, writer: Touch) -> bool:
    """Whether the read means the data of this write (and not what it overwrites): by what both
    say, or else by their rounds, and by whether there was anything else to read."""
    meant, brought = reader.access.tag, writer.access.tag
    if meant is not None and brought is not None:
        return meant == brought or (reader is clash.later and not clash.outdated)
    if _comes_later(writer.step, reader.step):
        return False
    if reader is clash.later:
        return not _in_later_round(writer.step, reader.step)
    elsewhere = writer.step.warp.place.role != reader.step.warp.place.role
    return clash.first and (elsewhere or writer.step.dyn.barrier is not None)
