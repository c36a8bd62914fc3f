"""Compiled formulas (`model.json`) and hard-attention models (`.ahat.json`): how they are written, and how their files
become subjects."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hardsim.errors import HardsimError, InputError
from hardsim.lang import ltl_parser
from hardsim.lang.ast import FormulaFile
from hardsim.lang.pretty import format_file
from hardsim.lang.valuations import (
    Alphabet,
    Valuations,
    listed,
)
from hardsim.lang.vocabulary import brief
from hardsim.lang.words import written_word
from hardsim.network.reader import Reader
from hardsim.network.store import Users, read_transformer, transformer_json
from hardsim.network.transformer import LengthTable, Schedule, Transformer
from hardsim.program.budget import Budget
from hardsim.program.file import (
    AhatFile,
    Origin,
    ahat_json,
    program_json,
    read_beta,
    read_program,
)
from hardsim.program.hard_attention import Program
from hardsim.program.regimes import NAMED
from hardsim.targets.compiled import METHODS, formula_subject
from hardsim.targets.formula import FormulaTarget
from hardsim.targets.labels import budget_of, relabelled
from hardsim.targets.sharpness import FOUND, GivenTemperature, OneNetwork, Sharpness
from hardsim.targets.subject import Subject, counting_of, own_predicates
from hardsim.targets.weights import WeightsTarget
from hardsim.version import __version__
from hardsim.visible import visible_json

FORMAT = "hardsim-model"
SCHEMA_VERSION = 2


def read_hard_attention(file: AhatFile, name: str, sha256: str) -> tuple[WeightsTarget, tuple[str, ...]]:
    """Return the subject of a hard-attention model whose examples have been checked, with remarks on its labels. Raises
    InputError if the model does not decide an example as the file says."""
    budget, origin = file.sharpness, file.compiled
    formula = None if origin is None else _origin(origin)
    single = origin is not None and origin.single_head
    counting = None if origin is None or origin.counting is None else METHODS[origin.counting]
    tau = None if budget is None else budget.temperature
    labels = relabelled(file.program, tau, formula, single, counting)
    program = labels.program
    sharpness: Sharpness = FOUND
    if budget is not None:
        sharpness = OneNetwork.of(program, budget)
    elif file.temperature is not None:
        sharpness = GivenTemperature(file.temperature)
    subject = WeightsTarget(
        name=name,
        sha256=sha256,
        program=program,
        alphabet=_unpadded(program.alphabet, file.blank),
        examples=file.examples,
        title=file.title,
        blank=file.blank,
        predicates=file.predicates,
        sharpness=sharpness,
        fixed_weights=file.temperature is not None,
        counting=counting_of(program),
        single_head=single and all(len(layer.heads) <= 1 for layer in program.layers),
        structural=labels.compiled,
        confirmed=labels.compiled,
        origin=formula if labels.compiled else None,
    )
    # Without the outputs of a transduction, the model answers by its single output, as its examples expect.
    answer_of = replace(subject, program=replace(program, outputs=())).decider()
    for word, accepted in file.examples:
        answer = answer_of(word)
        if answer is not accepted:
            shown = brief(written_word(word, program.alphabet))
            found, level = "accepts" if answer else "rejects", program.threshold
            if answer is None:
                where = "neither 0 nor 1" if level is None else f"the threshold itself, {level}"
                found, shown = "does not decide", f"{shown} (the output is {where})"
            raise InputError(
                f"{name}: at examples: the model {found} {shown}, which is listed as "
                f"{'accepted' if accepted else 'rejected'}",
                hint="Correct the model, or the example.",
            )
    return subject, labels.remarks


def _unpadded(alphabet: Alphabet, blank: str | None) -> Alphabet:
    """Return the symbols that words are made of: all except the blank, which only pads words."""
    if blank is None or isinstance(alphabet, Valuations):
        return alphabet
    return tuple(symbol for symbol in alphabet if symbol != blank)


def _origin(origin: Origin) -> FormulaFile | None:
    """Return the formula that a model's file names as its source; None if it is no formula."""
    try:
        return ltl_parser.parse_text(origin.text, "compiled.text")
    except HardsimError:
        return None


def stored_text(subject: Subject, hard: bool) -> str:
    """Return the `model.json` of a formula; the `.ahat.json` of hard attention (`hard`) and of any other subject."""
    return store_text(subject) if isinstance(subject, FormulaTarget) and not hard else store_program(subject)


