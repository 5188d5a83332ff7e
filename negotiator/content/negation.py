"""Whether a claim that a pattern found is asserted, or denied by its own clause.

A claim counts as denied when one of these holds:

1. a negator stands in its clause before the end of the claim ("UAIX does not execute…", "no implementa", "不执行");
2. its object is a negative one ("UAIX executes nothing");
3. it is only talked about and refused ("records that claim UAIX executes work fail");
4. it is a question or a condition ("if UAIX executes work, …").

A phrase that only looks like a negation ("not only executes", "sin duda", "不仅") is put out of sight first.
A clause ends where another main clause begins, so that "UAIX does not certify; UAIX executes" is still a claim.

What this module does not do: parse grammar. Where it is unsure it lets the sentence pass, since refusing an honest
negation does more harm than missing a clumsy claim (a declaration is a claim anyway, never a proof).
"""

from __future__ import annotations

import re

__all__ = ["is_denied", "is_limit"]

_REACH_CHARACTERS = 300
"""How far before the claim a negator counts. It bounds the work per claim."""


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b")


# Phrases with a negator in them that do not negate.
_NOT_NEGATIONS = (
    re.compile(
        r"\b(?:not|\w+n't) (?:only|just|merely|simply|solely)\b"
        r"|\bno (?:doubt|question|matter|problem|less than|more than|sooner|other than)\b|\bno-(?:op|code|brainer)\b"
        r"|\bnothing (?:but|less than|other than|short of)\b|\bnot without\b|\bcannot but\b"
        r"|\bwithout (?:fail|exception|doubt|question|delay|limits?|interruption)\b"
        r"|\b(?:never|not|\w+n't) (?:fails?|stops?|ceases?|refuses?|hesitates?)(?: to)?\b"
        r"|\b(?:not|n't) (?:true|the case|correct) that (?:[\w-]+ ){1,4}(?:not|never|\w+n't)\b"
    ),
    re.compile(
        r"\bno (?:solo|solamente|unicamente|simplemente|meramente|cabe duda|hay duda|deja de|dejan de|duda en)\b"
        r"|\bsin (?:duda|excepcion|falta|limites?|demora|lugar a dudas)\b|\bnada (?:mas|menos) que\b"
        r"|\bno es (?:solo|solamente)\b"
    ),
    re.compile(
        "不仅仅|不仅|不只|不单单|不单|不但|不光|不止|不论|无论|不管|不断|不停|不间断|不久|不同|不错|不得不|无不|无非"
        "|并非不|不是不"
        "|不会不|不能不|毫无疑问|无疑|非常|除非|未来|特别|级别|区别|分别|个别|类别|别的|无限|无缝|无(?:需|须)人工"
        "|不(?:需|须)人工"
        "|无人值守|非同步|非阻塞|没问题|无服务器|否则"
    ),
)

_NEGATORS = (
    re.compile(
        r"\b(?:not|no|never|nor|neither|none|nothing|nobody|nowhere|without|cannot|cant|dont|doesnt|isnt|arent|wont"
        r"|hardly"
        r"|instead of|rather than|lacks?|lacking|free of|far from|anything but|unable|no longer)\b|\w+n't\b|\bnon-"
    ),
    _words(
        r"no",
        r"nunca",
        r"jamas",
        r"ni",
        r"sin",
        r"tampoco",
        r"nada",
        r"ningun[oa]?s?",
        r"nadie",
        r"en (?:lugar|vez) de",
    ),
    re.compile("不|没|无|非|未|勿|莫|别|而非|拒绝|禁止|避免"),
)

# Verbs that deny what follows them; they do so only from outside of the claim itself.
_DENIALS = _words(
    r"refus\w+", r"forbid\w*", r"prohibit\w*", r"prevent\w*", r"den(?:y|ies|ied|ying)", r"reject\w*", r"avoid\w*",
    r"disclaim\w*", r"exclud\w+", r"false", r"untrue", r"wrong", r"incorrect", r"misleading", r"myth",
    r"stops? short of", r"fails? (?:when|if|on|where)", r"fallan? (?:cuando|si)",
    r"nieg[ao]n?", r"prohib\w+", r"rechaz\w+", r"evit\w+", r"fals[oa]", r"excluy\w+",
)  # fmt: skip

_BREAK = re.compile(
    r";|(?<!anything )\bbut\b|\bhowever,|\balthough\b|\bthough\b|\bwhereas\b|\bwhile\b|(?<!not )\bbecause\b"
    r"|\binstead\b(?! of)|\bpero\b|\bsino\b|\baunque\b|\bmientras\b|(?<!no )\bporque\b|\bsin embargo\b|\ben cambio\b"
    r"|但是|但|而是|却|不过|然而|可是|因为|\n"
)
# A subordinate clause at the head of a sentence ends at its comma.
_LEADING_CLAUSE = re.compile(
    r"^[\"'(¿¡]?(?:if|when|where|once|since|because|although|though|as|after|before|unless|without|with"
    r"|si|cuando|aunque|como|despues|antes|sin)\b[^,;]{1,200},|^(?:如果|当|虽然|若|在)[^,;]{1,200},"
)
_COLON = re.compile(r"[^;:,]{1,120}:(?= )")
_NEGATIVE_LABEL = re.compile(
    r"(?:\b(?:not|never|no|false|untrue|wrong|forbidden|myth|imply|claim|mean|allowed|permitted|nunca|falso|prohibido"
    r"|implicar|afirmar)|不得|不得暗示|暗示|禁止|错误):$"
)
_COMMA_BEFORE = re.compile(r"([^,]{0,60}),(?: ?(?:and|so|then|y|e|而|并|并且|且|所以|因此))?(?: ?(?:the|el|la))? ?$")
_STILL_NEGATIVE = re.compile(
    r"(?:\b(?:never|jamas|nunca|in no way|in no case|at no (?:time|point)|under no circumstances?|en ningun caso"
    r"|bajo ninguna circunstancia|de ninguna manera|de ningun modo|uaix|carcinus|localendpoint)"
    r"|绝不|从不|决不|任何情况下都不|任何情况下)$"
)

