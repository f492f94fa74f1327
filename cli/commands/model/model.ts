/** Models: what they cost, who serves them, and why one is not available. */
import { statusWord } from '../../../server/contract/channel-filter.ts';
import type { Channel } from '../../../server/contract/entities.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { compilePriceTables, resolvePrices } from '../../../server/contract/pricing/tables.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, text } from '../../command.ts';
import { allChannels } from '../channel/fields.ts';
import { known } from './details.ts';

const members = (list: string): string[] => list.split(',').map((one) => one.trim());

async function pricesOf(client: Client): Promise<(model: string, group: string) => string | null> {
  const texts = new Map((await client.call('option.list')).map(({ key, value }) => [key, value]));
  const tables = compilePriceTables((key) => texts.get(key) ?? '', Date.now());
  const unset = await client.call('ratio.unset');
  const acceptUnset = texts.get('SelfUseModeEnabled') === 'true';
  return (model, group) => {
    // The server knows whether what stands before the slash is the provider that serves.
    const prefixes = model.includes('/') && !unset.includes(model) ? model.split('/', 1) : [];
    const prices = resolvePrices(tables, model, { group, userGroup: group, acceptUnset, prefixes });
    if (prices === null) return null;
    return prices.modelPrice === null ? `ratio ${prices.modelRatio}` : `$${prices.modelPrice} per call`;
  };
}

export const list: CommandRun = async (context, flags) => {
  const client = await context.client();
  const group = text(flags.group) ?? 'default';
  const channels = (await allChannels(client)).filter((channel) => members(channel.group).includes(group));
  const price = await pricesOf(client);
  const names = [...new Set(channels.flatMap((channel) => members(channel.models)))].sort();
  const rows = names.map((model) => {
    const serving = channels.filter((channel) => channel.status === 1 && members(channel.models).includes(model));
    return { model, price: price(model, group), channels: serving.map((channel) => channel.name) };
  });
  context.output.list(
    rows,
    [
      { name: 'model', value: (row) => row.model },
      { name: 'price', value: (row) => row.price ?? 'UNSET' },
      { name: 'channels', value: (row) => row.channels.join(',') },
    ],
    (row) => row.model,
  );
};

/** Why a channel does or does not serve a model in a group. */
function verdict(channel: Channel, model: string, group: string): string {
  if (!members(channel.models).includes(model)) return 'lists other models';
  if (!members(channel.group).includes(group)) return `serves groups ${channel.group}`;
  return channel.status === 1 ? 'serves it' : statusWord(channel.status);
}

export const explain: CommandRun = async (context, flags, model, all) => {
  if (text(flags.channel) !== undefined || text(flags.provider) !== undefined) return known(context, flags, model, all);
  const group = text(flags.group) ?? 'default';
  const client = await context.client();
  const groups = await client.call('group.list');
  const channels = await allChannels(client);
  const price = (await pricesOf(client))(model, group);
  const rows = channels
    .map((channel) => ({ id: channel.id, name: channel.name, verdict: verdict(channel, model, group) }))
    .filter((row) => row.verdict !== 'lists other models');
  const serving = rows.filter((row) => row.verdict === 'serves it');
  const reasons = [
    ...(groups.includes(group) ? [] : [context.say(`分组 ${group} 不存在`, `group ${group} does not exist`)]),
    ...(price === null ? [context.say('倍率或价格未配置', 'its ratio or price is not set')] : []),
    ...(serving.length > 0 ? [] : [context.say('没有启用的渠道提供它', 'no enabled channel serves it')]),
  ];
  context.output.object(
    { model, group, available: reasons.length === 0, price, reasons, channels: rows },
    [
      reasons.length === 0
        ? context.say(`${model} 在分组 ${group} 可用，${price}`, `${model} is available in group ${group}, ${price}`)
        : `${model}, ${group}: ${reasons.join('; ')}`,
      ...rows.map((row) => `  ${row.id}  ${row.name}: ${row.verdict}`),
    ],
    reasons.length === 0 ? 'available' : 'unavailable',
  );
  if (reasons.length > 0) throw new AppError('check_failed', { detail: reasons.join('; ') });
};
