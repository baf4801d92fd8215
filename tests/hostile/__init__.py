"""What strangers may send: nothing of it runs, nothing is written outside, nothing gets stuck.

Each module without ``test_`` makes hostile input of one kind, each ``test_`` module hands it to
what the app itself calls for it. Whatever comes out must be a verdict, a Problem or a UserError;
and no tripwire may fire (tripwires.py): no file made outside the target, no socket, program or
library opened, nothing imported. Nobody takes more than 2 s of processor time or 512 MB for one.

The normal run makes some 2,000 inputs, always the same. The long run makes 100,000, others each
time, in some minutes::

    .venv/bin/python -m pytest -q -s -m slow tests/hostile

It prints the seed; ``HOSTILE_SEED=<number>`` before it repeats a run, ``HOSTILE=<number>`` makes as
many inputs instead. Where one fails, hypothesis prints the smallest that does.
"""
