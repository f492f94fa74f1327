/** Measures this gateway on this machine. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { AppError } from '../../../server/contract/errors.ts';
import { type BenchOrder, runBench, wireOf } from '../../bench/bench.ts';
import { parseRivals } from '../../bench/comparison.ts';
import { reportLines } from '../../bench/report.ts';
import { type Shape, shapes, subjectNames } from '../../bench/targets.ts';
import { type CommandRun, type FlagValues, text, texts } from '../../command.ts';

const sizes = {
  whole: { rounds: 3, seconds: 1.5, warmSeconds: 10, streams: 2000, starts: 11 },
  quick: { rounds: 1, seconds: 0.8, warmSeconds: 2, streams: 200, starts: 3 },
} as const;

function positive(flags: FlagValues, name: string, fallback: number): number {
  const input = text(flags[name]);
  const value = Number(input ?? fallback);
  if (!Number.isFinite(value) || value <= 0) throw new AppError('usage', { detail: `--${name} ${input}` });
  return value;
}

function shapesOf(input: string | undefined): readonly Shape[] {
  if (input === undefined) return shapes;
  return input.split(',').map((name) => {
    const found = shapes.find((shape) => shape.name.replaceAll(',', '') === name.trim());
    if (found !== undefined) return found;
    const names = shapes.map((shape) => shape.name.replaceAll(',', '')).join(', ');
    throw new AppError('usage', { detail: `--shapes ${name}: ${names}` });
  });
}

export function orderOf(flags: FlagValues): BenchOrder {
  const extent = flags.quick === true ? sizes.quick : sizes.whole;
  const rounds = positive(flags, 'rounds', extent.rounds);
  const before = text(flags.before);
  if (!Number.isInteger(rounds)) throw new AppError('usage', { detail: `--rounds ${rounds}` });
  if (before !== undefined && !existsSync(before)) throw new AppError('not_found', { what: before });
  const port = flags.upstreamPort === undefined ? null : positive(flags, 'upstreamPort', 0);
  return {
    ...extent,
    rounds,
    seconds: positive(flags, 'seconds', extent.seconds),
    shapes: shapesOf(text(flags.shapes)),
    extras: flags.extras !== false,
    before: before === undefined ? null : resolve(before),
    upstreamPort: port,
    rivals: parseRivals(texts(flags.against), texts(flags.againstHeader), Object.values(subjectNames)),
  };
}

export const bench: CommandRun = async (context, flags) => {
  const order = orderOf(flags);
  let doing = '';
  const result = await context.during(
    runBench(order, (what) => {
      doing = what;
    }),
    () => doing,
  );
  context.output.object(wireOf(result), reportLines(result, context.say), String(result.timesFloor ?? ''));
  if (!result.verified) process.exitCode = 1;
};
