/** Links that open a document without an account. */
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, text } from '../../command.ts';
import { isoTime } from '../../output.ts';
import { addressOf } from '../../parts/access.ts';
import { onEach } from '../../parts/bulk.ts';
import { isId, listOf } from '../../parts/list-output.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { findToken } from '../token/token.ts';
import { findUser } from '../user/user.ts';

export const list = listOf('link.list', {
  columns: (_money, language) => ({
    id: 'id',
    document: 'title',
    by: 'created_by',
    expires: 'expires_time',
    opened: 'opened',
    last: (row) => (row.opened_time === 0 ? '' : isoTime(row.opened_time)),
    state: (row) =>
      language === 'zh' ? { '': '有效', revoked: '已撤回', expired: '已过期' }[row.state] : row.state || 'opens',
  }),
  input: (flags) => ({ keyword: text(flags.name), all: flags.all === true || undefined }),
  limit: 20,
});

export const create: CommandRun = async (context, flags) => {
  const client = await context.client();
  const [invoice, month, tag] = [text(flags.invoice), text(flags.month), text(flags.tag)];
  const [label, project] = [text(flags.label), text(flags.project)];
  const [userName, tokenName] = [text(flags.user), text(flags.token)];
  if (invoice !== undefined && [month, tag, label, project, userName, tokenName].some((one) => one !== undefined))
    throw new AppError('usage', { detail: '--invoice, --month' });
  const user = userName === undefined ? undefined : (await findUser(client, userName)).id;
  const owner = user === undefined ? 'self' : String(user);
  const token = tokenName === undefined ? undefined : (await findToken(client, tokenName, owner)).id;
  const made = await client.call('link.create', {
    ...{ invoice, month, tag, label, project, days: wholeNumber(text(flags.days), '--days') },
    ...(token === undefined ? { user } : { token }),
  });
  const link = `${addressOf(context)}${made.path}`;
  context.output.note(
    context.say(
      `打开 ${made.title}，有效至 ${isoTime(made.expires_time)}。`,
      `Opens ${made.title} until ${isoTime(made.expires_time)}.`,
    ),
  );
  context.output.object(
    { result: 'created', id: made.id, title: made.title, link, until: made.expires_time },
    [link],
    link,
  );
};

export const revoke: CommandRun = onEach(
  async (_client, _flags, refs) =>
    refs.map((ref) => {
      if (!isId(ref)) throw new AppError('usage', { detail: ref });
      return { id: Number(ref), name: ref };
    }),
  async (client, { id }) => {
    await client.call('link.revoke', { id });
    return 'revoked';
  },
);
