/** Upstream channels and the models they bring. */
import { deferredChanges, deferredChangesText, type SavedChannel } from '../../contract/deferred-changes.ts';
import { ChannelStatus, type Language } from '../../contract/enum.ts';
import { storedIn } from '../../contract/stored-texts.ts';
import type { KeyOwner } from '../../domain/channels/service.ts';
import { unsupportedView } from '../../domain/channels/unsupported-members.ts';
import { dialectsOf, operationsOf } from '../../providers/base-url.ts';
import { keyStarts } from '../../providers/key-starts.ts';
import type { Actor, Reply } from '../call.ts';
import { pushedFields } from './channel-update.ts';
import type { HandlersOf } from './handlers-of.ts';
import { creator } from './token.ts';

const pageSize = (size: number | undefined): number => Math.min(1000, size === undefined || size <= 0 ? 10 : size);
/** Over the network only a caller who sends the key itself may change where it is sent, the super administrator included. */
export const keyOwnerOf = ({ via }: Actor): KeyOwner => (via === 'local' ? 'owner' : 'other');
/** A search has no pages. */
const searchLimit = 1000;
/** Fixed, as in the family: clients only look at the id. */
const createdAt = 1_626_777_600;

/** A field that is saved and does nothing is named in the answer. */
function noteLater(fields: SavedChannel, reply: Reply, language: Language): void {
  const names = deferredChanges(fields);
  if (names.length > 0) reply.message(deferredChangesText(names, language));
}

export const channelHandlers: HandlersOf<
  | 'channel.list'
  | 'channel.search'
  | 'channel.selection'
  | 'channel.models'
  | 'channel.models_enabled'
  | 'channel.types'
  | 'channel.get'
  | 'channel.test_all'
  | 'channel.test_many'
  | 'channel.balance'
  | 'channel.balance_all'
  | 'channel.fetch_models'
  | 'channel.fetch_models_for'
  | 'channel.delete_disabled'
  | 'channel.delete_many'
  | 'channel.tag_many'
  | 'channel.status_many'
  | 'channel.fix'
  | 'channel.copy'
  | 'channel.tag_edit'
  | 'channel.tag_enable'
  | 'channel.tag_disable'
  | 'route.explain'
  | 'route.preview'
  | 'channel.create'
  | 'channel.update'
  | 'channel.delete'
  | 'channel.test'
  | 'channel.try'
  | 'channel.keys'
  | 'channel.key_update'
  | 'channel.key_test'
  | 'channel.practice'
  | 'channel.unsupported'
  | 'channel.unsupported_store'
  | 'channel.unsupported_confirm'
  | 'channel.unsupported_delete'
  | 'channel.probe_plan'
  | 'channel.probe'
  | 'model.by_type'
  | 'model.explain'
  | 'model.takes'
