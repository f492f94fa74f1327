/** A channel, question by question; the answers are the flags that would have said the same, and the key. */
import { textIn } from '../../server/contract/language.ts';
import { type FlagValues, text } from '../command.ts';
import type { Context } from '../context.ts';
import { type Form, inForm } from '../parts/form.ts';
import type { Question } from '../parts/question.ts';

export interface ChannelInput {
  readonly flags: FlagValues;
  readonly key: string;
}

type Types = Awaited<ReturnType<typeof typesOf>>;

const typesOf = async (context: Context) =>
  (await (await context.client()).call('channel.types')).filter(
    (type) => type.models.length > 0 || type.base_url === '',
  );

/** Asks for what neither a flag nor `key` says. @throws AppError cancelled */
export async function channelForm(context: Context, input: FlagValues, key: string | undefined): Promise<ChannelInput> {
  const types = await typesOf(context);
  const open = [input.type, input.name, key, input.baseUrl, input.models].filter((one) => one === undefined);
  return inForm(context, open.length, (form) =>
    form.part(async () => {
      const type = await askType(context, form, types, input);
      const name =
        text(input.name) ?? (await form.ask({ label: context.say('名称', 'name'), fallback: String(type.flags.type) }));
      return askRest(context, form, type.known, { ...type.flags, name }, key);
    }),
  );
}

/** The same as a part of a larger form; the channel is called as its provider. */
export async function askChannel(context: Context, form: Form, input: FlagValues): Promise<ChannelInput> {
  const types = await typesOf(context);
  return form.part(async () => {
    const { flags, known } = await askType(context, form, types, input);
    return askRest(context, form, known, { ...flags, name: text(input.name) ?? flags.type }, undefined);
  });
}

async function askType(context: Context, form: Form, types: Types, input: FlagValues) {
  const slug =
    text(input.type) ??
    (await form.ask({
      label: context.say('上游', 'provider'),
      hint: context.say('输入以筛选，↑↓ 选择', 'type to narrow, ↑ ↓ to choose'),
      choices: types.map((type) => ({ value: type.slug, label: `${type.slug}  ${textIn(type, context.language)}` })),
    }));
  const known = types.find((one) => one.slug === slug);
  return { known, flags: { ...input, type: slug } as FlagValues };
}

async function askRest(
  context: Context,
  form: Form,
  known: Types[number] | undefined,
  input: FlagValues,
  current: string | undefined,
): Promise<ChannelInput> {
  const ask: Ask = (question) => form.ask(question);
  const key = current ?? (await askKey(context, ask, known?.key_hint, true));
  const baseUrl = text(input.baseUrl) ?? (await askAddress(context, ask, known?.base_url ?? ''));
  const models = text(input.models) ?? (await askModels(context, ask, known?.models ?? []));
  return { flags: { ...input, baseUrl: baseUrl || undefined, models: models || undefined }, key };
}

export type Ask = (question: Question) => Promise<string>;

/** @param list several that are pasted as lines make as many channels. */
export const askKey = ({ say }: Context, ask: Ask, hint: string | undefined, list = false): Promise<string> =>
  ask({
    label: `${say('密钥', 'key')}${hint ? ` [${hint}]` : ''}`,
    ...(list
      ? { hint: say('可粘贴多行：每个密钥一个渠道', 'several lines may be pasted: a channel for each key') }
      : {}),
    secret: true,
    lines: list,
  });

/** @returns '' = the provider's own address. */
export async function askAddress({ say }: Context, ask: Ask, own: string): Promise<string> {
  const address = await ask({
    label: say('上游地址', "upstream's address"),
    ...(own === '' ? {} : { fallback: own }),
    check: (answer) =>
      /^https?:\/\/\S+$/i.test(answer) && URL.canParse(answer)
        ? null
        : say('地址以 http:// 或 https:// 开头', 'an address begins with http:// or https://'),
  });
  return address === own ? '' : address;
}

/** @returns '' = all that the provider is known for. */
export const askModels = ({ say }: Context, ask: Ask, models: readonly string[]): Promise<string> =>
  models.length === 0
    ? ask({ label: say('模型，逗号分隔', 'models, comma separated') })
    : ask({
        label: say('模型', 'models'),
        hint: say(
          `不选 = 全部 ${models.length} 个；可输入其他名称`,
          `none = all ${models.length}; other names may be typed`,
        ),
        choices: models.map((name) => ({ value: name, label: name })),
        several: true,
        optional: true,
        open: true,
      });
