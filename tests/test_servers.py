"""The test servers themselves: what they kept is there after a kill -9 where they were told to keep it."""

from __future__ import annotations

from collections.abc import Callable

from tests.servers import Server, free_port, plain_client


def test_a_server_with_an_append_only_file_keeps_its_keys_over_a_kill(
    new_server: Callable[..., Server],
) -> None:
    server = new_server("--appendonly", "yes", "--appendfsync", "always", port=free_port())
    with plain_client(server.tcp_url) as client:
        client.set("a", "1")
    server.restart()
    with plain_client(server.url) as client:
        assert client.get("a") == b"1"


def test_both_servers_answer(valkey: Server, redis_server: Server) -> None:
    for server in (valkey, redis_server):
        with plain_client(server.url) as client:
            assert client.ping()
