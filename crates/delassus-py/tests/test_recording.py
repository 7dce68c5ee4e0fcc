"""Recordings and exports while a world is stepped."""

import json
import os
import struct
import subprocess

import numpy as np
import pytest

import delassus
from delassus import Shape, World


def test_a_recording_has_the_bytes_of_the_command_line(tmp_path):
    program = os.environ.get("DELASSUS_PROGRAM")
    if not program:
        pytest.skip("DELASSUS_PROGRAM does not name the command line")
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    run = [program, "run", "gripper", "--time", "0.5", "--every", "4", "--out", theirs, "--quiet", "--threads", "1",
           "--export", tmp_path / "theirs.glb", "--export", tmp_path / "theirs.mcap"]
    subprocess.run(run, check=True, capture_output=True)
    world = World.scene("gripper")
    with world.record(ours, export=[tmp_path / "ours.glb", tmp_path / "ours.mcap"], every=4) as recording:
        world.step(round(0.5 / world.dt))
    assert recording.closed
    same = ["trajectory.bin", "trajectory.csv", "dynamics.bin", "joints.csv", "robots.csv", "contacts.csv",
            "accelerations.csv", "scene.json"]
    for name in same:
        assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name
    for ending in ["glb", "mcap"]:
        assert (tmp_path / f"ours.{ending}").read_bytes() == (tmp_path / f"theirs.{ending}").read_bytes()
    # Times of the clock differ; what was computed does not.
    columns = [[line.rsplit(",", 4)[0] for line in (folder / "steps.csv").read_text().splitlines()] for folder in (ours, theirs)]
    assert columns[0] == columns[1]


def test_a_recording_reads_back_as_the_states_it_was_made_of(tmp_path):
    world = World("tower")
    world.add_ground()
    boxes = [world.add_body(f"box-{i}", Shape.box([0.1] * 3), position=[0, 0, 0.1 + 0.2 * i]) for i in range(3)]
    boxes[2].velocity = [1, 0, 0]
    states = [world.positions[1:]]
    recording = world.record(tmp_path / "run")
    for _ in range(10):
        world.step()
        states.append(world.positions[1:])
    with pytest.raises(delassus.Error, match="being recorded"):
        world.add_joint("ball", (boxes[0], None), point=[0, 0, 0])
    with pytest.raises(delassus.Error, match="being recorded"):
        world.record(tmp_path / "other")
    with pytest.raises(delassus.Error, match="dt is 0.5"):
        world.step(dt=0.5)
    with pytest.raises(delassus.Error, match="being recorded"):
        world.restore(world.checkpoint())
    recording.close()
    recording.close()
    back = delassus.recorded(tmp_path / "run")
    assert back.names == ["box-0", "box-1", "box-2"] and back.dt == world.dt
    assert np.array_equal(back.positions, states) and back.times[-1] == world.time
    scene = json.loads((tmp_path / "run" / "scene.json").read_text())
    shown = World.parse(scene["text"])
    assert sorted(shown.body_names) == sorted(world.body_names)
    with pytest.raises(delassus.Error, match="not empty"):
        world.record(tmp_path / "run")
    world.record(tmp_path / "run", overwrite=True).close()


def test_exports_are_whole_files_of_their_kind(tmp_path):
    world = World.scene("newton-cradle")
    with world.record(export=tmp_path / "alone.glb"):
        world.step()
    assert (tmp_path / "alone.glb").read_bytes().startswith(b"glTF")
    with world.record(export=[tmp_path / "run.glb", tmp_path / "run.mcap"], every=2):
        world.step(20)
    glb = (tmp_path / "run.glb").read_bytes()
    magic, version, length, size, kind = struct.unpack_from("<4sIII4s", glb)
    assert (magic, version, length, kind) == (b"glTF", 2, len(glb), b"JSON")
    document = json.loads(glb[20 : 20 + size])
    assert document["animations"][0]["channels"]
    mcap = (tmp_path / "run.mcap").read_bytes()
    assert mcap[:8] == mcap[-8:] == b"\x89MCAP0\r\n"


def test_what_cannot_be_recorded_raises(tmp_path):
    world = World.scene("stack:1")
    file = tmp_path / "file"
    file.write_text("")
    for wrong in [dict(), dict(export=["run.obj"]), dict(export=[tmp_path / "a.glb", tmp_path / "a.glb"]),
                  dict(folder=tmp_path / "x", every=0)]:
        with pytest.raises(delassus.Error):
            world.record(**wrong)
    for wrong in [dict(folder=file / "inside"), dict(export=[tmp_path / "none" / "run.glb"])]:
        with pytest.raises(OSError):
            world.record(**wrong)
    assert world.step().solved
    with pytest.raises(OSError):
        delassus.recorded(tmp_path / "none")
    (tmp_path / "trajectory.bin").write_bytes(b"DELASSUS\1\0\0\0\5\0\0\0")
    with pytest.raises(delassus.Error):
        delassus.recorded(tmp_path)


def test_a_full_disk_raises_and_ends_the_recording(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    world = World.scene("stack:20")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "trajectory.csv").symlink_to("/dev/full")
    recording = world.record(folder, overwrite=True)
    with pytest.raises(OSError):
        world.step(500)
    assert recording.closed and world.step().solved
