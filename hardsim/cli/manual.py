"""The manual of each command: its purpose and its text, for `--help`.

This module imports nothing that computes, so that a mistake in a command line is reported at once.
"""

from __future__ import annotations

from hardsim.lazy_dataclass import dataclass

FIRST_EXAMPLES = 4
"""Number of examples of a command on its help page of one screen."""


@dataclass(frozen=True)
class Manual:
    """The manual of one command: one line, and the text of `--help-all`."""

    purpose: str
    text: str
    usage: str = "[OPTIONS]"

    @property
    def brief(self) -> str:
        """Return the text of `--help`: the first two paragraphs, and the first examples."""
        first, second, *rest = self.text.strip().split("\n\n")
        # The mark \b, which keeps line breaks, begins the paragraph of examples.
        examples = next(part for part in (second, *rest) if part.startswith("\b\n")).split("\n")
        return "\n\n".join([first, second, "\n".join(examples[: FIRST_EXAMPLES + 2])])


CHECK = """Check compiled transformers on words, and try to prove all words.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a specification (.spec), a directory of
them, a shipped name, or, with --against or --data, the folder of an external network.

Each formula is compiled into a transformer with rational weights. The transformer is run on words of every length up to
--max-n: on every word of a length that has at most --exhaustive words, and on structured and random words of the other
lengths. On each word three answers must agree: the formula's own semantics (oracle), hard attention in exact arithmetic
(hard), and the softmax network (soft), whose output must be exactly 0 or exactly 1 (in regime layer-norm its sign
is the answer). The softmax network is run with rigorous error bounds, so agreement is CERTIFIED for the words
tried. The engine mpmath has no error bounds: its results, agreement or mismatch, are only OBSERVED.

Before the words are run, the prover (see `hardsim prove`) tries to prove every word up to --max-n from the weights. It
does so with --engine auto, in the regimes that are proved right, up to length 64; for a program whose integers cannot
leave their range, up to 24 positions. If it finds a proof, the verdict is PROVED, and the words are still run. If it
finds none, or was not used, the verdict comes from the words alone; with --require proved the exit code is then 3.

The report shows the verdict and how far it reaches. For a mismatch it shows the shortest mismatching word, and the head
at which softmax leaves hard attention. The tables have rows for lengths 1 to 8, for the lengths up to each power of
two, and for the last length (--all-lengths: a row for each). They list the words tried, mismatches, the least margin
(distance of an attended value from its threshold), the least score gap, the largest error of an attended value (soft
minus hard), and the bound of that error from theory. The bound is "void" after an earlier head has failed, because it
assumes that earlier heads are right; the report names that head. With several inputs each has one line unless it fails
(--tables prints all tables).

A hard-attention model, or a program compiled into one, is run exactly, and as a softmax model with the same parameters.
Its temperature is --tau, if given; else a function of the length at which every length is proved; else the temperature
that Theorem 26 gives for its score gap (which --epsilon asks for). Every activation is compared with the hard one; the
report shows the errors beside the theorem's bounds.

The words of accept:, reject: and map: lines are always run, whatever --max-n is; --pin adds a failing word to them.

--against OTHER takes the oracle from another file: a formula (.ltl), a program (.srasp, .cr) or a regular expression
(.re) over the same symbols. Nothing is proved then, because a proof is about what was compiled: the verdict comes from
the words. `hardsim equiv` compares two files without a network.

An external network (a folder from Hugging Face, TransformerLens, PyTorch or Tracr, or .json) is used as it is. It needs
a specification (.spec), which states how the network reads words and what its outputs should be. The specification
names the network, or is given by --against. With any other OTHER, the network's one output must be above its level on
the words that OTHER accepts. The table lists the least margin of each length: how far the outputs are from a different
answer.

--data FILE judges labelled words, and no others: each line has a word and a label, separated by a tab (.tsv) or a comma
(.csv), or is JSON (.jsonl). A label is an output's name or number, accept or reject, 1 or 0, or a program's output. The
report counts right, wrong and undecided rows. --draws N runs independent random words of a --distribution, and no
others; N is fixed, and the report ends with a lower bound of the probability of a right answer (Clopper and Pearson),
in which only certified answers count as right. Nothing is proved then.

--workers processes share the words, on this machine or on a dask or ray cluster; the result does not depend on them.
With --resume a check that was stopped, for any reason, continues after the words that it had done.

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
  hardsim check my_gpt2/ --data test.tsv
  hardsim check my_gpt2.spec --draws 1000 --max-n 40
  hardsim check model.json
"""

