"""A job of ``benchmarks.jobs`` as TRL does it: the program that takes turns with limite's.

It runs in any interpreter that has TRL, and imports nothing of limite. TRL's own defaults hold but
for what the job says, float32, and no recomputation of activations, which only saves memory.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.jobs import ALPHABET, JOBS, Job, prompts_of, reward, tiny
from benchmarks.turns import Turns

turns = Turns()

import torch  # noqa: E402

datasets: Any = importlib.import_module("datasets")
tokenizers: Any = importlib.import_module("tokenizers")
transformers: Any = importlib.import_module("transformers")
trl: Any = importlib.import_module("trl")
for _lazy in ("AutoModelForCausalLM", "AutoTokenizer", "TrainerCallback"):
    getattr(transformers, _lazy)
for _lazy in ("GRPOConfig", "GRPOTrainer"):
    getattr(trl, _lazy)

STEPS = 10_000


class Planned:
    """Has every row end where the plan says, whatever the weights would do."""

    def __init__(self, job: Job, eos: int) -> None:
        self.lengths = torch.tensor(job.lengths)
        self.eos = eos
        self.before = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        position = input_ids.shape[1] - self.before
        if position <= 0 or self.before == 0:
            self.before, position = input_ids.shape[1], 0
        scores[:, self.eos] = torch.where(self.lengths == position + 1, 1e4, -1e4)
        return scores


class OneTurn(transformers.TrainerCallback):  # type: ignore[misc]
    """Reports once all updates of a batch are made."""

    def __init__(self, job: Job, planned: Planned | None) -> None:
        self.job, self.planned = job, planned

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step % self.job.updates == 0:
            turns.done(updates=self.job.updates)
            if self.planned is not None:
                self.planned.before = 0


def tokenizer_of(job: Job, directory: Path) -> Any:
    """An id for every character, as limite's has them; or the model's own."""
    if job.pretrained:
        return transformers.AutoTokenizer.from_pretrained(directory)
    names = ["<pad>", "<bos>", "<eos>", *ALPHABET]
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({name: i for i, name in enumerate(names)}, "<pad>")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex("."), "isolated")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", bos_token="<bos>", eos_token="<eos>"
    )


def questions(job: Job) -> Iterator[dict[str, str]]:
    for step in range(200):
        for question in prompts_of(job, step):
            yield {"prompt": question}


def main(arguments: list[str]) -> None:
    name, directory, small = arguments
    job = tiny(JOBS[name]) if small == "tiny" else JOBS[name]
    turns.imported()
    torch.set_num_threads(1)

    def rewards(completions: list[str], **_: Any) -> list[float]:
        flat = turns.asked.get("flat", 0)
        return [reward(job, row, flat) for row in range(len(completions))]

    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    tokenizer = tokenizer_of(job, Path(directory))
    planned = Planned(job, tokenizer.eos_token_id) if job.lengths else None
    fixed = None if job.lengths else {"min_new_tokens": job.tokens}
    if planned is not None:
        whole = model._get_logits_processor

        def with_plan(*given: Any, **named: Any) -> Any:
            found = whole(*given, **named)
            found.append(planned)
            return found

        model._get_logits_processor = with_plan
    with tempfile.TemporaryDirectory() as folder:
        trainer = trl.GRPOTrainer(
            model=model,
            reward_funcs=rewards,
            processing_class=tokenizer,
            train_dataset=datasets.Dataset.from_list(list(questions(job))),
            args=trl.GRPOConfig(
                output_dir=folder,
                per_device_train_batch_size=job.rows // job.updates,
                steps_per_generation=job.updates,
                num_generations=job.rollouts,
                max_completion_length=job.most_tokens,
                generation_kwargs=fixed,
                learning_rate=1e-6,
                lr_scheduler_type="constant",
                loss_type="dapo",
                scale_rewards="group",
                max_steps=STEPS,
                logging_steps=1,
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                use_cpu=True,
                bf16=False,
                gradient_checkpointing=False,
                shuffle_dataset=False,
            ),
            callbacks=[OneTurn(job, planned)],
        )
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.train()


if __name__ == "__main__":
    main(sys.argv[1:])
