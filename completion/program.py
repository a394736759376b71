# SPDX-License-Identifier: GPL-2.0-or-later
"""Program - what a program's --help says that may be typed behind its name.

The tables of verbs and options are the program's own, and --help is how it shows them: what is
completed cannot be something else than what is accepted.
"""

import dataclasses
import json
import os
import re
import subprocess
import tempfile

# What a value or an argument is, by what --help calls it; of the empty ones nothing is known before
# they are typed.
KINDS = {
    "FILE": "file", "PATH": "file", "DIR": "directory", "DIRECTORY": "directory",
    "SUBVOLUME": "directory",
    "COLUMNS": "columns", "COMMAND": "file",
    "UUID": "filesystem", "MOUNT": "filesystem", "DISK": "disk", "KEY=VALUE": "key",
    "SIZE": "", "N": "", "SECONDS": "", "N%": "", "TIME": "", "GLOB": "", "TEXT": "",
}
OPTION = re.compile(r"^  (?:(-\w), )?(--[a-z][a-z-]*)(?:=(\S+))?\s{2,}(\S.*)$", re.MULTILINE)


@dataclasses.dataclass
class Value:
    """Of an option or an argument: words that it may be, and kinds of what else."""
    kinds: list
    words: list

    @staticmethod
    def named(names):
        alternatives = names.split("|")
        found = Value([], [])
        for name in alternatives:
            if re.fullmatch(r"[a-z][a-z0-9-]*", name):
                found.words.append(name)
            elif KINDS.get(name) and KINDS[name] not in found.kinds:
                found.kinds.append(KINDS[name])
        return found


@dataclasses.dataclass
class Option:
    short: str  # "-o", or empty
    long: str
    value: Value  # None: it takes none
    summary: str

    def names(self):
        return [name for name in (self.short, self.long) if name]


@dataclasses.dataclass
class Verb:
    name: str  # of one or two words; empty: what stands before a verb, or a program without verbs
    summary: str
    options: list
    arguments: list  # Value, one for each; the last one stands for all that follow if...
    repeats: bool  # ... this is so
    columns: list


@dataclasses.dataclass
class Program:
    name: str
    common: Verb
    verbs: list  # empty: it has none
    keys: dict  # of the configuration, each with the words that it may have

    def first_words(self):
        """Word -> what is said of it."""
        words = {}
        for verb in self.verbs:
            first, _, second = verb.name.partition(" ")
            words[first] = f"{words[first]}, {second}" if first in words else second or verb.summary
        return words

    def second_words(self):
        """First word -> {second word: what is said of it}, of such as have one."""
        words = {}
        for verb in self.verbs:
            first, _, second = verb.name.partition(" ")
            if second:
                words.setdefault(first, {})[second] = verb.summary
        return words


def ask(program, *words):
    # As it speaks to whom it does not know; what is lost at its end is nobody's loss here.
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "ASAN_OPTIONS": "detect_leaks=0"}
    return subprocess.run([program, *words], env=environment, stdout=subprocess.PIPE,
                          check=True, encoding="utf-8").stdout


def parse_options(text):
    return [Option(short, long, Value.named(value) if value else None, summary)
            for short, long, value, summary in OPTION.findall(text)]


def parse_arguments(text):
    """The arguments, and whether the last of them may be repeated."""
    words = text.replace("[", " ").replace("]", " ").split()
    return [Value.named(word.rstrip("…")) for word in words], bool(words) and words[-1].endswith("…")


def parse_verb(name, summary, text):
    usage = re.search(r"^  \S+.* \[OPTION…\](.*)$", text, re.MULTILINE)[1]
    columns = text.partition("Columns for --output:\n")[2].partition("\n\n")[0].split()
    arguments, repeats = parse_arguments(usage)
    return Verb(name, summary, parse_options(text), arguments, repeats, columns)


def parse_verbs(program, text):
    lines = text.partition("\nVerbs:\n")[2].partition("\n\n")[0].splitlines()
    for name, summary in (re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in lines):
        yield parse_verb(name, summary, ask(program, *name.split(), "--help"))


def words_of(takes):
    """The words out of "auto, hole or a size"."""
    return [word for word in re.split(r", | or ", takes) if re.fullmatch("[a-z][a-z-]*", word)]


def ask_keys(program):
    """What may be said of one filesystem."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "filesystem.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write("[Filesystem /]\n")
        rows = json.loads(ask(program, "config", "--json", "--state-dir", directory, "--config", path, "/"))
    return {row["key"]: words_of(row["takes"]) for row in rows["config"]}


def read(program):
    """The Program whose binary lies there."""
    text = ask(program, "--help")
    name = os.path.basename(program)
    if "\nVerbs:\n" not in text:
        return Program(name, parse_verb("", "", text), [], {})
    common = Verb("", "", parse_options(text), [], False, [])
    return Program(name, common, list(parse_verbs(program, text)), ask_keys(program))
