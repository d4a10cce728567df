"""Sums: an expression in the text is read into a tree of a few safe kinds and evaluated exactly."""

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction

from apps.simulator.solvers.problem import Problem, plain, shown, slips

LONGEST = 400  # characters of an expression
LARGEST_POWER = 200

_OPERATIONS: dict[type[ast.operator], tuple[str, Callable[[Fraction, Fraction], Fraction]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.Mod: ("%", operator.mod),
}
_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "^": "^"})
_EXPRESSION = re.compile(r"[-(]*\d[\d\s.,()+\-*/^%]*[\d)]")
_CUE = re.compile(
    r"(?:comput\w*|calculat\w*|evaluat\w*|work out|what is|what's|how much is|simplify|value of|value found for|"
    r"result of|result for|solve|check that|expression)\W{0,3}(?:the\s+)?(?:\w+\s+){0,3}\W{0,3}$",
    re.I,
)
_PERCENT_OF = re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|per ?cent)\s+of\s+(\d[\d,]*(?:\.\d+)?)", re.I)


class NotArithmetic(ValueError):
    """The text is no expression of numbers and + - * / % and powers, or has no value."""


def evaluate(expression: str) -> Fraction:
    """The exact value of an expression.

    :raises NotArithmetic: it is something else, divides by zero or is far too large.
    """
    return _value(_tree(expression), [])


def _tree(expression: str) -> ast.expr:
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", expression.translate(_SIGNS)).replace("^", "**").strip()
    text = re.sub(r"(?<![\d.])0+(?=\d)", "", text)  # Python refuses 007
    if len(text) > LONGEST:
        raise NotArithmetic("the expression is too long")
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotArithmetic(str(error)) from error


def _value(node: ast.expr, steps: list[str]) -> Fraction:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return Fraction(str(value))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, steps)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, steps)
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(_value(left, steps), op, _value(right, steps), steps)
    raise NotArithmetic("only numbers and + - * / % and powers are understood")


def _combined(left: Fraction, op: ast.operator, right: Fraction, steps: list[str]) -> Fraction:
    if isinstance(op, ast.Pow):
        if right.denominator != 1 or abs(right) > LARGEST_POWER or (left == 0 and right < 0):
            raise NotArithmetic("the power is too large or not whole")
        sign, value = "^", Fraction(left**right)
    else:
        if type(op) not in _OPERATIONS:
            raise NotArithmetic("only + - * / % and powers are understood")
        if right == 0 and isinstance(op, ast.Div | ast.Mod):
            raise NotArithmetic("division by zero")
        sign, function = _OPERATIONS[type(op)]
        value = function(left, right)
    steps.append(f"{plain(left)} {sign} {plain(right)} = {plain(value)}")
    return value


def find_expression(text: str) -> str | None:
    """The first expression that the text asks to be evaluated.

    A dash between two numbers is no sum: it must follow a word such as "compute", or be all there is.
    """
    text = text.translate(_SIGNS)
    for match in _EXPRESSION.finditer(text):
        expression = _balanced(match[0].strip(" ,."))
        if not re.search(r"[\d)]\s*[-+*/%^]", expression):
            continue
        before, after = text[: match.start()], text[match.end() :]
        is_all = not before.strip() and re.fullmatch(r"[\s=?.]*", after)
        if _CUE.search(before) or is_all:
            try:
                evaluate(expression)
            except NotArithmetic:
                continue
            return expression
    return None


def _balanced(expression: str) -> str:
    while expression.count("(") < expression.count(")") and expression.endswith(")"):
        expression = expression[:-1].rstrip()
    while expression.count("(") > expression.count(")") and expression.startswith("("):
        expression = expression[1:].lstrip()
    return expression


def _goes_on(expression: str, text: str) -> bool:
    """Whether another sum is asked for right after `expression`: "2 + 3 and 4 * 5"."""
    rest = text.translate(_SIGNS).partition(expression)[2]
    more = re.match(r"\s*(?:,|;|and|,\s*and)\s+(?=[\d(-])", rest)
    match = _EXPRESSION.match(rest, more.end()) if more else None
    return bool(match and re.search(r"[\d)]\s*[-+*/%^]\s*[\d(]", match[0]))


def solve(text: str) -> Problem | None:
    expression = find_expression(text)
    share = _PERCENT_OF.search(text)
    if len(set(_PERCENT_OF.findall(text))) > 1 or (expression and _goes_on(expression, text)):
        return None
    if expression is None and share and re.search(r"what is|comput|calculat|how much is", text, re.I):
        expression = f"{share[1]} / 100 * {share[2].replace(',', '')}"
    if expression is None:
        return None
    steps: list[str] = []
    try:
        value = _value(_tree(expression), steps)
    except NotArithmetic:
        return None
    return Problem(
        family="arithmetic",
        ask=f"Compute {expression} and give the number.",
        method=f"Write {expression} out one operation at a time, brackets first, with every intermediate value.",
        check=f"Check the value found for {expression} by doing it again in another order, and give the number.",
        answer=shown(value, text),
        working=tuple(steps),
        wrong=slips(value, text),
        is_easy=len(steps) <= 3,
    )
