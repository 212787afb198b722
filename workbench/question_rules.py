"""What a question's words ask of its answer's rows: an order, and a number of them. Rules that ship.

In: the English question. Out: two yes or no, found apart. The rules are general ones of wording, in the tables below,
made on the tune half of `workbench/labels` alone; that folder's README says what the two axes mean, and what the rules
reach on the other half. A question is read sentence by sentence, in lower case. What the words leave open counts as no.
"""

import re

_NUMBER = r"(?:(?:[2-9]|[1-9]\d|100|200|500)(?![.,:/]\d|\d|-|%)|(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|fifty|hundred)(?!-))"
_NO_SUPERLATIVES = (
    "west|midwest|northwest|southwest|test|guest|forest|request|interest|nest|rest|harvest|contest|protest|honest|modest"
    "|suggest|invest|budapest|everest|bucharest|chest|quest|arrest|digest|manifest|priest|crest|zest|vest|pest|conquest"
    "|earnest|forrest|brest|attest|detest|ernest|bequest|infest|ingest|molest|tempest|inquest|rainforest|unrest|dishonest|fest"
)
_SUPERLATIVE = (  # "most of them" ranks nothing
    rf"(?:(?!(?:{_NO_SUPERLATIVES})\b)[a-z]+est|most(?! of\b)|least|best|worst|top(?! of\b)|bottom(?! of\b)|topmost)"
)
_ONE = r"(?:one|a|an|once|twice|half|as)\b"
_UNITS = (
    r"(?:decimals?|decimal places|digits|letters|characters|places after|figures|columns?|rows? for|percent|per cent)"
)
_PERIODS = r"(?:years?|months?|weeks?|days?|hours?|minutes?|seconds?|decades?|seasons?|centuries|nights?|quarters?)"
_REQUEST = (
    r"(?:name|list|show|give|find|return|display|tell|state|provide|identify|print|select|mention|enumerate|report"
    r"|get|present|pick|write|describe|indicate|fetch|retrieve|output|suggest|choose|take|see|want|need|like)"
)
_FILLER = (
    r"(?:please|me|us|out|down|up|only|just|any|all|the|our|my|these|those|of|them|full|first|last|next|other|and)"
)

