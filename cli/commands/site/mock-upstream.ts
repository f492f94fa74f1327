/** Runs the practice upstream. */
import { AppError } from '../../../server/contract/errors.ts';
import { type SimulatedProvider, simulatedNames, simulatedProvider } from '../../../server/practice/provider.ts';
import { startPracticeUpstream } from '../../../server/practice/upstream.ts';
import { type CommandRun, text } from '../../command.ts';

const ended = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });

function providerNamed(name: string, strict: boolean): SimulatedProvider {
  const provider = simulatedProvider(name, strict);
  if (provider === null) throw new AppError('usage', { detail: `--as ${name}: ${simulatedNames.join(', ')}` });
  return provider;
}

/** The first line is the channel's address, the second, where one provider is played, its key. */
export const mockUpstream: CommandRun = async (context, flags) => {
  const number = (name: string, fallback: number): number => {
    const input = text(flags[name]);
    const value = Number(input ?? fallback);
    if (!Number.isFinite(value) || value < 0) throw new AppError('usage', { detail: `${name} ${input}` });
    return value;
  };
  const speed = number('tokensPerSecond', 0);
  const port = number('port', 4010);
  const as = text(flags.as);
  if (as === undefined && flags.strict === true) throw new AppError('usage', { detail: '--strict: --as' });
  const provider = as === undefined ? undefined : providerNamed(as, flags.strict === true);
  try {
    const upstream = startPracticeUpstream({
      port,
      latencyMs: number('latency', 0),
      chunks: number('chunks', 8),
      chunkMs: speed === 0 ? 0 : 1000 / speed,
      errorRate: number('errorRate', 0),
      noUsage: flags.usage === false,
      ...(text(flags.cutAfter) === undefined ? {} : { cutAfter: number('cutAfter', 0) }),
      ...(provider === undefined ? {} : { provider, log: (line: string) => context.output.note(line) }),
    });
    context.output.line(upstream.url);
    if (provider !== undefined) context.output.line(provider.key);
    await ended();
    await upstream.stop();
  } catch (error) {
    if ((error as { code?: unknown }).code === 'EADDRINUSE') throw new AppError('port_taken', { port }, error);
    throw error;
  }
};
