/** API tokens. */
import type { Token } from '../../../server/contract/entities.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { readExpiry } from '../../../server/contract/expiry.ts';
import { displayedKey, shortenedKey } from '../../../server/contract/token-key.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, type FlagValues, needed, text, texts } from '../../command.ts';
import type { Context } from '../../context.ts';
import { isoTime } from '../../output.ts';
import { addressOf } from '../../parts/access.ts';
import { onEach, removal } from '../../parts/bulk.ts';
import { cardOf } from '../../parts/card.ts';
import { tokenParts } from '../../parts/details.ts';
import { modeOf } from '../../parts/existing.ts';
import { expiryFlag } from '../../parts/expiry.ts';
import { columnsOf, isId, only, rowsOf } from '../../parts/list-output.ts';
import { moneyOf } from '../../parts/money.ts';
import { limitOf, quotaOrUnlimited, unlimited, wholeNumber } from '../../parts/numbers.ts';

const statusWords = { 1: 'enabled', 2: 'disabled', 3: 'expired', 4: 'exhausted' } as const;
const statusWord = (status: number): string => statusWords[status as keyof typeof statusWords] ?? 'unknown';
const withMaskedKey = (token: Token): Token => ({ ...token, key: displayedKey(token.key) });
const masked = (token: Token): Token => ({ ...token, key: shortenedKey(token.key) });

/** Keys of one `--count`. */
const maxTokens = 1000;

/** With their keys: mask before printing. @param owner `self`, a user's id, or undefined: all that the caller may see. */
const allTokens = (client: Client, owner: string | undefined): Promise<Token[]> =>
  rowsOf(client, 'token.list', { owner });

/** The user that `--user` names, else the one that acts. @throws AppError not_found, user_unknown. */
async function ownerOf(client: Client, flags: FlagValues): Promise<string> {
  const user = text(flags.user);
  if (user === undefined) return 'self';
  const { findUser } = await import('../user/user.ts');
  return String((await findUser(client, user)).id);
}

/** By id, or by name among its owner's: names repeat between users. With its key. @throws AppError not_found, name_ambiguous. */
export async function findToken(client: Client, ref: string, owner: string): Promise<Token> {
  if (isId(ref)) return client.call('token.get', { id: Number(ref) });
  return only(
    (await allTokens(client, owner)).filter((token) => token.name === ref),
    'token',
    ref,
  );
}

async function namedTokens(client: Client, flags: FlagValues, refs: readonly string[]): Promise<Token[]> {
  const owner = await ownerOf(client, flags);
  return Promise.all(refs.map((ref) => findToken(client, ref, owner)));
}

/** Whole hours of a span such as `24h` or `7d`. @throws AppError usage */
function hoursOf(input: string | undefined, flag: string): number | undefined {
  if (input === undefined) return undefined;
  const span = readExpiry(input);
  const hours = span.kind === 'span' ? span.seconds / 3600 : Number.NaN;
  if (!Number.isInteger(hours)) throw new AppError('usage', { detail: `${flag} ${input}` });
  return hours;
}

/** A budget that `unlimited` lifts, which is stored as 0. @throws AppError usage */
function budgetOf(input: string | undefined, flag: string, quotaPerUnit: number): number | undefined {
  if (input === undefined) return undefined;
  const quota = quotaOrUnlimited(input, flag, { quotaPerUnit });
  return quota === unlimited ? 0 : quota;
}

function quotaFields(input: string | undefined, quotaPerUnit: number) {
  if (input === undefined) return {};
  const quota = quotaOrUnlimited(input, '--quota', { quotaPerUnit });
  return quota === unlimited
    ? { unlimited_quota: true, remain_quota: 0 }
    : { unlimited_quota: false, remain_quota: quota };
}

/** One a line, as they are stored; '' = from everywhere. */
const addressesIn = (words: readonly string[]): string =>
  words.join() === unlimited ? '' : words.join('\n').replaceAll(',', '\n');

