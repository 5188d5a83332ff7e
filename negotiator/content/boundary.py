"""Texts that blur the boundary between UAIX, Carcinus and LocalEndPoint.

Rules (CAP-20, CAP-24):

- Carcinus is a separate runtime that may consume UAIX records; UAIX neither implements it nor executes its workflows.
- LocalEndPoint is an external consumer boundary, not a feature of a UAIX runtime.
- What says otherwise of either is blurred; saying it in the negative passes (`negation.py`).
- Naming them side by side says nothing.

Languages: English, Spanish, Chinese (simplified and traditional).
"""

from __future__ import annotations

import re

from negotiator.content.rules import Hit, asserted, rule
from negotiator.content.text import Folded

__all__ = ["find_blurred_boundaries"]

_OUTSIDER = r"\b(?:carcinus|localendpoint)\b(?:'s)?"
_SUBJECT = rf"(?P<subject>{_OUTSIDER}(?: (?:runtime|workflows?|tasks?|coordinator|itself)){{0,2}})"
_NOT_LIST = r"(?!,? (?:and|or|nor|y|o|e|ni|carcinus|localendpoint)\b| ?[和与或/])"
_RECORDS = (
    r"(?! ?(?:records?|packets?|messages?|documentation|docs|profiles?|schemas?|examples?|boundar\w+|evidence|reviews?"
    r"|manifests?|packages?|claims?|registr\w+))"
)

# ----------------------------------------------------------------------------------------------------------- English

_BE = (
    r"(?:,? (?:is|are|was|were|remains?|becomes?|acts as|serves as|works as|functions as|forms|makes up|constitutes"
    r"|isn't|aren't|wasn't|cannot be|can be|will be|being|which is|both))"
)
_GAP = r"(?:[ ,(]+(?!that\b|which\b|who\b|may\b|can\b|consum\w+|uaix\b)[\w'-]+){0,8}?"
_NEAR_GAP = (
    r"(?:[ ,(]+(?!that\b|which\b|who\b|may\b|of\b|outside\b|beyond\b|from\b|to\b|for\b|with\b|by\b|than\b|using\b"
    r"|consum\w+|uaix\b)[\w'-]+){0,8}?"
)
_PARTS = (
    r"(?:parts?|components?|modules?|features?|functions?|subsystems?|layers?|extensions?|divisions?|products?"
    r"|services?"
    r"|runtimes?|engines?|arms?|pieces?|elements?|plug-?ins?|subsidiary|branch|core|coordinators?|orchestrators?"
    r"|execution layer|executors?|backends?|servers?|tools?|platforms?|members?)"
)
_ADVERBS = (
    r"(?:,? (?:\w{2,14}ly|also|then|now|even|just|always|itself|will|would|can|could|may|might|shall|should|must|does"
    r"|do|did|has|have|to|not|never|\w{2,8}n't)){0,5}"
)
_TIES = (
    r"(?:belongs? to|(?:owned|operated|run|provided|built|hosted|developed|maintained|executed|managed|powered"
    r"|implemented"
    r"|shipped|controlled|included|integrated|embedded|contained|merged|folded|bundled|orchestrated)"
    r"(?: and \w+)? (?:by|in|into|on|inside|with|within)"
    r"|(?:runs?|running|lives?|executes?) (?:on|in|inside|within|as part of)|inside(?: of)?|within"
    r"|the same (?:thing )?as"
    r"|identical (?:to|with)|just another name for|another name for|an alias (?:of|for)|equals|equivalent to)"
)

