/** Virtual models: names that stand for a chain of targets. */
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { AppError } from '../../../server/contract/errors.ts';
import {
  type ChainTarget,
  requestClasses,
  targetFailures,
  targetMembers,
} from '../../../server/contract/virtual-models.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, type FlagValues, needed, text, texts } from '../../command.ts';
import type { Context } from '../../context.ts';
import { onEach, removal } from '../../parts/bulk.ts';
import { listOf, only } from '../../parts/list-output.ts';
import { wholeNumber } from '../../parts/numbers.ts';

const lists: ReadonlySet<string> = new Set(['after', 'classes', 'agent_types']);
const flagsOf: ReadonlySet<string> = new Set(['images', 'thinking']);
const numbers: ReadonlySet<string> = new Set(['channel', 'prompt_over', 'prompt_up_to']);

/** `gpt-5 group=vip after=rate_limited,timeout` as a target. @throws AppError params_invalid */
export function targetOf(written: string): Readonly<Record<string, unknown>> {
  const [model = '', ...rest] = written.trim().split(/\s+/);
  const target: Record<string, unknown> = { model };
  for (const word of rest) {
    const at = word.indexOf('=');
    const name = word.slice(0, Math.max(0, at));
    const value = word.slice(at + 1);
    // An empty value would lift a condition.
    if (name === 'model' || value === '' || !(targetMembers as readonly string[]).includes(name))
      throw new AppError('params_invalid', { detail: `--target: ${word}` });
    target[name] = lists.has(name)
      ? value.split(',')
      : numbers.has(name)
        ? Number(value)
        : flagsOf.has(name) && /^(true|false)$/.test(value)
          ? value === 'true'
          : value;
  }
  return target;
}

/** As `targetOf` reads it. */
export function targetText({ model, ...rest }: ChainTarget): string {
  const words = Object.entries(rest).map(
    ([name, value]) => `${name}=${Array.isArray(value) ? value.join(',') : value}`,
  );
  return [model, ...words].join(' ');
}

export const list = listOf('virtual_model.list', {
  columns: () => ({
    id: ['id', 2],
    name: 'name',
    enabled: (row) => (row.enabled ? 'yes' : 'no'),
    targets: (row) => row.targets.map(({ model }) => model).join(' → '),
    boundary: ['boundary', 1],
  }),
  key: 'name',
});

/** By id or by name. */
async function namedModels(client: Client, _flags: FlagValues, refs: readonly string[]) {
  const rows = await client.call('virtual_model.list', {});
  return refs.map((ref) =>
    only(
      rows.filter((row) => String(row.id) === ref || row.name === ref),
      'virtual model',
      ref,
    ),
  );
}

type VirtualModelRow = OutputOf<EndpointOf<'virtual_model.get'>>;

function show(context: Context, row: VirtualModelRow, result?: string): void {
  const { name, enabled, boundary, description, targets } = row;
  const notes = [
    enabled ? '' : context.say('（已禁用）', ' (disabled)'),
    boundary === '' ? '' : context.say(`，不越出分组 ${boundary}`, `, never leaves group ${boundary}`),
  ];
  context.output.object(
    result === undefined ? row : { result, ...row },
    [
      `${name}${notes.join('')}`,
      ...(description === '' ? [] : [description]),
      ...targets.map((target, at) => `  ${at + 1}  ${targetText(target)}`),
    ],
    name,
  );
}

export const get: CommandRun = async (context, flags, ref) => {
  const [row] = await namedModels(await context.client(), flags, [ref]);
  if (row !== undefined) show(context, row);
};

function fieldsOf(flags: FlagValues) {
  const targets = texts(flags.target);
  return {
    boundary: text(flags.boundary),
    description: text(flags.description),
    ...(targets.length === 0 ? {} : { targets: targets.map(targetOf) }),
  };
}

export const add: CommandRun = async (context, flags) => {
  const [first] = texts(flags.target);
  const { '--name': name } = needed({ '--name': text(flags.name), '--target': first });
  const enabled = flags.disabled !== true;
  const made = await (await context.client()).call('virtual_model.create', { name, enabled, ...fieldsOf(flags) });
  show(context, made, 'created');
};

