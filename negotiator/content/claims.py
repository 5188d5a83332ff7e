"""Claims that UAIX executes work, and claims that UAIX certifies, endorses or guarantees.

Rules:

- UAIX records and publishes; a text that says that it executes, runs or hosts agents' work is wrong (CAP-07, CAP-20).
- UAIX certifies nothing; "UAIX-certified" is wrong too, whoever says it of itself (CAP-08).
- A negation, a question, a condition or a refused quotation of such a claim passes (`negation.py`).
- UAIX may host documents, schemas and registries: only agents' work counts as work.

Languages: English, Spanish, Chinese (simplified and traditional).
"""

from __future__ import annotations

import re

from negotiator.content.rules import Hit, asserted, rule
from negotiator.content.text import Folded

__all__ = ["find_certification_claims", "find_runtime_claims"]

# ----------------------------------------------------------------------------------------------------------- English

_UAIX = (
    r"\buaix(?![-\w])(?:'s)?(?: (?:runtime|platform|engine|servers?|services?|cloud|site|network|system|framework"
    r"|protocol|registry|itself|team|project|infrastructure|backend)){0,2}"
)
_UAIX_SUBJECT = rf"(?P<subject>{_UAIX})"
_ADVERBS = (
    r"(?:,? (?:\w{2,14}ly|also|then|now|even|just|always|itself|will|would|can|could|may|might|shall|should|must|does"
    r"|do"
    r"|did|is|are|was|has|have|had|been|to|not|never|able|going|in fact|of course|\w{2,8}n't|just record, it"
    r"|not only [a-z]{3,12},? but also|both|who|which|that|never fails? to|\w{2,8}(?: not|n't) fail to|does nothing but"
    r"|do nothing but)){0,6}"
)
_APPOSITION = r"(?:, (?:our|the|your|my|a|an|as) [\w' -]{2,30},)?"
_DETERMINERS = (
    r"(?:,? (?:the|a|an|this|that|these|those|our|my|your|its|their|his|her|all|every|each|any|some|no|of|and|or|multi"
    r"|long|long-running|ai|agent|agent's|agents'|client|client's|clients'|user|user's|users'|remote|external|durable"
    r"|entire|whole|other|autonomous|multi-agent|background|assigned|actual|real|hosted|requested|submitted|built-in"
    r"|managed|full|own|shared|cloud|secure|workflow|task|tool|not|only|just|also|merely|actually|never"
    r"|nothing but)){0,6}"
)
# What follows shows that documents, not work, are meant.
_NOT_PAPER = (
    r"(?![\w-]| (?:documentation|docs|records?|guides?|guidance|pages?|profiles?|schemas?|examples?|boundar\w+|evidence"
    r"|reports?|packets?|descriptions?|polic(?:y|ies)|claims?|rules?|registr\w+|messages?|reviews?|validators?"
    r"|manifests?"
    r"|metadata|statements?|lists?|catalogues?|catalogs?|compatib\w+|aware|status|notes?|limits?|fields?|names?))"
)
_WORK = (
    r" (?:agents|this agent|our agent|my agent|the agent|your agent|workflows?|tasks?|tool calls?|tools|jobs?|code"
    r"|scripts|work|workloads?|models?|inference|runtimes?|actions|commands|pipelines?|processes|execution|operations"
    r"|programs?|it all|everything|us|me)\b" + _NOT_PAPER
)
_EXECUTES = (
    r"(?:execut(?:e|es|ed|ing)|orchestrat(?:e|es|ed|ing))\b(?!(?: [\w-]+){0,2} (?:validat\w+|checks?|lint\w*|schemas?))"
)
_RUNS = (
    r"(?:runs?|running|ran|hosts?|hosting|hosted|performs?|performing|operates?|operating|schedules?|dispatch(?:es)?"
    r"|launch(?:es)?|carr(?:y|ies) out)\b"
)
_PRONOUN_GAP = r"\b[^.;]{0,120}[,;:-] ?(?:and |but |instead |rather )?"
_COORDINATE = (
    r"(?:^|[;:,] |\b(?:that|because|and|but) )(?P<subject>uaix)\b"
    r"(?: (?!that\b|which\b|who\b|where\b|while\b|whose\b|to\b|so\b|if\b|when\b|for\b|by\b|runtimes?\b"
    r"|is\b)[\w'-]+,?){1,7}?"
    r" (?:and|or|but|then)(?: (?:also|then|even|itself|\w{2,14}ly)){0,2} "
)
_INSIDE = (
    r"(?:directly |entirely |natively |fully |safely )?(?:by|on|in|inside|within|through|via|atop"
    r"|on top of) (?:the |a )?"
)
_EXECUTED = (
    r"\b(?:execut(?:ed|ion)|performed|carried out|orchestrat(?:ed|ion)|run|runs|running|ran|executes?"
    r"|executing|operates?)"
)
_ENGINE = (
    r" (?:runtimes?|execution(?: (?:engine|environment|service|layer|platform|runtime))?|hosting|orchestrat(?:or|ion)"
    r"|compute|job runner|task runner|workflow engine|agent host|executor)\b" + _NOT_PAPER
)

