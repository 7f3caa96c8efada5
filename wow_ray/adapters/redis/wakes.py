"""Wake-ups by Redis pub/sub, for many producers, or where pgbouncer stands before Postgres."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import SecretStr
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from wow_ray.adapters.waking import ANSWER, Bus, channel_of
from wow_ray.errors import SettingsError
from wow_ray.ports.clock import Clock


class RedisWakes(Bus):
    """`ports.wakes.Wakes` on Redis; the address, which may hold a password, is never shown."""

    def __init__(self, url: SecretStr, schema: str, context: str, clock: Clock) -> None:
        """Connect to nothing yet; raises `SettingsError` for an address that is none."""
        super().__init__(clock)
        self._url = url
        self._channel = channel_of(schema, context)
        self._redis = self._client()

    async def _send(self, messages: list[str]) -> None:
        for message in messages:
            await self._redis.publish(self._channel, message)

    async def _listen(self, begun: Callable[[], None], hear: Callable[[str], None]) -> None:
        async with self._client() as redis, redis.pubsub() as channel:
            await channel.subscribe(self._channel)
            asked = False
            while True:
                message = await channel.get_message(timeout=ANSWER if asked else self.check)
                if message is None:
                    if asked:
                        raise ConnectionError("Redis does not answer")
                    await channel.ping()
                elif message["type"] == "subscribe":
                    begun()
                elif message["type"] == "message":
                    hear(message["data"])
                asked = message is None

    async def _end(self) -> None:
        await self._redis.aclose()

    def _client(self) -> Redis:
        """Make a client that gives up at once: trying again is the bus's own affair."""
        try:
            return Redis.from_url(
                self._url.get_secret_value(),
                decode_responses=True,
                socket_connect_timeout=ANSWER,
                socket_timeout=ANSWER,
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError:
            raise SettingsError(
                "redis_url is no address of a Redis; write redis://:password@host:6379/0, rediss://... or unix://..."
            ) from None
