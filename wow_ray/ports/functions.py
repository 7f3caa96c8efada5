"""What a worker needs of a durable function, whoever declared it."""

from __future__ import annotations

from inspect import BoundArguments
from typing import Any, Protocol

from wow_ray.policy.budget import Budget
from wow_ray.policy.classify import Lists
from wow_ray.policy.durable_fit import Unfit


class StoredFunction(Protocol):
    """A function whose stored calls are run by whoever hosts its app."""

    @property
    def subscription(self) -> str:
        """The stable name; classifiers see it, and the stored calls carry it."""
        ...

    @property
    def aliases(self) -> tuple[str, ...]:
        """Former names, whose calls are run as well."""
        ...

    @property
    def receiver(self) -> type[Any] | None:
        """The class whose instance a method is called on, found among the app's resources; `None` = none is needed."""
        ...

    @property
    def budget(self) -> Budget:
        """Calls of a submitted call in all, their waits in seconds, and how long each may take."""
        ...

    @property
    def lists(self) -> Lists:
        """What its declaration says of errors."""
        ...

    @property
    def concurrency(self) -> int | None:
        """How many calls may run at once in all workers together; `None` = any number."""
        ...

    @property
    def is_async(self) -> bool:
        """Whether a call gives a coroutine; otherwise it blocks a thread."""
        ...

    @property
    def has_fallback(self) -> bool:
        """Whether somebody is called at the very end."""
        ...

    def covers(self, error: BaseException) -> bool:
        """Tell whether its declaration has this error tried again."""
        ...

    def read(self, payload: str) -> BoundArguments | Unfit:
        """Give the stored arguments, or say why they do not fit."""
        ...

    def call(self, receiver: object, arguments: BoundArguments) -> Any:  # noqa: ANN401 - what the function gives
        """Call it."""
        ...

    def fall_back(self, error: BaseException, receiver: object, arguments: BoundArguments) -> Any:  # noqa: ANN401 - as above
        """Call the fallback for an error; what it answers may have to be awaited, which `fallback_is_async` tells."""
        ...

    def fallback_is_async(self, error: BaseException) -> bool:
        """Tell whether the fallback for this error gives a coroutine."""
        ...

    def write_result(self, result: object) -> str:
        """Give what it returned as JSON; raises `CannotTravelError`."""
        ...
