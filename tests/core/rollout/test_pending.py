"""A batch in a checkpoint is the batch."""

from __future__ import annotations

import json

import attrs
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.checkpoint.state import decode, encode
from limite.core.errors import LimiteError
from limite.core.rollout.pending import packed, unpacked
from limite.core.rollout_kinds import Batch
from limite.core.types import Answer, Group, Problem, Response, Verdict

NATS = st.sampled_from([-200.0, -88.0, -1e-7, -0.1, 0.0, -0.30000001192092896])


@st.composite
def groups(draw, count=2):
    answer = Answer(type="choice", value="A", params={"options": ("A", "B"), "more": [1, (2,)]})
    problem = Problem(
        problem=draw(st.text(max_size=5)),
        answer=answer,
        solutions={"direct": "#A"},
        tags=("easy",),
        meta={"arm": "gcd@0-1"},
        extra={"note": {"x": (1, 2)}},
    )
    responses = []
    for index in range(count):
        length = draw(st.integers(0, 3))
        lists = draw(st.booleans())
        responses.append(
            Response(
                problem_id=problem.id,
                sample_index=index,
                prompt_ids=(1, 2),
                completion_ids=tuple(range(length)),
                logprobs=tuple(draw(NATS) for _ in range(length)),
                finish_reason=draw(st.sampled_from(["eos", "length", "repetition"])),
                completion_budget=3,
                policy_version=draw(st.integers(0, 9)),
                text=draw(st.text(max_size=5)),
                topk_ids=tuple((1, 2) for _ in range(length)) if lists else (),
                topk_logprobs=tuple((-0.5, -1.5) for _ in range(length)) if lists else (),
            )
        )
    return Group(
        problem=problem,
        responses=responses,
        rewards=[draw(st.sampled_from([None, 0.0, 1, -0.25])) for _ in range(count)],
        correct=[draw(st.booleans()) for _ in range(count)],
        verdicts=[Verdict(outcome="wrong", extracted=None, reason="no") for _ in range(count)],
        penalties=draw(st.sampled_from([(), (0.0, -0.5)])),
    )


@given(st.lists(groups(), max_size=3), st.lists(groups(), max_size=2))
def test_a_batch_comes_back_as_it_was_types_included(kept, dropped):
    batch = Batch(groups=kept, dropped=dropped, rounds=3, abandoned=16)
    tensors: dict[str, Tensor] = {}
    plain = encode(packed(batch), tensors=tensors)
    again = unpacked(decode(json.loads(json.dumps(plain)), tensors))
    assert repr(again) == repr(batch)
    assert all(tensor.dtype.itemsize == 4 for name, tensor in tensors.items() if "logp" not in name)
    # As checkpoints held it before there were arrays.
    older = unpacked(decode(json.loads(json.dumps(encode(attrs.asdict(batch))))))
    assert repr(older) == repr(batch)


@pytest.mark.parametrize("name", ["logprobs", "completion_ids_counts", "topk_ids_sizes"])
def test_arrays_that_do_not_fit_the_responses_are_refused(name):
    response = {
        "problem_id": "p",
        "sample_index": 0,
        "finish_reason": "length",
        "completion_budget": 2,
        "policy_version": 0,
        "text": "",
    }
    lists = {"topk_ids": ((1,), (2,)), "topk_logprobs": ((-0.5,), (-0.5,))}
    whole = Response(
        **response, prompt_ids=(1,), completion_ids=(3, 4), logprobs=(-1.0, -0.1), **lists
    )
    problem = Problem(problem="?", answer=Answer(type="integer", value="1"))
    batch = Batch(groups=[Group(problem=problem, responses=[whole], rewards=[1.0], correct=[True])])
    data = packed(batch)
    assert data["columns"]["logprobs"].dtype == torch.float64  # 0.1 is no float32
    unpacked(data)
    data["columns"][name] = data["columns"][name][:-1]
    with pytest.raises(LimiteError, match="the pending batch is damaged"):
        unpacked(data)
    with pytest.raises(LimiteError, match="more responses than there are"):
        unpacked({**packed(batch), "groups": []})


def test_a_damaged_one_is_refused():
    with pytest.raises(LimiteError, match="the pending batch is damaged"):
        unpacked({"groups": [{"problem": {}}], "dropped": []})
