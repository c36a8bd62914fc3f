"""What the parser and `--help` need of each command: its purpose, its text and its options.

Nothing here imports what does the work, so that a mistake in a command line is told at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hardsim.checking.options import MODEL, TRIED

INPUT, CREW = "json expression alphabet props dialect", "dps workers backend scheduler"
"""Where the input of a command comes from, and who tries words."""
SEVERAL = f"{INPUT} lines"
"""Options of commands that take several inputs."""
SHOWN = "quiet format fail_fast"
"""How the verdicts on several inputs are told."""
FIRST_EXAMPLES = 4
"""Examples of a command on the page that is one screen."""


@dataclass(frozen=True)
class Manual:
    """One line, the text of `--help-all`, and the fields of `Request` that are the command's options, in order: those
    before the bar stand in `--help`, too. A field that is named twice counts once. A command has its own defaults."""

    purpose: str
    text: str
    options: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    usage: str = "[OPTIONS]"
    minor: bool = False
    """Whether the one screen of `hardsim --help` leaves the command out."""

    @property
    def common(self) -> tuple[str, ...]:
        """The options that most people use."""
        return _fields(self.options.partition("|")[0])

    @property
    def fields(self) -> tuple[str, ...]:
        """All options."""
        return _fields(self.options.replace("|", " "))

    @property
    def brief(self) -> str:
        """The text of `--help`: the first two paragraphs, and the first examples."""
        first, second, *rest = self.text.strip().split("\n\n")
        examples = next(part for part in (second, *rest) if part.startswith("\b\n")).split("\n")
        return "\n\n".join([first, second, "\n".join(examples[: FIRST_EXAMPLES + 2])])


def _fields(options: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(options.split()))


CHECK = """Compile formulas into softmax transformers; try words, and prove all.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a specification (.spec), a directory of
them, a shipped name, or the folder of a network that others made, with --against.

Each formula is compiled into a transformer with rational weights, which is run on every word of each length up to
--max-n as long as a length has at most --exhaustive words, and on structured and random words beyond. On each word
three answers must agree: the formula's own semantics (oracle), hard attention in exact arithmetic (hard), and the
softmax network (soft), whose output must be exactly 0 or exactly 1. The network is run with rigorous error bounds, so
that agreement is CERTIFIED for the words tried. mpmath is an arithmetic without bounds: what it finds, agreement or a
mismatch, is OBSERVED.

Before the words the prover (see `hardsim prove`) is asked about every word up to --max-n, from the weights: with
--engine auto, in the regimes that are proven right, up to length 64; of a program whose integers cannot leave their
range up to 24 positions. If it finds a proof the verdict is PROVED, and the words are run all the same. If it finds
none, or is not asked, the verdict is that of the words; --require proved makes that exit code 3.

Printed are the verdict and how far it reaches, with the shortest mismatching word if there is one and the head at which
softmax leaves hard attention; then, for lengths 1 to 8, those up to each power of two and the last (--all-lengths: for
each), the words tried, mismatches, the least margin (distance of an attended value from its threshold), the least score
gap, the largest error of an attended value (soft minus hard) and its bound from theory. That is "void" where an earlier
head has failed, which is named, since a bound assumes that earlier heads are right. With several inputs each has a line
unless it fails (--tables prints all tables).

A hard-attention model, or a program compiled into one, is run exactly and as a softmax model with the same parameters,
at a temperature, a function of the length, for which every length is proved, or else at that which Theorem 26 gives for
its score gap (--epsilon asks for it; or at --tau). Every activation is compared with the hard one; errors stand beside
the theorem's bounds.

The words of accept:, reject: and map: lines are run whatever --max-n says; --pin adds a word that fails to them.

With --against OTHER the oracle is what another file says: a formula (.ltl), a program (.srasp, .cr) or a regular
expression (.re) over the same symbols. Nothing is proved then, since a proof is about what was compiled: the verdict is
that of the words. To compare what two files say, without a network, there is `hardsim equiv`.

A network that others made (a folder of Hugging Face, TransformerLens, PyTorch or Tracr, or .json) is taken as it is and
needs a specification (.spec), which names it or is given by --against: how it is read, and what its outputs should be.
Or its one output is above its level on the words that OTHER accepts. Its table says the least margin of each length,
how far the outputs are from another answer.

