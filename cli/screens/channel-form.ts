/** A channel, question by question: provider, key, address where it has none of its own, models. */
import type { Channel } from '../../server/contract/entities.ts';
import type { Context } from '../context.ts';
import { answerTo } from '../parts/questions.ts';

export async function channelForm(context: Context): Promise<Channel[]> {
  const client = await context.client();
  const types = (await client.call('channel.types')).filter((type) => type.models.length > 0 || type.base_url === '');
  const slug = await answerTo(context, {
    label: context.say('上游（输入以筛选）', 'provider (type to narrow)'),
    choices: types.map((type) => ({ value: type.slug, label: `${type.slug}  ${type[context.language]}` })),
  });
  const type = types.find((one) => one.slug === slug);
  const name = await answerTo(context, { label: context.say('名称', 'name'), fallback: slug });
  const key = await answerTo(context, {
    label: `${context.say('密钥', 'key')}${type?.key_hint ? ` [${type.key_hint}]` : ''}`,
    secret: true,
  });
  const address = type?.base_url ?? '';
  const base = await answerTo(context, {
    label: context.say('上游地址', "upstream's address"),
    ...(address === '' ? {} : { fallback: address }),
  });
  const models = (type?.models ?? []).join(',');
  const chosen = await answerTo(context, {
    label: context.say('模型，逗号分隔', 'models, comma separated'),
    ...(models === '' ? {} : { fallback: models }),
  });
  return client.call('channel.create', {
    type: type?.type,
    name,
    key,
    models: chosen,
    base_url: base === address ? '' : base,
  });
}
