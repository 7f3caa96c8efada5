"""The tree of settings, with its defaults.

Defaults of budgets stand with the budgets (`policy.budget`): what is not given is `None` here, so that it can be told
from what is, also where that is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import BaseModel, BeforeValidator, Field, SecretStr, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from wow_ray.errors import SettingsError
from wow_ray.policy.autoscale import Bounds
from wow_ray.settings.notices import NoticesSettings
from wow_ray.settings.payloads import MaskingSettings, RedactionSettings, RetentionSettings
from wow_ray.settings.section import (
    Count,
    CountOrZero,
    DurationField,
    Factor,
    Seconds,
    SecondsOrZero,
    Section,
    no_bool,
)
from wow_ray.settings.services import NAME, ServiceSettings

Part = Literal["retry", "parked", "backpressure", "systemic"]

PREFIX = "WOW_RAY_"


class RetrySettings(Section):
    """`subscription.retry`: calls of a live event (C1)."""

    max_attempts: Count | None = None
    initial_backoff: SecondsOrZero | None = None
    multiplier: Factor | None = None
    max_backoff: SecondsOrZero | None = None
    timeout: Seconds | None = None


class ParkedSettings(Section):
    """`subscription.parked`: long retries of a parked aggregate (P6); 0 retries = exhausted at once."""

    max_retries: CountOrZero | None = None
    initial_delay: Seconds | None = None
    multiplier: Factor | None = None
    max_delay: Seconds | None = None
    timeout: Seconds | None = None


class BackpressureSettings(Section):
    """`subscription.backpressure`: calls while the other side is too busy (D4)."""

    max_attempts: Count | None = None
    initial_backoff: SecondsOrZero | None = None
    multiplier: Factor | None = None
    max_backoff: Seconds | None = None
    retry_after_cap: Seconds | None = None


class SystemicSettings(Section):
    """`subscription.systemic`: when a partition pauses and how it probes (W1, W4); `mass_parks` 0 = off (P16)."""

    aggregates: Count | None = None
    window: Seconds | None = None
    initial_probe: Seconds | None = None
    max_probe: Seconds | None = None
    mass_parks: CountOrZero | None = None


class SubscriptionSettings(Section):
    """What the host gives one subscription, or all of them."""

    concurrency: Count | None = None
    retry: RetrySettings = RetrySettings()
    parked: ParkedSettings = ParkedSettings()
    backpressure: BackpressureSettings = BackpressureSettings()
    systemic: SystemicSettings = SystemicSettings()

    def given(self, part: Part) -> Mapping[str, Any]:
        """Give what is set of one part, by name; durations in seconds."""
        return cast("Section", getattr(self, part)).model_dump(exclude_none=True)


class FunctionSettings(Section):
    """What the host gives one durable function, in place of what its declaration says of stored calls."""

    concurrency: Count | None = None
    max_retries: Count | None = None
    initial_delay: SecondsOrZero | None = None
    multiplier: Factor | None = None
    max_delay: SecondsOrZero | None = None
    timeout: Seconds | None = None

    def given(self) -> Mapping[str, Any]:
        """Give what is set, by name; durations in seconds."""
        return self.model_dump(exclude_none=True)


class CommitSettings(Section):
    """`commit`: how often a partition commits its progress; what finished since is what a crash repeats (L2)."""

    interval: Seconds = 0.1
    events: Count = 2000


class CallsSettings(Section):
    """`calls`: where durable calls lie, and who runs them on Ray.

    Redis is asked for by name, since it keeps what it is set up to keep. `actors` run calls and nothing else; with none
    the partitions run them beside their events, which costs no further process.
    """

    store: Literal["postgres", "redis"] = "postgres"
    actors: CountOrZero = 0


class OpsSettings(Section):
    """`ops`: where the console and the API are served by `wow-ray dev`, and who is let in.

    `tokens_file` and `tokens` (the same lines, also ended by commas; for the environment) hold names, roles and hashes,
    as `wow-ray token` writes them. Without any, this machine alone is answered, and `host` must be its own. `services`
    are others that the same console shows, by name.
    """

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, BeforeValidator(no_bool), Field(ge=0, le=65_535)] = 8000
    tokens_file: Path | None = None
    tokens: SecretStr | None = None
    services: dict[str, ServiceSettings] = Field(default_factory=dict)

    @field_validator("services")
    @classmethod
    def _have_names(cls, value: dict[str, ServiceSettings]) -> dict[str, ServiceSettings]:
        for name in value:
            if NAME.match(name) is None:
                raise ValueError(f"{name!r} names no service: letters, digits, '-' and '_', at most 40")
        return value


class AutoscaleSettings(Section):
    """`autoscale`: how many partitions an app on Ray has by itself; off unless `max` is set.

    Each may be behind by `target_lag` events; after a change nothing changes for `cool_down`.
    """

    min: Count = 1
    max: Count | None = None
    # Some tenths of a second of what one partition reads: less would follow every burst.
    target_lag: Count = 10_000
    # A process and its slots take seconds; what was behind is caught up and seen by then.
    cool_down: Seconds = 60.0

    def bounds(self) -> Bounds | None:
        """Give them as the policy takes them; `None` = off. Raises `SettingsError` for a `max` below `min`."""
        if self.max is None:
            return None
        if self.max < self.min:
            raise SettingsError(f"autoscale.max is {self.max}, and autoscale.min is {self.min}")
        return Bounds(self.min, self.max, self.target_lag, self.cool_down)


class Settings(BaseSettings):
    """Everything the host sets. Made by `load`; made directly it takes durations in seconds and reads nothing else."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, env_prefix=PREFIX, env_nested_delimiter="__"
    )

    postgres_dsn: Annotated[SecretStr, Field(min_length=1)] | None = None
    postgres_dsn_file: Path | None = None
    # With a suffix it must fit into Postgres's 63 bytes wherever it is reused (channels, locks).
    postgres_schema: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$", max_length=40)] = "wow"
    pgbouncer: bool = False
    # Wake-ups go over it instead of NOTIFY, which pgbouncer cannot carry.
    redis_url: Annotated[SecretStr, Field(min_length=1)] | None = None
    # 4 to 8 partition processes suit 2 cores (architecture 6).
    partitions: Count = 4
    # CPUs of the cluster that a partition's process reserves on Ray; a whole one has Ray's own autoscaler add nodes.
    partition_cpus: Annotated[float, BeforeValidator(no_bool), Field(gt=0, allow_inf_nan=False)] = 0.01
    # Fixed by the first migration (H37).
    slots: Annotated[Count, Field(le=4096)] = 256
    # Calls at once in one partition: waiting on a network, 64 keep a core busy.
    concurrency: Count = 64
    commit: CommitSettings = CommitSettings()
    calls: CallsSettings = CallsSettings()
    autoscale: AutoscaleSettings = AutoscaleSettings()
    ops: OpsSettings = OpsSettings()
    notices: NoticesSettings = NoticesSettings()
    # Spans of attempts, commits and drains, with whatever OpenTelemetry the process has set up.
    tracing: bool = False
    redaction: RedactionSettings = RedactionSettings()
    masking: MaskingSettings = MaskingSettings()
    retention: RetentionSettings = RetentionSettings()
    subscription: SubscriptionSettings = SubscriptionSettings()
    subscriptions: dict[str, SubscriptionSettings] = Field(default_factory=dict)
    functions: dict[str, FunctionSettings] = Field(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the form is pydantic's
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what is passed and nothing else: `load` reads the sources, from where it is told to."""
        return (init_settings,)

    def masking_fields(self) -> tuple[str, ...]:
        """Give the fields whose values are not shown: those named so, and the keys that texts are searched for."""
        return (*self.masking.fields, *self.redaction.keys)

    def redis_of_calls(self) -> SecretStr | None:
        """Give the address of the Redis that durable calls are to lie in; `None` = they lie in Postgres.

        Raises:
            SettingsError: when Redis is asked for, and nothing says where it is.
        """
        if self.calls.store == "postgres":
            return None
        if self.redis_url is None:
            raise SettingsError("calls.store is 'redis', and nothing says where that is; set WOW_RAY_REDIS_URL")
        return self.redis_url

    def dsn(self) -> str | None:
        """Give the address of Postgres, from `postgres_dsn_file` if that is set; `None` = not configured.

        Raises:
            SettingsError: when the file cannot be read or is empty.
        """
        if self.postgres_dsn_file is None:
            return self.postgres_dsn.get_secret_value() if self.postgres_dsn is not None else None
        try:
            text = self.postgres_dsn_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"postgres_dsn_file: {self.postgres_dsn_file} cannot be read: {error}") from error
        if not text:
            raise SettingsError(f"postgres_dsn_file: {self.postgres_dsn_file} is empty")
        return text


def paths(model: type[BaseModel], above: str = "") -> Iterator[str]:
    """Give the dotted name of every setting and every section of a tree."""
    for name, field in model.model_fields.items():
        yield above + name
        inner = section_of(field)
        if inner is not None:
            yield from paths(inner, f"{above}{name}.")


def section_of(field: FieldInfo) -> type[BaseModel] | None:
    """Give the class of a field that is a section, `None` for one that is a value."""
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def duration_of(field: FieldInfo) -> DurationField | None:
    """Give the mark of a field that is a duration, `None` for any other."""
    inner = [each for member in get_args(field.annotation) for each in getattr(member, "__metadata__", ())]
    return next((mark for mark in (*field.metadata, *inner) if isinstance(mark, DurationField)), None)
