"""The event streams of the main job: recorded ones where the checkout has them beside it, else one made here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.rig.service import split

_DATA = Path(__file__).parents[3] / "shared" / "data"


def machine_log() -> tuple[list[bytes], set[str]]:
    """A machine's log as ingest lines, and the ids of those that its operators marked as alerts."""
    recorded, marked = _DATA / "bgl-2k.ndjson", _DATA / "bgl-2k.alerts.ndjson"
    if recorded.exists() and marked.exists():
        tagged: set[str] = {json.loads(line)["id"] for line in split(marked.read_bytes())}
        return split(recorded.read_bytes()), tagged
    lines: list[bytes] = []
    alerts: set[str] = set()
    for n in range(2000):
        level = "fatal" if n % 14 == 0 else "severe" if n % 333 == 0 else "info"
        if level == "fatal":
            alerts.add(f"log-{n}")
        lines.append(
            _line(
                scope=f"rack/R{n % 66:02}",
                id=f"log-{n}",
                at=1_117_813_370_000 + n * 1000,
                name=f"ras.kernel.{level}",
                data={"node": f"R{n % 66:02}-M0", "n": n},
                text=f"line {n}: {'machine check' if level != 'info' else 'parity error corrected'}",
            )
        )
    return lines, alerts


def webhooks() -> list[bytes]:
    """Webhook payloads of a forge as ingest lines: deep, large, of many types."""
    recorded = _DATA / "github-webhooks.ndjson"
    if recorded.exists():
        return split(recorded.read_bytes())
    return [
        _line(
            scope=f"repo:acme/{n % 15}",
            id=f"hook-{n}",
            at=1_760_570_000_000 + n * 250,
            name=f"thing{n % 58}.edited",
            data={
                "number": 2**60 + n,
                "ratio": n / 7,
                "none": None,
                "flag": n % 2 == 0,
                "nested": [{"name": f"nämë \u2028 {n}", "list": list(range(n % 40))}] * (n % 20),
            },
        )
        for n in range(329)
    ]


def _line(**event: Any) -> bytes:
    return json.dumps(event, ensure_ascii=False).encode()
