"""How an act changes a state's parts: mbarriers, and the values of atoms."""

from __future__ import annotations

from tests.oracle.acts import Act, Fault, Use

Bar = tuple[int, int, int, int, int]
"""Phase, count, pending, tx; and of the init, the chain + 1 while nobody has fenced it, then FENCED
until its CTA has told the others. A copy that lands tells nobody of what its issuer has done."""
FENCED = -1


def fenced(bars: tuple[Bar | None, ...], covered: int, own: range) -> tuple[Bar | None, ...]:
    """After a proxy fence by a CTA with mbarriers of its own: what it covers, it may use; of these
    the others do not know yet."""
    return tuple(
        (*bar[:4], FENCED if b in own else 0) if bar and bar[4] and covered >> b & 1 else bar
        for b, bar in enumerate(bars)
    )


def told(bars: tuple[Bar | None, ...], own: range) -> tuple[Bar | None, ...]:
    """After a release of what has been done to some mbarriers."""
    if not any(bars[b] and bars[b][4] == FENCED for b in own):  # type: ignore[index]
        return bars
    return tuple(
        (*bar[:4], 0) if b in own and bar and bar[4] == FENCED else bar
        for b, bar in enumerate(bars)
    )


def arrived_on(bar: Bar | None, act: Act) -> Bar:
    """After an arrival; Fault if it drops more than there are, or completes what it must not."""
    after = counted_on(bar, act.n, act.tx)
    assert bar is not None
    if act.open and after[0] != bar[0]:
        raise Fault
    if not act.drop:
        return after
    left = bar[1] - act.n
    if left < 0:
        raise Fault
    return (after[0], left, left if after[0] != bar[0] else after[2], *after[3:])


def counted_on(bar: Bar | None, arrivals: int, tx: int) -> Bar:
    """After arrivals and bytes; Fault if more arrive than are pending."""
    if bar is None or arrivals > bar[2]:
        raise Fault
    phase, count, pending, bytes_, unfenced = bar
    pending, bytes_ = pending - arrivals, bytes_ + tx
    if pending or bytes_:
        return (phase, count, pending, bytes_, unfenced)
    return (phase + 1, count, count, 0, unfenced)


def put(items, index, item):  # type: ignore[no-untyped-def]
    return (*items[:index], item, *items[index + 1 :])


def written_to(values: tuple[int, ...], use: Use) -> tuple[int, ...]:
    if not use.brings:
        return values
    changed = list(values)
    for atom, value in use.brings:
        changed[atom] = value
    return tuple(changed)


def or_all(masks) -> int:  # type: ignore[no-untyped-def]
    total = 0
    for mask in masks:
        total |= mask
    return total
