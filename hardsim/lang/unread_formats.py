"""Formats of other tools that hardsim cannot read: how to recognise each, and advice for the user.

The order of the table matters: the first row that matches names the file's format (see `unread_files.py`).
"""

from __future__ import annotations

from hardsim.lazy_dataclass import dataclass

_AUTOMATON = (
    "hardsim reads automata as DOT graphs, automata-lib's JSON or JFLAP's XML. Write it in one of these, or the "
    "language as a regular expression (.re) or a formula (.ltl): docs/languages.md."
)
_INFINITE = (
    "HOA describes infinite words (Büchi acceptance and others), and the words of hardsim are finite. Write the "
    "language of finite words as a formula (.ltl), a regular expression (.re) or a DOT graph: docs/languages.md."
)
_LANGUAGE = "hardsim reads it as a language, in the places where it reads regular expressions: docs/languages.md."
_FORMULA = "Copy the formula into an .ltl file, with a line props: for its propositions: docs/languages.md."
_DECLARE = "Write its constraints as formulas: docs/declare.md has one for each template."
_MODEL = "Copy its LTL properties into .ltl files, with a line props: for their propositions: docs/languages.md."
_WEIGHTS = (
    "Save the weights as model.safetensors (or as a PyTorch state dict, .pt) in a folder with a config.json, and name "
    "the folder: docs/networks.md."
)
_FOLDER = "Name the folder in which the configuration and the weights are: docs/networks.md."
_PYTHON = (
    "Give hardsim the network from Python: hardsim.from_tracr takes what Tracr compiled from RASP, hardsim.from_torch "
    "an encoder of PyTorch: docs/python.md."
)
_PROGRAM = "RASP and C-RASP can also be written as .srasp and .cr files: docs/languages.md."
_WORDS = "`hardsim eval FORMULA -` reads words from standard input, one on each line: docs/commands.md."
_LABELS = "`hardsim check NETWORK --data FILE` judges such words: docs/specifications.md."
_TEXT = "Copy the formula or the program into a text file: docs/languages.md."
_READ = ": docs/languages.md and docs/networks.md list what it reads."
_UNPACK = "Unpack it, and name the file that was in it."


@dataclass(frozen=True, slots=True)
class OtherToolFormat:
    """A format that hardsim cannot read. All patterns are regular expressions.

    A hostile text must not take long. So of two repetitions that can match the same characters one is possessive (`*+`)
    or has a bound.
    """

    title: str
    """Noun phrase for a file in this format, with an article."""
    advice: str
    """Advice for the user of such a file, with the page of the documentation."""
    suffixes: tuple[str, ...] = ()
    magic: bytes = b""
    """Pattern of the first bytes of a binary file."""
    begins: str = ""
    """Pattern of the start of a text, after comments. No text that hardsim reads may start like this."""
    looks: str = ""
    """Pattern found anywhere in a text; a damaged file of hardsim's own may contain it too."""
    lines: tuple[str, ...] = ()
    """Patterns for lines: each line matches one of them, and at least one line matches the first."""
    root: str = ""
    """Pattern of the XML text after the `<` of the first element."""
    keys: tuple[str, ...] = ()
    """Patterns for keys of a JSON object, in lower case without `_`, `-` and blanks: each pattern matches some whole
    key."""


