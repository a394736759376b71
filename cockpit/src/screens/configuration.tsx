// SPDX-License-Identifier: GPL-2.0-or-later
// The configuration as forms, made from the table of keys that `dedupctl config` prints.

import { Alert, Button, Form, FormGroup, FormHelperText, FormSelect, FormSelectOption, HelperText, HelperTextItem, TextArea,
         TextInput } from "@patternfly/react-core";
import { useState } from "react";
import type { ScreenProps } from "../app";
import { reload } from "../bus";
import { change, OWN_DROP_IN, type Setting, useDedupctl, writeDropIn } from "../dedupctl";
import { ActionButton, Answer, Name } from "../parts";

const _ = cockpit.gettext;

interface Field { key: string; takes: string; help: string; words: string[] | null; isList: boolean; value: string; from: string }

// One field for a key, with a line for each value of a list.
function fieldsOf(settings: Setting[]): Field[] {
    const fields = new Map<string, Field>();
    for (const { key, takes, help, value, file, line, type, words, list } of settings) {
        const from = file ? `${file}:${line}` : "";
        const field = fields.get(key);
        if (field) {
            field.value += `\n${value ?? ""}`;
            field.from += `, ${from}`;
        } else {
            fields.set(key, { key, takes, help, value: value ?? "", from,
                              words: type === "choice" ? words : null, isList: list === "yes" });
        }
    }
    return [...fields.values()];
}

const lines = (text: string) => text.split("\n").map(line => line.trim()).filter(line => line);

// The words of `dedupctl enable` that make @new of a value.
function assignments(field: Field, value: string): string[] {
    if (!field.isList)
        return [`${field.key}=${value.trim()}`];
    const [before, after] = [lines(field.value), lines(value)];
    return [...before.filter(line => !after.includes(line)).map(line => `${field.key}-=${line}`),
            ...after.filter(line => !before.includes(line)).map(line => `${field.key}=${line}`)];
}

function Input({ field, value, setValue }: { field: Field; value: string; setValue: (value: string) => void }) {
    const id = `key-${field.key}`;
    if (field.words)
        return (
            <FormSelect id={id} value={value} onChange={(_event, word) => setValue(word)}>
                {field.words.map(word => <FormSelectOption key={word} value={word} label={word} />)}
            </FormSelect>);
    if (field.isList)
        return <TextArea id={id} value={value} rows={Math.max(2, value.split("\n").length)} resizeOrientation="vertical" spellCheck={false}
                         onChange={(_event, text) => setValue(text)} />;
    return <TextInput id={id} value={value} spellCheck={false} autoComplete="off" onChange={(_event, text) => setValue(text)} />;
}

function Fields({ settings, save, again }: { settings: Setting[]; save: (changed: [Field, string][]) => Promise<unknown>; again: () => void }) {
    const fields = fieldsOf(settings);
    const [values, setValues] = useState<Record<string, string>>({});
    const [outcome, setOutcome] = useState<{ failed: string | null } | null>(null);
    const changed = fields.filter(field => values[field.key] !== undefined && values[field.key] !== field.value)
        .map((field): [Field, string] => [field, values[field.key]!]);

    return (
        <Form isHorizontal onSubmit={event => event.preventDefault()} className="dedupd-form">
            {fields.map(field => (
                <FormGroup key={field.key} label={field.key} fieldId={`key-${field.key}`}>
                    <Input field={field} value={values[field.key] ?? field.value}
                           setValue={value => setValues({ ...values, [field.key]: value })} />
                    <FormHelperText><HelperText><HelperTextItem>
                        {field.help} {!field.words && `(${field.takes})`} {field.from && <Name>{cockpit.format(_("Set in $0."), field.from)}</Name>}
                    </HelperTextItem></HelperText></FormHelperText>
                </FormGroup>))}
            <div className="dedupd-save">
                {outcome && <Alert isInline component="h2" variant={outcome.failed === null ? "success" : "danger"}
                                   title={outcome.failed === null ? _("The configuration is saved.") : _("Nothing was saved.")}>
                    {outcome.failed && <pre className="dedupd-name">{outcome.failed}</pre>}
                </Alert>}
                <ActionButton variant="primary" isDisabled={!changed.length} act={() => save(changed)}
                              onDone={failed => {
                                  setOutcome({ failed });
                                  if (failed === null) {
                                      setValues({});
                                      again();
                                  }
                              }}>{_("Save")}</ActionButton>{" "}
                {changed.length > 0 && <Button variant="link" onClick={() => setValues({})}>{_("Discard changes")}</Button>}
            </div>
        </Form>);
}

// The section of this page's own drop-in, with changed keys; those of others stay as they are.
function dropIn(settings: Setting[], section: string, changed: [Field, string][]): string {
    const text = new Map<string, string[]>();
    const put = (name: string, key: string, value: string) =>
        text.set(name, [...text.get(name) ?? [], `${key}=${value}`]);
    const isChanged = (name: string, key: string) => name === section && changed.some(([field]) => field.key === key);

    for (const { section: name, key, value, file } of settings)
        if (file?.endsWith(`/${OWN_DROP_IN}`) && !isChanged(name, key))
            put(name, key, value ?? "");
    for (const [field, value] of changed)
        for (const one of field.isList ? ["", ...lines(value)] : [value.trim()])
            put(section, field.key, one);
    return ["# Written by the Cockpit page of dedupd, which replaces it.",
            ...[...text].flatMap(([name, values]) => [name, ...values]), ""].join("\n");
}

export function Configuration({ filesystems, options }: ScreenProps) {
    const [scope, setScope] = useState(options["uuid"] ?? "");
    const all = useDedupctl("config", []);
    const one = useDedupctl("config", scope ? ["--", scope] : null);
    const disks = [...new Set(filesystems.rows.flatMap(row => row.live?.Disks ?? []))];
    const isDisk = disks.includes(scope);
    const rows = filesystems.rows.filter(row => row.state !== "disabled");
    const asked = scope ? one : all;
    const again = () => {
        all.again();
        one.again();
    };

    async function save(settings: Setting[], changed: [Field, string][]) {
        if (scope && !isDisk)
            return change("enable", scope, ...changed.flatMap(([field, value]) => assignments(field, value)));
        await writeDropIn(dropIn(settings, isDisk ? `[Disk ${scope}]` : "[Dedupd]", changed));
        if (filesystems.service.runs)
            await reload();
        return "";
    }

    return (
        <div className="dedupd-sections">
            <FormSelect className="dedupd-chooser" aria-label={_("What to configure")} value={scope}
                        onChange={(_event, chosen) => setScope(chosen)}>
                <FormSelectOption value="" label={_("Everything")} />
                {rows.map(row => <FormSelectOption key={row.uuid} value={row.uuid} label={row.mountPoint} />)}
                {disks.map(disk => <FormSelectOption key={disk} value={disk} label={cockpit.format(_("Disk $0"), disk)} />)}
            </FormSelect>
            <Answer asked={asked}>
                {({ config, note }) => {
                    const shown = scope ? config : config.filter(setting => setting.section === "[Dedupd]");
                    return (
                        <>
                            {note && <Alert isInline component="h2" variant="warning" title={note} />}
                            <Fields key={scope} settings={shown} again={again}
                                    save={changed => save(all.value?.config ?? [], changed)} />
                        </>);
                }}
            </Answer>
        </div>);
}
