// SPDX-License-Identifier: GPL-2.0-or-later
// Why a file was not deduplicated, or that it was.

import { Button, Form, FormGroup, FormHelperText, HelperText, HelperTextItem, TextInput } from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import { useEffect, useState } from "react";
import type { ScreenProps } from "../app";
import { useDedupctl } from "../dedupctl";
import { Answer, Name, TABLE } from "../parts";
import { bytes, percent } from "../units";

const _ = cockpit.gettext;

export function Why({ options }: ScreenProps) {
    const file = options["file"] ?? "";
    const [typed, setTyped] = useState(file);
    const asked = useDedupctl("why", file ? ["--", file] : null);
    useEffect(() => setTyped(file), [file]);

    return (
        <div className="dedupd-sections">
            <Form onSubmit={event => {
                event.preventDefault();
                if (typed === file)
                    asked.again();
                cockpit.location.go(["why"], { file: typed });
            }}>
                <FormGroup label={_("Path of a file")} fieldId="file">
                    <div className="dedupd-row">
                        <TextInput id="file" value={typed} spellCheck={false} autoComplete="off" placeholder="/srv/disk.img"
                                   onChange={(_event, text) => setTyped(text)} />
                        <Button type="submit" isDisabled={!typed.startsWith("/")} isLoading={asked.busy}>{_("Ask")}</Button>
                    </div>
                    <FormHelperText><HelperText><HelperTextItem>
                        {_("The answer says for each part of the file whether it is shared, and otherwise why not.")}
                    </HelperTextItem></HelperText></FormHelperText>
                </FormGroup>
            </Form>
            <Answer asked={asked} wait={_("Looking at the file…")}>
                {({ reasons, note }) => {
                    const all = reasons.reduce((sum, reason) => sum + reason.bytes, 0);
                    return (
                        <>
                            {note && <p className="dedupd-small">{note}</p>}
                            <Table {...TABLE} aria-label={_("Reasons")}>
                                <Thead><Tr><Th>{_("Reason")}</Th><Th modifier="fitContent" className="dedupd-number">{_("Size")}</Th>
                                    <Th modifier="fitContent" className="dedupd-number">{_("Part")}</Th><Th width={60}>{_("Evidence")}</Th></Tr></Thead>
                                <Tbody>
                                    {reasons.map((reason, index) => (
                                        <Tr key={index}>
                                            <Td dataLabel={_("Reason")}>{reason.reason}</Td>
                                            <Td dataLabel={_("Size")} className="dedupd-number">{bytes(reason.bytes)}</Td>
                                            <Td dataLabel={_("Part")} className="dedupd-number">{percent(reason.bytes, all)}</Td>
                                            <Td dataLabel={_("Evidence")}><Name>{reason.evidence}</Name></Td>
                                        </Tr>))}
                                </Tbody>
                            </Table>
                        </>);
                }}
            </Answer>
        </div>);
}