_RUNTIME_EN = (
    rule("runtime", "en", "executes", _UAIX_SUBJECT, _APPOSITION, _ADVERBS, r" (?P<head>", _EXECUTES, ")"),
    rule("runtime", "en", "runs", _UAIX_SUBJECT, _ADVERBS, r" (?P<head>", _RUNS, ")", _DETERMINERS, _WORK),
    rule("runtime", "en", "and-executes", _COORDINATE, r"(?P<head>executes|orchestrates)\b"),
    rule("runtime", "en", "and-runs", _COORDINATE, r"(?P<head>runs|hosts|performs)\b", _DETERMINERS, _WORK),
    rule(
        "runtime", "en", "it-executes", r"\buaix", _PRONOUN_GAP, r"(?P<subject>it)", _ADVERBS, r" (?P<head>executes)\b"
    ),
    rule(
        "runtime",
        "en",
        "it-runs",
        r"\buaix",
        _PRONOUN_GAP,
        r"(?P<subject>it)",
        _ADVERBS,
        r" (?P<head>runs|hosts)\b",
        _DETERMINERS,
        _WORK,
    ),
    rule("runtime", "en", "executed-by", _EXECUTED, " ", _INSIDE, _UAIX, _NOT_PAPER),
    rule(
        "runtime",
        "en",
        "hosted-by",
        r"(?:^|\b(?:agents?|workflows?|tasks?|tools?|runtimes?|code|we|i|i'm|we're|us|models?|bots?|assistants?|it is))"
        r"(?: (?!docs|documentation|records?|pages?|profiles?|schemas?|examples?)[\w'-]+){0,4} ?hosted ",
        _INSIDE,
        _UAIX,
        _NOT_PAPER,
    ),
    rule(
        "runtime",
        "en",
        "uses-engine",
        r"\b(?:uses?|using|rel(?:y|ies|ying) on|depends? on|through|via|with|needs?|requires?|inside|on|in|powered by"
        r"|backed by|provides?|offers?|has|have)(?: (?:the|a|an|our|full|real|no|not)){0,2} uaix(?:'s)?[ -]"
        r"(?:(?:hosted|managed|operated|run|executed|powered|cloud|own) ?){0,2} ?"
        r"(?:runtime(?: execution)?|execution(?: (?:engine|runtime|service|environment))?|compute|hosting)\b",
        _NOT_PAPER,
    ),
    rule(
        "runtime",
        "en",
        "is-engine",
        _UAIX_SUBJECT,
        _ADVERBS,
        r",? (?:is|are|acts as|serves as|becomes|works as|functions as|provides?|offers?|supplies|supply|includes?"
        r"|contains?|has|comes with)",
        _DETERMINERS,
        _ENGINE,
    ),
)

_CERTIFIED_WORD = r"(?:certified|endorsed|guaranteed|accredited|approved|vouched for|vetted|warranted|sanctioned)"
_CERTIFICATE = (
    r"(?:certifications?|certificates?|endorsements?|guarantees?|accreditations?|seals?(?: of approval)?|approval"
    r"|warrant(?:y|ies))\b"
)
_HAS = (
    r"\b(?:has|have|had|holds?|holding|carr(?:y|ies)|earned|received|obtained|gained|passed|got|with|under|bears?"
    r"|displays?|is|are|as|counts as|proves?|implies|imply|means|constitutes?|grants?|issues?|gives?|awarded|offers?"
    r"|provides?|enjoys?|our|my)"
    r"(?: (?:a|an|the|our|its|full|official|valid|formal|current|of|not|no|any|some|never|only)){0,4}"
)

