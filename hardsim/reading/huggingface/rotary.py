"""The settings of rotary positions, as transformers 5 (`rope_parameters`) and 4 (`rope_theta`, `rope_scaling`) write
them.

Source: transformers, `modeling_rope_utils.py`. Two kinds of scaling change with the length of the text: `dynamic`
beyond `max_position_embeddings`, and `longrope` beyond the original length. Networks with these are read for texts up
to there, and longer texts are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from fractions import Fraction
from types import MappingProxyType

from hardsim.errors import InputError
from hardsim.lazy_dataclass import dataclass
from hardsim.network.blocks import Rotary
from hardsim.network.reader import Reader, shown
from hardsim.network.rotary_scaling import Llama3Scaling, LongScaling, RotaryScaling, YarnScaling
from hardsim.reading.tensors import Settings

THETA = Fraction(10_000)
"""The default base of rotary positions."""
ALL = Fraction(1)
NO_NAMES: Mapping[str, str] = MappingProxyType({})
FAST, SLOW = Fraction(32), Fraction(1)
"""The default turns at the ends of YaRN's ramp."""
TYPES = "default", "linear", "dynamic", "yarn", "longrope", "llama3"
OTHERS = "Other frequencies (proportional, mrope, axial) are not supported. Write the network as network JSON."
FULL, SLIDING = "full_attention", "sliding_attention"
"""The kinds of layers, which may have settings of their own."""


@dataclass(frozen=True)
class RotaryNames:
    """Where a family states its rotary positions outside `rope_parameters`, and its defaults."""

    theta: Fraction | None = THETA
    """The default base; None if it must be stated."""
    part: Fraction = ALL
    """The default share of the coordinates of a key that are turned."""
    others: Mapping[str, str] = field(default_factory=dict)
    """Other names of `rope_theta` and `partial_rotary_factor` outside `rope_parameters`."""
    whole: bool = False
    """True if all coordinates of a key must be turned: for a part, the library fails, or turns all of them."""
    scaled: bool = True
    """False if `rope_scaling` is not about these layers."""
    shared: bool = True
    """False if outside `rope_parameters` the other names alone count for these layers."""


def read_rotary(settings: Settings, key: int, names: RotaryNames, layers: str | None = None) -> Rotary | None:
    """Return the rotary positions of keys of width `key`, with pairs of coordinates half of the turned part apart; None
    if no coordinate is turned.

    `layers` names the kind of layers, in families whose `rope_parameters` have an object for each kind. Raises
    InputError for settings that are wrong or not supported."""
    found = _RotarySettings(settings, key, names, layers)
    rotary = found.rotary()
    if found.inside is not None and found.inside.taken is not settings.taken:
        for name, taken in found.inside.taken.items():
            settings.taken[f"{layers}.{name}"] = replace(taken, name=f"{layers}.{name}")
    return rotary


