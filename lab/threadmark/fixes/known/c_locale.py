"""The locale C, for programs that take their locale from the environment."""

from __future__ import annotations

from threadmark.fixes.fix import Fix, NotApplicableError, Setting, Target
from threadmark.fixes.telling_calls import SETS_LOCALE

_NAMES = ("LC_ALL", "LC_CTYPE", "LC_NUMERIC", "LANG")  # the first that is set counts


def _setting(target: Target) -> Setting:
    now = next((target.environment[each] for each in _NAMES if target.environment.get(each)), "C")
    if now in ("C", "POSIX"):
        raise NotApplicableError("the environment names the locale C already")
    return Setting({"LC_ALL": "C"})


FIX = Fix(
    name="c-locale",
    kind="locale",
    what="LC_ALL=C",
    helps=("atomic/locale", "mutex/locale"),
    risk="Only ASCII characters are letters, and numbers have no thousands separators.",
    setting=_setting,
    calls=SETS_LOCALE,
)
