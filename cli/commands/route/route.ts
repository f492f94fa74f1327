/** Why a model is routed as it is. */
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, text, texts } from '../../command.ts';
import { idOf } from '../../parts/numbers.ts';
import { chainLines } from '../model/chain.ts';

/** @throws AppError usage */
function headersOf(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      if (colon < 1) throw new AppError('usage', { detail: `--header ${line}` });
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}

export const preview: CommandRun = async (context, flags, model) => {
  const client = await context.client();
  const found = await client.call('route.preview', {
    model,
    channel: flags.channel === undefined ? undefined : idOf(text(flags.channel) ?? '', '--channel'),
    group: text(flags.group),
    token: text(flags.token),
    path: text(flags.path),
    body: flags.bodyStdin === true ? await context.readSecret('--body-stdin') : text(flags.body),
    headers: headersOf(texts(flags.header)),
    stream: flags.stream === true,
  });
  const { channel_name: name, channel_id: id, url, headers, body, dropped, signed } = found;
  context.output.object(
    found,
    [
      context.say(`渠道 ${name} (${id})`, `channel ${name} (${id})`),
      `POST ${url}`,
      ...Object.entries(headers).map(([header, value]) => `${header}: ${value}`),
      ...(signed ? [context.say('（发送时加上签名或令牌）', '(a signature or token is added when it is sent)')] : []),
      '',
      body ?? '',
      ...dropped.map((loss) => `${context.say('不发送', 'not sent')}: ${loss}`),
    ],
    body ?? '',
  );
};

const percent = (share: number): string => `${(share * 100).toFixed(1)}%`;

export const explain: CommandRun = async (context, flags, model) => {
  const client = await context.client();
  const found = await client.call('route.explain', {
    model,
    group: text(flags.group),
    token: text(flags.token),
  });
  context.output.object(
    found,
    [
      context.say(`${model}，分组 ${found.group}`, `${model}, group ${found.group}`),
      ...(found.groups === undefined
        ? []
        : [context.say(`令牌的分组：${found.groups.join(' → ')}`, `groups of the key: ${found.groups.join(' → ')}`)]),
      ...(found.bound === undefined
        ? []
        : [
            context.say(
              `令牌只能使用渠道：${found.bound.join(', ')}`,
              `channels that the key may use: ${found.bound.join(', ')}`,
            ),
          ]),
      ...(found.chain === undefined ? [] : chainLines(context, found.chain)),
      ...found.channels.map(
        ({
          channel_id: id,
          name,
          priority,
          weight,
          share,
          condition,
          wait_ms: wait,
          upstream_model: mapped,
          not_sent: removed,
        }) =>
          `  ${percent(share).padStart(6)}  ${id}  ${name}  ${context.say('优先级', 'priority')} ${priority}  ${context.say('权重', 'weight')} ${weight}  ${condition}${wait > 0 ? ` (${Math.ceil(wait / 1000)} s)` : ''}${mapped === model ? '' : `  → ${mapped}`}${removed.length === 0 ? '' : `  ${context.say('不发送', 'not sent')}: ${removed.join(', ')}`}`,
      ),
      ...found.left_out.map(({ channel_id: id, name, reason }) => `       –  ${id}  ${name}  ${reason}`),
    ],
    found.chain === undefined
      ? found.channels.map(({ name }) => name).join('\n')
      : found.chain.targets.map(({ model: target }) => target).join('\n'),
  );
  if (found.channels.length === 0 && found.chain?.targets.some(({ order }) => order > 0) !== true)
    throw new AppError('check_failed', {
      detail: context.say(`没有渠道提供 ${model}`, `no channel serves ${model}`),
    });
};