# Wordings that ask for a sorted list, each with an example.
ORDERS = (
    (r"\b(?:in|by|into)(?: (?!(?:an|one|each|every|any|no|this|same|purchase|his|her|our)\b)[\w'-]+){0,3} (?<!rank )order\b(?! (?:to|numbers?|form)\b)", "in descending order of age"),
    (r"(?<!was )(?<!were )(?<!been )\border(?:ed)? (?:\w+ )?(?:by|alphabetically|according)\b|\bin sequence\b", "order by date"),
    (r"(?:^|[,;] |\band |\bplease )(?:order|sort|arrange|rank) (?:the|them|these|those|all|it|by|each|every|in|from|results?)\b", "sort them"),
    (r"\bsorted\b(?! out)|\bsort (?:\w+ ){0,6}(?:by|from|in)\b", "sorted by name"),
    (r"\b(?:arranged?|listed) (?:by|alphabetically|according|from|in order)\b", "arranged by year"),
    (r"^rank\b|\brank(?:ed|ing)? (?:[\w']+ ){0,6}(?:by|according|from|based on|in terms of)\b|\bhow (?:do|does|did) .*\brank\b", "rank them by height"),
    (r"\b(?:a|the) ranking of\b|\branked list\b", "the ranking of clubs"),
    (r"\b(?:ascending|descending|ascendingly|descendingly|alphabetically|chronologically|increasing order)\b", "ascending"),
    (rf"\b(?:{_SUPERLATIVE}|earlier|later|higher|lower|bigger|larger|older|newer)(?: (?!in\b|on\b|at\b|as\b|than\b)[\w-]+){{0,5}} first\b(?! (?:name|place|prize)s?\b)", "longest first"),
    (rf"\b(?:{_SUPERLATIVE})(?: [\w-]+){{0,3}} (?:last|at the (?:end|top|bottom)|on top)\b", "the smallest last"),
    (r"\b(?:winner|leader|\w+) on top\b|\bstands? at the end\b|\b(?:comes?|goes?|listed) (?:first|last)$", "the winner on top"),
    (r"\bfirst(?! names?\b) .*[,;] then\b", "first the doctors, then the nurses"),
    (rf"\b(?:begin|beginning|start|starting|end|ending) (?:with|from|at|by|in) (?:the |his |her |their |its |whoever )?(?:[\w-]+ )?(?:{_SUPERLATIVE}|first|last)\b", "begin with the largest"),
    (rf"\bfrom (?:the )?(?:{_SUPERLATIVE}|first|last)(?: [\w-]+){{0,3}} (?:up|upwards|down|downwards|on|onwards)\b", "from the smallest area up"),
    (rf"\b(?:{_SUPERLATIVE}|first)(?: [\w-]+)? to (?:the )?(?:{_SUPERLATIVE}|last)\b", "from highest to lowest"),
    (r"\bfrom (?:high|low|old|new|young|big|small|large|long|short|early|late|left|right|north|south|east|west|a|top|bottom)(?: [\w-]+)? to (?:the )?(?:high|low|old|new|young|big|small|large|long|short|early|late|left|right|north|south|east|west|z|top|bottom)\b", "from high to low"),
    (r"\bgoing (?:through|along|down|up) the\b|(?:^|, )(?:go|going) (?:through|along|down|up|from)\b", "going through the year"),
    (r"(?:^|, |\band )(?:start|begin) (?:with|from|at)\b|, (?:starting|beginning) (?:with|from|at)\b", "start with the harbour"),
    (r"\b(?:alphabetical|chronological)\b|\bone after (?:another|the other)\b|\bby (?:increasing|decreasing|rising|falling)\b", "by falling price"),
    (r"\bfrom (?:monday to sunday|january to december|a to z)\b", "from Monday to Sunday"),
)  # fmt: skip
IN_ONE_VALUE = (
    r"\b(?:in|on|into) (?:one|a single) (?:line|row|cell|field|string|value)\b|\bseparated by\b|\bcomma-separated\b"
)

# Wordings that say how many rows there are; {n} is a number from two on, in words or digits.
NUMBERS = (
    (rf"\b(?:which|what) (?:top |bottom |first |last |other |are the |were the )?(?:most )?{{n}}\b(?! {_UNITS})", "which three clubs"),
    (rf"(?:^|[,;:] |\band |\bplease |\b(?:can|could) you |\bto |\b(?:i|we) |\bwould )\(?{_REQUEST}(?: {_FILLER})*(?: (?:{_SUPERLATIVE}))? {{n}}\b(?! {_UNITS})", "name any 10 users"),
    (rf"\b(?:who|what|which)(?: of(?: [\w'-]+){{1,3}})? (?:are|were|is|was) (?:the|our|its|their|your|those)(?: {_SUPERLATIVE}| most \w+| first| last| other)? {{n}}\b(?! {_UNITS})(?! {_PERIODS}\b)", "who are the five ..."),
    (rf"^(?!(?:which|who|how|where|when|of|among|between|in)\b).*\b(?:of|for|with|about|are|were) (?:(?:the|those|our|its) )?{{n}} (?:[\w'-]+ ){{0,9}}?{_SUPERLATIVE}\b", "names of the 3 smallest"),
    (rf"\b(?:{_SUPERLATIVE}|most [a-z]+|first|last|second|newest|next) {{n}}\b(?! {_PERIODS}\b)(?! {_UNITS})", "the top 3"),
    (rf"\b(?:top|bottom)[ -]?(?:{{n}}|1|one)\b(?! {_UNITS})", "top-10"),
    (rf"\b(?:which|what)(?: [\w'-]+){{1,3}} (?:are|were) (?:the|our) {{n}} (?:[\w'-]+ )?{_SUPERLATIVE}\b", "which islands are the two biggest"),
    (rf"^(?:the )?{{n}} (?:[\w'-]+ )?{_SUPERLATIVE}\b", "the ten longest songs"),
    (r"^{n} (?:are enough|will do|suffice)\b|\b(?:stop|limit|cut)\b.* (?:at|to) {n}$|, {n} of them$", "limit it to eight"),
    (r"\b{n} (?:[\w'-]+ )?(?:to|on|per) (?:a|each|the|every) page\b", "ten names to a page"),
    (r"\b(?:looking for|(?:want|need|like) to \w+) (?:the )?{n}\b", "I am looking for the two oldest"),
    (rf"(?:^|[,;] |\band |\bplease ){_REQUEST}(?: (?:me|us|out|just|only|any|the))* (?:only )?(?:one|1|a single) (?!(?:of|who|that|which|with|for|where|per|way|line|row|entry|record|figure|number|value|result|column|list|table|word)\b)(?!{_UNITS}\b)[a-z]+", "name one member"),
)  # fmt: skip
# A number behind one of these is a condition or a span of time.
NO_NUMBERS = (
    r"(?:atleast|among|reached|reach|made|entered|over|under|above|below|exactly|than|between|into"
    r"|in the (?:first|last|next)|in (?:first|last|next)|within|during|every|each|after|before|leaving|except|without|apart from|besides|up to|about|around|nearly|all)"
)

