"""The smallest recipe that trains something, in parts, for tests that need a run of any kind."""

from __future__ import annotations


def sizes(layers: int = 1) -> str:
    """The fields of a model of some thousand numbers."""
    return (
        f"width = 16\nlayers = {layers}\nheads = 2\nkv_heads = 1\nhead_width = 8\nmlp_width = 24\n"
        "context = 64\n"
    )


def llama(layers: int = 1) -> str:
    """Such a model, with letters for tokens."""
    return f'[model]\ntype = "llama"\n{sizes(layers)}'


def head(name: str, model: str) -> str:
    """What comes before the stages."""
    return f'name = "{name}"\nloggers = ["jsonl"]\n{model}'


def taught(problems: str, stage: str = "sft") -> str:
    """A stage of one update."""
    return (
        f'[stages.{stage}]\ntype = "sft"\nproblems.sources.{problems} = 1\n'
        "documents = 4\nsteps = 1\nbatch = 2\n"
    )


def asked(problems: str) -> str:
    """A stage that asks two problems."""
    return (
        f'[stages.eval]\ntype = "eval"\nproblems.sources.{problems} = 1\n'
        "count = 2\nsamples = 1\nmax_tokens = 4\n"
    )