The words are shared by --workers processes, of this machine or of a dask or ray cluster, with the same result. With
--resume a check that was stopped, by whatever, goes on from the words it had done.

\b
Examples:
  hardsim check since
  hardsim check since --regime none         (how far: Hahn's limit)
  hardsim check -e 'a S b' --alphabet 'a b c' --max-n 16
  hardsim check formulas/ --regime all --json report.json
  hardsim check flipflop.ltl --max-n 64 --workers 2
  hardsim check flipflop.ltl --max-n 500 --resume flipflop.run
  hardsim check flipflop.ltl --backend dask --scheduler tcp://host:8786
  hardsim check flipflop.ltl --backend ray --workers 4
  hardsim check flipflop.ltl --engine ball --require certified
  hardsim check since --beta 1/2
  hardsim check tomita_4 --against tomita_4.re
  hardsim check my_gpt2/ --against majority.ltl
  hardsim check my_gpt2.spec
  hardsim check model.json
"""

PROVE = """Prove a compiled transformer right on every word, from its weights.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a specification (.spec), a directory of
them, or a shipped name.

After every rounding the network's Booleans are exactly 0 or 1, so each attention head can be judged on all words at
once: what it reads at a position is one of a few local types, and the worst choice of a type for every position
bounds all words. The proof has two links: the softmax network does what its hard heads do (numerically, from its
matrices, encodings, masks and temperature), and the hard heads compute the formula (the truth tables of the
feed-forward parts, and one lemma per operator).

Printed are, for each head, its worst case over all words: the largest error, the least margin (distance of a clip's
input from the threshold that it must have passed), the position, and the local types that attain it; then the
verdict. PROVED speaks of every word; up to 1,000 words are run after it all the same, in rigorous arithmetic, and one
that contradicts it is an internal error (exit code 4). Where the proof fails, short words and those that the worst
case suggests are tried: REFUTED names a word, and otherwise the answer is UNDECIDED (worst cases may not belong to any
word).

Of a program or a hard-attention model it is proved that softmax answers as hard attention does, by the error recursion
of Theorem 26: with the gaps and ranges that follow from the weights of heads that are recognised (of programs where no
integer can leave its range), else with exact hard attention on every word of a length (up to 20,000 words; without
--max-n the lengths that have no more).

Of a network that others made there is no proof yet: with a specification (.spec), or --against OTHER, it is said how
far its words are certified, as `hardsim check` does, with exit code 3.

--min-n N proves the lengths from N on, and with the same --max-n a single length, which may be long: every length up
to N costs up to N times as much. In the causal regimes, where nothing depends on the length of the word, the longest
length proves all shorter ones.

With --all-n a second argument covers every length: the logits are rational functions of positions and length, a rate
at which positions fall behind the winner is read off their coefficients, and a series in closed form bounds the error
of the head. It is printed so that it can be checked by hand. Where it does not go through the reason is printed, and
the verdict is UNDECIDED; with --max-n too it is PROVED for the lengths up to that. Of programs and models whose gaps
follow from their weights it is the error recursion with functions of the length, at the temperature 1/(C n^(k+1)) or at
--tau.

\b
Examples:
  hardsim prove since
  hardsim prove since --all-n                     (every length)
  hardsim prove since --beta 1                    (refuted by a word)
  hardsim prove since --certificate since.cert.json
  hardsim prove dyck2 --all-n --certificate dyck2.cert.json
  hardsim prove since --all-n --smt since.smt2    (then: z3 since.smt2)
  hardsim prove flipflop.ltl --min-n 4096 --max-n 4096
  hardsim prove formulas/ --regime all --all-n
  hardsim prove model.json --heads-only           (claims nothing about a formula)

With --certificate the proof is written down so that `hardsim verify` can check it again, with code that shares nothing
with this command's; of every length wherever that code follows it. With --all-n --smt OUT.smt2 its numerical steps are
written as queries to an SMT solver such as z3, which must answer unsat to each.
"""

VERIFY = """Check a certificate that `hardsim prove --certificate` wrote.

FILE is a certificate; there may be several.

The checker is small and shares no code with the compiler or the prover: exact rational arithmetic, its own bounds of
the exponential function, its own evaluation of the position encodings. From the weights in the certificate it finds
the bounds of every head again, and holds that every clip turns whatever lies within them into what is claimed.

VALID says: on every word of the lengths that are named the output of the network in the certificate is exactly 1 if
the formula in it (its table of nodes, which is printed) holds at the last position, and exactly 0 if not. INVALID says
why that does not follow, with exit code 1; `prove` writes no certificate that is not valid. Of a program or a model it
says that softmax at the temperature answers as hard attention with the same weights, on every word of the lengths that
are named (counted with padding); that this is what the program says is no part of it.

Whether that formula and that network are the ones you mean is another question. With --formula (or -e) the certificate
is valid only if it is about the formula of that file, and with --model only if it is about the network in that file,
as `hardsim compile` wrote it. The version, the name and digest of the source, the regime and beta in a certificate are
labels that are neither checked nor printed.

\b
Examples:
  hardsim prove since --certificate since.cert.json
  hardsim verify since.cert.json
  hardsim verify since.cert.json --formula since --model since.model.json
"""

EVAL = """Say what formula, hard attention and softmax network answer on words.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a regular expression (.re), a folder
with a network, a specification of one (.spec), or a shipped name.

Of a regular expression (.re) it is said which words it matches. Of a program that maps words to words the outputs are
printed. A word is written as in formula files: symbols side by side, or separated by spaces (quote the word for the
shell) if a symbol is longer than one character. Sets of propositions are written '{p,q}{}{p}' (quoted, since shells
expand braces). A sole '-' reads words from standard input, one a line. Words that start with '-' follow '--'. Every
word needs at least one symbol.

Printed are, for each word, the three answers, the network's output (exactly 0 or 1 when it has decided), the output
before its last rounding, the least margin of an attended value from its threshold, and the decimal digits of the
arithmetic. Of a network that others made: its outputs, place by place, and with a specification or --against whether
they are right.

\b
Examples:
  hardsim eval since cba bac
  hardsim eval since --regime none ab aab
  hardsim eval -e 'a S b' --alphabet 'a b' abba
  hardsim eval -e 'H(p -> O q)' --props 'p q' '{q}{}{p,q}'
  hardsim words since --max-n 4 | hardsim eval since -
  hardsim eval minus.ltl -- -+-
"""

WORDS = """Print the accepted words up to a length, one a line, shortest first.

FILE is a formula (.ltl), a program (.srasp, .cr), a regular expression (.re), a model (.json), a directory, or a
shipped name; there may be several.

Words of one length are in the order of the alphabet. --by says whose answer counts: the formula's semantics (oracle),
hard attention (hard), or the softmax network (soft, whose output must be exactly 1). Of a regular expression (.re),
which has no network, the words are listed from its automaton, and no others are tried: --exhaustive limits how many
there are. Several inputs or regimes get a heading each, as a line that starts with '# '.

\b
Examples:
  hardsim words since --max-n 4
  hardsim words since --by soft --regime none --max-n 5
  hardsim words -e 'H(a -> O b)' --alphabet 'a b' --max-n 3
  hardsim words formulas/ --max-n 3 --by hard
"""

EQUIV = """Do two files say the same of every word? Formulas, programs and regular expressions are compared.

Each FILE is a formula (.ltl), a program that accepts (.srasp, .cr), a regular expression (.re), or the name of a
shipped one; there are two, over the same symbols.

No network is made: what is compared is what the files say. Of two regular expressions the automata are compared, which
settles every length. Otherwise every word of each length up to --max-n is tried where there are at most --exhaustive;
of longer ones structured words, words of either language and their neighbours, random words, and the examples of both
files. How far every word was tried is printed. A formula is read where its file says (at:), or both --at a position;
with --props auto files of nothing but a formula are read over the propositions of both.

Where they differ the shortest word is printed on a line of its own, with what each says: exit code 1. If words of its
length or of shorter ones were left out it is the shortest that was found. Where the product of two automata is too
large the answer is UNDECIDED, with the length up to which they are the same: exit code 3.

\b
Examples:
  hardsim equiv ab_plus.ltl ab_plus.srasp
  hardsim equiv mine.ltl mine.re --max-n 16
  hardsim equiv one.re other.re --json -
"""

SHOW = """Show the transformer that a formula is compiled into.

FILE is a formula (.ltl), a program (.srasp, .cr), a regular expression (.re), a model (.json), a directory, the folder
of a network that others made, a specification of one (.spec), or a shipped name; there may be several.

Printed are the formula, what each coordinate of its core holds, the theorems used, the size of the network,
temperature, beta, position encodings, the precision needed, and for each layer its heads: mask, score, value,
purpose, and the error and score gap that theory allows at length 8 and at --max-n. Of a hard-attention model or a
program: encodings, heads and feed-forward networks, and the places where integers may leave their range. Of a regular
expression: its minimal automaton, and how many words of each length there are, up to --max-n. Of a network that others
made: what was read of its files, and of what it consists.

\b
Examples:
  hardsim show since
  hardsim show since --regime all --max-n 1000
  hardsim show flipflop.ltl --regime causal-position --single-head
"""

TRACE = """Show one word position by position: what each vector is, where each head looks, hard beside soft.

FILE and WORD are what `hardsim eval` takes: a formula, a program, a model, a network.

Printed are, layer by layer, for each head the positions at which hard attention looks and the weight that softmax has
there, at least; for each coordinate what it holds with hard attention, and with softmax where that reads otherwise, by
how much these differ at most, and how far what is rounded is at least from a threshold. The softmax network is run in
balls, so that these are bounds. With --head the heads named are shown alone: position by position the weight, the score
gap, and what is read. Of a network that others made it is shown where the largest logit certainly is; its coordinates
have no names.

--plot draws attention maps of the heads (of those named by --head), hard beside soft, with the word on both axes. An
.html page is one file that works without network: step through the heads with the arrow keys, point at a weight.

A word has at most 256 positions. The exit code is that of `hardsim eval`.

\b
Examples:
  hardsim trace since cbaa
  hardsim trace since --regime none cbaa --plot since.html
  hardsim trace dyck2 '([])' --head 'mate = ('
  hardsim trace gpt2/ 'a b a' --plot heads.pdf
"""

HEADS = """Show where the heads of a network that others made attend, and how hard.

FILE is such a network, a folder or a file, or its specification (.spec); there may be several. What the heads of a
compiled transformer are for is declared, and `hardsim show` prints it.

The network is run on the words that `check` would try, in float64 with rigorous error bounds. A query is a position of
a word, as a head looks from it at all that it sees; one that sees a single position says nothing and does not count.
Positions count from 0, with all tokens that are read.

Printed is, for each head, a pattern, and at how many of the queries it holds (all, or the share of them): uniform
(every weight is within 1 % of 1/m, of m positions that are seen); or the largest logit certainly is that of the
position itself, the previous, the next, the first or the last position, the first symbol of the word, or the nearest
position, at or before, before, at or after, or after it, whose token is of a class, which is inferred from the words.
Where there is no such position the first one is meant, or under a mask that hides the past the last. A pattern that
holds at less than half of the queries is none.

Beside it stand the least gap of the two largest logits, in nats, where it is certain which is the largest; the least
weight of the largest logit, with all that are not told apart from it: near 1 the head is as good as hard; and ties,
the queries where float64 does not tell the largest logits apart. Below follows the first tie of each head. A head with
a pattern at all queries and a large gap has a hard reading; one with exact ties has an average of several positions at
best. --json has gaps and ties length by length.

The exit code is 0 whatever the heads do, and 3 where float64 is not to be trusted.

\b
Examples:
  hardsim heads gpt2/
  hardsim heads gpt2/ --max-n 20 --json heads.json
  hardsim heads one/ other/ --exhaustive 100000
"""

COMPILE = """Write the compiled transformer as JSON with exact rationals.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json), or a shipped name.