_CERTIFICATION_EN = (
    rule(
        "certification",
        "en",
        "certifies",
        _UAIX_SUBJECT,
        _ADVERBS,
        r" (?P<head>certif(?:y|ies|ied|ying)|endors(?:e|es|ed|ing)|guarante(?:e|es|ed|eing)|accredit(?:s|ed|ing)?"
        r"|vouch(?:es|ed)? for|warrants)\b",
    ),
    rule("certification", "en", "and-certifies", _COORDINATE, r"(?P<head>certifies|endorses|guarantees|vouches for)\b"),
    rule(
        "certification",
        "en",
        "it-certifies",
        r"\buaix",
        _PRONOUN_GAP,
        r"(?P<subject>it)",
        _ADVERBS,
        r" (?P<head>certifies|endorses|guarantees|vouches for)\b",
    ),
    rule(
        "certification",
        "en",
        "certified-by",
        rf"\b{_CERTIFIED_WORD}",
        rf"(?:(?:,? (?:or|and|nor)|,) {_CERTIFIED_WORD}){{0,4}},? (?:\w{{2,14}}ly )?by (?:the )?",
        _UAIX,
        r"(?![\w-])",
    ),
    rule(
        "certification",
        "en",
        "adjective",
        r"\buaix[ -](?:(?:officially|fully|formally)[ -])?(?:certified|endorsed|approved|accredited|guaranteed"
        r"|warranted)\b",
    ),
    rule("certification", "en", "has", _HAS, r" uaix(?:'s)?(?: [\w-]+)? ", _CERTIFICATE),
    rule(
        "certification", "en", "has-from", _HAS, " ", _CERTIFICATE, r" (?:by|from|of|issued by) (?:the )?uaix(?![-\w])"
    ),
    rule(
        "certification",
        "en",
        "is-certifier",
        _UAIX_SUBJECT,
        _ADVERBS,
        r" (?:is|acts as|serves as|issues|grants|gives|offers|provides|awards|sells)",
        _DETERMINERS,
        r"(?: (?:formal|official|conformance|safety|quality))? ?(?:certifiers?\b|certification (?:body|authority)\b"
        r"|guarantors?\b|",
        _CERTIFICATE,
        ")",
    ),
)

# ----------------------------------------------------------------------------------------------------------- Spanish

_UAIX_ES = (
    r"(?:(?:el |la )?(?:runtime|tiempo de ejecucion|plataforma|motor|servidor|servicio|nube|sitio|sistema|entorno"
    r"|infraestructura)(?: de ejecucion)? de )?\buaix(?![-\w])(?: mism[oa])?"
)
_UAIX_ES_SUBJECT = rf"(?P<subject>{_UAIX_ES})"
_ADVERBS_ES = (
    r"(?:,? (?:\w{2,14}mente|tambien|ademas|ya|solo|siempre|se|lo|la|los|las|nos|le|les|te|me|si|puede|pueden|podra"
    r"|podria|va|van|a|debe|no|ni|nunca|jamas|tampoco|es quien|es el que|encargan? de|es capaz de|en realidad"
    r"|registra,? sino que"
    r"|registra,? sino que tambien)){0,6}"
)
_DETERMINERS_ES = (
    r"(?: (?:el|la|los|las|un|una|su|sus|mi|mis|nuestr[oa]s?|tus?|tod[oa]s?|est[ae]|est[oa]s|cada|a|de|del|tambien"
    r"|propi[oa]"
    r"|no|solo|nuevo|otros?|mas)){0,5}"
)
_NOT_PAPER_ES = r"(?! (?:document\w+|registros?|esquemas?|ejemplos?|perfiles?|guias?|paginas?|limites?|declarad\w+))"
_WORK_ES = (
    r" (?:agentes?|flujos?(?: de trabajo)?|tareas?|herramientas?|codigo|trabajos?|modelos?|runtime|inferencia|acciones"
    r"|procesos|ejecucion|operaciones)\b" + _NOT_PAPER_ES
)
_EXECUTES_ES = (
    r"(?:ejecut(?:a|an|ar|ara|aran|aria|o|ando|e)|orquest(?:a|an|ar|ara))\b(?! (?:la |las )?(?:validac\w+"
    r"|comprobac\w+))"
)
_RUNS_ES = r"(?:corren?|hospedan?|hospedara|alojan?|alojara|operan?|realizan?|lanzan?|programan?)\b"
_COORDINATE_ES = (
    r"(?:^|[;:,] |\b(?:que|porque|y|pero) )(?P<subject>uaix)\b"
    r"(?: (?!que\b|quien\b|cual\b|donde\b|mientras\b|para\b|si\b|cuando\b|por\b|es\b)[\w'-]+,?){1,7}?"
    r" (?:y|e|o|pero|sino que|sino)(?: (?:tambien|ademas|luego|\w{2,14}mente)){0,2} "
)
_INSIDE_ES = r" (?:\w{2,14}mente )?(?:por|en|dentro de|mediante|a traves de|desde|sobre|con) (?:el |la )?"
_ENGINE_ES = (
    r" (?:runtime|tiempo de ejecucion|motor de ejecucion|entorno de ejecucion|plataforma de ejecucion|ejecucion"
    r"|alojamiento|orquestador)\b" + _NOT_PAPER_ES
)

