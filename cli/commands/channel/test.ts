/** Real requests through channels. */
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import type { TestRow } from '../../parts/test-row.ts';
import { selectedChannels } from './fields.ts';

export const test: CommandRun = async (context, flags, _ref, refs) => {
  const client = await context.client();
  const channels = await selectedChannels(client, flags, refs);
  const workers = wholeNumber(text(flags.concurrency), '--concurrency') ?? 4;
  if (workers < 1) throw new AppError('usage', { detail: '--concurrency' });
  const one = async ({ id, name }: { id: number; name: string }): Promise<TestRow> => ({
    id,
    name,
    ...(await client.call('channel.test', { id, model: text(flags.model), stream: flags.stream === true })),
  });
  const work = (done: (row: TestRow) => void) => inTurn(channels, workers, async (channel) => done(await one(channel)));
  const results: TestRow[] = [];
  if (context.screens && channels.length > 1) {
    const { showTestTable } = await import('../../screens/test-table.tsx');
    await showTestTable(context, channels, (done) =>
      work((row) => {
        results.push(row);
        done(row);
      }),
    );
  } else await work((row) => results.push(row));
  print(
    context,
    results.toSorted((a, b) => channels.findIndex((c) => c.id === a.id) - channels.findIndex((c) => c.id === b.id)),
  );
};

/** So many at once, in order. */
async function inTurn<Thing>(things: readonly Thing[], workers: number, work: (thing: Thing) => Promise<void>) {
  const rest = [...things];
  const worker = async () => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: workers }, worker));
}

function print(context: Context, results: readonly TestRow[]): void {
  context.output.list(
    results,
    [
      { name: 'id', value: (row) => String(row.id), right: true },
      { name: 'name', value: (row) => row.name },
      { name: 'result', value: (row) => (row.success ? 'ok' : 'failed') },
      { name: 'seconds', value: (row) => row.time.toFixed(3), right: true },
      { name: 'message', value: (row) => (row.success ? '' : row.message) },
    ],
    (row) => String(row.id),
  );
  const failed = results.filter((result) => !result.success).length;
  if (failed > 0)
    throw new AppError('check_failed', {
      detail: `${failed}/${results.length}`,
      detail_zh: `${results.length} 个渠道中的 ${failed} 个`,
      detail_en: `${failed} of ${results.length} channels`,
    });
}
