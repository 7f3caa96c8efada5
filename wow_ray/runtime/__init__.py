"""What is driven: feed, lanes, attempts, commits, parking, drains.

Asyncio only: no driver, no Ray, no clock of the machine.

One `Partition` owns a set of slots and runs whole in one process; what it needs of the world comes through
`wow_ray.ports`.
"""
