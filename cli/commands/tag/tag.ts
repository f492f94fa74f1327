/** Channels by their tag. */
import { statusWord } from '../../../server/contract/channel-filter.ts';
import type { Channel } from '../../../server/contract/entities.ts';
import { AppError } from '../../../server/contract/errors.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, type FlagValues, text } from '../../command.ts';
import { onEach } from '../../parts/bulk.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { allChannels } from '../channel/fields.ts';

export const list: CommandRun = async (context) => {
  const tags = Map.groupBy(
    (await allChannels(await context.client())).filter((channel) => channel.tag !== ''),
    (channel) => channel.tag,
  );
  const rows = [...tags].map(([tag, channels]) => ({
    tag,
    channels: channels.length,
    enabled: channels.filter((channel) => channel.status === 1).length,
    models: [...new Set(channels.flatMap((channel) => channel.models.split(',')))].sort().join(','),
  }));
  context.output.list(
    rows,
    [
      { name: 'tag', value: (row) => row.tag },
      { name: 'channels', value: (row) => String(row.channels), right: true },
      { name: 'enabled', value: (row) => String(row.enabled), right: true },
      { name: 'models', value: (row) => row.models },
    ],
    (row) => row.tag,
  );
};

/** @throws AppError not_found */
async function channelsOf(client: Client, tag: string): Promise<Channel[]> {
  const channels = await client.call('channel.selection', { tag });
  if (channels.length === 0) throw new AppError('not_found', { what: `tag ${tag}` });
  return channels;
}

type Fields = Partial<Pick<Channel, 'status' | 'tag' | 'models' | 'group' | 'priority' | 'weight'>>;

/** Something done to every channel of a tag. */
const onChannels = (fieldsOf: (flags: FlagValues) => Fields): CommandRun =>
  onEach(
    (client, flags, [tag = '']) => {
      fieldsOf(flags);
      return channelsOf(client, tag);
    },
    async (client, { id }, flags) =>
      statusWord((await client.call('channel.update', { id, ...fieldsOf(flags) })).status),
  );

export const enable = onChannels(() => ({ status: 1 }));
export const disable = onChannels(() => ({ status: 2 }));
export const rm = onEach(
  (client, _flags, [tag = '']) => channelsOf(client, tag),
  async (client, { id }) => statusWord((await client.call('channel.update', { id, tag: '' })).status),
  (channels) => {
    const { length, 0: first } = channels;
    return [`移除 ${length} 个渠道的标签 ${first?.tag}？`, `Take tag ${first?.tag} off ${length} channels?`];
  },
);
export const edit = onChannels((flags) => {
  const fields = {
    tag: text(flags.rename),
    models: text(flags.models),
    group: text(flags.group),
    priority: wholeNumber(text(flags.priority), '--priority', { min: Number.MIN_SAFE_INTEGER }),
    weight: wholeNumber(text(flags.weight), '--weight'),
  };
  const input = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  if (Object.keys(input).length === 0)
    throw new AppError('input_needed', { flags: '--rename | --models | --group | --priority | --weight' });
  return input;
});
