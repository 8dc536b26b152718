"""attend: decide when an event should wake your agent."""

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
    AttendError,
    ConfigError,
    ConflictError,
    EventError,
    OutboxFullError,
    PermanentError,
    StateFormatError,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
)
from attend.judges.base import Judge, JudgeImage, JudgeInput
from attend.judges.rule import rule
from attend.sinks.base import Sink
from attend.sinks.routes import routes
from attend.source import Emit, Source
from attend.store.memory import MemoryStore
from attend.trace import Observer, Trace, log_traces
from attend.version import __version__

__all__ = [
    "AlreadyAttachedError",
    "Attend",
    "AttendError",
    "Clock",
    "ConfigError",
    "ConflictError",
    "DeadLetter",
    "Decision",
    "Emit",
    "Event",
    "EventError",
    "Judge",
    "JudgeImage",
    "JudgeInput",
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
    "Route",
    "Rules",
    "Sink",
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
    "Window",
    "__version__",
    "default_notice",
    "log_traces",
    "routes",
    "rule",
]
