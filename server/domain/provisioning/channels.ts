/** Channels of a declarative file; natural key: name and type, in order where several share it. */
import type { Database } from '../../../db/open.ts';
import { type ChannelRow, createChannelsRepository } from '../../../db/repositories/channels.ts';
import { deferredChanges, deferredChangesNote } from '../../contract/deferred-changes.ts';
import { ChannelStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { ProvisionChange, ProvisionedChannel } from '../../contract/provision.ts';
import { providers } from '../../providers/catalogue.ts';
import { keysOf, namesOf } from '../channels/keys.ts';
import { type ChannelFields, type ChannelsService, channelView, type KeyOwner } from '../channels/service.ts';
import type { UnsupportedMembersService } from '../channels/unsupported-members.ts';
import type { Vault } from '../secrets/vault.ts';
import { asText, changedFields, describeChanges } from './compare.ts';

const typeOf = (expected: string | number): number => {
  const found = providers.find((row) => row.slug === expected || row.type === Number(expected));
  if (found === undefined) throw new AppError('channel_type_unknown', { type: expected });
  return found.type;
};

function fieldsOf(channel: ProvisionedChannel): ChannelFields {
  const { key: _key, type, status, models, group, unsupported: _unsupported, ...rest } = channel;
  const text = (value: Parameters<typeof asText>[0] | undefined) => (value === undefined ? undefined : asText(value));
  return {
    ...rest,
    type: typeOf(type),
    status: status === undefined ? undefined : ChannelStatus[status],
    models: text(models),
    base_url: rest.base_url?.replace(/^default$/, ''),
    group: text(group),
    model_mapping: text(rest.model_mapping),
    status_code_mapping: text(rest.status_code_mapping),
    param_override: text(rest.param_override),
    setting: text(rest.setting),
    keys_off: text(rest.keys_off),
  };
}

export async function applyChannels(
  deps: {
    readonly database: Database;
    readonly channels: ChannelsService;
    readonly unsupportedMembers: Pick<UnsupportedMembersService, 'replaceOwn'>;
    readonly vault: Vault;
  },
  expected: readonly ProvisionedChannel[],
  { label, prune, keyOwner }: { readonly label: string; readonly prune: boolean; readonly keyOwner: KeyOwner },
): Promise<ProvisionChange[]> {
  const repository = createChannelsRepository(deps.database);
  const changes: ProvisionChange[] = [];
  const rest = (await repository.all()).sort((a, b) => a.id - b.id);
  const take = (name: string, type: number): ChannelRow | undefined => {
    const index = rest.findIndex((row) => row.name === name && row.type === type);
    return index < 0 ? undefined : rest.splice(index, 1)[0];
  };
  for (const channel of expected) {
    const fields = fieldsOf(channel);
    const row = take(channel.name, typeOf(channel.type));
    const { name } = channel;
    const later = deferredChanges(fields);
    const notes = later.length === 0 ? {} : { notes: [deferredChangesNote(later)] };
    const about = { kind: 'channel', name, ...notes } as const;
    if (row === undefined) {
      if ((channel.key ?? '').trim() === '') throw new AppError('provision_key_missing', { name });
      const [made] = await deps.channels.create({ ...fields, key: channel.key });
      if (made !== undefined && label !== '') await repository.update(made.id, { managed_by: label });
      if (made !== undefined) await deps.unsupportedMembers.replaceOwn(made.id, channel.unsupported ?? []);
      changes.push({ action: 'create', ...about, fields: [] });
      continue;
    }
    const key = channel.key?.trim() ?? '';
    const stored = deps.vault.open('channel-key', row.key_sealed);
    const current = { ...channelView(row), keys_off: row.keys_off };
    const { keys_off: off } = fields;
    const named = off === undefined ? {} : { keys_off: namesOf(off, keysOf(key || stored)) };
    const changed = changedFields({ ...fields, ...named }, current);
    const newKey = key !== '' && stored !== key;
    const fieldChanges = [...describeChanges(changed, current), ...(newKey ? ['key: changed'] : [])];
    if (fieldChanges.length > 0) {
      // A document that names the key proves that its author knows it.
      const proven = key === '' ? keyOwner : 'owner';
      await deps.channels.update(row.id, { ...changed, ...(newKey ? { key: channel.key } : {}) }, proven);
    }
    const { unsupported } = channel;
    const before = unsupported === undefined ? null : await deps.unsupportedMembers.replaceOwn(row.id, unsupported);
    if (before !== null) fieldChanges.push(`unsupported: ${before.length} → ${unsupported?.length ?? 0}`);
    changes.push({ action: fieldChanges.length > 0 ? 'update' : 'unchanged', ...about, fields: fieldChanges });
  }
  for (const row of prune ? rest.filter(({ managed_by }) => managed_by === label) : []) {
    await deps.channels.remove(row.id);
    changes.push({ action: 'delete', kind: 'channel', name: row.name, fields: [] });
  }
  return changes;
}