WATCH = """Check files again whenever one of them is saved.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a specification (.spec), or a directory
of them; there may be several. The options are those of `check`, without -e, --pin and --resume.

Each check is a run of `hardsim check`. On a terminal it has a screen of its own. A mistake in a file is shown first,
with its place; then the verdict on words up to length 4; then the whole report, as far as the screen has room. A save
ends a check that is still running.

The files that a specification names, and those of --against and --data, are watched, too. A file may be replaced,
deleted, and written again. Ctrl-C ends the command, with exit code 130.

Where standard output is no terminal, each report follows a line with the number of the check. With --json - there is
nothing but one JSON document a line for each check; --json PATH has the document of the last one.

The command needs the library watchfiles, the extra watch. WATCHFILES_FORCE_POLLING=1 finds changes where the system
does not report them, such as on network drives.

\b
Examples:
  hardsim watch mine.ltl
  hardsim watch mine.ltl --against other.re --max-n 12
  hardsim watch my_gpt2.spec
  hardsim watch formulas/ --json -
"""

PROVE = """Prove from its weights that a transformer is right on every word.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a specification (.spec), a directory of
them, or a shipped name.

After every rounding the network's Booleans are exactly 0 or 1, so each attention head can be examined on all words at
once: what it reads at a position is one of a few local types, and the worst choice of a type for every position bounds
all words. The proof has two links. First, the softmax network computes what its hard heads compute (a numerical
argument from its matrices, encodings, masks and temperature). Second, the hard heads compute the formula (truth tables
of the feed-forward layers, and one lemma per operator). Formulas without counts, if their minimal automaton is small,
get a second proof of that: the automaton is compared with the compiled heads and with the formula's text. The report
says whether it was made; a difference is an internal error (exit code 4).

The report lists the worst case of each head over all words: the largest error, the least margin (distance of a clip's
input from the threshold that it must have passed), the position, and the local types that attain it. Then it states the
verdict. PROVED covers every word. Up to 1,000 words are still run after a proof, in rigorous arithmetic; a word that
contradicts the proof is an internal error (exit code 4). If the proof fails, short words and words that the worst case
suggests are tried: REFUTED names a wrong word, and otherwise the verdict is UNDECIDED (a worst case may belong to no
word).

For a program or a hard-attention model, the proof shows that softmax answers as hard attention does, by the error
recursion of Theorem 26. It uses the gaps and ranges that follow from the weights, if the heads are recognised (and, for
a program, if no integer can leave its range). Otherwise it runs exact hard attention on every word of a length (up to
20,000 words; without --max-n, only the lengths that have no more).

An external network with a specification (.spec) or --against OTHER is proved right after every prefix of every word
that is judged, to the end of its table of positions or to --max-n, or a shortest wrong prefix is printed (exit code 1).
Networks of one layer that are causal, or read at the last position only, are proved from their weights; the table
brackets the least margin of each length. Where a class of prefixes stays open, the verdict is UNDECIDED, with the
length and a bound. Other networks are proved by running every word, where words are few.

--min-n N proves the lengths from N on. With the same --max-n it proves a single length, which may be long: every length
up to N costs up to N times as much. In the causal regimes, where nothing depends on the length of the word, the longest
length proves all shorter ones.

--all-n adds a second argument that covers every length. The logits are rational functions of positions and length;
their coefficients give a rate at which positions fall behind the winner, and a series in closed form bounds the error
of the head. The argument is printed so that it can be checked by hand. If it does not go through, the reason is printed
and the verdict is UNDECIDED; with --max-n given too, it is PROVED for the lengths up to that. For programs and models
whose gaps follow from their weights, the argument is the error recursion with functions of the length, at the
temperature 1/(C n^(k+1)) or at --tau.

\b
Examples:
  hardsim prove since
  hardsim prove since --all-n                     (every length)
  hardsim prove networks/majority                 (a trained network)
  hardsim prove since --beta 1                    (refuted by a word)
  hardsim prove since --certificate since.cert.json
  hardsim prove dyck2 --all-n --certificate dyck2.cert.json
  hardsim prove since --all-n --smt since.smt2    (then: z3 since.smt2)
  hardsim prove since --all-n --rocq since_rocq   (then: make -C since_rocq)
  hardsim prove flipflop.ltl --min-n 4096 --max-n 4096
  hardsim prove formulas/ --regime all --all-n
  hardsim prove model.json --heads-only           (claims nothing about a formula)

--certificate writes the proof for `hardsim verify`, which checks it again with code that shares nothing with this
command's; the certificate covers every length wherever that code follows the argument. --all-n --smt PATH writes
the numerical steps as queries to an SMT solver such as z3, which must answer unsat to each.

--all-n --rocq DIR writes a theorem for Rocq (Coq) into the folder DIR: a library, a file with the formula and the
matrices of the network, and a Makefile. `make -C DIR` checks it and prints the axioms that it rests on. If coqc or rocq
is on the path, it is run at once; if Rocq rejects the theorem, the exit code is 3, although the proof stands.
"""

