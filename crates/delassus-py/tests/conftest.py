"""What several tests need."""

from __future__ import annotations

from pathlib import Path

import pytest

import delassus

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
    <inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.05"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0 -0.4"/><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.02"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/></joint>
  <joint name="elbow" type="continuous"><origin xyz="0 0 -1"/><parent link="upper"/><child link="lower"/>
    <axis xyz="1 0 0"/></joint>
</robot>"""


@pytest.fixture
def arm() -> delassus.Robot:
    return delassus.Robot.parse(ARM)


@pytest.fixture
def arm_file(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return path