_NEGATIVE_OBJECT = re.compile(
    r"^,? (?:[\w-]+ly )?(?:no|nothing|none|neither|nobody|zero|nada|nadie|ningun[oa]?)\b(?! (?:but|less|more|mas"
    r"|menos))"
)
_TALKED_ABOUT = re.compile(
    r"\b(?:claim\w*|say(?:s|ing)?|stat(?:es?|ing|ements?)|assert\w*|impl(?:y|ies|ying)|suggest\w*|pretend\w*|wording"
    r"|phrases?|words?|text|(?:records?|messages?|profiles?|packets?|declarations?) that|afirm\w+|dic(?:e|en|iendo)"
    r"|declar(?:a|an|en)|registros? que|mensajes? que)\b|声明|声称|宣称|主张|暗示|记录"
)
_REFUSED = re.compile(
    r"\b(?:fails?|refused|rejected|invalid|forbidden|prohibited|banned|blocked|false|untrue|wrong|errors?"
    r"|not (?:allowed|accepted|permitted|valid|true)|fallan?|rechaza\w*|invalid[oa]s?|prohibid[oa]s?|fals[oa]s?"
    r"|no (?:se )?(?:permiten?|aceptan?)|error)\b|无效|拒绝|失败|禁止|无法通过|不通过|不能通过|错误|不允许|不被接受"
)
_CALLED_FALSE = re.compile(
    r"^[^,;]{0,60}?[\"')»]? (?:is|are|would be|es|son|seria)(?: an?| una?| simply)?(?: [\w-]+)? ?"
    r"(?:false|untrue|wrong|forbidden|not true|incorrect|rejected|fals[oa]|mentira|prohibid[oa])\b"
    r"|^ (?:is|are|was|does|do|will|can|must|may)(?: not| never|n't|not)\b|^ (?:is|are) (?:impossible|excluded"
    r"|refused)\b"
    r"|\b(?:do|does) not exist\b|\bno existen?\b|不存在|是错误的|是假的"
)
_CONDITION = re.compile(
    r"(?:\b(?:if|whether|unless|suppose|in case|si|salvo que|a menos que)\b|如果|假如|若|是否|当)[^,;]{0,120}$"
)
_QUESTION = re.compile(
    r"^[\"'(]?(?:does|do|did|is|are|can|could|will|would|should|has|have|may|might|who|what|when|where|why|how|which)\b"
    r"|¿|吗|呢|是否"
)

# What a client says of content that it leaves alone.
_LIMIT = re.compile(
    r"\b(?:skip\w*|ignor\w*|unsupported|out of (?:scope|reach)|left (?:alone|out)|omit\w*|excluded"
    r"|not (?:be )?(?:read|fetched|supported|used|opened|reached|followed|visible|available|attempted|handled)"
    r"|no se (?:leen|abren|usan|admiten|visitan)|quedan? fuera|ignora\w*)\b|跳过|忽略|不读取|不支持|不会读取|不会访问"
    r"|不访问|放弃"
)


def is_denied(sentence: str, start: int, end: int, *, clause: bool) -> bool:
    """Return whether the claim at `sentence[start:end]` is denied, asked or supposed rather than asserted.

    Args:
        sentence: one sentence of folded text.
        start: where the claim begins.
        end: where the word that makes it a claim ends.
        clause: whether the claim begins with its own subject; then a comma before it ends the clause before.
    """
    before, after = sentence[max(0, start - _REACH_CHARACTERS) : start], sentence[end : end + _REACH_CHARACTERS]
    if _is_only_mentioned(sentence, before, after):
        return True
    outside, inside = _scope(before, sentence[start:end], clause=clause)
    if _negates(outside + inside) or _DENIALS.search(outside):
        return True
    return _NEGATIVE_OBJECT.search(after) is not None


def is_limit(after: str) -> bool:
    """Return whether `after`, the rest of a sentence, says that what stands before it is left alone."""
    return _LIMIT.search(after) is not None


def _is_only_mentioned(sentence: str, before: str, after: str) -> bool:
    if sentence.rstrip("\"')]»").endswith("?") and _QUESTION.search(sentence):
        return True
    if _CONDITION.search(before) or _CALLED_FALSE.search(after):
        return True
    return bool(_TALKED_ABOUT.search(before) and _REFUSED.search(after))


def _scope(before: str, claim: str, *, clause: bool) -> tuple[str, str]:
    """The part of `before` that belongs to the claim's clause, and of `claim` what follows its last break."""
    inner = _last(_BREAK, claim)
    if inner:
        return "", claim[inner:]
    begin = max(_last(_BREAK, before), _last(_LEADING_CLAUSE, before), _colon(before))
    if clause and (comma := _COMMA_BEFORE.search(before)) and not _STILL_NEGATIVE.search(comma[1]):
        begin = len(before)
    return before[begin:], claim


def _last(pattern: re.Pattern[str], text: str) -> int:
    end = 0
    for found in pattern.finditer(text):
        end = found.end()
    return end


def _colon(before: str) -> int:
    """Where the text after the last colon begins, unless what it introduces is denied by its label."""
    end = 0
    for label in _COLON.finditer(before):
        if not _NEGATIVE_LABEL.search(label[0]):
            end = label.end()
    return end


def _negates(scope: str) -> bool:
    for phrase in _NOT_NEGATIONS:
        scope = phrase.sub(" ", scope)
    return any(negator.search(scope) for negator in _NEGATORS)
