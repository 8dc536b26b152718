"""Which pictures are sent, and what is said of the others."""

from __future__ import annotations

import pytest

from attend.judges.base import JudgeImage
from attend.judges.image import ImageProblem, dimensions, picture, pictures
from tests.judges.fakes.picture import image, jpeg, png


def test_a_pictures_content_says_what_it_is() -> None:
    assert dimensions(png(300, 400)) == ("png", 300, 400)
    assert dimensions(jpeg(640, 480)) == ("jpg", 640, 480)
    for other in (
        b"",
        b"GIF89a",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8",
        b"\xff\xd8\xff\xe0\0\x01",
        jpeg()[:30],
        png()[:20],
    ):
        assert dimensions(other) is None


@pytest.mark.parametrize(
    ("width", "height", "tokens"), [(280, 280, 200), (1568, 1568, 6272), (300, 281, 242)]
)
def test_a_picture_is_reckoned_at_two_tokens_a_square(width: int, height: int, tokens: int) -> None:
    assert picture(image(png(width, height)), bounded=True).tokens == tokens


def test_what_cannot_be_sent_is_told_with_its_place_and_the_rest_is_sent_once() -> None:
    told: list[ImageProblem] = []
    given = [
        image(png(279, 400)),
        image(png(400, 1569)),
        image(b"GIF89a"),
        JudgeImage("not base64!", "image/png"),
        image(jpeg(), "image/jpeg"),
        image(png(), "text/html"),
        image(png()),
        image(b"\x89PNG\r\n\x1a\n" + bytes(16 * 1024 * 1024)),
    ]
    sent = pictures(given, told.append, bounded=True)
    assert [(each.format, each.mime_type) for each in sent] == [("jpg", "image/jpeg"), ("png", "image/png")]
    assert [problem.index for problem in told] == [0, 1, 2, 3, 7]
    assert told[0].reason == "it is 279 x 400, sides of 280 to 1568 pixels are taken"


def test_what_listens_to_problems_cannot_fail_the_call() -> None:
    def listen(problem: ImageProblem) -> None:
        raise RuntimeError(problem.reason)

    assert pictures([image(b"x")], listen, bounded=True) == ()
    assert pictures([image(b"x")], None, bounded=True) == ()


def test_no_more_are_sent_than_a_call_takes() -> None:
    told: list[ImageProblem] = []
    given = [image(str(at).encode(), "image/webp") for at in range(130)]
    assert len(pictures(given, told.append, bounded=False, most=128)) == 128
    assert [problem.index for problem in told] == [128, 129]
    assert (
        len(pictures([image(png()), image(jpeg())], None, bounded=True, most_bytes=len(image(png()).data)))
        == 1
    )


def test_a_name_that_is_no_image_type_is_not_sent() -> None:
    for name in ("text/html", "image", "image/", 'image/png;x="', "image/png,<b>"):
        with pytest.raises(ValueError, match="MIME type"):
            picture(JudgeImage("", name), bounded=False)
