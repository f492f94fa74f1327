/** Price maps: models, groups and their ratios. */
import { AppError } from '../../../server/contract/errors.ts';
import type { OptionKey } from '../../../server/contract/options.ts';
import { raisedBy } from '../../../server/contract/pricing/decimal.ts';
import { defaultPriceText } from '../../../server/contract/pricing/defaults.ts';
import { type PriceChange, pricesDiffer } from '../../../server/contract/pricing/diff.ts';
import { priceOptionKeys } from '../../../server/contract/pricing/tables.ts';
import { safeJson } from '../../../server/contract/safe-text.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { detailLines } from '../../output.ts';

const maps: readonly OptionKey[] = priceOptionKeys.filter((key) => key !== 'QuotaPerUnit');

function mapOf(name: string): OptionKey {
  const found = maps.find((key) => key === name);
  if (found === undefined) throw new AppError('usage', { detail: `${name}: ${maps.join(', ')}` });
  return found;
}

const parse = (text: string | undefined): Record<string, unknown> =>
  JSON.parse(text === undefined || text === '' ? '{}' : text) as Record<string, unknown>;

async function textsOf(client: Client): Promise<ReadonlyMap<string, string>> {
  return new Map((await client.call('option.list')).map(({ key, value }) => [key, value]));
}

export const list: CommandRun = async (context, flags) => {
  const selected = text(flags.map);
  const texts = await textsOf(await context.client());
  const rows = (selected === undefined ? maps : [mapOf(selected)]).flatMap((map) =>
    Object.entries(parse(texts.get(map))).map(([name, ratio]) => ({ map, name, ratio })),
  );
  context.output.list(
    rows,
    [
      { name: 'map', value: (row) => row.map },
      { name: 'name', value: (row) => row.name },
      {
        name: 'ratio',
        value: (row) => (typeof row.ratio === 'object' ? JSON.stringify(row.ratio) : String(row.ratio)),
        right: true,
      },
    ],
    (row) => row.name,
  );
};

export const unset: CommandRun = async (context) => {
  const models = await (await context.client()).call('ratio.unset');
  context.output.list(
    models.map((model) => ({ model })),
    [{ name: 'model', value: (row) => row.model }],
    (row) => row.model,
  );
};

export const get: CommandRun = async (context, _flags, name) => {
  const texts = await textsOf(await context.client());
  const found = Object.fromEntries(
    maps.flatMap((map) => {
      const all = parse(texts.get(map));
      return name in all ? [[map, all[name]]] : [];
    }),
  );
  if (Object.keys(found).length === 0) throw new AppError('not_found', { what: name });
  context.output.object({ name, ...found }, detailLines(found), name);
};

/** @returns what `+20%` or `-10%` makes of what holds now. @throws AppError usage, not_found */
function changedBy(percent: string, now: unknown, name: string): number {
  const by = Number(percent.slice(0, -1));
  if (!Number.isFinite(by) || by < -100) throw new AppError('usage', { detail: `${name}=${percent}` });
  if (typeof now !== 'number') throw new AppError('not_found', { what: name });
  return raisedBy(now, by);
}

/** `MAP NAME=RATIO...`; an empty ratio removes the name, one in percent with its sign changes what is stored. */
export const set: CommandRun = async (context, _flags, mapName, [, ...assignments]) => {
  const map = mapOf(mapName);
  if (assignments.length === 0) throw new AppError('input_needed', { flags: 'NAME=RATIO' });
  const client = await context.client();
  const values = parse((await textsOf(client)).get(map));
  for (const assignment of assignments) {
    const at = assignment.lastIndexOf('=');
    if (at <= 0) throw new AppError('usage', { detail: `${assignment}: NAME=RATIO` });
    const name = assignment.slice(0, at);
    const ratio = assignment.slice(at + 1);
    if (ratio === '') delete values[name];
    else if (/^[+-].*%$/.test(ratio)) values[name] = changedBy(ratio, values[name], name);
    else if (Number.isFinite(Number(ratio))) values[name] = Number(ratio);
    else throw new AppError('usage', { detail: assignment });
  }
  const { result } = await client.call('option.set', { key: map, value: JSON.stringify(values) });
  context.output.object({ result, map }, [`${map} ${result}`], map);
};

/** What a reset would change: stored against shipped. */
async function resetChanges(client: Client): Promise<PriceChange[]> {
  const texts = await textsOf(client);
  return pricesDiffer('ModelRatio', texts.get('ModelRatio') ?? '{}', defaultPriceText('ModelRatio'));
}

/** All are of one table, which the question names. What goes away stands first, then what becomes another. */
function changeLines(changes: readonly PriceChange[]): string[] {
  const cells = Math.max(0, ...changes.map(({ name }) => Bun.stringWidth(name)));
  return changes
    .toSorted((a, b) => rankOf(a) - rankOf(b) || a.name.localeCompare(b.name, 'en', { numeric: true }))
    .map(({ name, before, after }) => {
      const padded = `${name}${' '.repeat(cells - Bun.stringWidth(name))}`;
      return before === null
        ? `+ ${padded}  ${after}`
        : after === null
          ? `- ${padded}  ${before}`
          : `~ ${padded}  ${before} -> ${after}`;
    });
}

const rankOf = ({ before, after }: PriceChange): number => (after === null ? 0 : before === null ? 2 : 1);

const question = (context: Context): string =>
  context.say('将模型倍率恢复为默认？', 'Reset the model ratios to their defaults?');

async function confirmOrThrow(context: Context, changes: readonly PriceChange[], asked: string): Promise<void> {
  if (context.flags.yes === true) return;
  if (context.screens) {
    const { confirmChanges } = await import('../../screens/confirm-changes.tsx');
    return confirmChanges(context, changeLines(changes), asked);
  }
  for (const line of changeLines(changes)) context.output.note(line);
  await context.confirm(asked);
}

export const reset: CommandRun = async (context, flags) => {
  const client = await context.client();
  const changes = await resetChanges(client);
  if (flags.dryRun === true)
    return context.output.object({ result: 'unchanged', changes }, changeLines(changes), String(changes.length));
  await confirmOrThrow(context, changes, question(context));
  const { version } = await client.call('option.reset_ratios');
  context.output.object(
    { result: 'updated', backup: version },
    [context.say(`重置模型倍率成功，备份版本 ${version}`, `ratios reset, backup version ${version}`)],
    String(version),
  );
  if (context.screens && context.flags.yes !== true) context.noteLine({ ...flags, yes: true });
};

export const exportAll: CommandRun = async (context) => {
  const texts = await textsOf(await context.client());
  const known = maps.map((map) => [map, parse(texts.get(map))]);
  context.output.line(safeJson(Object.fromEntries(known), 2));
};
