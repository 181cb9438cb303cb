"""What a read found and what it means (condition H), in words."""

from __future__ import annotations

from asyncsim.check.model import Touch
from asyncsim.check.report import Fault
from asyncsim.memory.region import SmemRegion
from asyncsim.rules import Rule
from asyncsim.stream.dyn import FILL, Tag


def stale(reader: Touch, writer: Touch | None, brought: Tag | None, meant: Tag | None) -> Fault:
    """``writer``: None if some of the bytes hold nothing; ``meant``: None if any data will do."""
    region = reader.access.region
    assert isinstance(region, SmemRegion)
    if writer is not None:
        return Fault(
            rule=Rule.WRONG_TILE,
            message=f"{region.name} holds {tag_text(brought)}; the read means {tag_text(meant)}",
            step=reader.step,
            other=writer.step,
            name=region.name,
        )
    if reader.access.write:
        return Fault(
            rule=Rule.READ_BEFORE_ARRIVAL,
            message=f"{region.name} is reduced into where nothing has been written",
            step=reader.step,
            name=region.name,
            missing="a write of these bytes before the reduction",
            repair="write what the reduction begins with, and order it before",
        )
    nothing = f"{region.name} is read where nothing has been written"
    if meant is not None:
        message = f"{nothing}; {tag_text(meant)} is meant"
        return Fault(
            rule=Rule.READ_BEFORE_ARRIVAL, message=message, step=reader.step, name=region.name
        )
    return Fault(
        rule=Rule.READ_BEFORE_ARRIVAL,
        message=nothing,
        step=reader.step,
        name=region.name,
        missing="a write of these bytes before the read",
        repair="write the bytes first, or read only what is written",
    )


def tag_text(tag: Tag | None) -> str:
    """The tensor, and the tensor index that stands at the tile's origin."""
    if tag is None:
        return "computed data"
    if tag == FILL:
        return "zeros that cp.async has filled in"
    tensor, origin = tag
    return f"{tensor} from [{', '.join(map(str, origin))}]"
