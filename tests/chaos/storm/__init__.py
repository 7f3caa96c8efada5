"""A cluster under load that is torn at in every way at once, and an account of what became of every event.

`ground` is what stands there: a Ray of three nodes, a Postgres, a Redis and the way between them. `faults` are what is
done to it, `weather` in which order, `verdict` whether anything was lost, out of order, or repeated beyond the bound.
"""
