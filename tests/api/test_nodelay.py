"""What a connection is told of the network."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.api.conftest import Serve

pytestmark = pytest.mark.anyio


def _accepted_from(client: socket.socket) -> Iterator[socket.socket]:
    for number in range(3, 1024):
        try:
            found = socket.socket(fileno=os.dup(number))
        except OSError:
            continue
        with found:
            try:
                if found.getpeername() == client.getsockname():
                    yield found
            except OSError:
                continue


async def test_the_second_half_of_an_answer_does_not_wait_for_word_of_the_first(served: Serve) -> None:
    async with served(run=False) as (_, server):
        url = httpx.URL(server.url())
        reader, writer = await asyncio.open_connection(url.host, url.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        client = writer.get_extra_info("socket")
        ends = [each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for each in _accepted_from(client)]
        assert ends
        assert all(ends)
        writer.close()
        await writer.wait_closed()
