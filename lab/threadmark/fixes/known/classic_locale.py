"""The classic locale, whatever the program asks for."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.preloading import own_library
from threadmark.fixes.telling_calls import SETS_LOCALE

FIX = Fix(
    name="classic-locale",
    kind="locale",
    what="the classic locale in the place of any other",
    helps=("atomic/locale", "mutex/locale"),
    risk=("Numbers, dates and letters are those of the locale C."),
    setting=own_library("classic_locale", variables={"LC_ALL": "C"}),
    calls=SETS_LOCALE,
)