_RUNTIME_ES = (
    rule("runtime", "es", "ejecuta", _UAIX_ES_SUBJECT, _ADVERBS_ES, r" (?P<head>", _EXECUTES_ES, ")"),
    rule(
        "runtime", "es", "aloja", _UAIX_ES_SUBJECT, _ADVERBS_ES, r" (?P<head>", _RUNS_ES, ")", _DETERMINERS_ES, _WORK_ES
    ),
    rule("runtime", "es", "y-ejecuta", _COORDINATE_ES, r"(?P<head>ejecuta|orquesta)\b"),
    rule(
        "runtime", "es", "y-aloja", _COORDINATE_ES, r"(?P<head>aloja|hospeda|corre|opera)\b", _DETERMINERS_ES, _WORK_ES
    ),
    rule(
        "runtime",
        "es",
        "ejecutado-por",
        r"\b(?:ejecutad|realizad|orquestad)[oa]s?",
        _INSIDE_ES,
        _UAIX_ES,
        _NOT_PAPER_ES,
    ),
    rule(
        "runtime",
        "es",
        "lo-ejecuta",
        r"\b(?:l[oa]s?|que|quien) (?:ejecuta|orquesta|aloja|hospeda|corre) ",
        _UAIX_ES,
        r"(?= ?(?:[.,;!]|$))",
    ),
    rule(
        "runtime",
        "es",
        "se-ejecuta-en",
        r"\b(?:ejecut(?:an?|o|amos)|corr(?:en?|emos)|funcionan?|operan?)",
        _INSIDE_ES,
        _UAIX_ES,
        _NOT_PAPER_ES,
    ),
    rule(
        "runtime",
        "es",
        "alojado-por",
        r"\b(?:agentes?|tareas?|flujos?|codigo|runtime|modelos?|estamos|estoy|esta)(?: [\w'-]+){0,4} ?"
        r"\b(?:alojad|hospedad)[oa]s?",
        _INSIDE_ES,
        _UAIX_ES,
        _NOT_PAPER_ES,
    ),
    rule(
        "runtime",
        "es",
        "usa-motor",
        r"\b(?:usa|usamos|utiliza|utilizamos|depende de|dependemos de|con|mediante|a traves de|ofrece|proporciona|en"
        r"|sobre)"
        r"(?: (?:el|la|un|una|no|propio)){0,2}",
        _ENGINE_ES,
        r"(?: \w+)? (?:de|por|en) uaix\b",
    ),
    rule(
        "runtime",
        "es",
        "es-motor",
        _UAIX_ES_SUBJECT,
        _ADVERBS_ES,
        r" (?:es|actua como|sirve como|sirve de|ofrece|proporciona|incluye|tiene|brinda)",
        _DETERMINERS_ES,
        _ENGINE_ES,
    ),
)

