"""The simulated models: what each one is good at, how fast it is and what it would cost.

Prices and windows are invented, and said to be so wherever they are shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

CREATED = 1_750_000_000  # a fixed moment, so that two listings of the models are equal


@dataclass(frozen=True)
class Model:
    """One simulated model. `skill` is the chance that it gets a task right that it can solve at all."""

    id: str
    name: str
    strengths: str
    ttft_ms: int
    rate: float  # tokens per second
    input_usd: str  # per million tokens, as the text that is shown
    output_usd: str
    context_window: int
    skill: float = 1.0
    skills: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))  # where a family differs
    conducts: bool = False
    embeds: bool = False  # it turns texts into vectors, at `rate` tokens read per second, and writes nothing

    def skill_in(self, family: str) -> float:
        return self.skills.get(family, self.skill)

    def card(self) -> dict[str, Any]:
        """The entry of this model in `/v1/models`."""
        return {
            "id": self.id,
            "object": "model",
            "created": CREATED,
            "owned_by": "conductor-studio-simulator",
            "name": self.name,
            "description": self.strengths,
            "context_window": self.context_window,
            "conducts": self.conducts,
            "embeds": self.embeds,
            "simulated": True,
            "pricing": {
                "input_usd": self.input_usd,
                "output_usd": self.output_usd,
                "per_tokens": 1_000_000,
                "simulated": True,
            },
        }


MODELS: Mapping[str, Model] = MappingProxyType(
    {
        model.id: model
        for model in (
            Model(
                id="sim-conductor",
                name="Simulated conductor",
                strengths="writes workflows for other models",
                ttft_ms=300,
                rate=110,
                input_usd="0.20",
                output_usd="0.60",
                context_window=32_768,
                conducts=True,
            ),
            Model(
                id="sim-atlas",
                name="Atlas",
                strengths="strong at everything, slow and dear",
                ttft_ms=500,
                rate=68,
                input_usd="5.00",
                output_usd="15.00",
                context_window=200_000,
            ),
            Model(
                id="sim-birch",
                name="Birch",
                strengths="good at numbers and tables",
                ttft_ms=380,
                rate=80,
                input_usd="1.00",
                output_usd="4.00",
                context_window=128_000,
                skills=MappingProxyType({"countdown": 0.9, "logic": 0.9}),
            ),
            Model(
                id="sim-cedar",
                name="Cedar",
                strengths="fast, good at texts",
                ttft_ms=160,
                rate=120,
                input_usd="0.30",
                output_usd="1.20",
                context_window=64_000,
                skill=0.85,
                skills=MappingProxyType({"countdown": 0.6, "logic": 0.7, "fact": 0.97}),
            ),
            Model(
                id="sim-delta",
                name="Delta",
                strengths="cheap, weak at long sums",
                ttft_ms=220,
                rate=95,
                input_usd="0.05",
                output_usd="0.20",
                context_window=32_768,
                skill=0.6,
                skills=MappingProxyType({"countdown": 0.4, "logic": 0.45, "fact": 0.9, "strings": 0.7}),
            ),
            Model(
                id="sim-embed",
                name="Simulated embedder",
                strengths="turns texts into vectors",
                ttft_ms=30,
                rate=20_000,
                input_usd="0.02",
                output_usd="0.00",
                context_window=32_768,
                embeds=True,
            ),
        )
    }
)
