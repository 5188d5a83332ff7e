"""What a password may be, and passwords that we make.

- Length is what counts: no rules about kinds of characters, no expiry (NIST SP 800-63B section 3.1.1).
- Composed and decomposed letters are the same password (RFC 8265: NFC); controls are refused, since forms and
  terminals lose them.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from typing import Final

from negotiator.errors import RequestError
from negotiator.ports import Ids

__all__ = ["MAX_CHARACTERS", "MIN_CHARACTERS", "fit_password", "new_password", "normalised_password"]

MIN_CHARACTERS: Final = 12
MAX_CHARACTERS: Final = 256

_MIN_DIFFERENT: Final = 5
_GROUPS: Final = 4
_GROUP: Final = 5


def normalised_password(text: str) -> str:
    """Return the one form in which a password is hashed; of what is too long, no more than tells it apart."""
    return unicodedata.normalize("NFC", text[: 4 * MAX_CHARACTERS]).encode("utf-8", "replace").decode()


def fit_password(text: str, *, name: str) -> str:
    """Return the normalised form of a new password.

    Args:
        text: as it was typed.
        name: of the account.

    Raises:
        RequestError: `password_unfit`; the password is not in the message.
    """
    password = normalised_password(text)
    if not MIN_CHARACTERS <= len(password) <= MAX_CHARACTERS:
        message = f"a password has {MIN_CHARACTERS} to {MAX_CHARACTERS} characters; choose another one"
    elif any(unicodedata.category(each) in {"Cc", "Cs"} for each in password):
        message = "a password has no control characters; choose another one"
    elif len(set(password)) < _MIN_DIFFERENT or password.casefold() == name.casefold():
        message = "that password is the first that anybody would try; choose another one"
    else:
        return password
    raise RequestError(message, code="password_unfit")


def new_password(ids: Ids) -> str:
    """Return a random password of 100 bits that can be read out and typed."""
    letters = base64.b32encode(hashlib.sha256(ids.secret().encode()).digest()).decode().lower()
    return "-".join(letters[at : at + _GROUP] for at in range(0, _GROUPS * _GROUP, _GROUP))
