"""A store in this process's memory, with the meaning of the real one: for tests, and for trying things out."""

from wow_ray.adapters.memory.effects import Connection, MemoryTransaction
from wow_ray.adapters.memory.faults import Gate, Operation
from wow_ray.adapters.memory.store import MemoryStore

__all__ = ["Connection", "Gate", "MemoryStore", "MemoryTransaction", "Operation"]