VERIFY = """Check a certificate that `hardsim prove --certificate` wrote.

FILE is a certificate; there may be several. (With --rocq, it is one compiled model.)

The checker is small and shares no code with the compiler or the prover. It has exact rational arithmetic, its own
bounds of the exponential function, and its own evaluation of the position encodings. From the weights in the
certificate it computes the bounds of every head again, and checks that every clip maps all values within them to the
claimed value.

VALID means: on every word of the lengths that are named, the output of the network in the certificate is exactly 1 if
the formula in the certificate (its table of nodes, which is printed) holds at the last position, and exactly 0 if not;
in regime layer-norm, above 0 and below 0. INVALID states why that does not follow, with exit code 1; `prove` writes
only certificates that are valid. For a program or a model, VALID means: on every word of the lengths that are named
(counted with padding), softmax at the temperature answers as hard attention with the same weights. That these are the
answers of the program is no part of the claim.

For an external network, VALID means: after every judged prefix of the lengths that are named, the outputs of the
network in the certificate are as the specification in the certificate requires; and they are certainly not after the
wrong word, if it has one. Numbers are floats here, each with a bound of its error.

Whether that formula and that network are the ones you mean is another question. With --formula (or -e) a certificate is
valid only if it is about the formula of that file, and with --model only if it is about the network in that file, as
`hardsim compile` wrote it. For an external network, --model names its folder or file, and --spec the specification. The
version, the name and digest of the source, the regime and beta in a certificate are labels: they are neither checked
nor printed.

With --rocq DIR, FILE is a compiled model, and nothing is proved: the Rocq instance in DIR is read and compared with it.
VALID means: its network is that of the model, number by number; its formula, with the definitions, is that of the
model's text; its statement is the theorem, and it has no other sentence; and the library's files in DIR are those that
hardsim has, byte for byte. INVALID names the first difference. A text that no instance has is bad input, with the place
(exit code 2). The Makefile and compiled files are not read. `make -C DIR` then checks the proof.

\b
Examples:
  hardsim prove since --certificate since.cert.json
  hardsim verify since.cert.json
  hardsim verify since.cert.json --formula since --model since.model.json
  hardsim verify D2.cert.json --model D2/ --spec D2.spec
  hardsim verify since.model.json --rocq DIR      (the Rocq instance in DIR)
"""

