/** Price maps over time. */

import { readFile, stat } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { pricesDiffer } from '../../../server/contract/pricing/diff.ts';
import { relevantPart } from '../../../server/contract/pricing/open-list.ts';
import { plainCell } from '../../../server/contract/safe-text.ts';
import { textWithin } from '../../../server/contract/text-within.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, text, texts } from '../../command.ts';
import type { Context } from '../../context.ts';
import { isWhole } from '../../output.ts';
import { listOf } from '../../parts/list-output.ts';
import { moneyOf } from '../../parts/money.ts';
import { idOf } from '../../parts/numbers.ts';
import { pastTime } from '../../parts/when.ts';

type Change = OutputOf<EndpointOf<'ratio.changes'>>[number];

const showChanges = (context: Context, changes: readonly Change[]) =>
  context.output.list(
    changes,
    [
      { name: 'option', value: (row) => row.key },
      { name: 'name', value: (row) => row.name },
      { name: 'before', value: (row) => row.before ?? '-', right: true },
      { name: 'after', value: (row) => row.after ?? '-', right: true },
    ],
    (row) => `${row.key}.${row.name}`,
  );

/** The columns that both histories begin with. */
const versionColumns = { version: 'id', time: 'created_time', by: 'actor', reason: 'reason' } as const;

const versions = listOf('ratio.history', {
  columns: () => ({
    ...versionColumns,
    changes: ({ count, changes }) =>
      [
        ...changes.map(({ key, name, before, after }) => `${name || key} ${before ?? '-'} -> ${after ?? '-'}`),
        ...(count > changes.length ? [`+${count - changes.length}`] : []),
      ].join(', '),
    options: (row) => row.keys.join(', '),
  }),
  limit: 20,
});

type Prices = OutputOf<EndpointOf<'ratio.model_history'>>[number]['after'];
const priceText = ({ input, output, per_call: call }: Prices): string =>
  call !== null ? `$${call} a call` : input === null ? '-' : `$${input} / $${output}`;

const ofModel = listOf('ratio.model_history', {
  columns: () => ({
    ...versionColumns,
    before: ({ before }) => priceText(before),
    after: ({ after }) => priceText(after),
  }),
  input: ({ model }) => ({ model: text(model) ?? '' }),
  limit: 20,
});

export const history: CommandRun = (context, flags, ...given) =>
  (text(flags.model) === undefined ? versions : ofModel)(context, flags, ...given);

export const diff: CommandRun = async (context, _flags, version) =>
  showChanges(context, await (await context.client()).call('ratio.changes', { id: idOf(version, 'version') }));

export const rollback: CommandRun = async (context, _flags, input) => {
  const version = idOf(input, 'version');
  await context.confirm(context.say(`将倍率恢复到版本 ${version} 修改之前？`, `Roll back price change ${version}?`));
  const done = await (await context.client()).call('ratio.rollback', { version });
  if (done.changes.length === 0) context.output.note(context.say('没有变化', 'nothing differs'));
  showChanges(context, done.changes);
};

const fetchMs = 30_000;

/** The largest open list has a tenth of it. */
const maxBytes = 32_000_000;

const reasons: Readonly<Record<string, { readonly zh: string; readonly en: string }>> = {
  threefold: { zh: '价格变动达三倍，未列入建议', en: 'moves threefold, held back' },
  unit: { zh: '计价单位不同，未列入建议', en: 'changes its unit, held back' },
  gone: { zh: '列表中已无价格，保持不变', en: 'has no price there any more, stays as it is' },
  negative: { zh: '价格为负，已拒绝', en: 'a negative price, refused' },
  not_a_number: { zh: '价格不是数字，已拒绝', en: 'a price that is no number, refused' },
  too_large: { zh: '价格过大，已拒绝', en: 'a price too large to be one, refused' },
  control: { zh: '名称含控制字符，已拒绝', en: 'control characters in the name, refused' },
};
const heldWords = (reason: string) => reasons[reason] ?? { zh: reason, en: reason };

async function readSource(from: string): Promise<string> {
  try {
    if (!/^https?:\/\//i.test(from)) {
      if ((await stat(from)).size > maxBytes) throw new Error(`more than ${maxBytes / 1e6} MB`);
      return await readFile(from, 'utf8');
    }
    const response = await fetch(from, { signal: AbortSignal.timeout(fetchMs) });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return await textWithin(response, maxBytes);
  } catch (error) {
    throw new AppError('usage', { detail: `${from}: ${error instanceof Error ? error.message : error}` }, error);
  }
}

