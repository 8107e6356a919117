#!/usr/bin/env python3
"""All mutants of some files in one program: each function gets one body per mutant, and a variable of the environment says which of
them is meant. So the crate is compiled once, and a mutant takes as long as its tests.

    fn size(&self) -> u64 { self.a + 1 }    ->    fn size(&self) -> u64 {
                                                      match crate::mutant(3) { 7 => { self.a - 1 } _ => { self.a + 1 } } }

    mutants_at_once.py FOLDER TESTS FILES [TESTS FILES]…

works in FOLDER, a crate that may be changed (tests/mutants_accounts.sh makes it). TESTS are names of tests of the library, or parts of names;
`model` is the program of that name. Each test is run once without a mutant, which says how long it takes and which functions it comes
through (the 3 above): a mutant is tried with the tests that come through its function and no others, quick ones first.

What becomes of each mutant goes to FOLDER/outcomes.txt: it is caught, missed, reached by no test, or does not compile.
MUTANTS_SHARE=0/4 tries the first of every four, MUTANTS_OF=src/plan those of files whose path has that in it.

Mutants are those of cargo-mutants, as far as they are worth a try: operators become others, `!` goes away, conditions of `if` and of arms
hold always or never, and functions give back the simplest values of their type.
"""
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BUILD = ["cargo", "test", "--lib", "--test", "model", "--no-run", "--message-format", "json"]
WHICH = """
pub(crate) fn mutant(function: usize) -> u32 {
    use std::sync::atomic::{AtomicBool, Ordering};
    static WHICH: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    static SEEN: [AtomicBool; FUNCTIONS] = [const { AtomicBool::new(false) }; FUNCTIONS];
    if !SEEN[function].load(Ordering::Relaxed) && !SEEN[function].swap(true, Ordering::Relaxed) {
        if let Ok(path) = std::env::var("MUTANT_SEEN") {
            use std::io::Write;
            let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
            writeln!(file.expect("a file"), "{function}").expect("room");
        }
    }
    *WHICH.get_or_init(|| std::env::var("MUTANT").map_or(0, |text| text.parse().expect("a number")))
}
"""
OPERATORS = {
    "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
    "<": ["==", ">", "<="], ">": ["==", "<", ">="], "<=": [">", "<"], ">=": ["<", ">"],
    "+": ["-", "*"], "-": ["+", "/"], "*": ["+", "/"], "/": ["*", "%"], "%": ["/", "+"],
    "+=": ["-=", "*="], "-=": ["+=", "/="], "*=": ["+="], "|=": ["&="], "&=": ["|="], "|": ["&"], "&": ["|"],
    "<<": [">>"], ">>": ["<<"],
}
NUMBERS = {f"{sign}{bits}" for sign in "iu" for bits in ("8", "16", "32", "64", "128", "size")}


def masked(text):
    """The text with spaces for comments and literals, so that places stay."""
    literal = r'//[^\n]*|/\*.*?\*/|b?"(?:\\.|[^"\\])*"|b?\'(?:\\[^\n]+?|[^\'\\\n])\''
    return re.sub(literal, lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.S)


def closing(text, at):
    """Where the bracket that opens at a place is closed."""
    depth = 0
    for found in re.compile(r"[()\[\]{}]").finditer(text, at):
        depth += 1 if found[0] in "([{" else -1
        if depth == 0:
            return found.start()


def functions(text):
    """(name, type of the result, first and last place of the body) of each function outside of tests."""
    end = text.find("#[cfg(test)]\nmod ")
    for found in re.compile(r"\bfn (\w+)").finditer(text, 0, len(text) if end < 0 else end):
        after = closing(text, text.index("(", found.end())) + 1
        opening = re.compile(r"[{;]").search(text, after)
        if opening[0] == "{":
            result = text[after:opening.start()].split("where")[0].replace("->", "").strip()
            yield found[1], result, opening.start() + 1, closing(text, opening.start())


