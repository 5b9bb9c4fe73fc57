"""The measurements of a GPU: Limite's shapes, with the first targets set for an H200."""

from __future__ import annotations

from typing import Any

from benchmarks.cases import BEST, TARGET, Bound, Case, Direction, Sizes

NEVER_SLOWER = Bound(what="time", against=BEST, at_most=1.0)
NEAR_TARGET = Bound(what="time", against=TARGET, at_most=1.5)

TARGET_DEVICE = "H200"
"""Target times hold for devices with this in their name."""

SDPA = ("sdpa flash", "sdpa cudnn", "sdpa efficient")
HEADS = {"heads": 10, "kv_heads": 2, "width": 128}
ROWS = {"rows": 65_536, "width": 1280}
HIDDEN = {"rows": 65_536, "width": 3328}
LONG = {"batch": 8, "tokens": 8192, **HEADS, "window": None}
LOCAL = {"batch": 8, "tokens": 8192, **HEADS, "window": 1025}
PAIRS = {"batch": 1, "tokens": 8192, **HEADS, "window1": 512, "window2": 32}
HEAD = {"tokens": 16_384, "vocabulary": 151_680, "width": 1280}
TARGET_TOKEN = {**HEAD, "indices": 1, "cap": 1, "entropy": 0}
TEACHER = {**HEAD, "indices": 32, "cap": 1, "entropy": 1}


def _case(
    name: str,
    op: str,
    sizes: Sizes,
    direction: Direction,
    peers: tuple[str, ...],
    **rest: Any,
) -> Case:
    bounds: tuple[Bound, ...] = (NEVER_SLOWER,) if peers else ()
    if "target_ms" in rest:
        bounds += (NEAR_TARGET,)
    return Case(
        name=f"{name} {direction}",
        op=op,
        sizes=sizes,
        direction=direction,
        peers=peers,
        bounds=bounds,
        **rest,
    )


NORM_PEERS = ("plain", "compiled", "torch")
PLAIN_PEERS = ("plain", "compiled")

CASES: tuple[Case, ...] = (
    _case("norm", "rms_norm", ROWS, "forward", NORM_PEERS, target_ms=0.10, importance=8),
    _case("norm", "rms_norm", ROWS, "backward", NORM_PEERS, target_ms=0.16, importance=8),
    _case("residual norm", "add_rms_norm", ROWS, "forward", PLAIN_PEERS, importance=4),
    _case("residual norm", "add_rms_norm", ROWS, "backward", PLAIN_PEERS, importance=4),
    _case(
        "rotary",
        "qk_norm_rope",
        {"tokens": 65_536, "heads": 12, "width": 128, "pairs": 32},
        "forward",
        PLAIN_PEERS,
        target_ms=0.13,
        importance=8,
    ),
    _case(
        "rotary",
        "qk_norm_rope",
        {"tokens": 65_536, "heads": 12, "width": 128, "pairs": 32},
        "backward",
        PLAIN_PEERS,
        importance=6,
    ),
    _case(
        "turn",
        "rope",
        {"tokens": 65_536, "heads": 12, "width": 128, "pairs": 64},
        "forward",
        PLAIN_PEERS,
        importance=5,
    ),
    _case("swiglu", "swiglu", HIDDEN, "forward", NORM_PEERS, target_ms=0.36, importance=8),
    _case("swiglu", "swiglu", HIDDEN, "backward", NORM_PEERS, target_ms=0.62, importance=8),
    _case(
        "head mix", "head_mix", {"tokens": 65_536, **HEADS}, "forward", PLAIN_PEERS, importance=3
    ),
    _case(
        "head mix", "head_mix", {"tokens": 65_536, **HEADS}, "backward", PLAIN_PEERS, importance=3
    ),
    _case(
        "attention", "attention", LONG, "forward", SDPA, target_ms=3.9, importance=9, expected_s=6
    ),
    _case(
        "attention", "attention", LONG, "backward", SDPA, target_ms=12, importance=9, expected_s=8
    ),
    _case(
        "attention window",
        "attention",
        LOCAL,
        "forward",
        ("flex",),
        target_ms=1.1,
        importance=9,
        expected_s=12,
    ),
    _case(
        "attention window",
        "attention",
        LOCAL,
        "backward",
        ("flex",),
        target_ms=3.5,
        importance=9,
        expected_s=12,
    ),
    _case(
        "attention long",
        "attention",
        {**LONG, "batch": 1, "tokens": 131_072},
        "forward",
        SDPA,
        target_ms=130,
        importance=5,
        expected_s=8,
    ),
    _case(
        "simplicial",
        "simplicial_attention",
        PAIRS,
        "forward",
        ("windows",),
        target_ms=4,
        importance=9,
        expected_s=10,
    ),
    _case(
        "simplicial",
        "simplicial_attention",
        PAIRS,
        "backward",
        ("windows",),
        target_ms=25,
        importance=9,
        expected_s=15,
    ),
    _case(
        "simplicial short",
        "simplicial_attention",
        {**PAIRS, "tokens": 256, "window1": 128},
        "both",
        ("compiled", "plain"),
        importance=4,
        expected_s=8,
    ),
    _case(
        "head",
        "indexed_logprob",
        TARGET_TOKEN,
        "forward",
        ("materialised", "chunked"),
        target_ms=14,
        importance=9,
        expected_s=8,
    ),
    _case(
        "head",
        "indexed_logprob",
        TARGET_TOKEN,
        "both",
        ("materialised", "chunked"),
        target_ms=60,
        importance=9,
        expected_s=12,
    ),
    _case(
        "head of a teacher",
        "indexed_logprob",
        TEACHER,
        "both",
        ("materialised", "chunked"),
        importance=5,
        expected_s=12,
    ),
    _case(
        "decode",
        "attention_decode",
        {"batch": 64, "cached": 32_768, **HEADS, "window": None},
        "forward",
        SDPA,
        target_ms=0.65,
        importance=8,
    ),
    _case(
        "decode ring",
        "attention_decode",
        {"batch": 64, "cached": 1025, **HEADS, "window": 1025},
        "forward",
        SDPA,
        importance=4,
    ),
    _case(
        "simplicial decode",
        "simplicial_attention_decode",
        {"batch": 64, **HEADS, "window1": 512, "window2": 32},
        "forward",
        ("cpu",),
        importance=4,
    ),
    _case(
        "scan",
        "linear_scan",
        {"rows": 5632, "tokens": 16_384},
        "forward",
        ("doubling",),
        dtype="float32",
        target_ms=0.35,
        importance=8,
    ),
    _case(
        "scan",
        "linear_scan",
        {"rows": 5632, "tokens": 16_384},
        "backward",
        ("doubling",),
        dtype="float32",
        importance=3,
    ),
)
