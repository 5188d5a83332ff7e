"""The languages of sentences for people.

- English is the source: a message is its own id. The others are gettext catalogs in `catalogs/`, read as they lie
  there when they are first asked for; nothing has to be compiled.
- Names, codes and identifiers are no sentences and are the same in every language; so is JSON, whose words are English.
- A message without translation is given in English; a test holds the catalogs complete.

    ranges    `Accept-Language` to one of our languages
    messages  a language to its messages
"""

from __future__ import annotations

from negotiator.web.languages.messages import LANGUAGES, Messages, load_messages
from negotiator.web.languages.ranges import negotiate_language

__all__ = ["LANGUAGES", "Messages", "load_messages", "negotiate_language"]
