"""What an operator may do, once, for the command line, the HTTP API and the console; on ports only."""

from wow_ray.ops.call_views import CallAnswer, CallDetail, CallPage, CallView
from wow_ray.ops.calling import CallOperations, CallQuery
from wow_ray.ops.commands import Command
from wow_ray.ops.functions import (
    FunctionList,
    FunctionOperations,
    FunctionPauseAnswer,
    FunctionPauseList,
    FunctionPauseView,
    FunctionView,
)
from wow_ray.ops.known import Known
from wow_ray.ops.live_views import LiveGroup, LivePart, LivePartition, LivePause
from wow_ray.ops.operations import Operations, ParkedQuery
from wow_ray.ops.pause_views import PauseAnswer, PauseView
from wow_ray.ops.progress import GroupView, PartitionView, StatusView
from wow_ray.ops.scaling import MoveView, ScaleView
from wow_ray.ops.views import Applied, Count, ParkedDetail, ParkedPage, ParkedView, Pending

__all__ = [
    "Applied",
    "CallAnswer",
    "CallDetail",
    "CallOperations",
    "CallPage",
    "CallQuery",
    "CallView",
    "Command",
    "Count",
    "FunctionList",
    "FunctionOperations",
    "FunctionPauseAnswer",
    "FunctionPauseList",
    "FunctionPauseView",
    "FunctionView",
    "GroupView",
    "Known",
    "LiveGroup",
    "LivePart",
    "LivePartition",
    "LivePause",
    "MoveView",
    "Operations",
    "ParkedDetail",
    "ParkedPage",
    "ParkedQuery",
    "ParkedView",
    "PartitionView",
    "PauseAnswer",
    "PauseView",
    "Pending",
    "ScaleView",
    "StatusView",
]
