"""Random well-typed S-RASP programs for property-based tests, and their parameters."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar, get_args

from hypothesis import strategies as st

from hardsim.lang import ast
from hardsim.lang.ast import Sort

_T = TypeVar("_T")
MASKS: tuple[ast.Mask, ...] = get_args(ast.Mask)
SIDES: tuple[ast.Side, ...] = get_args(ast.Side)
_ORDER: tuple[ast.CompareOp, ...] = ("<", "<=", ">=", ">")
_EQUALITY: tuple[ast.CompareOp, ...] = ("=", "!=")


@dataclass(frozen=True)
class Shape:
    """Parameters of random programs.

    `vectors` is the largest number of statements, `depth` the levels of operators in an expression. Without `integers`
    there are Boolean and symbol vectors only (B-RASP); `psum_of_booleans` keeps totals within 0..n; `scaled` allows
    constant multiples, `counts` vectors by `count_j`, `means` by `mean_j`, `selective_means` those with a score.
    `allow_integer_scores` allows comparisons of integers inside scores, `=` only unless `allow_order_scores` (which
    adds `!=` and the order). `output` is the sort of the last vector; None allows both.
    """

    alphabet: tuple[str, ...] = ("a", "b")
    vectors: int = 4
    depth: int = 2
    masks: tuple[ast.Mask, ...] = MASKS
    sides: tuple[ast.Side, ...] = SIDES
    integers: bool = True
    symbols: bool = True
    psum: bool = True
    psum_of_booleans: bool = False
    counts: bool = True
    means: bool = True
    selective_means: bool = True
    scaled: bool = True
    constants: tuple[int, ...] = (-2, -1, 0, 1, 2, 3)
    allow_integer_scores: bool = True
    allow_order_scores: bool = True
    two_sided_values: bool = True
    relations: tuple[ast.Relation, ...] = (
        ast.Relation("rel2", (("a", "b"), ("b", "b"))),
        ast.Relation("rel1", (("a",),)),
    )
    output: Sort | None = None


@dataclass
class _Maker:
    """Draws the parts of one program. `vectors` are the vectors defined so far."""

    draw: st.DrawFn
    shape: Shape
    vectors: dict[str, Sort] = field(default_factory=dict)
    indices: tuple[ast.Index, ...] = ("i",)
    in_score: bool = False

    def pick(self, choices: Sequence[_T]) -> _T:
        return self.draw(st.sampled_from(list(choices)))

    # ---- statements ----

    def statement(self, name: str, sort: Sort) -> ast.Statement:
        right: ast.RightHandSide
        if sort is Sort.RATIONAL:
            right = self._mean()
            self.vectors[name] = sort
            return ast.Statement(name, right)
        kinds = ["pointwise", "attention", "attention"]
        if sort is Sort.INT and self.shape.psum:
            kinds += ["psum", "psum"]
        if sort is Sort.INT and self.shape.counts:
            kinds += ["count", "count"]
        kind = self.pick(kinds)
        if kind == "pointwise":
            right = ast.PositionWise(self.expression(sort))
        elif kind == "psum":
            right = ast.PrefixSum(self._summand())
        elif kind == "count":
            self.indices, self.in_score = ("i", "j", "j"), True
            right = ast.MatchCount(self.pick(self.shape.masks), self.expression(Sort.BOOL))
            self.indices, self.in_score = ("i",), False
        else:
            right = self._attention(sort)
        self.vectors[name] = right.sort
        return ast.Statement(name, right)

    def _mean(self) -> ast.MatchMean:
        """Draw a mean: with a score and a default, or over all positions of a mask."""
        mask: ast.Mask = self.pick(("1", "j<=i", "j>=i"))
        score: ast.Expression = ast.Truth(True)
        default: ast.Expression = ast.RationalConstant(Fraction(0))
        if self.shape.selective_means and self.draw(st.booleans()):
            mask, default = self.pick(self.shape.masks), self._default()
            self.indices, self.in_score = ("i", "j", "j"), True
            score = self.expression(Sort.BOOL)
        self.indices, self.in_score = ("j",), False
        value = ast.AsInteger(self.expression(Sort.BOOL)) if self.draw(st.booleans()) else self.expression(Sort.INT)
        self.indices = ("i",)
        return ast.MatchMean(mask, score, value, default)

    def _default(self) -> ast.Expression:
        """Draw a default: a constant, or an integer expression that is not a single number."""
        constant = ast.RationalConstant(self.pick([Fraction(value) for value in ("0", "1", "1/2", "-2/3", "3")]))
        found = constant if self.draw(st.booleans()) else self.expression(Sort.INT)
        return ast.RationalConstant(Fraction(found.value)) if isinstance(found, ast.Integer) else found

    def _summand(self) -> ast.Expression:
        self.indices = ("j",)
        if self.shape.psum_of_booleans:
            value: ast.Expression = ast.AsInteger(self.expression(Sort.BOOL))
        else:
            value = self.expression(Sort.INT)
        self.indices = ("i",)
        return value

    def _attention(self, sort: Sort) -> ast.Attention:
        side, mask = self.pick(self.shape.sides), self.pick(self.shape.masks)
        self.indices, self.in_score = ("i", "j", "j"), True
        score = self.expression(Sort.BOOL)
        self.indices, self.in_score = (("i", "j", "j") if self.shape.two_sided_values else ("j",)), False
        value = self.expression(sort)
        self.indices = ("i",)
        return ast.Attention(side, mask, score, value, self.expression(sort))

    # ---- expressions ----

    def expression(self, sort: Sort, depth: int | None = None) -> ast.Expression:
        depth = self.shape.depth if depth is None else depth
        if depth == 0 or self.draw(st.integers(0, 3)) == 0:
            return self._leaf(sort)
        make = {Sort.BOOL: self._boolean, Sort.INT: self._integer, Sort.SYMBOL: self._symbol}
        return make[sort](depth - 1)

    def _leaf(self, sort: Sort) -> ast.Expression:
        index = self.pick(self.indices)
        known = [name for name, found in self.vectors.items() if found is sort]
        if known and self.draw(st.integers(0, 3)) > 0:
            return ast.Ref(self.pick(known), index, sort)
        leaves: list[ast.Expression]
        match sort:
            case Sort.BOOL:
                symbols = [ast.HasSymbol(symbol, index) for symbol in self.shape.alphabet]
                leaves = [*symbols, *symbols, ast.Truth(True), ast.Truth(False)]
            case Sort.INT:
                constants = [ast.Integer(value) for value in self.shape.constants]
                leaves = [ast.Position(index), ast.Position(index), ast.Length(index), *constants]
            case Sort.SYMBOL:
                leaves = [ast.InputSymbol(index), ast.InputSymbol(index), *map(ast.SymbolLiteral, self.shape.alphabet)]
        return self.pick(leaves)

    def _conditional(self, sort: Sort, depth: int) -> ast.Expression:
        test = self.expression(Sort.BOOL, depth)
        return ast.Conditional(test, self.expression(sort, depth), self.expression(sort, depth))

    def _boolean(self, depth: int) -> ast.Expression:
        kinds = ["not", "nary", "nary", "arrow", "conditional", "equal truth"]
        if self.shape.symbols:
            kinds += ["equal symbol", "member", *(["related"] if self.shape.relations else [])]
        if self.shape.integers and (self.shape.allow_integer_scores or not self.in_score):
            kinds += ["integer", "integer", "integer"]
        if Sort.RATIONAL in self.vectors.values():
            kinds += ["mean", "mean"]
        kind = self.pick(kinds)
        if kind == "mean":
            return self._compare_means()
        if kind == "nary":
            return self._nary(depth)
        if kind == "conditional":
            return self._conditional(Sort.BOOL, depth)
        if kind in ("equal truth", "equal symbol", "integer"):
            return self._compare(kind, depth)
        if kind == "member":
            sets = [(), *((symbol,) for symbol in self.shape.alphabet), self.shape.alphabet[::-1]]
            return ast.Member(self.expression(Sort.SYMBOL, depth), self.pick(sets))
        if kind == "related":
            relation = self.pick(self.shape.relations)
            args = tuple([self.expression(Sort.SYMBOL, depth) for _ in range(relation.arity)])
            return ast.Related(relation.name, args)
        if kind == "arrow":
            op: ast.ArrowOp = self.pick(("->", "<->"))
            return ast.Arrow(op, self.expression(Sort.BOOL, depth), self.expression(Sort.BOOL, depth))
        return ast.Not(self.expression(Sort.BOOL, depth))

    def _nary(self, depth: int) -> ast.Expression:
        """Draw a chain; an operand that is a chain of the same operator is merged into it, as the parser does."""
        op: ast.NaryOp = self.pick(("&", "|", "^"))
        args: list[ast.Expression] = []
        for _ in range(self.draw(st.integers(2, 3))):
            arg = self.expression(Sort.BOOL, depth)
            args += arg.args if isinstance(arg, ast.Nary) and arg.op == op else (arg,)
        return ast.Nary(op, tuple(args))

    def _compare(self, kind: str, depth: int) -> ast.Expression:
        sort = {"equal truth": Sort.BOOL, "equal symbol": Sort.SYMBOL, "integer": Sort.INT}[kind]
        ops = _EQUALITY
        if sort is Sort.INT:
            ops = ("=",) if self.in_score and not self.shape.allow_order_scores else (*_EQUALITY, *_ORDER)
        return ast.Compare(self.pick(ops), self.expression(sort, depth), self.expression(sort, depth))

    def _compare_means(self) -> ast.Expression:
        """Draw a comparison of a mean with a constant, or of two means at one position."""
        index = self.pick(self.indices)
        means = [ast.Ref(name, index, sort) for name, sort in self.vectors.items() if sort is Sort.RATIONAL]
        constants = [ast.RationalConstant(Fraction(value)) for value in ("1/2", "-1/3", "0", "2", "1", "5/4")]
        sides: list[ast.Expression] = [self.pick(means), self.pick([*constants, *means])]
        left, right = self.draw(st.permutations(sides))
        return ast.Compare(self.pick((*_EQUALITY, *_ORDER)), left, right)

    def _integer(self, depth: int) -> ast.Expression:
        kind = self.pick(["sum", "sum", "counted", "conditional", *(["scale"] if self.shape.scaled else [])])
        if kind == "counted":
            return ast.AsInteger(self.expression(Sort.BOOL, depth))
        if kind == "conditional":
            return self._conditional(Sort.INT, depth)
        if kind == "scale":
            return ast.Scale(self.pick((-2, -1, 0, 2)), self.expression(Sort.INT, depth))
        op: ast.SumOp = self.pick(("+", "-"))
        return ast.Sum(op, self.expression(Sort.INT, depth), self.expression(Sort.INT, depth))

    def _symbol(self, depth: int) -> ast.Expression:
        return self._conditional(Sort.SYMBOL, depth)


@st.composite
def programs(draw: st.DrawFn, shape: Shape = Shape()) -> ast.SraspProgram:
    """Draw well-typed programs of a shape, equal to the parse of their text."""
    maker = _Maker(draw, shape)
    sorts = [
        Sort.BOOL,
        *([Sort.INT] if shape.integers else []),
        *([Sort.RATIONAL] if shape.integers and shape.means else []),
        *([Sort.SYMBOL] if shape.symbols else []),
    ]
    outputs = [shape.output] if shape.output else [sort for sort in sorts if sort is not Sort.RATIONAL]
    count = draw(st.integers(1, shape.vectors))
    inner = [maker.statement(f"v{number}", maker.pick(sorts)) for number in range(1, count)]
    last = maker.statement("Y", maker.pick(outputs))
    relations = shape.relations if shape.symbols else ()
    return ast.SraspProgram(shape.alphabet, (*inner, last), last.name, relations=relations)
