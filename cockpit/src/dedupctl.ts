// SPDX-License-Identifier: GPL-2.0-or-later
// dedupctl: the documents that it prints as JSON, and the changes that it makes.

import { useCallback, useEffect, useState } from "react";

export interface Filesystem {
    uuid: string;
    mount_point: string | null;
    kind: string | null;
    state: string | null;
    why: string | null;
    next_pass: string | null;
    last_pass: string | null;
    outcome: string | null;
    freed_bytes: number | null;
    freed_total_bytes: number | null;
    deferred_bytes: number | null;
    deferred_snapshots: number | null;
    pinned_bytes: number | null;
    trouble: string | null;
    objects: number | null;
    store_bytes: number | null;
    skipped: Skipped[] | null;
    holds: { uid: number; pid: number | null; since: string | null; why: string | null }[] | null;
}

export interface Skipped { reason: string; count: number; bytes: number; examples: string[]; advice: string | null }

export interface Listed {
    uuid: string | null;
    mount_point: string | null;
    kind: string;
    eligible: string;
    enabled: string | null;
    why: string | null;
}

export interface Pass {
    uuid: string;
    mount_point: string | null;
    started: string;
    seconds: number;
    outcome: string;
    finding_bytes: number;
    compare_bytes: number;
    shared_bytes: number;
    freed_bytes: number;
    net_bytes: number | null;
    deferred_bytes: number;
    used_bytes: number | null;
}

export interface Waste { reclaimable_bytes: number; shared_bytes: number; files: number; keys: WasteKey[] }
export interface WasteKey { key: string; reclaimable_bytes: number; shared_bytes: number; files: number }

export interface Group { uuid: string; reclaimable_bytes: number; size_bytes: number; files: { state: string; file: string }[] }

export interface Reason { reason: string; bytes: number; file: string; evidence: string }

export interface Subvolume {
    id: number;
    path: string | null;
    access: string;
    created: string | null;
    parent: string | null;
    reclaimable_bytes: number | null;
    referenced_bytes: number;
    deferred_bytes: number | null;
}

export interface Subvolumes { filesystem: string; approximate: string; together_bytes: number | null; subvolumes: Subvolume[] }

export interface Finding { level: "ok" | "note" | "warning" | "error"; subject: string; check: string; evidence: string; advice: string | null }

export interface Setting {
    section: string;
    key: string;
    value: string | null;
    file: string | null;
    line: number | null;
    takes: string;
    help: string;
    type: string;
    words: string[];
    list: string;
}

export interface Message { time: string | null; priority: string | null; message: string | null; mount_point: string | null; unit: string | null }

// What each verb prints besides its schema and version.
export interface Documents {
    status: { filesystems: Filesystem[] };
    list: { filesystems: Listed[] };
    history: { passes: Pass[] };
    waste: { waste: Waste[] };
    estimate: { estimates: Estimate[] };
    duplicates: { duplicates: Group[]; stale: number };
    why: { reasons: Reason[] };
    snapshots: { snapshots: Subvolumes[] };
    doctor: { findings: Finding[] };
    config: { config: Setting[] };
    log: { messages: Message[] };
}

export interface Estimate { uuid: string; pass_bytes: number; pass_low_bytes: number; pass_high_bytes: number }

// The verb printed no document, or a change was refused.
export class Refusal extends Error {
    constructor(message: string, readonly problem: string | null) {
        super(message);
    }
}

interface Printed { text: string; status: number | null; problem: string | null; message: string }

const READING = { superuser: "try", err: "message", environ: ["LC_ALL=C.UTF-8"] };
const CHANGING = { ...READING, superuser: "require" };

function finished(process: CockpitProcess): Promise<Printed> {
    return process.then(
        text => ({ text, status: 0, problem: null, message: "" }),
        (failed, text) => ({ text: text ?? "", status: failed.exit_status ?? null, problem: failed.problem,
                             message: failed.message }));
}

const refuse = (printed: Printed): never => {
    throw new Refusal(printed.message.trim() || cockpit.message(printed), printed.problem);
};