_AUTOMATA = (
    OtherToolFormat("an automaton in HOA format (Hanoi Omega-Automata)", _INFINITE, (".hoa",), begins=r"HOA\s*:\s*v"),
    OtherToolFormat(
        "a DOT graph (Graphviz), as many tools write automata",
        _LANGUAGE,
        (".dot", ".gv"),
        begins=r"(?i:strict\s+)?(?i:di)?(?i:graph)\b\s*+([^\W\d]\w*+|-?[\d.]++|\"(\\.|[^\"\\])*+\")?\s*+\{",
    ),
    OtherToolFormat(
        "a regular expression of JFLAP (XML)",
        "Copy the expression into an .re file, after the lines `alphabet: ...` and `plus: union`. Write () for the "
        "empty word, which is ! in JFLAP: docs/languages.md.",
        root=r"structure>(?s:.*?)<type>\s*re\s*<",
    ),
    OtherToolFormat("an automaton or a grammar of JFLAP (XML)", _LANGUAGE, (".jff",), root=r"structure>"),
    OtherToolFormat("an automaton of GOAL or Büchi Store (XML)", _AUTOMATON, (".gff",), root=r"[Ss]tructure\s"),
    OtherToolFormat("an automaton of UPPAAL (XML)", _AUTOMATON, (".xta",), root=r"nta\b"),
    OtherToolFormat("a graph in GraphML or GEXF (XML)", _AUTOMATON, (".graphml", ".gexf"), root=r"(graphml|gexf)\b"),
    OtherToolFormat("a never claim of Spin (a Büchi automaton)", _AUTOMATON, begins=r"never\s*+\w*+\s*+\{"),
    OtherToolFormat("an automaton of Mata", _AUTOMATON, (".mata", ".vtf"), begins=r"@[NDA]FA-[\w-]+"),
    OtherToolFormat("an automaton of FAdo", _AUTOMATON, (".fado",), begins=r"@(DFA|NFA|Transducer)\b"),
    OtherToolFormat("an automaton of Timbuk", _AUTOMATON, (".timbuk", ".tmb"), begins=r"Ops\s+\S+:\d+"),
    OtherToolFormat(
        "an automaton in BA format",
        _AUTOMATON,
        (".ba",),
        lines=(r"[^\s,]+\s*,\s*\[?[\w.]+\]?\s*->\s*\[?[\w.]+\]?", r"\[?[\w.]+\]?"),
    ),
    OtherToolFormat("an automaton of MONA", _AUTOMATON, begins=r"MONA\s+(DFA|GTA)\b"),
    OtherToolFormat("an automaton of Grail+", _AUTOMATON, begins=r"\(START\)\s*\|-"),
    OtherToolFormat("an automaton of ltl2dstar", _AUTOMATON, (".dra",), begins=r"(DRA|DSA|NBA)\s+v\d"),
    OtherToolFormat("a transition system in Aldebaran format", _AUTOMATON, (".aut",), begins=r"des\s*\(\s*\d+\s*,"),
    OtherToolFormat("a parity game of PGSolver", _AUTOMATON, (".gm", ".pg"), begins=r"parity\s+\d+\s*;"),
    OtherToolFormat("a finite-state machine of OpenFST", _AUTOMATON, (".fst",), rb"\xd6\xfd\xb2\x7e"),
    OtherToolFormat(
        "a finite-state machine in AT&T format (OpenFST, foma, MLRegTest)",
        _AUTOMATON,
        (".att",),
        lines=(r"\d+\s+\d+\s+\S+(\s+\S+)?(\s+-?[\d.]+)?", r"\d+(\s+-?[\d.]+)?"),
    ),
    OtherToolFormat("a network of foma", _AUTOMATON, (".foma",), begins=r"##foma-net"),
    OtherToolFormat(
        "a language in the notation of plebby (MLRegTest)",
        "Write the language as a regular expression (.re) or a formula (.ltl): docs/languages.md.",
        (".plebby", ".pleb"),
        begins=r"=\s*\w+\s*\{\s*/",
    ),
    OtherToolFormat(
        "an automaton as lines of text",
        _AUTOMATON,
        (".dfa", ".nfa", ".fsm", ".fsa"),
        begins=r"#\s*(states|initial|alphabet)\s*$"
        r"|(?is:(?=(.*^)?[ \t]*states\s*(:(?!=)|=\s*[\[{])))"
        r"(?is:(?=(.*^)?[ \t]*(transitions?|delta|initial|start|final)))"
        r"\w+([ _]\w+)?[ \t]*(:(?!=)|=)",
    ),
)

