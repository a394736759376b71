// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers, sizes, rates and times as text in the language of the user.

const _ = cockpit.gettext;
const language = cockpit.language.replace("_", "-") || "en";
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
export const NONE = "–";

export function count(number: number | null | undefined): string {
    return number == null ? NONE : new Intl.NumberFormat(language).format(number);
}

// Three significant digits: 0 B, 12.3 MiB, 1,020 KiB.
export function bytes(number: number | null | undefined): string {
    if (number == null)
        return NONE;
    const power = Math.abs(number) < 1 ? 0 : Math.min(Math.floor(Math.log2(Math.abs(number)) / 10), UNITS.length - 1);
    const value = number / 1024 ** power;
    const digits = power === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
    return new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value) + " " + UNITS[power];
}

export function rate(number: number | null | undefined): string {
    return number == null ? NONE : cockpit.format(_("$0/s"), bytes(number));
}

export function percent(part: number, all: number): string {
    return new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 }).format(all ? part / all : 0);
}

// "20M", as dedupd.conf has it, in bytes; null: it is no size.
export function parseSize(text: string): number | null {
    const match = /^\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*$/i.exec(text);
    return match ? Math.round(Number(match[1]) * 1024 ** " KMGT".indexOf(match[2]!.toUpperCase() || " ")) : null;
}

// The shortest text that parseSize() gives the same number for.
export function sizeText(number: number): string {
    let power = 0;
    while (power < 4 && number && number % 1024 === 0) {
        number /= 1024;
        power++;
    }
    return `${number}${" KMGT"[power]!.trim()}`;
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

export function duration(seconds: number | null | undefined): string {
    if (seconds == null)
        return NONE;
    const [unit, length] = STEPS.find(([, step]) => seconds >= step) ?? STEPS[3]!;
    const digits = seconds / length >= 10 ? 0 : 1;
    return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: digits })
        .format(seconds / length);
}

// Times are milliseconds, or texts as JSON has them.
export function time(when: number | string | null | undefined): string {
    return when ? new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(new Date(when)) : NONE;
}

// A place on an axis that covers @span milliseconds: the month, or the day, or the time.
export function moment(when: number, span: number): string {
    const form: Intl.DateTimeFormatOptions = span > 90 * 86400000 ? { month: "short", year: "numeric" }
        : span > 2 * 86400000 ? { dateStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" };
    return new Intl.DateTimeFormat(language, form).format(when);
}

// "in 5 minutes", "2 days ago".
export function relative(when: number | string | null | undefined): string {
    if (!when)
        return NONE;
    const seconds = (new Date(when).getTime() - Date.now()) / 1000;
    const [unit, length] = STEPS.find(([, step]) => Math.abs(seconds) >= step) ?? STEPS[3]!;
    return new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(Math.round(seconds / length), unit);
}
