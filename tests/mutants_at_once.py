#!/usr/bin/env python3
"""All mutants of some files in one program: cargo-mutants lists them, each function gets one body per mutant, and a variable of the
environment says which of them is meant. So the crate is compiled once, and a mutant takes as long as its tests.

    fn size(&self) -> u64 { self.a + 1 }    ->    fn size(&self) -> u64 {
                                                      match crate::mutant() { 7 => { self.a - 1 } _ => { self.a + 1 } } }

    mutants_at_once.py FOLDER STAGES FILES [STAGES FILES]…

works in FOLDER, a crate that may be changed (tests/mutants_accounts.sh makes it). STAGES are names of tests of the library, quick ones
first, with slashes between stages; `model` is the program of that name. What becomes of each mutant goes to FOLDER/outcomes.txt: it is caught,
missed, does not compile, or is not tried, since it is outside of functions. MUTANTS_SHARE=0/4 tries the first of every four, MUTANTS_OF=src/plan
those of files whose path has that in it.
"""
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BUILD = ["cargo", "test", "--lib", "--test", "model", "--no-run", "--message-format", "json"]
WHICH = """
pub(crate) fn mutant() -> u32 {
    static WHICH: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *WHICH.get_or_init(|| std::env::var("MUTANT").map_or(0, |text| text.parse().expect("a number")))
}
"""


def offset(starts, place):
    return starts[place["line"] - 1] + place["column"] - 1


def spans(text, mutant):
    """Where a mutant changes its file, and where the body of its function is, without the braces."""
    starts = [0] + [at.end() for at in re.finditer("\n", text)]
    change = [offset(starts, mutant["span"][end]) for end in ("start", "end")]
    if mutant["function"] is None:
        return change, None
    span = mutant["function"]["span"]
    first, last = offset(starts, span["start"]), offset(starts, span["end"])
    name = mutant["function"]["function_name"].split("::")[-1]
    at = re.compile(r"\bfn " + re.escape(name) + r"\b").search(text, first).end()
    opening = text.index("{", at)
    closing = text.rindex("}", first, last)
    if "impl " in text[text.index(")", at):opening] or not opening < change[0] <= change[1] <= closing:
        return change, None
    return change, (opening + 1, closing)


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
        put(text[done:first] + "\nmatch crate::mutant() {\n")
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


def outcome(programs, stages, which):
    """Runs the stages one after the other until one fails."""
    environment = dict(os.environ, MUTANT=str(which))
    for stage in stages.split("/"):
        names = stage.split()
        test = [programs["model"]] if names == ["model"] else [programs["itp"], *names]
        command = [*os.environ.get("MUTANTS_WITH", "").split(), "sh", "limited.sh", *test]
        code = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
        if code != 0:
            return f"caught ({'too long' if code in (124, 137, 152) else 'fails'}, {stage.strip()})"
    return "missed"


def main():
    folder, *pairs = sys.argv[1:]
    os.chdir(folder)
    every = {file: stages for stages, files in zip(pairs[::2], pairs[1::2]) for file in files.split()}
    stages = {file: stages for file, stages in every.items() if os.environ.get("MUTANTS_OF", "") in file}
    chosen = [word for file in stages for word in ("--file", file)]
    listed = subprocess.run(["cargo", "mutants", "--list", "--json", *chosen], stdout=subprocess.PIPE, check=True)
    mutants = json.loads(listed.stdout)
    texts = {file: Path(file).read_text() for file in stages}
    for number, mutant in enumerate(mutants, 1):
        mutant["id"] = number
        mutant["change"], mutant["body"] = spans(texts[mutant["file"]], mutant)
        if mutant["body"] is None:
            mutant["outcome"] = "not tried"
    for root in ["src/lib.rs", "tests/model/main.rs"]:
        Path(root).write_text(Path(root).read_text() + WHICH)
    programs = build(texts, mutants)
    if any(outcome(programs, stages, 0) != "missed" for stages in dict.fromkeys(stages.values())):
        sys.exit("the tests fail without a mutant")
    share, of = (int(part) for part in os.environ.get("MUTANTS_SHARE", "0/1").split("/"))
    tried = [mutant for mutant in mutants if "outcome" not in mutant and mutant["id"] % of == share]
    tell = lambda mutant: outcome(programs, stages[mutant["file"]], mutant["id"])
    with open("outcomes.txt", "w") as out, ThreadPoolExecutor(int(os.environ.get("MUTANTS_JOBS", "1"))) as jobs:
        for mutant in mutants:
            if "outcome" in mutant:
                print(f"{mutant['outcome']}: {mutant['name']}", file=out, flush=True)
        for mutant, became in zip(tried, jobs.map(tell, tried)):
            print(f"{became}: {mutant['name']}", file=out, flush=True)


main()
