/** Hit rates of providers' caches. */
import { cacheRateKinds, hitRateOf, ownCacheRateKinds } from '../../../server/contract/cache-rates.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { allOrOwn } from '../../client.ts';
import { type CommandRun, text } from '../../command.ts';
import { moneyOf } from '../../parts/money.ts';
import { pastEdge } from '../../parts/when.ts';
import { queryOf } from './filters.ts';

export const cacheRates: CommandRun = async (context, flags) => {
  const client = await context.client();
  const now = Date.now();
  const filters = { ...queryOf(flags, now), start_timestamp: pastEdge(text(flags.since), '--since', now) };
  const named = text(flags.by);
  const by = cacheRateKinds.find((kind) => kind === named);
  const ownBy = ownCacheRateKinds.find((kind) => kind === named);
  if (named !== undefined && by === undefined)
    throw new AppError('usage', { detail: `--by ${named}: ${cacheRateKinds.join(', ')}` });
  const rows = await context.during(
    allOrOwn(
      () => client.call('log.cache', { ...filters, by }),
      () => client.call('log.self_cache', { ...filters, by: ownBy }),
    ),
  );
  const money = await moneyOf(context);
  type Row = (typeof rows)[number];
  context.output.list(
    rows,
    [
      { name: by ?? 'name', value: (row: Row) => row.name || (row.id === 0 ? '-' : `#${row.id}`) },
      { name: 'requests', value: (row: Row) => String(row.requests), right: true },
      { name: 'input', value: (row: Row) => String(row.input_tokens), right: true },
      { name: 'cached', value: (row: Row) => String(row.cached_tokens), right: true },
      {
        name: 'rate',
        value: (row: Row) => {
          const rate = hitRateOf(row);
          return rate === null ? '' : `${row.sampled ? '≈' : ''}${(rate * 100).toFixed(1)}%`;
        },
        right: true,
      },
      { name: 'missed', value: (row: Row) => String(row.missed), right: true },
      money.column('lost', (row: Row) => row.lost),
    ],
    (row) => row.name,
  );
};
