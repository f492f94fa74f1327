/** Access tokens with scopes: for programs that manage a gateway from elsewhere. */
import type { Client } from '../../client.ts';
import { type CommandRun, type FlagValues, needed, text, texts } from '../../command.ts';
import { isoTime } from '../../output.ts';
import { removal } from '../../parts/bulk.ts';
import { expiryFlag } from '../../parts/expiry.ts';
import { listOf, only } from '../../parts/list-output.ts';

export const list = listOf('access_token.list', {
  columns: () => ({
    id: 'id',
    name: 'name',
    token: 'hint',
    scopes: (row) => row.scopes.join(' '),
    used: (row) => (row.last_used_time === 0 ? 'never' : isoTime(row.last_used_time)),
    expires: 'expired_time',
  }),
});

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
async function namedTokens(client: Client, _flags: FlagValues, refs: readonly string[]) {
  const rows = await client.call('access_token.list', {});
  return refs.map((ref) =>
    only(
      rows.filter((row) => String(row.id) === ref || row.name === ref),
      'access token',
      ref,
    ),
  );
}

export const rm = removal('access_token.delete', namedTokens, ['访问令牌', 'access token']);