What is written holds the matrices, position encodings and temperature, the formula, and what each head is for.
`check`, `eval`, `words` and `show` take it in place of the formula and give the same results. It appears whole or not
at all. Call it NAME.model.json if directories that hold it are to be checked.

With --hard the hard-attention model is written, in the format of .ahat.json. Of a program or a hard-attention model the
softmax model is written in the same format, with a temperature that is a function of the length, if every length is
proved at one, else with Theorem 26's for each length up to --max-n (its gaps are measured on the words that `check`
would try), or with --tau for all. Call such files NAME.ahat.json.

\b
Examples:
  hardsim compile since -o since.model.json
  hardsim compile since --regime position --beta 7/2 -o -
  hardsim compile since --hard -o since.ahat.json
  hardsim compile dyck2 --max-n 6 -o dyck2_soft.ahat.json
"""

EXPORT = """Write a network so that PyTorch, ONNX or another framework runs it.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a specification (.spec), the folder of a
network that others made, or a shipped name.

With --to torch, -o names a folder, new or empty: model.safetensors holds the weights in float64, config.json what
stands where, and model.py is a module of less than 200 lines that needs torch alone (`from model import load`).
Encodings and temperature are functions of the length there, for words of any length. config.json has the exact
rationals too: hardsim takes the folder in place of FILE, holds that the weights are those, and has the same network.
With --to safetensors there is no model.py.

