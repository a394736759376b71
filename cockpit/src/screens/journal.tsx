// SPDX-License-Identifier: GPL-2.0-or-later
// What dedupd wrote to the journal, as it comes.

import { Alert } from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import { useEffect, useState } from "react";
import { follow, type Message } from "../dedupctl";
import { Loading, Name, TABLE, Word } from "../parts";
import { time } from "../units";

const _ = cockpit.gettext;
const LINES = 200;

const level = (priority: string | null) =>
    priority && ["emergency", "alert", "critical", "error"].includes(priority) ? "error"
        : priority === "warning" ? "warning" : null;

export function Journal() {
    const [messages, setMessages] = useState<Message[]>([]);
    const [failed, setFailed] = useState<string | null>(null);

    useEffect(() => {
        const process = follow(LINES, come => setMessages(old => [...old, ...come].slice(-LINES)));
        process.then(() => undefined, problem => setFailed(problem.message.trim() || cockpit.message(problem)));
        return () => process.close();
    }, []);

    return (
        <>
            {failed !== null && <Alert isInline component="h2" variant="warning" title={failed} />}
            {messages.length === 0
                ? failed === null && <Loading text={_("Waiting for messages of dedupd…")} />
                : <Table {...TABLE} aria-label={_("Journal")}>
                    <Thead><Tr><Th width={20}>{_("Time")}</Th><Th width={10}>{_("Level")}</Th><Th>{_("Message")}</Th></Tr></Thead>
                    <Tbody>
                        {[...messages].reverse().map((message, index) => (
                            <Tr key={messages.length - index}>
                                <Td dataLabel={_("Time")}>{time(message.time)}</Td>
                                <Td dataLabel={_("Level")}>{level(message.priority) ? <Word>{level(message.priority)!}</Word> : message.priority}</Td>
                                <Td dataLabel={_("Message")}><Name>{message.message ?? ""}</Name></Td>
                            </Tr>))}
                    </Tbody>
                </Table>}
        </>);
}
