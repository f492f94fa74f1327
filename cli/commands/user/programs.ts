/** Programs that are signed in as a user: those that a code or the browser let in, each with a key of its own. */
import type { CommandRun } from '../../command.ts';
import { isoTime } from '../../output.ts';
import { removal } from '../../parts/bulk.ts';
import { columnsOf, rowsOf } from '../../parts/list-output.ts';
import { moneyOf } from '../../parts/money.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { findUser } from './user.ts';

/** Whoever administers this machine is no user of its own: the one who set the site up is meant. */
const owner = '1';

export const list: CommandRun = async (context, _flags, ref) => {
  const client = await context.client();
  const user = ref || (context.url === '' ? owner : '');
  const input = user === '' ? {} : { user_id: (await findUser(client, user)).id };
  const money = await moneyOf(context);
  const columns = columnsOf(
    'sign_in.list',
    {
      id: 'id',
      name: 'name',
      program: 'client',
      from: (row) => row.host || row.address,
      'signed in': (row) => isoTime(row.created_time),
      'last used': (row) => isoTime(row.last_used_time),
      today: money.column('today', (row) => row.spent_today),
    },
    money,
  );
  context.output.list(await rowsOf(client, 'sign_in.list', input), columns, ({ id }) => String(id));
};

export const rm = removal(
  'sign_in.end',
  async (_client, _flags, refs) => refs.map((ref) => ({ id: wholeNumber(ref, 'id') ?? 0, name: ref })),
  ['程序登录', 'the sign-in'],
);