_EN = (
    rule(
        "boundary",
        "en",
        "part-of",
        _SUBJECT,
        r"(?P<head>",
        _BE,
        _GAP,
        r"[ ,]+",
        _PARTS,
        r" (?:of|in|inside) (?:the )?uaix\b)",
        _RECORDS,
    ),
    rule(
        "boundary",
        "en",
        "uaix-feature",
        _SUBJECT,
        r"(?P<head>",
        _BE,
        r"(?: one of(?: the)?)?",
        _NEAR_GAP,
        r"[ ,(]+uaix(?:'s)?(?: (?:own|official|core|built-in|hosted|internal|runtime|native|execution|local|desktop"
        r"|main)){0,2}[ -]",
        _PARTS,
        r"\b)",
        _RECORDS,
    ),
    rule(
        "boundary",
        "en",
        "tied-to",
        _SUBJECT,
        r"(?P<head>(?: (?:is|are|was|were|gets?|does|do|will|can|may|be|not|never|isn't|aren't|doesn't|don't|neither"
        r"|\w{2,14}ly)){0,4}",
        r" ",
        _TIES,
        r" (?:the |a )?uaix\b)",
        _RECORDS,
    ),
    rule(
        "boundary",
        "en",
        "uaix-runs",
        r"(?P<subject>\buaix\b(?:'s runtime| runtime| platform)?)",
        _ADVERBS,
        r" (?P<head>runs?|executes?|implements?|hosts?|operates?|provides?|includes?|contains?|ships?(?: with)?"
        r"|bundles?"
        r"|embeds?|owns?|powers?|manages?|controls?|offers?|drives?|orchestrates?|is|absorbs?|equals|implementing"
        r"|executing"
        r"|running|launches|starts)",
        r"(?: (?:the|a|an|its|own|all|some|no|every|full|both|not|just|really)){0,4} ",
        _OUTSIDER,
        r"(?! (?:as|only as) (?:an?|one) (?:[\w-]+ ){0,2}example)(?! (?:examples?|records?|boundary|statement))",
    ),
    rule(
        "boundary",
        "en",
        "uaix-uses",
        r"(?P<subject>\buaix\b)",
        _ADVERBS,
        r" (?P<head>uses?|using|has|treats) ",
        _OUTSIDER,
        r" as (?:its|the|an?) (?:[\w-]+ )?",
        _PARTS,
        r"\b",
    ),
    rule(
        "boundary",
        "en",
        "is-uaix",
        _SUBJECT,
        r"(?P<head>,? (?:is|are|equals)(?: not| really| just| simply)? uaix)(?= ?(?:[.,;!]|$))",
    ),
    rule(
        "boundary",
        "en",
        "uaix-runtime-name",
        r"\buaix(?:'s)?(?: (?:own|official|internal))? (?:runtime|engine|platform|orchestrator|feature|component"
        r"|coordinator"
        r"|service|executor|module)s?(?:,|:| -)? ?\(?(?:called |named |known as |is |i\.e\. )?",
        _OUTSIDER,
        _NOT_LIST,
    ),
    rule(
        "boundary",
        "en",
        "name-uaix-runtime",
        _OUTSIDER,
        r"(?:, | \(| - |: )(?P<head>(?:not )?(?:the |an? |our )?uaix(?:'s)?(?: own| official)? ",
        _PARTS,
        r")\b",
        _RECORDS,
    ),
    rule(
        "boundary",
        "en",
        "name-part-of",
        _OUTSIDER,
        r"(?:, | \(| - )(?P<head>(?:an? |the )?(?:\w+ )?",
        _PARTS,
        r" of (?:the )?uaix)\b",
        _RECORDS,
    ),
    rule("boundary", "en", "possessive", r"\buaix(?:'s|') (?:own |official |built-in )?", _OUTSIDER),
    rule(
        "boundary",
        "en",
        "compound",
        r"\buaix[ -]carcinus (?:runtime|workflows?|engine|service|coordinator|platform)\b|\buaix[ -]localendpoint "
        r"(?:runtime|feature|service|server|engine|component)\b",
    ),
    rule(
        "boundary",
        "en",
        "as-uaix-runtime",
        _OUTSIDER,
        r"(?: \w+)? as (?P<head>(?:the |an? |its |our )?(?:not )?"
        r"(?:uaix(?:'s)?(?: [\w-]+)? ",
        _PARTS,
        r"|",
        _PARTS,
        r" of (?:the )?uaix))\b",
        _RECORDS,
    ),
    rule(
        "boundary",
        "en",
        "same",
        r"\b(?:uaix and ",
        _OUTSIDER,
        r"|",
        _OUTSIDER,
        r" and uaix)(?P<head>(?: (?:are|is|not|never|really|all|both|aren't)){1,4}"
        r" (?:the same|one and the same|one (?:product|system|runtime|thing|platform)|identical|interchangeable"
        r"|merged))\b",
    ),
    rule(
        "boundary",
        "en",
        "via-uaix",
        r"\b(?:execut|run|host|orchestrat)\w* ",
        _OUTSIDER,
        r"(?: \w+){0,3} (?P<head>(?:on|in|inside|through|via|by|with) (?:the )?uaix)\b",
        _RECORDS,
    ),
)

