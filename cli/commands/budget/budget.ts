/** Budgets: what keys, users, groups and the site may use in a window. */
import { type BudgetHolder, budgetUnits, budgetWindows } from '../../../server/contract/budgets.ts';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { AppError } from '../../../server/contract/errors.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, type FlagValues, needed, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { isoTime } from '../../output.ts';
import { onEach, removal } from '../../parts/bulk.ts';
import { expiryFlag } from '../../parts/expiry.ts';
import { isId } from '../../parts/list-output.ts';
import { type Money, moneyOf } from '../../parts/money.ts';
import { idOf, quotaOf, wholeNumber } from '../../parts/numbers.ts';

type Budget = OutputOf<EndpointOf<'budget.get'>>;

/** @throws AppError usage */
function wordOf<Word extends string>(
  value: string | undefined,
  words: readonly Word[],
  flag: string,
): Word | undefined {
  const found = words.find((word) => word === value);
  if (value !== undefined && found === undefined)
    throw new AppError('usage', { detail: `${flag}: ${words.join(', ')}` });
  return found;
}

/** Whose it is by the flags; null = nobody is named. @throws AppError usage, not_found, user_unknown */
async function holderOf(
  client: Client,
  { token, user, group, label, endUsers, site }: FlagValues,
): Promise<{ readonly holder: BudgetHolder; readonly subject: string } | null> {
  const [person, members, labelled, each] = [text(user), text(group), text(label), text(endUsers)];
  const key = text(token) ?? each;
  if (
    [text(token), person, members, labelled, each, site === true ? '' : undefined].filter((one) => one !== undefined)
      .length > 1
  )
    throw new AppError('usage', { detail: '--token | --user | --group | --label | --end-users | --site' });
  if (site === true) return { holder: 'site', subject: '' };
  if (members !== undefined) return { holder: 'group', subject: members };
  if (labelled !== undefined) return { holder: 'label', subject: labelled };
  if (person !== undefined) {
    const { findUser } = await import('../user/user.ts');
    return { holder: 'user', subject: String((await findUser(client, person)).id) };
  }
  if (key === undefined) return null;
  const holder = each === undefined ? 'token' : 'end_user';
  if (isId(key)) return { holder, subject: key };
  const { findToken } = await import('../token/token.ts');
  return { holder, subject: String((await findToken(client, key, 'self')).id) };
}

const amountText = ({ unit }: Pick<Budget, 'unit'>, amount: number, money: Money): string =>
  unit === 'money' ? money.of(amount) : String(amount);

const holderText = ({ holder, subject, name }: Budget): string =>
  holder === 'site' ? holder : `${holder === 'end_user' ? 'end users of' : holder} ${name === '' ? subject : name}`;

/** What a single request takes is not counted, and what each end user has used is in no table. */
const isUncounted = ({ holder, window }: Budget): boolean => window === 'request' || holder === 'end_user';

const shareText = (row: Budget): string =>
  isUncounted(row) || row.bound === 0 ? '' : `${Math.floor((Math.min(row.used, row.bound) / row.bound) * 100)}%`;

export const list: CommandRun = async (context, flags) => {
  const client = await context.client();
  const named = await holderOf(client, flags);
  const rows = await client.call('budget.list', named ?? {});
  const money = await moneyOf(context);
  context.output.list(
    rows,
    [
      { name: 'id', value: ({ id }) => String(id), right: true },
      { name: 'holder', value: holderText },
      { name: 'window', value: ({ window }) => window },
      { name: 'unit', value: ({ unit }) => unit },
      { name: 'used', value: (row) => (isUncounted(row) ? '' : amountText(row, row.used, money)), right: true },
      { name: 'amount', value: (row) => amountText(row, row.bound, money), right: true },
      { name: 'share', value: shareText, right: true },
      { name: 'resets', value: ({ resets }) => (resets === null ? '' : isoTime(resets)) },
    ],
    ({ id }) => String(id),
  );
};

async function show(context: Context, row: Budget, result?: string): Promise<void> {
  const money = await moneyOf(context);
  const { window, unit, used, bound, zone, raise, raise_until: until, resets } = row;
  const amount = (value: number) => amountText(row, value, money);
  const isRaised = bound > row.amount;
  context.output.object(
    result === undefined ? row : { result, ...row },
    [
      `${holderText(row)}  ${window}  ${isUncounted(row) ? '' : `${amount(used)} / `}${amount(bound)}${unit === 'money' ? '' : ` ${unit}`}`,
      ...(zone === '' ? [] : [context.say(`时区 ${zone}`, `time zone ${zone}`)]),
      ...(isRaised
        ? [
            context.say(
              `临时增加 ${amount(raise)}，至 ${isoTime(until)}`,
              `raised by ${amount(raise)} until ${isoTime(until)}`,
            ),
          ]
        : []),
      ...(resets === null ? [] : [context.say(`${isoTime(resets)} 重置`, `resets ${isoTime(resets)}`)]),
    ],
    String(row.id),
  );
}

export const get: CommandRun = async (context, _flags, ref) =>
  show(context, await (await context.client()).call('budget.get', { id: idOf(ref, 'budget') }));

export const set: CommandRun = async (context, flags) => {
  const { '--window': window, '--amount': written } = needed({
    '--window': text(flags.window),
    '--amount': text(flags.amount),
  });
  const client = await context.client();
  const named = await holderOf(client, flags);
  if (named === null)
    throw new AppError('input_needed', { flags: '--token | --user | --group | --label | --end-users | --site' });
  const span = wordOf(window, budgetWindows, '--window');
  const unit = wordOf(text(flags.unit), budgetUnits, '--unit') ?? (span === 'request' ? 'tokens' : 'money');
  const { quotaPerUnit } = unit === 'money' ? await moneyOf(context) : { quotaPerUnit: 1 };
  const amountOf = (value: string | undefined, flag: string): number | undefined =>
    value === undefined
      ? undefined
      : unit === 'money'
        ? quotaOf(value, flag, { quotaPerUnit })
        : wholeNumber(value, flag);
  const raise = amountOf(text(flags.raise), '--raise');
  const until = expiryFlag(text(flags.until), Date.now());
  if (raise !== undefined && raise > 0 && until === undefined) throw new AppError('input_needed', { flags: '--until' });
  const made = await client.call('budget.set', {
    ...named,
    window: span,
    unit,
    amount: amountOf(written, '--amount'),
    zone: text(flags.zone),
    raise,
    raise_until: raise === 0 ? 0 : until,
  });
  await show(context, made, 'set');
};

/** By id. */
const namedBudgets = async (client: Client, _flags: FlagValues, refs: readonly string[]) =>
  Promise.all(
    refs.map(async (ref) => {
      const row = await client.call('budget.get', { id: idOf(ref, 'budget') });
      return { ...row, name: `${holderText(row)} ${row.window} ${row.unit}` };
    }),
  );

export const reset: CommandRun = onEach(
  namedBudgets,
  async (client, { id }) => {
    await client.call('budget.reset', { id });
    return 'reset';
  },
  (items) => {
    const names = items.map(({ name }) => name).join(', ');
    return [`将以下预算的用量清零：${names}？`, `Take off what was used of ${names}?`];
  },
);

export const rm = removal('budget.delete', namedBudgets, ['预算', 'budgets']);
