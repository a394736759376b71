// SPDX-License-Identifier: GPL-2.0-or-later
// The part of ../base1/cockpit.js that this page uses, as Cockpit 287 has it.

interface CockpitEvents {
    addEventListener(event: string, listener: (event: Event, ...details: never[]) => void): void;
    removeEventListener(event: string, listener: (event: Event, ...details: never[]) => void): void;
}

interface CockpitProblem {
    problem: string | null;
    message: string;
    name?: string;
    exit_status?: number | null;
}

interface CockpitProcess extends PromiseLike<string> {
    then<A, B>(done: (text: string) => A, failed: (problem: CockpitProblem, text?: string) => B): Promise<A | B>;
    input(text: string): void;
    stream(receive: (text: string) => void): CockpitProcess;
    close(problem?: string): void;
}

interface CockpitProxy extends CockpitEvents {
    valid: boolean;
    path: string;
    [property: string]: unknown;
}

interface CockpitBus extends CockpitEvents {
    call(path: string, face: string, method: string, words: unknown[],
         options?: { type?: string }): Promise<unknown[]>;
    subscribe(match: Record<string, string>, receive: (path: string, face: string, signal: string, words: unknown[]) => void): void;
    proxy(face: string, path: string): CockpitProxy;
    close(): void;
}

declare const cockpit: CockpitEvents & {
    language: string;
    hidden: boolean;
    location: { path: string[]; options: Record<string, string>; go(path: string[], options?: Record<string, string>): void;
                encode(path: string[], options?: Record<string, string>): string };
    dbus(name: string | null, options: { bus: "system" | "internal"; superuser?: "try" | "require" }): CockpitBus;
    spawn(words: string[], options: Record<string, unknown>): CockpitProcess;
    script(text: string, words: string[], options: Record<string, unknown>): CockpitProcess;
    gettext(text: string): string;
    ngettext(one: string, many: string, count: number): string;
    format(text: string, ...values: unknown[]): string;
    message(problem: unknown): string;
};
