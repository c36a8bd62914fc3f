"""Tests of `hardsim serve` as a server: who may ask, what a request may do, and that its answers are those of the
commands.
"""

import http.client
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from hardsim.cli.serve import names_of
from hardsim.program.regimes import NAMED
from hardsim.serving.app import HEADERS, LARGEST_BODY, parts
from hardsim.serving.page_requests import PageRequest, Regime, Suffix, refusal
from tests.cli.conftest import COMMAND, Cli, hardsim, written
from tests.support.clusters import PATIENCE

__all__ = ["hardsim"]  # the fixture
SINCE = "alphabet: a b c\na S b\n"


@dataclass
class Server:
    """A running server."""

    running: subprocess.Popen[str]
    port: int
    before: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(
        self, method: str, address: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Send a request with these headers alone (and a Host, unless it is among them)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, address, body, headers or {})
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read()
        finally:
            connection.close()

    def post(self, body: str, **headers: str) -> tuple[int, Any]:
        """Send a request as the page does, with other headers where they are given."""
        own = {"Content-Type": "application/json", "Origin": self.url[:-1]}
        other = {name.replace("_", "-"): value for name, value in headers.items()}
        status, _, text = self.ask("POST", "/run", body, {**own, **other})
        return status, json.loads(text)

    def run(self, action: str, text: str = SINCE, suffix: str = "ltl", **more: Any) -> Any:
        """Return the answer to a request."""
        status, found = self.post(json.dumps({"action": action, "text": text, "suffix": suffix, **more}))
        assert status == 200, found
        return found


