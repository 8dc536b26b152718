"""The engine in your own process: push events, and have a handler called with what the agent should hear."""

import asyncio

from attend import Attend, Decision, default_notice, routes


async def tell(decision: Decision) -> None:
    """Carry a decision out: here, by printing it."""
    print(f"[{decision.route}]\n{default_notice(decision)}", flush=True)


async def main() -> None:
    """A failed build wakes nobody; the user's message does, and brings the build along."""
    app = Attend(kind={"user.message": "flush"}, sink=routes(interrupt=tell, queue=tell, note=tell, ask=tell))
    running = asyncio.create_task(app.run())
    await app.push(
        "session-1",
        [
            {"name": "build.failed", "text": "Build 4521 failed: 1 test"},
            {"name": "user.message", "text": "can you look?"},
        ],
    )
    await asyncio.sleep(1)
    running.cancel()


asyncio.run(main())