EVAL = """Print the answers of formula, hard attention and softmax on words.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a regular expression (.re), a folder
with a network, a specification of one (.spec), or a shipped name.

A word is written as in formula files: symbols side by side, or separated by spaces (quote the word for the shell) if a
symbol is longer than one character. Sets of propositions are written '{p,q}{}{p}' (quoted, because shells expand
braces). '-' alone reads words from standard input, one a line. Words that start with '-' follow '--'. Every word needs
at least one symbol.

For each word the report lists the three answers, the network's output (exactly 0 or 1 when it has decided), the output
before its last rounding, the least margin of an attended value from its threshold, and the decimal digits of the
arithmetic. For a regular expression (.re) it lists whether each word matches; for a program that maps words to words,
the output words. For an external network it lists the outputs at each position and, with a specification or --against,
whether they are right.

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

FILE is a formula (.ltl), a program (.srasp, .cr), a regular expression (.re), an automaton (.dot, .jff, .json), a
model (.json), a directory, or a shipped name; there may be several.

Words of one length are in the order of the alphabet. --by selects whose answer counts: the formula's semantics
(oracle), hard attention (hard), or the softmax network (soft, whose output must be exactly 1). The words of a regular
expression (.re) are listed from its automaton without trying others, and --exhaustive limits how many there are. So are
those of a formula without comparisons of counts, by oracle, if all words are more than --exhaustive. With several
inputs or regimes each list has a heading, a line that starts with '# '.

\b
Examples:
  hardsim words since --max-n 4
  hardsim words since --by soft --regime none --max-n 5
  hardsim words -e 'H(a -> O b)' --alphabet 'a b' --max-n 3
  hardsim words formulas/ --max-n 3 --by hard
"""

EQUIV = """Compare formulas, programs or regular expressions with the first one.

Each FILE is a formula (.ltl), an accepting program (.srasp, .cr), a regular expression (.re), an automaton (.dot, .jff,
.json), or a shipped name; -e gives a formula, after the files. All have the same symbols.

No network is made: the meanings of the files are compared. Where both have an automaton (comparisons of two counts have
none) their comparison decides every length. If those of conjunctions are too large (10,000 states, or
about ten seconds), each part is compared with the parts of the other. Otherwise, and where that proves nothing, every
word of each length up to --max-n is tried where there are at most --exhaustive; of longer lengths structured words,
words of either language and their neighbours, random words, and the examples of both files. The report states up to
which length every word was tried. A formula is read at the position that its file names (at:), or both at the position
--at; with --props auto, files that contain only a formula are read over the propositions of both.

If the files differ, the shortest word on which they differ is printed on a line of its own, with both answers, and the
exit code is 1. If words of its length or shorter ones were left out, it is the shortest word found. If the product of
two automata is too large, the verdict is UNDECIDED, with the length up to which they agree, and the exit code is 3.

With --included, the question is whether the other file accepts every word that the first one accepts. The word that is
printed is accepted by the first file alone.

Several files are each compared with the first one: a line each, with the word on the next line, and a summary. A file
that cannot be read is an error, and so is a link out of a directory; the others are compared. The exit code is the
first of 4, 1, 2, 3 that occurred.
--html PATH also writes a web page for teachers, with a table of the files, the word of each, and the mistakes.
--format csv prints a table with the header input,regime,outcome,exit_code,verdict,word,message,line,column; text that
begins as a formula of spreadsheets does (=, +, -, @) has an apostrophe before it.

\b
Examples:
  hardsim equiv ab_plus.ltl ab_plus.srasp
  hardsim equiv mine.ltl mine.re --max-n 16
  hardsim equiv since -e 'b | a & Y(a S b)'
  hardsim equiv solution.ltl submissions/ --html grades.html
  hardsim equiv solution.ltl submissions/ --format csv
  hardsim equiv -e 'H a' -e '!O !a' --alphabet 'a b'
  hardsim equiv strict.ltl loose.ltl --included
  hardsim equiv one.re other.re --json -
"""

CLASSIFY = """Show the published classes of a language, with transformers of each.

FILE is a formula (.ltl, .cr), expression (.re), automaton (.dot, .jff), .spec file or shipped name; with --against
also a program, model or network.

The language must be regular: there is no automaton for comparisons of two counts, say (exit code 3). The report lists
the sizes of the minimal automaton and of its monoid, and for each class whether the language is in it. For each class
it says which idealised transformers recognise exactly these languages, with the source, and the position at which they
are read. For each class that the language is outside of there is a witness to check by hand: a rule, with a word in the
language and a word that is not.

The classes are: J-trivial (piecewise testable), R-trivial, R-trivial before the last symbol (the same, read where
hardsim reads), L-trivial, DA (two-variable logic), star-free (LTL), quasi-aperiodic (with modular positions), and none
of these (PARITY). A monoid of more than a million elements is not searched to the end: what depends on it is "not
decided", with exit code 3.

For a specification, and with --against FILE, the language is that of the specification: nothing is claimed about the
weights of the network or the program. Several inputs have one line each, with their smallest classes (--tables prints
everything).

With --within CLASS the exit code is 1 if the language is outside CLASS, with the witness, and 0 if it is inside,
whatever else was not decided.

\b
Examples:
  hardsim classify tomita_4
  hardsim classify -e 'H(a -> Y b)' --alphabet 'a b c' --explain
  hardsim classify mine.ltl --within star-free
  hardsim classify my_gpt2/ --against mine.re
  hardsim classify formulas/*.ltl
"""

