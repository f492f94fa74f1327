/** New channels: from flags, from a form, or as a copy. */
import { deferredChanges, deferredChangesText } from '../../../server/contract/deferred-changes.ts';
import type { Channel } from '../../../server/contract/entities.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, type FlagValues, needed, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { eachOf } from '../../parts/bulk.ts';
import { modeOf } from '../../parts/existing.ts';
import {
  allChannels,
  checkDialect,
  fieldsOf,
  findChannel,
  selectedChannels,
  settingOf,
  showChannel,
  typeOf,
} from './fields.ts';

export const keyOf = (context: Context, flags: FlagValues): Promise<string | undefined> =>
  context.secret(flags, 'key', 'GATEWAY_CHANNEL_KEY');

/** What was saved and does nothing. */
function noteLater(context: Context, channels: readonly Channel[]): void {
  const names = [...new Set(channels.flatMap(deferredChanges))];
  if (names.length > 0) context.output.note(deferredChangesText(names, context.language));
}

function print(context: Context, channels: readonly Channel[], result: string): void {
  noteLater(context, channels);
  for (const channel of channels)
    context.output.object({ result, ...channel }, [`${channel.id}  ${channel.name}`], String(channel.id));
}

/** What is missing is asked for on a terminal; the form ends with the command that does the same. */
export const add: CommandRun = async (context, flags) => {
  const secret = await keyOf(context, flags);
  if ((text(flags.name) !== undefined && secret !== undefined) || !context.interactive)
    return addFrom(context, flags, secret);
  const { channelForm } = await import('../../screens/channel-form.ts');
  const { flags: answered, key } = await channelForm(context, flags, secret);
  await addFrom(context, answered, key);
  if (secret === undefined) context.noteLine({ ...answered, keyStdin: true }, 'key.txt');
  else context.noteLine(answered);
};

async function addFrom(context: Context, flags: FlagValues, secret: string | undefined): Promise<void> {
  const mode = modeOf(flags, 'error');
  const { '--name': name } = needed({ '--name': text(flags.name), '--key-stdin': secret });
  const client = await context.client();
  const { type, models } = await typeOf(client, text(flags.type));
  await checkDialect(client, flags, [type]);
  const existing = (await allChannels(client)).find((channel) => channel.name === name && channel.type === type);
  if (existing !== undefined && mode === 'skip') return print(context, [existing], 'unchanged');
  if (existing !== undefined && mode === 'error') throw new AppError('conflict', { what: `channel ${name}` });
  const fields = { ...fieldsOf(flags), type, key: secret, setting: settingOf(flags, existing?.setting ?? '') };
  if (existing !== undefined) {
    const changed = await client.call('channel.update', { id: existing.id, ...fields });
    return print(context, [changed], Bun.deepEquals(existing, changed) ? 'unchanged' : 'updated');
  }
  const created = await client.call('channel.create', { ...fields, models: fields.models ?? models.join(',') });
  print(context, created, 'created');
}

/** Everything but the key, which is never shown. */
export const copy: CommandRun = async (context, flags, ref) => {
  const client = await context.client();
  const source = await findChannel(client, ref);
  const { '--key-stdin': key } = needed({ '--key-stdin': await keyOf(context, flags) });
  const { id: _id, key_hint: _hint, ...fields } = source;
  const made = await client.call('channel.create', { ...fields, name: text(flags.name) ?? `${source.name}_copy`, key });
  print(context, made, 'created');
};

/** One by name, or with `--all` and `--filter` many; then `--tag` and `--name` are what they become. */
export const edit: CommandRun = async (context, flags, ref, refs) => {
  const client = await context.client();
  const { tag: _tag, ...choice } = flags;
  const channels = await selectedChannels(client, choice, refs);
  const type = text(flags.type) === undefined ? undefined : (await typeOf(client, text(flags.type))).type;
  await checkDialect(client, flags, type === undefined ? channels.map((channel) => channel.type) : [type]);
  const key = await keyOf(context, flags);
  const change = { ...fieldsOf(flags), type, key };
  const [only] = channels;
  if (ref !== '' && refs.length === 1 && only !== undefined && flags.dryRun !== true) {
    const setting = settingOf(flags, only.setting);
    const channel = await client.call('channel.update', { id: only.id, ...change, setting });
    noteLater(context, [channel]);
    return showChannel(context, channel);
  }
  await eachOf(
    context,
    channels,
    async ({ id, setting }) => {
      await client.call('channel.update', { id, ...change, setting: settingOf(flags, setting) });
      return 'updated';
    },
    flags.dryRun === true,
  );
};