@contextmanager
def serving(*options: str, **settings: Any) -> Iterator[Server]:
    """Start the command, and end it with Ctrl-C."""
    running = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings,
    )  # fmt: skip
    try:
        assert running.stdout is not None
        yield Server(running, int(running.stdout.readline().strip().rstrip("/").rpartition(":")[2]))
    finally:
        running.send_signal(signal.SIGINT)
        try:
            running.communicate(timeout=PATIENCE)
        finally:
            running.kill()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of temporary files of the server."""
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serving(env={**os.environ, "TMPDIR": str(folder)}) as found:
        yield found


# ---- who may ask ----


def test_the_page_has_a_policy_and_asks_nothing_of_others(server: Server) -> None:
    for address, kind in (("/", "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css")):
        status, headers, text = server.ask("GET", address)
        assert (status, headers.get_content_type()) == (200, kind)
        assert {name: headers[name] for name in HEADERS} == HEADERS
        assert b"https://" not in text
        assert b"innerHTML" not in text
        assert b"eval(" not in text
    assert server.ask("GET", "/page.py")[0] == 404
    assert server.ask("GET", "/../page.html")[0] == 404
    assert server.ask("GET", "/run")[0] == 405
    policy = HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


OTHER_HOSTS = (
    "evil.example", "evil.example:{port}", "127.0.0.1", "localhost", "127.0.0.1:1", "localhost.:{port}", "[::1]:{port}",
    "127.0.0.1.evil.example:{port}", "0.0.0.0:{port}", "127.0.0.1:{port}@evil.example", "",
)  # fmt: skip


@pytest.mark.parametrize("host", OTHER_HOSTS)
def test_other_hosts_are_refused(server: Server, host: str) -> None:
    """A name that another site points to this machine reaches the server with that name as its host."""
    given = host.format(port=server.port)
    assert server.ask("GET", "/", headers={"Host": given})[0] == 403
    origin = f"http://{given}"
    body = json.dumps({"action": "show", "text": SINCE, "suffix": "ltl"})
    assert server.post(body, Host=given, Origin=origin)[0] == 403


OTHER_ORIGINS = (
    "http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1", "http://localhost:1", "file://", "",
    "http://127.0.0.1:{port}.evil.example",
)  # fmt: skip


@pytest.mark.parametrize("origin", OTHER_ORIGINS)
def test_other_origins_are_refused(server: Server, origin: str) -> None:
    body = json.dumps({"action": "show", "text": SINCE, "suffix": "ltl"})
    status, found = server.post(body, Origin=origin.format(port=server.port))
    assert (status, found) == (403, {"error": "Another page may not use this one."})
    assert server.ask("GET", "/lessons.json", headers={"Origin": "http://evil.example"})[0] == 403


def test_a_request_without_an_origin_or_of_a_form_is_refused(server: Server) -> None:
    body = json.dumps({"action": "show", "text": SINCE, "suffix": "ltl"})
    assert server.ask("POST", "/run", body, {"Content-Type": "application/json"})[0] == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert server.post(body, Content_Type=kind)[0] == 415
    assert server.ask("OPTIONS", "/run", headers={"Origin": "http://evil.example"})[0] == 403
    # Both of its own names may be used, and no header allows other pages to read an answer.
    named = {"Host": f"localhost:{server.port}", "Origin": f"http://localhost:{server.port}"}
    assert server.post(body, **named)[0] == 200
    _, headers, _ = server.ask("GET", "/", headers={"Host": f"localhost:{server.port}"})
    assert [name for name in headers if name.lower().startswith("access-control")] == []


def test_browsers_leave_out_port_80() -> None:
    assert names_of(8765) == ["127.0.0.1:8765", "localhost:8765"]
    assert names_of(80) == ["127.0.0.1:80", "127.0.0.1", "localhost:80", "localhost"]


def test_the_server_listens_on_this_machine_alone(server: Server) -> None:
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("no /proc")
    rows = [line.split() for line in listening.read_text(encoding="ascii").splitlines()[1:]]
    # The address is little-endian: 0100007F is 127.0.0.1; state 0A is a listener.
    assert [row[1][:8] for row in rows if row[3] == "0A" and int(row[1][9:], 16) == server.port] == ["0100007F"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("", 400),
        ("[]", 400),
        ('{"action": "prove", "text": "", "suffix": "ltl"}', 400),
        ('{"action": "show", "text": "", "suffix": "spec"}', 400),
        ('{"action": "show", "text": "", "suffix": "../x"}', 400),
        ('{"action": "show", "text": "", "suffix": "ltl", "max_n": 17}', 400),
        ('{"action": "show", "text": "", "suffix": "ltl", "file": "/etc/passwd"}', 400),
        ('{"action": "trace", "text": "", "suffix": "ltl", "picture": "../x.svg"}', 400),
        ('{"action": "show", "text": "%s", "suffix": "ltl"}' % ("a" * 20_001), 400),
        ('{"action": "show", "text": "\\ud800", "suffix": "ltl"}', 400),
        ("x" * (LARGEST_BODY + 1), 413),
    ],
    ids=lambda value: str(value)[:60],
)
def test_bad_requests_are_refused(server: Server, body: str, status: int) -> None:
    found, answer = server.post(body)
    assert found == status
    assert list(answer) == ["error"]


# ---- the answers ----

MAJORITY = """\
alphabet: a b
map: ab -> aa
lead(i) := psum_j[j <= i] Q_a(j) ? 1 : -1
total(i) := rightmost_j[1, 1] lead(j) : 0
Y(i) := total(i) >= 0 ? 'a' : 'b'
"""
ASKED = [
    ("show", "ltl", SINCE, {}),
    ("check", "ltl", SINCE, {"max_n": 3}),
    ("check", "ltl", SINCE, {"max_n": 3, "regime": "none"}),
    ("check", "ltl", SINCE, {"max_n": 3, "beta": "1/2"}),
    ("check", "srasp", MAJORITY, {"max_n": 3}),
    ("check", "cr", 'alphabet: a b\nmore = #"a" > #"b"\n', {"max_n": 3}),
    ("words", "ltl", SINCE, {"max_n": 3}),
    ("classify", "ltl", SINCE, {}),
    ("trace", "ltl", SINCE, {"word": "cba"}),
    ("critical", "ltl", SINCE, {"max_n": 1}),
    *((action, "re", "alphabet: a b\n(a|b)*a\n", {"max_n": 3, "regime": "none"}) for action in ("show", "words")),
]


@pytest.mark.parametrize(("action", "suffix", "text", "more"), ASKED, ids=lambda value: str(value)[:20])
def test_an_answer_is_that_of_the_command_beside_it(
    server: Server, hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    action: str, suffix: str, text: str, more: dict[str, Any],
) -> None:  # fmt: skip
    """The command is run in this process, on a file of the name that the page says."""
    found = server.run(action, text, suffix, **more)
    monkeypatch.chdir(tmp_path)
    written(tmp_path / f"typed.{suffix}", text)
    name, *arguments = found["command"].split()
    assert name == "hardsim"
    expected = hardsim(arguments[0], "--json", "document.json", *arguments[1:])
    assert (found["code"], found["report"], found["messages"]) == (expected.code, expected.out, expected.err)
    assert found["document"] == json.loads((tmp_path / "document.json").read_text(encoding="utf-8"))
    assert found["document"]["exit_code"] == found["code"]
    assert found["stopped"] is None
    for picture, drawn in found["pictures"].items():
        assert drawn == (tmp_path / picture).read_text(encoding="utf-8")
    assert (action == "trace") == bool(found["pictures"])


def test_an_error_has_its_place(server: Server) -> None:
    found = server.run("show", "alphabet: a b c\na S (b\n")
    assert found["code"] == 2
    first, line, caret, *_ = found["messages"].splitlines()
    assert first.startswith("typed.ltl:2:5: error: ")
    assert line.index("(") == caret.index("^")
    assert found["document"]["errors"][0]["message"] == found["messages"].rstrip("\n")


# ---- what a request may do ----


def test_what_is_said_can_be_done_on_the_page(server: Server) -> None:
    """The user typed no command line: its usage, its order and its files are not what was wrong."""
    wrong = server.run("show", beta="-1")
    assert (wrong["code"], "Usage" in wrong["messages"]) == (2, False)
    assert wrong["remarks"] == f"{wrong['messages']}On this page: --beta is the field 'beta'.\n"
    alike = "alphabet: - h e l p\nO h\n"
    assert "--" not in server.run("trace", alike, word="--help")["messages"]
    differing = server.run("trace", regime="none", word="bca")
    assert "picture" in differing["messages"]
    assert differing["remarks"] == "typed.ltl: the answers on this word differ\n"


@pytest.mark.parametrize(
    ("suffix", "text"),
    [("ltl", "alphabet: a b\na\n"), ("ltl", "alphabet: a b\nMOD(2,1)\n"), ("cr", 'alphabet: a b\nx = "a"\n')],
)
def test_a_text_without_heads_has_its_answers(server: Server, suffix: str, text: str) -> None:
    assert server.run("show", text, suffix)["document"]["results"][0]["model"]["heads"] == 0
    found = server.run("trace", text, suffix, word="ba", picture="")
    assert (found["code"], found["messages"], found["pictures"]) == (0, "", {})
    answers = found["document"]["results"][0]["answers"]
    assert [answers[who] for who in ("oracle", "hard", "soft")] == [not text.endswith(",1)\n")] * 3
    assert found["command"] == f"hardsim trace typed.{suffix} -- ba"


HOSTILE = [
    "language: @/etc/passwd",
    "alphabet: a b\nlanguage: @/etc/passwd\n",
    "alphabet: @/etc/passwd\na\n",
    "alphabet: a b\n@/etc/passwd\n",
    "alphabet: a b\n#include </etc/passwd>\na\n",
    "#import /etc/passwd\n",
    "alphabet: a b\nnetwork: /etc/passwd\na\n",
    "alphabet: a b\naccept: @/etc/passwd\na\n",
    "alphabet: a b\n/root|x/\n",
    'HOA: v1\ntool: "/etc/passwd"\n--BODY--\n--END--\n',
    '{"format": "hardsim-model", "weights": "/etc/passwd"}',
    'digraph { a [image="/etc/passwd"] }',
    "\0/etc/passwd\0",
    "__import__('os').system('touch /tmp/x')",
    "alphabet: $(id) `id` ;id\n'$(id)'\n",
]


@pytest.mark.parametrize("suffix", get_args(Suffix))
def test_texts_that_name_files_read_none(server: Server, suffix: str) -> None:
    """No file reaches an answer: `root:` is how the file of users begins."""
    for text in HOSTILE:
        found = server.run("check", text, suffix, max_n=2)
        assert found["code"] in (0, 1, 2)
        assert found["stopped"] is None
        assert "root:" not in json.dumps(found)
        assert "internal error" not in found["messages"]


@pytest.mark.parametrize("word", ["-", "--json=/tmp/hardsim-was-written", "--plot", "@/etc/passwd", "/etc/passwd", ""])
def test_words_are_no_options_and_no_files(server: Server, word: str) -> None:
    found = server.run("trace", word=word)
    assert (found["code"], found["stopped"]) == (2, None)
    assert "root:" not in json.dumps(found)
    assert not Path("/tmp/hardsim-was-written").exists()


@pytest.mark.parametrize("beta", ["--json=/tmp/hardsim-was-written", "@/etc/passwd", "1 --plot x", "$(id)"])
def test_a_beta_is_no_option(server: Server, beta: str) -> None:
    found = server.run("check", beta=beta, max_n=2)
    assert (found["code"], found["stopped"]) == (2, None)
    assert not Path("/tmp/hardsim-was-written").exists()


def test_nothing_is_left_behind(server: Server, folder: Path) -> None:
    server.run("trace", word="ab")
    assert list(folder.glob("hardsim-*")) == []


# ---- the command ----


def test_ctrl_c_ends_it_and_json_says_where_it_is(hardsim: Cli, tmp_path: Path) -> None:
    # The terminal sends Ctrl-C to all processes of the command, also to one that still imports.
    with serving("--json", str(tmp_path / "ready.json"), start_new_session=True) as found:
        document = json.loads((tmp_path / "ready.json").read_text(encoding="utf-8"))
        assert document["results"] == [{"url": found.url, "port": found.port}]
        assert (document["command"], document["exit_code"]) == ("serve", 0)
        taken = hardsim("serve", "--port", str(found.port))
        taken.refused(f"error: port {found.port} is in use", "--port 0 takes a free one")
        # A request that runs is given up.
        asking = http.client.HTTPConnection("127.0.0.1", found.port, timeout=PATIENCE)
        body = {"action": "critical", "text": SINCE, "suffix": "ltl", "max_n": 16}
        given = {"Content-Type": "application/json", "Origin": found.url[:-1]}
        with closing(asking):
            asking.request("POST", "/run", json.dumps(body), given)
            os.killpg(found.running.pid, signal.SIGINT)
            out, err = found.running.communicate(timeout=PATIENCE)
        assert (found.running.returncode, out) == (130, "")
        assert err.endswith("interrupted\n")
        assert "Traceback" not in err


def test_it_says_what_is_missing(hardsim: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.cli.serve.find_spec", lambda name: None if name == "uvicorn" else True)
    hardsim("serve").refused("error: serve needs uvicorn, not installed", "pip install", "[serve]")
    monkeypatch.setattr("hardsim.cli.serve.find_spec", lambda name: None if name == "resource" else True)
    hardsim("serve").refused("limits of memory and time", "Linux and macOS")


def test_a_question_shows_its_command() -> None:
    def command(**given: Any) -> str:
        return msgspec.convert({"text": "", "suffix": "ltl", **given}, PageRequest).command

    assert command(action="check", max_n=4) == "hardsim check typed.ltl --max-n 4"
    assert command(action="trace", word="a b") == "hardsim trace typed.ltl --plot=maps.svg -- 'a b'"
    # A dash alone reads standard input; a space before a word has no meaning.
    assert command(action="trace", word="-") == "hardsim trace typed.ltl --plot=maps.svg -- ' -'"
    assert command(action="critical", beta="7/2") == "hardsim bound typed.ltl --critical --max-n 6"
    assert command(action="words", suffix="cr", regime="none") == "hardsim words typed.cr --max-n 6"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('"max_n": 0', "a number from 1 to 16 as the longest word"),
        ('"beta": "%s"' % ("1" * 41), "at most 40 characters"),
        ('"word": "%s"' % ("a" * 1001), "more than 1,000 characters"),
        ('"regime": "x"', "does not send such a request"),
    ],
)
def test_a_value_that_the_page_may_not_send_has_advice(value: str, message: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(f'{{"action": "show", "text": "", "suffix": "ltl", {value}}}', type=PageRequest)
    assert message in refusal(caught.value)


def test_the_page_offers_every_regime() -> None:
    offered = re.findall(r"<option>([a-z-]+)</option>", parts()["/"].decode())
    assert {*offered} == {*NAMED}
    assert {*get_args(Regime)} == {"", *NAMED}
