"""Both sides in one process: the server as a library call, and an agent that listens with the official MCP client."""

import asyncio
import json

import httpx
from mcp import Client
from mcp_types import TextContent

from attend import Attend, JudgeInput, Judgment
from attend.api import serve


async def judge(input: JudgeInput) -> Judgment:
    """Wake the agent for an alert; the rest is for its next turn."""
    alert = any(event.name == "alert.fired" for event in input.window.events)
    return Judgment("interrupt" if alert else "note")


async def wait(agent: Client, **arguments: object) -> dict[str, object]:
    """Call the tool that answers when there is something to hear."""
    result = await agent.call_tool("attend_wait", arguments)
    assert isinstance(result.content[0], TextContent)
    answer: dict[str, object] = json.loads(result.content[0].text)
    return answer


async def main() -> None:
    """Serve, listen, post an alert with the line that led to it, and hear of both."""
    app = Attend(kind={"alert.fired": "closing"}, judge=judge)
    server = serve(app, port=0)
    await server.ready()
    print(f"attend serving {server.url()}")
    async with Client(f"{server.url()}/mcp") as agent, httpx.AsyncClient() as producer:
        now = await wait(agent, waitSeconds=0)
        lines = [
            {"scope": "ops/db", "name": "replica.lag", "text": "db-2 is 40 s behind"},
            {"scope": "ops/db", "name": "alert.fired", "text": "reads on db-2 are stale"},
        ]
        body = "\n".join(map(json.dumps, lines))
        reply = await producer.post(f"{server.url()}/v1/ingest", content=body)
        print(f"ingested: {reply.text}")
        heard = await wait(agent, cursor=now["cursor"], waitSeconds=30)
        for decision in heard["decisions"]:  # type: ignore[attr-defined]
            print(f"[{decision['route']}] {decision['scope']}\n{decision['notice']}")
    await server.close()


asyncio.run(main())
