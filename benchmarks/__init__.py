"""Benchmarks: `python -m benchmarks NAME`; one question each, answered as a table and as JSON."""