_CERTIFIED_ES = r"(?:certificad|avalad|garantizad|respaldad|acreditad|aprobad|homologad)[oa]s?"
_CERTIFICATE_ES = r"(?:certificacion|certificado|aval|garantia|respaldo|acreditacion|sello)"

_CERTIFICATION_ES = (
    rule(
        "certification",
        "es",
        "certifica",
        _UAIX_ES_SUBJECT,
        _ADVERBS_ES,
        r" (?P<head>certific(?:an?|ara|o|ar)|aval(?:an?|o|ara|ar)|garantiz(?:an?|ara|o|ar)|respald(?:an?|ara|ar)"
        r"|acredit(?:an?|o|ara)|homolog(?:an?|o)|aprueban?|aprobo)\b",
    ),
    rule(
        "certification", "es", "y-certifica", _COORDINATE_ES, r"(?P<head>certifica|avala|garantiza|respalda|acredita)\b"
    ),
    rule(
        "certification",
        "es",
        "certificado-por",
        rf"\b{_CERTIFIED_ES}",
        rf"(?:(?:,? (?:o|y|ni|e|u)|,) {_CERTIFIED_ES}){{0,4}} (?:\w{{2,14}}mente )?por (?:el |la )?",
        _UAIX_ES,
    ),
    rule(
        "certification",
        "es",
        "tiene",
        r"\b(?:con|tiene|tenemos|tengo|posee|obtuvo|recibio|cuenta con|es|lleva|bajo|otorga|emite|implica|supone"
        r"|ofrece|da)"
        r"(?: (?:la|el|un|una|su|no|ningun[oa]?|sello|de|plena|oficial|como)){0,4} ",
        _CERTIFICATE_ES,
        r"(?: (?:oficial|plen[oa]|valid[oa]))? (?:de |por |emitid[oa] por |otorgad[oa] por )?(?:la )?uaix\b",
    ),
    rule(
        "certification",
        "es",
        "otorga",
        _UAIX_ES_SUBJECT,
        _ADVERBS_ES,
        r" (?:otorga|emite|concede|da|ofrece|entrega|es)(?: (?:la|el|un|una|su|no|ningun[oa]?|sello|de|entidad"
        r"|como)){0,4} ",
        rf"(?:{_CERTIFICATE_ES}|certificaciones|certificados|garantias|certificador[a]?)\b",
    ),
)

# ----------------------------------------------------------------------------------------------------------- Chinese

_UAIX_ZH = r"\buaix ?(?:的)?(?:平台|运行时|系统|引擎|服务器|服务|云端|云|网站|本身|自己|框架|协议|团队|官方|组织)?"
_UAIX_ZH_SUBJECT = rf"(?P<subject>{_UAIX_ZH})"
_ADVERBS_ZH = (
    "(?:会|将|可以|可|能够|能|负责|直接|也|都|还|自动|来|去|就|正在|已经|已|在后台|实际上|真正|始终|总是|一直|必须"
    "|应该|应|不仅仅|不仅|不只"
    "|不但|不断|不停地|并不|从不|绝不|从未|没有|没|不|未|代为|(?:为|替|代表|帮|给)(?:您|我们|你|我|用户|代理|客户端"
    "|客户|[本该此]代理|它)的?|而且|并且|并|或者?"
    "|上|中|里|内|所|官方|正式|全面|无缝|, ?| ){0,8}"
)
_NOT_PAPER_ZH = "(?!声明|主张|宣称|声称|说法|边界|记录|规则|文档|能力|政策|限制|的声明|的主张|的说法|, ?不安全)"
_EXECUTES_ZH = "(?:(?:执行|编排|调度)(?!(?:架构|模式|格式)?(?:验证|校验|检查)))" + _NOT_PAPER_ZH
_WORK_ZH = (
    "(?:代理|智能体|工作流程?|任务|工具|代码|模型|作业|运行时|工作|程序)(?! ?(?:文档|记录|示例|规范|说明|指南"
    "|资料|配置|档案|清单|声明|架构|边界))"
)
_RUNS_ZH = "(?:托管|运行(?!时)|代跑|驱动|操作)(?!的)" + _NOT_PAPER_ZH
_GAP_ZH = r"(?:(?!文档|注册|示例|架构|记录|页面|规范|指南)[\u3400-\u9fff, ]){0,6}?"
_ENGINE_ZH = "(?:运行时|运行环境|执行引擎|执行环境|托管服务|编排器|执行服务|执行平台)" + _NOT_PAPER_ZH + "(?!功能)"