/** Ids of the channels; '' = every channel. @throws AppError not_found, name_ambiguous, usage */
async function channelsOf(context: Context, input: string | undefined): Promise<string | undefined> {
  if (input === undefined) return undefined;
  if (input === unlimited) return '';
  const refs = input.split(',').flatMap((ref) => (ref.trim() === '' ? [] : [ref.trim()]));
  if (refs.length === 0) throw new AppError('usage', { detail: `--channels ${input}` });
  const { allChannels } = await import('../channel/fields.ts');
  const all = refs.every(isId) ? [] : await allChannels(await context.client());
  const named = (name: string) => all.filter((channel) => channel.name === name);
  return refs.map((ref) => (isId(ref) ? ref : only(named(ref), 'channel', ref).id)).join(',');
}

async function fieldsOf(context: Context, flags: FlagValues) {
  const asked = [flags.quota, flags.dayBudget, flags.monthBudget].some((value) => value !== undefined);
  // Only amounts in dollars need to know what a dollar is here.
  const { quotaPerUnit } = asked ? await moneyOf(context) : { quotaPerUnit: 1 };
  const named = text(flags.models);
  const models = named === unlimited ? '' : named;
  return {
    ...quotaFields(text(flags.quota), quotaPerUnit),
    expired_time: expiryFlag(text(flags.expires), Date.now()),
    ...(models === undefined ? {} : { model_limits_enabled: models !== '', model_limits: models }),
    allow_ips: flags.allowIp === undefined ? undefined : addressesIn(texts(flags.allowIp)),
    group: text(flags.group),
    channels: await channelsOf(context, text(flags.channels)),
    labels: text(flags.label),
    day_budget: budgetOf(text(flags.dayBudget), '--day-budget', quotaPerUnit),
    month_budget: budgetOf(text(flags.monthBudget), '--month-budget', quotaPerUnit),
    rpm_limit: limitOf(text(flags.rpm), '--rpm'),
    tpm_limit: limitOf(text(flags.tpm), '--tpm'),
    concurrency_limit: limitOf(text(flags.concurrency), '--concurrency'),
  };
}

function print(context: Context, tokens: readonly Token[], result: string): void {
  for (const token of tokens.map(withMaskedKey))
    context.output.object({ result, ...token }, [token.key], token.key, {
      OPENAI_API_KEY: token.key,
      OPENAI_BASE_URL: `${addressOf(context)}/v1`,
    });
}

/** Times of use aside. */
const hasChanged = (
  { accessed_time: _before, ...before }: Token,
  { accessed_time: _after, ...after }: Token,
): boolean => JSON.stringify(before) !== JSON.stringify(after);

/** Without a name on a terminal: by the form, which ends with the command that does the same. */
export const create: CommandRun = async (context, flags) => {
  if (text(flags.name) !== undefined || !context.interactive) return createFrom(context, flags);
  const { tokenForm } = await import('../../screens/token-form.ts');
  const answered = await tokenForm(context, flags);
  await createFrom(context, answered);
  context.noteLine(answered);
};

async function createFrom(context: Context, flags: FlagValues): Promise<void> {
  const { '--name': name } = needed({ '--name': text(flags.name) });
  const count = wholeNumber(text(flags.count), '--count', { min: 1, max: maxTokens }) ?? 1;
  const client = await context.client();
  const owner = await ownerOf(client, flags);
  // A user's names may repeat: only `--if-exists` looks for one, and a person at a terminal is told.
  if (flags.ifExists !== undefined) {
    const mode = modeOf(flags, 'error');
    const existing = (await allTokens(client, owner)).find((token) => token.name === name);
    if (existing !== undefined && mode === 'error') throw new AppError('conflict', { what: `token ${name}` });
    if (existing !== undefined && mode === 'skip') return print(context, [masked(existing)], 'unchanged');
    if (existing !== undefined) {
      const changed = await client.call('token.update', { id: existing.id, ...(await fieldsOf(context, flags)) });
      return print(context, [masked(changed)], hasChanged(existing, changed) ? 'updated' : 'unchanged');
    }
  }
  const key = await context.secret(flags, 'key', 'GATEWAY_TOKEN_KEY');
  if (key !== undefined && count > 1) throw new AppError('usage', { detail: '--count, --key-stdin' });
  const made: Token[] = [];
  for (let number = 1; number <= count; number++)
    made.push(
      await client.call('token.create', {
        name: count === 1 ? name : `${name}-${number}`,
        ...(await fieldsOf(context, flags)),
        key,
        owner,
      }),
    );
  if (
    context.interactive &&
    count === 1 &&
    (await allTokens(client, owner)).filter((one) => one.name === name).length > 1
  )
    context.output.note(
      context.say(
        `已有同名令牌 ${name}：请按编号使用，或加 --if-exists skip`,
        `there is another key of the name ${name}: use the id, or --if-exists skip`,
      ),
    );
  context.output.note(context.say('请妥善保存密钥：', 'keep this key safe:'));
  print(context, made, 'created');
}

