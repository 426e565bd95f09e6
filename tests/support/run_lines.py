"""Executes the `RUN:` lines of a test file inside this Python process.

A cold `xdsl-opt` spends a second on imports before it reads its input; here the mains
of `xdsl-opt`, `xdsl-tvm` and `filecheck` are called in one warm process instead, with
their arguments and streams replaced. The lines keep lit's meaning (continuations,
`%s %S %t %T`, pipes with pipefail, `&&`, `not`, redirections), so lit runs the same
files. A line that needs any other program, or shell syntax beyond that, is handed to
a shell as it is.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from support.features import feature_holds

SHELL_TIMEOUT_SECONDS = 300
SHOWN_CHARACTERS = 8000

_KEYWORD = re.compile(r"\b(RUN|REQUIRES|UNSUPPORTED|XFAIL|DEFINE|REDEFINE):(.*)")
_SUBSTITUTION = re.compile(r"%(%|basename_t|s|S|t|T)")
_TOKEN = re.compile(
    r"""\s*(?:(?P<operator>&&|2>&1|2>|\||>(?![>&])|<(?!<))
        |(?P<word>(?:'[^']*'|"[^"$`\\]*"|[^\s'"|&;<>()$`\\*?~#])+))""",
    re.VERBOSE,
)
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")


class RunLineError(Exception):
    """A test file whose RUN, REQUIRES or UNSUPPORTED lines make no sense."""


class RunLineFailure(Exception):
    """A RUN line whose exit status is not zero; the message holds all its output."""


class _NeedsShell(Exception):
    """The line uses syntax or a program that only a shell can run."""


@dataclass
class Script:
    """The lines of one test file that say how to run it."""

    commands: list[str] = field(default_factory=list[str])
    requires: list[str] = field(default_factory=list[str])
    unsupported: list[str] = field(default_factory=list[str])

    def skip_reason(self) -> str | None:
        """Why this machine cannot run the file, or None if it can."""
        for expression in self.requires:
            if not feature_holds(expression):
                return f"requires {expression}"
        for expression in self.unsupported:
            if feature_holds(expression):
                return f"unsupported with {expression}"
        return None


def parse_script(path: Path) -> Script:
    """Reads the RUN, REQUIRES and UNSUPPORTED lines of `path`.

    Raises RunLineError if there is no RUN line, a continuation has no next line, or a
    keyword of lit is used that this runner does not execute.
    """
    script = Script()
    pending = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = _KEYWORD.search(line)
        if match is None:
            continue
        keyword, text = match[1], match[2].strip()
        if keyword == "RUN":
            pending += text
            if pending.endswith("\\"):
                pending = pending[:-1]
            else:
                script.commands.append(pending)
                pending = ""
        elif keyword == "REQUIRES":
            script.requires += _terms(text)
        elif keyword == "UNSUPPORTED":
            script.unsupported += _terms(text)
        else:
            raise RunLineError(f"{path}:{number}: {keyword}: lines are not supported")
    if pending:
        raise RunLineError(f"{path}: the last RUN line ends in a continuation")
    if not script.commands:
        raise RunLineError(f"{path}: no RUN line")
    return script


def _terms(text: str) -> list[str]:
    return [term.strip() for term in text.split(",") if term.strip()]


@dataclass(frozen=True)
class Stage:
    """One command of a pipe."""

    words: tuple[str, ...]
    negated: bool
    stdin_path: str | None
    stdout_path: str | None
    stderr_path: str | None
    merge_stderr: bool


@dataclass(frozen=True)
class StageResult:
    """What one command of a pipe printed, and its exit status after `not`."""

    words: tuple[str, ...]
    status: int
    stdout: bytes
    stderr: bytes

    def report(self) -> str:
        lines = [f"-- {' '.join(self.words)}  (exit {self.status})"]
        for name, data in (("stdout", self.stdout), ("stderr", self.stderr)):
            text = data.decode(errors="replace")
            if len(text) > SHOWN_CHARACTERS:
                left_out = len(text) - SHOWN_CHARACTERS
                text = f"[{left_out} characters left out]{text[-SHOWN_CHARACTERS:]}"
            if text:
                lines.append(f"{name}:\n{text.rstrip()}")
        return "\n".join(lines)


def run_script(script: Script, path: Path, scratch: Path) -> None:
    """Runs every RUN line of `script`, which was read from `path`.

    `scratch` is an existing folder for `%t` and `%T`. Raises RunLineFailure at the
    first line that fails.
    """
    for command in script.commands:
        run_line(_substitute(command, path, scratch), scratch)


def _substitute(command: str, path: Path, scratch: Path) -> str:
    values = {
        "%": "%",
        "s": str(path),
        "S": str(path.parent),
        "t": str(scratch / f"{path.name}.tmp"),
        "T": str(scratch),
        "basename_t": f"{path.name}.tmp",
    }
    return _SUBSTITUTION.sub(lambda match: values[match[1]], command)


def run_line(line: str, scratch: Path) -> None:
    """Runs one substituted RUN line; raises RunLineFailure unless it succeeds."""
    try:
        pipes = _parse_line(line)
    except _NeedsShell:
        results = [_run_in_shell(line, scratch)]
        if results[0].status:
            raise RunLineFailure(_failure_text(line, results)) from None
        return
    for pipe in pipes:
        results = _run_pipe(pipe)
        if any(result.status for result in results):
            raise RunLineFailure(_failure_text(line, results))


def _failure_text(line: str, results: Sequence[StageResult]) -> str:
    return "\n".join([f"RUN: {line}", *(result.report() for result in results)])


def _tokens(line: str) -> Iterator[tuple[bool, str]]:
    """Yields (is an operator, text) for each token of `line`."""
    position, line = 0, line.rstrip()
    while position < len(line):
        match = _TOKEN.match(line, position)
        if match is None:
            raise _NeedsShell
        position = match.end()
        if match["operator"]:
            yield True, match["operator"]
        else:
            unquoted = _QUOTED.sub(lambda m: m[1] or m[2] or "", match["word"])
            yield False, unquoted


def _parse_line(line: str) -> list[list[Stage]]:
    """The pipes of `line`, to be run one after the other, each a list of stages."""
    pipes: list[list[Stage]] = [[]]
    current: list[tuple[bool, str]] = []
    for is_operator, text in _tokens(line):
        if not is_operator or text not in ("|", "&&"):
            current.append((is_operator, text))
            continue
        pipes[-1].append(_parse_stage(current))
        current = []
        if text == "&&":
            pipes.append([])
    pipes[-1].append(_parse_stage(current))
    return pipes


def _parse_stage(tokens: Sequence[tuple[bool, str]]) -> Stage:
    words: list[str] = []
    redirections: dict[str, str] = {}
    merge_stderr = False
    remaining = iter(tokens)
    for is_operator, text in remaining:
        if not is_operator:
            words.append(text)
        elif text == "2>&1" and ">" not in redirections:
            merge_stderr = True
        else:
            target_is_operator, target = next(remaining, (True, ""))
            if target_is_operator:
                raise _NeedsShell
            redirections[text] = target
    negated = words[:1] == ["not"]
    if negated:
        del words[0]
    if not words or words[0] not in _MAINS:
        raise _NeedsShell
    return Stage(
        tuple(words),
        negated,
        redirections.get("<"),
        redirections.get(">"),
        redirections.get("2>"),
        merge_stderr,
    )


def _run_pipe(pipe: Sequence[Stage]) -> list[StageResult]:
    results: list[StageResult] = []
    data = b""
    for stage in pipe:
        if stage.stdin_path is not None:
            data = Path(stage.stdin_path).read_bytes()
        result = _run_stage(stage, data)
        data = result.stdout
        if stage.stdout_path is not None:
            Path(stage.stdout_path).write_bytes(data)
            data = b""
        if stage.stderr_path is not None:
            Path(stage.stderr_path).write_bytes(result.stderr)
        results.append(result)
    return results


def _run_stage(stage: Stage, data: bytes) -> StageResult:
    stdout = io.BytesIO()
    stderr = stdout if stage.merge_stderr else io.BytesIO()
    with ExitStack() as stack:
        out_text = stack.enter_context(_text_stream(stdout))
        err_text = (
            out_text if stage.merge_stderr else stack.enter_context(_text_stream(stderr))
        )
        stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
        stack.enter_context(_process_state(list(stage.words), stdin))
        stack.enter_context(redirect_stdout(out_text))
        stack.enter_context(redirect_stderr(err_text))
        status = _status_of(_MAINS[stage.words[0]])
    if stage.negated:
        status = int(status == 0)
    errors = b"" if stage.merge_stderr else stderr.getvalue()
    return StageResult(stage.words, status, stdout.getvalue(), errors)


def _status_of(main: Callable[[], object]) -> int:
    """Calls a command's main and gives the exit status the process would have had."""
    try:
        result = main()
    except SystemExit as exit_request:
        result = exit_request.code
    except KeyboardInterrupt:
        raise
    except BaseException:  # xDSL's pipeline errors do not derive from Exception
        traceback.print_exc()
        return 1
    if isinstance(result, str):
        print(result, file=sys.stderr)
        return 1
    return result if isinstance(result, int) else 0


@contextmanager
def _text_stream(raw: io.BytesIO) -> Generator[io.TextIOWrapper]:
    """A text stream over `raw` that leaves `raw` open."""
    stream = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    try:
        yield stream
    finally:
        stream.flush()
        stream.detach()


@contextmanager
def _process_state(argv: list[str], stdin: io.TextIOWrapper) -> Generator[None]:
    """Sets the arguments and stdin; restores them and what xdsl-opt sets globally."""
    from xdsl.ir import Attribute
    from xdsl.utils.diagnostic import Diagnostic

    saved = sys.argv, sys.stdin, Attribute.__post_init__, Diagnostic.colored
    sys.argv, sys.stdin = argv, stdin
    try:
        yield
    finally:
        sys.argv, sys.stdin, Attribute.__post_init__, Diagnostic.colored = saved


def _xdsl_opt() -> object:
    # Not xdsl.tools.xdsl_opt.main: it resets the filter for deprecation warnings.
    from xdsl.xdsl_opt_main import xDSLOptMain

    return xDSLOptMain().run()


def _xdsl_tvm() -> object:
    from xdsl_tvm.tools.cli import main

    # Without arguments it forks, and both processes would go on with the tests.
    return main(sys.argv[1:])


def _filecheck() -> object:
    from filecheck.main import main

    return main()


_MAINS: dict[str, Callable[[], object]] = {
    "filecheck": _filecheck,
    "xdsl-opt": _xdsl_opt,
    "xdsl-tvm": _xdsl_tvm,
}


def _run_in_shell(line: str, scratch: Path) -> StageResult:
    scripts = str(Path(sys.executable).parent)
    environment = dict(os.environ)
    environment["PATH"] = os.pathsep.join([scripts, environment.get("PATH", "")])
    program = f'set -o pipefail\nnot() {{ ! "$@"; }}\n{line}\n'
    done = subprocess.run(
        ["bash", "-c", program],
        cwd=scratch,
        env=environment,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=SHELL_TIMEOUT_SECONDS,
        check=False,
    )
    return StageResult(("bash", "-c", line), done.returncode, done.stdout, done.stderr)