# ----------------------------------------------------------------------------------------------------------- Spanish

_PARTS_ES = (
    r"(?:parte|componente|modulo|funcion|funcionalidad|caracteristica|producto|servicio|runtime|motor|extension|capa"
    r"|division|subsistema|plugin|complemento|propiedad|tiempo de ejecucion|orquestador|coordinador|herramienta"
    r"|plataforma)"
)
_RUNTIME_ES = (
    r"(?:runtime|motor(?: de ejecucion)?|tiempo de ejecucion|plataforma|entorno de ejecucion|orquestador|coordinador)"
)
_OF_UAIX_ES = (
    r"(?: (?!separad|extern|ajen|independiente|fuera|distint|aparte)\w+)? (?:de|del|en)"
    r"(?: (?:el|la|runtime|tiempo|motor|plataforma|de|entorno|ejecucion|sistema|proyecto)){0,5} uaix\b"
)
_ES = (
    rule(
        "boundary",
        "es",
        "parte-de",
        _SUBJECT,
        r"(?P<head>(?: (?:no|nunca|tampoco|ya))?,? (?:es|son|forman?|constituye|actua como|funciona como|sirve como)"
        r"(?:[ ,]+(?!que\b|uaix\b|puede\b)[\w'-]+){0,8}?[ ,]+",
        _PARTS_ES,
        _OF_UAIX_ES,
        ")",
    ),
    rule(
        "boundary",
        "es",
        "pertenece",
        _SUBJECT,
        r"(?P<head>(?: (?:no|nunca|tampoco|se|es|esta|fue|son|estan)){0,3} (?:pertenecen? a|de|(?:integrad|incluid"
        r"|alojad|"
        r"incorporad|operad|gestionad|ejecutad|implementad|desarrollad|mantenid)[oa]s? (?:en|por|con)|(?:ejecutan?"
        r"|corren?"
        r"|funcionan?) (?:en|dentro de|sobre)|lo mismo que|igual a|equivale a) (?:el |la )?(?:(?:runtime"
        r"|plataforma) de )?uaix\b)",
        r"(?! records)",
    ),
    rule(
        "boundary",
        "es",
        "uaix-ejecuta",
        r"(?P<subject>\buaix\b)",
        r"(?: (?:no|nunca|tampoco|tambien|ya|se|si|solo|\w{2,14}mente|puede|va a)){0,4}"
        r" (?P<head>ejecutan?|ejecutar|ejecutara|implementan?|incluye|aloja|hospeda|opera|integra|contiene|proporciona"
        r"|ofrece"
        r"|posee|controla|gestiona|es|corre)"
        r"(?: (?:los|las|el|la|un|una|flujos?|de|trabajo|comportamientos?|del|runtime|tareas|tiempo|ejecucion"
        r"|propio)){0,8} ",
        _OUTSIDER,
        r"(?! como (?:un )?ejemplo)",
    ),
    rule(
        "boundary",
        "es",
        "runtime-de-uaix",
        r"\b",
        _RUNTIME_ES,
        r"(?: (?:oficial|propio))? (?:de |del )?uaix(?:,|:| -)? ?\(?(?:es |llamado |es decir,? )?",
        _OUTSIDER,
        _NOT_LIST,
    ),
    rule(
        "boundary",
        "es",
        "nombre-runtime",
        _OUTSIDER,
        r"(?:, | \(| - |: | como )(?P<head>(?:no )?(?:el |la |un |una |parte |del )?(?:",
        _PARTS_ES,
        r"|",
        _RUNTIME_ES,
        r")",
        _OF_UAIX_ES,
        ")",
    ),
    rule(
        "boundary",
        "es",
        "lo-mismo",
        r"\b(?:uaix y ",
        _OUTSIDER,
        r"|",
        _OUTSIDER,
        r" y uaix)"
        r"(?P<head>(?: (?:no|nunca|ya))? son (?:lo mismo|uno|el mismo|la misma|un solo|identicos|equivalentes))\b",
    ),
)

