"""`attend explain ID`: why a decision is what it is, and where it is by now."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from attend.cli.remote import client_of
from attend.cli.screen import clock, complain, count, one_line, span
from attend.client import Client
from attend.core.explain import Arriving, Delivery, Explanation, Judging, Start
from attend.errors import AnswerError, UnreachableError

SHOWN = 40
"""Events that are shown: the last ones."""


def run_explain(id: str, given: Mapping[str, Sequence[str]], *, as_json: bool) -> int:
    """Explain a decision, and return the exit code: 0, 1 where it is not known, 3 where nobody could be asked."""
    client = client_of(given, os.environ)
    try:
        return asyncio.run(_explain(client, id, as_json=as_json))
    except KeyboardInterrupt:
        return 0


async def _explain(client: Client, id: str, *, as_json: bool) -> int:
    async with client:
        try:
            found = await client.explain(id)
        except UnreachableError as error:
            complain(str(error))
            return 3
        except AnswerError as error:
            complain(f"the server turned it down: {error}")
            return 2
    if found is None:
        complain("no such decision is kept, or it is not yours to see")
        return 1
    if as_json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    else:
        for line in told(found):
            print(line)
    return 0


def told(found: Explanation) -> Iterator[str]:
    """An explanation in lines: why it settled, its events, who judged and how, and where it went."""
    settled = found.settled
    yield f"{found.decision_id}  {found.route or 'no decision'}  {one_line(found.scope)}"
    yield f"  settled     {clock(settled.at)}, {settled.reason}: {one_line(settled.why)}"
    said = [f"{count(len(found.events), 'event')}, {count(settled.bytes, 'byte')}"]
    said += [f"{settled.dropped} shed before"] if settled.dropped else []
    said += ["a source lost some before"] if settled.gap else []
    said += [f"held {count(settled.waits, 'time')}"] if settled.waits else []
    yield f"  window      {', '.join(said)}"
    if len(found.events) > SHOWN:
        yield f"    ... {len(found.events) - SHOWN} before these"
    for event in found.events[-SHOWN:]:
        text = "" if event.text is None else f"  {one_line(event.text)[:80]}"
        before = f"{span(max(0, event.before_settle_ms))} before"
        words = f"{event.kind:<11}  {one_line(event.name)} ({one_line(event.id)}){text}"
        yield f"    {clock(event.accepted_at)}  {before:<14}  {words}"
    if found.judging is not None:
        yield from _judging(found.judging)
    if found.logged is not None:
        place = "" if found.logged.n is None else f", row {found.logged.n}, {found.logged.id}"
        yield f"  logged      {clock(found.logged.at)}{place}"
    yield from _delivery(found.delivery)


def _judging(judging: Judging) -> Iterator[str]:
    who = judging.judge or "a judge that gives no name"
    took = "" if judging.ms is None else f" in {span(judging.ms)}"
    if judging.degraded:
        who, took = "the rule, since the judge was down", ""
    yield f"  judged      {judging.route}, by {one_line(who)}{took}"
    if judging.offered is not None:
        yield f"    offered   {', '.join(judging.offered)}"
    shares = {"probable": judging.probabilities, "answers": judging.predicates}
    for name, found in shares.items():
        if found:
            ranked = sorted(found.items(), key=lambda each: -each[1])
            yield f"    {name:<9} {', '.join(f'{one_line(key)} {value:.3f}' for key, value in ranked)}"
    if judging.confidence is not None:
        yield f"    sure      {judging.confidence:.3f}"
    if judging.threshold is not None:
        limit = judging.threshold
        acts = "no probabilities" if limit.act_share is None else f"p(act) {limit.act_share:.3f}"
        changed = f"{limit.judged} became {limit.route}" if limit.changed else "changed nothing"
        yield f"    threshold {limit.threshold:g}, {acts}: {changed}"
    if judging.facts is not None:
        yield f"    facts     {one_line(msgspec.json.encode(judging.facts).decode())[:400]}"
    elif judging.facts_bytes:
        yield f"    facts     {judging.facts_bytes} bytes, too many to keep"
    if judging.images:
        yield f"    images    {judging.images}"
    yield f"    starts    {judging.starts}"
    yield from _past(judging.past)


def _delivery(delivery: Delivery) -> Iterator[str]:
    at = "" if delivery.at is None else f" {clock(delivery.at)}"
    words = {
        Arriving.LOGGED: "no sink takes it: whoever reads the log has it",
        Arriving.WAITING: "waits for the sink"
        + ("" if delivery.next_at is None else f", next at {clock(delivery.next_at)}"),
        Arriving.DELIVERED: f"the sink took it{at}",
        Arriving.DEAD: f"a dead letter since{at}",
        Arriving.BURIED: f"the dead-letter handler took it{at}",
    }[delivery.status]
    starts = "" if delivery.starts is None else f", start {delivery.starts}"
    yield f"  delivery    {words}{starts}"
    if delivery.message is not None:
        yield f"    {delivery.stage} gave up: {one_line(delivery.message)[:200]}"
    yield from _past(delivery.past)


def _past(past: Sequence[Start]) -> Iterator[str]:
    for start in past:
        message = f": {one_line(start.message)}" if start.message else ""
        yield f"    {clock(start.at)}  {start.end}{message}"