_ENDS = r"(?:first|last|next|top|bottom|best|latest|most recent)"

# A superlative does not rank rows: within each group, where its things are counted or averaged, as an extreme value.
_EACH = r"(?:each|every)\b(?! (?:of (?:them|these|those)|one|other|has|have|had|was|were|is|time|day)\b)(?=(?: \w|'))"
_GROUP_END = r"\b(?:for|in|of|from|by|on|at) (?:each|every one)$"
GROUPS_AHEAD = r"^(?:and |then )?(?:for|in|on|at|of|from|per|within|by) (?:each|every)\b"
GROUPS_OF_MANY = rf"\b(?:in|of|from|within|per|among) {_EACH}"
GROUPS = rf"{GROUPS_AHEAD}|\b{_EACH}|{_GROUP_END}"
BESIDE = r",? and (?:how|what|when|which|where)\b.*"  # what is asked of the row that was found
_AGGREGATE = (
    r"(?:total|average|mean|sum|count|percentage|ratio|proportion|difference|combined|overall|median"
    r"|share of|(?:exact )?number of(?! the\b))"
)
_ASKED = r"(?!.*\b(?:which|who|whose|where|when|what)\b.*,)"  # no other question ahead of the comma
COUNTED = (
    r"^(?:and |please |also )*(?:how many|how often|in how many|for how many|on how many|count|calculate|compute|determine the number)\b",
    rf"^(?:{_ASKED}[^,]*, )?(?:and |please |also )*(?:what|{_REQUEST})(?:'s| is| are| was| were)?(?: me| us)?(?: out)? (?:the )?(?:(?:annual|monthly|yearly|overall|average|exact) )?{_AGGREGATE}\b",
    rf"^{_ASKED}[^,]{{0,150}}, (?:how many|how often|count|calculate)\b",
    r"^what (?:percentage|proportion|share|percent)\b",
)
_MEASURES = (
    r"(?:times?|ages?|weights?|heights?|lengths?|widths?|gnp|populations?|scores?|salary|salaries|amounts?|numbers?|prices?|ratings?"
    r"|percentages?|rates?|values?|horsepower|mpg|durations?|distances?|capacity|shares?|temperatures?|points?|speeds?"
    r"|counts?|areas?|sizes?|totals?|averages?|costs?|budgets?|attendances?|sums?|balances?|fees?|dates?|levels?|depths?"
    r"|income|profits?|revenues?|sales|earnings|payments?|debts?|loan amounts?|bids?|elevations?|altitudes?|latitudes?"
    r"|longitudes?|accelerate|displacement|weeks?|days?|hours?|minutes?|years of|gap|margin|quantity|fares?|wages?|rents?|bonus|votes|pressure|dose|frequency)"
)
_NO_SINGLE = r"(?! (?:common|commonly|popular|frequent|frequently|often|used)\b)"
_EXTREME = rf"{_SUPERLATIVE}{_NO_SINGLE} (?:(?!by\b|in\b|of\b|with\b|for\b|from\b|on\b|at\b|and\b|that\b|to\b)[\w-]+ ){{0,2}}?{_MEASURES}\b"
AND_WHOSE = r"\band (?:what|which|who|whose|where|when|in which|to which|the name)\b"
_WHAT_IS = rf"(?:what|how (?:much|high|low|old|long|large|big|great)|{_REQUEST})(?:'s| is| are| was| were)?(?: me| us)?"
VALUES = (
    rf"\b{_WHAT_IS} (?:the |his |her |its |their )?(?:[\w-]+ (?:and|or|,) )*{_EXTREME}(?!.*{AND_WHOSE})",
    rf"\band (?:what (?:is|was) )?(?:the )?{_EXTREME}(?!.*{AND_WHOSE})",
    rf"\bwhat (?:is|was) the (?:most|least|fewest) (?:that|anyone|anybody|ever|any|a)\b(?!.*{AND_WHOSE})",
    rf"\b(?:{_SUPERLATIVE}(?:, and |, | and ))+(?:the )?(?:average|mean)\b",
    rf"\b(?:average|mean)(?:(?:, and |, | and )(?:the )?{_SUPERLATIVE}\b)+",
)

