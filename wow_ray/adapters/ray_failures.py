"""What Ray's exceptions mean for a handler that calls actors and tasks; Ray is not imported (K7).

What a task itself raised arrives in a `RayTaskError`, which is taken off before anybody is asked (K4). A timeout of
`ray.get` and a lost object are not in the table: they count towards the window.
"""

from __future__ import annotations

from wow_ray.adapters.class_names import meaning
from wow_ray.failure import Category
from wow_ray.policy.by_class import Looks

_MEANINGS = {
    "ray.RayActorError": Category.SYSTEMIC,  # died or unavailable
    "ray.NodeDiedError": Category.SYSTEMIC,
    "ray.LocalRayletDiedError": Category.SYSTEMIC,
    "ray.RpcError": Category.SYSTEMIC,
    "ray.ActorUnschedulableError": Category.SYSTEMIC,
    "ray.TaskUnschedulableError": Category.SYSTEMIC,
    "ray.ActorPlacementGroupRemoved": Category.SYSTEMIC,
    "ray.TaskPlacementGroupRemoved": Category.SYSTEMIC,
    "ray.RuntimeEnvSetupError": Category.SYSTEMIC,
    "ray.OutOfDiskError": Category.SYSTEMIC,
    "ray.AuthenticationError": Category.SYSTEMIC,
    "ray.PendingCallsLimitExceeded": Category.BACKPRESSURE,
    "ray.BackPressureError": Category.BACKPRESSURE,  # of Serve
    "ray.ObjectStoreFullError": Category.BACKPRESSURE,  # fewer calls at once help, and one object may be too large
    "ray.OutOfMemoryError": Category.BACKPRESSURE,  # likewise
    "ray.WorkerCrashedError": Category.RECOVERABLE,  # perhaps by what this aggregate had it do
}


LOOKS = Looks()


def classify_ray(error: BaseException, subscription: str) -> Category | None:  # noqa: ARG001 - a `Classifier`
    """Classify what a call of Ray raised; the module's classifier for Ray, `None` = no opinion."""
    return meaning(error, _MEANINGS)
