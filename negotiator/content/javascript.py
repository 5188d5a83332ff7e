"""Texts that depend on JavaScript, and the ways without it that a text names.

Rules (CAP-14, CAP-21):

- "The catalogue is only available with JavaScript" depends on it; "use JSON before requiring JavaScript" does not.
- Leaving such content alone is a limit, not a dependence ("JavaScript-only pages are skipped").
- A sentence that names a static or JSON way to fall back to does not depend on JavaScript.
- A way counts as named only where the sentence does not take it away ("no static or JSON fallback").

Languages: English, Spanish, Chinese (simplified and traditional).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from negotiator.content.negation import is_denied, is_limit
from negotiator.content.rules import Hit, asserted, rule
from negotiator.content.text import Folded, sentences

__all__ = ["find_javascript_only", "names_rollback", "names_static_way"]

_JS = r"(?:javascript|js|client-side (?:scripts?|scripting|rendering))(?!\w|\.\w|-free)"
_OFF = r"(?! (?:is|are|being|was) (?:un|not|dis|off|missing|blocked|absent))"
_LOSS = r"(?!lost\b|los|hidden|missing|break|fail|degrad|differ|chang|suffer|less\b)"

_JS_EN = (
    rule(
        "js_only",
        "en",
        "only-with",
        r"\b(?:only|solely|exclusively)(?: [\w'-]+){0,4}? (?:with|when|if|through|via|by|after|once|using|in|from|on)"
        r"(?: (?:running|executing|enabled|enabling|the|a|some|in|full)){0,3} ",
        _JS,
        _OFF,
    ),
    rule(
        "js_only",
        "en",
        "requires",
        r"\b(?P<head>requir(?:es?|ing)|needs?|needing|depends? on|depending on|rel(?:y|ies|ying) on|demands?"
        r"|insists? on"
        r"|must (?:have|run|execute|enable|use))(?: (?!no\b|not\b|neither\b)[\w'-]+){0,2}? ",
        _JS,
    ),
    rule(
        "js_only",
        "en",
        "is-required",
        _JS,
        r" (?P<head>(?:is|are|must be|has to be|needs to be)(?: (?!only|not)[\w-]+)?"
        r" (?:required|needed|mandatory|necessary|essential|obligatory)|must be (?:enabled|on|turned on)"
        r"|has to be (?:enabled|on)|needs to be (?:enabled|on)|required)\b",
    ),
    rule("js_only", "en", "adjective", rf"\b{_JS}[- ]only\b"),
    rule(
        "js_only",
        "en",
        "nothing-without",
        r"\b(?:nothing|no \w+|cannot|can't|can not|does not|doesn't|do not|don't|not|unable to|unusable|blank|empty"
        r"|impossible"
        rf"|unavailable|useless|inaccessible)(?: {_LOSS}(?!guess|post|write|proceed"
        rf"|start)[\w'-]+){{0,6}}? without(?: \w+)? ",
        _JS,
        polar=False,
    ),
    rule(
        "js_only",
        "en",
        "without-nothing",
        r"\bwithout ",
        _JS,
        rf"(?: (?:enabled|support|running))?,?(?: {_LOSS}[\w'-]+){{0,6}}?"
        rf" (?:nothing|no content|blank|empty|unusable|cannot be|can't be|is unavailable|are unavailable|unreadable"
        rf"|does not work|do not work|doesn't work|fails?\b)(?! (?:is |are )?(?:lost|hidden|missing|changes))",
        polar=False,
    ),
    rule(
        "js_only",
        "en",
        "enable",
        r"\b(?:enable|turn on|activate|switch on) ",
        _JS,
        r"(?: (?:to|for|in order|first|and|before))\b",
    ),
    rule(
        "js_only",
        "en",
        "rendered-by",
        r"\b(?:rendered|loaded|generated|produced|delivered|built)(?: [\w-]+){0,2}? (?:entirely|only|solely"
        r"|exclusively|purely)"
        r"(?: [\w-]+){0,2}? (?:by|with|through|in|via) ",
        _JS,
    ),
    rule(
        "js_only",
        "en",
        "no-fallback",
        r"\bno (?:static|json|html|plain)(?:[ ,]+[\w-]+){0,3} "
        r"(?:fallback|alternative|version|route|way)s?\b",
        polar=False,
    ),
)

_JS_ES = (
    rule(
        "js_only",
        "es",
        "solo-con",
        r"\b(?:solo|solamente|unicamente|exclusivamente)(?: \w+){0,4}? (?:con|cuando|si|mediante|a traves de|por|tras"
        r"|en)"
        r"(?: (?:el|la|se|hay|ejecutar|ejecuta|activar|tiene)){0,2} ",
        _JS,
        r"(?! (?:no|esta des|falta))",
    ),
    rule(
        "js_only",
        "es",
        "requiere",
        r"\b(?P<head>requieren?|requerir|necesitan?|necesitar|dependen? de|exigen?|precisan?(?: de)?|hace falta"
        r"|es necesario"
        r"|es obligatorio|hay que (?:activar|habilitar|ejecutar))(?: (?!no\b|ni\b)\w+){0,2}? ",
        _JS,
    ),
    rule(
        "js_only",
        "es",
        "es-obligatorio",
        _JS,
        r" (?P<head>(?:es|debe estar|tiene que estar|resulta)(?: \w+)?"
        r" (?:obligatorio|necesario|imprescindible|requerido|activado|habilitado))\b",
    ),
    rule(
        "js_only",
        "es",
        "sin-nada",
        r"\bsin ",
        _JS,
        r"(?: (?:activado|habilitado))?,?(?: (?!pierde|oculta|falta)\w+){0,4}? (?:no (?:funciona|se (?:ve|puede"
        r"|muestra|carga)"
        r"|hay contenido|carga|es posible)|nada funciona|queda (?:vacia|vacio|en blanco))",
        polar=False,
    ),
    rule(
        "js_only",
        "es",
        "no-sin",
        r"\bno (?:funcionan?|se (?:ven?|pueden?|muestran?|cargan?)|cargan?|hay contenido|es posible)"
        r"(?: \w+){0,5}? sin(?: \w+)? ",
        _JS,
        polar=False,
    ),
    rule("js_only", "es", "active", r"\b(?:active|activa|habilite|habilita|encienda) ", _JS, r" (?:para|antes|y)\b"),
    rule("js_only", "es", "solo-js", rf"\b(?:exclusivo|exclusiva|exclusivamente|puro|pura) (?:de )?{_JS}|\bsolo {_JS}"),
)

_JS_ZH = (
    rule(
        "js_only",
        "zh",
        "需要",
        "(?P<head>需要|必须|务必|须|要求|依赖于|依赖|离不开|取决于|必需)(?:先|您|你|浏览器|启用|开启|使用|执行|运行"
        "|支持|的|纯| ){0,4}",
        _JS,
    ),
    rule(
        "js_only",
        "zh",
        "只能",
        "(?:只能|仅能|只有|仅|只)(?:在|通过|用|使用|靠|当|能|可|由|支持|启用|开启|执行|运行|借助| ){0,5}",
        _JS,
        "(?! ?(?:关闭|禁用|不可用))",
    ),
    rule(
        "js_only",
        "zh",
        "没有-无法",
        r"(?:没有|无|不启用|不开启|未启用|关闭|禁用|不用|不执行) ?",
        _JS,
        r"(?:支持|时|的话|的情况下)?[ ,]{0,2}(?:就|便|则|页面|内容|该?网站|本站|将|会| ){0,4}(?:无法|不能|不可|看不到"
        r"|打不开|空白)",
        polar=False,
    ),
    rule("js_only", "zh", "是必需", _JS, " ?(?P<head>(?:是|为|属于)(?:必需|必须|必要|强制|必备))"),
    rule("js_only", "zh", "纯", "(?P<head>纯|仅限) ?", _JS, " ?(?:内容|页面|网站|渲染|应用)"),
    rule("js_only", "zh", "渲染", "(?:全部|完全|仅|只|都)(?:由|通过|靠|依靠) ?", _JS, " ?(?:渲染|加载|生成)"),
)

_NEAR_CHARACTERS = 300
_MOST_WAYS = 400
_TOPIC = re.compile(r"javascript|\bjs\b|client-side")
_RULES = _JS_EN + _JS_ES + _JS_ZH

# Before these words JavaScript is what is put off or left out, beyond plain negation.
_PUT_OFF = re.compile(
    r"\b(?:before|prior to|stops? (?:at|before|when)|skip\w*|ignor\w*|except|excluding|antes de|se detiene|omite"
    r"|evita)\b"
    r"|跳过|忽略|之前"
)
_AFTER_BEFORE = re.compile(r"^(?:(?!。|;).){0,8}(?:之前|以前|前先|前,)")
_FALL_BACK = re.compile(
    r"\b(?:fall(?:s|ing)? ?back|fallbacks?|otherwise|or else|instead|alternativ\w+|if (?:not|unavailable)|first"
    r"|prefer\w*"
    r"|when|if|cuando|si|also|en su lugar|en caso contrario|alternativ[ao]|si no|o bien|primero|tambien)\b|否则|后备"
    r"|回退|改用|备用|也可|优先|先"
)

_STATIC_WAY = re.compile(
    r"\b(?:json|static|html|markdown|sitemaps?(?:\.xml)?|llms(?:-full)?\.txt|robots\.txt|plain (?:text|links?|page)"
    r"|text/plain"
    r"|copyable text|rss|atom feed|csv|xml|estatic[oa]s?|texto plano|enlaces? simples?|mapa del sitio)\b"
    r"|\.(?:json|html?|md|txt|xml|csv)\b|静态|站点地图|纯文本|网站地图"
)
_TAKEN_AWAY = re.compile(
    r"(?:\b(?:no|not|without|never|neither|nor|lacks?|lacking|cannot|don't|doesn't|\w+n't|unable|sin|ningun[oa]?|nunca"
    r"|jamas"
    r"|carece de|tampoco|ni)\b|没有|无|不|缺少|缺乏)"
    r"(?:[ ,]*+(?!use\b|read|fetch|fall|offer|serve|prefer|name|usa|usar|lee|使用|读取|改用|先)[\w'-]++){0,4}?[ ,]*$"
)
_ROLLBACK = re.compile(
    r"\b(?:roll(?:s|ed|ing)?[ -]?backs?|undo(?:es|ne|ing)?|revert\w*|revers(?:e|es|ed|al|ible|ing)|restor(?:e|es|ed"
    r"|ing|ation)"
    r"|compensat\w+|reversion|revers(?:ar|a)|revier\w+|deshac\w+|deshaga|restaur\w+|restablec\w+|desfaz\w*)\b|回滚"
    r"|撤销|回退|还原|恢复|复原"
)


def find_javascript_only(text: Folded) -> tuple[Hit, ...]:
    """Return where `text` depends on JavaScript without naming another way. Source: CAP-14."""
    hits = tuple(asserted(text, _RULES, _TOPIC))
    if not hits:
        return ()
    spoken = tuple(sentences(text))
    return tuple(hit for hit in hits if not _left_alone(spoken[hit.sentence], hit))


def names_static_way(text: Folded) -> bool:
    """Return whether `text` names a static or JSON way that a client can take without JavaScript. Source: CAP-21."""
    if not _STATIC_WAY.search(text):
        return False
    dependent = {hit.sentence for hit in find_javascript_only(text)}
    return any(_offers_way(each) for number, each in enumerate(sentences(text)) if number not in dependent)


def names_rollback(text: Folded) -> bool:
    """Return whether `text` names a way to undo an effect, and does not deny it. Source: CAP-05, CAP-06."""
    if not _ROLLBACK.search(text):
        return False
    return any(
        not is_denied(each, way.start(), way.end(), clause=False) for each, way in islice(_rollbacks(text), _MOST_WAYS)
    )


def _rollbacks(text: Folded) -> Iterator[tuple[str, re.Match[str]]]:
    for each in sentences(text):
        for way in _ROLLBACK.finditer(each):
            yield each, way


def _left_alone(sentence: str, hit: Hit) -> bool:
    """Whether what needs JavaScript is put off, skipped, or has another way near by in the same sentence."""
    before = sentence[max(0, hit.start - _NEAR_CHARACTERS) : hit.start]
    after = sentence[hit.end : hit.end + _NEAR_CHARACTERS]
    if is_limit(after) or _PUT_OFF.search(before + sentence[hit.start : hit.end]) or _AFTER_BEFORE.search(after):
        return True
    others = f"{before} ; {after}"
    return _FALL_BACK.search(others) is not None and _offers_way(others)


def _offers_way(sentence: str) -> bool:
    return any(
        not _TAKEN_AWAY.search(sentence[max(0, way.start() - 120) : way.start()])
        for way in islice(_STATIC_WAY.finditer(sentence), _MOST_WAYS)
    )
