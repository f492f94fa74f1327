/** The usage log as a whole: export, verification, statistics, clearing. */
import { AppError } from '../../../server/contract/errors.ts';
import { type LogFormat, logFormats, logHeader, logLine } from '../../../server/contract/log-export.ts';
import { isNameKind, type LogGrouping, logGroupings } from '../../../server/contract/names.ts';
import { type CommandRun, text } from '../../command.ts';
import { moneyOf } from '../../parts/money.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { pastEdge, pastTime } from '../../parts/when.ts';
import { queryOf } from './filters.ts';

const rowsAtOnce = 500;

export const exportLogs: CommandRun = async (context, flags) => {
  // JSON was asked for: one document a line, since a log need not fit into memory.
  const asked = context.output.format === 'json' ? 'jsonl' : 'csv';
  const format = (text(flags.format) ?? asked) as LogFormat;
  if (!logFormats.includes(format)) throw new AppError('usage', { detail: `--format ${format}: csv, jsonl` });
  const client = await context.client();
  const filters = queryOf(flags, Date.now());
  const { quotaPerUnit } = await moneyOf(context);
  context.output.raw(logHeader(format));
  let after = '';
  do {
    const { items, next } = await client.call('log.step', { ...filters, after, limit: rowsAtOnce });
    context.output.raw(items.map((row) => logLine(format, row, quotaPerUnit)).join(''));
    after = next;
  } while (after !== '');
};

export const verify: CommandRun = async (context, flags) => {
  const { checked, unequal, wrong } = await context.during(
    (await context.client()).call('log.verify', queryOf(flags, Date.now())),
  );
  const lines = [
    context.say(`已核对 ${checked} 笔费用，${unequal} 笔不一致`, `${checked} charges recomputed, ${unequal} differ`),
    ...wrong.map((row) => `  ${row.id}: ${row.quota} <> ${row.expected ?? '?'}`),
  ];
  context.output.object({ checked, unequal, wrong }, lines, String(unequal));
  if (unequal > 0) throw new AppError('check_failed', { detail: `${unequal} / ${checked}` });
};

const share = (cost: number | null, quota: number): string =>
  cost === null || quota === 0 ? '' : `${(((quota - cost) / quota) * 100).toFixed(1)}%`;

export const stat: CommandRun = async (context, flags) => {
  const client = await context.client();
  const now = Date.now();
  // Sums of a span agree with the console's: they begin at the same edge.
  const filters = { ...queryOf(flags, now), start_timestamp: pastEdge(text(flags.since), '--since', now) };
  const by = text(flags.by);
  const money = await moneyOf(context);
  if (by === undefined) {
    const { quota, requests, errors, refused, rpm, tpm, overrun } = await client.call('log.stat', filters);
    const beyond = overrun === 0 ? '' : `  ${context.say('超支', 'overrun')} ${money.of(overrun)}`;
    const counted = context.say(
      `${requests} 个请求（${errors} 个出错），${refused} 个被拒绝`,
      `${requests} requests (${errors} failed), ${refused} refused`,
    );
    context.output.object(
      { quota, requests, errors, refused, rpm, tpm, overrun },
      [`${money.of(quota)}  ${counted}  ${rpm} rpm  ${tpm} tpm${beyond}`],
      String(quota),
    );
    return;
  }
  const grouping = groupingOf(by);
  if (grouping === undefined)
    throw new AppError('usage', { detail: `--by ${by}: ${logGroupings.map(shownGrouping).join(', ')}` });
  const hasCost = grouping === 'channel' || grouping === 'model' || grouping === 'user';
  if (flags.margin === true && !hasCost)
    throw new AppError('usage', { detail: `--margin --by ${by}: channel, model, user` });
  const rows = await client.call('log.breakdown', {
    ...filters,
    by: grouping,
    limit: wholeNumber(text(flags.limit), '--limit'),
  });
  const isTime = grouping === 'hour' || grouping === 'day';
  const hasOwner = grouping === 'token' || isNameKind(grouping);
  const columns = [
    {
      name: by,
      value: (row: (typeof rows)[number]) =>
        isTime ? new Date(Number(row.name) * 1000).toISOString().slice(0, grouping === 'day' ? 10 : 16) : row.name,
    },
    ...(hasOwner ? [{ name: 'user', value: (row: (typeof rows)[number]) => row.username }] : []),
    { name: 'requests', value: (row: (typeof rows)[number]) => String(row.requests), right: true },
    { name: 'tokens', value: (row: (typeof rows)[number]) => String(row.tokens), right: true },
    money.column('charged', (row: (typeof rows)[number]) => row.quota),
    ...(flags.margin === true
      ? [
          money.column('cost', (row: (typeof rows)[number]) => row.cost, '?'),
          money.column(
            'margin',
            (row: (typeof rows)[number]) => (row.cost === null ? null : row.quota - row.cost),
            '?',
          ),
          { name: 'share', value: (row: (typeof rows)[number]) => share(row.cost, row.quota), right: true },
        ]
      : []),
  ];
  context.output.list(rows, columns, (row) => row.name);
};

/** Names of several words have dashes on the command line. */
const shownGrouping = (by: LogGrouping): string => by.replace('_', '-');
const groupingOf = (word: string): LogGrouping | undefined => logGroupings.find((by) => shownGrouping(by) === word);

export const prune: CommandRun = async (context, flags) => {
  const input = text(flags.before);
  const before = pastTime(input, '--before', Date.now());
  if (before === undefined) throw new AppError('input_needed', { flags: '--before' });
  if (flags.dryRun === true) {
    const { total } = await (await context.client()).call('log.list', {
      p: 1,
      page_size: 1,
      end_timestamp: before - 1,
    });
    return context.output.object({ removed: 0, would_remove: total }, [String(total)], String(total));
  }
  await context.confirm(context.say(`删除 ${input} 之前的日志？`, `Delete the logs before ${input}?`));
  const removed = await (await context.client()).call('log.prune', { target_timestamp: before });
  context.output.object({ removed }, [`deleted ${removed}`], String(removed));
};
