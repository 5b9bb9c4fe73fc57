"""Responses of an evaluation, token by token: what each says of itself, and its budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from limite.core.errors import LimiteError
from limite.core.recipe.context import model_of
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.verify.again import short, token_faults
from limite.core.rollout.budget import check_response, completion_budget
from limite.core.types import Response


def measured_faults(
    line: Mapping[str, Any], protocol: Mapping[str, Any], recipe: Recipe | None
) -> Iterator[str]:
    """What the tokens of a record do not bear out: length, ending, budget, text.

    The text and the budget need the recipe, for its tokenizer and the context of its model.
    """
    ids, reason = line["completion_ids"], line["finish_reason"]
    if line["generated_tokens"] != len(ids):
        yield f"'generated_tokens' is {line['generated_tokens']}, and it has {len(ids)} token ids"
    response = Response(
        problem_id=line["problem_id"],
        sample_index=line["sample_index"],
        prompt_ids=(0,) * line["prompt_tokens"],  # an evaluation keeps how many there were
        completion_ids=ids,
        logprobs=(0.0,) * len(ids),
        finish_reason=reason,
        completion_budget=line["completion_budget"],
        policy_version=0,
        text=line["text"],
    )
    context = model_of(recipe).context if recipe is not None else None
    if reason == "stop":
        # A profile's stop cuts tokens and text, each where it can be: it may use up the budget.
        if len(ids) > response.completion_budget:
            yield f"{len(ids)} tokens exceed its budget of {response.completion_budget}"
        if recipe is not None and not recipe.tokenizer.decode(ids).startswith(line["text"]):
            yield f"its text is {short(line['text'])}, and its tokens do not begin with it"
    else:
        try:
            check_response(response, eos_ids=protocol["eos_ids"], context=context)
        except LimiteError as error:
            yield str(error)
        if recipe is not None:
            yield from token_faults(response, recipe.tokenizer)
    if context is not None:
        try:
            wanted = completion_budget(
                protocol["budget"],
                prompt_tokens=line["prompt_tokens"],
                max_tokens=protocol["max_tokens"],
                context=context,
            )
        except LimiteError as error:
            yield str(error)
            return
        if line["completion_budget"] != wanted:
            yield f"its budget is {line['completion_budget']} tokens, and its stage gives {wanted}"
