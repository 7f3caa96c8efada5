"""The example of durable functions: what an order's fulfilment must end with, whatever fails on the way."""
