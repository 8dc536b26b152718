"""attend: decide when an event should wake your agent.

The names here are looked up when they are first used, so that whoever needs a part loads that part only.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attend.app import Attend
    from attend.clock import Clock, SystemClock
    from attend.core.event import NewEvent
    from attend.core.kinds import Kinds
    from attend.core.notice import default_notice
    from attend.core.rules import Rules
    from attend.core.step import Taken
    from attend.core.types import (
        DeadLetter,
        Decision,
        Event,
        Judgment,
        Kind,
        Reason,
        Recent,
        Route,
        Stage,
        Summary,
        Window,
    )
    from attend.errors import (
        AlreadyAttachedError,
        AnswerError,
        AttendError,
        ClientError,
        ConfigError,
        ConflictError,
        ContextLengthError,
        EventError,
        ImagesRejectedError,
        JudgeError,
        JudgeRefusedError,
        JudgeRejectedError,
        OutboxFullError,
        PermanentError,
        SinkError,
        SinkRejectedError,
        StateFormatError,
        StoreCorruptError,
        StoreError,
        StoreUnavailableError,
        UnreachableError,
    )
    from attend.eventlog.base import EventLog, EventPage
    from attend.eventlog.memory import memory_log
    from attend.eventlog.redis import redis_log
    from attend.eventlog.source import log_source
    from attend.judges.base import Judge, JudgeImage, JudgeInput
    from attend.judges.cascade import cascade
    from attend.judges.criteria import DEFAULT_CRITERIA, DEFAULT_SYSTEM
    from attend.judges.decisions import decisions_judge
    from attend.judges.jev import jev_judge
    from attend.judges.llm import llm_judge
    from attend.judges.rule import rule
    from attend.sinks.base import Sink
    from attend.sinks.routes import routes
    from attend.sinks.webhook import webhook
    from attend.source import Emit, Source
    from attend.store.memory import MemoryStore
    from attend.store.redis import RedisStore
    from attend.trace import Observer, Trace, log_traces
    from attend.version import __version__

__all__ = [
    "DEFAULT_CRITERIA",
    "DEFAULT_SYSTEM",
    "AlreadyAttachedError",
    "AnswerError",
    "Attend",
    "AttendError",
    "ClientError",
    "Clock",
    "ConfigError",
    "ConflictError",
    "ContextLengthError",
    "DeadLetter",
    "Decision",
    "Emit",
    "Event",
    "EventError",
    "EventLog",
    "EventPage",
    "ImagesRejectedError",
    "Judge",
    "JudgeError",
    "JudgeImage",
    "JudgeInput",
    "JudgeRefusedError",
    "JudgeRejectedError",
    "Judgment",
    "Kind",
    "Kinds",
    "MemoryStore",
    "NewEvent",
    "Observer",
    "OutboxFullError",
    "PermanentError",
    "Reason",
    "Recent",
    "RedisStore",
    "Route",
    "Rules",
    "Sink",
    "SinkError",
    "SinkRejectedError",
    "Source",
    "Stage",
    "StateFormatError",
    "StoreCorruptError",
    "StoreError",
    "StoreUnavailableError",
    "Summary",
    "SystemClock",
    "Taken",
    "Trace",
    "UnreachableError",
    "Window",
    "__version__",
    "cascade",
    "decisions_judge",
    "default_notice",
    "jev_judge",
    "llm_judge",
    "log_source",
    "log_traces",
    "memory_log",
    "redis_log",
    "routes",
    "rule",
    "webhook",
]

_HOMES = {
    "attend.version": ("__version__",),
    "attend.app": ("Attend",),
    "attend.clock": ("Clock", "SystemClock"),
    "attend.core.event": ("NewEvent",),
    "attend.core.kinds": ("Kinds",),
    "attend.core.notice": ("default_notice",),
    "attend.core.rules": ("Rules",),
    "attend.core.step": ("Taken",),
    "attend.core.types": (
        "DeadLetter",
        "Decision",
        "Event",
        "Judgment",
        "Kind",
        "Reason",
        "Recent",
        "Route",
        "Stage",
        "Summary",
        "Window",
    ),
    "attend.errors": (
        "JudgeError",
        "JudgeRefusedError",
        "ContextLengthError",
        "JudgeRejectedError",
        "ImagesRejectedError",
        "AlreadyAttachedError",
        "AnswerError",
        "AttendError",
        "ClientError",
        "ConfigError",
        "ConflictError",
        "EventError",
        "OutboxFullError",
        "PermanentError",
        "SinkError",
        "SinkRejectedError",
        "StateFormatError",
        "StoreCorruptError",
        "StoreError",
        "StoreUnavailableError",
        "UnreachableError",
    ),
    "attend.eventlog.base": ("EventLog", "EventPage"),
    "attend.eventlog.memory": ("memory_log",),
    "attend.eventlog.redis": ("redis_log",),
    "attend.eventlog.source": ("log_source",),
    "attend.judges.base": ("Judge", "JudgeImage", "JudgeInput"),
    "attend.judges.cascade": ("cascade",),
    "attend.judges.criteria": ("DEFAULT_CRITERIA", "DEFAULT_SYSTEM"),
    "attend.judges.decisions": ("decisions_judge",),
    "attend.judges.jev": ("jev_judge",),
    "attend.judges.llm": ("llm_judge",),
    "attend.judges.rule": ("rule",),
    "attend.sinks.base": ("Sink",),
    "attend.sinks.routes": ("routes",),
    "attend.sinks.webhook": ("webhook",),
    "attend.source": ("Emit", "Source"),
    "attend.store.memory": ("MemoryStore",),
    "attend.store.redis": ("RedisStore",),
    "attend.trace": ("Observer", "Trace", "log_traces"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'attend' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
