"""The few Perfetto messages that a trace file needs, as protobuf classes.

Names and numbers are those of Perfetto's public protos (protos/perfetto/trace: trace.proto,
trace_packet.proto, track_event/*.proto). Only this module and its two users import protobuf.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "asyncsim.perfetto"

SLICE_BEGIN, SLICE_END, COUNTER = 1, 2, 4  # TrackEvent.Type
EXPLICIT_ORDER = 3  # TrackDescriptor.ChildTracksOrdering
UNIT_COUNT = 2  # CounterDescriptor.Unit
SEQ_INCREMENTAL_STATE_CLEARED = 1  # TracePacket.SequenceFlags

# message: {field: (number, type)}; a type in [] is repeated, a capitalised one is a message.
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "Trace": {"packet": (1, "[TracePacket]")},
    "TracePacket": {
        "timestamp": (8, "uint64"),
        "trusted_packet_sequence_id": (10, "uint32"),
        "track_event": (11, "TrackEvent"),
        "sequence_flags": (13, "uint32"),
        "track_descriptor": (60, "TrackDescriptor"),
    },
    "TrackDescriptor": {
        "uuid": (1, "uint64"),
        "name": (2, "string"),
        "process": (3, "ProcessDescriptor"),
        "parent_uuid": (5, "uint64"),
        "counter": (8, "CounterDescriptor"),
        "child_ordering": (11, "int32"),
        "sibling_order_rank": (12, "int32"),
    },
    "ProcessDescriptor": {"pid": (1, "int32"), "process_name": (6, "string")},
    "CounterDescriptor": {"unit": (3, "int32")},
    "TrackEvent": {
        "debug_annotations": (4, "[DebugAnnotation]"),
        "type": (9, "int32"),
        "track_uuid": (11, "uint64"),
        "categories": (22, "[string]"),
        "name": (23, "string"),
        "counter_value": (30, "int64"),
    },
    "DebugAnnotation": {
        "name": (10, "string"),
        "bool_value": (2, "bool"),
        "int_value": (4, "int64"),
        "string_value": (6, "string"),
    },
}


@cache
def message_class(name: str) -> Any:
    """The class of a message; a constructor takes its fields by keyword."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(
        name="asyncsim/perfetto.proto", package=PACKAGE, syntax="proto2"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, spelled) in fields.items():
            _add_field(message, field, number, spelled)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _add_field(message: Any, name: str, number: int, spelled: str) -> None:
    kinds = descriptor_pb2.FieldDescriptorProto
    element = spelled.strip("[]")
    field = message.field.add(
        name=name,
        number=number,
        label=kinds.LABEL_REPEATED if spelled.startswith("[") else kinds.LABEL_OPTIONAL,
    )
    if element in _MESSAGES:
        field.type, field.type_name = kinds.TYPE_MESSAGE, f".{PACKAGE}.{element}"
    else:
        field.type = getattr(kinds, f"TYPE_{element.upper()}")
