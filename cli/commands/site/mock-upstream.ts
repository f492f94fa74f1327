/** Runs the practice upstream. */
import { AppError } from '../../../server/contract/errors.ts';
import { doubleNames } from '../../../server/practice/strict/names.ts';
import { startStrictDouble } from '../../../server/practice/strict/start.ts';
import { startPracticeUpstream } from '../../../server/practice/upstream.ts';
import { type CommandRun, text } from '../../command.ts';
import type { Output } from '../../output.ts';

const ended = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });

/** The first line is the channel's address, the second its key. */
async function play(name: string, port: number, strict: boolean, output: Output): Promise<void> {
  const upstream = startStrictDouble({ name, port, strict, say: (line) => output.note(line) });
  if (upstream === null) throw new AppError('usage', { detail: `--as ${name}: ${doubleNames.join(', ')}` });
  output.line(upstream.url);
  output.line(upstream.key);
  await ended();
  await upstream.stop();
}

export const mockUpstream: CommandRun = async (context, flags) => {
  const number = (name: string, fallback: number): number => {
    const given = text(flags[name]);
    const value = Number(given ?? fallback);
    if (!Number.isFinite(value) || value < 0) throw new AppError('usage', { detail: `${name} ${given}` });
    return value;
  };
  const speed = number('tokensPerSecond', 0);
  const port = number('port', 4010);
  const as = text(flags.as);
  if (as === undefined && flags.strict === true) throw new AppError('usage', { detail: '--strict: --as' });
  try {
    if (as !== undefined) return await play(as, port, flags.strict === true, context.output);
    const upstream = startPracticeUpstream({
      port,
      latencyMs: number('latency', 0),
      chunks: number('chunks', 8),
      chunkMs: speed === 0 ? 0 : 1000 / speed,
      errorRate: number('errorRate', 0),
      noUsage: flags.usage === false,
      ...(text(flags.cutAfter) === undefined ? {} : { cutAfter: number('cutAfter', 0) }),
    });
    context.output.line(upstream.url);
    await ended();
    await upstream.stop();
  } catch (error) {
    if ((error as { code?: unknown }).code === 'EADDRINUSE') throw new AppError('port_taken', { port }, error);
    throw error;
  }
};
