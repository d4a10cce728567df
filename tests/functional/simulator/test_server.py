"""The simulator as its clients see it: a real process, spoken to over HTTP."""

import asyncio
import json
import signal
import subprocess
import sys
import time

import aiohttp
import pytest

from .conftest import ROOT

FAST = "ttft=0,rate=0"
CHAT = "/v1/chat/completions"


def asking(model, text="What is the capital of Japan?", **more):
    return {"model": model, "messages": [{"role": "user", "content": text}], **more}


def streaming(model, text="What is the capital of Japan?", **more):
    return asking(model, text, stream=True, stream_options={"include_usage": True}, **more)


async def events(response):
    """The data of the server-sent events, and when each was read."""
    return [(line[6:].strip().decode(), time.monotonic()) async for line in response.content if line[:6] == b"data: "]


def chunks(found):
    return [json.loads(data) for data, _ in found if data != "[DONE]"]


def text_of(parsed):
    return "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in parsed if chunk["choices"])


async def rows(client, query=""):
    async with client.get(f"/log{query}") as response:
        return await response.json()


async def eventually(client, holds, within_s=2.0):
    """The log's rows, as soon as they are as they should be."""
    start = time.monotonic()
    while not holds(found := await rows(client)):
        assert time.monotonic() - start < within_s, found
        await asyncio.sleep(0.02)
    return found


async def test_the_models_are_listed_with_windows_and_prices_said_to_be_simulated(client):
    async with client.get("/v1/models") as response:
        models = (await response.json())["data"]

    everyone = ["sim-conductor", "sim-atlas", "sim-birch", "sim-cedar", "sim-delta", "sim-embed"]
    assert [model["id"] for model in models] == everyone
    assert [model["id"] for model in models if model["embeds"]] == ["sim-embed"]
    assert all(model["context_window"] >= 32_000 for model in models)
    assert all(model["simulated"] is model["pricing"]["simulated"] is True for model in models)
    assert models[1]["pricing"]["output_usd"] == "15.00"


async def test_a_reply_comes_whole_with_its_usage(client):
    async with client.post(CHAT, json=asking(f"sim-atlas:{FAST}")) as response:
        body = await response.json()

    usage = body["usage"]
    assert body["choices"][0]["message"]["content"].endswith("Answer: Tokyo")
    assert body["choices"][0]["finish_reason"] == "stop"
    assert usage["prompt_tokens"] == 8
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


