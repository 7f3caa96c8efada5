"""Which settings one handler runs under: the host's, its own `@retry`, its class's, the defaults (C1 to C6, K3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Protocol, TypeVar

from wow_ray.durations import show
from wow_ray.errors import ConfigurationError, SettingsError
from wow_ray.handlers.decorators import RetryMark
from wow_ray.names import nearest
from wow_ray.policy.budget import DEFAULT_RETRY, Backpressure, Budget, ParkedRetries, Systemic
from wow_ray.policy.classify import Lists, ListsGiven, resolve_lists
from wow_ray.policy.settings_resolution import BUILT_IN, HOST, HOST_SUBSCRIPTION, RetryGiven, resolve_budget

Part = Literal["retry", "parked", "backpressure", "systemic"]
PARTS: tuple[Part, ...] = ("retry", "parked", "backpressure", "systemic")
Limits = TypeVar("Limits", Backpressure, ParkedRetries, Systemic)

# First and longest of two settings where the first may not exceed the other (C6).
ORDERED: Mapping[Part, tuple[str, str]] = {
    "parked": ("initial_delay", "max_delay"),
    "backpressure": ("initial_backoff", "max_backoff"),
    "systemic": ("initial_probe", "max_probe"),
}
NOTHING = RetryMark(RetryGiven(), ListsGiven())


class HostGiven(Protocol):
    """What the host gives one subscription, or all of them."""

    @property
    def concurrency(self) -> int | None:
        """Calls at once; `None` = not given."""
        ...

    def given(self, part: Part) -> Mapping[str, Any]:
        """Give what is set of one part, by name; durations in seconds."""
        ...


class Host(Protocol):
    """The host's settings, as far as handlers go."""

    @property
    def subscription(self) -> HostGiven:
        """For all subscriptions."""
        ...

    @property
    def subscriptions(self) -> Mapping[str, HostGiven]:
        """For single ones, by name, with or without the context."""
        ...


@dataclass(frozen=True, slots=True)
class Effective:
    """What one handler runs under, and where each setting comes from."""

    budget: Budget
    backpressure: Backpressure
    parked: ParkedRetries
    systemic: Systemic
    concurrency: int | None
    lists: Lists
    provenance: Mapping[str, str]
    warnings: tuple[str, ...]


def flat(given: HostGiven) -> dict[str, Any]:
    """Give what is set, by dotted name: `retry.max_attempts`, `concurrency`."""
    found = {f"{part}.{name}": value for part in PARTS for name, value in given.given(part).items()}
    return found if given.concurrency is None else {**found, "concurrency": given.concurrency}


def assigned(
    context: str, subscriptions: Mapping[str, Sequence[str]], given: Mapping[str, HostGiven]
) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """Find the subscription of each key, its present or a former name, with or without the context (C4).

    Answers what is set for each subscription, by dotted name, and a warning for each former name. `subscriptions`
    gives the former names of each.

    Raises:
        SettingsError: for a key that is no subscription's, and for two keys of one that contradict each other.
    """
    spelled = {f"{context}.{name}": name for name in subscriptions} | {name: name for name in subscriptions}
    former = {old: name for name, olds in subscriptions.items() for old in olds}
    former |= {f"{context}.{old}": name for old, name in former.items()}
    found: dict[str, dict[str, Any]] = {}
    keys: dict[tuple[str, str], str] = {}
    for key, values in given.items():
        name = spelled.get(key) or former.get(key)
        if name is None:
            text = f'subscriptions."{key}": no subscription is called {key!r}{nearest(key, spelled)}'
            raise SettingsError(text, "WOW-C4")
        mine = found.setdefault(name, {})
        for setting, value in flat(values).items():
            first = keys.setdefault((name, setting), key)
            if mine.setdefault(setting, value) != value:
                text = (
                    f'subscriptions."{first}" and subscriptions."{key}" are one subscription and ambiguous: {setting}'
                )
                raise SettingsError(f"{text} is {mine[setting]!r} and {value!r}", "WOW-C4")
    renamed = (key for key in given if key not in spelled)
    return found, tuple(f'subscriptions."{key}" is the former name of {former[key]!r}; use that' for key in renamed)


def effective(
    subscription: str,
    own: Mapping[str, Any],
    handler: RetryMark | None,
    cls: RetryMark | None,
    everyone: Mapping[str, Any],
) -> Effective:
    """Resolve everything one handler runs under.

    `own` and `everyone` are what the host gives this subscription and all, by dotted name.
    """
    handler, cls = handler or NOTHING, cls or NOTHING
    try:
        budget, provenance, warned = resolve_budget(
            _retry_of(own), handler.given, cls.given, _retry_of(everyone), DEFAULT_RETRY
        )
    except ConfigurationError as error:
        raise type(error)(f"{subscription}: {error.message}", error.code) from error
    layers = _Layers(subscription, own, everyone, {f"retry.{name}": origin for name, origin in provenance.items()}, [])
    for text in warned:
        layers.warn(text, "retry.initial_backoff", "retry.max_backoff")
    return Effective(
        budget=budget,
        backpressure=layers.over("backpressure", Backpressure()),
        parked=layers.over("parked", ParkedRetries()),
        systemic=layers.over("systemic", Systemic()),
        concurrency=layers.pick("concurrency", None),
        lists=resolve_lists(handler.lists, cls.lists),
        provenance=layers.origins,
        warnings=tuple(layers.warnings),
    )


def _retry_of(values: Mapping[str, Any]) -> RetryGiven:
    return RetryGiven(**{field.name: values.get(f"retry.{field.name}") for field in fields(RetryGiven)})


@dataclass(frozen=True, slots=True)
class _Layers:
    """The host's two layers over the defaults, for what no decorator can set."""

    subscription: str
    own: Mapping[str, Any]
    everyone: Mapping[str, Any]
    origins: dict[str, str]
    warnings: list[str]

    def pick(self, setting: str, default: Any) -> Any:  # noqa: ANN401 - the value of any setting
        """Answer the first value given, and note where it came from."""
        for layer, origin in ((self.own, HOST_SUBSCRIPTION), (self.everyone, HOST)):
            if setting in layer:
                self.origins[setting] = origin
                return layer[setting]
        self.origins[setting] = BUILT_IN
        return default

    def over(self, part: Part, defaults: Limits) -> Limits:
        """Lay what is given over the defaults; of an ordered pair the second cuts the first (C6)."""
        values = {
            field.name: self.pick(f"{part}.{field.name}", getattr(defaults, field.name)) for field in fields(defaults)
        }
        first, longest = ORDERED[part]
        if values[first] > values[longest]:
            origin = self.origins[f"{part}.{first}"]
            text = f"{part}.{first} ({show(values[first])}) is above {part}.{longest} ({show(values[longest])})"
            if origin == self.origins[f"{part}.{longest}"]:
                raise SettingsError(f"{self.subscription}: {text}, both given by {origin}", "WOW-C6")
            self.warn(f"{text}: it is cut to that", f"{part}.{first}", f"{part}.{longest}")
            values[first] = values[longest]
        return replace(defaults, **values)

    def warn(self, text: str, *settings: str) -> None:
        """Note a warning about settings; one that no handler has a part in reads alike for all, and so is said once."""
        alike = all(self.origins[setting] in {HOST, BUILT_IN} for setting in settings)
        self.warnings.append(f"subscription.*: {text}" if alike else f"{self.subscription}: {text}")
