"""The rules: pure functions and their types, with no I/O and no clock.

Needs the standard library and msgspec only. `step` applies one input to one scope's state, `due_at` says
when each lane next has something to do for it; everything else here is the vocabulary of those two.
"""