export const edit: CommandRun = async (context, flags, ref) => {
  const change = { name: text(flags.name), ...fieldsOf(flags) };
  if (Object.values(change).every((value) => value === undefined))
    throw new AppError('input_needed', { flags: '--target | --name | --boundary | --description' });
  const client = await context.client();
  const [row] = await namedModels(client, flags, [ref]);
  if (row !== undefined) show(context, await client.call('virtual_model.update', { id: row.id, ...change }), 'changed');
};

const setEnabled = (enabled: boolean): CommandRun =>
  onEach(namedModels, async (client, { id }) => {
    await client.call('virtual_model.update', { id, enabled });
    return enabled ? 'enabled' : 'disabled';
  });

export const enable = setEnabled(true);
export const disable = setEnabled(false);
export const rm = removal('virtual_model.delete', namedModels, ['虚拟模型', 'virtual models']);

type Explained = OutputOf<EndpointOf<'virtual_model.try'>>;

/** Why a target is not tried. */
const reasons: Readonly<Record<string, readonly [zh: string, en: string]>> = {
  no_channel: ['没有渠道提供', 'no channel serves it'],
  no_price: ['未设置价格', 'has no price'],
  conditions: ['条件不符', 'its conditions are not met'],
  turn: ['思考签名未完的一轮不换模型', 'a signed thinking turn keeps its model'],
  not_after: ['只在其他失败之后', 'only after other failures'],
  not_needed: ['不需要', 'not needed'],
  boundary: ['越出限定的分组', 'outside of the group that is not left'],
  group: ['用户不能使用该分组', 'the user may not use its group'],
};

function priceText({ price: { input, output, call } }: Explained['targets'][number]): string {
  if (call !== null) return `$${call}/call`;
  return input === null || output === null ? '' : `$${input} / $${output}`;
}

/** Lines of where a request would go. */
export function chainLines(context: Context, { targets, boundary, not_allowed: missing }: Explained): string[] {
  const widest = Math.max(0, ...targets.map(({ model }) => model.length));
  return [
    ...(boundary === '' ? [] : [context.say(`  不越出分组 ${boundary}`, `  never leaves group ${boundary}`)]),
    ...targets.map((target) => {
      const { order, model, group, channel, outcome, channels } = target;
      const words = reasons[outcome];
      const why = words === undefined ? channels.map(({ name }) => name).join(', ') : context.say(...words);
      const where = channel === null ? group : `${group} #${channel}`;
      return `  ${order === 0 ? '–' : order}  ${model.padEnd(widest)}  ${where}  ${priceText(target)}  ${why}`;
    }),
    ...(missing.length === 0
      ? []
      : [
          context.say(`令牌的模型列表缺少：${missing.join('、')}`, `The key's model list lacks: ${missing.join(', ')}`),
        ]),
  ];
}

/** @throws AppError params_invalid */
function wordOf<Word extends string>(
  value: string | undefined,
  words: readonly Word[],
  flag: string,
): Word | undefined {
  const found = words.find((word) => word === value);
  if (value !== undefined && found === undefined)
    throw new AppError('params_invalid', { detail: `${flag}: ${words.join(', ')}` });
  return found;
}

export const tryOut: CommandRun = async (context, flags, name) => {
  const found = await (await context.client()).call('virtual_model.try', {
    name,
    group: text(flags.group),
    token: text(flags.token),
    prompt_tokens: wholeNumber(text(flags.prompt), '--prompt'),
    images: flags.images === true,
    thinking: flags.thinking === true,
    class: wordOf(text(flags.class), requestClasses, '--class'),
    agent_type: text(flags.agent),
    failure: wordOf(text(flags.failure), targetFailures, '--failure'),
    signed_turn: flags.signedTurn === true,
  });
  const order = found.targets.filter((target) => target.order > 0).sort((a, b) => a.order - b.order);
  context.output.object(
    found,
    [context.say(`${name}，分组 ${found.group}`, `${name}, group ${found.group}`), ...chainLines(context, found)],
    order.map(({ model }) => model).join('\n'),
  );
  if (order.length === 0 || found.not_allowed.length > 0)
    throw new AppError('check_failed', {
      detail: context.say(`${name} 没有可用的目标`, `no target of ${name} can serve this request`),
    });
};
