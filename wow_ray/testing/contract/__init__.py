"""The proof of an adapter: one suite for each port, which every adapter passes, the one in memory first.

To prove an adapter of your own, write a `Harness` for it and subclass each suite where pytest collects it:

    from wow_ray.testing.contract import EffectsContract, EventLogContract, Harness, LedgerContract, SlotsContract

    class MyHarness:                       # fits the protocol `Harness`: an empty store and what is plugged into it
        ...

    class TestMyEventLog(EventLogContract):
        @pytest.fixture
        async def harness(self) -> AsyncIterator[Harness]:
            async with my_empty_store() as store:
                yield MyHarness(store)

The suites speak through the ports alone, and read calendar time from the store's answers, so that a real database and
one in memory pass the same tests. They need `pytest-asyncio` with `asyncio_mode = "auto"`. Each test's docstring names
the rule of the contract, or the hard part, that it proves; the ports' own docstrings are the rest of the contract.
"""

import pytest

for _module in (
    "asking",
    "batches",
    "call_claims",
    "call_ends",
    "call_requests",
    "calling",
    "durable_calls",
    "effects",
    "event_log",
    "function_pauses",
    "ledger",
    "notices",
    "leases",
    "looking",
    "overview",
    "pauses",
    "plans",
    "producing",
    "refusing",
    "registering",
    "reporting",
    "resetting",
    "retention",
    "rows",
    "sampling",
    "slots",
    "suite",
    "suspecting",
    "wakes",
):
    pytest.register_assert_rewrite(f"{__name__}.{_module}")

from wow_ray.testing.contract.batches import BatchesContract  # noqa: E402 - as below
from wow_ray.testing.contract.calling import CallsHarness  # noqa: E402 - after their asserts are to be explained
from wow_ray.testing.contract.durable_calls import DurableCallsContract  # noqa: E402 - as above
from wow_ray.testing.contract.effects import EffectsContract  # noqa: E402 - after their asserts are to be explained
from wow_ray.testing.contract.event_log import EventLogContract  # noqa: E402 - as above
from wow_ray.testing.contract.function_pauses import FunctionPausesContract  # noqa: E402 - as above
from wow_ray.testing.contract.harness import Harness  # noqa: E402 - as above
from wow_ray.testing.contract.ledger import LedgerContract  # noqa: E402 - as above
from wow_ray.testing.contract.notices import OutboxContract  # noqa: E402 - as above
from wow_ray.testing.contract.overview import OverviewContract  # noqa: E402 - as above
from wow_ray.testing.contract.pauses import PausesContract  # noqa: E402 - as above
from wow_ray.testing.contract.plans import PlansContract  # noqa: E402 - as above
from wow_ray.testing.contract.reporting import ReportsContract  # noqa: E402 - as above
from wow_ray.testing.contract.retention import RemainsContract  # noqa: E402 - as above
from wow_ray.testing.contract.sampling import SamplesContract  # noqa: E402 - as above
from wow_ray.testing.contract.slots import SlotsContract  # noqa: E402 - as above
from wow_ray.testing.contract.wakes import WakesContract  # noqa: E402 - as above

__all__ = [
    "BatchesContract",
    "CallsHarness",
    "DurableCallsContract",
    "EffectsContract",
    "EventLogContract",
    "FunctionPausesContract",
    "Harness",
    "LedgerContract",
    "OutboxContract",
    "OverviewContract",
    "PausesContract",
    "PlansContract",
    "RemainsContract",
    "ReportsContract",
    "SamplesContract",
    "SlotsContract",
    "WakesContract",
]
