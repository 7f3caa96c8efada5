"""The operators' API over HTTP: a FastAPI application that calls `Operations` and decides nothing itself."""

from wow_ray.ops.http.application import api

__all__ = ["api"]
