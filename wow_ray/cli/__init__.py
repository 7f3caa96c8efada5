"""The `wow-ray` command: what developers and operators type."""

from wow_ray.cli.program import main

__all__ = ["main"]
