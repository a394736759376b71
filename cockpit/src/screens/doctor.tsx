// SPDX-License-Identifier: GPL-2.0-or-later
// Whether dedupd can work here, and how well: findings with their remedies.

import { Button, Title } from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import { type Finding, useDedupctl } from "../dedupctl";
import { Answer, Name, TABLE, Word } from "../parts";
import { NONE } from "../units";

const _ = cockpit.gettext;
const LEVELS = ["error", "warning", "note", "ok"];

function Findings({ subject, findings }: { subject: string; findings: Finding[] }) {
    const sorted = [...findings].sort((one, other) => LEVELS.indexOf(one.level) - LEVELS.indexOf(other.level));
    return (
        <section>
            <Title headingLevel="h2" size="lg"><Name>{subject === "machine" ? _("This machine") : subject}</Name></Title>
            <Table {...TABLE} aria-label={subject}>
                <Thead><Tr><Th width={10}>{_("Level")}</Th><Th width={15}>{_("Check")}</Th><Th width={40}>{_("Found")}</Th>
                    <Th width={35}>{_("Remedy")}</Th></Tr></Thead>
                <Tbody>
                    {sorted.map((finding, index) => (
                        <Tr key={index}>
                            <Td dataLabel={_("Level")}><Word>{finding.level}</Word></Td>
                            <Td dataLabel={_("Check")}>{finding.check}</Td>
                            <Td dataLabel={_("Found")}><Name>{finding.evidence}</Name></Td>
                            <Td dataLabel={_("Remedy")}>{finding.advice ? <Name>{finding.advice}</Name> : NONE}</Td>
                        </Tr>))}
                </Tbody>
            </Table>
        </section>);
}

export function Doctor() {
    const asked = useDedupctl("doctor", []);
    return (
        <div className="dedupd-sections">
            <div><Button variant="secondary" isLoading={asked.busy} isDisabled={asked.busy} onClick={asked.again}>{_("Check again")}</Button></div>
            <Answer asked={asked} wait={_("Checking the machine and its filesystems…")}>
                {({ findings }) => (
                    <>
                        {[...new Set(findings.map(finding => finding.subject))].map(subject =>
                            <Findings key={subject} subject={subject} findings={findings.filter(one => one.subject === subject)} />)}
                    </>)}
            </Answer>
        </div>);
}
