"""The keys of webhook subscriptions, under the prefix that `attend.store.keys` gives."""

from __future__ import annotations


class SubscriptionKeys:
    """Hashes and sets with a field or a member for each subscription, by its id."""

    def __init__(self, base: str) -> None:
        self._verified = f"{base}verified:"
        self.kept = f"{base}subs"  # hash: `<version> <record>`
        self.wants = f"{base}subs:wants"  # hash: what each wants of the log; n counts changes of that
        self.count = f"{base}subs:count"  # hash: how many each owner has
        self.due = f"{base}due:webhook"  # zset: score = when it is due
        self.idle = f"{base}subs:idle"  # set: those that wait for news
        self.more = f"{base}subs:more"  # set: those that there was news for meanwhile
        self.all = (self.kept, self.wants, self.count, self.due, self.idle, self.more)

    def verified(self, name: str) -> str:
        """string: there while an endpoint counts as verified; it expires by itself."""
        return self._verified + name
