// SPDX-License-Identifier: GPL-2.0-or-later
// node build.mjs [--pot]
//
// Makes dist/ of src/ and po/: the script, the styles, the page, and the translations as Cockpit loads them.
// With --pot, writes po/dedupd.pot instead.

import { build } from "esbuild";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const OUT = "dist";

const quoted = '"((?:[^"\\\\]|\\\\.)*)"';

// Texts in the sources -> where they are; of plurals, "one\0many".
function textsOfSources() {
    const texts = new Map();
    const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter(name => /\.tsx?$/.test(name)).sort();
    for (const file of files) {
        const source = readFileSync(`src/${file}`, "utf8");
        for (const match of source.matchAll(new RegExp(`\\b(?:_|cockpit\\.gettext)\\(\\s*${quoted}|ngettext\\(\\s*${quoted},\\s*${quoted}`, "g"))) {
            const text = match[1] ?? `${match[2]}\0${match[3]}`;
            texts.set(text, [...texts.get(text) ?? [], `src/${file}`]);
        }
    }
    const { menu } = JSON.parse(readFileSync("manifest.json", "utf8"));
    texts.set(menu.index.label, ["manifest.json"]);
    return texts;
}

function writePot() {
    const head = ["# SPDX-License-Identifier: GPL-2.0-or-later", 'msgid ""', 'msgstr ""',
                  '"Content-Type: text/plain; charset=UTF-8\\n"', '"Plural-Forms: nplurals=2; plural=n != 1;\\n"', ""];
    const entries = [...textsOfSources()].map(([text, files]) => {
        const [one, many] = text.split("\0");
        return [`#: ${[...new Set(files)].join(" ")}`, `msgid "${one}"`,
                ...many ? [`msgid_plural "${many}"`, 'msgstr[0] ""', 'msgstr[1] ""'] : ['msgstr ""'], ""].join("\n");
    });
    writeFileSync("po/dedupd.pot", [...head, ...entries].join("\n"));
}

// A catalog as a call of cockpit.locale(): text -> [null, translation…].
function catalog(language) {
    const texts = {};
    let plural = "n != 1";
    for (const entry of readFileSync(`po/${language}.po`, "utf8").split("\n\n")) {
        const lines = entry.split("\n").filter(line => line && !line.startsWith("#"));
        const found = {};
        let key = "";
        for (const line of lines) {
            const [, name, text] = /^(?:(\S+) )?"(.*)"$/.exec(line);
            key = name ?? key;
            found[key] = (found[key] ?? "") + JSON.parse(`"${text}"`);
        }
        if (found.msgid === "")
            plural = /plural=([^;]+);/.exec(found.msgstr)[1];
        else if (found.msgid !== undefined)
            texts[found.msgid] = [null, ...Object.keys(found).filter(name => name.startsWith("msgstr")).map(name => found[name])];
    }
    for (const text of Object.keys(texts))
        if (texts[text].slice(1).some(translation => translation === ""))
            delete texts[text];
    const head = `"": {"plural-forms": (n) => ${plural}, "language": "${language}", "language-direction": "ltr"}`;
    return `cockpit.locale({${[head, ...Object.entries(texts).map(([text, translated]) =>
        `${JSON.stringify(text)}: ${JSON.stringify(translated)}`)].join(",\n")}});\n`;
}

if (process.argv.includes("--pot")) {
    writePot();
} else {
    rmSync(OUT, { recursive: true, force: true });
    mkdirSync(OUT);
    const options = {
        entryPoints: { dedupd: "src/index.tsx" },
        outdir: OUT,
        bundle: true,
        minify: true,
        target: ["es2020"],
        legalComments: "linked",
        define: { "process.env.NODE_ENV": '"production"' },
        // Backgrounds of PatternFly, which no screen shows, and fonts of Cockpit.
        external: ["*.svg", "*.woff2"],
    };
    const withoutFonts = { name: "without-fonts", setup(builder) {
        builder.onLoad({ filter: /patternfly-base\.css$/ }, ({ path }) =>
            ({ contents: readFileSync(path, "utf8").replaceAll(/@font-face\s*{[^}]*}/g, ""), loader: "css" }));
    } };
    await build({ ...options, plugins: [withoutFonts] });
    // PatternFly imports the styles of all components.  The script names those that it uses.
    const script = readFileSync(`${OUT}/dedupd.js`, "utf8");
    await build({ ...options, plugins: [withoutFonts, { name: "used-styles", setup(builder) {
        builder.onLoad({ filter: /react-styles\/css\/(components|layouts)\/.*\.css$/ }, ({ path }) => {
            const name = /pf-v6-[cl]-[a-z-]+/.exec(readFileSync(path, "utf8"))[0];
            return script.includes(`"${name}"`) ? undefined : { contents: "", loader: "css" };
        });
    } }] });
    for (const name of ["index.html", "manifest.json"])
        cpSync(name, `${OUT}/${name}`);
    for (const name of readdirSync("po").filter(file => file.endsWith(".po")))
        writeFileSync(`${OUT}/po.${name.slice(0, -3)}.js`, catalog(name.slice(0, -3)));
}
