// SPDX-License-Identifier: GPL-2.0-or-later
// What several screens are made of.

import { Alert, Button, type ButtonProps, EmptyState, EmptyStateBody, FormSelect, FormSelectOption, Label, type LabelProps, Spinner, Tooltip } from "@patternfly/react-core";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import type { Asked } from "./dedupctl";
import type { Row } from "./filesystems";

const _ = cockpit.gettext;

// The tables of all screens become lists of labelled values below this width.
export const TABLE = { variant: "compact", gridBreakPoint: "grid-lg" } as const;

export const Admin = createContext<boolean | null>(null);

// A button for a change: it is disabled without administrative access, and shows what went wrong.
export function ActionButton({ act, children, onDone, ...props }:
    Omit<ButtonProps, "onClick"> & { act: () => PromiseLike<unknown>; onDone?: (failed: string | null) => void }) {
    const admin = useContext(Admin);
    const fail = useContext(Failed);
    const [busy, setBusy] = useState(false);

    async function click() {
        setBusy(true);
        try {
            await act();
            onDone?.(null);
        } catch (failed) {
            const text = (failed as Error).message || cockpit.message(failed);
            (onDone ?? fail)(text);
        }
        setBusy(false);
    }

    const button = (
        <Button {...props} isAriaDisabled={admin === false || busy || !!props.isDisabled} isDisabled={false} isLoading={busy}
                onClick={() => void click()}>{children}</Button>);
    return admin === false
        ? <Tooltip content={_("Turn on administrative access in the top bar first.")}>{button}</Tooltip>
        : button;
}

// Where a failed action is reported: above the screen.
export const Failed = createContext<(text: string | null) => void>(() => undefined);

// What a verb answered, or what it is waiting for, or why it did not answer.
export function Answer<T>({ asked, wait, children }: { asked: Asked<T>; wait?: string; children: (value: T) => ReactNode }) {
    if (asked.failed)
        return <Alert isInline component="h2" variant="warning" title={asked.failed.message} />;
    if (asked.value === null)
        return asked.busy ? <Loading text={wait} /> : null;
    return <>{children(asked.value)}</>;
}

export function Loading({ text }: { text?: string }) {
    return <EmptyState variant="sm" titleText={text ?? _("Loading…")} headingLevel="h2" icon={Spinner} />;
}

export function Nothing({ title, children }: { title: string; children?: ReactNode }) {
    return <EmptyState variant="sm" titleText={title} headingLevel="h2">{children && <EmptyStateBody>{children}</EmptyStateBody>}</EmptyState>;
}

// A name of a file or directory: text only, broken anywhere rather than wider than its column.
export function Name({ children }: { children: string }) {
    return <span className="dedupd-name" dir="auto">{children}</span>;
}

// A link to a screen, which also a middle click opens.
export function ScreenLink({ path, options, children }: { path: string[]; options?: Record<string, string>; children: ReactNode }) {
    const href = "#" + cockpit.location.encode(path, options);
    return (
        <a href={href} onClick={event => {
            if (event.button || event.ctrlKey || event.metaKey || event.shiftKey)
                return;
            event.preventDefault();
            cockpit.location.go(path, options);
        }}>{children}</a>);
}

const COLORS: Record<string, LabelProps["color"]> = {
    running: "blue", stopping: "blue", waiting: "green", refused: "red", unmounted: "grey", disabled: "grey",
    complete: "green", interrupted: "yellow", failed: "red",
    ok: "green", note: "blue", warning: "yellow", error: "red",
};

// Words of dedupd that are shown as labels.
const WORDS: Record<string, string> = {
    running: _("running"), stopping: _("stopping"), waiting: _("waiting"), refused: _("refused"),
    unmounted: _("not mounted"), disabled: _("not enabled"), complete: _("complete"), interrupted: _("interrupted"),
    failed: _("failed"), ok: _("ok"), note: _("note"), warning: _("warning"), error: _("error"),
};

export function Word({ children }: { children: string }) {
    return <span><Label isCompact color={COLORS[children] ?? "grey"}>{WORDS[children] ?? children}</Label></span>;
}

// The text after it stayed the same for a moment, so that a search does not begin with each key.
export function useSettled(text: string): string {
    const [settled, setSettled] = useState(text);
    useEffect(() => {
        const timer = window.setTimeout(() => setSettled(text), 300);
        return () => window.clearTimeout(timer);
    }, [text]);
    return settled;
}

// Which of several filesystems a screen is about: the first one, until the user chooses another.
export function useChosen(rows: Row[], options: Record<string, string>): [Row | undefined, (uuid: string) => void] {
    const [uuid, choose] = useState(options["uuid"] ?? "");
    return [rows.find(row => row.uuid === uuid) ?? rows[0], choose];
}

export function Chooser({ rows, row, choose, all }: { rows: Row[]; row?: Row; choose: (uuid: string) => void; all?: string }) {
    return (
        <FormSelect className="dedupd-chooser" aria-label={_("Filesystem")} value={row?.uuid ?? ""} onChange={(_event, uuid) => choose(uuid)}>
            {all && <FormSelectOption value="" label={all} />}
            {rows.map(one => <FormSelectOption key={one.uuid} value={one.uuid} label={one.mountPoint} />)}
        </FormSelect>);
}
