"""The LLM judge of errors: the plans paper's prompt (appendix D), and the same for HES-SQL's eight types.

In: question, gold, prediction, error message. Out: messages for a model, and from its answer a name of the scheme. The six
categories' definitions are the plans paper's; those of the eight types and all examples, one for each name, are ours.
judge_errors.py asks a model for what a run stores.
"""

import re

from workbench.errors import ConfigError
from workbench.labels import CATEGORIES, ERROR_TYPES

SAMPLING = {"temperature": 0.0, "max_tokens": 200}

# name -> (definition, question, gold, prediction, message)
_CATEGORY_EXAMPLES = {
    "schema_linking": (
        "Wrong table or column name, hallucinated schema element.",
        "Which cities do our teachers live in?",
        "SELECT city FROM teacher",
        "SELECT birthplace FROM teacher",
        "no such column: birthplace",
    ),
    "filtering_logic": (
        "Wrong WHERE predicate, JOIN condition, subquery logic, or conditional expression.",
        "How many courses of more than 5 credits are taught in spring?",
        "SELECT COUNT(*) FROM course WHERE credits > 5 AND term = 'spring'",
        "SELECT COUNT(*) FROM course WHERE credits > 5",
        None,
    ),
    "aggregation_grouping": (
        "Wrong aggregation function, incorrect GROUP BY or HAVING clause.",
        "Which terms have courses of more than 5 credits on average?",
        "SELECT term FROM course GROUP BY term HAVING AVG(credits) > 5",
        "SELECT term FROM course WHERE credits > 5 GROUP BY term",
        None,
    ),
    "ordering_ranking": (
        (
            "Wrong ORDER BY column or direction, wrong LIMIT/OFFSET, RANK vs. ROW_NUMBER on ties; also covers structural "
            "variants for top-1 selection (e.g. MAX subquery vs. ORDER BY LIMIT 1)."
        ),
        "Name the teacher with the highest salary.",
        "SELECT name FROM teacher ORDER BY salary DESC LIMIT 1",
        "SELECT name FROM teacher ORDER BY salary LIMIT 1",
        None,
    ),
    "dialect_syntax": (
        "Syntax error, dialect-specific function not valid in SQLite, malformed output.",
        "In which years were teachers hired?",
        "SELECT DISTINCT STRFTIME('%Y', hired) FROM teacher",
        "SELECT DISTINCT EXTRACT(YEAR FROM hired) FROM teacher",
        'near "FROM": syntax error',
    ),
    "other": (
        (
            "Genuinely unclassifiable, or ambiguous question where multiple structurally incomparable SQL queries are "
            "defensible."
        ),
        "How are our courses doing?",
        "SELECT title, COUNT(*) FROM enrolment GROUP BY title",
        "SELECT AVG(grade) FROM enrolment",
        None,
    ),
}
_TYPE_EXAMPLES = {
    "subquery": (
        "A nested query is missing, needless or wrong.",
        "Who takes no course?",
        "SELECT name FROM student WHERE id NOT IN (SELECT student_id FROM enrolment)",
        "SELECT name FROM student JOIN enrolment ON student.id <> enrolment.student_id",
        None,
    ),
    "clause": (
        "GROUP BY, HAVING, ORDER BY or LIMIT is missing, needless or wrong.",
        "Who are the three oldest students?",
        "SELECT name FROM student ORDER BY age DESC LIMIT 3",
        "SELECT name FROM student ORDER BY age DESC",
        None,
    ),
    "operator": (
        "A comparison, set operation, logical or arithmetic operator is wrong.",
        "Who is at least 20?",
        "SELECT name FROM student WHERE age >= 20",
        "SELECT name FROM student WHERE age > 20",
        None,
    ),
    "function": (
        "An aggregate, date, cast or rounding function is missing or wrong.",
        "In how many cities do students live?",
        "SELECT COUNT(DISTINCT city) FROM student",
        "SELECT COUNT(city) FROM student",
        None,
    ),
    "condition": (
        "A test is missing, needless or about the wrong thing.",
        "How many students of law live in Bonn?",
        "SELECT COUNT(*) FROM student WHERE subject = 'law' AND city = 'Bonn'",
        "SELECT COUNT(*) FROM student WHERE city = 'Bonn'",
        None,
    ),
    "value": (
        "A constant is wrong, or of the wrong form or type.",
        "Who studies law?",
        "SELECT name FROM student WHERE subject = 'law'",
        "SELECT name FROM student WHERE subject = 'Law studies'",
        None,
    ),
    "table": (
        "A table is wrong, missing, needless or invented.",
        "How many students took part in course 18?",
        "SELECT COUNT(*) FROM enrolment WHERE course_id = 18",
        "SELECT COUNT(*) FROM waiting_list WHERE course_id = 18",
        None,
    ),
    "attribute": (
        "A column is wrong or invented.",
        "What are the titles of all courses?",
        "SELECT title FROM course",
        "SELECT code FROM course",
        None,
    ),
}
SCHEMES = {"category": (CATEGORIES, _CATEGORY_EXAMPLES), "type": (ERROR_TYPES, _TYPE_EXAMPLES)}


def judge_messages(
    question: str, gold_sql: str, predicted_sql: str | None, message: str | None = None, scheme: str = "category"
) -> list[dict[str, str]]:
    """Chat messages that ask for the one name of a scheme that fits an error. predicted_sql: for a plan, what it compiles
    to on SQLite. message: the execution's, if any. ConfigError for an unknown scheme."""
    if scheme not in SCHEMES:
        raise ConfigError(f"there is no scheme {scheme!r}", hint=f"available: {', '.join(SCHEMES)}")
    _, examples = SCHEMES[scheme]
    rules = "\n".join(f"- {name}: {definition}" for name, (definition, *_) in examples.items())
    shots = "\n\n".join(f"{_user_text(*shot)}\nAnswer: {name}" for name, (_, *shot) in examples.items())
    system = (
        "A text-to-SQL prediction for SQLite gives a wrong result. Say what kind of error it makes, by the fault without "
        f"which the rest would matter least.\n\n{rules}\n\nAnswer with the name of one kind alone.\n\nExamples:\n\n{shots}"
    )
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": _user_text(question, gold_sql, predicted_sql or "", message)},
    ]


def _user_text(question: str, gold_sql: str, predicted_sql: str, message: str | None) -> str:
    """The plans paper's user prompt."""
    return (
        f"Question: {question}\n\nGold SQL:\n{gold_sql}\n\nPredicted SQL:\n{predicted_sql}\n\n"
        f"Error message (if any): {message or 'none'}"
    )


def read_judgement(text: str, scheme: str = "category") -> str | None:
    """The name that an answer gives: its last line that is a name, else the only name in it; None where there is none or
    several. Spelling may differ in case, spaces, slashes and hyphens ("Filtering / Logic")."""
    names, _ = SCHEMES[scheme]
    for line in reversed(text.strip().splitlines()):
        bare = _bare(line.rpartition(":")[2])
        if bare in names:
            return bare
    flat = f"_{_bare(text)}_"
    found = [name for name in names if f"_{name}_" in flat]
    return found[0] if len(found) == 1 else None


def _bare(text: str) -> str:
    return re.sub(r"[^a-z]+", "_", text.lower()).strip("_")