With --to onnx, -o names a file: one graph of opset 17, words in batches, of any length up to --max-n, for which it has
tables of what depends on the length; or of --length N alone. It computes in --dtype.

What is written is run on random words, of up to 64 symbols, by torch or onnxruntime, if that is installed, and the
largest difference from the exact outputs is printed. An ONNX file needs the library onnx to be written.

\b
Examples:
  hardsim export since --to torch -o since_torch
  hardsim check since_torch
  hardsim export since --to onnx -o since.onnx --max-n 64
  hardsim export my_gpt2/ --to onnx --dtype float32 -o my_gpt2.onnx
  hardsim export dyck2 --to safetensors -o dyck2_weights
"""

PRECISION = """Say up to which length a network is right in a number format.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a specification (.spec), the folder of a
network that others made, a directory of them, or a shipped name; there may be several.

A proof over the real numbers says nothing of arithmetic that rounds. Here the network is taken as `hardsim export`
writes it, model.py, with every number and the result of every operation rounded to a format. For each format there is
the length up to which every such evaluation, under the assumptions that are printed, answers every word as it should;
the least length at which a word was found that is wrong when model.py is emulated, with that word; the head that fails
first; and what mends it: --accumulate float32 (which is what PyTorch does), a larger --beta, or a wider format. That
length is safe with it if sums are from the left; of a network that is held word by word, that word is right.