// The document of a verb, and what it said on standard error if its exit status was not 0.
export async function ask<V extends keyof Documents>(verb: V, ...words: string[]): Promise<Documents[V] & { note: string }> {
    const printed = await finished(cockpit.spawn(["dedupctl", verb, "--json", ...words], READING));
    try {
        return { ...JSON.parse(printed.text) as Documents[V], note: printed.message.trim() };
    } catch {
        return refuse(printed);
    }
}

// Change something, which takes administrative access.
export async function change(...words: string[]): Promise<string> {
    const printed = await finished(cockpit.spawn(["dedupctl", ...words], CHANGING));
    return printed.status === 0 ? printed.text : refuse(printed);
}

// Keep passes off a filesystem until the process is closed.
export function hold(uuid: string, why: string): CockpitProcess {
    return cockpit.spawn(["dedupctl", "hold", "--why=" + why, uuid, "--", "sleep", "infinity"], CHANGING);
}

// The last messages, then each further one, until the process is closed.
export function follow(lines: number, receive: (messages: Message[]) => void): CockpitProcess {
    let rest = "";
    return cockpit.spawn(["dedupctl", "log", "--json", "--follow", `--lines=${lines}`], READING)
        .stream(text => {
            const documents = (rest + text).split("\n");
            rest = documents.pop()!;
            receive(documents.flatMap(document => (JSON.parse(document) as Documents["log"]).messages));
        });
}

// Check the text of a drop-in as dedupd does, and only then write it.
const WRITE_DROP_IN = `
set -eu
mkdir -p "$1"
new=$(mktemp "$1/.cockpit.XXXXXX")
trap 'rm -f "$new"' EXIT
cat >"$new"
dedupctl config --check "$new" >&2
chmod 644 "$new"
mv "$new" "$1/$2"
`;
const DROP_INS = "/etc/dedupd/dedupd.conf.d";
export const OWN_DROP_IN = "cockpit.conf";

export async function writeDropIn(text: string): Promise<void> {
    const process = cockpit.script(WRITE_DROP_IN, [DROP_INS, OWN_DROP_IN], CHANGING);
    process.input(text);
    const printed = await finished(process);
    if (printed.status !== 0)
        refuse(printed);
}

// The bytes that an escaped name stands for; null: they are no text, so no argument can have them.
export function unescaped(name: string): string | null {
    const plain: Record<string, number> = { n: 10, t: 9, e: 27, r: 13, a: 7, b: 8, f: 12, v: 11, "\\": 92 };
    const encoder = new TextEncoder();
    const pieces = name.match(/\\x[0-9a-f]{2}|\\.|[^\\]+/gis) ?? [];
    const numbers = pieces.flatMap(piece => {
        if (!piece.startsWith("\\"))
            return [...encoder.encode(piece)];
        return [piece[1] === "x" ? parseInt(piece.slice(2), 16) : plain[piece[1]!] ?? piece.charCodeAt(1)];
    });
    try {
        return new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(numbers));
    } catch {
        return null;
    }
}

export interface Asked<T> { value: T | null; failed: Refusal | null; busy: boolean; again: () => void }

// The document of a verb for a screen; null instead of words: do not ask (yet).
export function useDedupctl<V extends keyof Documents>(verb: V, words: string[] | null): Asked<Documents[V] & { note: string }> {
    type Answer = Documents[V] & { note: string };
    const [answer, setAnswer] = useState<{ value: Answer | null; failed: Refusal | null; busy: boolean }>(
        { value: null, failed: null, busy: words !== null });
    const [turn, setTurn] = useState(0);
    const key = words && JSON.stringify(words);

    useEffect(() => {
        let current = true;
        if (key === null) {
            setAnswer({ value: null, failed: null, busy: false });
            return;
        }
        setAnswer(old => ({ ...old, busy: true }));
        ask(verb, ...JSON.parse(key) as string[]).then(
            value => current && setAnswer({ value, failed: null, busy: false }),
            (failed: Refusal) => current && setAnswer({ value: null, failed, busy: false }));
        return () => { current = false; };
    }, [verb, key, turn]);

    return { ...answer, again: useCallback(() => setTurn(old => old + 1), []) };
}
