"""What tests of attend, and of what is built on it, stand on.

A clock of one's own, a judge that says what it was told to and a sink that remembers; crashes at any commit; the
suites that a store must pass. The names are looked up when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attend.testing.clock import FakeClock, fake_clock
    from attend.testing.conformance import decision_log_conformance, scope_store_conformance
    from attend.testing.crash import Crash, CrashingStore
    from attend.testing.crashes import crash_suite, multi_scope_crash_suite
    from attend.testing.eventlogs import event_log_conformance
    from attend.testing.harness import Act, Advance, Harness, Outcome, Push, Request
    from attend.testing.script import (
        Answer,
        RecordingSink,
        ScriptedError,
        ScriptedJudge,
        fail,
        hang,
        permanent,
        recording_sink,
        scripted_judge,
    )
    from attend.testing.suite import Case, MakeStore
    from attend.testing.threshold import Candidate, Suggestion, suggest_threshold
    from attend.testing.trials import Trial, trial

__all__ = [
    "Act",
    "Advance",
    "Answer",
    "Candidate",
    "Case",
    "Crash",
    "CrashingStore",
    "FakeClock",
    "Harness",
    "MakeStore",
    "Outcome",
    "Push",
    "RecordingSink",
    "Request",
    "ScriptedError",
    "ScriptedJudge",
    "Suggestion",
    "Trial",
    "crash_suite",
    "decision_log_conformance",
    "event_log_conformance",
    "fail",
    "fake_clock",
    "hang",
    "multi_scope_crash_suite",
    "permanent",
    "recording_sink",
    "scope_store_conformance",
    "scripted_judge",
    "suggest_threshold",
    "trial",
]

_HOMES = {
    "clock": ("FakeClock", "fake_clock"),
    "conformance": ("decision_log_conformance", "scope_store_conformance"),
    "crash": ("Crash", "CrashingStore"),
    "crashes": ("crash_suite", "multi_scope_crash_suite"),
    "eventlogs": ("event_log_conformance",),
    "harness": ("Act", "Advance", "Harness", "Outcome", "Push", "Request"),
    "script": (
        "Answer",
        "RecordingSink",
        "ScriptedError",
        "ScriptedJudge",
        "fail",
        "hang",
        "permanent",
        "recording_sink",
        "scripted_judge",
    ),
    "suite": ("Case", "MakeStore"),
    "threshold": ("Candidate", "Suggestion", "suggest_threshold"),
    "trials": ("Trial", "trial"),
}
_HOME = {name: f"attend.testing.{module}" for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'attend.testing' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
