"""The bytes of one stored tensor, brought to a tensor in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from io import FileIO

import attrs
import torch
from torch import Tensor

from limite.core.checkpoint.tensor_header import TensorEntry
from limite.core.checkpoint.tensors import tensor_bytes
from limite.core.errors import LimiteError

BUFFER_BYTES = 4 << 20
"""The most that is held beside a destination that cannot be read into directly."""
_MOST_AT_ONCE = 1 << 30


@attrs.frozen(kw_only=True)
class TensorReader:
    """What is read of a tensor, and where in its file it lies; ``where`` is for messages."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    position: int
    where: str

    @classmethod
    def of(cls, entry: TensorEntry, *, start: int, rows: range | None, where: str) -> TensorReader:
        """All of a tensor, or some rows, whose bytes lie side by side."""
        shape, position = entry.shape, start + entry.begin
        if rows is not None:
            if not shape or rows.step != 1 or not 0 <= rows.start <= rows.stop <= shape[0]:
                raise LimiteError(f"{where}: expected rows of the shape {list(shape)}, got {rows}")
            position += rows.start * math.prod(shape[1:]) * entry.dtype.itemsize
            shape = (len(rows), *shape[1:])
        return cls(dtype=entry.dtype, shape=shape, position=position, where=where)

    def check(self, destination: Tensor) -> None:
        """Refuses a destination that the values do not fit."""
        if tuple(destination.shape) != self.shape:
            raise LimiteError(
                f"{self.where}: expected shape {list(destination.shape)}, got {list(self.shape)}"
            )
        if not converts(self.dtype, destination.dtype):
            raise LimiteError(f"{self.where}: expected {destination.dtype}, got {self.dtype}")

    @torch.no_grad()
    def read_into(self, file: FileIO, destination: Tensor) -> None:
        """Fills ``destination``, which was checked."""
        destination = destination.detach()
        if _is_plain(destination) and destination.dtype == self.dtype:
            self._fill(file, self.position, destination)
            if not destination.is_inference():
                # A gradient that needs the values from before must fail, not come out wrong.
                torch.autograd.graph.increment_version(destination)
            return
        position = self.position
        buffer = torch.empty(min(BUFFER_BYTES, self._size_bytes), dtype=torch.uint8)
        for part in _parts(destination, BUFFER_BYTES // self.dtype.itemsize):
            size = part.numel() * self.dtype.itemsize
            values = buffer[:size].view(self.dtype)
            self._fill(file, position, values)
            part.copy_(self._rounded(values, part.dtype).reshape(part.shape))
            position += size

    def pieces(self, file: FileIO, values: int) -> Iterator[Tensor]:
        """The values, flat, so many at a time, in memory that is reused."""
        total = math.prod(self.shape)
        buffer = torch.empty(min(values, total), dtype=self.dtype)
        for begin in range(0, total, values):
            piece = buffer[: min(values, total - begin)]
            self._fill(file, self.position + begin * self.dtype.itemsize, piece)
            yield piece

    @property
    def _size_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def _fill(self, file: FileIO, position: int, values: Tensor) -> None:
        content = tensor_bytes(values)
        if _read(file, position, content) < len(content):
            raise LimiteError(f"{self.where}: the file is cut short")
        if values.dtype == torch.bool and values.numel() and values.view(torch.uint8).max() > 1:
            # Such a bool is neither true nor false, and torch would compute nonsense from it.
            raise LimiteError(f"{self.where}: expected bools of 0 and 1, got another byte")

    def _rounded(self, values: Tensor, dtype: torch.dtype) -> Tensor:
        """The values in ``dtype``, none of which becomes infinite or undefined on the way."""
        rounded = values.to(dtype)
        if not values.is_floating_point() or not values.numel():
            return rounded
        reach = torch.finfo(dtype).max
        if torch.finfo(values.dtype).max <= reach:
            return rounded
        wide = values if values.dtype.itemsize > 1 else values.float()
        smallest, largest = (end.item() for end in wide.aminmax())
        if -reach <= smallest and largest <= reach:
            return rounded
        lost = wide.isfinite() & (wide.abs() > reach)  # NaN and infinities stay what they are
        if lost.any():
            raise LimiteError(
                f"{self.where}: expected values that {dtype} can hold (up to {reach:g}), "
                f"got {wide[lost][0].item():g}"
            )
        return rounded


def converts(stored: torch.dtype, wanted: torch.dtype) -> bool:
    """Whether values may be read as another dtype: floats as floats, all else only as it is."""
    return stored == wanted or (stored.is_floating_point and wanted.is_floating_point)


def read_exactly(file: FileIO, position: int, size: int) -> bytes:
    """So many bytes of a file; OSError where it ends before."""
    content = bytearray(size)
    if _read(file, position, memoryview(content)) < size:
        raise OSError("it was cut short while it was being read")
    return bytes(content)


def _read(file: FileIO, position: int, content: memoryview) -> int:
    """Fills ``content`` from the file; how many bytes there were."""
    file.seek(position)
    done = 0
    while done < len(content):
        # Some systems refuse to read 2 GiB in one call.
        got = file.readinto(content[done : done + _MOST_AT_ONCE])
        if not got:
            break
        done += got
    return done


def _is_plain(tensor: Tensor) -> bool:
    return (
        tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and tensor.is_contiguous()
        and not tensor.is_neg()
    )


def _parts(tensor: Tensor, values: int) -> Iterator[Tensor]:
    """Views that make up a tensor row by row, each of at most so many values."""
    if tensor.numel() <= values:
        if tensor.numel():
            yield tensor
    elif tensor.is_contiguous():
        yield from tensor.reshape(-1).split(values)
    else:
        rows = max(1, values * len(tensor) // tensor.numel())
        for part in tensor.split(rows):
            yield from _parts(part[0] if len(part) == 1 else part, values)
