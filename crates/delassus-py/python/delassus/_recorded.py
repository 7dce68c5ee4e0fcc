"""Recordings read back: what `World.record` and `delassus run --out` wrote."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ._delassus import Error

_MAGIC = b"DELASSUS"
_NUMBERS = 7  # x, y, z, qw, qx, qy, qz


@dataclass(frozen=True)
class Recorded:
    """Frames of a recorded run: `times` [s], `positions` [m] and `orientations` (w, x, y, z) by frame and body."""

    names: list[str]
    dt: float
    times: NDArray[np.float64] = field(repr=False)
    positions: NDArray[np.float64] = field(repr=False)
    orientations: NDArray[np.float64] = field(repr=False)


def recorded(folder: str | os.PathLike[str]) -> Recorded:
    """Reads the trajectory of a recording; a run that was killed is read up to its last whole frame."""
    path = Path(folder) / "trajectory.bin"
    data = path.read_bytes()
    try:
        magic, version, count, dt = struct.unpack_from("<8sIId", data)
        if magic != _MAGIC or version != 1:
            raise Error(f"{path}: is not a trajectory of version 1")
        at, names = 24, []
        for _ in range(count):
            (length,) = struct.unpack_from("<I", data, at)
            name = data[at + 4 : at + 4 + length]
            if len(name) < length:
                raise Error(f"{path}: is cut off within its head")
            names.append(name.decode())
            at += 4 + length
    except (struct.error, UnicodeDecodeError) as cause:
        raise Error(f"{path}: is cut off within its head, or no trajectory: {cause}") from None
    width = 1 + _NUMBERS * count
    frames = (len(data) - at) // (8 * width)
    table = np.frombuffer(data, "<f8", frames * width, at).astype(np.float64).reshape(frames, width)
    poses = table[:, 1:].reshape(frames, count, _NUMBERS)
    return Recorded(names, dt, table[:, 0].copy(), poses[:, :, :3].copy(), poses[:, :, 3:].copy())
