"""What authors test with: `Scenario`, `reactor_spec`, `projection_spec`, a virtual clock and a recording connection."""

from wow_ray.retryable.surroundings import instant_retries
from wow_ray.testing.clock import VirtualClock, dice
from wow_ray.testing.connection import RecordingConnection
from wow_ray.testing.scenario import Running, Scenario
from wow_ray.testing.specs import Outcome, ProcessorSpec, projection_spec, reactor_spec
from wow_ray.testing.views import ParkedView

__all__ = [
    "Outcome",
    "ParkedView",
    "ProcessorSpec",
    "RecordingConnection",
    "Running",
    "Scenario",
    "VirtualClock",
    "dice",
    "instant_retries",
    "projection_spec",
    "reactor_spec",
]
