"""Every error that attend raises.

AttendError
├── ConfigError            settings that are wrong, or cannot work together
├── EventError             one event or line that cannot be taken; its neighbours can
├── OutboxFullError        the scope's outbox or dead-letter lane is at its cap
├── ConflictError          other writers won the scope eight times running
├── StateFormatError       stored state that this version cannot read
├── AlreadyAttachedError   a source of this key is attached to this scope already
├── PermanentError         raised by a judge or sink: do not try again
│   ├── JudgeRejectedError      a judge's server turned the request down for good (also a JudgeError)
│   │   ├── ContextLengthError      the window is too long for the model
│   │   └── ImagesRejectedError     it does not take the pictures
│   ├── JudgeRefusedError       the model refused to answer (also a JudgeError)
│   └── SinkRejectedError       a receiver will never take this decision (also a SinkError)
├── JudgeError             a judge's server could not be reached, failed, or answered what cannot be read
├── SinkError              a receiver could not be reached, failed, or did not take a decision
├── ClientError            a server of attend did not do what a client asked
│   ├── UnreachableError       it did not answer, or could not take it now, for as long as the client waited
│   └── AnswerError            it turned the request down, or is no attend
└── StoreError             the store did not take or give what it was asked
    ├── StoreUnavailableError   it cannot be reached, or cannot write now; try again
    └── StoreCorruptError       a key holds something that attend never wrote
"""

from __future__ import annotations


class AttendError(Exception):
    """The base of every error of attend."""


class ConfigError(AttendError):
    """Raised when settings are wrong or cannot work together; `problems` lists each, one line a problem."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


class EventError(AttendError):
    """Raised when an event cannot be taken.

    `code` is one of the documented ingest codes, the message says what is wrong and what would be right.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class OutboxFullError(AttendError):
    """Raised when a push meets a scope whose outbox or dead-letter lane is at its cap.

    Nothing of the push was taken. `lane` is `"outbox"` or `"dead letters"`.
    """

    def __init__(self, scope: str, lane: str, size: int) -> None:
        self.scope = scope
        self.lane = lane
        super().__init__(
            f"scope {scope!r}: its {lane} lane is full ({size}); it takes events again once it drains"
        )


class ConflictError(AttendError):
    """Raised when other writers won the scope at every one of the allowed attempts; nothing was written."""

    def __init__(self, scope: str, attempts: int) -> None:
        self.scope = scope
        super().__init__(f"scope {scope!r}: another writer committed first, {attempts} times in a row")


class StateFormatError(AttendError):
    """Raised when a stored state was written by a newer attend, or cannot be read: it is never guessed at."""


class AlreadyAttachedError(AttendError):
    """Raised when a source with this key is attached to this scope already, in this process."""


class PermanentError(AttendError):
    """Raise it from a judge, a sink or a source to say that trying again cannot help."""


class JudgeError(AttendError):
    """Raised when a judge gave no verdict: not reached, over its rate, broken, or an answer that cannot be read.

    Trying again can help, unless it is a `PermanentError` too. `status` is the response's, None without one;
    `request_id` is what the other side calls the request; `retry_after_ms` is the least wait it asked for. The
    message holds no key and no text of an event.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        request_id: str | None = None,
        retry_after_ms: int | None = None,
    ) -> None:
        self.status = status
        self.request_id = request_id
        self.retry_after_ms = retry_after_ms
        super().__init__(message)


class JudgeRejectedError(JudgeError, PermanentError):
    """Raised when a judge's server turns the request down for good: a wrong key, no quota, an unknown model."""


def is_down(error: BaseException) -> bool:
    """Whether a judge could not be asked at all: it was turned down for good, and not for what is in the window."""
    return isinstance(error, JudgeRejectedError) and not isinstance(
        error, ContextLengthError | ImagesRejectedError
    )


class ContextLengthError(JudgeRejectedError):
    """Raised when a window is too long for the model. A hosted judge halves the window once before it gives up."""


class ImagesRejectedError(JudgeRejectedError):
    """Raised when the pictures are not taken. A hosted judge asks once more without them before it gives up."""


class JudgeRefusedError(JudgeError, PermanentError):
    """Raised when the model refused the question about the route."""


class SinkError(AttendError):
    """Raised when a receiver did not take a decision. Trying again can help, unless it is a `PermanentError` too.

    `status` is the response's, None without one; `retry_after_ms` is the least wait it asked for. The message holds
    no secret and no text of an event.
    """

    def __init__(self, message: str, *, status: int | None = None, retry_after_ms: int | None = None) -> None:
        self.status = status
        self.retry_after_ms = retry_after_ms
        super().__init__(message)


class SinkRejectedError(SinkError, PermanentError):
    """Raised when a receiver says that it will never take this decision: it is gone, or the decision is too large."""


class ClientError(AttendError):
    """The base of what a client of a server raises."""


class UnreachableError(ClientError):
    """Raised when a server did not answer, or could not take what it was sent, for as long as the client waited."""


class AnswerError(ClientError):
    """Raised when a server turned a request down for good, or answered what no attend answers.

    `status` is the answer's; `code` is one of the documented codes, or "" where there was none.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status = status
        self.code = code
        super().__init__(message)


class StoreError(AttendError):
    """The base of a store's errors."""


class StoreUnavailableError(StoreError):
    """Raised when the store cannot be reached or cannot write now. Nothing is known to be lost; try again."""


class StoreCorruptError(StoreError):
    """Raised when a key holds something attend never wrote, such as a value of another type."""