_FORMULAS = (
    OtherToolFormat("a specification in TLSF (synthesis)", _FORMULA, (".tlsf",), begins=r"(INFO|GLOBAL|MAIN)\s*\{"),
    OtherToolFormat("inputs and outputs for LTLf synthesis", _FORMULA, (".part",), begins=r"\.(in|out)puts\s*:"),
    OtherToolFormat(
        "a GR(1) specification of Slugs", _FORMULA, (".slugsin", ".structuredslugs"), begins=r"\[INPUT\]\s*$"
    ),
    OtherToolFormat(
        "a formula of MONA",
        "Write it as a formula (.ltl) or a regular expression (.re): docs/languages.md.",
        (".mona",),
        begins=r"(m2l-(str|tree)|ws[12]s|linear|guided)\s*;|(var[012]|ex[012]|all[012]|macro|pred)\s[^\n;]*;",
    ),
    OtherToolFormat(
        "an SMV model (NuSMV, nuXmv)", _MODEL, (".smv",), begins=r"MODULE\s+\w|(LTL|CTL|INVAR)SPEC\b|I?VAR\s*$"
    ),
    OtherToolFormat(
        "a Promela model of Spin",
        _MODEL,
        (".pml", ".prom", ".promela"),
        begins=r"ltl\s*(\w+\s*)?\{|(active\s*+(\[\d+\])?\s*+)?proctype\s+\w|mtype\s*[:={]|init\s*\{|inline\s+\w+\s*\("
        r"|(bool|bit|byte|short|int|chan)\s+\w[^\n]*;|#define\s",
    ),
    OtherToolFormat("a TLA+ module", _MODEL, (".tla",), begins=r"-{4,}\s*MODULE\s+\w+"),
    OtherToolFormat(
        "a model of Alloy", _MODEL, (".als",), begins=r"((abstract|one|lone|some|var)\s+)*sig\s+\w[^{;]*\{|open\s+util/"
    ),
    OtherToolFormat(
        "a model of PRISM",
        _MODEL,
        (".prism", ".pm", ".nm", ".sm"),
        begins=r"(dtmc|ctmc|mdp|pta|pomdp|smg|nondeterministic)[ \t]*(//[^\n]*)?\n",
    ),
    OtherToolFormat(
        "Verilog, SystemVerilog or PSL",
        _MODEL,
        (".v", ".sv", ".svh", ".psl", ".vhd"),
        begins=r"(assert|assume|cover)\s+(property|always|never|eventually!)|(property|sequence)\s+\w+\s*(\([^)]*\))?\s*;"
        r"|vunit\s+\w|`(timescale|include|define)|module\s+\w+\s*[(#;]",
    ),
    OtherToolFormat("a circuit in AIGER format", _MODEL, (".aag", ".aig"), begins=r"a[ai]g( \d+){5}"),
    OtherToolFormat(
        "a script in SMT-LIB",
        _FORMULA,
        (".smt2",),
        begins=r"\((set-(logic|info|option)|declare-\w+|define-\w+|assert)\b",
    ),
    OtherToolFormat("a problem in PDDL", _FORMULA, (".pddl",), begins=r"\(define\s*\((domain|problem)\b"),
)

_PROCESSES = (
    OtherToolFormat(
        "a Declare model",
        _DECLARE,
        (".decl",),
        begins=r"activity\s+\S[^\n]*\s(activity|bind)\s+\S"
        r"|(activity\s+\S[^\n]*+\s++)?[A-Za-z][\w -]{3,}\[[^\]\n]+\]\s*\|",
    ),
    OtherToolFormat(
        "a Declare model (XML)",
        _DECLARE,
        root=r"(?s:model\b.*<(constraint|activit)|assignment\b|processModel\b|[Dd]eclare)",
    ),
    OtherToolFormat("a Petri net (PNML)", f"hardsim reads no Petri nets. {_DECLARE}", (".pnml",), root=r"pnml\b"),
    OtherToolFormat(
        "a process in BPMN", f"hardsim reads no processes. {_DECLARE}", (".bpmn",), root=r"(\w+:)?definitions\b"
    ),
    OtherToolFormat("an event log (XES)", _WORDS, (".xes", ".mxml"), root=r"(log|WorkflowLog)\b"),
    OtherToolFormat(
        "a web page (HTML)",
        "Download the file itself: this is a web page in its place.",
        (".html", ".htm"),
        root=r"(?i:html)\b",
    ),
    OtherToolFormat(
        "XML",
        f"hardsim reads no XML{_READ}",
        (".xml",),
        root=r"[A-Za-z_][\w:.-]*(\s[^<>]*)?/?>",
    ),
)