class _RotarySettings:
    """The settings of one kind of layers: those in `rope_parameters` or `rope_scaling`, then those outside."""

    def __init__(self, settings: Settings, key: int, names: RotaryNames, layers: str | None) -> None:
        self.settings, self.key, self.names, self.layers = settings, key, names, layers
        self.inside = self._inside(layers)

    def _inside(self, layers: str | None) -> Settings | None:
        settings = self.settings
        if settings.has("rope_parameters"):
            settings.neutral("rope_scaling")
            found = settings.part("rope_parameters")
            if layers is None:
                return found
            if not {FULL, SLIDING} & found.document.value.keys():
                raise settings.at("rope_parameters").error(f"an object with {FULL} and {SLIDING}")
            found.harmless(FULL, SLIDING)
            found.done()
            # The two kinds of layers have settings of the same names.
            return replace(found.part(layers), taken={}) if found.has(layers) else None
        stated = self.names.scaled and settings.has("rope_scaling")
        return settings.part("rope_scaling") if stated else None

    def rotary(self) -> Rotary | None:
        """Return the rotary positions."""
        names, settings = self.names.others, self.settings
        base = self._number("rope_theta", self.names.theta)
        share = self._number("partial_rotary_factor", self.names.part)
        # The library multiplies floats.
        size = int(self.key * float(share))
        if not 0 <= size <= self.key or size % 2:
            message = f"a share that turns an even number of the {self.key} coordinates of a key"
            raise self._place("partial_rotary_factor").error(message)
        if self.names.whole and size < self.key:
            inside = self.inside
            place = inside if inside is not None and inside.has("partial_rotary_factor") else settings
            message = "1, since networks of this family turn all coordinates of a key"
            raise place.at("partial_rotary_factor").error(message)
        scaling, divisor, longest = self._scaled(size)
        if base <= 0 or divisor <= 0:
            place = self.inside if self.inside is not None and self.inside.has("rope_theta") else settings
            raise place.at(names.get("rope_theta", "rope_theta")).error("a base and a factor above 0")
        if not size:
            return None
        rotary = Rotary(base, size, False, divisor, scaling, longest)
        try:
            _ = rotary.frequencies
        except (InputError, ArithmeticError) as error:
            message = error.message if isinstance(error, InputError) else "frequencies that cannot be computed"
            raise settings.document.refusal(f"{message}", "Correct the settings of rotary positions.") from None
        return rotary

    def _place(self, name: str) -> Reader:
        """Return the place of a setting that is stated inside or outside, under one of its names."""
        if self.inside is not None and self.inside.has(name):
            return self.inside.at(name)
        own = self.names.others.get(name, name)
        return self.settings.at(name if self.settings.has(name) else own)

    def _number(self, name: str, default: Fraction | None) -> Fraction:
        """Return a number that is stated inside or outside. Raises InputError if two statements differ."""
        settings, inside, own = self.settings, self.inside, self.names.others.get(name, name)
        outside = [one for one in dict.fromkeys((name, own) if self.names.shared else (own,)) if settings.has(one)]
        if inside is not None and inside.has(name):
            found = inside.number(name)
        else:
            found = settings.number(outside[0] if outside else own, default)
        if other := next((one for one in outside if settings.at(one).number() != found), None):
            raise settings.at(other).error(f"the same number as the other {name}, {shown(found)}")
        return found

    def _scaled(self, size: int) -> tuple[RotaryScaling | None, Fraction, int | None]:
        """Return the scaling, the number that all frequencies are divided by, and the greatest length."""
        inside = self.inside
        if inside is None:
            return None, Fraction(1), None
        name = "rope_type" if inside.has("rope_type") else "type"
        inside.examples = {name: OTHERS}
        kind = inside.choice(name, {one: one for one in TYPES}, "default")
        scaling: RotaryScaling | None = None
        divisor, longest = Fraction(1), None
        match kind:
            case "linear":
                divisor = inside.number("factor")
            case "dynamic":
                inside.number("factor")
                longest = self._most()
            case "llama3":
                scaling = self._llama3(inside)
            case "yarn":
                scaling = self._yarn(inside)
            case "longrope":
                scaling, longest = self._longrope(inside, size // 2), self._original(inside)
        if longest is not None:
            remark = f"{kind} changes the rotary positions of texts of more than {longest} tokens: these are refused"
            self.settings.remarks.append(remark)
        inside.harmless("original_max_position_embeddings", "rope_type", "type")
        inside.done()
        return scaling, divisor, longest

    def _llama3(self, inside: Settings) -> Llama3Scaling:
        factor, low, high = (_positive(inside, key) for key in ("factor", "low_freq_factor", "high_freq_factor"))
        if low >= high:
            raise inside.at("low_freq_factor").error(f"a number below high_freq_factor, {shown(high)}")
        return Llama3Scaling(factor, low, high, self._original(inside))

    def _yarn(self, inside: Settings) -> YarnScaling:
        length = self._original(inside)
        fast = _positive(inside, "beta_fast", FAST)
        slow = _positive(inside, "beta_slow", SLOW)
        truncate = inside.truth("truncate", True)
        if self.layers is not None and self.settings.has("rope_parameters"):
            # The library looks for it in `rope_parameters`, outside the object of these layers.
            inside.neutral("truncate", True)
        stated = _positive(inside, "attention_factor") if inside.has("attention_factor") else None
        weights = Fraction(1), Fraction(0)
        if inside.has("mscale") and inside.has("mscale_all_dim"):
            weights = _positive(inside, "mscale"), _positive(inside, "mscale_all_dim")
        # With one of the two alone, the library takes neither.
        inside.harmless("mscale", "mscale_all_dim")
        return YarnScaling(self._factor(inside, length), fast, slow, length, truncate, stated, weights)

    def _longrope(self, inside: Settings, pairs: int) -> LongScaling:
        length = self._original(inside)
        if length < 2:
            raise inside.at("original_max_position_embeddings").error("a length from 2 on")
        place, listed = inside.at("short_factor"), inside.value("short_factor")
        found = [Fraction(one.number()) for one in place.items(pairs)] if isinstance(listed, list) else []
        if len(found) != pairs or min(found, default=Fraction(1)) <= 0:
            raise place.error(f"an array of {pairs} numbers above 0")
        inside.take("short_factor", f"{pairs} numbers")
        inside.harmless("long_factor")
        stated = _positive(inside, "attention_factor") if inside.has("attention_factor") else None
        return LongScaling(tuple(found), self._factor(inside, length), length, stated)

    def _most(self) -> int:
        return self.settings.integer("max_position_embeddings")

    def _original(self, inside: Settings) -> int:
        """Return the length of the texts that the network was first trained on."""
        name = "original_max_position_embeddings"
        if self.settings.has(name):
            return self.settings.integer(name)
        return inside.integer(name) if inside.has(name) else self._most()

    def _factor(self, inside: Settings, length: int) -> Fraction:
        """Return the factor of lengths. Versions of the library differ where it is stated beside two lengths."""
        if not inside.has("factor"):
            return Fraction(self._most(), length)
        found = _positive(inside, "factor")
        most = self.settings.value("max_position_embeddings")
        if isinstance(most, int) and most not in (length, found * length):
            self.settings.remarks.append(
                f"the factor of rotary positions is {shown(found)}, as stated: transformers 4 took "
                f"max_position_embeddings divided by the original length, {shown(Fraction(most, length))}"
            )
        return found


def _positive(settings: Settings, key: str, default: Fraction | None = None) -> Fraction:
    found = settings.number(key, default)
    if found <= 0:
        raise settings.at(key).error("a number above 0")
    return found
