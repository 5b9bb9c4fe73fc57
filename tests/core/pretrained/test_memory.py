"""What reading and writing weights holds in memory, measured in processes of their own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[3]

BEFORE = """
    import json, resource, sys
    from pathlib import Path

    import torch

    from limite.core.pretrained.tensor_directory import TensorDirectory, write_tensor_directory
    from limite.core.checkpoint.tensors import DeferredTensor
    from limite.core.pretrained.tensor_file import TensorFile, write_tensor_file

    def peak_bytes():
        status = Path("/proc/self/status")
        if not status.exists():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # on macOS in bytes
        # On Linux the former is at least what the process that started this one had.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024

    here = Path(sys.argv[1])
"""

FULL = """
    from limite.core.model.limite import LimiteDecoder
    from limite.core.model.resolve import attention_component
    from limite.core.pretrained.directory import file_name, load_checkpoint
    from limite.core.pretrained.families.limite import spec_from_config

    inventory = json.loads((Path(sys.argv[2]) / "limite_1b_inventory.json").read_text())
    dtypes = {"BF16": torch.bfloat16, "F32": torch.float32}
    noise = torch.randn(1 << 20, generator=torch.Generator().manual_seed(1))

    def values(number):
        dtype, shape = list(inventory["tensors"].values())[number]
        count = torch.Size(shape).numel()
        tensor = noise.to(dtypes[dtype]).repeat(-(-count // len(noise)))[:count]
        tensor[0] = number  # no two are the same
        return tensor.reshape(shape)
"""


def measured(folder: Path, *code: str) -> list[float]:
    """The numbers that ``code`` prints, run in a new process with the file's folder."""
    done = subprocess.run(
        [sys.executable, "-c", dedent("".join(map(dedent, code))), folder, ROOT / "tests/golden"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [float(number) for number in done.stdout.split()]


@pytest.fixture
def folder():
    """A folder that is removed at once: what these tests write is large."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def test_reading_holds_the_tensors_once_and_writing_one_at_a_time(folder: Path) -> None:
    (wrote,) = measured(
        folder,
        BEFORE,
        """
        def tensor(number):
            shape = (16384, 1024)
            return DeferredTensor(
                dtype=torch.float32, shape=shape, make=lambda: torch.full(shape, number)
            )

        before = peak_bytes()
        write_tensor_file(here / "x.safetensors", {f"t{n}": tensor(n * 0.5) for n in range(3)})
        print(peak_bytes() - before)
        """,
    )
    one = 1 << 26
    total = 3 * one
    assert wrote < 2 * one
    same, narrower = (
        measured(
            folder,
            BEFORE,
            f"""
            file = TensorFile.open(here / "x.safetensors")
            before = peak_bytes()
            held = [torch.empty(16384, 1024, dtype={dtype}) for _ in range(3)]
            for number, tensor in enumerate(held):
                file.read_into(f"t{{number}}", tensor)
            print(peak_bytes() - before)
            assert all((tensor == number * 0.5).all() for number, tensor in enumerate(held))
            """,
        )[0]
        for dtype in ("torch.float32", "torch.bfloat16")
    )
    # The lower bound says that the measure sees the tensors at all; the upper one, that no tensor
    # was held twice. In between is what the system counts beside: 0 to 20 MB were seen.
    assert 0.9 * total < same < total + one / 2
    assert 0.9 * total / 2 < narrower < total / 2 + one / 2


def test_an_export_holds_one_tensor_at_a_time(folder: Path) -> None:
    model = """
        from limite.core.model.init import build_decoder
        from limite.core.model.llama.spec import LlamaSpec
        from limite.core.pretrained.export import directory_source, export_model
        from limite.core.pretrained.save import save_pretrained

        spec = LlamaSpec(
            width=1024, layers=3, heads=8, kv_heads=2, head_width=128, mlp_width=2048,
            vocabulary=16384, tied_head=False,
        )
    """
    measured(folder, BEFORE, model, "save_pretrained(build_decoder(spec.filled()), here / 'model')")
    (wrote,) = measured(
        folder,
        BEFORE,
        model,
        """
        source = directory_source(here / "model")
        before = peak_bytes()
        export_model(source, here / "same")
        export_model(source, here / "half", dtype="bf16", shard_bytes=50_000_000)
        print(peak_bytes() - before)
        """,
    )
    weights = (folder / "model" / "model.safetensors").stat().st_size
    table = 16384 * 1024 * 4
    assert weights > 3 * table
    assert wrote < 1.5 * table
    assert (folder / "same" / "model.safetensors").stat().st_size == weights


@pytest.mark.slow
def test_the_published_models_whole_geometry_is_written_in_shards_and_read(folder: Path) -> None:
    (wrote,) = measured(
        folder,
        BEFORE,
        FULL,
        """
        def deferred(number, dtype, shape):
            return DeferredTensor(
                dtype=dtypes[dtype], shape=tuple(shape), make=lambda: values(number)
            )

        before = peak_bytes()
        tensors = [
            (name, deferred(number, *kind))
            for number, (name, kind) in enumerate(inventory["tensors"].items())
        ]
        write_tensor_directory(here / "model", tensors, shard_bytes=500_000_000)
        print(peak_bytes() - before)
        """,
    )
    shards = sorted(path.name for path in (folder / "model").glob("*.safetensors"))
    assert shards == [f"model-{number:05d}-of-00005.safetensors" for number in range(1, 6)]
    table = 151_680 * 1280 * 2
    assert wrote < 2.5 * table
    growth, whole = measured(
        folder,
        BEFORE,
        FULL,
        """
        spec = spec_from_config(inventory["config"])
        before = peak_bytes()
        component = attention_component(spec.attention)
        decoder = LimiteDecoder(spec, component, dtype=torch.bfloat16)
        tensors = TensorDirectory.open(here / "model")
        load_checkpoint(decoder, tensors, dtypes="keep")
        print(peak_bytes() - before, peak_bytes())
        numbers = {name: number for number, name in enumerate(inventory["tensors"])}
        for name, parameter in decoder.named_parameters():
            assert torch.equal(parameter, values(numbers[file_name(name)])), name
        assert tensors.total_bytes == inventory["tensor_bytes"]
        """,
    )
    size = 2_070_734_464
    assert 0.9 * size < growth <= 1.15 * size
    assert whole < 12 << 30