> = {
  'channel.list': async ({ services, input, reply }) => {
    const list = input.tag_mode === true ? services.channels.byTags : services.channels.list;
    const filter = { idSort: input.id_sort, status: input.status, type: input.type };
    const { items, total } = await list(filter, Math.max(0, input.p ?? 0), pageSize(input.page_size));
    reply.header('X-Total-Count', String(total));
    return items;
  },
  'channel.search': async ({ services, input, reply }) => {
    const group = input.group === 'null' ? undefined : input.group;
    const { keyword, model, id_sort: idSort, status, type } = input;
    const list = input.tag_mode === true ? services.channels.byTags : services.channels.list;
    const keyed = await services.channels.withKey((keyword ?? '').trim());
    const { items, total } = await list({ keyword, group, model, idSort, status, type, keyed }, 0, searchLimit);
    reply.header('X-Total-Count', String(total));
    return items;
  },
  'channel.selection': ({ services, input }) => services.channels.selected(input),
  'channel.models': async ({ services }) =>
    [...new Set(services.channels.types().flatMap((provider) => provider.models))]
      .sort()
      .map((id) => ({ id, object: 'model', created: createdAt, owned_by: 'gateway' })),
  'channel.models_enabled': ({ services }) => services.channels.enabledModels(),
  'channel.types': async ({ services }) =>
    services.channels.types().map((provider) => {
      const { type, slug, label, baseUrl, keyHint, models, other, auth, operations } = provider;
      return {
        type,
        slug,
        ...label,
        base_url: baseUrl,
        key_hint: keyHint,
        key_starts: [...(keyStarts[slug] ?? [])],
        models,
        other: other === null ? null : { ...other.label, fallback: other.fallback },
        organization: auth.kind === 'bearer' && operations.includes('responses'),
        ...dialectsOf(operationsOf(provider)),
      };
    }),
  'channel.get': ({ services, input }) => services.channels.get(input.id),
  'channel.create': async ({ services, input, reply, meta }) => {
    const fields = pushedFields(input);
    const made = await services.channels.create(fields);
    noteLater(fields, reply, meta.language);
    return made;
  },
  'channel.update': async ({ services, input, actor, reply, meta }) => {
    const { channel, changed } = await services.channels.update(input.id, input, keyOwnerOf(actor));
    if (!changed) reply.unchanged();
    noteLater(input, reply, meta.language);
    return channel;
  },
  'channel.delete': ({ services, input }) => services.channels.remove(input.id),
  'channel.test': async ({ services, input, meta }) => {
    const result = await services.channels.test(input.id, input.model ?? '', input.stream ?? false);
    return { success: result.ok, message: storedIn(result.message, meta.language), time: Math.round(result.ms) / 1000 };
  },
  'channel.keys': ({ services, input }) => services.channels.keys(input.id),
  'channel.key_update': async ({ services, input, reply }) => {
    const { key, changed } = await services.channels.switchKey(input.id, input.key_id, input.status === 'in_use');
    if (!changed) reply.unchanged();
    return key;
  },
  'channel.key_test': async ({ services, input, meta }) => {
    const { id, key_id: key, model = '', stream = false } = input;
    const result = await services.channels.testKey(id, key, model, stream);
    return { success: result.ok, message: storedIn(result.message, meta.language), time: Math.round(result.ms) / 1000 };
  },
  'channel.unsupported': async ({ services, input }) => {
    await services.channels.get(input.id);
    return services.unsupportedMembers.views(input.id);
  },
  'channel.unsupported_store': async ({ services, input: { id, members, source = 'hand' } }) => {
    await services.channels.get(id);
    await services.unsupportedMembers.store(id, source, members);
    return services.unsupportedMembers.views(id);
  },
  'channel.unsupported_confirm': async ({ services, input: { id, model, member } }) =>
    unsupportedView(await services.unsupportedMembers.confirm({ channel_id: id, model, member })),
  'channel.unsupported_delete': ({ services, input: { id, model, member } }) =>
    services.unsupportedMembers.remove({ channel_id: id, model, member }),
  'channel.probe_plan': async ({ services, input: { id, model = '' } }) =>
    (await services.upstreamProbe()).plan(id, model),
  'channel.probe': async ({ services, input: { id, model = '' } }) => {
    const report = await (await services.upstreamProbe()).run(id, model);
    return { ...report, lines: [...report.lines] };
  },
  'channel.practice': async ({ services }) => {
    const base_url = await services.practice.open();
    const row = services.channels.types().find(({ slug }) => slug === 'practice');
    return { type: row?.type ?? 0, base_url, models: [...(row?.models ?? [])] };
  },
  'channel.try': async ({ services, actor, meta, input: { id, model, stream, ...fields } }) => {
    const {
      ok,
      message,
      ms,
      firstTokenMs = null,
    } = await services.channels.tryOut(
      id ?? null,
      fields,
      { model: model ?? '', stream: stream ?? false },
      keyOwnerOf(actor),
    );
    const seconds = (value: number): number => Math.round(value) / 1000;
    return {
      success: ok,
      message: storedIn(message, meta.language),
      time: seconds(ms),
      first_token_time: firstTokenMs === null ? null : seconds(firstTokenMs),
    };
  },
  'channel.test_all': ({ services }) => services.bulkTests.startTests(),
  'channel.test_many': async ({ services, input, meta }) => {
    const tested = await services.bulkTests.test(
      { ids: input.ids, tag: input.tag },
      input.model ?? '',
      input.stream ?? false,
    );
    return tested.map((one) => ({ ...one, message: storedIn(one.message, meta.language) }));
  },
  'channel.balance': async ({ services, input }) => ({
    success: true,
    message: '',
    balance: await services.channels.refreshBalance(input.id),
  }),
  'channel.balance_all': ({ services }) => services.bulkTests.refreshBalances(),
  'channel.fetch_models': ({ services, input }) => services.channels.modelsOf(input.id),
  'channel.fetch_models_for': ({ services, input }) =>
    services.channels.modelsFor(input.type ?? 1, input.base_url ?? '', input.key ?? ''),
  'channel.delete_disabled': ({ services }) => services.channels.removeDisabled(),
  'channel.delete_many': ({ services, input }) => services.channels.removeMany(input.ids),
  'channel.tag_many': ({ services, input }) =>
    services.channels.tagMany(input.ids, input.dissolve === true ? null : (input.tag ?? '')),
  'channel.status_many': ({ services, input }) =>
    services.channels.statusMany(input.ids, input.status === 1 ? ChannelStatus.enabled : ChannelStatus.disabled),
  'channel.fix': ({ services }) => services.channels.fix(),
  'channel.copy': ({ services, input }) => services.channels.copy(input.id),
  'channel.tag_edit': ({ services, input: { tag, ...change } }) => services.channels.editTag(tag, change),
  'channel.tag_enable': ({ services, input }) => services.channels.tagStatus(input.tag, true),
  'channel.tag_disable': ({ services, input }) => services.channels.tagStatus(input.tag, false),
  'route.explain': async (call) => call.services.routes.explain(call.input, await creator(call)),
  'route.preview': async (call) => call.services.routes.preview(call.input, await creator(call)),
  'model.explain': ({ services, input: { model, channel, provider } }) =>
    services.capabilities.explain(model, { channel, provider }),
  'model.takes': async ({ services, input }) => services.capabilities.takes(input.model),
  'model.by_type': async ({ services }) =>
    Object.fromEntries(services.channels.types().map((provider) => [String(provider.type), provider.models])),
};
