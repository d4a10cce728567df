"""The simulated embedding model, spoken to over HTTP."""

import math

import aiohttp
import pytest

from .test_server import CHAT, asking, eventually, rows

EMBEDDINGS = "/v1/embeddings"
FAST = "sim-embed:ttft=0,rate=0"
SUM = "Compute (1847 - 392) * 16 / 5. Answer with the number."
OTHER_SUM = "Compute (26 + 31) * 4 / 2. Answer with the number."
SORT = "Sort the words pear, apple, plum and fig by the alphabet."


async def vectors(client, *texts, model=FAST):
    async with client.post(EMBEDDINGS, json={"model": model, "input": list(texts)}) as response:
        body = await response.json()
        assert response.status == 200, body
    assert [entry["index"] for entry in body["data"]] == list(range(len(texts)))
    return [entry["embedding"] for entry in body["data"]]


def likeness(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_texts_that_read_alike_lie_near(client):
    a_sum, other_sum, sort = await vectors(client, SUM, OTHER_SUM, SORT)

    assert likeness(a_sum, other_sum) > 0.5 > 0.3 > likeness(a_sum, sort)


async def test_vectors_have_64_numbers_and_length_one_and_are_the_same_every_time(client):
    first, empty_handed = await vectors(client, SUM, " \n")

    assert len(first) == len(empty_handed) == 64
    assert math.hypot(*first) == pytest.approx(1, abs=1e-6)
    assert not any(empty_handed), "no word, no direction"
    assert [first] == await vectors(client, SUM) == await vectors(client, SUM, model="sim-embed")


async def test_what_was_read_is_counted_and_logged(client):
    async with client.post(EMBEDDINGS, json={"model": FAST, "input": SUM, "user": "ada"}) as response:
        body = await response.json()

    assert body["usage"] == {"prompt_tokens": 14, "total_tokens": 14}
    assert body["system_fingerprint"] == "simulated"
    [row] = await eventually(client, lambda found: len(found) == 1)
    assert (row["model"], row["input"], row["params"]) == (FAST, SUM, {"user": "ada"})
    assert (row["outcome"], row["prompt_tokens"], row["completion_tokens"]) == ("done", 14, 0)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"model": FAST}, 400),
        ({"model": FAST, "input": []}, 400),
        ({"model": FAST, "input": [""]}, 400),
        ({"model": FAST, "input": [1, 2]}, 400),
        ({"model": FAST, "input": ["x"] * 2049}, 400),
        ({"input": "x"}, 400),
        ({"model": "sim-atlas", "input": "x"}, 400),
        ({"model": "gpt-4o", "input": "x"}, 404),
        ([], 400),
    ],
)
async def test_what_cannot_be_embedded_is_refused_in_openais_shape(client, asked, status):
    async with client.post(EMBEDDINGS, json=asked) as response:
        body = await response.json()

    assert response.status == status
    assert body["error"]["message"]


async def test_it_writes_no_replies(client):
    async with client.post(CHAT, json=asking(FAST)) as response:
        assert (response.status, "/v1/embeddings" in await response.text()) == (400, True)


@pytest.mark.parametrize("status", [401, 429, 503])
async def test_it_fails_as_often_as_it_is_told(client, status):
    asked = {"model": f"{FAST},fail={status}x1", "input": SUM}
    got = [(await client.post(EMBEDDINGS, json=asked)).status for _ in range(2)]

    assert got == [status, 200]
    assert [row["outcome"] for row in await rows(client)] == [str(status), "done"]


@pytest.mark.parametrize("fault", ["cut", "malformed", "refused", "empty"])
async def test_it_breaks_in_the_ways_the_others_do(client, fault):
    async def ask():
        async with client.post(EMBEDDINGS, json={"model": f"{FAST},fail={fault}", "input": SUM}) as response:
            return await response.json()

    if fault == "empty":
        assert (await ask())["data"] == []
    else:
        with pytest.raises(ValueError if fault == "malformed" else aiohttp.ClientError):
            await ask()
    assert [row["outcome"] for row in await eventually(client, bool)] == [fault]