_PLACES = r"(?:in|on|at|during|from|since|after|before|until|by|for|into|per|within|between|each|every|not)\b"
_NO_FIRST = r"(?:names?|initials?|letters?|characters?|lap|half|words?|columns?|digits?|floor|class|aid|(?:\w+ ){0,2}(?:dates?|ids?|names?))\b"
SINGULARS = (  # wordings that ask for the row at an extreme
    (rf"\b{_SUPERLATIVE}\b", "the tallest tree"),
    (r"(?<!not )(?<!n't )\b(?:with|has|had|having|have|reached) (?:the |a )?(?:maximum|minimum|max|min)\b(?! of\b)", "with the maximum age"),
    (r"\b(?:was|were|is|are|came|be) (?:the )?(?:very )?(?:first|last)(?: to\b|$)|\bwho (?:was|is|came) (?:the )?(?:first|last)\b|\b(?:first|last) ever\b|\b(?:which|who|what|when)\b.* (?:first|last)$|^when\b.* for the (?:first|last) time\b", "was the last to open"),
    (rf"\b(?:(?:when|what|where|{_REQUEST})(?: (?!{_PLACES})[\w'-]+){{0,7}} (?:the|his|her|its|their|our)|(?:who|which)(?: (?!{_PLACES})[\w'-]+){{0,7}} (?:the|\w+'s)) (?:very )?(?:first|last) (?!{_NO_FIRST})\w+", "the name of the first guest"),
    (r"\b(?:more|fewer|less|\w+er)\b.* than any (?:other|one else)\b|\bthan (?:everyone|all others|all the others)\b", "more than any other"),
    (r"\bwho (?:is|was|came) (?:second|third|fourth|fifth)\b|\b(?:second|third|runner-up) place\b", "who is second"),
)  # fmt: skip
FIRST_OR_LAST = (r"\b(?:first|last)\b(?! names?\b)", "the five that run out last")  # ranks where a number is stated
_NEW_QUESTION = (
    r"(?:which|who|whose|what|where|when|in which)\b"  # a sentence that opens one leaves the groups before it
)
# An extreme that only says which list or day is meant.
SCOPES = (
    rf"\b(?:than|above|below) (?:the )?{_SUPERLATIVE}\b|"
    r"\b(?:on|in|at|by|since|until|from|of|during|to|as of|under) (?:the|their|its|his|her) (?:"
    r"(?:last|first) (?:list|year|season|month|round|day|week|count|lap|half)|(?:latest|last|newest|most recent)"
    r" (?:list|issue|version|count|edition))\b"
)
_COMPARATIVE = (
    r"(?:more|less|fewer|higher|lower|older|younger|larger|bigger|smaller|greater|longer|shorter|taller|heavier|lighter|faster|slower|earlier"
    r"|later|cheaper|stronger|weaker|newer|richer|better|worse|closer|nearer|wider|deeper|busier|dearer|farther|further)"
)
_MORE = rf"(?<!or ){_COMPARATIVE}\b(?! (?:case|or)\b)"
COMPARISONS = (  # of things that are named: A or B
    rf"\b(?:which|who|whose|what|where)\b.*\b{_MORE}.*[,:-] .*\bor\b",
    rf"\b(?:which (?:one|of)|who (?:of|among|between))\b.*\b{_MORE}",
    rf"\b(?:between|of the two|out of|among)\b.*\b(?:which|who|whose)\b.*\b{_MORE}",
    rf"^(?:did|does|do|has|have|is|was|are|were)\b.*\bor\b.*\b{_MORE}",
)