Formulas whose heads look for the nearest position are held for all words of a length at once. Other networks are held
word by word, on every word of the lengths that have at most --exhaustive words, as long as that does not take too long
(longer with a larger --exhaustive); beyond, nothing is claimed, and words that make it hard are emulated up to --max-n.
Each row names its reference, which says what is right. It is the formula, if FILE is one. It is the specification, if
FILE is one: only the words and positions that it judges (assume:) count, and the report says how many words these are.
Otherwise it is the exact network: a program, a model or an external network in real arithmetic.

With --arith one format is asked for alone: exit code 1 if a word is wrong, 3 if there is none and not all lengths are
safe, or no word of these lengths is judged.

\b
Examples:
  hardsim precision since
  hardsim precision since --arith bfloat16 --max-n 64
  hardsim precision since --accumulate float32
  hardsim precision my_gpt2/ --max-n 12
  hardsim precision formulas/ --regime all --json precision.json
"""

BOUND = """Report score gaps, temperatures and errors: what theory allows, what happens.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a directory of them, or a shipped
name; there may be several.

With --gap alone and no FILE: everything that is shipped.

For each length are printed the least score gap, measured beside declared; the largest activation; Theorem 26's
temperature for the wanted error, the largest temperature of a grid up to which softmax is right on every word tried,
and the next one with a word on which it is wrong (rightness is not monotone in the temperature, so every temperature of
the grid below is tried; beyond --exhaustive words, words are searched for that make it hard); the largest error beside
its bound ("void" where an earlier head has failed), at the theorem's temperature (of a formula: at the regime's
temperature and --beta, or at --tau); the bits of precision that settle every answer; and what a rounding feed-forward
network would need instead (Lemma 27). Then each head, and the growth with n beside the theorem's.