SHOW = """Show the transformer that a formula is compiled into.

FILE is a formula (.ltl), a program (.srasp, .cr), a regular expression (.re), an automaton (.dot, .jff, .json), a model
(.json), a directory, the folder of an external network, a specification of one (.spec), or a shipped name; there may
be several.

The report lists the formula, what each coordinate of the core holds, the theorems used, the size of the network, the
nesting depth of temporal operators and of counts in the text (definitions in place of names), the size of the minimal
automaton, temperature, beta, position encodings, the precision needed, and for each layer its heads: mask, score,
value, purpose, and the error and score gap that theory allows at length 8 and at --max-n. For a hard-attention model or
a program it lists encodings, heads and feed-forward layers, and the places where integers may leave their range. For a
regular expression or an automaton it lists the minimal automaton, and the number of words of each length up to --max-n.
For an external network it lists what was read from its files, and the parts of the network.

--automaton writes the minimal automaton of a formula, an expression or an automaton: as a DOT graph, as the JSON of
automata-lib, or as a file of JFLAP. hardsim reads such files as languages.

\b
Examples:
  hardsim show since
  hardsim show since --regime all --max-n 1000
  hardsim show flipflop.ltl --regime causal-position --single-head
  hardsim show flipflop.ltl --automaton dot -o flipflop.dot
"""

TRACE = """Show one word position by position: coordinates and heads, hard beside soft.

FILE and WORD are as for `hardsim eval`: a formula, a program, a model or a network, and a word.

For each layer the report lists, for each head, the positions at which hard attention looks and the least weight that
softmax has there. For each coordinate it lists the value with hard attention, the value with softmax where that
differs, the largest possible difference, and, for values that are rounded, the least distance from a threshold. The
softmax network is run in ball arithmetic, so these bounds are rigorous. --head shows only the heads named, position by
position: the weight, the score gap, and what is read. For an external network the report shows where the largest logit
certainly is; its coordinates have no names.

--plot draws attention maps of the heads (with --head: of those named), hard beside soft, with the word on both axes. An
.html page is one file that works offline: step through the heads with the arrow keys, and point at a weight.

A word has at most 256 positions. The exit codes are those of `hardsim eval`.

\b
Examples:
  hardsim trace since cbaa
  hardsim trace since --regime none cbaa --plot since.html
  hardsim trace dyck2 '([])' --head 'mate = ('
  hardsim trace gpt2/ 'a b a' --plot heads.pdf
"""

HEADS = """Show where the heads of an external network attend, and how hard.

FILE is such a network, a folder or a file, or its specification (.spec); there may be several. The heads of a compiled
transformer have declared purposes, which `hardsim show` prints.

The network is run on the words that `check` would try, in float64 with rigorous error bounds. A query is a position of
a word from which a head looks at all positions that it sees. A query that sees a single position says nothing and does
not count. Positions count from 0 and include all tokens that are read.

For each head the report lists a pattern, and at how many of the queries it holds (all, or the share of them). The
pattern is uniform (every weight is within 1 % of 1/m, if m positions are seen), or it names the position that certainly
has the largest logit: the query itself, the previous, the next, the first or the last position, the first symbol of the
word, or the nearest position (at or before, before, at or after, or after the query) whose token is of a class, which
is inferred from the words. If there is no such nearest position, the first position is meant, or the last one under a
mask that hides the past. A pattern that holds at less than half of the queries is listed as none.

The report also lists the least gap of the two largest logits, in nats, where it is certain which is the largest; the
least weight of the largest logit, together with logits that cannot be told apart from it (near 1 the head is as good as
hard); and ties, the queries where float64 cannot tell the largest logits apart. The first tie of each head follows
below the table. A head with a pattern at all queries and a large gap has a hard reading; a head with exact ties has at
best an average of several positions. --json has gaps and ties length by length.

The exit code is 0 whatever the heads do, and 3 if float64 cannot be trusted.

\b
Examples:
  hardsim heads gpt2/
  hardsim heads gpt2/ --max-n 20 --json heads.json
  hardsim heads one/ other/ --exhaustive 100000
"""

