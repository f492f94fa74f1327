/** Which files import which, and where they do so in a circle. */
import { join } from 'node:path';

const specifier = /^(?:import|export)\s[^'"=;()]*?from\s+'(\.[^']+)'|^import\s+'(\.[^']+)'|import\('(\.[^']+)'\)/gm;

/** @param path from the root. @returns paths from the root. */
export const importsOf = (path: string, text: string): readonly string[] => [
  ...new Set([...text.matchAll(specifier)].map((match) => join(path, '..', match[1] ?? match[2] ?? match[3] ?? ''))),
];

/** Strongly connected components of more than one file (Tarjan 1972). */
export function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (path: string): number => {
    const index = order.size;
    order.set(path, index);
    let lowest = index;
    stack.push(path);
    for (const next of graph.get(path) ?? []) {
      if (!graph.has(next)) continue;
      if (!order.has(next)) lowest = Math.min(lowest, visit(next));
      else if (stack.includes(next)) lowest = Math.min(lowest, order.get(next) ?? lowest);
    }
    low.set(path, lowest);
    if (lowest !== index) return lowest;
    const cycle = stack.splice(stack.indexOf(path));
    if (cycle.length > 1) cycles.push(cycle);
    return lowest;
  };
  for (const path of graph.keys()) if (!order.has(path)) visit(path);
  return cycles;
}
