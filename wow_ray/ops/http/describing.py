"""What OpenAPI cannot be told by the routes: who may ask, and that problems are `application/problem+json`."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from wow_ray.ops.access.sessions import COOKIE
from wow_ray.ops.http.problems import MEDIA

SCHEMES = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "made by `wow-ray token`; needed where tokens are set",
    },
    "session": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "of the console, after signing in"},
}
OPEN = ("/healthz", "/readyz")


def describe(app: FastAPI) -> None:
    """Have the application's OpenAPI say it."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            _finish(made())
        return made()

    app.openapi = openapi  # type: ignore[method-assign] # as FastAPI says it is done


def _finish(schema: dict[str, Any]) -> None:
    """Change what FastAPI has made, which it keeps."""
    schema["components"]["securitySchemes"] = SCHEMES
    schema["security"] = [{name: []} for name in SCHEMES]
    for path, methods in schema["paths"].items():
        for operation in methods.values():
            if path in OPEN:
                operation["security"] = []
            for answer in operation["responses"].values():
                content = answer.get("content", {})
                # A model is put under the type of what the route answers when all goes well.
                if MEDIA in content:
                    answer["content"] = {MEDIA: next(each for each in content.values() if each)}
