// SPDX-License-Identifier: GPL-2.0-or-later
// node browser.mjs PACKAGES
//
// Drives headless Chromium for the tests.  Each line of standard input is a JSON text, the body of an async function of
// @page and @axe; the answer is a line {"value": …} or {"error": …}.  playwright-core and axe-core lie in PACKAGES.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(`${process.argv[2]}/`);
const { chromium } = require("playwright-core");
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const PATIENCE_MS = 20000;

const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: "en-US" });
context.setDefaultTimeout(PATIENCE_MS);
const page = await context.newPage();
const problems = [];
page.on("pageerror", error => problems.push(String(error)));
page.on("dialog", dialog => problems.push(`a dialog: ${dialog.message()}`));
page.on("console", message => message.type() === "error" && problems.push(`${message.text()} ${message.location().url}`));

// Violations of accessibility, each with the elements.
async function axe() {
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    return violations.map(one => `${one.id}: ${one.nodes.map(node => `${node.target.join(" ")} (${node.failureSummary})`).join("; ")}`);
}

const AsyncFunction = (async () => undefined).constructor;
for await (const line of createInterface({ input: process.stdin })) {
    try {
        const value = await new AsyncFunction("page", "axe", "problems", JSON.parse(line))(page, axe, problems);
        console.log(JSON.stringify({ value: value ?? null }));
    } catch (error) {
        console.log(JSON.stringify({ error: String(error.stack ?? error) }));
    }
}
await browser.close();