def classify_by_rules(question: str) -> tuple[bool, bool]:
    """(is_ordered, is_row_count_fixed) of an English question."""
    sentences = _sentences(question)
    is_fixed = any(map(_states_number, sentences))
    is_ranked = any(_any((*SINGULARS, FIRST_OR_LAST), each) for each in sentences) if is_fixed else _ranks(sentences)
    return is_ranked or _asks_order(sentences), is_fixed


def _sentences(question: str) -> list[str]:
    flat = re.sub(r"\s+", " ", question.lower().replace("\u2019", "'")).strip()
    flat = re.sub(r"\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)", "it", flat)  # a name in quotes says nothing of the answer
    flat = re.sub(r"\b(no|nr|st|vs|dr|mr|mrs|approx)\. (?=\w)", r"\1 ", flat)
    flat = re.sub(rf"\bat (?:the very |the )?least\b|\bat (?:the )?most (?={_NUMBER}|\d|{_ONE})", "atleast ", flat)
    flat = re.sub(r"\bat (?:the )?(?:latest|earliest|best|worst|first|last)(?=$|[,.?!])", "", flat)
    return [part.strip(" ,") for part in re.split(r"[.?!;](?:\s|$)", flat) if part.strip(" ,")]


def _asks_order(sentences: list[str]) -> bool:
    return any(_any(ORDERS, each) and not re.search(IN_ONE_VALUE, each) for each in sentences)


def _states_number(sentence: str) -> bool:
    if re.search(GROUPS_AHEAD, sentence) or _is_counted(sentence):
        return False
    for pattern, _ in NUMBERS:
        for found in re.finditer(pattern.replace("{n}", _NUMBER), sentence):
            number = re.search(rf"\b{_NUMBER}\b", found.group())
            place = found.start() + (number.start() if number else 0)
            is_condition = re.search(rf"(?:\b{NO_NUMBERS}|^of)(?: the| their| its)?(?: {_ENDS})? ?$", sentence[:place])
            if not is_condition and not re.search(GROUPS_OF_MANY, sentence[place:]):
                return True
    return False


def _ranks(sentences: list[str]) -> bool:
    is_grouped = False
    for sentence in sentences:
        is_grouped = bool(re.search(GROUPS, re.sub(BESIDE, "", sentence))) or (
            is_grouped and not re.match(_NEW_QUESTION, sentence)
        )
        if is_grouped or (_is_counted(sentence) and not re.search(AND_WHOSE, sentence)):
            continue
        rest = re.sub("|".join([SCOPES, *VALUES]), " ", sentence)
        if _any(SINGULARS, rest):
            return True
        if " than" not in sentence and any(re.search(each, sentence) for each in COMPARISONS):
            return True
    return False


def _is_counted(sentence: str) -> bool:
    return any(re.search(each, sentence) for each in COUNTED)


def _any(table: tuple[tuple[str, str], ...], sentence: str) -> bool:
    return any(re.search(pattern, sentence) for pattern, _ in table)
