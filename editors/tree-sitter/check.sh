#!/bin/sh
# Generates the parser and parses every script of the project: none may have an ERROR or a MISSING node.
# Needs `tree-sitter` on the path (npm install -g tree-sitter-cli, or cargo install tree-sitter-cli) and a C compiler.
set -eu
cd "$(dirname "$0")"
tree-sitter generate
tree-sitter parse --quiet ../../examples/*.itp ../../std/*.itp ../../benches/peers/itp/*.itp ../../tests/inputs/*.itp
echo "every script parses"
