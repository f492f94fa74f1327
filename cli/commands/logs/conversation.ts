/** What a conversation cost: its questions, and the helpers of its agent. */
import type { Conversation } from '../../../server/contract/endpoints/log.ts';
import { allOrOwn } from '../../client.ts';
import { type CommandRun, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { isoTime } from '../../output.ts';
import { type Money, moneyOf } from '../../parts/money.ts';

const share = (part: number, whole: number): string => (whole === 0 ? '0%' : `${Math.round((100 * part) / whole)}%`);

type Cost = Pick<Conversation, 'quota' | 'subagents' | 'subagent_quota'>;

function costWords(context: Context, money: Money, { quota, subagents, subagent_quota: inHelpers }: Cost): string {
  if (subagents === 0) return money.of(quota);
  const part = share(inHelpers, quota);
  const words = context.say(`${part} 用于 ${subagents} 个子代理`, `${part} in ${subagents} subagents`);
  return `${money.of(quota)}: ${words}`;
}

export const conversation: CommandRun = async (context, flags, session) => {
  const client = await context.client();
  const username = text(flags.user);
  const all = () => client.call('log.conversation', { session, username });
  const found = await (username === undefined
    ? allOrOwn(all, () => client.call('log.self_conversation', { session }))
    : all());
  const money = await moneyOf(context);
  const cached = share(found.cached_tokens, found.input_tokens);
  const whole = context.say(
    `${found.requests} 个请求，${found.prompt_count} 次提问，缓存命中 ${cached}`,
    `${found.requests} requests, ${found.prompt_count} prompts, ${cached} of the input from the cache`,
  );
  const lines = [
    [found.session, found.username, found.agent, found.project].filter((word) => word !== '').join('  '),
    `${costWords(context, money, found)}  ${whole}`,
    ...found.prompts.map(
      (prompt) =>
        `  ${isoTime(prompt.at)}  ${prompt.name === '' ? '-' : prompt.name}  ${prompt.requests}  ${share(prompt.cached_tokens, prompt.input_tokens)}  ${costWords(context, money, prompt)}`,
    ),
    ...found.helpers.map(({ name, requests, quota }) => `  ${name}  ${requests}  ${money.of(quota)}`),
  ];
  context.output.object(found, lines, String(found.quota));
};