_PROGRAMS = (
    OtherToolFormat(
        "a RASP program, in the language of the first RASP interpreter",
        "Write it as an S-RASP program (.srasp: docs/languages.md), or in Tracr's RASP and give hardsim.from_tracr "
        "what Tracr compiles: docs/python.md.",
        (".rasp",),
        begins=r"set\s+(s-op\s+)?example\b|def\s+\w+\([^()\n]*\)\s*\{"
        r"|\w+\s*=\s*(aggregate|selector_width|select)\s*\([^\n]*;\s*$",
        looks=r"^[^\n/]{0,100}\b(aggregate|selector_width|select)\s*+\([^\n]{0,400};\s*$",
    ),
    OtherToolFormat(
        "a Python program",
        f"hardsim runs no Python files. In Python a function can be the reference: hardsim.load(FILE).check("
        f"against=FUNCTION). {_PYTHON} {_PROGRAM}",
        (".py", ".pyi"),
        begins=r"#!.*\bpython|(from\s+[\w.]+\s+import\b|import\s+\w[\w.]*(\s+as\s+\w+)?\s*$)|\"\"\"",
        looks=r"^(async\s+)?def\s+\w+\(.{0,400}\).{0,100}:\s*$|^class\s+\w+.{0,400}:\s*$",
    ),
    OtherToolFormat("a LaTeX document", _TEXT, (".tex",), begins=r"\\(documentclass|begin|usepackage)\b"),
    OtherToolFormat("a PDF document", _TEXT, (".pdf",), rb"%PDF-"),
)

_BINARY = (
    OtherToolFormat("weights in safetensors", _WEIGHTS, (), rb".{5}\x00\x00\x00\{[\s\"]"),
    OtherToolFormat("an array of numpy (.npy)", _WEIGHTS, (".npy",), rb"\x93NUMPY"),
    OtherToolFormat("arrays of numpy (.npz)", _WEIGHTS, (".npz",), rb"PK\x03\x04.{26}[^\x00]*?\.npy"),
    OtherToolFormat("a checkpoint of PyTorch", _WEIGHTS, (), rb"PK\x03\x04.{26}[^\x00]{0,99}/data\.pkl"),
    OtherToolFormat("weights in HDF5 or of Keras", _WEIGHTS, (".h5", ".hdf5", ".keras"), rb"\x89HDF\r\n\x1a\n"),
    OtherToolFormat("weights in GGUF", _WEIGHTS, (".gguf", ".ggml"), rb"GGUF"),
    OtherToolFormat("weights of JAX (Flax)", _WEIGHTS, (".msgpack",)),
    OtherToolFormat("a checkpoint of TensorFlow or Lightning", _WEIGHTS, (".ckpt", ".pb", ".tflite")),
    OtherToolFormat(
        "a pickle of Python",
        f"hardsim opens no pickles, because they can run programs. {_WEIGHTS} {_PYTHON}",
        (".pkl", ".pickle", ".joblib", ".dill"),
        rb"\x80[\x02-\x05]",
    ),
    OtherToolFormat(
        "an ONNX file, which `hardsim export` writes but hardsim cannot read",
        "Name the model it was made from, or the folder that --to torch or --to safetensors writes.",
        (".onnx",),
    ),
    OtherToolFormat("a table (Parquet, Arrow or Excel)", _WORDS, (".parquet", ".arrow", ".xlsx"), rb"PAR1|ARROW1"),
    OtherToolFormat("a file compressed by gzip", _UNPACK, (".gz", ".tgz"), rb"\x1f\x8b"),
    OtherToolFormat(
        "a file compressed by bzip2, xz or zstd", _UNPACK, (".bz2", ".xz", ".zst"), rb"BZh|\xfd7zXZ|\x28\xb5\x2f\xfd"
    ),
    OtherToolFormat("a ZIP archive", _UNPACK, (".zip",), rb"PK[\x03\x05]"),
    OtherToolFormat("an archive", _UNPACK, (".tar", ".7z", ".rar"), rb"7z\xbc\xaf|Rar!|.{257}ustar"),
    OtherToolFormat(
        "a database (SQLite), as --resume writes them",
        "Name the file that was checked, and give this file to --resume of the same command: docs/commands.md.",
        (),
        rb"SQLite format 3\x00",
    ),
)

