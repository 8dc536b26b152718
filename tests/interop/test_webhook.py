"""`@ai-sdk/mcp`, whose events come by webhook."""

from __future__ import annotations

from pathlib import Path

from tests.interop.npm import run
from tests.rig.service import Service

TOKEN = "a-token-of-a-test"


def test_the_client_is_verified_hears_each_decision_refreshes_and_ends_it(tmp_path: Path) -> None:
    options = ("--store", "memory", "--port", "0", "--kinds", '{"user.*":"flush"}', "--token", TOKEN)
    service = Service("serve", *options, "--webhooks", "local", log=tmp_path / "log")
    try:
        said = run("webhook.mjs", service.wait_ready().url, TOKEN, "interop/webhook")
    finally:
        service.stop()
    assert said["errors"] == []
    assert said["challenges"] == 1
    assert said["same"] is True
    assert len(said["events"]) == len(set(said["events"])) == 2
