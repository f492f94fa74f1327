/** Channels by their tag. */
import type { Channel } from '../../../server/contract/entities.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, type FlagValues, text } from '../../command.ts';
import { eachOf } from '../../parts/bulk.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { allChannels, statusWord } from '../channel/fields.ts';

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

/** Something done to every channel of a tag. */
const onEach =
  (
    change: (
      flags: FlagValues,
    ) => Partial<Pick<Channel, 'status' | 'tag' | 'models' | 'group' | 'priority' | 'weight'>>,
  ): CommandRun =>
  async (context, flags, tag) => {
    const client = await context.client();
    const channels = (await allChannels(client)).filter((channel) => channel.tag === tag);
    if (channels.length === 0) throw new AppError('not_found', { what: `tag ${tag}` });
    const fields = change(flags);
    if (fields.tag === '' && flags.dryRun !== true)
      await context.confirm(
        context.say(
          `移除 ${channels.length} 个渠道的标签 ${tag}？`,
          `Take tag ${tag} off ${channels.length} channels?`,
        ),
      );
    await eachOf(
      context,
      channels,
      async ({ id }) => {
        const { status } = await client.call('channel.update', { id, ...fields });
        return statusWord(status);
      },
      flags.dryRun === true,
    );
  };

export const enable = onEach(() => ({ status: 1 }));
export const disable = onEach(() => ({ status: 2 }));
export const remove = onEach(() => ({ tag: '' }));
export const edit = onEach((flags) => {
  const fields = {
    tag: text(flags.rename),
    models: text(flags.models),
    group: text(flags.group),
    priority: wholeNumber(text(flags.priority), '--priority', { min: Number.MIN_SAFE_INTEGER }),
    weight: wholeNumber(text(flags.weight), '--weight'),
  };
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  if (Object.keys(given).length === 0)
    throw new AppError('input_needed', { flags: '--rename | --models | --group | --priority | --weight' });
  return given;
});
