/** The usage log in the terminal. */
import type { Log } from '../../server/contract/entities.ts';
import { AppError } from '../../server/contract/errors.ts';
import { type BillLine, formatUsd, recompute } from '../../server/contract/quota.ts';
import { type CommandRun, text } from '../command.ts';
import { type Column, dollars, isoTime } from '../output.ts';

const types = ['unknown', 'topup', 'consume', 'manage', 'system', 'error'] as const;

const columns: readonly Column<Log>[] = [
  { name: 'id', value: (row) => String(row.id), right: true },
  { name: 'time', value: (row) => isoTime(row.created_at) },
  { name: 'type', value: (row) => types[row.type] ?? 'unknown' },
  { name: 'user', value: (row) => row.username },
  { name: 'token', value: (row) => row.token_name },
  { name: 'model', value: (row) => row.model_name },
  { name: 'channel', value: (row) => (row.channel === 0 ? '' : String(row.channel)), right: true },
  { name: 'in', value: (row) => String(row.prompt_tokens), right: true },
  { name: 'out', value: (row) => String(row.completion_tokens), right: true },
  { name: 'quota', value: (row) => String(row.quota), right: true },
  { name: 'cost', value: (row) => dollars(row.quota), right: true },
];

/** @throws AppError usage. */
export function typeOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const index = types.indexOf(given as (typeof types)[number]);
  if (index < 0) throw new AppError('usage', { detail: `--type ${given}: ${types.slice(1).join(', ')}` });
  return index;
}

function count(given: string | undefined, fallback: number, flag: string): number {
  if (given === undefined) return fallback;
  if (!/^\d+$/.test(given)) throw new AppError('usage', { detail: `${flag} ${given}` });
  return Number(given);
}

export const list: CommandRun = async (context, flags) => {
  const client = await context.client();
  const limit = count(text(flags.limit), 20, '--limit');
  const rows: Log[] = [];
  for (let page = 1; rows.length < limit; page++) {
    const size = Math.min(100, limit);
    const { items } = await client.call('log.list', {
      p: page,
      page_size: size,
      type: typeOf(text(flags.type)),
      model_name: text(flags.model),
      username: text(flags.user),
      channel: text(flags.channel) === undefined ? undefined : count(text(flags.channel), 0, '--channel'),
    });
    rows.push(...items.slice(0, limit - rows.length));
    if (items.length < size) break;
  }
  context.output.list(rows, columns, (row) => String(row.id));
};

const followMs = 500;

export const tail: CommandRun = async (context, flags) => {
  const client = await context.client();
  const type = typeOf(text(flags.type));
  const print = (rows: readonly Log[]) => {
    for (const row of rows) {
      if (context.output.isTty && context.output.format === 'auto')
        context.output.line(columns.map((column) => column.value(row)).join('  '));
      else context.output.line(JSON.stringify(row));
    }
  };
  let rows = await client.call('log.tail', { after: -1, type, limit: count(text(flags.lines), 10, '--lines') });
  print(rows);
  let last = rows.at(-1)?.id ?? 0;
  while (flags.follow === true) {
    await Bun.sleep(followMs);
    rows = await client.call('log.tail', { after: last, type, limit: 1000 });
    print(rows);
    last = rows.at(-1)?.id ?? last;
  }
};

const kinds: Readonly<Record<BillLine['kind'], { zh: string; en: string }>> = {
  input: { zh: '输入', en: 'input' },
  cache_read: { zh: '缓存读取', en: 'cache read' },
  cache_write: { zh: '缓存写入', en: 'cache write' },
  cache_write_1h: { zh: '缓存写入（1 小时）', en: 'cache write (1 h)' },
  output: { zh: '输出', en: 'output' },
  call: { zh: '按次', en: 'per call' },
};

export const explain: CommandRun = async (context, _flags, ref) => {
  const client = await context.client();
  const row = await client.call('log.get', { ref });
  const again = row.other === '' ? null : recompute(JSON.parse(row.other) as Record<string, unknown>);
  if (again === null) {
    context.output.object(
      { log: row, bill: null },
      [`${row.id}  ${row.model_name}  ${row.content}`, 'no charge'],
      String(row.id),
    );
    return;
  }
  const { prices, lines, quota } = again;
  const right = quota === row.quota || row.quota === 0;
  const name = ({ kind, detail }: BillLine) =>
    `${kinds[kind][context.language]}${detail === undefined ? '' : ` (${detail})`}`;
  const bill = [
    `${row.request_id}  ${isoTime(row.created_at)}  ${row.model_name}  (${row.usage_source}, ${row.end_reason})`,
    ...lines.map((line) =>
      line.kind === 'call'
        ? `  ${name(line)}: $${line.ratio} x ${line.tokens} x ${prices.quotaPerUnit} x ${prices.groupRatio}`
        : `  ${name(line)}: ${line.tokens} x ${line.ratio} = ${Number((line.tokens * line.ratio).toFixed(6))}`,
    ),
    ...(prices.modelPrice === null
      ? [
          `  x ${context.language === 'zh' ? '模型倍率' : 'model ratio'} ${prices.modelRatio} x ${context.language === 'zh' ? '分组倍率' : 'group ratio'} ${prices.groupRatio}`,
        ]
      : []),
    `  = ${quota} quota = $${formatUsd(quota)}   ${right ? (context.language === 'zh' ? '与扣费一致' : 'equals the charge') : `<> ${row.quota}`}`,
  ];
  context.output.object({ log: row, bill: { lines, prices, quota, matches: right } }, bill, String(row.id));
  if (!right) throw new AppError('check_failed', { detail: `${quota} <> ${row.quota}` });
};
