"""What every store of durable calls promises: claims under tokens and leases, and one guarded end of each (F6, H39)."""

from __future__ import annotations

from wow_ray.testing.contract.call_claims import CallClaims
from wow_ray.testing.contract.call_ends import CallEnds
from wow_ray.testing.contract.call_requests import CallRequests


class DurableCallsContract(CallClaims, CallEnds, CallRequests):
    """The whole contract of `DurableCalls`."""
