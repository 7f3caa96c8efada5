"""The console beside a program in the foreground."""

from __future__ import annotations

import socket

from wow_ray.cli import console
from wow_ray.settings import load


def test_an_answer_does_not_wait_for_what_its_reader_says_to_its_beginning() -> None:
    """P0: head and body are two writes; with Nagle's algorithm the second waits for an acknowledgement, some 40 ms."""
    server = console._listening(load({"ops": {"port": 0}}, None, {}))  # noqa: SLF001 - what a connection is made of
    with server, socket.create_connection(server.getsockname()), server.accept()[0] as accepted:
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