COMPILE = """Write the compiled transformer as JSON with exact rationals.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json), or a shipped name.

The file written holds the matrices, position encodings and temperature, the formula, and the purpose of each head.
`check`, `eval`, `words` and `show` take it instead of the formula and give the same results. It appears whole or not at
all. Name it NAME.model.json if directories that contain it are to be checked.

--hard writes the hard-attention model, in the format of .ahat.json. For a program or a hard-attention model the softmax
model is written in the same format. Its temperature is --tau, if given; else a function of the length, if every length
is proved at one; else Theorem 26's for each length up to --max-n, whose gaps are measured on the words that `check`
would try. Name such files NAME.ahat.json.

\b
Examples:
  hardsim compile since -o since.model.json
  hardsim compile since --regime position --beta 7/2 -o -
  hardsim compile since --hard -o since.ahat.json
  hardsim compile dyck2 --max-n 6 -o dyck2_soft.ahat.json
"""

EXPORT = """Write a network as files that PyTorch, ONNX or another framework can run.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a specification (.spec), the folder of
an external network, or a shipped name.

With --to torch, -o names a folder, new or empty. There, model.safetensors holds the weights in float64, config.json
describes them, and model.py is a module of less than 200 lines that needs only torch (`from model import load`). Its
encodings and temperature are functions of the length, for words of any length. config.json also has the exact
rationals: hardsim takes the folder instead of FILE, checks that the weights are these numbers, and has the same
network. --to safetensors writes the folder without model.py.

With --to onnx, -o names a file: one graph of opset 17 for words in batches, of any length up to --max-n (it has tables
of everything that depends on the length), or of --length N alone. It computes in --dtype.

What is written is run on random words of up to 64 symbols by torch or onnxruntime, if that is installed, and the
largest difference from the exact outputs is printed. To write an ONNX file the library onnx must be installed.

\b
Examples:
  hardsim export since --to torch -o since_torch
  hardsim check since_torch
  hardsim export since --to onnx -o since.onnx --max-n 64
  hardsim export my_gpt2/ --to onnx --dtype float32 -o my_gpt2.onnx
  hardsim export dyck2 --to safetensors -o dyck2_weights
"""

PRECISION = """Find the length up to which a network is right in a number format.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a specification (.spec), the folder of
an external network, a directory of them, or a shipped name; there may be several.

A proof over the real numbers says nothing about arithmetic that rounds. This command takes the network as `hardsim
export` writes it (model.py), with every number and the result of every operation rounded to a format. For each format
it lists the length up to which every such evaluation, under the assumptions that are printed, answers every word right;
the least length of a word that was found wrong when model.py is emulated, with that word; the head that fails first;
and a change that fixes the failure: --accumulate float32 (as PyTorch does), a larger --beta, or a wider format. With
the change that length is safe if sums are from the left; for a network checked word by word, that word is right.

Formulas whose heads look for the nearest position are checked on all words of a length at once. Other networks are
checked word by word, on every word of the lengths that have at most --exhaustive words, as long as that does not take
too long (a larger --exhaustive allows more time). Beyond that nothing is claimed, but words that are likely to fail are
emulated up to --max-n. Each row names its reference, which gives the right answers. It is the formula, if FILE is one.
It is the specification, if FILE is one: only the words and positions that it judges (assume:) count, and the report
states how many words these are. Otherwise it is the exact network: a program, a model or an external network in real
arithmetic.

--dtype checks one format alone. The exit code is then 1 if a word is wrong, and 3 if no word is wrong but not all
lengths are safe, or if no word of these lengths is judged.

\b
Examples:
  hardsim precision since
  hardsim precision since --dtype bfloat16 --max-n 64
  hardsim precision since --accumulate float32
  hardsim precision my_gpt2/ --max-n 12
  hardsim precision formulas/ --regime all --json precision.json
"""