_COORDINATE_ZH = (
    r"(?:^|[;:,] ?)(?P<subject>uaix)\b(?:(?!由|被|客户端|代理读|运行时)[\u3400-\u9fff, ]){1,24}?"
    "(?:但是|但|而是|还|并且|而且|并|却)(?:会|也|将|可以|只|能|直接|自动){0,3}"
)

_RUNTIME_ZH = (
    rule("runtime", "zh", "执行", _UAIX_ZH_SUBJECT, _ADVERBS_ZH, "(?P<head>", _EXECUTES_ZH, ")(?!的?时)"),
    rule(
        "runtime", "zh", "运行", _UAIX_ZH_SUBJECT, _ADVERBS_ZH, "(?P<head>", _RUNS_ZH, ")(?:了|着)?", _GAP_ZH, _WORK_ZH
    ),
    rule("runtime", "zh", "运行在", r"(?:运行|执行|托管)(?:在|于) ?", _UAIX_ZH, "(?! ?(?:之外|以外|外部?))"),
    rule("runtime", "zh", "并-执行", _COORDINATE_ZH, "(?P<head>", _EXECUTES_ZH, ")(?!的?时)"),
    rule("runtime", "zh", "并-运行", _COORDINATE_ZH, "(?P<head>", _RUNS_ZH, ")(?:了|着)?", _GAP_ZH, _WORK_ZH),
    rule(
        "runtime",
        "zh",
        "由-执行",
        "(?P<subject>(?:由|通过|经由|靠|交给|交由|依靠|在) ?",
        _UAIX_ZH,
        ")",
        _ADVERBS_ZH,
        "(?P<head>执行|运行(?!时)|托管|编排|调度)",
        _NOT_PAPER_ZH,
    ),
    rule(
        "runtime",
        "zh",
        "提供-运行时",
        _UAIX_ZH_SUBJECT,
        _ADVERBS_ZH,
        "(?:是|提供|充当|作为|包含|具有|拥有)",
        "(?:一个|了|的|我们|您|代理|自己|完整|, ?| ){0,4}",
        _ENGINE_ZH,
    ),
    rule(
        "runtime",
        "zh",
        "使用-运行时",
        "(?:使用|依赖|借助|利用|基于|采用|依托)(?:了|于)? ?uaix ?(?:托管)?的?(?:托管)?",
        _ENGINE_ZH,
    ),
)

_CERTIFIES_ZH = "(?:认证|担保|背书|认可|保证|核准|批准|认定|保障|鉴定)(?!头|令牌|方式|信息|方法)"

_CERTIFICATION_ZH = (
    rule("certification", "zh", "认证", _UAIX_ZH_SUBJECT, _ADVERBS_ZH, "(?P<head>", _CERTIFIES_ZH, ")", _NOT_PAPER_ZH),
    rule("certification", "zh", "并-认证", _COORDINATE_ZH, "(?P<head>", _CERTIFIES_ZH, ")", _NOT_PAPER_ZH),
)

_TOPIC = re.compile("uaix")
_RUNTIME = _RUNTIME_EN + _RUNTIME_ES + _RUNTIME_ZH
_CERTIFICATION = _CERTIFICATION_EN + _CERTIFICATION_ES + _CERTIFICATION_ZH


def find_runtime_claims(text: Folded) -> tuple[Hit, ...]:
    """Return where `text` asserts that UAIX executes, runs or hosts agents' work. Source: CAP-07, CAP-20."""
    return tuple(asserted(text, _RUNTIME, _TOPIC))


def find_certification_claims(text: Folded) -> tuple[Hit, ...]:
    """Return where `text` asserts that UAIX certifies, endorses or guarantees something. Source: CAP-08, CAP-20."""
    return tuple(asserted(text, _CERTIFICATION, _TOPIC))
