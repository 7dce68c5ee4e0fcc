"""The live page of a world that is stepped from Python."""

import urllib.error
import urllib.request

import pytest

import delassus
from delassus import Shape, World


def served(world: World) -> delassus.View:
    try:
        return world.view()
    except delassus.Error as error:
        assert "build-page" in str(error)
        pytest.skip("the package was built without the live page")


def test_the_page_is_served_while_it_is_open():
    world = World("page")
    world.add_ground()
    world.add_body("ball", Shape.sphere(0.1), position=[0, 0, 1])
    with served(world) as view:
        answer = urllib.request.urlopen(view.url, timeout=10)
        assert b"<html" in answer.read().lower() and answer.status == 200
        # A notebook of this machine may show it, other sites may not.
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors http://localhost:*" in policy and answer.headers["x-frame-options"] is None
        assert f'<iframe src="{view.url}"' in view._repr_html_()
        view.play(0.1, speed=1e3)
        assert world.time == pytest.approx(0.1) and not view.closed
        world.step(3)
        view.show()
        view.wait(0.01)
    assert view.closed and "closed" in repr(view)
    view.close()
    for use in (view.show, view.open, lambda: view.play(0.1), lambda: view.wait(0.1)):
        with pytest.raises(delassus.Error, match="the view is closed"):
            use()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(view.url, timeout=2)
    assert world.step().solved


def test_wrong_addresses_raise():
    world = World.scene("stack:1")
    view = served(world)
    port = int(view.url.rstrip("/").rsplit(":", 1)[1])
    for wrong in [dict(host="nowhere"), dict(port=port)]:
        with pytest.raises(delassus.Error):
            world.view(**wrong)
    for wrong in [dict(seconds=float("nan")), dict(seconds=1.0, speed=0.0)]:
        with pytest.raises(delassus.Error):
            view.play(**wrong)
    view.close()