With --critical instead: how small beta, the inverse-temperature constant of every head, may be for all words of each
length, and for every length, between two ends. At the upper end all words are proved right (see `prove`), at the lower
one a word is wrong; both are rigorous, and next to each other where the bracket is closed. What lies between, or below
the lower end, is not claimed: rightness need not be monotone. Of programs and hard-attention models it is asked length
by length, and what is divided by beta is the temperature at which every length is proved, or that of --tau.

\b
Examples:
  hardsim bound since --max-n 6
  hardsim bound since --critical            (the least beta)
  hardsim bound dyck2 --critical --tau '1/(64*n^3*log(n+1))' --max-n 4
  hardsim bound since --max-n 32 --plot since.svg
  hardsim bound --gap                       (everything shipped)
  hardsim bound since --regime all
  hardsim bound dyck2 --max-n 5
  hardsim bound model.ahat.json --epsilon 1/100 --json bound.json
  hardsim bound sort --workers 2            (the lengths are shared)
"""

EXAMPLES = """List the formulas, programs and models that come with hardsim, or print the one called NAME.

The suffix may be left out: of several files of a name the formula (.ltl) is meant, then the program (.srasp, .cr), then
the model (.ahat.json). Every command takes such a NAME where it takes a FILE.

\b
Examples:
  hardsim examples
  hardsim check flipflop
  hardsim examples flipflop > mine.ltl
  hardsim check mine.ltl
"""

FMT = """Print files in their canonical form.

FILE is a formula (.ltl), a program (.srasp, .cr), a regular expression (.re), a specification (.spec), a directory of
them, or a shipped name; there may be several. A formula without a header is read as --props auto reads it.

The canonical form writes every operator in its ASCII spelling (`&`, `->`, `X`, `rightmost_j`), one space around
operators, and no quotes that are not needed. Brackets that are not needed go from formulas and .srasp programs, but for
those that help a reader: between two different logical or temporal operators, as in `(a & b) | c`, and in `!(i = j)`
and `(s + t) mod m = r`. Lines of more than 100 characters are folded, but those of C-RASP programs. Of specifications
only blanks change. Comments, line breaks in long formulas, the order of lines, and one empty line where there are some
stay as they are. The meaning never changes: the text is read again, and held against the file, before it is shown or
written.

With --check nothing is written: for each file that is not in its canonical form the first line that would change and
the difference are printed (as `diff -u` has it), then the command with --write that rewrites them, and the exit code is
1: the file and its canonical form were compared and differ. With --quiet the difference is left out. A file with a
mistake is exit code 2, with the usual message, and is never rewritten. Examples (accept:, reject:, map:) are not
judged.

\b
Examples:
  hardsim fmt mine.ltl
  hardsim fmt --write mine.ltl
  hardsim fmt --check specifications/           (for continuous integration)
  hardsim fmt --check --format github specifications/
"""

REPORT = """Write what is found as a page, as LaTeX, and so that it can be run again.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a specification (.spec), a directory of
them, or a shipped name; there may be several.

For each input `check` is run with these options, then `prove --all-n` with its own lengths, and `bound` up to length 8
at most, with every word of the lengths that have at most 256. Of a network that others made there is the check alone.

The directory then holds index.html, a page that needs nothing else; report.tex, which compiles alone with pdflatex, its
tables with booktabs, its figures with pgfplots, and the argument for every length as theorem and proof; inputs/, copies
of the files; results.json, the JSON document of the run; and command.json, the command with versions and hashes, from
which `hardsim replay` runs it again. It appears whole or not at all: a directory that holds anything is refused, and an
interruption leaves none. The pictures of the page need matplotlib, the extra plot; without it they are left out.

The exit code is that of `check`, and 1 too where a proof or a bound was refuted. With --all-n what is not proved of
every length is exit code 3. An input that cannot be read ends the run before anything is written.

