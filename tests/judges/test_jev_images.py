"""Pictures that go along with a window to a System One server."""

from __future__ import annotations

import json

import pytest

from attend.errors import ContextLengthError, ImagesRejectedError, JudgeError
from attend.judges.image import ImageProblem
from attend.judges.jev import Jev, jev_judge
from tests.judges.fakes.jev import KEY, FakeJev, refused
from tests.judges.fakes.picture import image, png
from tests.judges.windows import asked, crowd, events_bytes

pytestmark = pytest.mark.anyio


async def test_pictures_go_along_in_the_way_that_was_chosen(fake_jev: FakeJev) -> None:
    told: list[ImageProblem] = []
    url = f"{fake_jev.url}/v1/systemone"
    given = (image(png()), image(png(100, 100)))
    judge = jev_judge(KEY, endpoint=url, on_image_error=told.append)
    assert (await judge(asked(images=given))).route == "queue"
    await judge.aclose()
    assert [problem.index for problem in told] == [1]
    sent = fake_jev.requests[0]
    assert sent.headers["typesafe-danger-zone-images"] == "true"
    (reference,) = sent.json["assets"]
    assert sent.json["state"]["images"] == [reference]
    assert sent.json["assets"][reference] == {"type": "image", "format": "png", "data_base64": given[0].data}

    judge = jev_judge(KEY, endpoint=url, image_style="image_url")
    await judge(asked(images=given))
    await judge.aclose()
    state = fake_jev.requests[1].json["state"]
    assert json.loads(state[0])["window"]["reason"] == "closing"
    assert state[1] == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{given[0].data}"}}

    judge = jev_judge(KEY, endpoint=url, image_style="none")
    await judge(asked(images=given))
    await judge.aclose()
    assert "images" not in fake_jev.requests[2].json["state"]
    assert "typesafe-danger-zone-images" not in fake_jev.requests[2].headers


async def test_pictures_that_are_not_taken_are_left_out_once(fake_jev: FakeJev, jev_of: Jev) -> None:
    rejection = refused(400, "api_usage_error", "Invalid image dimensions")
    fake_jev.answers(rejection)
    assert (await jev_of(asked(images=(image(png()),)))).route == "queue"
    assert "assets" in fake_jev.requests[0].json
    second = fake_jev.requests[1]
    assert "assets" not in second.json
    assert "images" not in second.json["state"]
    assert "typesafe-danger-zone-images" not in second.headers
    # Too long once the pictures are gone, then too long again: each way out is taken once.
    fake_jev.answers(rejection, refused(400, "max_tokens_exceeded"), refused(400, "max_tokens_exceeded"))
    with pytest.raises(ContextLengthError):
        await jev_of(asked(crowd(50), images=(image(png()),)))
    assert len(fake_jev.requests) == 5


async def test_a_complaint_about_pictures_that_were_not_sent_is_final(fake_jev: FakeJev, jev_of: Jev) -> None:
    fake_jev.answers(refused(400, "api_usage_error", "Invalid image dimensions"))
    with pytest.raises(JudgeError) as caught:
        await jev_of(asked())
    assert not isinstance(caught.value, ImagesRejectedError)
    assert len(fake_jev.requests) == 1


async def test_pictures_count_against_the_budget(fake_jev: FakeJev, jev_of: Jev) -> None:
    of = crowd(240, size=1000)
    await jev_of(asked(of))
    await jev_of(asked(of, images=(image(png(1568, 1568)),)))
    first, second = (events_bytes(request.json) for request in fake_jev.requests)
    assert 0 < first - second - 6272 * 3 < 2000