BOUND = """Report score gaps, temperatures and errors beside what theory allows.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a directory of them, or a shipped
name; there may be several.

With --gap alone and no FILE: everything that is shipped.

For each length the report lists the least score gap, measured and declared; the largest activation; Theorem 26's
temperature for the error asked for (--epsilon); the largest temperature of a grid up to which softmax is right on every
word tried; the next temperature, with a word on which it is wrong; the largest error and its bound ("void" after an
earlier head has failed); the bits of precision that settle every answer; and what a rounding feed-forward network would
need instead (Lemma 27). Errors are at the theorem's temperature (for a formula: at the regime's temperature and --beta,
or at --tau). A higher temperature may be right where a lower one is wrong, so every temperature of the grid below is
tried; where there are more than --exhaustive words, words that are likely to fail are searched for at the last one that
is right, and below it if that finds one. Then follow each head, and the growth with n beside the theorem's.

--critical reports instead how small beta, the inverse-temperature constant of every head, may be for all words of each
length, and for every length. The answer is a bracket of two ends: at the upper end all words are proved right (see
`prove`), at the lower end one word is wrong. Both are rigorous, and they are next to each other if the bracket is
closed. Nothing is claimed between the ends or below the lower one, because a smaller beta may be right where a larger
one is wrong. For programs and hard-attention models each length has its own bracket, and beta divides the temperature
at which every length is proved, or --tau.

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

The suffix may be left out: of several files with one name the formula (.ltl) is taken, then the program (.srasp, .cr),
then the model (.ahat.json). Every command takes such a NAME where it takes a FILE.

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

The canonical form writes every operator in its ASCII spelling (`&`, `->`, `X`, `rightmost_j`), with one space around
operators, and without unnecessary quotes. Unnecessary brackets are removed from formulas and .srasp programs, except
those that help a reader: between two different logical or temporal operators, as in `(a & b) | c`, and in `!(i = j)`
and `(s + t) mod m = r`. Lines of more than 100 characters are folded, except in C-RASP programs. In specifications only
blanks change. Comments, line breaks in long formulas, and the order of lines stay as they are, and several empty lines
become one. The meaning never changes: the text is read again and compared with the file before it is shown or written.

--check writes nothing. For each file that is not in its canonical form it prints the first line that would change and
the difference (as `diff -u` does), then the command with --write that rewrites them. The exit code is 1: the file and
its canonical form differ. --quiet leaves out the difference. A file with a mistake gives exit code 2 and the usual
message, and is never rewritten. Examples (accept:, reject:, map:) are not checked.

\b
Examples:
  hardsim fmt mine.ltl
  hardsim fmt --write mine.ltl
  hardsim fmt --check specifications/           (for continuous integration)
  hardsim fmt --check --format github specifications/
"""

REPORT = """Write the results as a web page and as LaTeX, in a form that can be run again.

FILE is a formula (.ltl), a program (.srasp, .cr), a model (.ahat.json, .json), a specification (.spec), a directory of
them, or a shipped name; there may be several.

For each input this command runs `check` with these options, then `prove --all-n` with its own lengths, and `bound` up
to length 8 at most, with every word of the lengths that have at most 256. For an external network it runs the check
alone.

The directory then holds index.html, a page that needs no other file; report.tex, which compiles alone with pdflatex,
with tables by booktabs, figures by pgfplots, and the argument for every length as theorem and proof; inputs/, copies of
the files; results.json, the JSON document of the run; and command.json, the command with versions and hashes, from
which `hardsim replay` runs it again. The directory appears whole or not at all: a directory that is not empty is
refused, and an interruption leaves none. The pictures of the page need matplotlib, the extra plot; without it they are
left out.

The exit code is that of `check`, and 1 too if a proof or a bound was refuted. With --all-n it is 3 if something is not
proved for every length. An input that cannot be read is reported, and the others run; if none can be read, nothing is
written.

\b
Examples:
  hardsim report since -o report
  hardsim report formulas/ --max-n 6 -o report
  hardsim report since --regime all --all-n -o report
  hardsim replay report
"""