\b
Examples:
  hardsim report since -o report
  hardsim report formulas/ --max-n 6 -o report
  hardsim report since --regime all --all-n -o report
  hardsim replay report
"""

REPLAY = """Run what a report was made of again, and say what differs.

DIR is a directory that `hardsim report` wrote.

Its command is run on its copies of the inputs, and what is found is compared with its results.json value by value.
IDENTICAL means that all values are the same. Otherwise each value that differs is named by its place, as it was and as
it is, the first 20 of them: exit code 1. Inputs that were changed, and other versions than those of the report, are
named first. Nothing is written, and nothing is run but a report on files of that directory, whatever command.json says.

\b
Examples:
  hardsim report since -o report
  hardsim replay report
"""

COMMANDS = {
    "check": Manual(
        "Is the compiled transformer right, word by word?",
        CHECK,
        f"files max_n regime require pin json | against {TRIED} {MODEL} epsilon engine {CREW} resume tables "
        f"all_lengths {SHOWN} {SEVERAL}",
    ),
    "prove": Manual(
        "Is it right on all words up to a length?",
        PROVE,
        f"files max_n min_n all_n certificate regime json | against heads_only search smt {MODEL} epsilon engine "
        f"dps workers pin tables {SHOWN} {SEVERAL}",
        {"max_n": 64},
    ),
    "verify": Manual(
        "Is a certificate of such a proof right?", VERIFY, f"certificates formula model json | at {SHOWN} {INPUT}"
    ),
    "eval": Manual(
        "What is answered on given words?",
        EVAL,
        f"words regime expression alphabet props json | against {MODEL} epsilon engine dps {INPUT}",
        usage="[OPTIONS] [FILE]",
    ),
    "words": Manual(
        "Which words are accepted, up to a length?",
        WORDS,
        f"files max_n by expression alphabet props | budget {MODEL} epsilon engine dps {SEVERAL}",
        minor=True,
    ),
    "equiv": Manual(
        "Do two files say the same of every word?",
        EQUIV,
        "files max_n json | at alphabet props dialect exhaustive samples seed quiet",
        {"exhaustive": 2**16},
    ),
    "show": Manual(
        "What was the formula compiled into?", SHOW, f"files regime max_n json | {MODEL} {SEVERAL}", {"max_n": 64}
    ),
    "heads": Manual("Where do the heads of a network attend, and how hard?", HEADS, f"files max_n json | {TRIED}"),
    "trace": Manual(
        "What is what, position by position, on one word?",
        TRACE,
        f"words regime head plot expression json | alphabet props against {MODEL} epsilon engine dps {INPUT}",
        usage="[OPTIONS] [FILE]",
    ),
    "compile": Manual(
        "Write the transformer to a file.", COMPILE, f"file output regime hard | {MODEL} epsilon max_n {INPUT}"
    ),
    "export": Manual(
        "Write a network for torch, ONNX or others.",
        EXPORT,
        f"file to place max_n regime | json dtype length {MODEL} epsilon seed {INPUT}",
        {"max_n": 64},
    ),
    "precision": Manual(
        "Up to which length is it right in bfloat16?",
        PRECISION,
        f"files max_n arith accumulate regime json | exhaustive seed {MODEL} epsilon {SEVERAL}",
        {"max_n": 4096, "exhaustive": 65536},
    ),
    "bound": Manual(
        "What does the theory allow, and what happens?",
        BOUND,
        f"files max_n critical gap plot json | {TRIED} {MODEL} epsilon engine {CREW} tables all_lengths {SHOWN} "
        f"{SEVERAL}",
        {"exhaustive": 256},
    ),
    "report": Manual(
        "Write a page, LaTeX, and what repeats the run.",
        REPORT,
        f"files directory max_n regime all_n | {TRIED} {MODEL} epsilon engine dps workers quiet "
        "expression alphabet props dialect lines",
    ),
    "replay": Manual("Does a report come out the same again?", REPLAY, "folder | workers quiet", minor=True),
    "examples": Manual("List or print what is shipped.", EXAMPLES, "name json"),
    "fmt": Manual("Print a file in its canonical form.", FMT, f"files check write json | {SHOWN}", minor=True),
}
