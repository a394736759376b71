// SPDX-License-Identifier: GPL-2.0-or-later
// Rectangles whose areas are sizes (squarified treemap of Bruls, Huizing and van Wijk, 2000).

import { useId } from "react";

export interface Cell { name: string; size: number }
// Width by height, about what it is on most screens.
const ASPECT = 2.5;

interface Placed extends Cell { x: number; y: number; width: number; height: number }

// The largest ratio of sides in a row of these sizes along a side of that length.
function worst(sizes: number[], side: number): number {
    const sum = sizes.reduce((one, other) => one + other, 0);
    return Math.max(...sizes.map(size => Math.max(side ** 2 * size / sum ** 2, sum ** 2 / (side ** 2 * size))));
}

// @cells are sorted, the largest first.
export function place(cells: Cell[], width: number, height: number): Placed[] {
    const total = cells.reduce((sum, cell) => sum + cell.size, 0);
    const rest = cells.filter(cell => cell.size > 0).map(cell => ({ ...cell, area: cell.size / total * width * height }));
    const placed: Placed[] = [];
    let x = 0;
    let y = 0;

    while (rest.length) {
        const side = Math.min(width, height);
        let taken = 1;
        const areas = (many: number) => rest.slice(0, many).map(cell => cell.area);
        while (taken < rest.length && worst(areas(taken + 1), side) <= worst(areas(taken), side))
            taken++;
        const sum = areas(taken).reduce((one, other) => one + other, 0);
        const depth = sum / side;
        let along = 0;
        for (const { area, ...cell } of rest.splice(0, taken)) {
            const length = area / depth;
            placed.push(width >= height ? { ...cell, x, y: y + along, width: depth, height: length }
                                        : { ...cell, x: x + along, y, width: length, height: depth });
            along += length;
        }
        if (width >= height) {
            x += depth;
            width -= depth;
        } else {
            y += depth;
            height -= depth;
        }
    }
    return placed;
}

// Keyboards and screen readers use the tree beside it, which has the same.
export function Treemap({ label, cells, text, open }: {
    label: string;
    cells: Cell[];
    text: (cell: Cell) => string;
    open: (name: string) => void;
}) {
    const id = useId();
    return (
        <div className="dedupd-treemap" role="img" aria-labelledby={id}>
            <span id={id} hidden>{label}</span>
            {place(cells, ASPECT * 100, 100).map((cell, index) => (
                <div key={cell.name} className={`dedupd-cell dedupd-cell-${index % 6}`} title={`${cell.name}: ${text(cell)}`}
                     style={{ left: `${cell.x / ASPECT}%`, top: `${cell.y}%`, width: `${cell.width / ASPECT}%`, height: `${cell.height}%` }}
                     onClick={() => open(cell.name)}>
                    {cell.width > 15 && cell.height > 14 && <span><b>{cell.name}</b> {text(cell)}</span>}
                </div>))}
        </div>);
}
