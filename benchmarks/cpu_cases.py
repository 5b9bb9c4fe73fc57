"""The measurements of a CPU, one thread: what is asked of the path most people run first."""

from __future__ import annotations

from benchmarks.cases import Bound, Case, Direction, Sizes

NOT_SLOWER = Bound(what="time", against="plain", at_most=1.0)
FIFTY_TIMES = Bound(what="time", against="plain", at_most=1 / 50)
A_FIFTH_MORE = Bound(what="time", against="plain", at_most=1.2)
A_TENTH_OF_MEMORY = Bound(what="memory", against="plain", at_most=0.1)

TOY = {"heads": 6, "kv_heads": 2, "width": 32}
MIDDLE = {"heads": 10, "kv_heads": 2, "width": 64}
LARGE = {"heads": 10, "kv_heads": 2, "width": 128}
DENSE = {"batch": 16, "tokens": 128, **TOY, "window1": 32, "window2": 8}
HEAD = {"tokens": 4096, "vocabulary": 151_680, "width": 192, "indices": 1, "cap": 1, "entropy": 0}


def _case(
    name: str,
    op: str,
    sizes: Sizes,
    direction: Direction,
    *,
    peers: tuple[str, ...] = ("plain",),
    bounds: tuple[Bound, ...] = (NOT_SLOWER,),
    importance: int = 5,
    expected_s: float = 4.0,
) -> Case:
    return Case(
        name=f"{name} {direction}",
        op=op,
        sizes=sizes,
        direction=direction,
        dtype="float32",
        peers=peers,
        bounds=bounds,
        importance=importance,
        expected_s=expected_s,
    )


def _training(
    name: str,
    op: str,
    sizes: Sizes,
    peers: tuple[str, ...] = ("plain",),
    expected_s: float = 4.0,
) -> tuple[Case, ...]:
    """Once without gradients, as rollouts run, and once with, as training does."""
    return (
        _case(name, op, sizes, "forward", peers=peers, expected_s=expected_s),
        _case(name, op, sizes, "both", peers=peers, expected_s=expected_s),
    )


CASES: tuple[Case, ...] = (
    *_training("cpu norm", "rms_norm", {"rows": 2048, "width": 1280}, ("plain", "torch")),
    *_training("cpu norm toy", "rms_norm", {"rows": 512, "width": 192}, ("plain", "torch")),
    *_training("cpu residual norm", "add_rms_norm", {"rows": 2048, "width": 1280}),
    *_training("cpu residual norm toy", "add_rms_norm", {"rows": 512, "width": 192}),
    *_training(
        "cpu rotary", "qk_norm_rope", {"tokens": 2048, "heads": 12, "width": 128, "pairs": 32}
    ),
    *_training(
        "cpu rotary toy", "qk_norm_rope", {"tokens": 512, "heads": 8, "width": 32, "pairs": 16}
    ),
    *_training("cpu turn", "rope", {"tokens": 2048, "heads": 12, "width": 64, "pairs": 32}),
    *_training("cpu turn toy", "rope", {"tokens": 512, "heads": 8, "width": 32, "pairs": 16}),
    *_training("cpu swiglu", "swiglu", {"rows": 2048, "width": 3328}, ("plain", "torch")),
    *_training("cpu swiglu toy", "swiglu", {"rows": 512, "width": 512}, ("plain", "torch")),
    *_training("cpu head mix", "head_mix", {"tokens": 2048, **LARGE}),
    *_training("cpu head mix toy", "head_mix", {"tokens": 512, **TOY}),
    *_training(
        "cpu attention",
        "attention",
        {"batch": 4, "tokens": 512, **MIDDLE, "window": None},
        ("plain", "sdpa"),
        8,
    ),
    *_training(
        "cpu attention window",
        "attention",
        {"batch": 4, "tokens": 512, **MIDDLE, "window": 129},
        ("plain", "sdpa"),
        8,
    ),
    *_training(
        "cpu attention toy",
        "attention",
        {"batch": 16, "tokens": 128, **TOY, "window": None},
        ("plain", "sdpa"),
    ),
    *_training(
        "cpu attention toy window",
        "attention",
        {"batch": 16, "tokens": 128, **TOY, "window": 33},
        ("plain", "sdpa"),
    ),
    _case(
        "cpu decode",
        "attention_decode",
        {"batch": 8, "cached": 2048, **LARGE, "window": None},
        "forward",
        peers=("plain", "sdpa"),
    ),
    _case(
        "cpu decode toy",
        "attention_decode",
        {"batch": 64, "cached": 128, **TOY, "window": None},
        "forward",
        peers=("plain", "sdpa"),
    ),
    _case(
        "cpu simplicial",
        "simplicial_attention",
        DENSE,
        "forward",
        bounds=(FIFTY_TIMES,),
        importance=9,
        expected_s=30,
    ),
    _case(
        "cpu simplicial",
        "simplicial_attention",
        DENSE,
        "both",
        bounds=(FIFTY_TIMES,),
        importance=8,
        expected_s=90,
    ),
    _case(
        "cpu simplicial decode",
        "simplicial_attention_decode",
        {"batch": 64, **TOY, "window1": 32, "window2": 8},
        "forward",
    ),
    _case(
        "cpu head",
        "indexed_logprob",
        HEAD,
        "both",
        peers=("plain", "materialised"),
        bounds=(A_FIFTH_MORE, A_TENTH_OF_MEMORY),
        importance=9,
        expected_s=150,
    ),
    _case(
        "cpu head",
        "indexed_logprob",
        HEAD,
        "forward",
        peers=("plain", "materialised"),
        bounds=(NOT_SLOWER,),
        importance=8,
        expected_s=60,
    ),
    *_training(
        "cpu head small",
        "indexed_logprob",
        {**HEAD, "vocabulary": 8192},
        ("plain", "materialised", "chunked"),
        20,
    ),
    *_training(
        "cpu head toy",
        "indexed_logprob",
        {**HEAD, "tokens": 1024, "vocabulary": 512, "entropy": 1},
        ("plain", "materialised", "chunked"),
    ),
    *_training("cpu scan", "linear_scan", {"rows": 64, "tokens": 4096}, ("plain", "doubling"), 6),
    *_training(
        "cpu scan long", "linear_scan", {"rows": 8, "tokens": 16_384}, ("plain", "doubling"), 10
    ),
)