async def test_a_streamed_reply_has_deltas_a_reason_a_usage_and_an_end(client):
    async with client.post(CHAT, json=streaming(f"sim-atlas:{FAST}")) as response:
        found = await events(response)

    parsed = chunks(found)
    assert response.content_type == "text/event-stream"
    assert found[-1][0] == "[DONE]"
    assert parsed[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert text_of(parsed).endswith("Answer: Tokyo")
    assert sum(bool(chunk["choices"] and chunk["choices"][0]["delta"].get("content")) for chunk in parsed) >= 2
    assert parsed[-2]["choices"][0]["finish_reason"] == "stop"
    assert parsed[-1]["usage"]["completion_tokens"] > 5


async def test_without_being_asked_a_stream_tells_no_usage(client):
    async with client.post(CHAT, json=asking(f"sim-atlas:{FAST}", stream=True)) as response:
        parsed = chunks(await events(response))

    assert not any("usage" in chunk for chunk in parsed)


async def test_the_same_request_gets_the_same_text_streamed_or_whole(client):
    async with client.post(CHAT, json=asking("sim-delta:" + FAST, "Tell me a story", seed=4)) as response:
        whole = (await response.json())["choices"][0]["message"]["content"]
    async with client.post(CHAT, json=streaming("sim-delta:ttft=0,rate=5000", "Tell me a story", seed=4)) as response:
        streamed = text_of(chunks(await events(response)))

    assert streamed == whole


async def test_tokens_arrive_one_by_one_at_the_pace_that_was_asked_for(client):
    start = time.monotonic()
    async with client.post(CHAT, json=streaming("sim-cedar:ttft=200,rate=50,tokens=20")) as response:
        found = await events(response)

    first, last = found[1][1] - start, found[20][1] - start
    assert chunks(found)[-1]["usage"]["completion_tokens"] == 20
    assert 0.19 <= first <= 0.4
    assert 0.36 <= last - first <= 0.6


async def test_a_trace_tells_when_each_write_had_left(client):
    model = "sim-cedar:ttft=100,rate=50,tokens=20"
    for one in (f"{model},trace=1", model):
        async with client.post(CHAT, json=streaming(one)) as response:
            await response.read()

    traced, plain = await eventually(client, lambda found: len(found) == 2)
    chars, times = zip(*traced["pieces"], strict=True)
    assert "pieces" not in plain
    assert list(chars) == sorted(set(chars))
    assert chars[-1] == len(traced["text"])
    assert 10 <= len(chars) <= 20
    assert traced["first_token"] <= times[0]
    assert list(times) == sorted(times)
    assert times[-1] <= traced["finished"]


async def test_a_trace_ends_where_a_stream_is_cut(client):
    async with client.post(CHAT, json=streaming("sim-cedar:ttft=0,rate=200,tokens=20,trace=1,fail=cut")) as response:
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()

    [row] = await eventually(client, bool)
    assert row["pieces"][-1][0] == len(row["text"])


async def test_max_tokens_cuts_the_reply_and_says_so(client):
    async with client.post(CHAT, json=asking(f"sim-atlas:{FAST}", "Write an essay", max_tokens=7)) as response:
        body = await response.json()

    assert body["choices"][0]["finish_reason"] == "length"
    assert body["usage"]["completion_tokens"] == 7


async def test_a_429_says_when_to_come_back_and_ends_after_its_count(client):
    model = f"sim-cedar:{FAST},fail=429x2,retry_after=3"
    statuses, waits = [], []
    for _ in range(3):
        async with client.post(CHAT, json=asking(model)) as response:
            statuses.append(response.status)
            waits.append(response.headers.get("Retry-After"))
    async with client.post(CHAT, json=asking(model, "Something else")) as response:
        other = response.status

    assert statuses == [429, 429, 200]
    assert waits == ["3", "3", None]
    assert other == 429


@pytest.mark.parametrize(("status", "kind"), [(500, "server_error"), (401, "invalid_request_error")])
async def test_a_failure_has_openais_shape(client, status, kind):
    async with client.post(CHAT, json=asking(f"sim-cedar:fail={status}")) as response:
        body = await response.json()

    assert response.status == status
    assert body["error"]["type"] == kind


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[]", 400),
        (b"[" * 100_000, 400),
        (b'{"messages": []}', 400),
        (b'{"model": "sim-atlas", "messages": []}', 400),
        (b'{"model": "sim-atlas", "messages": ["hi"]}', 400),
        (b'{"model": "sim-atlas:pace=9", "messages": [{"role": "user", "content": "hi"}]}', 400),
        (b'{"model": "gpt-9", "messages": [{"role": "user", "content": "hi"}]}', 404),
    ],
)
async def test_a_request_that_is_none_is_refused_and_logged(client, body, status):
    async with client.post(CHAT, data=body) as response:
        error = (await response.json())["error"]

    assert response.status == status
    assert error["message"]
    assert [row["outcome"] for row in await rows(client)] == [str(status)]


async def test_an_address_that_does_not_exist_has_openais_shape_too(client):
    async with client.get("/v1/nothing") as response:
        assert (await response.json())["error"]["message"] == "Not Found"


async def test_odd_texts_are_carried_as_they_are(client):
    text = "Zürich 👩‍🔬 \u2028 and half a pair \ud83d"
    async with client.post(CHAT, data=json.dumps(streaming(f"sim-atlas:{FAST}", text))) as response:
        reply = text_of(chunks(await events(response)))

    assert "Zürich 👩‍🔬" in reply
    assert (await rows(client))[0]["messages"][0]["content"] == text


async def test_a_cut_stream_breaks_off_without_a_reason(client):
    async with client.post(CHAT, json=streaming(f"sim-atlas:{FAST},fail=cut")) as response:
        read = await response.content.readuntil(b"finish_reason")
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()

    [row] = await eventually(client, bool)
    assert b'"role": "assistant"' in read
    assert row["outcome"] == "cut"
    assert row["text"]


async def test_a_whole_reply_can_be_cut_too(client):
    async with client.post(CHAT, json=asking(f"sim-atlas:{FAST},fail=cut")) as response:
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()


async def test_a_malformed_chunk_is_no_json(client):
    async with client.post(CHAT, json=streaming(f"sim-atlas:{FAST},fail=malformed")) as response:
        found = await events(response)

    with pytest.raises(json.JSONDecodeError):
        chunks(found)


async def test_an_empty_reply_ends_in_good_order(client):
    async with client.post(CHAT, json=streaming("sim-atlas:ttft=0,fail=empty")) as response:
        parsed = chunks(await events(response))

    assert text_of(parsed) == ""
    assert parsed[-2]["choices"][0]["finish_reason"] == "stop"


async def test_a_refused_request_gets_no_answer_at_all(client):
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await client.post(CHAT, json=asking("sim-atlas:fail=refused"))

    [row] = await eventually(client, bool)
    assert row["outcome"] == "refused"