def values(result):
    """The simplest values of a type."""
    inside = re.fullmatch(r"\w+<(.*)>", result)
    if result == "" or result == "bool" or result in NUMBERS:
        return {"": ["()"], "bool": ["true", "false"]}.get(result, ["0", "1"])
    if result.startswith("Option<"):
        return ["None"] + [f"Some({value})" for value in values(inside[1])]
    if result.startswith("Result<"):
        return [f"Ok({value})" for value in values(inside[1].split(",")[0])]
    return ["Default::default()"]


def changes(text, first, last):
    """(first and last place, what stands there instead) for each mutant inside of a body."""
    for found in re.compile(r" ([=!<>+\-*/%|&]+) ").finditer(text, first, last):
        for other in OPERATORS.get(found[1], []):
            yield found.start(1), found.end(1), other
    for found in re.compile(r"(?<=[\s(])!(?=[\w(])").finditer(text, first, last):
        yield found.start(), found.end(), ""
    for found in re.compile(r"(?:=> | )if (?!let)([^{}]*?) (?:=>|\{)").finditer(text, first, last):
        if " let " not in found[1]:
            yield found.start(1), found.end(1), "true"
            yield found.start(1), found.end(1), "false"


def listed(file, text):
    """All mutants of a file."""
    plain, mutants = masked(text), []
    every = list(functions(plain))
    inner = lambda at: min(((last - first, name) for name, _, first, last in every if first <= at < last))[1]
    for name, result, first, last in every:
        if "impl " in result:
            continue
        body = {"file": file, "body": (first, last), "function": name}
        whole = [(first, last, f" {value} ") for value in values(result)]
        inside = [change for change in changes(plain, first, last) if inner(change[0]) == name]
        for start, end, replacement in whole + inside:
            line, was = text.count("\n", 0, start) + 1, " ".join(text[start:end].split())
            told = f"{file}:{line}: {name}: {was if len(was) < 40 else '…'} -> {replacement.strip() or 'nothing'}"
            mutants.append(body | {"change": (start, end), "replacement": replacement, "name": told})
    return mutants


def woven(text, mutants):
    """The file with all mutants in it, and the lines of each."""
    bodies = {}
    for mutant in mutants:
        if mutant["body"] is not None:
            bodies.setdefault(mutant["body"], []).append(mutant)
    parts, done, line, lines = [], 0, 1, {}

    def put(part):
        nonlocal line
        parts.append(part)
        line += part.count("\n")

    for (first, last), own in sorted(bodies.items(), key=lambda entry: entry[0]):
        put(text[done:first] + f"\nmatch crate::mutant({own[0]['number']}) {{\n")
        for mutant in own:
            begin = line
            start, end = mutant["change"]
            put(f"{mutant['id']} => {{ {text[first:start]}{mutant['replacement']}{text[end:last]} }}\n")
            lines[mutant["id"]] = range(begin, line)
        put(f"_ => {{ {text[first:last]} }}\n}}\n")
        done = last
    put(text[done:])
    return "".join(parts), lines


