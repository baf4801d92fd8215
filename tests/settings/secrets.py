"""What people put into the settings of a server, with a password that is found again."""

from __future__ import annotations

MARK = "Zq7MARKxW3"
#: What may stand beside a password, or in it.
PARTS = ("@", ":", "/", "?", "#", "=", ",", ";", "&", " ", "%40", "'", "://", "h", "user", "6379")
#: What people put into these variables, with {} for the password.
FORMS = (
    "redis://u:{}@h:6379/0", "redis://:{}@h", "rediss://{}@h/0", "redis://:{}:6379",
    "redis://u:{}", "unix://u:{}@/run/redis.sock", "redis://h/0?password={}", "u:{}@h", "{}@h",
    "h:6380,password={},ssl=True", "redis-cli -h h -a {} -p 6379", "redis://h/0?username={}",
    "redis://h,password={}", "tcp://u:{}@h", '"redis://u:{}@h"', "redis://h:6379/0 {}",
    "unix:///run/redis.sock?db=1&password={}", "redis://h/{}", "export URL=redis://:{}@h",
)  # fmt: skip
_SIGNS = ("redis://:", "//u:{}@", "pass", "-a")
#: Those that are told for what they are in a command line, too.
SEEN = tuple(form for form in FORMS if any(sign in form for sign in _SIGNS))
#: A password, and some as cloud services give them out.
PASSWORDS = (MARK, "A" * 250 + MARK + "A" * 240, MARK + "A" * 1990, "A" * 1990 + MARK)
