/** Access tokens with scopes: for programs that manage a gateway from elsewhere. */
import type { Client } from '../../client.ts';
import { type CommandRun, needed, text, texts } from '../../command.ts';
import { type Column, isoTime } from '../../output.ts';
import { eachOf } from '../../parts/bulk.ts';
import { expiryFlag } from '../../parts/expiry.ts';
import { only } from '../../parts/find.ts';

type Row = Awaited<ReturnType<typeof all>>[number];

const all = (client: Client) => client.call('access_token.list', {});

const columns: readonly Column<Row>[] = [
  { name: 'id', value: (row) => String(row.id), right: true },
  { name: 'name', value: (row) => row.name },
  { name: 'token', value: (row) => row.hint },
  { name: 'scopes', value: (row) => row.scopes.join(' ') },
  { name: 'used', value: (row) => (row.last_used_time === 0 ? 'never' : isoTime(row.last_used_time)) },
  { name: 'expires', value: (row) => (row.expired_time === -1 ? 'never' : isoTime(row.expired_time)) },
];

export const list: CommandRun = async (context) => {
  context.output.list(await all(await context.client()), columns, (row) => String(row.id));
};

export const create: CommandRun = async (context, flags) => {
  const scopes = flags.scope === undefined ? undefined : texts(flags.scope).join(',');
  const values = needed({ '--name': text(flags.name), '--scope': scopes });
  const made = await (await context.client()).call('access_token.create', {
    name: values['--name'],
    scopes: values['--scope'],
    expired_time: expiryFlag(text(flags.expires), Date.now()),
  });
  context.output.object({ result: 'created', ...made }, [made.token], made.token, { GATEWAY_TOKEN: made.token });
};

/** By id or by name. */
export const remove: CommandRun = async (context, flags, _ref, refs) => {
  const client = await context.client();
  const rows = await all(client);
  const chosen = refs.map((ref) =>
    only(
      rows.filter((row) => String(row.id) === ref || row.name === ref),
      'access token',
      ref,
    ),
  );
  if (flags.dryRun !== true)
    await context.confirm(
      context.say(
        `删除访问令牌 ${chosen.map(({ name }) => name).join(', ')}？`,
        `Remove the access tokens ${chosen.map(({ name }) => name).join(', ')}?`,
      ),
    );
  await eachOf(
    context,
    chosen,
    async ({ id }) => {
      await client.call('access_token.delete', { id });
      return 'deleted';
    },
    flags.dryRun === true,
  );
};
