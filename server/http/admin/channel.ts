/** Upstream channels and the models they bring. */
import type { HandlersOf } from './handlers.ts';

const pageSize = (size: number | undefined): number => Math.min(1000, size === undefined || size <= 0 ? 10 : size);
/** Fixed, as in the family: clients only look at the id. */
const createdAt = 1_626_777_600;

export const channelHandlers: HandlersOf<
  | 'channel.list'
  | 'channel.search'
  | 'channel.models'
  | 'channel.models_enabled'
  | 'channel.types'
  | 'channel.get'
  | 'channel.create'
  | 'channel.update'
  | 'channel.delete'
  | 'channel.test'
  | 'model.by_type'
> = {
  'channel.list': async ({ services, input, reply }) => {
    const { items, total } = await services.channels.list(
      { idSort: input.id_sort },
      Math.max(0, input.p ?? 0),
      pageSize(input.page_size),
    );
    reply.header('X-Total-Count', String(total));
    return items;
  },
  'channel.search': async ({ services, input }) => {
    const group = input.group === 'null' ? undefined : input.group;
    return (
      await services.channels.list(
        { keyword: input.keyword, group, model: input.model, idSort: input.id_sort },
        0,
        1000,
      )
    ).items;
  },
  'channel.models': async ({ services }) =>
    [...new Set(services.channels.types().flatMap((provider) => provider.models))]
      .sort()
      .map((id) => ({ id, object: 'model', created: createdAt, owned_by: 'gateway' })),
  'channel.models_enabled': ({ services }) => services.channels.enabledModels(),
  'channel.types': async ({ services }) =>
    services.channels.types().map(({ type, slug, label, baseUrl, keyHint, models }) => ({
      type,
      slug,
      ...label,
      base_url: baseUrl,
      key_hint: keyHint,
      models,
    })),
  'channel.get': ({ services, input }) => services.channels.get(input.id),
  'channel.create': ({ services, input }) => services.channels.create(input),
  'channel.update': ({ services, input }) => services.channels.update(input.id, input),
  'channel.delete': ({ services, input }) => services.channels.remove(input.id),
  'channel.test': async ({ services, input }) => {
    const result = await services.channels.test(input.id, input.model ?? '', input.stream ?? false);
    return { success: result.ok, message: result.message, time: Math.round(result.ms) / 1000 };
  },
  'model.by_type': async ({ services }) =>
    Object.fromEntries(services.channels.types().map((provider) => [String(provider.type), provider.models])),
};
