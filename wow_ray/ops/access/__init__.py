"""Who may look and who may act: tokens with roles, sessions of browsers, and what is refused at once."""

from wow_ray.ops.access.access import Access, Visitor
from wow_ray.ops.access.roles import Role
from wow_ray.ops.access.source import TokenSource
from wow_ray.ops.access.tokens import Holder, TokenBook, made_token

__all__ = ["Access", "Holder", "Role", "TokenBook", "TokenSource", "Visitor", "made_token"]
