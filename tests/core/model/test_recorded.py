"""Steps that are played from a recording are the steps that were recorded, bit for bit."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from limite.core.kernels import dispatch
from limite.core.kernels.layout import Layout
from limite.core.model import recorded
from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.resolve import attention_component
from limite.core.model.spec import ModelSpec
from limite.core.model.tape import Tape, record

ROWS, CONTEXT = 32, 160


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many steps were played, in the only element."""
    count = [0]
    play = Tape.play

    def counted(self: Tape, *inputs: Tensor) -> Tensor:
        count[0] += 1
        return play(self, *inputs)

    monkeypatch.setattr(Tape, "play", counted)
    return count


def llama(**more: object) -> Decoder:
    spec = LlamaSpec(layers=2, vocabulary=61, context=CONTEXT, **more)  # type: ignore[arg-type]
    return build_decoder(spec.filled(), 1)


def limite() -> Decoder:
    return build_decoder(ModelSpec(layers=3, vocabulary=61, context=CONTEXT).filled(), 1)


def windows() -> Decoder:
    local = attention_component({"type": "local", "window": 24, "rotary": True})
    return llama(attention=local, query_key_norm=True, query_key_value_bias=True, output_bias=True)


@torch.inference_mode()
def decoded(decoder: Decoder, steps: int, prompts: list[int] | None = None) -> list[Tensor]:
    """Hidden states of every step; half of the rows leave on the way, and others return."""
    lengths = [5 + row % 7 for row in range(ROWS)] if prompts is None else prompts
    stream = torch.Generator().manual_seed(1)
    cache = decoder.new_cache(len(lengths), CONTEXT)
    first = torch.randint(0, 61, (sum(lengths),), generator=stream)
    decoder.extend(first, Layout.from_lengths(lengths, "cpu"), cache)
    found = []
    for number in range(steps):
        if number == steps // 2:
            cache = cache.select([*range(0, ROWS, 2), *range(ROWS // 2)])
        tokens = torch.randint(0, 61, (cache.rows,), generator=stream)
        found.append(decoder.step(tokens, cache))
    return found


@pytest.mark.parametrize("make", [llama, windows, limite])
def test_played_steps_are_the_steps(
    make: Callable[[], Decoder], played: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Across the ends of tiles, through rings, and after rows were taken out."""
    decoder = make()
    found = decoded(decoder, 140)
    again = decoded(decoder, 140)
    assert played[0] > 200
    monkeypatch.setattr(recorded, "LIVE", 10**9)
    recorded._KINDS.clear()
    played[0] = 0
    plain = decoded(decoder, 140)
    assert not played[0]
    assert all(torch.equal(a, b) for a, b in zip(plain, found, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(plain, again, strict=True))


def test_weights_that_changed_are_read(played: list[int]) -> None:
    decoder, other = llama(), llama()
    decoded(decoder, 12)
    with torch.no_grad():
        for mine, theirs in zip(decoder.parameters(), other.parameters(), strict=True):
            mine.mul_(1.25)
            theirs.mul_(1.25)
    before = played[0]
    found = decoded(decoder, 12)
    assert played[0] > before
    assert all(torch.equal(a, b) for a, b in zip(decoded(other, 12), found, strict=True))


def test_weights_that_are_elsewhere_are_read(played: list[int]) -> None:
    decoder = llama()
    plain = decoded(decoder, 12)
    for each in decoder.parameters():
        each.data = each.data.clone()
    found = decoded(decoder, 12)
    assert played[0]
    assert all(torch.equal(a, b) for a, b in zip(plain, found, strict=True))


def test_a_forced_implementation_has_steps_of_its_own(played: list[int]) -> None:
    decoder = llama()
    decoded(decoder, 12)
    plain = decoded(decoder, 4)
    before = played[0]
    with dispatch.use("reference"):
        forced = decoded(decoder, 4)
    assert played[0] == before
    assert not torch.equal(plain[3], forced[3])
    torch.testing.assert_close(plain[3], forced[3])


@torch.inference_mode()
def test_kernels_may_change_between_steps_of_one_cache(played: list[int]) -> None:
    """Those of C decide nothing beforehand; those that follow decide by tiles."""

    def steps(decoder: Decoder) -> list[Tensor]:
        cache = decoder.new_cache(4, CONTEXT)
        tokens = torch.arange(4)
        decoder.extend(tokens.repeat_interleave(8), Layout.from_lengths([8] * 4, "cpu"), cache)
        found = [decoder.step(tokens, cache) for _ in range(40)]
        with dispatch.use("cpu"):
            found += [decoder.step(tokens, cache) for _ in range(40)]
        return found + [decoder.step(tokens, cache) for _ in range(40)]

    decoder = llama()
    found = steps(decoder)
    assert played[0] > 80
    recorded._KINDS.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded, "LIVE", 10**9)
        plain = steps(decoder)
    assert all(torch.equal(a, b) for a, b in zip(plain, found, strict=True))


def test_what_a_step_gave_stays(played: list[int]) -> None:
    """A later step writes to the same memory, but not to what was handed out."""
    decoder = llama()
    decoded(decoder, 12)
    found = decoded(decoder, 8)
    kept = [each.clone() for each in found]
    decoded(decoder, 8)
    assert all(torch.equal(a, b) for a, b in zip(found, kept, strict=True))
    assert len({each.data_ptr() for each in found}) == len(found)


X = torch.linspace(-1, 1, 64).reshape(8, 8)


def functions() -> Iterator[tuple[str, object, bool]]:
    state = torch.zeros(8, 8)
    yield "arithmetic", lambda x: (x.mm(x) * 2 + x.exp()).mul_(x), True
    yield "views", lambda x: torch.cat((x[:4].t().reshape(8, 4), x[4:].t()), 1) + 1, True
    yield "one memory after the other", lambda x: (((x * 2) * 3) * 4) * 5, True
    yield "what stays outside", lambda x: state.add_(x) * 1, True
    yield "a question on the host", lambda x: x * 2 if bool(x.sum() > 0) else x * 3, False
    yield "a number from the host", lambda x: x * float(x.max()), False
    yield "chance", lambda x: x * torch.rand(8, 8), False
    yield "a constant that is written", lambda x: torch.zeros(8, 8).add_(x) + 1, False
    yield "an operator that is not known", lambda x: x.flip(0) + 1, False


CASES = list(functions())


@pytest.mark.parametrize(("name", "function", "possible"), CASES, ids=[each[0] for each in CASES])
def test_a_recording_holds_what_it_can(name: str, function: object, possible: bool) -> None:
    assert callable(function)
    with torch.inference_mode():
        first, recording = record(function, (X,), ())
        assert (recording is not None) == possible
        if name == "what stays outside":
            assert torch.equal(first, X)
            return
        if recording is not None:
            assert torch.equal(first, function(X))
            tape = recording.tape(())
            assert tape is not None
            for other in (X * 2, X - 3):
                assert torch.equal(tape.play(other), function(other))


def test_memory_is_used_again_but_not_while_it_is_read() -> None:
    with torch.inference_mode():
        _, recording = record(lambda x: ((x * 2) * 3) * 4 + x, (X,), ())
        assert recording is not None
        assert len(recording.bytes) == 2


def test_a_tape_wants_tensors_that_lie_alike() -> None:
    with torch.inference_mode():
        weight = torch.ones(8, 8)
        _, recording = record(lambda x: x.mm(weight), (X,), (weight,))
        assert recording is not None
        assert recording.tape((torch.ones(8, 8).t()[:4],)) is None
        tape = recording.tape((2 * weight,))
        assert tape is not None
        assert torch.equal(tape.play(X), X.mm(2 * weight))


def test_an_update_of_scales_is_followed(
    played: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step is given residual scales as numbers, which a recording holds as they were."""
    decoder, other = limite(), limite()
    decoded(decoder, 12)
    decoded(decoder, 12)
    assert played[0] > 0
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.add_(0.1)
    other.load_state_dict(decoder.state_dict())
    before = played[0]
    decoded(decoder, 12)
    after = decoded(decoder, 12)
    assert played[0] > before
    monkeypatch.setattr(recorded, "LIVE", 10**9)
    for found, wanted in zip(after, decoded(other, 12), strict=True):
        assert torch.equal(found, wanted)


def test_no_weights_are_left_for_the_collector() -> None:
    """What a recording or a tape holds goes with it: a cycle would keep weights and caches."""
    decoder = llama()
    gc.collect()
    gc.disable()
    try:
        decoded(decoder, 12)
        decoded(decoder, 12)
        recorded._KINDS.clear()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kinds = (Tensor, torch.nn.Parameter, torch.UntypedStorage)
        # Not those of a compiler that was used before in this process.
        held = [each for each in gc.garbage if type(each) in kinds]
        assert not held
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