export const list: CommandRun = async (context, flags) => {
  const client = await context.client();
  const rows = await allTokens(client, flags.user === undefined ? undefined : await ownerOf(client, flags));
  const money = await moneyOf(context);
  const columns = columnsOf(
    'token.list',
    {
      id: 'id',
      owner: 'user_id',
      name: 'name',
      key: 'key',
      status: (row) => statusWord(row.status),
      remaining: money.column('', (row) => (row.unlimited_quota ? null : row.remain_quota), unlimited),
      used: 'used_quota',
      expires: 'expired_time',
      group: 'group',
    },
    money,
  );
  context.output.list(rows.map(masked), columns, (row) => String(row.id));
};

async function showOne(context: Context, token: Token): Promise<void> {
  const words = tokenParts({ ...token, status: statusWord(token.status) });
  context.output.object(token, cardOf(context, words, await moneyOf(context)), String(token.id));
}

export const get: CommandRun = async (context, flags, ref) => {
  const client = await context.client();
  const token = masked(await findToken(client, ref, await ownerOf(client, flags)));
  await showOne(context, token);
};

export const showKey: CommandRun = async (context, flags, ref) => {
  const client = await context.client();
  const token = await findToken(client, ref, await ownerOf(client, flags));
  // Asked for by a call of its own, which the audit trail knows.
  print(context, [{ ...token, ...(await client.call('token.key', { id: token.id })) }], 'unchanged');
};

export const edit: CommandRun = async (context, flags, ref) => {
  const client = await context.client();
  const { id } = await findToken(client, ref, await ownerOf(client, flags));
  const token = masked(
    await client.call('token.update', { id, name: text(flags.name), ...(await fieldsOf(context, flags)) }),
  );
  await showOne(context, token);
};

export const rotate: CommandRun = async (context, flags, _ref, refs) => {
  const client = await context.client();
  const tokens = await namedTokens(client, flags, refs);
  const names = tokens.map((token) => token.name).join(', ');
  const grace = hoursOf(text(flags.grace), '--grace') ?? 0;
  await context.confirm(
    grace === 0
      ? context.say(`更换 ${names} 的密钥？旧密钥立即失效`, `New key for ${names}? The old one stops working at once`)
      : context.say(
          `更换 ${names} 的密钥？旧密钥 ${grace} 小时后失效`,
          `New key for ${names}? The old one stops working after ${grace} h`,
        ),
  );
  const renewed: Token[] = [];
  for (const { id } of tokens) renewed.push(await client.call('token.rotate', { id, grace_hours: grace }));
  context.output.note(context.say('请妥善保存密钥：', 'keep this key safe:'));
  print(context, renewed, 'updated');
};

export const retire = onEach(namedTokens, async (client, { id }) => {
  await client.call('token.retire', { id });
  return 'updated';
});

export const share: CommandRun = async (context, flags, ref) => {
  const client = await context.client();
  const { id, name } = await findToken(client, ref, await ownerOf(client, flags));
  if (flags.withdraw === true) {
    await client.call('token.unshare', { id });
    return context.output.object({ result: 'updated', id, name }, [], String(id));
  }
  const { path, until } = await client.call('token.share', { id, hours: hoursOf(text(flags.for), '--for') });
  const link = `${addressOf(context)}${path}`;
  context.output.note(
    context.say(
      `首个打开者可查看密钥，有效至 ${isoTime(until)}。`,
      `Shows the key once, to whoever opens it first, until ${isoTime(until)}.`,
    ),
  );
  context.output.object({ result: 'created', id, name, link, until }, [link], link);
};

const setStatus = (status: number): CommandRun =>
  onEach(namedTokens, async (client, { id }) =>
    statusWord((await client.call('token.update', { id, status, status_only: true })).status),
  );

export const enable = setStatus(1);
export const disable = setStatus(2);
export const rm = removal('token.delete', namedTokens, ['令牌', 'token']);