/** An open list has thousands of models: what this site neither prices nor serves stays here. */
async function relevantList(client: Client, list: string): Promise<string> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(list);
  } catch {
    // The server says so.
    return list.slice(0, 100);
  }
  const names = new Set(await client.call('channel.models_enabled'));
  for (const { key, value } of await client.call('option.list'))
    if (key === 'ModelRatio' || key === 'ModelPrice')
      for (const name of Object.keys(JSON.parse(value))) names.add(name);
  return relevantPart(parsed, (model) => names.has(model)) ?? list;
}

export const sync: CommandRun = async (context, flags) => {
  const from = text(flags.from);
  if (from === undefined) throw new AppError('input_needed', { flags: '--from' });
  const client = await context.client();
  const proposal = { text: await relevantList(client, await readSource(from)), careful: true };
  const { changes, values, held } = await client.call('ratio.propose', proposal);
  showChanges(context, changes);
  for (const { name, reason } of held)
    context.output.note(`${name}: ${context.say(heldWords(reason).zh, heldWords(reason).en)}`);
  if (changes.length === 0 || flags.apply !== true) {
    if (changes.length > 0)
      context.output.note(context.say('仅为建议，使用 --apply 应用', 'only proposed; --apply stores them'));
    return;
  }
  await context.confirm(context.say(`应用这 ${changes.length} 处修改？`, `Store ${changes.length} changes?`));
  const { version } = await client.call('ratio.apply', { values });
  context.output.note(context.say(`已应用，备份版本 ${version}`, `stored; backup version ${version}`));
};

const sources = ['shipped', 'list'] as const;

/** @throws AppError usage */
function sourceOf(input: unknown): (typeof sources)[number] | undefined {
  const found = sources.find((source) => source === input);
  if (input !== undefined && found === undefined)
    throw new AppError('usage', { detail: `--source: ${sources.join(', ')}` });
  return found;
}

/** What waits for a word, of one source or of all. */
async function proposed(context: Context, source: (typeof sources)[number] | undefined) {
  const all = await (await context.client()).call('ratio.proposals');
  return all.filter((proposal) => source === undefined || proposal.source === source);
}

const day = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

export const proposals: CommandRun = async (context, flags) => {
  const found = await proposed(context, sourceOf(text(flags.source)));
  context.output.list(
    found.flatMap(({ source, at, changes }) => changes.map((change) => ({ source, date: day(at), ...change }))),
    [
      { name: 'source', value: (row) => row.source },
      { name: 'date', value: (row) => row.date },
      { name: 'option', value: (row) => row.key },
      { name: 'name', value: (row) => row.name },
      { name: 'before', value: (row) => row.before ?? '-', right: true },
      { name: 'after', value: (row) => row.after ?? '-', right: true },
    ],
    (row) => row.name,
  );
  for (const { from, held, error } of found) {
    for (const { name, reason } of held)
      context.output.note(`${name}: ${context.say(heldWords(reason).zh, heldWords(reason).en)}`);
    if (error !== '') context.output.note(`${from}: ${error}`);
  }
};

/** What the flag names, else what has something to say. @throws AppError input_needed when there are two. */
async function decidedUpon(context: Context, source: (typeof sources)[number] | undefined) {
  const all = await proposed(context, source);
  const [first, second] = source === undefined ? all.filter(({ changes }) => changes.length > 0) : all;
  if (second !== undefined) throw new AppError('input_needed', { flags: '--source' });
  return first ?? { source: source ?? 'shipped', changes: [] };
}

const decide =
  (verb: 'apply' | 'reject'): CommandRun =>
  async (context, flags, _first, names) => {
    const found = await decidedUpon(context, sourceOf(text(flags.source)));
    const { source } = found;
    // Whoever is asked may take his time.
    const seen = 'at' in found ? { at: found.at } : {};
    const models = names.length === 0 ? {} : { names: [...names] };
    const changes = found.changes.filter(({ name }) => names.length === 0 || names.includes(name));
    if (verb === 'apply' && changes.length > 0) {
      // For a program there is one document: the result, which has the changes.
      if (context.output.format === 'table') showChanges(context, changes);
      await context.confirm(context.say(`应用这 ${changes.length} 处修改？`, `Store ${changes.length} changes?`));
    }
    const client = await context.client();
    if (verb === 'apply') {
      const { version } = await client.call('ratio.apply_proposal', { source, ...seen, ...models });
      return context.output.object(
        { result: version === 0 ? 'unchanged' : 'updated', version, changes },
        [
          version === 0
            ? context.say('没有变化', 'nothing differs')
            : context.say(`已应用，备份版本 ${version}`, `stored; backup version ${version}`),
        ],
        String(version),
      );
    }
    const { rejected } = await client.call('ratio.reject_proposal', { source, ...seen, ...models });
    context.output.object(
      { result: rejected === 0 ? 'unchanged' : 'updated', rejected },
      [context.say(`已保留 ${rejected} 处现有价格`, `${rejected} of the proposed prices stay away`)],
      String(rejected),
    );
  };
