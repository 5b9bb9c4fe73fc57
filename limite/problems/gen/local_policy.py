"""A model's directory, or what a run has trained, as a policy that answers problems."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from limite.core.checkpoint.manifest import check_sizes
from limite.core.cli.model_place import found_model
from limite.core.errors import LimiteError
from limite.core.jsonl import dumps
from limite.core.kinds import Verifier
from limite.core.tokenizer import Tokenizer
from limite.core.types import Answer, Problem
from limite.problems.gen.output import file_hash
from limite.problems.gen.policies import INSTRUCTION, Reply, asked

if TYPE_CHECKING:
    from limite.core.recipe.sample import Speaker
    from limite.core.rollout.sampler import Sampler

ROWS = 1024
"""The responses that are sampled together."""


class LocalPolicy:
    """Samples here. What it says depends on weights, problem, sample number and seed alone."""

    at_once = ROWS

    def __init__(
        self,
        model: Path,
        *,
        option: str,
        stage: str | None,
        seed: int,
        temperature: float,
        max_tokens: int,
        instruction: str | None,
    ) -> None:
        try:
            path, is_run = found_model(model)
        except LimiteError as error:
            raise LimiteError(f"{option}: {error}") from error
        # Late: they need torch.
        from limite.core.recipe.sample import speaker_in, speaker_of
        from limite.core.recipe.trained import trained

        self.verifier: Verifier | str | None = None
        if is_run:
            found = trained(path, stage)
            check_sizes(found.checkpoint)
            self._speaker: Speaker = speaker_of(found)
            self.name = f"{path.name}/{found.stage}@{found.step}:{weights_hash(found.checkpoint)}"
            judges = [getattr(each, "verifier", None) for each in found.recipe.stages.values()]
            self.verifier = next((each for each in reversed(judges) if each is not None), None)
        elif stage is not None:
            raise LimiteError(f"--stage: {path} is a model's directory, which has no stages")
        else:
            self._speaker = speaker_in(path)
            self.name = f"{path.resolve().name}:{weights_hash(path)}"
        if instruction is None:
            instruction = "" if is_run else INSTRUCTION  # a run is asked as it was trained
        check_instruction(self._speaker.tokenizer, instruction)
        self.record: Mapping[str, Any] = {
            "policy": self.name,
            "seed": seed,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "instruction": instruction,
        }
        self._sampler: Sampler | None = None

    @property
    def notes(self) -> Sequence[str]:
        """What somebody who asks this model should know."""
        return self._speaker.notes

    def answer(self, problems: Sequence[Problem], samples: int) -> list[list[Reply]]:
        """``samples`` replies to each problem; one that does not fit the model has none."""
        import torch

        from limite.core.device import deterministic
        from limite.core.rollout_kinds import Request

        replies: list[list[Reply]] = []
        requests, owners = [], []
        for place, problem in enumerate(problems):
            try:
                prompt, budget = self._prompt(problem)
            except LimiteError as error:
                replies.append([Reply(failure=str(error))] * samples)
                continue
            replies.append([Reply()] * samples)
            for number in range(samples):
                owners.append((place, number))
                requests.append(
                    Request(
                        problem=problem,
                        sample_index=number,
                        prompt_ids=prompt,
                        budget_tokens=budget,
                    )
                )
        with deterministic(torch.get_num_threads()):
            for index, response in self._asked().generate(requests, 0):
                place, number = owners[index]
                replies[place][number] = Reply(text=response.text)
        return replies

    def reads(self, text: str) -> None:
        """Raises LimiteError where it cannot read a question, or has no room to answer it."""
        self._prompt(Problem(problem=text, answer=Answer(type="integer", value="0")))

    def _prompt(self, problem: Problem) -> tuple[tuple[int, ...], int]:
        """What the model reads, and how many tokens a response may have."""
        text = asked(problem, self.record["instruction"])
        prompt = self._speaker.tokenizer.render_prompt(attrs.evolve(problem, problem=text))
        room = self._speaker.spec.context - len(prompt)
        if room < 1:
            raise LimiteError(
                f"its {len(prompt):,} tokens leave no room in a context of "
                f"{self._speaker.spec.context:,}"
            )
        return prompt, min(self.record["max_tokens"], room)

    def _asked(self) -> Sampler:
        if self._sampler is None:
            from limite.core.device import choose_device
            from limite.core.rollout.sampler import LIKELIEST, Sampler

            tokenizer = self._speaker.tokenizer
            self._sampler = Sampler(
                self._speaker.decoder(choose_device()),
                tokenizer,
                seed=self.record["seed"],
                eos_ids=(tokenizer.eos_id, *tokenizer.eos_ids),
                temperature=max(self.record["temperature"], LIKELIEST),
                slots=ROWS,
            )
        return self._sampler

    def close(self) -> None:
        """Lets go of the weights."""
        self._sampler = None


def check_instruction(tokenizer: Tokenizer, instruction: str) -> None:
    """Refuses what stands behind each question where the vocabulary cannot write it."""
    try:
        tokenizer.encode(instruction)
    except LimiteError as error:
        raise LimiteError(
            f'--instruction: {error}, and "{instruction}" stands behind each question; '
            "--instruction '' asks without it"
        ) from error


def weights_hash(folder: Path) -> str:
    """The same for the same weights and the same tokenizer, wherever the folder lies."""
    names = sorted(
        path.name
        for path in folder.iterdir()
        if path.is_file() and path.suffix in (".json", ".jinja", ".safetensors", ".model", ".txt")
    )
    listed = dumps([[name, file_hash(folder / name)] for name in names])
    return hashlib.sha256(listed.encode()).hexdigest()[:16]
