/** Which threads of a process used how much of a core. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cpuIn } from '../../../../cli/bench/machine.ts';

const maxThreads = 6;

function read(pid: number): Map<string, { readonly name: string; readonly micros: number }> {
  const folder = `/proc/${pid}/task`;
  const times = new Map<string, { readonly name: string; readonly micros: number }>();
  if (!existsSync(folder)) return times;
  for (const thread of readdirSync(folder)) {
    const text = readFileSync(`${folder}/${thread}/stat`, 'utf8');
    times.set(thread, { name: text.slice(text.indexOf('(') + 1, text.lastIndexOf(')')), micros: cpuIn(text) ?? 0 });
  }
  return times;
}

/** @returns the threads that used most since then: number, name, share of a core. */
export function threadTimes(pid: number): () => string {
  const before = read(pid);
  const started = performance.now();
  return () => {
    const micros = (performance.now() - started) * 1000;
    return [...read(pid)]
      .map(([thread, now]) => ({ thread, name: now.name, used: now.micros - (before.get(thread)?.micros ?? 0) }))
      .sort((a, b) => b.used - a.used)
      .slice(0, maxThreads)
      .map(
        ({ thread, name, used }) => `${thread === String(pid) ? 'main' : name} ${((used / micros) * 100).toFixed(0)} %`,
      )
      .join(', ');
  };
}
