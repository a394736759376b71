// SPDX-License-Identifier: GPL-2.0-or-later
// Lines over time, drawn as SVG.

import { useId } from "react";

const _ = cockpit.gettext;

export interface Series { name: string; className: string; points: [number, number][]; area?: boolean }

const WIDTH = 600;
const BOTTOM = 24;
const TOP = 8;

// A round number of the unit of sizes, at least @value.
function ceiling(value: number): number {
    const unit = 1024 ** Math.max(Math.floor(Math.log2(Math.max(value, 1)) / 10), 0);
    return unit * [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024].find(step => step * unit >= value)!;
}

export function Plot({ label, series, height = 180, value, when, from, to }: {
    label: string;
    series: Series[];
    height?: number;
    value: (number: number) => string;
    when: (time: number) => string;
    from?: number;
    to?: number;
}) {
    const id = useId();
    const all = series.flatMap(one => one.points);
    const begin = from ?? Math.min(...all.map(point => point[0]));
    const end = to ?? Math.max(...all.map(point => point[0]));
    const top = ceiling(Math.max(0, ...all.map(point => point[1])));
    const x = (time: number) => end > begin ? (time - begin) / (end - begin) * WIDTH : WIDTH;
    const y = (number: number) => TOP + (1 - number / top) * (height - TOP - BOTTOM);
    const latest = series.map(one => `${one.name}: ${one.points.length ? value(one.points[one.points.length - 1]![1]) : _("nothing yet")}`);

    return (
        <figure className="dedupd-plot" aria-labelledby={id}>
            <figcaption id={id}>
                <span>{label}</span>
                {series.map((one, index) =>
                    <span key={one.name}><span className={`dedupd-key ${one.className}`} aria-hidden="true" />{latest[index]}</span>)}
            </figcaption>
            <div className="dedupd-plot-body" aria-hidden="true">
                <div className="dedupd-scale">{[1, 0.5, 0].map(part => <span key={part}>{value(top * part)}</span>)}</div>
                <svg viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" height={height}>
                    {[0, 0.5, 1].map(part =>
                        <line key={part} className="dedupd-grid" x1="0" x2={WIDTH} y1={y(top * part)} y2={y(top * part)} />)}
                    {series.map(one => {
                        if (!one.points.length)
                            return null;
                        const line = one.points.map(point => `${x(point[0]).toFixed(1)},${y(point[1]).toFixed(1)}`).join("L");
                        const close = `L${x(one.points[one.points.length - 1]![0]).toFixed(1)},${y(0)}L${x(one.points[0]![0]).toFixed(1)},${y(0)}Z`;
                        return (
                            <g key={one.name} className={one.className}>
                                {one.area && <path className="dedupd-area" d={`M${line}${close}`} />}
                                <path className="dedupd-line" d={`M${line}`} />
                            </g>);
                    })}
                </svg>
                <div className="dedupd-times"><span>{when(begin)}</span><span>{when(end)}</span></div>
            </div>
        </figure>);
}