def store_text(subject: FormulaTarget) -> str:
    """Return the `model.json` of a formula: the network, the specification of its heads, the formula, and how it was
    compiled."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "version": __version__,
        "source": {"name": subject.name, "sha256": subject.sha256, "text": format_file(subject.formula)},
        "options": {
            "at": subject.formula.at,
            "beta": str(subject.budget.beta),
            "beta_for_all": subject.budget.fixed,
            "single_head": subject.single_head,
            "counting": subject.counting,
        },
        "model": transformer_json(subject.model),
        "specification": program_json(subject.program),
    }
    return _document(document)


def _document(content: dict[str, Any]) -> str:
    return visible_json(json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def store_program(subject: Subject, schedule: Schedule | None = None, program: Program | None = None) -> str:
    """Return the `.ahat.json` of a subject: hard attention, with the sharpness of its regime if it has one, or as the
    softmax model at a temperature. Raises InputError if a formula's network is another one than the specification
    compiles to."""
    subject.require_specified("the hard-attention model")
    formula, compiled = subject.formula, None
    if formula is not None and schedule is None:
        compiled = Origin(format_file(formula), subject.single_head, subject.counting)
    file = AhatFile(
        program=program or subject.program,
        title=subject.title if formula is None else f"{subject.title} (compiled for regime {subject.regime})",
        predicates=subject.predicates,
        examples=subject.examples if subject.kind == "ahat" or (formula and formula.at == "last") else (),
        temperature=schedule,
        sharpness=subject.budget if subject.one_network and schedule is None else None,
        compiled=compiled,
        blank=subject.blank,
    )
    return _document({"version": __version__} | ahat_json(file))


def read_compiled(document: Reader, path: str, sha256: str) -> tuple[FormulaTarget, tuple[str, ...]]:
    """Return the subject of a `model.json`, with remarks on its labels. Its formula is compiled again only to check
    them. Raises InputError, naming the place inside the document."""
    document.only("format", "schema_version", "version", "source", "options", "model", "specification")
    version = document.field("schema_version").integer(1, SCHEMA_VERSION)
    source, options = document.field("source"), document.field("options")
    source.only("name", "sha256", "text")
    for place, key in ((document, "version"), (source, "name"), (source, "sha256")):
        if place.has(key):
            place.field(key).text()
    file = ltl_parser.parse_text(source.field("text").text(), f"{path} (source)")
    users = own_predicates(file)
    model = _read_network(document.field("model"), users)
    specification = document.field("specification")
    program = read_program(specification, users, not model.normed, model.weighting)
    if specification.has("regime"):
        specification.field("regime").choice(NAMED.__getitem__, ", ".join(NAMED))
    for place, alphabet in ((document.field("model"), model.alphabet), (specification, program.alphabet)):
        if alphabet != file.alphabet:
            raise place.field("alphabet").error(f"the alphabet of the formula, {listed(file.alphabet)}")
    missing = set(program.coordinates) - set(model.coordinates)
    if missing:
        raise document.field("model").field("coordinates").error(f"those of the specification too ({min(missing)})")
    # These belong to hand-written models; the constructions for formulas never make them.
    if model.normed != program.normed:
        raise specification.error("layer norms where the network has them, and only there")
    if model.rounding != program.rounding:
        raise specification.error("the rounding of the network")
    own = program.threshold == (0 if program.normed else None)
    own = own and program.bos == (program.normed or program.rounding is not None)
    if not own or program.outputs or program.reading != "last":
        raise specification.error("the hard attention of a formula, read where its output is 0 or 1")
    _check_heads(document, [[head.name for head in layer.heads] for layer in model.layers])
    single, budget = _read_options(options, file, model, program)
    counting = counting_of(program)
    method = None if counting is None else METHODS[counting]
    labels = relabelled(program, budget.temperature, file, single, method, older=version < SCHEMA_VERSION)
    budget, message = budget_of(labels.program, model, budget)
    made = formula_subject(file, path, sha256, labels.program, OneNetwork(budget, model), single)
    return replace(made, confirmed=labels.compiled and made.specified), (*labels.remarks, *message)


def _read_network(data: Reader, users: Users) -> Transformer:
    """Read the network of a formula. Refuse the features that only other models have."""
    data.only("alphabet", "bos", "coordinates", "embedding", "encodings", "layers", "output", "weighting",
              "temperature", "threshold", "reading", "rounding")  # fmt: skip
    model = read_transformer(data, users)
    data.field("temperature")  # it is 1 by default only where nothing is divided by it
    if data.has("reading") and model.reading != "last":
        raise data.field("reading").error("last, where the network of a formula is read")
    if model.threshold is not None and not model.normed:
        raise data.field("threshold").error("none: the network of a formula outputs exactly 0 or 1")
    if isinstance(model.temperature, LengthTable):
        raise data.field("temperature").error("an expression: the network of a formula has no table of temperatures")
    for layer in data.field("layers").items():
        for head in layer.field("heads").items():
            head.only("name", "mask", "weighting", "w_q", "w_k", "w_v")
            if head.has("weighting") or not data.has("weighting"):
                head.field("weighting").choice({"softmax": "softmax"}.__getitem__, "softmax")
    if model.bos and not model.normed and model.rounding is None:
        raise data.error("the softmax network of a formula, without a beginning of sequence")
    return model


def _read_options(options: Reader, file: FormulaFile, model: Transformer, program: Program) -> tuple[bool, Budget]:
    """Return True if the network was compiled to have at most one head in each layer, and the sharpness. The
    options must agree with the formula and the network."""
    options.only("at", "beta", "beta_for_all", "single_head", "counting")
    if options.field("at").choice({"first": "first", "last": "last"}.__getitem__, "first, last") != file.at:
        raise options.field("at").error(f"{file.at}, where the formula of the source is read")
    single = options.field("single_head").boolean()
    if single and any(len(layer.heads) > 1 for layer in model.layers):
        raise options.field("single_head").error("false, since a layer has several heads")
    beta, fixed = read_beta(options.field("beta")), options.field("beta_for_all").boolean()
    assert not isinstance(model.temperature, LengthTable)  # which _read_network refuses
    budget = Budget(beta, model.temperature, fixed, model.weighting)
    counts = counting_of(program)
    if (options.field("counting").text() if options.has("counting") else None) != counts:
        raise options.field("counting").error(f"{counts or 'null'}, as the heads of the specification count")
    return single, budget


def _check_heads(document: Reader, found: list[list[str]]) -> None:
    """Raise InputError unless the specification lists the heads of the network, layer by layer."""
    layers = document.field("specification").field("layers")
    for index, layer in enumerate(layers.items(len(found))):
        heads = layer.field("heads")
        if [head.field("name").text() for head in heads.items()] != found[index]:
            raise heads.error(f"the heads of the network's layer, {', '.join(found[index]) or 'none'}")