def build(texts, mutants):
    """Compiles what compiles; gives the programs."""
    while True:
        lines = {}
        for file, text in texts.items():
            own = [mutant for mutant in mutants if mutant["file"] == file and "outcome" not in mutant]
            changed, lines[file] = woven(text, own)
            Path(file).write_text(changed)
        ran = subprocess.run(BUILD, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        told = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
        if ran.returncode == 0:
            made = [one for one in told if one.get("executable")]
            return {one["target"]["name"]: one["executable"] for one in made}
        places = set()
        for one in told:
            if one["reason"] == "compiler-message" and one["message"]["level"] == "error":
                every = one["message"]["spans"] + [span for child in one["message"]["children"] for span in child["spans"]]
                places |= {(span["file_name"], line) for span in every for line in (span["line_start"], span["line_end"])}
        bad = {id for file, of in lines.items() for id, at in of.items() if any((file, line) in places for line in at)}
        if not bad:
            sys.exit("it does not compile, and no mutant is to blame")
        print(f"{len(bad)} do not compile", flush=True)
        for mutant in mutants:
            if mutant["id"] in bad:
                mutant["outcome"] = "does not compile"


def ended(program, names, **environment):
    """Runs tests; their exit code."""
    command = [*os.environ.get("MUTANTS_WITH", "").split(), "sh", "limited.sh", program, *names]
    ran = subprocess.run(command, env=dict(os.environ, **environment), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return ran.returncode


def reaching(programs, parts):
    """(seconds, program, names, functions that it comes through) of each test, quick ones first; all have to pass."""
    tests = []
    for part in parts:
        if part == "model":
            tests.append((programs["model"], []))
            continue
        told = subprocess.run([programs["itp"], part, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
        tests += [(programs["itp"], [line.removesuffix(": test"), "--exact"]) for line in told.splitlines() if line.endswith(": test")]
    known = []
    for program, names in dict.fromkeys((program, tuple(names)) for program, names in tests):
        seen, begin = Path("seen.txt"), time.monotonic()
        seen.unlink(missing_ok=True)
        if ended(program, names, MUTANT_SEEN=str(seen.absolute())) != 0:
            sys.exit(f"{names} fails without a mutant")
        through = {int(line) for line in seen.read_text().split()} if seen.exists() else set()
        known.append((time.monotonic() - begin, program, names, through))
    return sorted(known, key=lambda test: test[0])


def outcome(tests, mutant):
    """Runs the tests that come through the function of a mutant until one fails."""
    own = [test for test in tests if mutant["number"] in test[3]]
    for _, program, names, _ in own:
        code = ended(program, names, MUTANT=str(mutant["id"]))
        if code != 0:
            return f"caught ({'too long' if code in (124, 137, 152) else 'fails'}, {' '.join(names[:1]) or 'model'})"
    return f"missed by {len(own)} tests" if own else "reached by no test"


def main():
    folder, *pairs = sys.argv[1:]
    os.chdir(folder)
    every = {file: tests.split() for tests, files in zip(pairs[::2], pairs[1::2]) for file in files.split()}
    chosen = {file: tests for file, tests in every.items() if os.environ.get("MUTANTS_OF", "") in file}
    texts = {file: Path(file).read_text() for file in chosen}
    mutants = [mutant for file, text in texts.items() for mutant in listed(file, text)]
    bodies = {body: number for number, body in enumerate(dict.fromkeys((one["file"], one["body"]) for one in mutants))}
    for id, mutant in enumerate(mutants, 1):
        mutant |= {"id": id, "number": bodies[mutant["file"], mutant["body"]]}
    for root in ["src/lib.rs", "tests/model/main.rs"]:
        Path(root).write_text(Path(root).read_text() + WHICH.replace("FUNCTIONS", str(len(bodies))))
    programs = build(texts, mutants)
    known = {tests: reaching(programs, tests) for tests in {tuple(tests) for tests in chosen.values()}}
    share, of = (int(part) for part in os.environ.get("MUTANTS_SHARE", "0/1").split("/"))
    tried = [mutant for mutant in mutants if "outcome" not in mutant and mutant["id"] % of == share]
    tell = lambda mutant: outcome(known[tuple(chosen[mutant["file"]])], mutant)
    with open("outcomes.txt", "w") as out, ThreadPoolExecutor(int(os.environ.get("MUTANTS_JOBS", "1"))) as jobs:
        for mutant in mutants:
            if "outcome" in mutant:
                print(f"{mutant['outcome']}: {mutant['name']}", file=out, flush=True)
        for mutant, became in zip(tried, jobs.map(tell, tried)):
            print(f"{became}: {mutant['name']}", file=out, flush=True)


main()