@pytest.mark.parametrize(
    "model", ["sim-atlas:ttft=0,fail=hang", "sim-atlas:ttft=60000", "sim-atlas:ttft=0,rate=2,tokens=99"]
)
async def test_a_client_that_leaves_is_noticed_at_once(client, model):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3), client.post(CHAT, json=streaming(model)) as response:
            await response.read()
    left = time.time()

    [row] = await eventually(client, bool, within_s=0.5)

    assert row["outcome"] == "cut by client"
    assert row["finished"] - left < 0.5
    assert bool(row["text"]) == ("rate=2" in model)


async def test_requests_in_flight_are_shown_and_the_most_there_were(client):
    calls = [asyncio.create_task(client.post(CHAT, json=asking("sim-atlas:fail=hang"))) for _ in range(3)]
    calls.append(asyncio.create_task(client.post(CHAT, json=asking("sim-delta:fail=hang"))))
    start = time.monotonic()
    while (flight := await rows(client, "?running=1"))["in_flight_all"] < 4:
        assert time.monotonic() - start < 2
        await asyncio.sleep(0.01)
    for call in calls:
        call.cancel()
    finished = await eventually(client, lambda found: len(found) == 4)

    assert flight["in_flight"] == flight["peak"] == {"sim-atlas": 3, "sim-delta": 1}
    assert [row["outcome"] for row in flight["running"]] == ["running"] * 4
    assert sorted(row["in_flight"] for row in finished) == [1, 2, 3, 4]
    assert (await rows(client, "?running=1"))["in_flight"] == {}


async def test_the_log_is_read_after_a_number_and_can_be_cleared(client, simulator):
    for text in ("one", "two", "three"):
        await (await client.post(CHAT, json=asking(f"sim-birch:{FAST}", text, seed=9, temperature=0.5))).read()

    later = await rows(client, "?after=1")
    async with client.delete("/log") as response:
        cleared = response.status
    await (await client.post(CHAT, json=asking(f"sim-birch:{FAST}", "four"))).read()

    assert [row["messages"][0]["content"] for row in later] == ["two", "three"]
    assert later[0]["params"] == {"seed": 9, "temperature": 0.5}
    assert later[0]["started"] <= later[0]["first_token"] <= later[0]["finished"]
    assert cleared == 204
    assert [row["n"] for row in await rows(client)] == [4]
    assert [json.loads(line)["n"] for line in simulator.log.read_text().splitlines()] == [1, 2, 3, 4]


async def test_a_bad_plan_is_counted_by_its_question_and_not_by_the_prompt(client):
    prompt = (
        "At most 3 steps, in lists model_id, subtasks, access_list.\n<question>What is 2 + 3?</question>\nModel 0{}"
    )
    texts = []
    for error in ("", "\nYour former reply could not be used."):
        body = asking(f"sim-conductor:{FAST},say=nonsensex1", prompt.format(error))
        async with client.post(CHAT, json=body) as response:
            texts.append((await response.json())["choices"][0]["message"]["content"])

    assert "access_list" not in texts[0]
    assert "access_list = [[]]" in texts[1]


async def test_a_million_characters_are_sent_quickly(client):
    start = time.monotonic()
    async with client.post(CHAT, json=streaming("sim-conductor:ttft=0,say=million")) as response:
        parsed = chunks(await events(response))

    assert len(text_of(parsed)) == 1_000_000
    assert time.monotonic() - start < 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_stops_within_a_second_even_with_open_streams(client, simulator, number):
    calls = [
        await client.post(CHAT, json=streaming("sim-atlas:ttft=0,rate=5,tokens=500")),
        await client.post(CHAT, json=streaming("sim-atlas:ttft=60000")),
    ]
    hanging = asyncio.create_task(client.post(CHAT, json=asking("sim-atlas:fail=hang")))
    await asyncio.sleep(0.1)

    status = await asyncio.to_thread(simulator.stop, number)
    await asyncio.gather(hanging, return_exceptions=True)
    for call in calls:
        call.close()

    outcomes = [json.loads(line)["outcome"] for line in simulator.log.read_text().splitlines()]
    assert status == 0
    assert outcomes == ["stopped"] * 3


def test_it_needs_neither_django_nor_the_studio():
    code = "import apps.simulator.__main__, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    foreign = {name for name in loaded.split() if name.split(".")[0] in ("django", "studio", "pydantic", "psycopg")}
    others = {name for name in loaded.split() if name.startswith("apps.") and not name.startswith("apps.simulator")}
    assert foreign == others == set()
