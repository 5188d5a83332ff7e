"""Credential-like strings in text, in key names, and in members whose key says that the value is a secret.

Rules:

- A token is known by its issuer's prefix and shape, an assignment by its key (`password=…`), a wrapped one by what
  its base64 decodes to, a split one by its text without white space.
- Checksums, UUIDs, correlation and idempotency keys are not credentials, nor is prose about passwords and API keys,
  nor a placeholder (`<token>`, `${TOKEN}`, `redacted`).
- A hit names the pattern and the place; the secret is never in it.

What this module does not do: judge entropy alone (a digest has as much as a key), or follow more than one wrapping
inside another.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping

from negotiator.content.rules import Hit
from negotiator.content.text import visible

__all__ = ["find_credentials", "is_private_key_object", "is_secret_member"]

_LEFT = r"(?<![A-Za-z0-9_-])"

# Issuers' formats: distinctive prefix, then a body.
_TOKENS: Mapping[str, re.Pattern[str]] = {
    "private-key": re.compile(r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d"),
    "age-key": re.compile(r"AGE-SECRET-KEY-1[A-Z0-9]{20,}+"),
    "aws": re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|AROA|AIDA|ANPA)[A-Z0-9]{16}(?![A-Z0-9])"),
    "github": re.compile(r"gh[pousr]_(?P<body>[A-Za-z0-9]{36,251}+)|github_pat_(?P<body2>[A-Za-z0-9_]{22,255}+)"),
    "gitlab": re.compile(_LEFT + r"gl(?:pat|dt|rt|cbt)-(?P<body>[A-Za-z0-9_-]{20,255}+)"),
    "slack": re.compile(r"(?:xox[abeoprs]|xapp)-(?P<body>[A-Za-z0-9-]{10,255}+)"),
    "slack-webhook": re.compile(r"hooks\.slack\.com/services/T[A-Z0-9]{6,}+/B[A-Z0-9]{6,}+/[A-Za-z0-9]{16,}+"),
    "stripe": re.compile(r"(?:[sr]k_(?:live|test)|whsec)_(?P<body>[A-Za-z0-9]{16,255}+)"),
    "anthropic": re.compile(_LEFT + r"sk-ant-(?P<body>[A-Za-z0-9_-]{20,255}+)"),
    "openai": re.compile(_LEFT + r"sk-(?:(?:proj|svcacct|admin|or-v1)-(?P<body>[A-Za-z0-9_-]{20,255}+)"
                                 r"|(?P<body2>[A-Za-z0-9]{20,255}+))"),
    "google": re.compile(r"AIza(?P<body>[0-9A-Za-z_-]{35})|ya29\.(?P<body2>[0-9A-Za-z_-]{20,255}+)"
                         r"|GOCSPX-(?P<body3>[0-9A-Za-z_-]{20,255}+)"),
    "hugging-face": re.compile(_LEFT + r"hf_(?P<body>[A-Za-z0-9]{30,255}+)"),
    "npm": re.compile(_LEFT + r"npm_(?P<body>[A-Za-z0-9]{36}+)"),
    "pypi": re.compile(_LEFT + r"pypi-(?P<body>[A-Za-z0-9_-]{50,255}+)"),
    "sendgrid": re.compile(r"SG\.(?P<body>[A-Za-z0-9_-]{16,64}+\.[A-Za-z0-9_-]{16,64}+)"),
    "telegram": re.compile(r"(?<![0-9A-Za-z])\d{8,10}:AA(?P<body>[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])"),
    "uaix-token": re.compile(r"uaix[st]_(?P<body>[A-Za-z0-9-]{2,64}_[A-Za-z0-9]{8,255}+)"),
    "jwt": re.compile(r"eyJ[A-Za-z0-9_-]{8,4096}+\.eyJ[A-Za-z0-9_-]{8,16384}+\.[A-Za-z0-9_-]{8,4096}+"),
}  # fmt: skip
# A cheap look before the table above is read: each of its formats holds one of these.
_TOKEN_HINT = re.compile(
    "PRIVATE KEY|PuTTY|SECRET-KEY|A(?:KIA|SIA|ROA|IDA|NPA)|gh[pousr]_|github_pat|gl(?:pat|dt|rt|cbt)-|xox|xapp|hooks"
    r"|k_(?:live|test)|whsec|sk-|AIza|ya29|GOCSPX|hf_|npm_|pypi-|SG\.|:AA|uaix[st]_|eyJ"
)

_SENSITIVE = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|api[ _-]?key|secret(?:[ _-]?(?:access[ _-]?)?key)?|client[ _-]?secret"
    r"|(?:access|auth|api|refresh|bearer|session|id)[ _-]?token|private[ _-]?key|contrasena|contraseña|clave(?: de api"
    r"| secreta)"
    r"|token|密码|口令|密钥|令牌)"
)
_ASSIGNMENT = re.compile(
    rf"(?i)(?P<key>{_SENSITIVE})[\"'`]?[ \t]{{0,3}}(?P<sign>=|:|：|is:"
    rf"|是)[ \t]{{0,3}}[\"'`]?(?P<value>[^\s\"'`,;]{{4,512}})"
)
_SIGN = re.compile("[=:：是]")
_BEARER = re.compile(r"(?i)\b(?:bearer|basic|token)[ \t]{1,3}(?P<value>[A-Za-z0-9._~+/=-]{12,4096}+)")
_URL_PASSWORD = re.compile(r"(?i)[a-z][a-z0-9+.-]{1,20}://[^\s/@:?#\"'<>]{0,128}:(?P<value>[^\s/@\"'<>]{1,256})@")

_PLACEHOLDER = re.compile(
    r"(?i)^(?:<.*|\[.*\]|\{.*|%[a-z_]+%|\$[\[({a-z_].*|[*•.x_-]+|(?:sha|md5|blake|urn:|https?:|env:|vault:|file:|ref:"
    r"|secret:).*"
    r"|(?:re|ma)(?:dact|sk)ed.*|hidden|omitted|removed|required|optional|none|null|nil|never|no|yes"
    r"|true|false|string|text|unknown|unset|empty|forbidden|prohibited|unsupported|absent|withheld|expired|revoked"
    r"|rotated"
    r"|missing|invalid|needed|not[_-]\w+|your[_-].*|example.*|changeme|n/?a|ninguna?|nunca|oculta|requerida|header"
    r"|cookie|bearer"
    r"|basic|oauth2?|jwt|uuid|[a-z]+\.{3})[.)\]}>!]*$"
)
_NAMED = re.compile(r"^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")
_HEX_DIGEST = re.compile(r"^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$")
_UUID = re.compile(r"(?i)^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$")

_SECRET_KEY = re.compile(
    r"(?:password|passwd|passphrase|passcode|pwd|apikey|secretkey|secretaccesskey|clientsecret|accesstoken|refreshtoken"
    r"|authtoken|apitoken|bearertoken|sessiontoken|privatekey|signingkey|secret|contrasena|密码|口令|密钥)$"
)
_TOKEN_KEY = re.compile(r"(?:token|credentials?|authorization|cookie|令牌)$")
_KEY_NOISE = re.compile(r"[^0-9a-zñ\u3400-\u9fff]+")

_BASE64_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}+(?:\r?\n[ \t]{0,8}+[A-Za-z0-9+/_-]{4,}+)*+={0,2}")
_PRINTABLE = re.compile(rb"[\t\n\r\x20-\x7e]+")
_JOINTS = re.compile(r"[\s\"'`+,\\|]+")
_WRAPPINGS = 2
_SHORTEST = 7
_PLAIN_WORD = re.compile("[a-z_.-]{1,19}")
_SPLIT_CHARACTERS = 400


def find_credentials(text: str) -> tuple[Hit, ...]:
    """Return where `text` holds something like a credential, plainly, split, or wrapped in base64.

    Source: CAP-20, PKG-51.
    """
    shown = visible(text)
    if len(shown) < _SHORTEST or _PLAIN_WORD.fullmatch(shown):
        return ()
    return tuple(
        Hit(pattern=f"credential.{name}", sentence=0, start=a, end=b) for name, a, b in _all(shown, _WRAPPINGS)
    )


def is_secret_member(key: str, value: object) -> bool:
    """Return whether a member named `key` carries a secret as its `value`: a text that is no prose or placeholder."""
    if not isinstance(value, str) or len(secret := visible(value).strip()) < 4:
        return False
    name = _KEY_NOISE.sub("", visible(key).casefold().replace("ñ", "n"))
    if _SECRET_KEY.search(name):
        return not _is_harmless(secret)
    return bool(_TOKEN_KEY.search(name)) and _is_token_value(secret)


def is_private_key_object(members: Mapping[str, object]) -> bool:
    """Return whether `members` are those of a private or symmetric JSON Web Key. Source: RFC 7517, RFC 7518."""
    return "kty" in members and any(isinstance(members.get(part), str) for part in ("d", "k", "p", "q", "dp", "dq"))


def _all(text: str, wrappings: int) -> Iterator[tuple[str, int, int]]:
    found = tuple(_plain(text))
    yield from found or _split(text)
    if wrappings:
        for run in _BASE64_RUN.finditer(text):
            said = _unwrapped(run[0]) or _unwrapped(run[0].partition("\n")[0])
            if said and any(True for _ in _all(said, wrappings - 1)):
                yield "base64", run.start(), run.end()


def _plain(text: str) -> Iterator[tuple[str, int, int]]:
    if _TOKEN_HINT.search(text):
        for name, pattern in _TOKENS.items():
            yield from ((name, m.start(), m.end()) for m in pattern.finditer(text) if _is_body(m))
    if _SIGN.search(text):
        yield from (("assignment", m.start(), m.end()) for m in _ASSIGNMENT.finditer(text) if _is_assigned(m))
    yield from (("bearer", m.start(), m.end()) for m in _BEARER.finditer(text) if _is_token_value(m["value"]))
    for m in _URL_PASSWORD.finditer(text) if "://" in text else ():
        if not _PLACEHOLDER.match(m["value"]):
            yield "url", m.start(), m.end()


def _split(text: str) -> Iterator[tuple[str, int, int]]:
    """Tokens that white space, quotes or joining signs take apart; only bodies that look drawn at random count."""
    joined = _JOINTS.sub("", text)
    if joined == text or not _TOKEN_HINT.search(joined):
        return
    tails = [
        _JOINTS.sub("", text[hint.start() : hint.start() + _SPLIT_CHARACTERS]) for hint in _TOKEN_HINT.finditer(text)
    ]
    for name, pattern in _TOKENS.items():
        heads = (pattern.match(tail) for tail in tails)
        if any(found and _is_random(found[0]) for found in (*pattern.finditer(joined), *heads)):
            yield f"{name}-split", 0, len(text)


def _unwrapped(run: str) -> str:
    """What a base64 run says if that is printable ASCII, else nothing."""
    packed = "".join(run.split()).rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        said = base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError):
        return ""
    return said.decode("ascii") if _PRINTABLE.fullmatch(said) else ""


def _is_body(match: re.Match[str]) -> bool:
    """Whether the part after the prefix could have been issued: an example made of one letter could not."""
    bodies: Iterable[str | None] = [text for name, text in match.groupdict().items() if name.startswith("body")]
    found = [body for body in bodies if body]
    return not found or any(len(set(body)) > 5 and any(c.isdigit() for c in body) for body in found)


def _is_assigned(match: re.Match[str]) -> bool:
    value = match["value"].rstrip(".)]}>!?")
    if len(value) < 4 or _is_harmless(value):
        return False
    if match["key"].casefold() in {"token", "令牌"}:
        return _is_token_value(value)
    ends = match.string[match.end() :].lstrip("\"'`").startswith(("\n", "\r", ";", ",")) or match.end() == len(
        match.string
    )
    return match["sign"] == "=" or ends or _is_mixed(value)


def _is_harmless(value: str) -> bool:
    """Whether a value under a secret's name is a placeholder, a reference or prose."""
    return any(map(str.isspace, value)) or bool(_PLACEHOLDER.match(value)) or bool(_NAMED.match(value))


def _is_token_value(value: str) -> bool:
    """Whether a value under a name like `token` is long and mixed enough to be one, and no id or digest."""
    if len(value) < 12 or any(map(str.isspace, value)) or _UUID.match(value) or _HEX_DIGEST.match(value):
        return False
    return _is_mixed(value) and not _PLACEHOLDER.match(value)


def _is_mixed(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _is_random(body: str) -> bool:
    upper, lower = any(c.isupper() for c in body), any(c.islower() for c in body)
    digits = sum(c.isdigit() for c in body)
    return digits >= 3 or (digits >= 1 and upper and not lower)