export const applyProposal = decide('apply');
export const rejectProposal = decide('reject');

/** `map,name,ratio` as `ratios list -o csv` writes it. @throws AppError usage */
function mapsOfCsv(text: string, file: string): Record<string, Record<string, unknown>> {
  const maps: Record<string, Record<string, unknown>> = {};
  try {
    for (const [map = '', name = '', ratio = ''] of parse(text, { from_line: 2, skip_empty_lines: true, bom: true }))
      maps[map] = { ...maps[map], [plainCell(name)]: JSON.parse(ratio) };
  } catch (error) {
    throw new AppError('usage', { detail: `${file}: ${error instanceof Error ? error.message : ''}` }, error);
  }
  return maps;
}

const groupMaps = ['GroupRatio', 'GroupGroupRatio', 'ChannelCostRatio'] as const;

/** Names that the file does not mention stay as they are. */
export const importFile: CommandRun = async (context, flags, file) => {
  const input = file === '-' ? await context.readSecret('FILE') : await readSource(file);
  const text = /^map,name,ratio\r?$/m.test(input) ? JSON.stringify(mapsOfCsv(input, file)) : input;
  const client = await context.client();
  const { changes, values } = await client.call('ratio.propose', { text });
  const own = JSON.parse(text) as Record<string, unknown>;
  const options = await client.call('option.list');
  for (const key of groupMaps) {
    if (typeof own[key] !== 'object') continue;
    const now = options.find((option) => option.key === key)?.value || '{}';
    const next = JSON.stringify({ ...(JSON.parse(now) as object), ...own[key] });
    const differing = pricesDiffer(key, now, next);
    if (differing.length > 0) values[key] = next;
    changes.push(...differing);
  }
  showChanges(context, changes);
  if (changes.length === 0 || flags.dryRun === true) return;
  await context.confirm(context.say(`应用这 ${changes.length} 处修改？`, `Store ${changes.length} changes?`));
  const { version } = await client.call('ratio.apply', { values });
  context.output.note(context.say(`已应用，备份版本 ${version}`, `stored; backup version ${version}`));
};

/** `Option=text`, or `Option.name=number` on top of what is in force. */
async function assignments(client: Client, input: readonly string[]): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  const options = await client.call('option.list');
  for (const assignment of input) {
    const match = /^(\w+)(?:\.([^=]+))?=(.+)$/s.exec(assignment);
    if (match === null) throw new AppError('usage', { detail: `--set ${assignment}: OPTION=JSON, OPTION.name=number` });
    const [, key = '', name, value = ''] = match;
    if (name === undefined) values[key] = value;
    else {
      if (!Number.isFinite(Number(value))) throw new AppError('usage', { detail: `--set ${assignment}` });
      const base = values[key] ?? options.find((option) => option.key === key)?.value ?? '{}';
      values[key] = JSON.stringify({ ...(JSON.parse(base) as object), [name]: Number(value) });
    }
  }
  return values;
}

export const simulate: CommandRun = async (context, flags) => {
  const set = texts(flags.set);
  if (set.length === 0) throw new AppError('input_needed', { flags: '--set' });
  const client = await context.client();
  const result = await client.call('ratio.simulate', {
    since: pastTime(text(flags.since) ?? '7d', '--since', Date.now()),
    values: await assignments(client, set),
  });
  const total = { model: context.say('合计', 'total'), ...result };
  if (isWhole(context.output.format)) return context.output.object(result, [], '');
  const money = await moneyOf(context);
  context.output.list(
    [...result.models, total],
    [
      { name: 'model', value: (row) => row.model },
      { name: 'requests', value: (row) => String(row.requests), right: true },
      money.column('before', (row) => row.before),
      money.column('after', (row) => row.after),
      money.column('difference', (row) => row.after - row.before),
    ],
    (row) => row.model,
  );
};
