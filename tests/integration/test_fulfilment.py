"""The example of durable functions ends consistent while calls fail and workers are killed."""

from __future__ import annotations

from examples.fulfilment.test_fulfilment import test_everything_comes_true_in_the_end

__all__ = ["test_everything_comes_true_in_the_end"]
