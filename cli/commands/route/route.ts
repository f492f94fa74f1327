/** Why a model is routed as it is. */
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, text } from '../../command.ts';
import { chainLines } from '../model/chain.ts';

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
