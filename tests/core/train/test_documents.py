from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.seeds import Seeds
from limite.core.train.documents import batch_indexes, make_documents, pick_style
from limite.core.types import Answer, Problem


@given(
    batch=st.integers(1, 7),
    documents=st.integers(1, 11),
    steps=st.integers(1, 20),
    seed=st.integers(0, 9),
)
def test_every_epoch_reads_every_document_once(batch, documents, steps, seed):
    read = [
        index
        for step in range(steps)
        for index in batch_indexes(step, batch, documents, Seeds(seed))
    ]
    assert len(read) == steps * batch
    for epoch in range(len(read) // documents):
        part = read[epoch * documents : (epoch + 1) * documents]
        assert sorted(part) == list(range(documents))


def problem(number: int) -> Problem:
    return Problem(
        problem=f"{number}+1=?",
        answer=Answer(type="integer", value=str(number + 1)),
        solutions={"direct": f"#{number + 1}", "fine": f"{number}+1={number + 1}#{number + 1}"},
    )


def test_a_style_is_kept_and_follows_the_weights():
    problems = [problem(number) for number in range(400)]
    styles = {"direct": 3.0, "fine": 1.0}
    first = [pick_style(each, styles, Seeds(3)) for each in problems]
    again = [pick_style(each, styles, Seeds(3)) for each in reversed(problems)]
    assert first == again[::-1]
    # 400 draws at 3/4: four standard deviations are 0.087.
    assert abs(first.count("direct") / 400 - 0.75) < 0.087


def test_an_unknown_style_names_the_nearest():
    with pytest.raises(LimiteError, match="did you mean 'fine'"):
        pick_style(problem(1), {"finer": 1.0}, Seeds(1))


def test_documents_hold_prompt_solution_and_end():
    from limite.core.tokenizer import CharacterTokenizer

    tokenizer = CharacterTokenizer()
    (document,) = make_documents([problem(4)], {"fine": 1.0}, tokenizer, Seeds(1))
    assert document.ids[: document.prompt_tokens] == tokenizer.render_prompt(problem(4))
    assert tokenizer.decode(document.ids[document.prompt_tokens : -1]) == "4+1=5#5"
    assert document.ids[-1] == tokenizer.eos_id