REPLAY = """Run a report again, and list every result that differs.

DIR is a directory that `hardsim report` wrote.

The command of the report is run on its copies of the inputs, and the results are compared with its results.json value
by value. IDENTICAL means that all values are the same. Otherwise the first 20 values that differ are listed by their
place, with the old and the new value, and the exit code is 1. Inputs that were changed, and versions other than those
of the report, are listed first. Nothing is written, and nothing is run but a report on files of that directory,
whatever command.json says.

\b
Examples:
  hardsim report since -o report
  hardsim replay report
"""

SERVE = """Try formulas and programs on a page in your browser.

The page is at the printed address, for this machine alone; Ctrl-C ends it. It needs the extra serve.

You type a formula (.ltl), a C-RASP or S-RASP program (.cr, .srasp), or a regular expression (.re), which has words and
classes alone. While you type, the page shows errors with their place. Then it shows the verdict, accepted and rejected
words, the classes of the language, the attention maps of a word that you choose, and on request the smallest beta that
works. Beside each answer is the command line that gives it: the page runs these commands. Its address bar holds all
that you typed, so a copied link restores it. Ten lessons are a start.

Each request runs in a process of its own, which has 30 seconds (two minutes for the smallest beta) and 2 GiB of memory,
and no files but those of the request. A request that has not arrived after 10 seconds is dropped. Requests to another
host name and from other pages are refused. With --json the document with the address is written when the page is ready.

\b
Examples:
  hardsim serve
  hardsim serve --port 0
  hardsim serve --json -
"""

NEW = """Write a specification for a network, with one line to complete.

FILE is the folder of an external network, a file of weights, or network JSON. The specification is written to -o, by
default FILE.spec in this directory, and names the network.

Tokens, alphabet, the tokens around a word, and where and how outputs answer are filled in from the files of the
network. What it should compute is the last line, which you complete: for a classifier `language:` with a formula, a
/regular expression/ or @FILE, and above it `accept:` with the label of the words in it; for a language model `next:`.
Comments show examples over the network's own symbols. `hardsim check` then runs it.

\b
Examples:
  hardsim new my_bert/
  hardsim new my_gpt2/ -o brackets.spec
  hardsim check my_bert.spec
"""

COMMANDS = {
    "check": Manual("Check word by word that a network answers right.", CHECK),
    "watch": Manual("Check files again whenever one is saved.", WATCH),
    "prove": Manual("Prove a network right on all words up to a length.", PROVE),
    "verify": Manual("Check a certificate that prove wrote.", VERIFY),
    "eval": Manual("Print the answers on given words.", EVAL, usage="[OPTIONS] [FILE]"),
    "words": Manual("List the accepted words up to a length.", WORDS),
    "equiv": Manual("Compare files with the first one.", EQUIV),
    "classify": Manual("Show which transformers recognise a language.", CLASSIFY),
    "show": Manual("Show the network that a formula is compiled into.", SHOW),
    "heads": Manual("Show where the heads of a network attend, and how hard.", HEADS),
    "trace": Manual("Show a network on one word, position by position.", TRACE, "[OPTIONS] [FILE]"),
    "new": Manual("Write a specification for a network of your own.", NEW),
    "compile": Manual("Write the network to a file, with exact rationals.", COMPILE),
    "export": Manual("Write a network for PyTorch, ONNX or others.", EXPORT),
    "precision": Manual("Find the length up to which bfloat16 is right.", PRECISION),
    "bound": Manual("Report gaps, temperatures and errors beside the theory.", BOUND),
    "report": Manual("Write the results as a web page and as LaTeX.", REPORT),
    "replay": Manual("Run a report again, and list what differs.", REPLAY),
    "serve": Manual("Try formulas and programs on a page in your browser.", SERVE),
    "examples": Manual("List or print the shipped examples.", EXAMPLES),
    "fmt": Manual("Print a file in its canonical form.", FMT),
}
