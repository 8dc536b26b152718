"""A scope's report as text: why it has not settled first, then its deadlines, then what is where."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from attend.cli.screen import clock, count, one_line, span, until
from attend.core.report import Report, Trying, WindowReport, Work
from attend.core.types import letter_id
from attend.core.why import Status

SHOWN = 8
"""Events, decisions and letters that are shown of each."""

STYLES = {
    Status.EMPTY: "dim",
    Status.NO_ACT: "yellow",
    Status.OPEN: "green",
    Status.HELD: "magenta",
    Status.DUE: "bold yellow",
    Status.JUDGING: "cyan",
    Status.RETRYING: "bold yellow",
    Status.LOST: "bold red",
}


def portrait(found: Report, now: int) -> Text:
    """The report at an instant, which may be later than it was made."""
    text = Text()
    for place, (words, style) in enumerate(_lines(found, now)):
        text.append("\n" if place else "")
        text.append(words, style)
    return text


def _lines(found: Report, now: int) -> Iterator[tuple[str, str]]:
    yield one_line(found.scope), "bold"
    yield f"  {found.status}: {one_line(found.why)}", STYLES[found.status]
    if found.full is not None:
        yield f"  its {found.full} lane is full: it takes no more events until that drains", "bold red"
    if found.deadlines:
        wait = "; they wait for the judge" if found.judging is not None else ""
        yield f"  deadlines{wait}", "bold"
        for deadline in found.deadlines:
            yield f"    {deadline.reason:<10}  {clock(deadline.at)}  {until(deadline.at, now)}", ""
    yield from _open(found, now)
    if found.held is not None:
        yield f"  held        {_window(found.held)}, told to wait {_times(found.held.waits)}", "bold"
    if found.judging is not None:
        yield f"  judging     {_window(found.judging)}, {_work(found.judging.work, now)}", "bold"
        yield f"    may answer {', '.join(found.judging.routes)}", ""
    yield from _lanes(found, now)
    if found.recent:
        yield "  verdicts of late", "bold"
        for verdict in reversed(found.recent):
            about = f"{verdict.reason}, {count(verdict.event_count, 'event')}  {verdict.window_id}"
            yield f"    {clock(verdict.at)}  {verdict.route:<9}  {about}", ""
    if found.cursors:
        yield "  sources, and how far they are read", "bold"
        for source, cursor in found.cursors.items():
            yield f"    {one_line(source)}  {one_line(cursor)[:80]}", ""


def _open(found: Report, now: int) -> Iterator[tuple[str, str]]:
    window = found.open
    if not window.event_count:
        yield "  open        nothing", "bold"
        return
    said = [count(window.event_count, "event"), count(window.acts, "act"), f"{window.bytes} bytes"]
    if window.dropped:
        said.append(f"{window.dropped} dropped")
    if window.gap:
        said.append("with a gap before it")
    yield f"  open        {', '.join(said)}", "bold"
    shown = window.events[-SHOWN:]
    if window.event_count > len(shown):
        yield f"    ... {window.event_count - len(shown)} before these", "dim"
    for event in shown:
        words = f"{event.kind:<11}  {one_line(event.name)}"
        if event.text:
            words += f"  {one_line(event.text)[:80]}"
        yield f"    {clock(event.accepted_at)}  {words}", ""


def _lanes(found: Report, now: int) -> Iterator[tuple[str, str]]:
    outbox, letters = found.outbox, found.dead_letters
    if outbox.count or outbox.sink:
        yield f"  outbox      {outbox.count} of {outbox.limit}", "bold"
    for place, parcel in enumerate(outbox.decisions[:SHOWN]):
        work = _work(parcel.work, now) if place == 0 else "waits for the one before it"
        yield f"    {parcel.decision_id}  {count(parcel.event_count, 'event')}, {work}", ""
    if letters.count:
        kept = "" if letters.handler else ", kept until there is a handler (--dead-letter)"
        yield f"  dead        {letters.count} of {letters.limit}{kept}", "bold red"
    if letters.count:
        yield "    attend dead show|retry|drop ID sees to one, on the machine of the store", "dim"
    for letter in letters.letters[:SHOWN]:
        what = f"{letter.stage} gave up after {count(letter.starts, 'start')}"
        yield (
            f"    {clock(letter.at)}  {letter_id(letter.window_id)}  {what}: {one_line(letter.message)[:200]}",
            "",
        )


def _window(window: WindowReport) -> str:
    said = [count(window.event_count, "event"), f"settled {clock(window.settled_at)} ({window.reason})"]
    if window.dropped:
        said.append(f"{window.dropped} dropped")
    if window.gap:
        said.append("with a gap before it")
    return ", ".join(said)


def _work(work: Work, now: int) -> str:
    how = {
        Trying.RUNNING: f"running, its lease ends {until(work.until, now)}",
        Trying.LOST: f"lost: its lease ended {until(work.until, now)}",
        Trying.WAITING: f"starts {until(work.until, now)}",
        Trying.DUE: f"due for {span(max(0, now - work.until))}",
    }[work.status]
    tries = [
        f"{number} {word}" for number, word in ((work.failures, "failed"), (work.losses, "lost")) if number
    ]
    before = f" (start {work.starts}; before: {', '.join(tries)})" if tries else ""
    return how + before + (", apart from the others" if work.suspect else "")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
