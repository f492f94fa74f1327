/** What the upstream of a channel does not take: listed, confirmed, stored by hand, taken out; and asked of the upstream itself. */
import { type CommandRun, text } from '../../command.ts';
import { isoTime } from '../../output.ts';
import { findChannel } from './fields.ts';

const timeOf = (at: number): string => (at === 0 ? '' : isoTime(at));

export const list: CommandRun = async (context, _flags, ref) => {
  const client = await context.client();
  const { id } = await findChannel(client, ref);
  context.output.list(
    await client.call('channel.unsupported', { id }),
    [
      { name: 'model', value: (row) => row.model },
      { name: 'member', value: (row) => row.member },
      { name: 'source', value: (row) => row.source },
      { name: 'for all', value: (row) => (row.for_all ? 'yes' : 'no') },
      { name: 'count', value: (row) => String(row.count) },
      { name: 'last', value: (row) => timeOf(row.last_time) },
      { name: 'expires', value: (row) => timeOf(row.expires_time) },
    ],
    (row) => `${row.model} ${row.member}`,
  );
};

export const add: CommandRun = async (context, _flags, ref, [, model = '', member = '']) => {
  const client = await context.client();
  const { id } = await findChannel(client, ref);
  const rows = await client.call('channel.unsupported_store', { id, members: [{ model, member }] });
  context.output.object(rows, [`${model}  ${member}`], member);
};

export const confirm: CommandRun = async (context, _flags, ref, [, model = '', member = '']) => {
  const client = await context.client();
  const { id } = await findChannel(client, ref);
  const row = await client.call('channel.unsupported_confirm', { id, model, member });
  context.output.object(row, [`${row.model}  ${row.member}  ${row.source}`], row.member);
};

export const remove: CommandRun = async (context, _flags, ref, [, model = '', member = '']) => {
  const client = await context.client();
  const { id } = await findChannel(client, ref);
  await client.call('channel.unsupported_delete', { id, model, member });
  context.output.object({ model, member }, [`${model}  ${member}`], member);
};

const isYes = (answer: string): boolean => /^(?:y|yes|是)$/i.test(answer.trim());
const dollars = (value: number | null): string => (value === null ? '?' : `$${value.toFixed(4)}`);

export const probe: CommandRun = async (context, flags, ref) => {
  const client = await context.client();
  const { id, name } = await findChannel(client, ref);
  const model = text(flags.model);
  const { calls, dollars: most, upstream_model: asked } = await client.call('channel.probe_plan', { id, model });
  const cost = context.say(
    `向渠道“${name}”的上游发送 ${calls} 个付费请求（${asked}），最多 ${dollars(most)}，继续吗？`,
    `Send ${calls} paid requests (${asked}) to the upstream of channel "${name}", at most ${dollars(most)}?`,
  );
  await context.confirm(cost);
  const report = await client.call('channel.probe', { id, model });
  const lines = report.lines.map(({ question, upstream, rows, differs, words }) =>
    `${differs ? '≠' : ' '} ${question.padEnd(22)} ${upstream.padEnd(8)} ${rows.padEnd(8)} ${words}`.trimEnd(),
  );
  const head = `  ${'question'.padEnd(22)} ${'upstream'.padEnd(8)} ${'rows'.padEnd(8)}`;
  context.output.object(
    report,
    [head, ...lines, context.say(`费用 ${dollars(report.spent)}`, `spent ${dollars(report.spent)}`)],
    report.lines.flatMap(({ member }) => (member === '' ? [] : [member])).join('\n'),
  );
  const members = report.lines.flatMap(({ member }) =>
    member === '' ? [] : [{ model: report.upstream_model, member }],
  );
  if (members.length === 0) return;
  const offer = context.say(
    `把 ${members.length} 个差异记为此渠道的设置吗？`,
    `Store ${members.length} differences as the channel's own rows?`,
  );
  if (flags.store === true || (context.interactive && context.flags.yes !== true && isYes(await context.ask(offer))))
    await client.call('channel.unsupported_store', { id, source: 'probe', members });
};
