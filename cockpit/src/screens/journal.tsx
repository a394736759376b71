// SPDX-License-Identifier: GPL-2.0-or-later
// What dedupd wrote to the journal, as it comes.

import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import { useEffect, useState } from "react";
import { follow, type Message, useDedupctl } from "../dedupctl";
import { Answer, Name, Nothing, TABLE, Word } from "../parts";
import { time } from "../units";

const _ = cockpit.gettext;
const LINES = 200;
const FOLLOWED_AT_FIRST = 10;

const level = (priority: string | null) =>
    priority && ["emergency", "alert", "critical", "error"].includes(priority) ? "error"
        : priority === "warning" ? "warning" : null;

export function Journal() {
    const asked = useDedupctl("log", [`--lines=${LINES}`]);
    const [followed, setFollowed] = useState<Message[]>([]);

    useEffect(() => {
        if (!asked.value)
            return;
        let seen = 0;
        const old = Math.min(asked.value.messages.length, FOLLOWED_AT_FIRST);
        const process = follow(message => {
            if (++seen > old)
                setFollowed(messages => [...messages, message]);
        });
        process.then(() => undefined, () => undefined);
        return () => process.close();
    }, [asked.value]);

    return (
        <Answer asked={asked}>
            {({ messages }) => messages.length + followed.length === 0
                ? <Nothing title={_("The journal has no message of dedupd")} />
                : <Table {...TABLE} aria-label={_("Journal")}>
                    <Thead><Tr><Th width={20}>{_("Time")}</Th><Th width={10}>{_("Level")}</Th><Th>{_("Message")}</Th></Tr></Thead>
                    <Tbody>
                        {[...messages, ...followed].reverse().slice(0, LINES).map((message, index) => (
                            <Tr key={messages.length + followed.length - index}>
                                <Td dataLabel={_("Time")}>{time(message.time)}</Td>
                                <Td dataLabel={_("Level")}>{level(message.priority) ? <Word>{level(message.priority)!}</Word> : message.priority}</Td>
                                <Td dataLabel={_("Message")}><Name>{message.message ?? ""}</Name></Td>
                            </Tr>))}
                    </Tbody>
                </Table>}
        </Answer>);
}