# ----------------------------------------------------------------------------------------------------------- Chinese

_PARTS_ZH = (
    "(?:一部分|组成部分|部分|组件|运行时|模块|功能|产品|服务|引擎|特性|子系统|扩展|协调器|平台|执行层"
    "|插件)(?!边界|记录|文档|示例)"
)
_SUBJECT_ZH = rf"(?P<subject>{_OUTSIDER} ?(?:的)?(?:工作流程?|运行时|协调器|任务|行为)?)"
_ZH = (
    rule(
        "boundary",
        "zh",
        "是-一部分",
        _SUBJECT_ZH,
        "(?P<head>",
        r" ?(?:也|都|就|并|不|绝|从|非|实际上|, ?){0,4}",
        r"(?:是|即|就是|作为|成为|构成)(?:(?!独立|区别|分离|之外|消费|消耗)[^。;]){0,24}?uaix ?的?(?:官方|内置|核心"
        r"|自己的|内部|运行时(?:的)?){0,2}",
        _PARTS_ZH,
        ")",
    ),
    rule(
        "boundary",
        "zh",
        "属于",
        _SUBJECT_ZH,
        r"(?P<head> ?(?:也|都|就|并|不再|不|从不|绝不){0,3}(?:属于|隶属于|隶属|等于|等同于|归属于|内置于|集成于|集成在"
        r"|归) ?uaix)(?! ?记录)",
    ),
    rule(
        "boundary",
        "zh",
        "uaix-执行",
        r"(?P<subject>\buaix\b) ?",
        "(?:会|将|可以|能|也|都|直接|负责|不|并不|从不|绝不|没有|还| ){0,4}"
        "(?P<head>执行|运行(?!时)|实现|托管|包含|包括|提供|拥有|内置|集成|控制|管理|启动|就?是)"
        "(?:了|着|的|一个|所有|自己的| ){0,3}",
        _OUTSIDER,
    ),
    rule(
        "boundary",
        "zh",
        "uaix-运行时",
        r"\buaix ?(?:的)?(?:官方|内置|核心|自己的)?",
        "(?:运行时|引擎|平台|协调器|组件|功能)(?:即|就是|是|叫| |,|:|\\(){0,3}",
        _OUTSIDER,
        _NOT_LIST,
    ),
    rule(
        "boundary",
        "zh",
        "由-uaix",
        _SUBJECT_ZH,
        "(?P<head> ?(?:也|都|就|并|不|不是){0,3}(?:由|在|通过) ?uaix ?(?:平台)?(?:上|中|内|来|负责|直接)?(?:执行"
        "|运行(?!时)|托管|实现|提供|拥有|管理))",
    ),
    rule(
        "boundary",
        "zh",
        "同位",
        _OUTSIDER,
        r" ?(?:, ?|\( ?|: ?)(?P<head>(?:并不是|不是|即|也就是)? ?uaix ?的?(?:官方|内置|核心)?",
        _PARTS_ZH,
        ")",
    ),
    rule(
        "boundary",
        "zh",
        "同一",
        r"\b(?:uaix ?[和与] ?",
        _OUTSIDER,
        "|",
        _OUTSIDER,
        r" ?[和与] ?uaix)",
        "(?P<head> ?(?:并|都|不|其实|就){0,3}是(?:同一|一个|一回事|一体|相同))",
    ),
)

_TOPIC = re.compile("carcinus|localendpoint")
_BOUNDARY = _EN + _ES + _ZH


def find_blurred_boundaries(text: Folded) -> tuple[Hit, ...]:
    """Return where `text` makes Carcinus or LocalEndPoint a part of UAIX, or the reverse. Source: CAP-20, CAP-24."""
    if "uaix" not in text:
        return ()
    return tuple(asserted(text, _BOUNDARY, _TOPIC))
