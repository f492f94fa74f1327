/** Runs the practice upstream. */
import { AppError } from '../../../server/contract/errors.ts';
import { startPracticeUpstream } from '../../../server/practice/upstream.ts';
import { type CommandRun, text } from '../../command.ts';

export const mockUpstream: CommandRun = async (context, flags) => {
  const number = (name: string, fallback: number): number => {
    const given = text(flags[name]);
    const value = Number(given ?? fallback);
    if (!Number.isFinite(value) || value < 0) throw new AppError('usage', { detail: `${name} ${given}` });
    return value;
  };
  const speed = number('tokensPerSecond', 0);
  const port = number('port', 4010);
  try {
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
    await new Promise<void>((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
    });
    await upstream.stop();
  } catch (error) {
    if ((error as { code?: unknown }).code === 'EADDRINUSE') throw new AppError('port_taken', { port }, error);
    throw error;
  }
};
