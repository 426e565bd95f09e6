# Every target works from a bare python3 (3.11 or later): the virtual environment .venv
# is made on first use, and renewed when pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SOURCES := analysis benchmarks dialects docs examples frontend interpreters lowering namespaces \
	passes relax runtime src targets tests tools tvmscript
JOBS ?= 2
LIT_SAMPLE ?= 6

# Processes that tests start import the package from bytecode, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-lowest lint typecheck filecheck lit docs onnx torch venv

venv: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "error: Python 3.11 or later is needed; set PYTHON=…")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cpu,dev]'
	touch $@

demo: $(STAMP)
	$(BIN)/python examples/digits/demo.py

# Bytecode first: the workers would all make the same at the same time. Each worker takes
# a run of tests and then some of another's, so that files are read by one of them.
test: $(STAMP)
	$(BIN)/python -m compileall -q -j $(JOBS) $(filter-out docs examples tests,$(SOURCES)) \
	  tests/support
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --durations=15

filecheck: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) -q tests/filecheck

# Lit's own runner, on evenly spaced files: LIT_SAMPLE=100000 runs all.
lit: $(STAMP)
	$(BIN)/python tests/support/lit_sample.py $(LIT_SAMPLE) | xargs $(BIN)/lit -v

lint: $(STAMP)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

typecheck: $(STAMP)
	$(BIN)/basedpyright

# The standard's tests of operators, compiled and interpreted, and the table in docs/onnx.md.
onnx: $(STAMP)
	$(BIN)/python -m xdsl_tvm.tools.onnx_conformance --write docs/onnx.md
	$(BIN)/python -m xdsl_tvm.tools.onnx_conformance --interpret --write docs/onnx.md

# Calls of torch's operators, and the table of docs/torch.md. It needs torch.
torch: $(STAMP)
	$(BIN)/python tests/support/torch_table.py docs/torch.md

docs: $(STAMP)
	$(BIN)/python docs/generate.py

# The oldest xDSL that pyproject.toml allows, in an environment of its own.
test-lowest: $(STAMP)
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
	  "xdsl==$$(sed -n 's/.*"xdsl>=\([0-9.]*\),.*/\1/p' pyproject.toml).*" \
	  -e '.[cpu,dev]'
	.venv-lowest/bin/python -m pytest -n $(JOBS) -q
