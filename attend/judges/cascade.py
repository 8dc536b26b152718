"""A cheap judge first, a dearer one where it is unsure."""

from __future__ import annotations

from attend.core.threshold import normalised
from attend.core.types import Judgment
from attend.errors import ConfigError
from attend.judges.base import Judge, JudgeInput
from attend.judges.budget import Budget, budget_of


class Cascade:
    """The judge that `cascade` makes."""

    def __init__(self, judges: tuple[Judge, ...], below: float) -> None:
        self._judges = judges
        self._below = below
        declared: list[Budget] = [each for each in map(budget_of, judges) if each is not None]
        self.budget: Budget | None = min(declared, default=None, key=lambda each: each.room(0, 0) or 0)
        """The smallest that any of its judges declares: a window must fit whichever it comes to."""
        self.context_tokens = None if self.budget is None else self.budget.context_tokens
        """What that one reads, in tokens; None where nobody said."""

    def __repr__(self) -> str:
        return f"<cascade of {len(self._judges)} judges, below {self._below}>"

    async def __call__(self, input: JudgeInput, /) -> Judgment:
        """The first judgment that is sure, or the last. What a judge raises comes out: none is passed over."""
        judgment: Judgment | None = None
        for judge in self._judges:
            judgment = await judge(input)
            if _sureness(judgment, input) >= self._below:
                break
        assert judgment is not None
        return judgment

    async def aclose(self) -> None:
        """Closes each of its judges that can be closed."""
        for judge in self._judges:
            close = getattr(judge, "aclose", None)
            if close is not None:
                await close()


def _sureness(judgment: Judgment, input: JudgeInput) -> float:
    if judgment.confidence is not None:
        return judgment.confidence
    shares = normalised(judgment.probabilities, input.routes)
    return max(shares.values()) if shares else 1.0


def cascade(*judges: Judge, below: float = 0.6) -> Cascade:
    """A judge that asks these in turn until one is sure: at `below` or above.

    That is its `confidence` where it gives one, else the largest of its probabilities over the routes on offer; a
    judgment with neither is sure. The judgment says which of them it is from. An error ends the call, and attend
    tries the whole again. Raises `ConfigError`.
    """
    if not judges:
        raise ConfigError("cascade: give it at least one judge")
    if not 0 < below <= 1:
        raise ConfigError(f"cascade: below is {below}, it must be above 0 and at most 1")
    return Cascade(judges, below)