_JSON = (
    OtherToolFormat(
        "the output of --json",
        "Name the file that was checked, not the results.",
        keys=("command", "exitcode", "results"),
    ),
    OtherToolFormat(
        "the command of a report",
        "Run the report again with `hardsim replay DIRECTORY`.",
        keys=("arguments", "versions", "sha256"),
    ),
    OtherToolFormat("a notebook (Jupyter)", _PYTHON, (".ipynb",), keys=("nbformat", "cells")),
    OtherToolFormat(
        "the configuration of an adapter (LoRA)",
        f"Merge the adapter into its base model, and save that. {_FOLDER}",
        keys=("pefttype",),
    ),
    OtherToolFormat("the state of a training run", _FOLDER, keys=("loghistory",)),
    OtherToolFormat("the index of a network's weights", _FOLDER, keys=("weightmap",)),
    OtherToolFormat("a tokenizer", _FOLDER, keys=("addedtokens|pretokenizer", "model|decoder")),
    OtherToolFormat("the vocabulary of a network", _FOLDER, ("vocab.json", "merges.txt")),
    OtherToolFormat(
        "the configuration of a network",
        _FOLDER,
        keys=("modeltype|architectures|hiddensize|n(um)?layers?|dmodel|numattentionheads|modelconfig",),
    ),
    OtherToolFormat(
        "weights in JSON",
        "Write them as network JSON, or save them as safetensors beside a config.json: docs/networks.md.",
        keys=(r".+\.(weight|bias)|statedict",),
    ),
    OtherToolFormat("a model in JANI", _MODEL, (".jani",), keys=("janiversion",)),
    OtherToolFormat("a specification of BoSy (JSON)", _FORMULA, keys=("inputs", "outputs", "guarantees")),
    OtherToolFormat("a Declare model (JSON)", _DECLARE, keys=("constraints", "tasks|activities|templates")),
    OtherToolFormat(
        "an automaton in JSON",
        _AUTOMATON,
        keys=(
            "states?|q|locations",
            r"(state)?transitions?(functions?|tables?|maps?|lists?)?|delta|δ|edges|arcs|(initial|start)(states?)?|q0"
            r"|(accepting|accept|final)(states?)?|finals",
        ),
    ),
    OtherToolFormat("an automaton or a graph in JSON", _AUTOMATON, keys=("nodes|vertices", "edges|links|arcs")),
    OtherToolFormat(
        "an automaton or a graph in JSON",
        _AUTOMATON,
        keys=("from(state)?|src|source", "to(state)?|dst|dest|target|destination"),
    ),
)

_DATA = (
    OtherToolFormat(
        "a list of words with labels",
        _LABELS,
        (".tsv",),
        lines=(
            r"[^\t,;]*[\t,;]\s*(?i:true|false|[01]|[+-]1?|accept(ed)?|reject(ed)?|pos(itive)?|neg(ative)?)"
            r"|(?i:true|false|[01]|[+-]1?)[\t,;][^\t]*",
            r"\w+[\t,;]\w+",
        ),
    ),
    OtherToolFormat("lines of JSON", _WORDS, (".jsonl", ".ndjson")),
    OtherToolFormat(
        "a table (CSV)",
        _LABELS,
        (".csv",),
        looks=r"(?i)\A[^\n]{0,1000}\b(case|activity|timestamp|label)\b[^\n]{0,1000}[,;]",
    ),
    OtherToolFormat("YAML", f"hardsim reads no YAML{_READ}", (".yaml", ".yml")),
)

FORMATS: tuple[OtherToolFormat, ...] = (*_AUTOMATA, *_FORMULAS, *_PROCESSES, *_PROGRAMS, *_BINARY, *_JSON, *_DATA)
"""All formats, in the order in which they are tried."""
LINES_OF_JSON = next(one for one in FORMATS if one.title == "lines of JSON")
